//! Which small model suits the language of what is stored, or else of the locale.

use super::packages;
use std::collections::BTreeMap;
use whatlang::{Info, Lang, Script};

/// A model to fetch where none is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SuitableModel {
    pub id: &'static str,
    /// Why it: the end of a sentence.
    pub reason: String,
}

/// The characters of a sample, of one text or several: of fewer, the language is often not sure.
const SAMPLE_CHARS: usize = 300;

/// The characters of a text that count.
const TEXT_CHARS: usize = 500;

/// The share of samples in other languages than English from which on a model of English alone does not do.
const MIN_FOREIGN_SHARE: f64 = 0.1;

/// The model that suits some texts; the locale, such as `de_DE.UTF-8`, decides if the language of none is
/// sure.
pub fn suitable_model<'a>(texts: impl IntoIterator<Item = &'a str>, locale: Option<&str>) -> SuitableModel {
    let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
    for language in samples(texts).iter().filter_map(|sample| language(sample)) {
        *languages.entry(language.eng_name()).or_default() += 1;
    }
    let all: usize = languages.values().sum();
    let english = languages.remove(Lang::Eng.eng_name()).unwrap_or_default();
    let is_foreign = (all - english) as f64 >= all as f64 * MIN_FOREIGN_SHARE;
    match languages.into_iter().max_by_key(|(_, count)| *count) {
        Some((language, _)) if is_foreign => SuitableModel {
            id: packages::MULTILINGUAL_MODEL,
            reason: format!("stored messages are in {language}"),
        },
        _ if all > 0 => {
            SuitableModel { id: english_model(), reason: "the stored messages are in English".to_owned() }
        }
        _ => by_locale(locale),
    }
}

/// The beginnings of texts, joined to samples of `SAMPLE_CHARS` and more; the last may be shorter.
fn samples<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut samples = vec![String::new()];
    for text in texts {
        if samples.last().is_some_and(|sample| sample.chars().count() >= SAMPLE_CHARS) {
            samples.push(String::new());
        }
        if let Some(sample) = samples.last_mut() {
            sample.extend(text.chars().take(TEXT_CHARS));
            sample.push('\n');
        }
    }
    samples
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

/// The language of a sample, if it is sure. One in another script than the Latin is surely not English.
fn language(sample: &str) -> Option<Lang> {
    let is_sure = |info: &Info| info.is_reliable() || info.script() != Script::Latin;
    whatlang::detect(sample).filter(is_sure).map(|info| info.lang())
}

/// The model of English: the smaller one of two where pip can download it.
fn english_model() -> &'static str {
    if packages::has_pip() { packages::ENGLISH_MODEL } else { "all-minilm-l6-v2" }
}
