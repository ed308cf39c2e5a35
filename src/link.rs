//! Links messages that belong together: every answer and its question, and those that resemble each other.

mod clusters;
mod embedding;
mod error;
mod graph;
mod groups;
mod near;
mod stats;
pub mod synapse;
mod tie;

pub use clusters::{Cluster, ClusterRule, ClusterSums, clusters};
pub use embedding::{embed_and_link, replay_and_link};
pub use graph::Graph;
pub use near::{Nearness, embed_pending};
pub use stats::Stats;
pub use tie::{Tie, write_tie};

use crate::backfill;
use crate::cli::Io;
use crate::error::Result;
use crate::record::{Link, RESPONDED_WITH, Record, Role, Scope, Scopes, StoredRecord};
use crate::store::{Mark, Select, Store, Walk, WriteRules};
use std::collections::{HashMap, HashSet};
use synapse::Plan;

/// The number of pairs of question and answer that are looked up at a time.
const BATCH: usize = 1000;

/// The fact that marks the records whose RESPONDED_WITH links are all made.
const PAIRED: &str = "paired";

/// The RESPONDED_WITH links that are missing: an answer belongs to the turn before it in its trace, if that
/// is a user's and neither is linked yet. `mark` is that of the existing records.
fn missing(store: &mut dyn Store, scopes: &Scopes, mark: Option<Mark>) -> Result<Vec<Link>> {
    let mut open: HashMap<(Scope, String), Option<String>> = HashMap::new();
    let mut pairs = Vec::new();
    let traces_since = store.fact(PAIRED)?.as_deref().and_then(Mark::parse);
    if mark.is_some() && mark == traces_since {
        return Ok(Vec::new());
    }
    let what = Walk { traces_since, ..Walk::records(Select::messages(scopes.clone())) };
    store.walk(&what, &mut |record| {
        if let Record::Stored(message) = record {
            pairs.extend(pair(&mut open, &message));
        }
        Ok(())
    })?;
    let mut missing = Vec::new();
    for batch in pairs.chunks(BATCH) {
        // Nearly all are linked, and are found by the first end: few are left for the second look-up.
        let mut batch: Vec<&Link> = batch.iter().collect();
        for end in [|link: &Link| link.from.clone(), |link: &Link| link.to.clone()] {
            let ids: Vec<String> = batch.iter().map(|link| end(link)).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let linked: HashSet<String> = store.links(&ids, Some(RESPONDED_WITH))?.iter().map(end).collect();
            batch.retain(|link| !linked.contains(&end(link)));
        }
        missing.extend(batch.into_iter().cloned());
    }
    Ok(missing)
}

/// Makes the links that are missing in some scopes: those from questions to answers and, by a plan, those of
/// similar messages; `rebuild` replaces all of these. `on_link` gets each new link. A person sees a bar;
/// another process that does the same is waited for. Fails if the store or `on_link` does.
pub fn bring_up_to_date(
    store: &mut dyn Store,
    plan: Option<&Plan>,
    scopes: &Scopes,
    rebuild: bool,
    io: &mut Io,
    on_link: &mut dyn FnMut(Link, &mut Io) -> Result<()>,
) -> Result<()> {
    let _claim = backfill::claim(store, "link", &io.diagnostics())?;
    let mut bar = io.progress();
    let mut report = |done, of| bar.set("linking", done, Some(of));
    let on_link = &mut |link| on_link(link, io);
    let mark = store.change_state(&[])?.mark;
    let answers = missing(store, scopes, mark)?;
    if !answers.is_empty() {
        let records: Vec<Record> = answers.iter().cloned().map(Record::Link).collect();
        store.write(&records, WriteRules::KEEP_OUT)?;
    }
    if let Some(mark) = mark.filter(|_| *scopes == Scopes::All) {
        note_paired(store, mark)?;
    }
    answers.into_iter().try_for_each(&mut *on_link)?;
    plan.map_or(Ok(()), |plan| synapse::update(store, plan, scopes, rebuild, &mut report, on_link))
}

/// Gives the links that `bring_up_to_date` would make, and writes nothing.
pub fn dry_run(
    store: &mut dyn Store,
    plan: Option<&Plan>,
    scopes: &Scopes,
    rebuild: bool,
    on_link: &mut dyn FnMut(Link) -> Result<()>,
) -> Result<()> {
    let mark = store.change_state(&[])?.mark;
    missing(store, scopes, mark)?.into_iter().try_for_each(&mut *on_link)?;
    plan.map_or(Ok(()), |plan| synapse::dry_run(store, plan, scopes, rebuild, on_link))
}

/// Notes that no link of the records of a mark is missing, so that their traces are not read again.
fn note_paired(store: &mut dyn Store, mark: Mark) -> Result<()> {
    let mark = mark.to_string();
    if store.fact(PAIRED)?.as_ref() != Some(&mark) {
        store.set_fact(PAIRED, Some(&mark))?;
    }
    Ok(())
}

/// Takes the next turn of a trace. An answer gives the link from the question before it.
fn pair(open: &mut HashMap<(Scope, String), Option<String>>, message: &StoredRecord) -> Option<Link> {
    let before = match message.role {
        Some(Role::User) => {
            let trace = (message.scope.clone(), message.trace_id.clone());
            open.insert(trace, Some(message.id.clone()));
            None
        }
        Some(Role::Assistant) => open.get_mut(&(message.scope.clone(), message.trace_id.clone()))?.take(),
        Some(Role::System | Role::Tool) | None => None,
    };
    before.map(|from| Link::responded_with(&from, &message.id, message.timestamp))
}
