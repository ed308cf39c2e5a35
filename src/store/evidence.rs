//! The evidence for the records that may answer a question, typed: the hits by words and by meaning, the
//! cosines, the neighbours of the candidates, and their links.
//!
//! In a conversation a record's own score is that of its best passage by words, divided by the best one, plus
//! its cosine, divided by the best one; times a factor for its role, `(M / R)^weights::ROLE`, where M is the
//! mean length of the candidates' texts in bytes and R that of the candidates of its role. Neighbours of hits
//! are scored like these.
//!
//! Elsewhere it is its BM25 divided by the best one, plus `weights::MEANING` times the position of its cosine
//! between the lowest and the highest of all candidates, if the cosine reaches the model's minimum
//! similarity: the range of cosines depends on the model. Among memories words weigh less (`words_weight`).
//!
//! Without a vector the words of a record count for both. If the question names a time, scores of records of
//! that time are multiplied by `weights::NAMED_TIME`.

use super::question::Question;
use crate::ranking::weights;
use crate::ranking::window::{QuestionWords, WordScore};
use crate::record::{Hit, Link, MEMORY, Role, StoredRecord};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The cosines of a vector with those of records, by their ids.
pub type Cosines = Vec<(String, f64)>;

/// The limits of the work for one question.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    /// The number of candidates by words, and by meaning.
    pub candidates: usize,
    /// The number of neighbours on each side of each candidate; 0 outside conversations.
    pub reach: usize,
    /// The number of best candidates whose links are read.
    pub links: usize,
}

/// The neighbours of a record in its collection, nearest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Around {
    pub before: Vec<Arc<StoredRecord>>,
    pub after: Vec<Arc<StoredRecord>>,
}

/// The hits by words, the cosines of those of them that were compared, and the words of the question.
#[derive(Default)]
pub(crate) struct FoundByWords {
    pub(crate) hits: Vec<Hit>,
    pub(crate) cosines: Cosines,
    pub(crate) words: QuestionWords,
}

impl Around {
    /// Both sides.
    pub fn all(&self) -> impl Iterator<Item = &Arc<StoredRecord>> {
        self.before.iter().chain(&self.after)
    }
}

/// A record and the evidence for it.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub record: Arc<StoredRecord>,
    /// Its score by words; 0 if it holds none.
    pub keyword: f64,
    /// The share of the question's words that it holds, weighted by idf.
    pub share: f64,
    /// The cosine of its vector with the question's, if known.
    pub similarity: Option<f64>,
}

/// The evidence for all records that may answer a question.
#[derive(Default)]
pub struct Evidence {
    /// Each record once, in the order in which they were found.
    pub candidates: Vec<Candidate>,
    positions: FxHashMap<String, usize>,
    /// The words of the question.
    words: QuestionWords,
    /// The candidates that words or meaning found, best first.
    seeds: Vec<usize>,
    /// Records and their neighbours, by the record's id.
    around: FxHashMap<String, (Arc<StoredRecord>, Around)>,
    /// The cosines of neighbours.
    cosines: Cosines,
    /// The links of the records in `linked`, all of them.
    links: Vec<Link>,
    linked: FxHashSet<String>,
    /// The number of neighbours that were read on each side.
    reach: usize,
}

impl Evidence {
    /// Starts with the neighbours that an earlier, smaller plan for the same question has read.
    pub(super) fn after(earlier: Evidence, plan: &Plan) -> Evidence {
        let Evidence { around, cosines, links, linked, reach, .. } = earlier;
        if reach == plan.reach {
            return Evidence { around, cosines, links, linked, reach, ..Evidence::default() };
        }
        Evidence { reach: plan.reach, ..Evidence::default() }
    }

