//! Does what was chosen. Each step is whole or undone, and a second run does what is left.

use super::client::FoundClient;
use super::plan::{Fetch, Plan, REDACT};
use super::watch_service::{self, WatchService};
use super::{client_file, past};
use crate::backfill;
use crate::cli::Io;
use crate::config::{self, EnvironmentPaths, Key, Settings};
use crate::embed;
use crate::error::Result;
use crate::import::FoundFiles;
use crate::import_run::{self, ImportRun};
use crate::project::Projects;
use crate::store::{self, Import, OpenMode};
use crate::text::counted;
use std::path::PathBuf;

/// Does what was chosen, and says so; in the end, how to continue. Fails if the settings cannot be written,
/// an import fails, or a model that must be there cannot be fetched.
pub fn apply(plan: Plan, io: &mut Io) -> Result<()> {
    config::make_named(&io.common)?;
    for (key, value) in &plan.settings {
        config::set(&io.common, &Key::parse(key)?, value)?;
    }
    // The flag of the scope is an answer, and not for the import, which follows the projects of the programs.
    let settings = config::load(&io.common)?;
    report(&plan.settings, &settings, io)?;
    let paths = settings.places();
    for client in &plan.clients {
        add_entry(client, plan.are_clients_named, &settings, io);
    }
    if !plan.histories.is_empty() {
        import(&plan.histories, &settings, io)?;
    }
    if let Some(directories) = plan.watch {
        watch(&directories, &settings, &paths, io);
    }
    fetch(plan.fetch, plan.may_lack_model, &settings, io)?;
    show_next_steps(&settings, io);
    Ok(())
}

/// Says what was set, in which file, and whether secrets are kept out of the store.
fn report(set: &[(String, String)], settings: &Settings, io: &Io) -> Result<()> {
    let path = config::path(&io.common)?;
    let path = path.display();
    match set {
        [] => io.note(format_args!("nothing new was set in {path}")),
        _ => io.note(format_args!("set in {path}:")),
    }
    for (key, value) in set {
        let value = if Key::parse(key)?.is_secret() { "****" } else { value };
        io.note(format_args!("  {key} = {value}"));
    }
    io.note(match settings.boolean(REDACT) {
        Some(true) => "secrets are kept out of what is stored; see 'Secrets' in 'man rsv-ingest'",
        _ => "secrets are stored as they are; to keep them out, run: rsv-config set ingest.redact true",
    });
    Ok(())
}

/// The tool of this name beside this program.
fn tool(paths: &EnvironmentPaths, name: &str) -> PathBuf {
    let beside = paths.program.as_ref().map(|directory| directory.join(name)).filter(|path| path.is_file());
    let in_path = || paths.programs.iter().map(|directory| directory.join(name)).find(|path| path.is_file());
    beside.or_else(in_path).unwrap_or_else(|| name.into())
}

/// Adds the entry of rsv-mcp to the settings of a client. One that cannot be changed stays as it is; what to
/// add is printed.
fn add_entry(found: &FoundClient, is_named: bool, settings: &Settings, io: &mut Io) {
    let FoundClient { client, file, .. } = found;
    let command = tool(&settings.places(), "rsv-mcp").display().to_string();
    let entry = client.entry(&command, &config::flags_of_places(&io.common, settings));
    let changed = client_file::without_entry(file, &client.servers).and_then(|text| {
        let Some(text) = text else { return Ok(false) };
        client_file::replace(file, &client_file::with_entry(&text, &client.servers, &entry)?)?;
        Ok(true)
    });
    let (name, path) = (client.name, file.display());
    match changed {
        Ok(true) => io.note(format_args!("{name} starts rsv-mcp from now on: {path}")),
        Ok(false) => {
            io.note(format_args!("{name} has a server named rsv already, which stays as it is: {path}"))
        }
        Err(error) => {
            let error = error.at(format_args!("{path} is left as it is"));
            if is_named {
                io.fault(&error)
            } else {
                io.note(&error)
            }
            io.note(format_args!("to have {name} start rsv-mcp, add to that file:"));
            for line in client_file::lines_to_add(&client.servers, &entry).lines() {
                io.note(format_args!("  {line}"));
            }
        }
    }
}

