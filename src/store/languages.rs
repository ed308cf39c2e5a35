//! The languages of a store's texts: a fact, which is noted as texts are written. The words of a question are
//! stemmed in these alone.

use super::imports::FactTable;
use crate::text::Languages;
use crate::text::language_detection::ToldLanguages;

/// The name of the fact: the codes of the languages other than English, with spaces between them. It is
/// missing where all texts are in English, and where an earlier release wrote them.
pub(super) const LANGUAGES: &str = "languages";

/// The number of the newest texts that tell their language together, where one does not.
pub(super) const TOGETHER: usize = 32;

/// Adds languages to those of the store; `newest` reads the newest texts, if they are needed. Fails if the
/// facts or the texts cannot be read or written.
pub(super) fn note<T: FactTable>(
    mut new: ToldLanguages,
    facts: &mut T,
    newest: impl FnOnce(&mut T) -> Result<Vec<String>, T::Error>,
) -> Result<(), T::Error> {
    if new.is_empty() {
        return Ok(());
    }
    let known = facts.get(LANGUAGES)?;
    let stored = known.as_deref().map(Languages::parse).unwrap_or_default();
    if new.are_in_doubt(stored) {
        newest(facts)?.iter().for_each(|text| new.add(text));
    }
    let all = new.told().map_or(stored, |told| stored.or(told));
    if all == stored { Ok(()) } else { facts.set(LANGUAGES, Some(&all.codes())) }
}
