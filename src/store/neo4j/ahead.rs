//! What is asked of the server before it is needed, on connections of its own: the words of a question, and all that is
//! related to it while messages get vectors.

use super::Neo4j;
use super::fault::Answer;
use super::find::{Measure, Worded};
use crate::record::{Embedding, Hit, Message, Record};
use crate::store::cosine::Query;
use crate::store::words::Term;
use crate::store::{Occur, Select, Written, ids_of};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Any of some terms, of a selection, so many.
pub(super) type Words = (Vec<Term>, Select, usize);

/// What is being looked for on a connection of its own, and who waits for it.
pub(super) struct Prefetched {
    pub(super) words: Words,
    /// What is read after the question was embedded is measured at once.
    pub(super) measure: Arc<Measure>,
    pub(super) search: JoinHandle<Answer<Worded>>,
}

/// A whole search, and what got a vector since it was begun.
pub(super) struct Begun {
    pub(super) words: Words,
    pub(super) model: String,
    pub(super) vector: Vec<f32>,
    pub(super) search: JoinHandle<Answer<Found>>,
    /// Messages of the selection that had none.
    pub(super) pending: Vec<Message>,
    pub(super) fresh: Vec<Hit>,
}

/// What is near to a vector, or the dimension of its model if that is another; and what words found, measured.
pub(super) type Found = (std::result::Result<Vec<Hit>, usize>, Worded);

impl Neo4j {
    /// Messages by any of some words, of which as many or more may have been looked for already; those that are read
    /// from now on are measured by a vector, if there is one.
    pub(super) fn worded(
        &self,
        prefetched: Option<Prefetched>,
        words: &Words,
        meant: Option<(&str, &[f32])>,
    ) -> Answer<Worded> {
        let measure = meant.map(|(model, vector)| (model.to_owned(), vector.to_vec()));
        let (terms, which, limit) = words;
        let holds = |(of, within, most): &Words| of == terms && within == which && most >= limit;
        match prefetched.filter(|prefetched| holds(&prefetched.words)) {
            Some(prefetched) => {
                let _ = measure.map(|measure| prefetched.measure.set(measure));
                let worded = prefetched.search.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                Ok(Worded { hits: Hit::best(worded.hits, *limit), ..worded })
            }
            None => {
                let measure = measure.map_or_else(Measure::new, Measure::from);
                self.find_terms(terms, Occur::Any, which, *limit, &measure)
            }
        }
    }

    /// Asks for what is related, by words and by meaning at once.
    pub(super) fn find_related(
        &self,
        prefetched: Option<Prefetched>,
        words: &Words,
        (model, vector): (&str, &[f32]),
    ) -> Answer<Found> {
        let (near, worded) = self.at_once(
            |store| store.find_nearest(model, vector, &words.1, words.2),
            |store| {
                let mut worded = store.worded(prefetched, words, Some((model, vector)))?;
                let mut ids = ids_of(worded.hits.iter().map(|hit| &hit.message));
                ids.retain(|id| !worded.measured.contains(*id));
                let cosines = store.cosines(model, vector, &ids)?;
                worded.cosines.extend(cosines);
                Answer::Ok(worded)
            },
        );
        let worded = worded?;
        Ok((near?, worded))
    }
}

impl Begun {
    /// The same with vectors that were written; `None` if nobody here can tell whether one is of the selection, or
    /// what it is.
    pub(super) fn and(mut self, batch: &[Record], written: &[Written]) -> Option<Begun> {
        let query = Query::of(&self.vector);
        for (record, written) in batch.iter().zip(written) {
            let Record::Embedding(Embedding { of, model, vector, .. }) = record else { continue };
            if *written == Written::Differs {
                return None;
            }
            if *model == self.model && !matches!(written, Written::Refused(_)) {
                let message = self.pending.iter().find(|message| message.id == *of)?;
                let cosine = query.cosine_with(vector.iter().copied());
                self.fresh.push(Hit::by("similarity", message.clone(), cosine));
            }
        }
        Some(self)
    }
}
