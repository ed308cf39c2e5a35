//! The scopes of a person who names none: where standard output is a terminal, those of the project.

use crate::cli::{Common, Io};
use crate::config::{self, Settings};
use crate::error::Result;
use crate::project::Projects;
use crate::record::{Query, Scopes, kinds};
use crate::store::{self, OpenMode, Select, Store};
use std::collections::BTreeSet;

/// The source of the scope of a tool that a person reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScopeSource {
    /// A flag or a setting.
    User,
    /// The project that the working directory belongs to, whose partition has records.
    Project,
    /// Neither.
    Nothing,
}

/// Finds what decides on the scope; if it is the project, `common` has its partition from then on. No project
/// becomes known by this: nothing is written. Fails if the store or the projects cannot be read.
pub fn scope_source(settings: &Settings, common: &mut Common, store: &mut dyn Store) -> Result<ScopeSource> {
    if is_named(settings, common) {
        return Ok(ScopeSource::User);
    }
    // A directory that is gone, or whose name is no text, belongs to no project.
    let Ok(directory) = config::working_directory() else { return Ok(ScopeSource::Nothing) };
    let projects = Projects::open(settings.places().data.as_deref())?;
    let partition = projects.without_writing().partition(&directory)?;
    let all = Select::records(kinds(), Scopes::Partition(partition.clone()));
    if store.count(&all, 1)? == 0 {
        return Ok(ScopeSource::Nothing);
    }
    common.project = Some(partition);
    Ok(ScopeSource::Project)
}

/// The same for a tool that has not opened the store yet. One that cannot be opened has no records; the tool
/// reports it.
pub fn scope_source_before_opening(settings: &Settings, common: &mut Common) -> Result<ScopeSource> {
    if is_named(settings, common) {
        return Ok(ScopeSource::User);
    }
    match settings.store().and_then(|place| Ok(store::open(&place, OpenMode::Existing)?)) {
        Ok(mut store) => scope_source(settings, common, &mut *store),
        Err(_) => Ok(ScopeSource::Nothing),
    }
}

fn is_named(settings: &Settings, common: &Common) -> bool {
    common.names_scope() || settings.is_set("scope")
}

/// Puts the instance that the first letters of its name stand for in the place of `-i`, for a tool that
/// reads. A person is told which it is. Fails if several fit, or the store cannot be read.
pub fn complete_instance(store: &mut dyn Store, io: &mut Io) -> Result<()> {
    let Some(given) = io.common.instance.clone() else { return Ok(()) };
    let full = store::full_scope(store, io.common.scope()?)?;
    if full.instance != given {
        if io.prints_summaries() {
            io.summary(format_args!("{given} is the instance {}", full.instance));
        }
        io.common.instance = Some(full.instance);
    }
    Ok(())
}

/// Chooses the scope of a tool that recalls: on a terminal, the partition of the project, if it has records.
/// A person is told which it is, unless a flag names it.
pub fn choose_recalled(settings: &Settings, io: &mut Io, and_stores: bool) -> Result<()> {
    if io.stdout_is_tty() {
        scope_source_before_opening(settings, &mut io.common)?;
    }
    if !io.common.names_scope() && io.prints_summaries() {
        let scopes = io.common.to_read(false)?;
        let also = if and_stores { ", and stores there" } else { "" };
        io.summary(format_args!("recalls from {}{also}", place(&scopes)));
    }
    Ok(())
}

/// The line that names what is searched, until it is printed.
pub struct Announcement(Option<String>);

impl Announcement {
    /// The line for these scopes, unless a flag names them, or nobody reads it. `everywhere` is the command
    /// that searches all.
    pub fn new(
        is_all_named: bool,
        scopes: &Scopes,
        everywhere: &str,
        store: &mut dyn Store,
        io: &Io,
    ) -> Result<Announcement> {
        if is_all_named || io.common.names_scope() || !io.prints_summaries() {
            return Ok(Announcement(None));
        }
        searched_text(store, scopes, everywhere).map(|text| Announcement(Some(text)))
    }

    /// Prints the line, once, unless a query line names its own scopes.
    pub fn print(&mut self, query: Option<&Query>, io: &Io) {
        if query.is_none_or(|query| query.scopes.is_none())
            && let Some(text) = self.0.take()
        {
            io.summary(text);
        }
    }
}

/// Says what was searched, and by which command the other scopes are, if there are any: `searched the
/// partition shop; for all others: rsv-search --all owl`.
fn searched_text(store: &mut dyn Store, scopes: &Scopes, everywhere: &str) -> Result<String> {
    let stored = store.scopes(None)?;
    if *scopes == Scopes::All {
        let partitions: BTreeSet<&str> = stored.iter().map(|(scope, _)| &*scope.partition).collect();
        return Ok(match (&stored[..], partitions.len()) {
            ([], _) => "the store is empty".to_owned(),
            ([(scope, _)], _) => format!("searched {scope}"),
            (_, 1) => format!("searched the partition {}", stored[0].0.partition),
            (_, count) => format!("searched all {count} partitions"),
        });
    }
    let has_others = stored.iter().any(|(scope, _)| !scopes.contains(scope));
    let others = if has_others { format!("; for all others: {everywhere}") } else { String::new() };
    Ok(format!("searched {}{others}", place(scopes)))
}

fn place(scopes: &Scopes) -> String {
    match scopes {
        Scopes::All => "all scopes".to_owned(),
        Scopes::Matching(_) => "some partitions".to_owned(),
        Scopes::Partition(partition) => format!("the partition {partition}"),
        Scopes::One(scope) => scope.to_string(),
    }
}
