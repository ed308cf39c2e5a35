//! The candidates for a word of a command line, for the shells to complete. Completing creates nothing, waits for
//! nothing and uses no network: candidates that are not known at once are left out.

use crate::cli::{Candidate, PartialCommand, SHELL_VARIABLE, ValueCompleters};
use crate::config::{self, EnvironmentPaths, Key, Settings};
use crate::record::{Object, Role, Scope};
use crate::{embed, store, view};
use std::process::{Command, Stdio};

/// The arguments that have candidates.
pub static VALUES: ValueCompleters = &[
    ("partition", |given| partitions(given, stored_scopes(given))),
    ("old", |given| sorted(stored_scopes(given).into_iter().map(|scope| scope.partition).collect())),
    ("instance", |given| titled(given, instances(given, stored_scopes(given)))),
    ("role", |_| Role::ALL.map(|role| word(role.name())).into()),
    ("recall", |_| choices("enrich.recall")),
    ("placement", |_| choices("enrich.placement")),
    ("fetch", |given| models(given, false)),
    ("replay", |given| models(given, true)),
    ("key", keys),
    ("value", values),
];

/// The same for tools that open no store: rsv-view reads it for them, so that they need not link a database.
pub static VALUES_WITHOUT_STORE: ValueCompleters = &[
    ("partition", |given| partitions(given, viewed_scopes(given))),
    ("instance", |given| instances(given, viewed_scopes(given))),
];

fn word(value: impl Into<String>) -> Candidate {
    Candidate { value: value.into(), about: None }
}

fn settings(given: &PartialCommand) -> Option<Settings> {
    config::load(&given.common).ok()
}

/// The scopes that the store holds.
fn stored_scopes(given: &PartialCommand) -> Vec<Scope> {
    let place = settings(given).and_then(|settings| settings.store().ok());
    place.map(|place| store::peek_scopes(&place)).unwrap_or_default()
}

/// The same, as the rsv-view beside this tool lists them.
fn viewed_scopes(given: &PartialCommand) -> Vec<Scope> {
    let Some(programs) = EnvironmentPaths::find().program else { return Vec::new() };
    let mut view = Command::new(programs.join("rsv-view"));
    view.args(["--scopes", "--format", "jsonl"]).env_remove(SHELL_VARIABLE);
    view.stdin(Stdio::null()).stderr(Stdio::null());
    let store = given.common.store.iter().map(|store| format!("--store={store}"));
    view.args(store)
        .args(given.common.config.iter().flat_map(|file| ["--config".as_ref(), file.as_os_str()]));
    let listed = view.output().map(|output| output.stdout).unwrap_or_default();
    let scope = |line: &str| {
        let object: Object = serde_json::from_str(line).ok()?;
        let text = |name| object.text(name).ok().flatten();
        Some(Scope { partition: text("partition")?, instance: text("instance")? })
    };
    String::from_utf8_lossy(&listed).lines().filter_map(scope).collect()
}

/// The partitions that the store holds, and those that the settings name.
fn partitions(given: &PartialCommand, stored: Vec<Scope>) -> Vec<Candidate> {
    let Some(settings) = settings(given) else { return Vec::new() };
    let mut names = settings.names("partitions");
    names.extend(stored.into_iter().map(|scope| scope.partition));
    sorted(names)
}

/// The instances of the given partition.
fn instances(given: &PartialCommand, stored: Vec<Scope>) -> Vec<Candidate> {
    let partition = given.common.partition.as_deref().unwrap_or("default");
    sorted(
        stored.into_iter().filter(|scope| scope.partition == partition).map(|scope| scope.instance).collect(),
    )
}

/// Instances with their titles.
fn titled(given: &PartialCommand, mut instances: Vec<Candidate>) -> Vec<Candidate> {
    let partition = given.common.partition.as_deref().unwrap_or("default");
    let place = settings(given).and_then(|settings| settings.store().ok());
    for (scope, title) in place.map(|place| store::peek_titles(&place)).unwrap_or_default() {
        let named = |one: &&mut Candidate| scope.partition == partition && one.value == scope.instance;
        if let Some(instance) = instances.iter_mut().find(named) {
            instance.about = Some(view::visible(&title).into());
        }
    }
    instances
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
    described.map(|(value, doc)| Candidate { value, about: Some(doc.into()) }).collect()
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
