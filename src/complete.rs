//! The candidates for a word of a command line, for the shells to complete. Completing creates nothing, waits
//! for nothing and uses no network: candidates that are not known at once are left out, and so are those that
//! cannot be read, since a shell would show an error within the command line.

use crate::cli::{Candidate, PartialCommand, SHELL_VARIABLE, ValueCompleters};
use crate::config::{self, EnvironmentPaths, Key, Settings};
use crate::record::{Object, Role, Scope};
use crate::{embed, store, view};
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// The arguments that have candidates.
pub static VALUES: ValueCompleters = &[
    ("partition", |given| partitions(given, stored_scopes(given))),
    ("old", |given| sorted(stored_scopes(given).into_iter().map(|scope| scope.partition).collect())),
    ("instance", |given| instances(given, stored_scopes(given))),
    ("role", |_| Role::ALL.map(|role| word(role.name())).into()),
    ("recall", |_| choices("enrich.recall")),
    ("placement", |_| choices("enrich.placement")),
    ("fetch", |given| models(given, false)),
    ("replay", |given| models(given, true)),
    ("key", keys),
    ("value", values),
];

/// The same for tools that open no store: rsv-view reads it for them, so that they need not link a database.
pub static VALUES_WITHOUT_STORE: ValueCompleters =
    &[("partition", |given| partitions(given, viewed_scopes(given))), ("instance", viewed_instances)];

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
    let listed = output(view.args(store_flags(given)));
    let scope = |line: &str| {
        let object: Object = serde_json::from_str(line).ok()?;
        let text = |name| object.valid_text(name);
        Some(Scope { partition: text("partition")?, instance: text("instance")? })
    };
    listed.lines().filter_map(scope).collect()
}

/// The instances with their titles, as the rsv-view beside this tool completes them for fish.
fn viewed_instances(given: &PartialCommand) -> Vec<Candidate> {
    let Some(programs) = EnvironmentPaths::find().program else { return Vec::new() };
    let mut view = Command::new(programs.join("rsv-view"));
    view.env(SHELL_VARIABLE, "fish").args(["--", "rsv-view"]).args(store_flags(given));
    view.args(given.common.partition.iter().map(|partition| format!("--partition={partition}")));
    view.args(given.common.scope.iter().map(|scope| format!("--scope={scope}")));
    let listed = output(view.args(["--instance", ""]));
    let candidate = |line: &str| match line.split_once('\t') {
        Some((value, about)) => Candidate { value: value.to_owned(), about: Some(about.to_owned().into()) },
        None => word(line),
    };
    listed.lines().map(candidate).collect()
}

/// The flags that name the store.
fn store_flags(given: &PartialCommand) -> Vec<OsString> {
    let store = given.common.store.iter().map(|store| format!("--store={store}").into());
    let config = given.common.config.iter().flat_map(|file| ["--config".into(), file.into()]);
    store.chain(config).collect()
}

/// The output of a command that asks nobody.
fn output(command: &mut Command) -> String {
    let ran = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    ran.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// The partitions that the store holds, and those that the settings name.
fn partitions(given: &PartialCommand, stored: Vec<Scope>) -> Vec<Candidate> {
    let Some(settings) = settings(given) else { return Vec::new() };
    let mut names = settings.names("partitions");
    names.extend(stored.into_iter().map(|scope| scope.partition));
    sorted(names)
}

/// The instances of the given partition, or of that of the project, with their titles.
fn instances(given: &PartialCommand, stored: Vec<Scope>) -> Vec<Candidate> {
    let Some(settings) = settings(given) else { return Vec::new() };
    let partition = config::partition_without_writing(&settings, &given.common);
    let partition = partition.unwrap_or_else(|| "default".to_owned());
    let here = stored.into_iter().filter(|scope| scope.partition == partition);
    let mut instances = sorted(here.map(|scope| scope.instance).collect());
    let titles = settings.store().map(|place| store::peek_titles(&place, &partition)).unwrap_or_default();
    for (scope, title) in titles.into_iter().filter(|(_, title)| !title.is_empty()) {
        if let Some(instance) = instances.iter_mut().find(|one| one.value == scope.instance) {
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
