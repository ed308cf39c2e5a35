//! Search by words, in SQLite.

use super::super::api::{VisitHit, Words};
use super::super::error::Result;
use super::super::evidence::Cosines;
use super::super::select::Select;
use super::database::Sqlite;
use super::keyword::KeywordSearch;
use super::measure::ModelVector;
use crate::ranking::bm25;
use crate::record::Hit;
use crate::text::terms::{Occur, Term};

impl Words for Sqlite {
    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let search = KeywordSearch { terms, occur, which, limit };
        self.find_by_words(&search, None).map(|(hits, _)| hits)
    }

    fn visit_found(
        &mut self,
        terms: &[Term],
        which: &Select,
        limit: usize,
        visit: &mut VisitHit,
    ) -> Result<()> {
        let search = KeywordSearch { terms, occur: Occur::All, which, limit };
        self.visit_by_words(&search, None, visit).map(drop)
    }
}

impl Sqlite {
    /// The hits, and the cosines of the records that were read with a vector of a model.
    pub(super) fn find_by_words(
        &self,
        search: &KeywordSearch,
        vector: Option<ModelVector>,
    ) -> Result<(Vec<Hit>, Cosines)> {
        let mut hits = Vec::new();
        let cosines = self.visit_by_words(search, vector, &mut |hit| {
            hits.push(hit);
            Ok(())
        })?;
        Ok((hits, cosines))
    }

    fn visit_by_words(
        &self,
        search: &KeywordSearch,
        vector: Option<ModelVector>,
        visit: &mut VisitHit,
    ) -> Result<Cosines> {
        // Very many hits would map all of the file.
        let mapped = if search.limit <= bm25::PAGE { self.map() } else { self.unmap() };
        mapped.map_err(|e| self.failed("search", e))?;
        search
            .visit(&self.connection, self.records.as_deref(), vector, visit)
            .map_err(|stopped| self.stopped("search", stopped))
    }
}
