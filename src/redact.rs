//! Redaction: keys, tokens, passwords and card numbers are replaced by `[redacted:KIND]` before they are
//! stored. The rules are data (`redact/rules.txt`); users add patterns of their own.
//!
//! Each rule takes linear time. `ingest` redacts a line before it becomes a record, so that ids, digests and
//! vectors follow from the redacted text; all lines on standard error pass through the same rules.

mod address;
mod base64;
mod card;
mod dotted;
mod finding;
mod json;
mod name;
mod pem;
mod rules;
mod setting;
mod value;
mod words;

pub use finding::Finding;

use crate::cli;
use crate::config::Settings;
use crate::error::Result;
use crate::record::{Content, Object, StoredRecord, kind_named};
use crate::text::counted_verb;
use json::CutSecrets;
use rules::Rules;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Replaces secrets, and counts them. Clones share the count.
#[derive(Clone, Debug)]
pub struct Redactor {
    rules: Arc<Rules>,
    /// The number of secrets so far, by kind.
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// The members at the top of a line that name something in rsv, or follow from the rest of it: they stay as
/// they are.
#[rustfmt::skip]
const NAMES: [&str; 19] = [
    "kind", "id", "trace_id", "partition", "instance", "role", "timestamp", "created_at", "seq",
    "embedding", "embedding_model", "sha256", "source_sha256", "source_id", "source_ids", "session_id",
    "of", "covers", "follows",
];
/// The members of a line with a vector of its text, which does not fit the redacted text.
const VECTOR: [&str; 2] = ["embedding", "embedding_model"];
/// The members of a commit that are objects, or lists of them.
const COMMIT_PARTS: [&str; 3] = ["archive", "memories", "steps"];
/// The members of the parts of a commit that follow from the names of its session.
const COMMIT_NAMES: [&str; 2] = ["extracted_from", "uri"];
/// The kind of a line whose addresses are those of documents.
const TREE: &str = "tree";

impl Redactor {
    /// The redactor of the settings; `None` unless `ingest.redact` is on. Errors name the place of a bad
    /// pattern.
    pub fn from_settings(settings: &Settings) -> Result<Option<Redactor>> {
        let is_on = settings.boolean("ingest.redact") == Some(true);
        is_on.then(|| Redactor::of_patterns(settings)).transpose()
    }

    /// The same for a tool, whose lines on standard error are redacted too from now on.
    pub fn for_tool(settings: &Settings) -> Result<Option<Redactor>> {
        let redactor = Redactor::from_settings(settings)?;
        if let Some(redactor) = redactor.clone() {
            cli::filter_stderr(move |line| redactor.redacted(line).into_owned());
        }
        Ok(redactor)
    }

    /// The redactor for the patterns of the settings, whether or not it is on. Fails if their file cannot be
    /// read or is invalid.
    pub fn of_patterns(settings: &Settings) -> Result<Redactor> {
        Redactor::with_patterns(settings.text("ingest.redact_patterns").as_deref().map(Path::new))
    }

    /// The redactor for the patterns of a file, if one is given. Fails if it cannot be read or is invalid.
    pub fn with_patterns(file: Option<&Path>) -> Result<Redactor> {
        Ok(Redactor { rules: Arc::new(Rules::load(file)?), counts: Arc::default() })
    }

