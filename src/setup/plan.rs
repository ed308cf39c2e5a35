//! The answers, and what follows from them.

use super::client::FoundClient;
use super::error::SetupError;
use super::find::{Found, History};
use super::model_name;
use crate::cli::Common;
use crate::config::{self, Key, Settings};
use crate::embed;
use crate::error::Result;
use crate::import::FoundFiles;
use std::path::PathBuf;

/// A choice among things that have names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    All,
    None,
    Named(Vec<String>),
}

impl Choice {
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Choice::All => true,
            Choice::None => false,
            Choice::Named(names) => names.iter().any(|chosen| chosen == name),
        }
    }
}

/// The embedding model to download.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fetch {
    No,
    /// The model that suits the language of the store.
    Suitable,
    Named(String),
}

/// The answers; `None` leaves a thing as it is.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Answers {
    /// The programs whose histories are imported.
    pub import: Option<Choice>,
    /// Whether a service imports sessions as they are written.
    pub watch: Option<bool>,
    /// `auto` or `default`.
    pub scope: Option<String>,
    /// Whether secrets are kept out of the store.
    pub redact: Option<bool>,
    /// The clients that start rsv-mcp.
    pub mcp: Option<Choice>,
    /// The model of requests that name none.
    pub model: Option<String>,
    /// The setting of a key, and the key.
    pub key: Option<(String, String)>,
    pub fetch: Option<Fetch>,
    /// Whether a search on a terminal goes by meaning too.
    pub meaning: Option<bool>,
    /// Whether all else is done where the embedding model cannot be downloaded.
    pub may_lack_model: bool,
    /// Whether a model in the settings file is overwritten.
    pub force: bool,
}

/// The setting that says what a search goes by.
pub(super) const SEARCH_BY: &str = "search.by";
/// The setting that says whether secrets are kept out of the store.
pub(super) const REDACT: &str = "ingest.redact";
/// The setting that says which partition is used where none is given.
pub(super) const SCOPE: &str = "scope";

/// The steps to do.
pub struct Plan {
    /// Each setting with its value, in the order in which they are written.
    pub(super) settings: Vec<(String, String)>,
    pub(super) histories: Vec<FoundFiles>,
    /// The directories to watch, if a watch is wanted; empty for all that there are and will be.
    pub(super) watch: Option<Vec<PathBuf>>,
    pub(super) clients: Vec<FoundClient>,
    /// Whether the clients were named, so that one that cannot get an entry is an error.
    pub(super) are_clients_named: bool,
    pub(super) fetch: Fetch,
    pub(super) may_lack_model: bool,
}

impl Answers {
    /// Has the default for all that has no answer yet and is not set.
    pub fn or_defaults(mut self, found: &Found, settings: &Settings) -> Answers {
        let is_new = |key| !settings.is_set(key);
        if found.new_histories().next().is_some() {
            self.import.get_or_insert(Choice::All);
        }
        self.watch.get_or_insert(true);
        self.mcp.get_or_insert(Choice::All);
        if is_new(SCOPE) {
            self.scope.get_or_insert_with(|| "auto".to_owned());
        }
        if self.fetch.is_none() && !found.has_embedding_model {
            (self.fetch, self.may_lack_model) = (Some(Fetch::Suitable), true);
        }
        let may_have_model = found.has_embedding_model || self.fetch != Some(Fetch::No);
        if is_new(SEARCH_BY) && may_have_model {
            self.meaning.get_or_insert(true);
        }
        self.or_redaction(settings)
    }

    /// Keeps secrets out of the store, unless something else is said or set.
    pub fn or_redaction(mut self, settings: &Settings) -> Answers {
        if !settings.is_set(REDACT) {
            self.redact.get_or_insert(true);
        }
        self
    }
}

impl Plan {
    /// The steps that follow from answers. Errors if these name something that is not there or cannot be, or
    /// another model than the file.
    pub fn new(answers: Answers, found: Found, settings: &Settings, common: &Common) -> Result<Plan> {
        if let Some(name) = &answers.model {
            model_name::check(name)?;
        }
        if let Some(Fetch::Named(name)) = &answers.fetch {
            embed::check_name(settings, name).map_err(|error| error.at("--fetch"))?;
        }
        let to_set = settings_of(&answers, settings, common)?;
        let import = answers.import.unwrap_or(Choice::None);
        if let Choice::Named(names) = &import {
            let is_there = |name: &&String| found.histories.iter().any(|history| history.name() == **name);
            if let Some(missing) = names.iter().find(|name| !is_there(name)) {
                return Err(SetupError::NoFiles { of: missing.clone() }.into());
            }
        }
        let is_chosen = |history: &History| import.has(history.name());
        let directories = found.to_watch(is_chosen);
        let are_all = directories.len() == found.session_directories.len();
        let watch = (answers.watch == Some(true) && !directories.is_empty())
            .then(|| if are_all { Vec::new() } else { directories });
        let mcp = answers.mcp.unwrap_or(Choice::None);
        let histories = found.histories.into_iter().filter(is_chosen).map(|history| history.files).collect();
        let is_client_chosen = |client: &FoundClient| {
            let is_ready = client.is_installed && !matches!(client.has_entry, Ok(true));
            mcp.has(client.name()) && (is_ready || mcp != Choice::All)
        };
        Ok(Plan {
            settings: to_set,
            histories,
            watch,
            clients: found.clients.into_iter().filter(is_client_chosen).collect(),
            are_clients_named: matches!(mcp, Choice::Named(_)),
            fetch: answers.fetch.unwrap_or(Fetch::No),
            may_lack_model: answers.may_lack_model,
        })
    }
}

/// The settings that answers change. A no is written too, so that it stays the answer.
fn settings_of(answers: &Answers, settings: &Settings, common: &Common) -> Result<Vec<(String, String)>> {
    let mut to_set = Vec::new();
    let mut set = |key: &str, value: &str| to_set.push((key.to_owned(), value.to_owned()));
    let in_file = config::in_file(common, &Key::parse("model")?).map(|value| value.to_string());
    if let Some(name) = answers.model.as_ref().filter(|name| in_file.as_ref() != Some(*name)) {
        if let Some(other) = in_file.filter(|_| !answers.force) {
            return Err(SetupError::ModelSet { other }.into());
        }
        set("model", name);
    }
    let is_set_to =
        |key: &str, value: &str| settings.is_set(key) && settings.text(key).as_deref() == Some(value);
    if let Some(scope) = answers.scope.as_ref().filter(|scope| !is_set_to(SCOPE, scope)) {
        set(SCOPE, scope);
    }
    match answers.meaning {
        Some(true) if !is_set_to(SEARCH_BY, "auto") => set(SEARCH_BY, "auto"),
        Some(false) if !settings.is_set(SEARCH_BY) => set(SEARCH_BY, "keyword"),
        _ => {}
    }
    let is_redact_set = |redact: &bool| settings.is_set(REDACT) && settings.boolean(REDACT) == Some(*redact);
    if let Some(redact) = answers.redact.filter(|redact| !is_redact_set(redact)) {
        set(REDACT, &redact.to_string());
    }
    if let Some((key, value)) = &answers.key {
        set(key, value);
    }
    Ok(to_set)
}
