//! Search by words, in SQLite.

use crate::ranking::bm25;
use crate::store::api::VisitHit;
use crate::store::error::Result;
use crate::store::evidence::FoundByWords;
use crate::store::sqlite::database::Sqlite;
use crate::store::sqlite::vectors::measure::ModelVector;
use crate::store::sqlite::words::keyword::KeywordSearch;

impl Sqlite {
    /// The hits, the cosines of the records that were read with a vector of a model, and the words of the
    /// question.
    pub(crate) fn find_by_words(
        &self,
        search: &KeywordSearch,
        vector: Option<ModelVector>,
    ) -> Result<FoundByWords> {
        let mut hits = Vec::new();
        let found = self.visit_by_words(search, vector, &mut |hit| {
            hits.push(hit);
            Ok(())
        })?;
        Ok(FoundByWords { hits, ..found })
    }

    /// Visits the hits; they are not returned. Fails if `visit` does, or the file cannot be read.
    pub(crate) fn visit_by_words(
        &self,
        search: &KeywordSearch,
        vector: Option<ModelVector>,
        visit: &mut VisitHit,
    ) -> Result<FoundByWords> {
        // Very many hits would map all of the file.
        let mapped = if search.limit <= bm25::PAGE { self.map() } else { self.unmap() };
        mapped.map_err(|e| self.failed("search", e))?;
        search
            .visit(&self.connection, self.records.as_deref(), vector, visit)
            .map_err(|stopped| self.stopped("search", stopped))
    }
}
