//! Follows the links of the hits of a search: synapses, the links between questions and answers, and the
//! neighbours in time.
//!
//! Records one step away come before records two steps away. A score decays with every step, and is
//! multiplied by the strength of the link.

use super::options::Options;
use crate::error::Result;
use crate::ranking::weights;
use crate::record::{Hit, HitEvidence, Link, LinkHop, StoredRecord};
use crate::store::{Around, Evidence, Select, Store};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The greatest number of steps from a hit.
const MAX_HOPS: usize = 3;
/// The greatest number of records of each step that are read and expanded, for each wanted record.
const BEAM_WIDTH: usize = 4;

/// Records whose links are followed next, each with its score.
type Frontier<'a> = [(Cow<'a, StoredRecord>, f64)];

type RecordsById = BTreeMap<String, Arc<StoredRecord>>;

/// The best way to a record that was found.
struct Arrival {
    score: f64,
    /// The id of the record that the last step leads from.
    from: String,
}

/// The links and neighbours that a search has read, and the store that has the others.
pub(super) struct Surroundings<'a> {
    store: &'a mut dyn Store,
    which: &'a Select,
    evidence: &'a Evidence,
    neighbours: FxHashMap<&'a str, [Option<&'a Arc<StoredRecord>>; 2]>,
}

impl<'a> Surroundings<'a> {
    /// Begins with the evidence of a search within a selection.
    pub(super) fn new(
        store: &'a mut dyn Store,
        which: &'a Select,
        evidence: &'a Evidence,
    ) -> Surroundings<'a> {
        Surroundings { store, which, evidence, neighbours: evidence.neighbours() }
    }

    /// All links of some records, in the order of a store: by `from`, `rel`, `to`.
    fn links(&mut self, ids: &[&str]) -> Result<impl Iterator<Item = Link> + use<>> {
        let mut links = Vec::new();
        let mut missing = Vec::new();
        for id in ids {
            match self.evidence.links_of(id) {
                Some(records_by_id) => links.extend(records_by_id.cloned()),
                None => missing.push(*id),
            }
        }
        if !missing.is_empty() {
            links.extend(self.store.links(&missing, None)?);
        }
        let by_ends =
            links.into_iter().map(|link| ((link.from.clone(), link.rel.clone(), link.to.clone()), link));
        let by_ends: BTreeMap<_, Link> = by_ends.collect();
        Ok(by_ends.into_values())
    }

    /// The records before and after some records, by the ids of these.
    fn around(&mut self, records: &Frontier) -> Result<FxHashMap<String, Vec<Arc<StoredRecord>>>> {
        let mut found = FxHashMap::default();
        let mut missing = Vec::new();
        for (record, _) in records {
            match self.neighbours.get(record.id.as_str()) {
                Some(next) => {
                    found.insert(record.id.clone(), next.iter().copied().flatten().cloned().collect());
                }
                // Records outside conversations have no neighbours.
                None if record.kind.traced => missing.push(&**record),
                None => {}
            }
        }
        if !missing.is_empty() {
            let around = self.store.around(&missing, self.which, 1)?;
            let all = |around: Around| around.before.into_iter().chain(around.after).collect();
            found.extend(missing.iter().map(|record| record.id.clone()).zip(around.into_iter().map(all)));
        }
        Ok(found)
    }

    /// The records that one step leads to, and those of them that were read on the way.
    fn step(&mut self, frontier: &Frontier) -> Result<(BTreeMap<String, Arrival>, RecordsById)> {
        let (mut arrivals, mut records_by_id) = (BTreeMap::new(), BTreeMap::new());
        let mut relax = |from: &str, to: &str, score: f64| {
            let score = score.max(0.0);
            let better = arrivals.get(to).is_none_or(|way: &Arrival| way.score < score);
            if better {
                arrivals.insert(to.to_owned(), Arrival { score, from: from.to_owned() });
            }
        };
        let scores: FxHashMap<&str, f64> =
            frontier.iter().map(|(record, score)| (record.id.as_str(), *score)).collect();
        let ids: Vec<&str> = frontier.iter().map(|(record, _)| record.id.as_str()).collect();
        let links = self.links(&ids)?;
        let mut around = self.around(frontier)?;
        for link in links {
            // Links that nobody has scored, such as those to answers, are as strong as a score of 1.
            let strength = weights::HOP * link.score.unwrap_or(1.0);
            for (from, to) in [(&link.from, &link.to), (&link.to, &link.from)] {
                if let Some(score) = scores.get(from.as_str()) {
                    relax(from, to, score * strength);
                }
            }
        }
        for (from, score) in frontier {
            for next in around.remove(&from.id).unwrap_or_default() {
                relax(&from.id, &next.id, score * weights::HOP * weights::NEXT_IN_TIME);
                records_by_id.insert(next.id.clone(), next);
            }
        }
        Ok((arrivals, records_by_id))
    }

    /// The records of the selection that are linked to the first `expanded` hits: at most `limit`, the
    /// nearest steps first. No hit is among them. Fails if the store cannot be read.
    pub(super) fn linked(
        &mut self,
        hits: &[Hit],
        expanded: usize,
        limit: usize,
        options: &Options,
    ) -> Result<Vec<Hit>> {
        let mut seen: FxHashSet<String> = hits.iter().map(|hit| hit.record.id.clone()).collect();
        let mut filter = options.filter();
        for hit in hits {
            filter(hit);
        }
        let mut frontier: Vec<(Cow<StoredRecord>, f64)> =
            hits[..expanded].iter().map(|hit| (Cow::Borrowed(&hit.record), hit.score)).collect();
        let mut linked = Vec::new();
        for hop in 1..=MAX_HOPS {
            let (mut arrivals, mut records_by_id) = self.step(&frontier)?;
            arrivals.retain(|id, _| !seen.contains(id));
            let mut ids: Vec<&str> = arrivals.keys().map(String::as_str).collect();
            ids.sort_by(|a, b| arrivals[*b].score.total_cmp(&arrivals[*a].score).then(a.cmp(b)));
            ids.truncate(limit.saturating_mul(BEAM_WIDTH));
            frontier.clear();
            let mut rest = &ids[..];
            while !rest.is_empty() && linked.len() < limit {
                // As many as are still wanted, and all that score the same as the last of these.
                let last = arrivals[rest[(limit - linked.len()).min(rest.len()) - 1]].score;
                let (batch, after) = rest.split_at(rest.partition_point(|id| arrivals[*id].score >= last));
                rest = after;
                let missing: Vec<&str> =
                    batch.iter().filter(|id| !records_by_id.contains_key(**id)).copied().collect();
                if !missing.is_empty() {
                    for record in self.store.get(&missing, self.which)? {
                        records_by_id.insert(record.id.clone(), Arc::new(record));
                    }
                }
                let found = batch.iter().filter_map(|id| {
                    let Arrival { score, from } = &arrivals[*id];
                    let why = HitEvidence {
                        via: Some(LinkHop { hop, from: from.clone() }),
                        ..HitEvidence::default()
                    };
                    let parts = vec![(format!("hop_{hop}"), *score)];
                    let record = Arc::unwrap_or_clone(records_by_id.remove(*id)?);
                    Some(Hit { record, score: *score, parts, why })
                });
                let mut found = Hit::best(found.collect(), usize::MAX);
                seen.extend(found.iter().map(|hit| hit.record.id.clone()));
                frontier.extend(found.iter().map(|hit| (Cow::Owned(hit.record.clone()), hit.score)));
                found.retain(&mut filter);
                linked.append(&mut found);
            }
            if linked.len() >= limit || frontier.is_empty() {
                break;
            }
        }
        linked.truncate(limit);
        Ok(linked)
    }
}
