//! Search in the tree of contexts: the best documents below some addresses, and the memories there.
//!
//! The nodes below the targets that words and meaning find have a score of their own, as in every search; these are the
//! candidates. A flat search ranks them by it. A recursive search goes down from the targets and from the best
//! directories, and a node's score takes in that of the directory above it (`recursion.rs`). Both need one retrieval of
//! the store, however deep the tree is. The steps say how each candidate got its score, and why those that are no hits
//! are none.

mod candidates;
mod query;
mod recursion;
mod session;
mod shown;
mod step;

pub use query::{Method, TreeQuery};
pub use session::session_context;
pub use shown::{at_level, describe, match_reason};
pub use step::{Exclusion, Step};

use super::memories::run_with_memories;
use super::options::{By, Options};
use crate::error::Result;
use crate::record::{Address, DOCUMENT, Hit, MEMORY, RecordKind, Scopes, StoredRecord};
use crate::store::{Below, Evidence, Select, Store};
use crate::tree;
use candidates::{Candidate, candidates};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// The answer to a query.
#[derive(Clone, Debug, Default)]
pub struct TreeAnswer {
    /// Best first; ties by address.
    pub hits: Vec<Hit>,
    pub steps: Vec<Step>,
}

/// Searches in the tree. Errors if a question has nothing to search for.
pub fn run(store: &mut dyn Store, by: &mut By, query: &TreeQuery, options: &Options) -> Result<TreeAnswer> {
    let begin = Instant::now();
    let targets = Targets::resolve(store, query)?;
    let mut steps = vec![Step::SearchStart {
        questions: query.questions.to_vec(),
        targets: query.targets.to_vec(),
        method: query.method,
        limit: options.limit,
        min_score: options.min_score,
        deduplicate: options.deduplicate,
    }];
    let missing = targets.missing.iter();
    steps.extend(missing.map(|uri| Step::excluded(uri.clone(), Exclusion::Missing)));
    steps.extend(filtered(store, query, &targets)?);
    let mut found = Vec::new();
    if let Some(below) = &targets.documents {
        let which = Select { below: Some(below.clone()), ..of_kind(query, &DOCUMENT) };
        found = candidates(store, by, query, &which, options)?;
    }
    let is_target = |candidate: &Candidate| targets.directories.contains(&candidate.address);
    let (start, mut found): (Vec<Candidate>, Vec<Candidate>) = found.into_iter().partition(is_target);
    steps.extend(start.into_iter().map(|one| one.excluded(Exclusion::Target, None)));
    match query.method {
        Method::Flat => steps.extend(found.iter().map(Candidate::step)),
        Method::Recursive => {
            recursion::descend(&targets.addresses, &mut found, options.limit, &mut steps);
        }
    }
    if !targets.memories.is_empty() {
        let memories = memories(store, by, query, &targets.memories, options)?;
        steps.extend(memories.iter().map(Candidate::step));
        found.extend(memories);
    }
    let candidates = found.len();
    let hits = choose(found, options, &mut steps);
    steps.push(Step::Summary { candidates, hits: hits.len(), ms: begin.elapsed().as_secs_f64() * 1000.0 });
    Ok(TreeAnswer { hits, steps })
}

/// Hits followed by the documents and memories of the partition that are linked to them, at most `options.limit` in all;
/// of those that say the same only the best.
pub fn with_linked(
    store: &mut dyn Store,
    hits: Vec<Hit>,
    partition: &str,
    options: &Options,
) -> Result<Vec<Hit>> {
    let which = &Select::records(vec![&DOCUMENT, &MEMORY], Scopes::Partition(partition.to_owned()));
    let options = Options { deduplicate: true, min_score: None, admits: &|_| true, ..options.clone() };
    super::Found { hits, which, evidence: Evidence::default() }.sharing_the_limit(store, &options)
}

/// The selection of a kind by the conditions of a query.
fn of_kind(query: &TreeQuery, kind: &'static RecordKind) -> Select {
    Select {
        kinds: vec![kind],
        scopes: Scopes::Partition(query.partition.to_owned()),
        below: None,
        ..query.filter.clone()
    }
}

/// The targets of a query, by what lies there.
#[derive(Default)]
struct Targets {
    /// Those that have documents, of which none lies below another.
    addresses: Vec<Address>,
    /// Those of them that are documents with others below them.
    directories: HashSet<Address>,
    documents: Option<Below>,
    memories: Vec<Address>,
    missing: Vec<Address>,
}

impl Targets {
    fn resolve(store: &mut dyn Store, query: &TreeQuery) -> Result<Targets> {
        let mut targets = Targets::default();
        let mut leaves = 0;
        for target in outermost(query.targets) {
            let is_open = target.is_open_to(query.partition);
            let (documents, memories) = if is_open { wanted(query, target) } else { (false, false) };
            if memories {
                targets.memories.push(target.clone());
            }
            let node = if documents { tree::node(store, query.partition, target)? } else { None };
            let which = Select { below: Some(Below::new(target, None)), ..of_kind(query, &DOCUMENT) };
            if documents && (node.is_some() || store.count(&which, 1)? > 0) {
                targets.addresses.push(target.clone());
                match node {
                    Some(node) if !node.is_directory() => leaves += 1,
                    _ => drop(targets.directories.insert(target.clone())),
                }
            } else if !memories {
                targets.missing.push(target.clone());
            }
        }
        targets.documents = match &targets.addresses[..] {
            [] => None,
            // An index finds what lies below one address.
            [target] if leaves == 0 => Some(Below::new(target, None)),
            targets => Some(Below::within(targets)),
        };
        Ok(targets)
    }
}

