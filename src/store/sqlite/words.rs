//! Search by words, in SQLite.

use super::super::api::Words;
use super::super::error::Result;
use super::super::evidence::Cosines;
use super::super::select::Select;
use super::super::terms::{Occur, Term};
use super::connection;
use super::database::Sqlite;
use super::keyword::KeywordSearch;
use super::measure::ModelVector;
use crate::record::Hit;

impl Words for Sqlite {
    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let search = KeywordSearch { terms, occur, which, limit };
        self.find_by_words(&search, None).map(|(hits, _)| hits)
    }
}

impl Sqlite {
    /// The hits, and the cosines of the records that were read with a vector of a model.
    pub(super) fn find_by_words(
        &self,
        search: &KeywordSearch,
        vector: Option<ModelVector>,
    ) -> Result<(Vec<Hit>, Cosines)> {
        // A connection for writing does not map the file by default.
        let mapped = connection::map(&self.connection);
        mapped.and_then(|()| search.find(&self.connection, vector)).map_err(|e| self.failed("search", e))
    }
}
