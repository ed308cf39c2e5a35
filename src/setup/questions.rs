//! Asks for the answers, and writes nothing.

use super::client::FoundClient;
use super::error::SetupError;
use super::find::Found;
use super::model_name;
use super::plan::{Answers, Choice, Fetch, REDACT, SCOPE, SEARCH_BY};
use super::watch_service::WatchService;
use crate::cli::{self, Io};
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::provider::{ProviderError, Providers};
use crate::text::counted;

/// Asks for all that is not set yet; with `force` for the model in any case. Errors if there is nobody to
/// ask, and if the input ends.
pub fn ask(found: &Found, settings: &Settings, force: bool, io: &Io) -> Result<Answers> {
    if !io.can_ask() {
        return Err(SetupError::NoTerminal.into());
    }
    // A fault in the settings ends this before anybody has answered.
    let providers = Providers::new(settings)?;
    let import = ask_what_to_import(found, io)?;
    let watch = ask_for_watch(found, import.as_ref(), io)?;
    let mut answers = Answers { import, watch, may_lack_model: true, force: true, ..Answers::default() };
    let question = "Use the partition of the project you are in, where a command names none?";
    if !settings.is_set(SCOPE) {
        let is_auto = io.ask_yes_or_no(question, true)?;
        answers.scope = Some(if is_auto { "auto" } else { "default" }.to_owned());
    }
    let question = "Keep secrets (keys, tokens, passwords, card numbers) out of what is stored?";
    if !settings.is_set(REDACT) {
        answers.redact = Some(io.ask_yes_or_no(question, true)?);
    }
    answers.mcp = ask_for_clients(found, io)?;
    if force || !settings.is_set("model") {
        answers.model = ask_for_model(settings, &providers, io)?;
    }
    let model = answers.model.clone().or_else(|| settings.text("model"));
    answers.key = ask_for_key(&providers, model.as_deref(), io)?;
    let question = "Download an embedding model (at most 110 MB) to search by meaning?";
    if !found.has_embedding_model && io.ask_yes_or_no(question, true)? {
        answers.fetch = Some(Fetch::Suitable);
    }
    let question = "Search by meaning too, where you read the hits on a terminal?";
    let may_have_model = answers.fetch.is_some() || found.has_embedding_model;
    if may_have_model && !settings.is_set(SEARCH_BY) {
        answers.meaning = Some(io.ask_yes_or_no(question, true)?);
    }
    Ok(answers)
}

/// Lists the histories that were not imported, and asks which to import; `None` if there are none.
fn ask_what_to_import(found: &Found, io: &Io) -> Result<Option<Choice>> {
    let mut names: Vec<&str> = Vec::new();
    for history in found.new_histories() {
        let (name, files) = (history.name(), &history.files);
        if names.is_empty() {
            io.note("other programs keep conversations here:");
        }
        let path = files.path.display();
        io.note(format_args!("  {name:12} {:>10}  {path}", counted(files.files as u64, "file")));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { Ok(None) } else { ask_which("Import them?", &names, io).map(Some) }
}

/// Asks whether to start a service, if there is something to watch and none does.
fn ask_for_watch(found: &Found, import: Option<&Choice>, io: &Io) -> Result<Option<bool>> {
    let directories = found.to_watch(|history| import.is_some_and(|import| import.has(history.name())));
    match found.service {
        _ if directories.is_empty() => Ok(None),
        WatchService::Enabled => Ok(None),
        // The line for cron is shown, and nothing is started.
        WatchService::Missing => Ok(Some(true)),
        WatchService::Available => {
            let question = "Import new sessions as they are written, by a service of systemd?";
            io.ask_yes_or_no(question, true).map(Some)
        }
    }
}

/// Lists the clients that do not start rsv-mcp yet, and asks which shall; `None` if there are none.
fn ask_for_clients(found: &Found, io: &Io) -> Result<Option<Choice>> {
    let clients: Vec<&FoundClient> = found.clients_without_entry().collect();
    if clients.is_empty() {
        // Those whose settings cannot be changed are named with what to add.
        return Ok(Some(Choice::All));
    }
    io.note("these programs can have the memory as tools, by an entry in their settings:");
    for client in &clients {
        io.note(format_args!("  {:12} {}", client.name(), client.file.display()));
    }
    let names: Vec<&str> = clients.iter().map(|client| client.name()).collect();
    ask_which("Add the entry?", &names, io).map(Some)
}

/// Asks which of some things are wanted, until the answer says so.
fn ask_which(question: &str, names: &[&str], io: &Io) -> Result<Choice> {
    loop {
        let answer = io.ask(&format!("{question} y, n, or names from the list"), "y")?;
        match cli::yes_or_no(&answer) {
            Some(true) => return Ok(Choice::All),
            Some(false) => return Ok(Choice::None),
            None => {}
        }
        let words = answer.split([',', ' ']).filter(|word| !word.is_empty());
        let chosen: Vec<String> = words.map(str::to_owned).collect();
        match chosen.iter().find(|name| !names.contains(&name.as_str())) {
            None => return Ok(Choice::Named(chosen)),
            Some(unknown) => {
                let (name, known) = (unknown.clone(), names.join(", "));
                io.diagnostics().fault(&SetupError::NotListed { name, known }.into());
            }
        }
    }
}

/// Asks for the model of requests that name none, until the answer is one that a provider serves; `None` if
/// it is left as it is.
fn ask_for_model(settings: &Settings, providers: &Providers, io: &Io) -> Result<Option<String>> {
    let question = "Which model do you use, such as llama3.2, gpt-4o or claude-sonnet-4-5?";
    let there = settings.text("model").unwrap_or_default();
    loop {
        let answer = io.ask(question, &there)?;
        if answer == there {
            return Ok(Some(answer).filter(|answer| !answer.is_empty()));
        }
        let served = |()| providers.target(&answer).map_err(Error::from);
        match model_name::check(&answer).and_then(served) {
            Ok(_) => return Ok(Some(answer)),
            Err(error) => io.diagnostics().fault(&error),
        }
    }
}

/// Asks for the key of the model's provider if one is required and missing; returns its setting and the key.
/// A model that was set before may have no provider yet.
fn ask_for_key(providers: &Providers, model: Option<&str>, io: &Io) -> Result<Option<(String, String)>> {
    let Some(Ok(target)) = model.map(|model| providers.target(model)) else { return Ok(None) };
    let (true, Some(variable)) =
        (matches!(target.own_key(), Err(ProviderError::NoKey { .. })), target.key_variable())
    else {
        return Ok(None);
    };
    let question = format!("Key for {} (not shown; leave empty to use {variable}):", target.title());
    loop {
        let key = io.ask_secret(&question)?;
        if model_name::is_value(&key) {
            return Ok(Some((format!("{}_api_key", target.name()), key)).filter(|(_, key)| !key.is_empty()));
        }
        io.diagnostics().fault(&SetupError::NotAKey.into());
    }
}
