//! Hybrid search: words and meaning together, and the neighbours of a hit in its conversation.
//!
//! A record's score is its own score (see the store's evidence) and what its neighbours in the conversation
//! lend it, since the answer to a question is often next to a record that resembles the question: a part of
//! the own score of the better one of the two at one step, and of the better one of the two at two steps. A
//! short record that ends in a question lends more to the next one; a long text gets less, since it is found
//! by words of its own.
//!
//! `scripts/bench recall` measures the worth of each of these, and of ways that were tried and left out.

use crate::error::Result;
use crate::ranking::weights;
use crate::record::{Hit, HitEvidence, StoredRecord};
use crate::store::{Candidate, Evidence, Plan, Question, Select, Store};
use crate::text;

/// The names of the parts of a score: words, meaning, and neighbours at one step and at two.
const PART_NAMES: [&str; 4] = ["keyword", "similarity", "around_1", "around_2"];

/// The best records of a selection by words and, if the question has a vector, by meaning, best first.
/// `evidence` is that of an earlier, smaller search for the same question, and is replaced.
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
        Plan {
            candidates: weights::MIN_CANDIDATES.max(limit),
            // Records outside conversations have no neighbours.
            reach: if which.kinds.iter().any(|kind| kind.traced) { weights::NEIGHBOUR_REACH } else { 0 },
            links: if link { limit } else { 0 },
        }
    }
}

/// The best candidates with a score above 0, best first; ties by time, newest first, then by id.
fn rank(evidence: &Evidence, question: &Question, limit: usize) -> Vec<Hit> {
    let candidates = &evidence.candidates;
    let scores = Scores::of(evidence, question);
    let mut best: Vec<usize> =
        (0..candidates.len()).filter(|at| scores.is_hit[*at] && scores.total(*at) > 0.0).collect();
    best.sort_by(|a, b| {
        let (one, other) = (&candidates[*a].record, &candidates[*b].record);
        let by_time = other.timestamp.cmp(&one.timestamp);
        scores.total(*b).total_cmp(&scores.total(*a)).then(by_time).then_with(|| one.id.cmp(&other.id))
    });
    best.truncate(limit);
    best.into_iter().map(|at| scores.hit(at, &candidates[at])).collect()
}

/// The scores of the candidates.
struct Scores {
    /// By words and by meaning.
    own: Vec<[f64; 2]>,
    /// From the neighbours, at each step.
    lent: Vec<[f64; weights::NEIGHBOUR_REACH]>,
    relevance: Vec<f64>,
    /// Whether words or meaning find a candidate or a neighbour of it.
    is_hit: Vec<bool>,
}

impl Scores {
    fn of(evidence: &Evidence, question: &Question) -> Scores {
        let candidates = &evidence.candidates;
        let own = evidence.own_scores(question);
        let sums: Vec<f64> = own.iter().map(|own| own.iter().sum()).collect();
        let min_similarity = question.min_similarity();
        let is_found = |at: usize| {
            let Candidate { keyword, similarity, .. } = candidates[at];
            keyword > 0.0 || similarity.is_some_and(|cosine| cosine >= min_similarity)
        };
        let neighbours = neighbours(evidence);
        let is_hit =
            |(at, around): (usize, &NeighbourPositions)| is_found(at) || beside(around).any(is_found);
        let lent = |(at, around): (usize, &NeighbourPositions)| lent(candidates, around, &sums, at);
        Scores {
            lent: neighbours.iter().enumerate().map(lent).collect(),
            relevance: relevance(evidence, &neighbours, min_similarity),
            is_hit: neighbours.iter().enumerate().map(is_hit).collect(),
            own,
        }
    }

    fn total(&self, at: usize) -> f64 {
        self.own[at].iter().sum::<f64>() + self.of_neighbours(at)
    }

    fn of_neighbours(&self, at: usize) -> f64 {
        self.lent[at].iter().sum()
    }

    fn hit(&self, at: usize, Candidate { record, keyword, similarity, .. }: &Candidate) -> Hit {
        let why = HitEvidence {
            secrets: Vec::new(),
            keyword: Some(*keyword).filter(|keyword| *keyword > 0.0),
            similarity: *similarity,
            around: Some(self.of_neighbours(at)).filter(|around| *around > 0.0),
            relevance: Some(self.relevance[at]),
            ..HitEvidence::default()
        };
        let parts = PART_NAMES.into_iter().zip(self.own[at].into_iter().chain(self.lent[at]));
        let parts = parts.filter(|(_, part)| *part != 0.0).map(|(name, part)| (name.to_owned(), part));
        Hit { record: StoredRecord::clone(record), score: self.total(at), why, parts: parts.collect() }
    }
}

/// The relevance of each candidate: the likelihood that it is related to the question at all, which its
/// score, relative to the best one, does not show. It is the position of its cosine between the least
/// similarity (0) and 1, plus half of the share of the question's words that it holds; without a vector, that
/// share alone. A neighbour is as relevant as the record next to it.
fn relevance(evidence: &Evidence, neighbours: &[NeighbourPositions], min_similarity: f64) -> Vec<f64> {
    let own = |one: &Candidate| match one.similarity {
        Some(cosine) => {
            (cosine - min_similarity) / (1.0 - min_similarity) + weights::SHARE_OF_WORDS * one.share
        }
        None => one.share,
    };
    let own: Vec<f64> = evidence.candidates.iter().map(own).collect();
    let best = |(at, around): (usize, &NeighbourPositions)| {
        beside(around).map(|other| own[other]).fold(own[at], f64::max)
    };
    neighbours.iter().enumerate().map(best).collect()
}

/// The positions of the neighbours of a candidate among the candidates: the one before it and the one after
/// it, at each step.
type NeighbourPositions = [[Option<usize>; 2]; weights::NEIGHBOUR_REACH];

/// The neighbours of each candidate.
fn neighbours(evidence: &Evidence) -> Vec<NeighbourPositions> {
    let adjacent = evidence.adjacent();
    let beyond = |at: usize| [0, 1].map(|side| adjacent[at][side].and_then(|next| adjacent[next][side]));
    (0..adjacent.len()).map(|at| [adjacent[at], beyond(at)]).collect()
}

/// All neighbours of a candidate.
fn beside(neighbours: &NeighbourPositions) -> impl Iterator<Item = usize> {
    neighbours.as_flattened().iter().copied().flatten()
}

/// The parts of their own scores that its neighbours lend a candidate, at each step.
fn lent(
    candidates: &[Candidate],
    neighbours: &NeighbourPositions,
    own: &[f64],
    at: usize,
) -> [f64; weights::NEIGHBOUR_REACH] {
    let shortness = |at: usize| (weights::SHORT / candidates[at].record.text.len() as f64).min(1.0);
    let mut lent = [0.0; weights::NEIGHBOUR_REACH];
    for (step, lent) in lent.iter_mut().enumerate() {
        let [before, after] = neighbours[step];
        let part = weights::NEIGHBOURS[step];
        let of_before = before.map_or(0.0, |before| {
            let answered = step == 0 && text::asks(&candidates[before].record.text);
            let more = if answered { weights::ANSWERED * shortness(before) } else { 0.0 };
            own[before] * (part + more)
        });
        let of_after = after.map_or(0.0, |after| own[after] * part);
        *lent = of_before.max(of_after) * shortness(at);
    }
    lent
}
