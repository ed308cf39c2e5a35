//! Which small model suits the language of what is stored, or else of the locale.

use super::packages;
use std::collections::BTreeMap;
use whatlang::{Info, Lang};

/// A model to fetch where none is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SuitableModel {
    pub id: &'static str,
    /// Why it: the end of a sentence.
    pub reason: String,
}

/// The number of texts whose language must be known before they count rather than the locale.
const MIN_TEXTS: usize = 10;

/// The share of them in other languages than English from which on a model of English alone does not do.
const MIN_FOREIGN_SHARE: f64 = 0.1;

/// The characters at the beginning of a text by which its language is known.
const SAMPLE_CHARS: usize = 500;

/// The model that suits some texts; the locale, such as `de_DE.UTF-8`, decides if they are too few.
pub fn suitable_model<'a>(texts: impl IntoIterator<Item = &'a str>, locale: Option<&str>) -> SuitableModel {
    let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
    for language in texts.into_iter().filter_map(language) {
        *languages.entry(language.eng_name()).or_default() += 1;
    }
    let known: usize = languages.values().sum();
    let english = languages.remove(Lang::Eng.eng_name()).unwrap_or_default();
    let foreign = languages.into_iter().max_by_key(|(_, count)| *count);
    match foreign {
        Some((language, count))
            if (known - english) as f64 >= known as f64 * MIN_FOREIGN_SHARE && known >= MIN_TEXTS =>
        {
            let reason =
                format!("of the last {known} messages in a known language, {count} are in {language}");
            SuitableModel { id: packages::MULTILINGUAL_MODEL, reason }
        }
        _ if known >= MIN_TEXTS => {
            SuitableModel { id: english_model(), reason: "the stored messages are in English".to_owned() }
        }
        _ => by_locale(locale),
    }
}

fn by_locale(locale: Option<&str>) -> SuitableModel {
    let named = locale.filter(|locale| is_foreign(locale));
    match named {
        Some(locale) => {
            SuitableModel { id: packages::MULTILINGUAL_MODEL, reason: format!("the locale is {locale}") }
        }
        None => {
            let reason = "neither stored messages nor the locale name another language than English";
            SuitableModel { id: english_model(), reason: reason.to_owned() }
        }
    }
}

/// Whether a locale is of another language than English. `C` and `POSIX` are of none.
fn is_foreign(locale: &str) -> bool {
    let language = locale.split(['_', '.', '@']).next().unwrap_or_default();
    !["C", "POSIX", "en", ""].contains(&language)
}

/// The language of a text, if it is sure.
fn language(text: &str) -> Option<Lang> {
    let end = text.char_indices().nth(SAMPLE_CHARS).map_or(text.len(), |(at, _)| at);
    whatlang::detect(&text[..end]).filter(Info::is_reliable).map(|info| info.lang())
}

/// The model of English: the smaller one of two where pip can download it.
fn english_model() -> &'static str {
    if packages::has_pip() { packages::ENGLISH_MODEL } else { "all-minilm-l6-v2" }
}
