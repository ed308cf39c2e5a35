//! Search in the tree of contexts: the best documents below some addresses, and the memories there.
//!
//! The nodes below the targets that words and meaning find have a score of their own, as in every search;
//! these are the candidates. A flat search ranks them by it. A recursive search goes down from the targets
//! and from the best directories, and a node's score takes in that of the directory above it
//! (`recursion.rs`). Both need one retrieval of the store, however deep the tree is. The steps say how each
//! candidate got its score, and why it is no hit, if it is none.

mod candidates;
mod passage;
mod recursion;
mod session;
mod shown;
mod step;

pub use passage::set_passage;
pub use session::session_context;
pub use shown::{describe, match_reason, set_level};
pub use step::{Exclusion, Step};

use super::memories::{MemoryRule, by_confidence, run_with_memories};
use super::options::{By, Options};
use super::request::{Method, Request};
use crate::error::Result;
use crate::record::{Address, DOCUMENT, Hit, MEMORY, RecordKind, Scopes, StoredRecord};
use crate::store::{Below, Evidence, Select, Store};
use crate::tree;
use candidates::{Candidate, candidates};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// Searches in the tree: the hits, best first, ties by confidence and then by address, and the steps that
/// lead to them. With `link`, the hits are followed by the documents and memories of the partition that are
/// linked to them, at most `limit` in all. Errors if a question has nothing to search for.
pub(super) fn run(
    store: &mut dyn Store,
    by: &mut By,
    request: &Request,
    rule: MemoryRule,
) -> Result<(Vec<Hit>, Vec<Step>)> {
    let begin = Instant::now();
    let options = &request.options;
    let targets = Targets::resolve(store, request)?;
    let mut steps = vec![Step::SearchStart {
        questions: request.questions.clone(),
        targets: request.targets.clone(),
        method: request.method,
        limit: options.limit,
        min_score: options.min_score,
        deduplicate: options.deduplicate,
        has_context: !request.context.trim().is_empty(),
    }];
    let missing = targets.missing.iter();
    steps.extend(missing.map(|uri| Step::excluded(uri.clone(), Exclusion::Missing)));
    steps.extend(filtered(store, request, &targets)?);
    let mut found = Vec::new();
    if let Some(below) = &targets.documents {
        let which = Select { below: Some(below.clone()), ..of_kind(request, &DOCUMENT) };
        found = candidates(store, by, request, &which)?;
    }
    let is_target = |candidate: &Candidate| targets.directories.contains(&candidate.address);
    let (start, mut found): (Vec<Candidate>, Vec<Candidate>) = found.into_iter().partition(is_target);
    steps.extend(start.into_iter().map(|one| one.excluded(Exclusion::Target, None)));
    match request.method {
        Method::Flat => steps.extend(found.iter().map(Candidate::step)),
        Method::Recursive => {
            recursion::descend(&targets.addresses, &mut found, options.limit, &mut steps);
        }
    }
    if !targets.memories.is_empty() {
        let memories = memories(store, by, request, &targets.memories, rule)?;
        steps.extend(memories.iter().map(Candidate::step));
        found.extend(memories);
    }
    let candidates = found.len();
    let mut hits = choose(found, options, &mut steps);
    steps.push(Step::Summary { candidates, hits: hits.len(), ms: begin.elapsed().as_secs_f64() * 1000.0 });
    if options.link {
        hits = with_linked(store, hits, request)?;
    }
    Ok((hits, steps))
}

/// Hits followed by the records that are linked to them; of those that say the same only the best.
fn with_linked(store: &mut dyn Store, hits: Vec<Hit>, request: &Request) -> Result<Vec<Hit>> {
    let which = &all(request);
    let options =
        Options { deduplicate: true, min_score: None, admits: &|_| true, ..request.options.clone() };
    super::Found { hits, which, evidence: Evidence::default() }.sharing_the_limit(store, &options)
}

/// The documents and memories of the partition.
fn all(request: &Request) -> Select {
    Select::records(vec![&DOCUMENT, &MEMORY], Scopes::Partition(request.partition().to_owned()))
}

/// The selection of a kind by the conditions of a request.
fn of_kind(request: &Request, kind: &'static RecordKind) -> Select {
    Select {
        kinds: vec![kind],
        scopes: Scopes::Partition(request.partition().to_owned()),
        below: None,
        ..request.which.clone()
    }
}

