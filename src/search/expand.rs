//! What hangs together with the hits of a search: along synapses, from a question to its answer and back, and to
//! what was said just before and after.
//!
//! All that is one step away comes before all that is two steps away. A score decays with every step, and by as
//! much as the link is weaker than 1.

use super::{Found, Options};
use crate::error::Result;
use crate::record::{Hit, Message, Object};
use crate::store::{Around, Select, Store};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How many steps away what hangs together with a hit may be.
const STEPS: usize = 3;
/// What is left of a score after a step.
const DECAY: f64 = 0.5;
/// How strong the link is between two messages of which one follows the other in time.
const NEXT: f64 = 0.5;
/// So many messages at most are looked at of each step, for each that is wanted, and gone on from.
const WIDTH: usize = 4;

/// How one comes to a message.
struct Way {
    score: f64,
    /// The id of the message before it.
    via: String,
}

impl Found<'_> {
    /// The hits, and after them what hangs together with them within the selection: at most as many as are wanted
    /// of the hits themselves, the nearest steps first.
    pub fn linked(self, store: &mut dyn Store, options: &Options) -> Result<Vec<Hit>> {
        let Found { hits, which, beside } = self;
        linked(store, hits, which, &beside.next(), options)
    }
}

fn linked(
    store: &mut dyn Store,
    mut hits: Vec<Hit>,
    which: &Select,
    next: &HashMap<&str, [Option<&Message>; 2]>,
    options: &Options,
) -> Result<Vec<Hit>> {
    let mut seen: HashSet<String> = hits.iter().map(|hit| hit.message.id.clone()).collect();
    let mut sieve = options.sieve();
    hits.retain(&mut sieve);
    let mut open: Vec<(Message, f64)> = hits.iter().map(|hit| (hit.message.clone(), hit.score)).collect();
    let mut further = Vec::new();
    for step in 1..=STEPS {
        let (mut ways, mut known) = leading(store, &open, which, next)?;
        ways.retain(|id, _| !seen.contains(id));
        let mut ids: Vec<&str> = ways.keys().map(String::as_str).collect();
        ids.sort_by(|a, b| ways[*b].score.total_cmp(&ways[*a].score).then(a.cmp(b)));
        ids.truncate(options.limit.saturating_mul(WIDTH));
        open.clear();
        let mut rest = &ids[..];
        while !rest.is_empty() && further.len() < options.limit {
            // As many as are wanted, and all that are as near as the last of them.
            let last = ways[rest[(options.limit - further.len()).min(rest.len()) - 1]].score;
            let (batch, after) = rest.split_at(rest.partition_point(|id| ways[*id].score >= last));
            rest = after;
            let unknown: Vec<&str> = batch.iter().filter(|id| !known.contains_key(**id)).copied().collect();
            for message in store.messages(&unknown, which)? {
                known.insert(message.id.clone(), message);
            }
            let found = batch.iter().filter_map(|id| {
                let Way { score, via } = &ways[*id];
                let mut why = Object::default();
                why.set("hop", step.to_string());
                why.set_text("via", via);
                let parts = vec![(format!("hop_{step}"), *score)];
                Some(Hit { message: known.remove(*id)?, score: *score, parts, why })
            });
            let mut found = Hit::best(found.collect(), usize::MAX);
            seen.extend(found.iter().map(|hit| hit.message.id.clone()));
            open.extend(found.iter().map(|hit| (hit.message.clone(), hit.score)));
            found.retain(&mut sieve);
            further.append(&mut found);
        }
        if further.len() >= options.limit || open.is_empty() {
            break;
        }
    }
    further.truncate(options.limit);
    hits.append(&mut further);
    Ok(hits)
}

/// Where one step leads from some messages, and those of them that were seen on the way.
fn leading(
    store: &mut dyn Store,
    open: &[(Message, f64)],
    which: &Select,
    seen: &HashMap<&str, [Option<&Message>; 2]>,
) -> Result<(BTreeMap<String, Way>, BTreeMap<String, Message>)> {
    let (mut ways, mut known) = (BTreeMap::new(), BTreeMap::new());
    let mut lead = |from: &str, to: &str, score: f64| {
        let score = score.max(0.0);
        let better = ways.get(to).is_none_or(|way: &Way| way.score < score);
        if better {
            ways.insert(to.to_owned(), Way { score, via: from.to_owned() });
        }
    };
    let scores: HashMap<&str, f64> =
        open.iter().map(|(message, score)| (message.id.as_str(), *score)).collect();
    let ids: Vec<&str> = open.iter().map(|(message, _)| message.id.as_str()).collect();
    let unseen = open.iter().map(|(message, _)| message);
    let unseen: Vec<&Message> = unseen.filter(|message| !seen.contains_key(message.id.as_str())).collect();
    let (links, around) = store.next_to(&ids, &unseen, which)?;
    let around: HashMap<&str, Around> =
        unseen.iter().map(|message| message.id.as_str()).zip(around).collect();
    for link in links {
        let strength = DECAY * link.score.unwrap_or(1.0);
        for (from, to) in [(&link.from, &link.to), (&link.to, &link.from)] {
            scores.get(from.as_str()).into_iter().for_each(|score| lead(from, to, score * strength));
        }
    }
    for (from, score) in open {
        let id = from.id.as_str();
        let next = seen.get(id).into_iter().flatten().copied().flatten();
        for next in next.chain(around.get(id).into_iter().flat_map(Around::all)) {
            lead(id, &next.id, score * DECAY * NEXT);
            known.insert(next.id.clone(), next.clone());
        }
    }
    Ok((ways, known))
}
