//! Hybrid search: words and meaning together, and the neighbours of a hit in its conversation.
//!
//! A record's score is its own score (see the store's evidence) and a part of the own scores of its neighbours: of the
//! better one of the two at one step, and of the better one of the two at two steps, since the answer to a question is
//! often next to a record that resembles the question. A record that is itself a question seldom answers: it counts
//! less, and gives more to the next record.
//!
//! `scripts/bench recall` measures the worth of each of these, and of ways that were tried and left out.

use crate::error::Result;
use crate::ranking::weights;
use crate::record::{Hit, HitEvidence, StoredRecord};
use crate::store::{Around, Candidate, Evidence, Plan, Question, Select, Store};

/// The names of the parts of a score: words, meaning, and neighbours at one step and at two.
const PART_NAMES: [&str; 4] = ["keyword", "similarity", "around_1", "around_2"];

/// The best records of a selection by words and, if the question has a vector, by meaning, best first. `evidence` is
/// that of an earlier, smaller search for the same question, and is replaced.
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
    *evidence = store.retrieve(question, which, &wanted.plan(which), earlier)?;
    Ok(rank(evidence, question, wanted.limit))
}

/// The options of a search.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The greatest number of hits.
    pub(super) limit: usize,
    /// Whether the links of the hits are followed next.
    pub(super) link: bool,
}

impl Wanted {
    /// The plan for the wanted number of hits.
    fn plan(self, which: &Select) -> Plan {
        let Wanted { limit, link } = self;
        let several = limit.saturating_mul(weights::CANDIDATES_PER_HIT);
        Plan {
            candidates: weights::MIN_CANDIDATES.max(several),
            seeds: weights::MIN_SEEDS.max(several),
            // Records outside conversations have no neighbours.
            reach: if which.kinds.iter().any(|kind| kind.traced) { weights::NEIGHBOUR_REACH } else { 0 },
            measured: weights::MIN_MEASURED.max(limit),
            links: if link { limit } else { 0 },
        }
    }
}

/// The best candidates with a score above 0, best first; ties by time, newest first, then by id.
fn rank(evidence: &Evidence, question: &Question, limit: usize) -> Vec<Hit> {
    let candidates = &evidence.candidates;
    let around = evidence.surroundings();
    let own = evidence.own_scores(question);
    let sums: Vec<f64> = own.iter().map(|own| own.iter().sum()).collect();
    let asks: Vec<bool> = candidates.iter().map(|one| asks(&one.record)).collect();
    let neighbour_scores = neighbour_scores(evidence, &around, &sums, &asks);
    let relevance = relevance(evidence, &around, question.min_similarity());
    let own = |at: usize| own[at].map(|part| if asks[at] { part * weights::ASKING } else { part });
    let from_neighbours = |at: usize| neighbour_scores[at].iter().sum::<f64>();
    let score = |at: usize| own(at).iter().sum::<f64>() + from_neighbours(at);
    let mut best: Vec<(usize, f64)> =
        (0..candidates.len()).map(|at| (at, score(at))).filter(|(_, score)| *score > 0.0).collect();
    best.sort_by(|(a, of_a), (b, of_b)| {
        let (one, other) = (&candidates[*a].record, &candidates[*b].record);
        of_b.total_cmp(of_a).then(other.timestamp.cmp(&one.timestamp)).then_with(|| one.id.cmp(&other.id))
    });
    best.truncate(limit);
    let hit = |(at, score): (usize, f64)| {
        let Candidate { record, keyword, similarity, .. } = &candidates[at];
        let why = HitEvidence {
            secrets: Vec::new(),
            keyword: Some(*keyword).filter(|keyword| *keyword > 0.0),
            similarity: *similarity,
            around: Some(from_neighbours(at)).filter(|around| *around > 0.0),
            relevance: Some(relevance[at]),
            ..HitEvidence::default()
        };
        let parts = PART_NAMES.into_iter().zip(own(at).into_iter().chain(neighbour_scores[at]));
        let parts = parts.filter(|(_, part)| *part != 0.0).map(|(name, part)| (name.to_owned(), part));
        Hit { record: StoredRecord::clone(record), score, why, parts: parts.collect() }
    };
    best.into_iter().map(hit).collect()
}

/// The relevance of each candidate: the likelihood that it is related to the question at all, which its
/// score, relative to the best one, does not show. It is the position of its cosine between the least
/// similarity (0) and 1, plus half of the share of the question's words that it holds; without a vector, that
/// share alone. A neighbour is as relevant as the record next to it.
fn relevance(evidence: &Evidence, around: &[(usize, &Around)], min_similarity: f64) -> Vec<f64> {
    let own = |one: &Candidate| match one.similarity {
        Some(cosine) => {
            (cosine - min_similarity) / (1.0 - min_similarity) + weights::SHARE_OF_WORDS * one.share
        }
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

/// The contributions of the neighbours of each candidate, at each step. The neighbours of the seeds are known, and each
/// seed is a neighbour of its neighbours.
fn neighbour_scores(
    evidence: &Evidence,
    around: &[(usize, &Around)],
    own: &[f64],
    asks: &[bool],
) -> Vec<[f64; weights::NEIGHBOURS.len()]> {
    let mut best = vec![[0.0_f64; weights::NEIGHBOURS.len()]; own.len()];
    let mut spread = |from: usize, to: usize, step: usize, to_next: bool| {
        let part =
            if to_next && step == 0 && asks[from] { weights::ASKING } else { weights::NEIGHBOURS[step] };
        best[to][step] = best[to][step].max(own[from] * part);
    };
    for (at, around) in around {
        for (side, earlier) in [(&around.before, true), (&around.after, false)] {
            for (step, record) in side.iter().enumerate() {
                let Some(other) = evidence.position(&record.id) else { continue };
                spread(other, *at, step, earlier);
                spread(*at, other, step, !earlier);
            }
        }
    }
    best
}