    /// The secrets in a text, in their order; none overlaps another.
    pub fn find<'a>(&'a self, text: &str) -> Vec<Finding<'a>> {
        finding::find(&self.rules, text)
    }

    /// A stored record without its secrets, and the kind of each; `None` if it has none. They are not
    /// counted.
    pub fn without_secrets(&self, record: &StoredRecord) -> Option<(StoredRecord, Vec<String>)> {
        let mut found: Vec<String> = self.find(&record.text).iter().map(|one| one.kind.to_owned()).collect();
        let mut members = record.members.clone();
        // The text of parts is in their member too.
        if members.has("content") {
            found.clear();
        }
        change_values(&mut members, |name, json| {
            let is_kept = NAMES.contains(&name);
            let redacted = if is_kept { None } else { json::without_secrets(name, json, &self.rules) }?;
            found.extend(redacted.secrets.into_iter().map(|(kind, _)| kind));
            Some(redacted.json)
        });
        found.extend(
            self.redact_names(&mut members, |name| NAMES.contains(&name)).into_iter().map(|(kind, _)| kind),
        );
        let text = self.redacted(&record.text).into_owned();
        (!found.is_empty()).then(|| (StoredRecord { text, members, ..record.clone() }, found))
    }

    /// The text without secrets, which are not counted.
    pub fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        finding::replace(text, &self.find(text))
    }

    /// The same of a content.
    pub fn redacted_content(&self, content: Content) -> Content {
        match content {
            Content::Text(text) => match self.redacted(&text) {
                Cow::Borrowed(_) => Content::Text(text),
                Cow::Owned(redacted) => Content::Text(redacted),
            },
            Content::Parts(json) => match json::without_secrets("content", &json, &self.rules) {
                Some(redacted) => Content::Parts(redacted.json.into()),
                None => Content::Parts(json),
            },
            Content::Null => Content::Null,
        }
    }

    /// The text without secrets, which are counted.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text);
        self.count(found.iter().map(|finding| finding.kind));
        finding::replace(text, &found)
    }

    /// Replaces the secrets of a message, as a client or a provider has it, and counts them.
    pub fn redact_message(&self, message: &mut Object) {
        self.redact_members(message, |name| name == "role");
    }

    /// Replaces the secrets of an object of another program, whose names are as in a line, and counts them.
    pub fn redact_foreign(&self, object: &mut Object) {
        self.redact_members(object, |name| NAMES.contains(&name));
    }

    /// Replaces and counts the secrets of a line without an id of its own, if it is a record to store. A
    /// vector of a text with secrets is removed. The id of a document follows from its redacted address, as
    /// in a tree.
    pub fn redact_line(&self, line: &mut Object) {
        if has_id(line) || !is_stored(line) {
            return;
        }
        let is_commit = line.get("kind") == Some("\"commit\"");
        let mut is_changed = self
            .redact_members(line, |name| NAMES.contains(&name) || is_commit && COMMIT_PARTS.contains(&name));
        if is_commit {
            is_changed |= self.redact_commit(line);
        }
        if is_changed {
            for name in VECTOR {
                line.take(name);
            }
        }
    }

    /// Replaces the secrets of the parts of a commit, whose names stay; whether there were any.
    fn redact_commit(&self, commit: &mut Object) -> bool {
        let mut is_changed = false;
        for name in COMMIT_PARTS {
            let Some(json) = commit.get(name).map(str::to_owned) else { continue };
            let is_list = json.starts_with('[');
            let parts = if is_list {
                commit.objects(name)
            } else {
                commit.object(name).map(|one| one.map(|one| vec![one]))
            };
            // Other values are refused later.
            let Ok(Some(mut parts)) = parts else { continue };
            let mut is_part_changed = false;
            for part in &mut parts {
                is_part_changed |=
                    self.redact_members(part, |name| NAMES.contains(&name) || COMMIT_NAMES.contains(&name));
            }
            if is_part_changed {
                let parts: Vec<String> = parts.iter().map(Object::to_json).collect();
                commit.set(name, if is_list { format!("[{}]", parts.join(",")) } else { parts.concat() });
                is_changed = true;
            }
        }
        is_changed
    }

    /// Replaces the secrets of the members that are not `kept` and of their names, and the beginning of one
    /// where a text was cut off within it; whether there were any.
    fn redact_members(&self, object: &mut Object, kept: impl Fn(&str) -> bool) -> bool {
        let mut secrets = Vec::new();
        change_values(object, |name, json| {
            let redacted = if kept(name) { None } else { json::without_secrets(name, json, &self.rules) }?;
            secrets.extend(redacted.secrets);
            Some(redacted.json)
        });
        secrets.extend(self.redact_names(object, &kept));
        if secrets.is_empty() {
            return false;
        }
        self.count(secrets.iter().map(|(kind, _)| kind.as_str()));
        let secrets = CutSecrets::new(&secrets);
        change_values(object, |name, json| if kept(name) { None } else { secrets.without(json) });
        true
    }

    /// Replaces the secrets in the names of the members that are not `kept`; returns their kinds, and these.
    fn redact_names(&self, object: &mut Object, kept: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let find = |name: &str| if kept(name) { Vec::new() } else { self.find(name) };
        let found: Vec<Vec<Finding>> = object.iter().map(|(name, _)| find(name)).collect();
        let (mut secrets, mut members) = (Vec::new(), Vec::new());
        if found.iter().all(Vec::is_empty) {
            return secrets;
        }
        let mut taken: HashSet<Cow<str>> = object.iter().map(|(name, _)| name.into()).collect();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for ((name, json), found) in object.iter().zip(&found) {
            let mut new = Cow::Borrowed(name);
            if !found.is_empty() {
                secrets.extend(
                    found.iter().map(|one| (one.kind.to_owned(), name[one.range.clone()].to_owned())),
                );
                let redacted = finding::replace(name, found).into_owned();
                let number = numbers.entry(redacted.clone()).or_default();
                while taken.contains(&new) {
                    *number += 1;
                    new = json::numbered(redacted.clone(), *number).into();
                }
                taken.insert(new.clone());
            }
            members.push((new, Cow::Borrowed(json)));
        }
        *object = Object::of(members);
        secrets
    }

    fn count<'a>(&self, kinds: impl Iterator<Item = &'a str>) {
        for kind in kinds {
            *self
                .counts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(kind.to_owned())
                .or_default() += 1;
        }
    }

    /// A note on the secrets since the last note; none if there were none.
    pub fn take_note(&self) -> Option<String> {
        let counts = std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        let total: usize = counts.values().sum();
        let secrets = counted_verb(total as u64, "secret", ["was", "were"]);
        let kinds: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        (total > 0).then(|| format!("{secrets} redacted before storing: {}", kinds.join(", ")))
    }
}

/// Replaces the values of the members for which `change`, given name and value, returns another.
fn change_values(object: &mut Object, mut change: impl FnMut(&str, &str) -> Option<String>) {
    let changed: Vec<Option<String>> = object.iter().map(|(name, json)| change(name, json)).collect();
    if changed.iter().any(Option::is_some) {
        let members = object.iter().zip(changed);
        *object =
            Object::of(members.map(|((name, json), new)| (name.into(), new.map_or(json.into(), Cow::Owned))));
    }
}

/// Whether a line brings an id. A number, or null, is no id of rsv's.
fn has_id(line: &Object) -> bool {
    line.get("id").is_some_and(|json| json.starts_with('"') && json != "\"\"")
}

/// Whether a line becomes a record, or several, or names their addresses.
fn is_stored(line: &Object) -> bool {
    match line.text("kind") {
        Ok(Some(kind)) => kind == "commit" || kind == TREE || kind_named(&kind).is_some(),
        _ => !line.has("messages") && !line.has("choices"),
    }
}