/// The targets of a request, by the kinds of records there.
#[derive(Default)]
struct Targets {
    /// Those that have documents, none below another.
    addresses: Vec<Address>,
    /// Those of them that are documents with others below them.
    directories: HashSet<Address>,
    documents: Option<Below>,
    memories: Vec<Address>,
    missing: Vec<Address>,
}

impl Targets {
    fn resolve(store: &mut dyn Store, request: &Request) -> Result<Targets> {
        let mut targets = Targets::default();
        let mut leaves = 0;
        for target in outermost(&request.targets) {
            let is_open = target.is_open_to(request.partition());
            let (documents, memories) = if is_open { wanted(request, target) } else { (false, false) };
            if memories {
                targets.memories.push(target.clone());
            }
            let node = if documents { tree::node(store, request.partition(), target)? } else { None };
            let which = Select { below: Some(Below::new(target, None)), ..of_kind(request, &DOCUMENT) };
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
            // An index finds the descendants of one address.
            [target] if leaves == 0 => Some(Below::new(target, None)),
            targets => Some(Below::within(targets)),
        };
        Ok(targets)
    }
}

/// The addresses that are below no other of them, each once, in order.
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
fn wanted(request: &Request, target: &Address) -> (bool, bool) {
    let kinds = &request.which.kinds;
    if !kinds.is_empty() {
        return (kinds.contains(&&DOCUMENT), kinds.contains(&&MEMORY));
    }
    let is_of_memories =
        Address::memories(request.partition()).is_ok_and(|memories| target.is_within(&memories));
    (true, is_of_memories)
}

/// The memories at and below some addresses, by their own scores.
fn memories(
    store: &mut dyn Store,
    by: &mut By,
    request: &Request,
    targets: &[Address],
    rule: MemoryRule,
) -> Result<Vec<Candidate>> {
    let which = of_kind(request, &MEMORY);
    let is_within = |hit: &Hit| {
        let address = hit.record.tree_address();
        address.is_some_and(|address| targets.iter().any(|target| address.is_within(target)))
    };
    let options =
        Options { admits: &is_within, clock: request.options.clock, ..Options::new(request.options.limit) };
    let mut found = Vec::new();
    for question in &request.questions {
        let hits = run_with_memories(store, &which.scopes, &options, rule, |store, options| {
            Ok(super::find(store, by.again(), question, &which, options)?.hits)
        })?;
        candidates::add_best(&mut found, hits);
    }
    Ok(found)
}

/// A step for each node at or below the targets that the request leaves out by its id.
fn filtered(store: &mut dyn Store, request: &Request, targets: &Targets) -> Result<Vec<Step>> {
    let ids: Vec<&str> = request.which.except.ids.iter().map(String::as_str).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut addresses: Vec<Address> = Vec::new();
    for record in store.get(&ids, &all(request))? {
        let above = if record.kind == &DOCUMENT { &targets.addresses } else { &targets.memories };
        let address = record.tree_address();
        addresses.extend(address.filter(|one| above.iter().any(|target| one.is_within(target))));
    }
    addresses.sort();
    Ok(addresses.into_iter().map(|address| Step::excluded(address, Exclusion::Filter)).collect())
}

/// The hits among the candidates; adds a step for each of the others.
fn choose(mut found: Vec<Candidate>, options: &Options, steps: &mut Vec<Step>) -> Vec<Hit> {
    found.sort_by(|a, b| {
        let by_score = b.hit.score.total_cmp(&a.hit.score);
        let by_confidence = || by_confidence(&a.hit.record, &b.hit.record);
        by_score.then_with(by_confidence).then_with(|| a.address.cmp(&b.address))
    });
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
    /// The place of a record in the tree of contexts: the address of a document; that of a memory, else the
    /// address that follows from its partition, its category and its id.
    pub fn tree_address(&self) -> Option<Address> {
        if self.kind == &DOCUMENT {
            return self.address().ok();
        }
        if self.kind != &MEMORY {
            return None;
        }
        // A partition whose name cannot be a segment has no tree.
        let memories = Address::memories(&self.scope.partition).ok()?;
        let own = self.address().ok().filter(|address| address.is_below(&memories));
        own.or_else(|| memories.join(&self.category()).ok()?.join(&self.id).ok())
    }
}
