//! Words and meaning together, and what stands around a hit in its conversation.
//!
//! To a record's own score (see the store's evidence) comes what its neighbours in the conversation lend it: of the
//! two at one step the better one's own score, and of the two at two steps, since what answers a question often
//! stands beside what resembles it. A record that asks something itself seldom answers: it lends more to the next,
//! and counts less.
//!
//! `scripts/bench recall` measures what each of these is worth, and what was tried and left out.

use crate::error::Result;
use crate::record::{Hit, StoredRecord, Why};
use crate::store::{Around, Candidate, Evidence, Plan, Question, Select, Store};

/// How many steps away a neighbour lends something.
const REACH: usize = 2;
/// What a neighbour lends, at one step and at two.
const NEIGHBOUR_WEIGHT: [f64; REACH] = [0.5, 0.3];
/// What a record that asks something lends to the next, and what its own score counts for itself.
const QUESTION_WEIGHT: f64 = 0.8;
/// What a score is made of: words, meaning, and what neighbours lend.
const PART_NAMES: [&str; 4] = ["keyword", "similarity", "around_1", "around_2"];
/// How many records are looked at of either kind, at least, and for each that is wanted.
const CANDIDATES: usize = 40;
const PER_HIT: usize = 2;
/// How many of the best are looked around at least: the others have next to nothing to lend.
const LENDERS: usize = 60;
/// What stands around so many of the best may be there for what it means itself.
const MEASURED: usize = 20;

/// The best records of a selection by words and, if a model can tell, by meaning, in their order. What was retrieved
/// takes the place of what an earlier, smaller search for the same question retrieved.
pub(super) fn search(
    store: &mut dyn Store,
    question: &Question,
    which: &Select,
    wanted: Wanted,
    evidence: &mut Evidence,
) -> Result<Vec<Hit>> {
    if wanted.limit == 0 {
        return Ok(Vec::new());
    }
    let earlier = std::mem::take(evidence);
    *evidence = store.retrieve(question, which, &wanted.plan(), earlier)?;
    Ok(rank(evidence, question, wanted.limit))
}

/// What is wanted of a search.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// At most so many hits.
    pub(super) limit: usize,
    /// Whether what hangs together with them is asked for next.
    pub(super) link: bool,
}

impl Wanted {
    /// How much is looked at for so many hits.
    fn plan(self) -> Plan {
        let Wanted { limit, link } = self;
        let several = limit.saturating_mul(PER_HIT);
        Plan {
            candidates: CANDIDATES.max(several),
            lenders: LENDERS.max(several),
            reach: REACH,
            measured: MEASURED.max(limit),
            links: if link { limit } else { 0 },
        }
    }
}

/// The best candidates for which anything speaks, in their order; ties by time, newest first, then by id.
fn rank(evidence: &Evidence, question: &Question, limit: usize) -> Vec<Hit> {
    let candidates = &evidence.candidates;
    let around = evidence.surroundings();
    let own = evidence.own_scores(question);
    let sums: Vec<f64> = own.iter().map(|own| own.iter().sum()).collect();
    let asks: Vec<bool> = candidates.iter().map(|one| asks(&one.record)).collect();
    let lent = lent(evidence, &around, &sums, &asks);
    let relevance = relevance(evidence, &around, question.floor());
    let own = |at: usize| own[at].map(|part| if asks[at] { part * QUESTION_WEIGHT } else { part });
    let borrowed = |at: usize| lent[at].iter().sum::<f64>();
    let score = |at: usize| own(at).iter().sum::<f64>() + borrowed(at);
    let mut best: Vec<(usize, f64)> =
        (0..candidates.len()).map(|at| (at, score(at))).filter(|(_, score)| *score > 0.0).collect();
    best.sort_by(|(a, of_a), (b, of_b)| {
        let (one, other) = (&candidates[*a].record, &candidates[*b].record);
        of_b.total_cmp(of_a).then(other.timestamp.cmp(&one.timestamp)).then_with(|| one.id.cmp(&other.id))
    });
    best.truncate(limit);
    let hit = |(at, score): (usize, f64)| {
        let Candidate { record, keyword, similarity, .. } = candidates[at].clone();
        let why = Why {
            keyword: Some(keyword).filter(|keyword| *keyword > 0.0),
            similarity,
            around: Some(borrowed(at)).filter(|around| *around > 0.0),
            relevance: Some(relevance[at]),
            ..Why::default()
        };
        let parts = PART_NAMES.into_iter().zip(own(at).into_iter().chain(lent[at]));
        let parts = parts.filter(|(_, part)| *part != 0.0).map(|(name, part)| (name.to_owned(), part));
        Hit { record, score, why, parts: parts.collect() }
    };
    best.into_iter().map(hit).collect()
}

/// How much of its question's words a record holds counts so much beside its place between the floor and 1.
const SHARE_WEIGHT: f64 = 0.5;

/// How likely each candidate has to do with the question at all, which its score, as a part of the best one's,
/// does not tell: its cosine's place between the floor (0) and 1, and half of the share of the question's words
/// that it holds; without a vector that share alone. What stands beside a record has as much to do with the
/// question as that.
fn relevance(evidence: &Evidence, around: &[(usize, &Around)], floor: f64) -> Vec<f64> {
    let own = |one: &Candidate| match one.similarity {
        Some(cosine) => (cosine - floor) / (1.0 - floor) + SHARE_WEIGHT * one.share,
        None => one.share,
    };
    let own: Vec<f64> = evidence.candidates.iter().map(own).collect();
    let mut best = own.clone();
    for (at, around) in around {
        for other in around.all().filter_map(|record| evidence.position(&record.id)) {
            best[*at] = best[*at].max(own[other]);
            best[other] = best[other].max(own[*at]);
        }
    }
    best
}

/// Whether a record ends in a question.
fn asks(record: &StoredRecord) -> bool {
    record.text.trim_end().ends_with(['?', '？', '؟'])
}

/// What the neighbours of each candidate lend it, at each step. Who stands around whom is known of those that
/// were found; it holds the other way round too.
fn lent(
    evidence: &Evidence,
    around: &[(usize, &Around)],
    own: &[f64],
    asks: &[bool],
) -> Vec<[f64; NEIGHBOUR_WEIGHT.len()]> {
    let mut best = vec![[0.0_f64; NEIGHBOUR_WEIGHT.len()]; own.len()];
    let mut lend = |from: usize, to: usize, step: usize, onward: bool| {
        let part = if onward && step == 0 && asks[from] { QUESTION_WEIGHT } else { NEIGHBOUR_WEIGHT[step] };
        best[to][step] = best[to][step].max(own[from] * part);
    };
    for (at, around) in around {
        for (side, earlier) in [(&around.before, true), (&around.after, false)] {
            for (step, record) in side.iter().enumerate() {
                let Some(other) = evidence.position(&record.id) else { continue };
                lend(other, *at, step, earlier);
                lend(*at, other, step, !earlier);
            }
        }
    }
    best
}