/// Those of some addresses that lie below no other of them, each once, in order.
fn outermost(addresses: &[Address]) -> Vec<&Address> {
    let mut sorted: Vec<&Address> = addresses.iter().collect();
    sorted.sort();
    let mut outermost: Vec<&Address> = Vec::new();
    for address in sorted {
        if outermost.last().is_none_or(|last| !address.is_within(last)) {
            outermost.push(address);
        }
    }
    outermost
}

/// Whether documents and memories are searched at and below a target.
fn wanted(query: &TreeQuery, target: &Address) -> (bool, bool) {
    if !query.kinds.is_empty() {
        return (query.kinds.contains(&&DOCUMENT), query.kinds.contains(&&MEMORY));
    }
    let is_of_memories = Address::memories(query.partition).is_ok_and(|memories| target.is_within(&memories));
    (true, is_of_memories)
}

/// The memories at and below some addresses, by their own scores.
fn memories(
    store: &mut dyn Store,
    by: &mut By,
    query: &TreeQuery,
    targets: &[Address],
    options: &Options,
) -> Result<Vec<Candidate>> {
    let which = of_kind(query, &MEMORY);
    let is_within = |hit: &Hit| {
        let address = hit.record.tree_address();
        address.is_some_and(|address| targets.iter().any(|target| address.is_within(target)))
    };
    let options =
        Options { link: false, min_score: None, deduplicate: false, admits: &is_within, ..options.clone() };
    let mut found = Vec::new();
    for question in query.questions {
        let hits = run_with_memories(store, &which.scopes, &options, query.memories, |store, options| {
            Ok(super::find(store, by.again(), question, &which, options)?.hits)
        })?;
        candidates::add_best(&mut found, hits);
    }
    Ok(found)
}

/// A step for each node at or below the targets that the query leaves out by its id.
fn filtered(store: &mut dyn Store, query: &TreeQuery, targets: &Targets) -> Result<Vec<Step>> {
    let ids: Vec<&str> = query.filter.except.ids.iter().map(String::as_str).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let which = Select::records(vec![&DOCUMENT, &MEMORY], Scopes::Partition(query.partition.to_owned()));
    let mut addresses: Vec<Address> = Vec::new();
    for record in store.get(&ids, &which)? {
        let above = if record.kind == &DOCUMENT { &targets.addresses } else { &targets.memories };
        let address = record.tree_address();
        addresses.extend(address.filter(|one| above.iter().any(|target| one.is_within(target))));
    }
    addresses.sort();
    Ok(addresses.into_iter().map(|address| Step::excluded(address, Exclusion::Filter)).collect())
}

/// The hits among the candidates; adds a step for each of the others.
fn choose(mut found: Vec<Candidate>, options: &Options, steps: &mut Vec<Step>) -> Vec<Hit> {
    found.sort_by(|a, b| b.hit.score.total_cmp(&a.hit.score).then_with(|| a.address.cmp(&b.address)));
    let mut seen: HashMap<[u8; 32], Address> = HashMap::new();
    let mut hits = Vec::new();
    for candidate in found {
        let mut same_as = None;
        let exclusion = if !candidate.is_visited {
            Some(Exclusion::Unvisited)
        } else if options.min_score.is_some_and(|least| candidate.hit.score < least) {
            Some(Exclusion::MinScore)
        } else if !(options.admits)(&candidate.hit) {
            Some(Exclusion::Filter)
        } else {
            if options.deduplicate {
                let digest = candidate.hit.record.text_digest();
                same_as = seen.get(&digest).cloned();
                seen.entry(digest).or_insert_with(|| candidate.address.clone());
            }
            match same_as {
                Some(_) => Some(Exclusion::Duplicate),
                None => (hits.len() >= options.limit).then_some(Exclusion::Limit),
            }
        };
        match exclusion {
            Some(reason) => steps.push(candidate.excluded(reason, same_as)),
            None => hits.push(candidate.hit),
        }
    }
    hits
}

impl StoredRecord {
    /// The place of a record in the tree of contexts: the address of a document; that of a memory, else the address that
    /// follows from its partition, its category and its id.
    pub fn tree_address(&self) -> Option<Address> {
        if self.kind == &DOCUMENT {
            return self.address().ok();
        }
        if self.kind != &MEMORY {
            return None;
        }
        let memories = Address::memories(&self.scope.partition).ok()?;
        let own = self.address().ok().filter(|address| address.is_below(&memories));
        own.or_else(|| memories.join(&self.category()).ok()?.join(&self.id).ok())
    }
}
