//! What hangs together with the hits of a search: along synapses, from a question to its answer and back, and to
//! what was said just before and after.
//!
//! All that is one step away comes before all that is two steps away. A score decays with every step, and by as
//! much as the link is weaker than 1.

use super::options::Options;
use crate::error::Result;
use crate::record::{Hit, Link, StoredRecord, Via, Why};
use crate::store::{Around, Evidence, Select, Store};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How many steps away what hangs together with a hit may be.
const MAX_HOPS: usize = 3;
/// What is left of a score after a step.
const HOP_DECAY: f64 = 0.5;
/// How strong the link is between two records of which one follows the other in time.
const NEIGHBOUR_STRENGTH: f64 = 0.5;
/// So many records at most are looked at of each step, for each that is wanted, and gone on from.
const BEAM_WIDTH: usize = 4;

/// How one comes to a record.
struct Way {
    score: f64,
    /// The id of the record before it.
    from: String,
}

/// What is known of the links and neighbours of records, and a store for the rest.
pub(super) struct Surroundings<'a> {
    store: &'a mut dyn Store,
    which: &'a Select,
    evidence: &'a Evidence,
    neighbours: HashMap<&'a str, [Option<&'a StoredRecord>; 2]>,
}

impl<'a> Surroundings<'a> {
    /// Within a selection, beginning with what a search retrieved.
    pub(super) fn new(
        store: &'a mut dyn Store,
        which: &'a Select,
        evidence: &'a Evidence,
    ) -> Surroundings<'a> {
        Surroundings { store, which, evidence, neighbours: evidence.neighbours() }
    }

    /// All links of some records, in the order in which a store gives them: by the one end, relation, the other.
    fn links(&mut self, ids: &[&str]) -> Result<impl Iterator<Item = Link> + use<>> {
        let mut links = Vec::new();
        let mut unknown = Vec::new();
        for id in ids {
            match self.evidence.links_of(id) {
                Some(known) => links.extend(known.cloned()),
                None => unknown.push(*id),
            }
        }
        if !unknown.is_empty() {
            links.extend(self.store.links(&unknown, None)?);
        }
        let by_ends =
            links.into_iter().map(|link| ((link.from.clone(), link.rel.clone(), link.to.clone()), link));
        let by_ends: BTreeMap<_, Link> = by_ends.collect();
        Ok(by_ends.into_values())
    }

    /// What stands before and after some records, by their ids.
    fn around(&mut self, records: &[(StoredRecord, f64)]) -> Result<HashMap<String, Vec<StoredRecord>>> {
        let mut found = HashMap::new();
        let mut unknown = Vec::new();
        for (record, _) in records {
            match self.neighbours.get(record.id.as_str()) {
                Some(next) => {
                    found.insert(record.id.clone(), next.iter().copied().flatten().cloned().collect());
                }
                None => unknown.push(record),
            }
        }
        if !unknown.is_empty() {
            let around = self.store.around(&unknown, self.which, 1)?;
            let all = |around: Around| around.before.into_iter().chain(around.after).collect();
            found.extend(unknown.iter().map(|record| record.id.clone()).zip(around.into_iter().map(all)));
        }
        Ok(found)
    }

    /// Where one step leads from some records, and those records that were seen on the way.
    fn step(
        &mut self,
        open: &[(StoredRecord, f64)],
    ) -> Result<(BTreeMap<String, Way>, BTreeMap<String, StoredRecord>)> {
        let (mut ways, mut known) = (BTreeMap::new(), BTreeMap::new());
        let mut lead = |from: &str, to: &str, score: f64| {
            let score = score.max(0.0);
            let better = ways.get(to).is_none_or(|way: &Way| way.score < score);
            if better {
                ways.insert(to.to_owned(), Way { score, from: from.to_owned() });
            }
        };
        let scores: HashMap<&str, f64> =
            open.iter().map(|(record, score)| (record.id.as_str(), *score)).collect();
        let ids: Vec<&str> = open.iter().map(|(record, _)| record.id.as_str()).collect();
        let links = self.links(&ids)?;
        let mut around = self.around(open)?;
        for link in links {
            let strength = HOP_DECAY * link.score.unwrap_or(1.0);
            for (from, to) in [(&link.from, &link.to), (&link.to, &link.from)] {
                if let Some(score) = scores.get(from.as_str()) {
                    lead(from, to, score * strength);
                }
            }
        }
        for (from, score) in open {
            for next in around.remove(&from.id).unwrap_or_default() {
                lead(&from.id, &next.id, score * HOP_DECAY * NEIGHBOUR_STRENGTH);
                known.insert(next.id.clone(), next);
            }
        }
        Ok((ways, known))
    }

    /// The hits, and after them what hangs together with them within the selection: at most as many as are wanted
    /// of the hits themselves, the nearest steps first.
    pub(super) fn expand(mut self, mut hits: Vec<Hit>, options: &Options) -> Result<Vec<Hit>> {
        let mut seen: HashSet<String> = hits.iter().map(|hit| hit.record.id.clone()).collect();
        let mut filter = options.filter();
        hits.retain(&mut filter);
        let mut open: Vec<(StoredRecord, f64)> =
            hits.iter().map(|hit| (hit.record.clone(), hit.score)).collect();
        let mut further = Vec::new();
        for hop in 1..=MAX_HOPS {
            let (mut ways, mut known) = self.step(&open)?;
            ways.retain(|id, _| !seen.contains(id));
            let mut ids: Vec<&str> = ways.keys().map(String::as_str).collect();
            ids.sort_by(|a, b| ways[*b].score.total_cmp(&ways[*a].score).then(a.cmp(b)));
            ids.truncate(options.limit.saturating_mul(BEAM_WIDTH));
            open.clear();
            let mut rest = &ids[..];
            while !rest.is_empty() && further.len() < options.limit {
                // As many as are wanted, and all that are as near as the last of them.
                let last = ways[rest[(options.limit - further.len()).min(rest.len()) - 1]].score;
                let (batch, after) = rest.split_at(rest.partition_point(|id| ways[*id].score >= last));
                rest = after;
                let unknown: Vec<&str> =
                    batch.iter().filter(|id| !known.contains_key(**id)).copied().collect();
                if !unknown.is_empty() {
                    for record in self.store.get(&unknown, self.which)? {
                        known.insert(record.id.clone(), record);
                    }
                }
                let found = batch.iter().filter_map(|id| {
                    let Way { score, from } = &ways[*id];
                    let why = Why { via: Some(Via { hop, from: from.clone() }), ..Why::default() };
                    let parts = vec![(format!("hop_{hop}"), *score)];
                    Some(Hit { record: known.remove(*id)?, score: *score, parts, why })
                });
                let mut found = Hit::best(found.collect(), usize::MAX);
                seen.extend(found.iter().map(|hit| hit.record.id.clone()));
                open.extend(found.iter().map(|hit| (hit.record.clone(), hit.score)));
                found.retain(&mut filter);
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
}
