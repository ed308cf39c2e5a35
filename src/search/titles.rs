//! Conversations by their titles.

use crate::error::Result;
use crate::record::{Hit, Scope, TITLE};
use crate::store::{Select, Store};
use crate::text::{Occur, Term};
use std::collections::BTreeSet;

/// The most titles that a search adds.
const MAX_TITLES: usize = 3;

/// The titles in which all words of a question occur, best first, of conversations within the scopes and
/// times of a selection of which no hit is known. Fails if the store cannot be read.
pub fn title_hits(
    store: &mut dyn Store,
    question: &str,
    which: &Select,
    known: &BTreeSet<Scope>,
) -> Result<Vec<Hit>> {
    let titles = Select {
        since: which.since,
        until: which.until,
        ..Select::records(vec![&TITLE], which.scopes.clone())
    };
    let terms = Term::parse(question);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let mut hits = store.find(&terms, Occur::All, &titles, MAX_TITLES + known.len())?;
    hits.retain(|hit| !known.contains(&hit.record.scope));
    hits.truncate(MAX_TITLES);
    Ok(hits)
}