/// Imports the histories, one after the other, as one import, which can be undone.
fn import(histories: &[FoundFiles], settings: &Settings, io: &mut Io) -> Result<()> {
    let paths = histories.iter().map(|found| found.path.as_path());
    let import = Import::begin(&io.clock, import_run::source(paths))?;
    let options = import_run::writing(settings, Some(import.clone()), io)?;
    let projects = Projects::open(settings.places().data.as_deref())?;
    let reading = import_run::reading(settings, options.redactor.as_ref(), projects, io);
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let mut has_new = false;
    for history in histories {
        let found = std::slice::from_ref(history);
        let report = ImportRun::of_found(found, options.clone(), &reading, io)?.run(&mut *store, io)?;
        import_run::note_imported(&mut *store, found, &report)?;
        let (total, path) = (report.total(), history.path.display());
        let (name, records) = (history.format.name, counted(total.read() as u64, "record"));
        io.note(format_args!("imported {records} of {name}, {} of them new: {path}", total.new));
        has_new |= report.has_new_records();
    }
    if has_new {
        io.note(format_args!("to undo this import, run: {}", import_run::undo_command(&import.id)));
    }
    Ok(())
}

/// Has new sessions imported as they are written, or says how that is done.
fn watch(directories: &[PathBuf], settings: &Settings, paths: &EnvironmentPaths, io: &mut Io) {
    let tool = tool(paths, "rsv-import");
    let mut args = config::flags_of_places(&io.common, settings);
    args.extend(directories.iter().map(|directory| directory.display().to_string()));
    match WatchService::find(paths) {
        WatchService::Enabled => {}
        WatchService::Available => match watch_service::start(paths, &tool, &args) {
            Ok(()) => io.note("new sessions are imported as they are written, by rsv-import.service"),
            Err(error) => io.fault(&error),
        },
        WatchService::Missing => {
            io.note("to import new sessions as they are written, add with 'crontab -e' a line:");
            io.note(format_args!("  {}", watch_service::cron_line(&tool, &args)));
        }
    }
}

/// Installs an embedding model.
fn fetch(which: Fetch, may_lack_model: bool, settings: &Settings, io: &mut Io) -> Result<()> {
    let name = match which {
        Fetch::No => return Ok(()),
        Fetch::Named(name) => name,
        Fetch::Suitable => {
            backfill::suitable_model(settings, io.common.to_cover()?, &io.diagnostics()).to_owned()
        }
    };
    match embed::fetch(settings, &name, None, &mut (io.bytes(), io.diagnostics())) {
        Ok(id) => io.note(format_args!("{id} is installed")),
        // All else is set, and rsv searches by words without a model.
        Err(error) if may_lack_model => {
            io.diagnostics().fault(&error);
            io.note(format_args!(
                "rsv searches by words without a model; to try again, run: rsv-embed --fetch {name}"
            ));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Shows a search in the user's own past, if there is one, and the commands to continue with.
fn show_next_steps(settings: &Settings, io: &mut Io) {
    let found: Result<_> = settings.store().and_then(|place| {
        let mut store = store::open(&place, OpenMode::Existing)?;
        past::find(&mut *store, settings, io.clock.now(), &io.diagnostics())
    });
    // A store that is not there yet has no past, and one that cannot be read is reported by what uses it.
    if let Ok(Some(past)) = found {
        io.note(format_args!("you asked {}: \"{}\"", past.when, past.question));
        io.note("this finds it again:");
        io.note(format_args!("  {}", past.command));
    }
    io.note("to continue:");
    for (command, purpose) in NEXT {
        io.note(format_args!("  {command:22} {purpose}"));
    }
    io.note("done; to check everything that the tools need, run: rsv-config doctor");
}

/// The commands to continue with. Those that read cover every project, since there may be nothing of the one
/// that the user is in.
const NEXT: [(&str, &str); 3] = [
    ("rsv-search --all WORDS", "find what was said"),
    ("rsv-view --all", "read the last messages"),
    ("rsv-ask QUESTION", "ask a model that is reminded of them"),
];
