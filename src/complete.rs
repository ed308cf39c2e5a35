//! The candidates for a word of a command line, for the shells to complete. Completing creates nothing, waits for
//! nothing and uses no network: candidates that are not known at once are left out.

use crate::cli::{Candidate, PartialCommand, ValueCompleters};
use crate::config::{self, Key, Settings};
use crate::record::Role;
use crate::{embed, store};

/// The arguments that have candidates.
pub static VALUES: ValueCompleters = &[
    ("partition", partitions),
    ("instance", instances),
    ("role", |_| Role::ALL.map(|role| word(role.name())).into()),
    ("recall", |_| choices("enrich.recall")),
    ("placement", |_| choices("enrich.placement")),
    ("fetch", |given| models(given, false)),
    ("replay", |given| models(given, true)),
    ("key", keys),
    ("value", values),
];

fn word(value: impl Into<String>) -> Candidate {
    Candidate { value: value.into(), about: None }
}

fn settings(given: &PartialCommand) -> Option<Settings> {
    config::load(&given.common).ok()
}

/// The partitions that the store holds, and those that the settings name.
fn partitions(given: &PartialCommand) -> Vec<Candidate> {
    let Some(settings) = settings(given) else { return Vec::new() };
    let stored = settings.store().map(|place| store::peek_scopes(&place)).unwrap_or_default();
    let mut names = settings.names("partitions");
    names.extend(stored.into_iter().map(|scope| scope.partition));
    sorted(names)
}

/// The instances of the given partition.
fn instances(given: &PartialCommand) -> Vec<Candidate> {
    let place = settings(given).and_then(|settings| settings.store().ok());
    let stored = place.map(|place| store::peek_scopes(&place)).unwrap_or_default();
    let partition = given.common.partition.as_deref().unwrap_or("default");
    sorted(
        stored.into_iter().filter(|scope| scope.partition == partition).map(|scope| scope.instance).collect(),
    )
}

fn sorted(mut names: Vec<String>) -> Vec<Candidate> {
    names.sort();
    names.dedup();
    names.into_iter().map(word).collect()
}

/// The embedding models that are known, or only those that are installed.
fn models(given: &PartialCommand, installed: bool) -> Vec<Candidate> {
    let models = settings(given).and_then(|settings| embed::models(&settings).ok()).unwrap_or_default();
    let wanted = models.into_iter().filter(|model| !installed || model.installed.is_some());
    wanted.map(|model| word(model.id)).collect()
}

/// Every key without a `*`, with its purpose.
fn keys(given: &PartialCommand) -> Vec<Candidate> {
    let Some(settings) = settings(given) else { return Vec::new() };
    let described = settings.all().into_iter().map(|setting| (setting.key(), setting.doc()));
    let described = described.filter(|(key, _)| !key.contains(".*"));
    described.map(|(value, doc)| Candidate { value, about: Some(doc) }).collect()
}

/// The possible values of a key.
fn values(given: &PartialCommand) -> Vec<Candidate> {
    match given.text("key") {
        Some("embed.model") => models(given, true),
        Some("model") => sorted(settings(given).map(|settings| settings.names("models")).unwrap_or_default()),
        Some(key) => choices(key),
        None => Vec::new(),
    }
}

/// The words that a setting may be.
fn choices(key: &str) -> Vec<Candidate> {
    Key::parse(key).map(|key| key.choices()).unwrap_or_default().iter().copied().map(word).collect()
}
