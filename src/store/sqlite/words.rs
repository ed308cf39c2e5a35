//! Search by words, in SQLite.

use super::super::api::VisitHit;
use super::super::error::Result;
use super::super::evidence::Cosines;
use super::database::Sqlite;
use super::keyword::KeywordSearch;
use super::measure::ModelVector;
use crate::ranking::bm25;
use crate::record::Hit;

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

    pub(super) fn visit_by_words(
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
