//! The languages of a store's texts: a fact, which is noted as texts are written. The words of a question are stemmed
//! in these alone.

use super::imports::FactTable;
use crate::text::Languages;

/// The name of the fact: the codes of the languages other than English, with spaces between them. It is missing where
/// all texts are in English, and where an earlier release wrote them.
pub(super) const LANGUAGES: &str = "languages";

/// Adds languages to those of the store.
pub(super) fn note<T: FactTable>(new: Option<Languages>, facts: &mut T) -> Result<(), T::Error> {
    let Some(new) = new else { return Ok(()) };
    let known = facts.get(LANGUAGES)?;
    let stored = known.as_deref().map(Languages::parse).unwrap_or_default();
    let all = stored.or(new);
    if all == stored { Ok(()) } else { facts.set(LANGUAGES, Some(&all.codes())) }
}