    /// Adds the hits by words and by meaning. Returns those of them whose neighbours are not known yet, best
    /// first.
    pub(super) fn add_found(
        &mut self,
        question: &Question,
        FoundByWords { hits, cosines, words }: FoundByWords,
        by_meaning: Vec<Hit>,
    ) -> Vec<usize> {
        self.words = words;
        for Hit { record, score, why, .. } in hits {
            let scores_whole = !self.is_conversation();
            let candidate = self.add(Arc::new(record));
            if scores_whole {
                (candidate.keyword, candidate.share) = (score, why.share.unwrap_or_default());
            }
        }
        for Hit { record, score, .. } in by_meaning {
            self.add(Arc::new(record)).similarity = Some(score);
        }
        self.measure(&cosines);
        let sums: Vec<f64> = self.own_scores(question).iter().map(|own| own.iter().sum()).collect();
        self.seeds = (0..self.candidates.len()).collect();
        self.seeds.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]).then(a.cmp(b)));
        let known = |at: &usize| self.around.contains_key(&self.candidates[*at].record.id);
        self.seeds.iter().copied().filter(|at| !known(at)).collect()
    }

    /// Some candidates by their positions.
    pub(super) fn records(&self, positions: &[usize]) -> Vec<&StoredRecord> {
        positions.iter().map(|at| &*self.candidates[*at].record).collect()
    }

    /// Adds the neighbours of some candidates and their cosines; each neighbour of a seed becomes a
    /// candidate.
    pub(super) fn add_around(&mut self, positions: &[usize], around: Vec<Around>, cosines: Cosines) {
        for (at, around) in positions.iter().zip(around) {
            let record = self.candidates[*at].record.clone();
            self.around.insert(record.id.clone(), (record, around));
        }
        self.cosines.extend(cosines);
        let seeds = self.seeds.iter().filter_map(|at| self.around.get(&self.candidates[*at].record.id));
        let neighbours = seeds.flat_map(|(_, around)| around.all());
        for record in neighbours.cloned().collect::<Vec<_>>() {
            self.add(record);
        }
        let cosines = std::mem::take(&mut self.cosines);
        self.measure(&cosines);
        self.cosines = cosines;
    }

    /// The ids of those of the best `most` seeds whose links are not known yet.
    pub(super) fn unlinked(&self, most: usize) -> Vec<String> {
        let ids = self.seeds.iter().take(most).map(|at| &self.candidates[*at].record.id);
        ids.filter(|id| !self.linked.contains(*id)).cloned().collect()
    }

    /// Adds all links of some records.
    pub(super) fn add_links(&mut self, ids: Vec<String>, links: Vec<Link>) {
        self.links.extend(links);
        self.linked.extend(ids);
    }

    fn add(&mut self, record: Arc<StoredRecord>) -> &mut Candidate {
        let at = match self.positions.get(&record.id) {
            Some(at) => *at,
            None => {
                self.positions.insert(record.id.clone(), self.candidates.len());
                let text = record.indexed_text().filter(|_| self.is_conversation());
                let WordScore { score: keyword, share } =
                    text.map(|text| self.words.score(&text)).unwrap_or_default();
                self.candidates.push(Candidate { record, keyword, share, similarity: None });
                self.candidates.len() - 1
            }
        };
        &mut self.candidates[at]
    }

    /// Sets the cosines of candidates that have none yet.
    fn measure(&mut self, cosines: &Cosines) {
        for (id, cosine) in cosines {
            if let Some(at) = self.positions.get(id) {
                self.candidates[*at].similarity.get_or_insert(*cosine);
            }
        }
    }

    /// The position of a record among the candidates.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// The candidates before and after each candidate in its conversation, as far as they are known.
    pub fn adjacent(&self) -> Vec<[Option<usize>; 2]> {
        let mut adjacent = vec![[None; 2]; self.candidates.len()];
        for at in &self.seeds {
            let Some((_, around)) = self.around.get(&self.candidates[*at].record.id) else { continue };
            for (side, [toward, back]) in [(&around.before, [0, 1]), (&around.after, [1, 0])] {
                let mut last = *at;
                for next in side.iter().map_while(|record| self.position(&record.id)) {
                    (adjacent[last][toward], adjacent[next][back]) = (Some(next), Some(last));
                    last = next;
                }
            }
        }
        adjacent
    }

    /// Whether the records are of conversations: others have no neighbours.
    fn is_conversation(&self) -> bool {
        self.reach > 0
    }

    /// The links of a record, if all of them are known.
    pub fn links_of(&self, id: &str) -> Option<impl Iterator<Item = &Link>> {
        let of_record = move |link: &&Link| link.from == id || link.to == id;
        self.linked.contains(id).then(|| self.links.iter().filter(of_record))
    }

    /// The own scores of the candidates, by words and by meaning.
    pub fn own_scores(&self, question: &Question) -> Vec<[f64; 2]> {
        let mut scores =
            if self.is_conversation() { self.scores_of_messages() } else { self.scores_of_others(question) };
        for (own, one) in scores.iter_mut().zip(&self.candidates) {
            if question.dates.hold(one.record.timestamp) {
                *own = own.map(|part| part * weights::NAMED_TIME);
            }
        }
        scores
    }

    /// The own scores of records of conversations.
    fn scores_of_messages(&self) -> Vec<[f64; 2]> {
        let best =
            |of: fn(&Candidate) -> f64| self.candidates.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
        let keyword = best(|one| one.keyword);
        let similarity = best(|one| one.similarity.unwrap_or_default());
        let factors = self.role_factors();
        let trust = self.trust_in_words();
        let score = |one: &Candidate| {
            let factor = factors.get(&one.record.role).copied().unwrap_or(1.0);
            let words = factor * one.keyword / keyword;
            match one.similarity {
                Some(cosine) => [trust * words, factor * cosine.max(0.0) / similarity],
                // Without a vector the words count for the meaning too.
                None => [2.0 * words, 0.0],
            }
        };
        self.candidates.iter().map(score).collect()
    }

    /// The factor for words beside meaning, at most 1: words count less if no record holds much of the
    /// question, as where it is asked in another language than the texts are in.
    pub fn trust_in_words(&self) -> f64 {
        let best = self.candidates.iter().map(|one| one.share).fold(0.0, f64::max);
        (best / weights::TRUSTED_SHARE).min(1.0)
    }

    /// The factor for the records of each role.
    fn role_factors(&self) -> FxHashMap<Option<Role>, f64> {
        let mut sizes: FxHashMap<Option<Role>, (usize, usize)> = FxHashMap::default();
        for one in &self.candidates {
            let (bytes, count) = sizes.entry(one.record.role).or_default();
            (*bytes, *count) = (*bytes + one.record.text.len(), *count + 1);
        }
        let all = sizes.values().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        // Nothing is shorter than a byte.
        let mean = |(bytes, count): (usize, usize)| bytes.max(1) as f64 / count.max(1) as f64;
        sizes.into_iter().map(|(role, of)| (role, (mean(all) / mean(of)).powf(weights::ROLE))).collect()
    }

    /// The own scores of memories and documents.
    fn scores_of_others(&self, question: &Question) -> Vec<[f64; 2]> {
        let min_similarity = question.min_similarity();
        let keyword = self.candidates.iter().map(|one| one.keyword).fold(f64::MIN_POSITIVE, f64::max);
        let cosines = || self.candidates.iter().filter_map(|one| one.similarity);
        let (lowest, best) =
            (cosines().fold(f64::INFINITY, f64::min), cosines().fold(f64::NEG_INFINITY, f64::max));
        let meaning = |cosine: f64| match best - lowest {
            _ if cosine < min_similarity => 0.0,
            width if width > 0.0 => (cosine - lowest) / width,
            _ => 1.0,
        };
        let words_weight = self.words_weight();
        let score = |one: &Candidate| {
            let words = words_weight * one.keyword / keyword;
            match one.similarity {
                Some(cosine) => [words, weights::MEANING * meaning(cosine)],
                None => [(1.0 + weights::MEANING) * words, 0.0],
            }
        };
        self.candidates.iter().map(score).collect()
    }

    /// The weight of the words. Memories are few, and asked for in other words: the best one by words may
    /// only share a common word with the question. So words count as much as the share of the question that
    /// some memory holds, unless nothing is known but words.
    fn words_weight(&self) -> f64 {
        let is_compared = self.candidates.iter().any(|one| one.similarity.is_some());
        if !is_compared || self.candidates.iter().any(|one| one.record.kind != &MEMORY) {
            return 1.0;
        }
        self.candidates.iter().map(|one| one.share).fold(0.0, f64::max)
    }

    /// The record before and the record after each record whose neighbours are known.
    pub fn neighbours(&self) -> FxHashMap<&str, [Option<&Arc<StoredRecord>>; 2]> {
        let mut sides: FxHashMap<&str, [Option<Option<&Arc<StoredRecord>>>; 2]> = FxHashMap::default();
        for (record, around) in self.around.values() {
            for (side, [toward, back]) in [(&around.before, [0, 1]), (&around.after, [1, 0])] {
                let mut last = record;
                for next in side {
                    sides.entry(&last.id).or_default()[toward] = Some(Some(next));
                    sides.entry(&next.id).or_default()[back] = Some(Some(last));
                    last = next;
                }
                if side.len() < self.reach {
                    sides.entry(&last.id).or_default()[toward] = Some(None);
                }
            }
        }
        sides.into_iter().filter_map(|(id, [before, after])| Some((id, [before?, after?]))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Content, Draft, DraftDefaults, Role};
    use crate::text::Languages;
    use jiff::Zoned;

    #[test]
    fn neighbours_are_those_of_the_conversation() {
        const REACH: usize = 2;
        let message = |n: usize| {
            let fill = DraftDefaults {
                partition: None,
                instance: None,
                trace_id: "t".into(),
                timestamp: n as i64,
                seq: 0,
            };
            Arc::new(Draft::message(Role::User, Content::Text(n.to_string())).complete(&fill).unwrap())
        };
        let all: Vec<Arc<StoredRecord>> = (0..30).map(message).collect();
        let positions_found = [0, 1, 4, 8, 9, 15, 20, 28];
        let around = |at: usize| Around {
            before: all[at.saturating_sub(REACH)..at].iter().rev().cloned().collect(),
            after: all[at + 1..(at + 1 + REACH).min(all.len())].to_vec(),
        };
        let plan = Plan { candidates: 0, reach: REACH, links: 0 };
        let mut evidence = Evidence::after(Evidence::default(), &plan);
        let hits = positions_found.iter().map(|at| Hit::by_words((*all[*at]).clone(), 1.0, None)).collect();
        let found = FoundByWords { hits, ..FoundByWords::default() };
        let positions = evidence.add_found(
            &Question::parse("", Languages::ENGLISH, None, Zoned::default),
            found,
            Vec::new(),
        );
        evidence.add_around(&positions, positions_found.into_iter().map(around).collect(), Vec::new());
        let neighbours = evidence.neighbours();
        let mut known = Vec::new();
        for (at, record) in all.iter().enumerate() {
            if let Some(found) = neighbours.get(record.id.as_str()) {
                let requested = [at.checked_sub(1).map(|before| &all[before]), all.get(at + 1)];
                assert_eq!(*found, requested, "{at}");
                known.push(at);
            }
        }
        // The neighbours are known for the requested records, for those next to them, and for all between two
        // that are close.
        assert_eq!(known, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 19, 20, 21, 27, 28, 29]);
    }
}
