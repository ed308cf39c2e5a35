//! Which languages a text or a question is in: by its stop words, its scripts, and trigrams.

use super::fold::{fold, fold_beginning};
use super::languages::{ENGLISH, LANGUAGES, Language, Languages, OTHER_SCRIPTS, Script};
use super::stop_words;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The beginning of a text by which its language is told, in bytes.
const TOLD_BYTES: usize = 240;
/// The bytes of short texts by which their language is told together.
const TOGETHER_BYTES: usize = 1200;
/// The number of different stop words from which on a language is sure, if it has twice as many as each other
/// one.
const SURE: u8 = 3;
/// A text of up to this many words may have none of the stop words of its language.
const FEW_WORDS: usize = 16;
/// The words of a text that are looked at.
const MAX_WORDS: usize = 64;

impl Languages {
    /// The languages by whose stems the words of a question are looked for: of those of the store, for each
    /// script. Of those in Latin letters the one of which the question has most stop words; if it has none of
    /// any, all. English is one of them unless another has two more: few words are in one language only.
    pub fn of_question(question: &str, stored: Languages) -> Languages {
        let latin = stored.and(Script::Latin.languages());
        if latin == Languages::ENGLISH {
            return stored;
        }
        let counts = StopWordCounts::of(words(&fold(question)));
        let most = counts.most(latin);
        let is_english = most - counts.of_language(ENGLISH) < 2;
        let of_latin = latin
            .iter()
            .filter(|language| counts.of_language(*language) == most || *language == ENGLISH && is_english);
        let others = Languages(stored.0 & !latin.0);
        of_latin.fold(others, |all, language| all.or(Languages::only(language)))
    }

    /// The languages that a text is in, by itself: English unless it has at least two stop words of another
    /// language in Latin letters, and more than of English; the others by their scripts.
    pub fn of_text(text: &str) -> Languages {
        let counts = StopWordCounts::of(words(&fold_beginning(text)));
        let latin = Script::Latin.languages();
        let (most, others) = (counts.most(latin), Languages(Languages::ALL.0 & !latin.0));
        if most < 2 || counts.of_language(ENGLISH) == most {
            return others.or(Languages::ENGLISH);
        }
        let of_latin = latin.iter().filter(|language| counts.of_language(*language) == most);
        of_latin.fold(others, |all, language| all.or(Languages::only(language)))
    }

    /// The languages that a text is in, by itself, as `of_text`; English unless another one in Latin letters
    /// is sure.
    pub fn surely_of(text: &str) -> Languages {
        let counts = StopWordCounts::of(words(&fold_beginning(text)));
        let others = Languages(Languages::ALL.0 & !Script::Latin.languages().0);
        match counts.sure(Script::Latin.languages()) {
            Languages::NONE => others.or(Languages::ENGLISH),
            sure => others.or(sure),
        }
    }

    /// The languages other than English in whose stems a record must be found, by its words: those that it
    /// may be in.
    pub(crate) fn of_words(all_words: &[&str]) -> Languages {
        let counts = StopWordCounts::of(all_words.iter().copied());
        let latin = Script::Latin.languages();
        let sure = counts.sure(latin);
        let most = counts.most(latin);
        let of_latin = match () {
            () if sure != Languages::NONE => sure,
            () if most == 0 && all_words.len() > FEW_WORDS => Languages::NONE,
            () => latin
                .iter()
                .filter(|language| counts.of_language(*language) * 2 >= most)
                .fold(Languages::NONE, |all, one| all.or(Languages::only(one))),
        };
        // In another script there is only one.
        Languages((!latin.0 | of_latin.0) & !Languages::ENGLISH.0)
    }

    /// Whether a folded word is one of the stop words of each of the languages that it may be in.
    pub(crate) fn is_stop_word(self, word: &str) -> bool {
        let Some(listed) = STOP_WORDS.get(word) else { return false };
        let script = word.chars().next().and_then(Script::of);
        let own = script.map_or(Languages::NONE, |script| self.and(script.languages()));
        own != Languages::NONE && listed.and(own) == own
    }
}

/// The languages of texts, other than English: of those that tell theirs, and of short ones that tell it
/// together.
#[derive(Default)]
pub(crate) struct ToldLanguages {
    told: Option<Languages>,
    /// The beginnings of texts that do not tell their language, with those that they may be in.
    short: Vec<(Languages, String)>,
    short_bytes: usize,
}

impl ToldLanguages {
    /// Adds a text; its beginning counts.
    pub(crate) fn add(&mut self, text: &str) {
        let beginning = &text[..text.floor_char_boundary(TOLD_BYTES)];
        let folded = fold(beginning);
        let counts = StopWordCounts::of_whole(&folded);
        let told = counts.told(beginning, &folded);
        self.told = Languages::joined(self.told, told);
        if told.is_none() && self.short_bytes + beginning.len() <= TOGETHER_BYTES {
            let hinted = counts.hinted(&folded);
            if hinted != Languages::NONE {
                self.short.push((hinted, beginning.to_owned()));
                self.short_bytes += beginning.len();
            }
        }
    }

    /// The languages, if any is sure.
    pub(crate) fn told(&self) -> Option<Languages> {
        let together: String = self.short.iter().flat_map(|(_, text)| [text, "\n"]).collect();
        let folded = fold(&together);
        Languages::joined(self.told, StopWordCounts::of_whole(&folded).told(&together, &folded))
    }

    /// Whether a text may be in another language than those that are known, and does not tell which.
    pub(crate) fn are_in_doubt(&self, known: Languages) -> bool {
        let known = self.told().map_or(known, |told| told.or(known));
        self.short.iter().any(|(hinted, _)| hinted.and(known) == Languages::NONE)
    }

    /// Whether no text was in another language than English.
    pub(crate) fn is_empty(&self) -> bool {
        self.told.is_none() && self.short.is_empty()
    }
}

/// Letters of Persian and Urdu, whose words the Arabic stemmer would cut.
const PERSIAN_LETTERS: [char; 8] = ['پ', 'چ', 'ژ', 'گ', 'ٹ', 'ڈ', 'ں', 'ے'];

/// The languages of each stop word, which is folded.
static STOP_WORDS: LazyLock<FxHashMap<String, Languages>> = LazyLock::new(|| {
    let mut listed: FxHashMap<String, Languages> = FxHashMap::default();
    let lists = stop_words::OTHERS.iter().copied().chain([("en", stop_words::ENGLISH)]);
    for (code, list) in lists {
        let at = LANGUAGES.iter().position(|row| row.code == code).map(Language);
        for word in list.split_whitespace().filter(|_| at.is_some()) {
            let all = listed.entry(fold(word)).or_insert(Languages::NONE);
            *all = at.map_or(*all, |language| all.or(Languages::only(language)));
        }
    }
    listed
});

/// The words of folded text, however long.
fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// How many different stop words of each language a text has.
#[derive(Default)]
struct StopWordCounts {
    of: [u8; LANGUAGES.len()],
    seen: Vec<*const Languages>,
    /// The number of words in each other script.
    in_script: [u8; OTHER_SCRIPTS.len()],
}

impl StopWordCounts {
    /// Of the first words of a text.
    fn of<'a>(words: impl Iterator<Item = &'a str>) -> StopWordCounts {
        let mut counts = StopWordCounts::default();
        words.take(MAX_WORDS).for_each(|word| counts.add(word));
        counts
    }

    fn add(&mut self, word: &str) {
        let Some(listed) = STOP_WORDS.get(word) else { return };
        let place: *const Languages = listed;
        if !self.seen.contains(&place) {
            self.seen.push(place);
            listed.iter().for_each(|language| self.of[language.0] += 1);
        }
    }

    /// Of all the words of a folded text, those of other scripts counted too.
    fn of_whole(folded: &str) -> StopWordCounts {
        let mut counts = StopWordCounts::default();
        for word in words(folded) {
            match word.chars().next().and_then(Script::of) {
                Some(Script::Latin) => counts.add(word),
                Some(other) => {
                    let at = OTHER_SCRIPTS.iter().position(|script| *script == other);
                    if let Some(count) = at.and_then(|at| counts.in_script.get_mut(at)) {
                        *count = count.saturating_add(1);
                    }
                }
                None => {}
            }
        }
        counts
    }

    /// The languages of the other scripts of which a folded text has at least this many words.
    fn other_scripts(&self, folded: &str, at_least: u8) -> Languages {
        OTHER_SCRIPTS
            .iter()
            .zip(self.in_script)
            .filter(|(_, words)| *words >= at_least)
            .filter(|(script, _)| **script != Script::Arabic || !folded.contains(PERSIAN_LETTERS))
            .fold(Languages::NONE, |all, (script, _)| all.or(script.languages()))
    }

    /// The language of a text, if it is sure and is not English: by the stop words or the script, and, in
    /// Latin letters, also by trigrams.
    fn told(&self, text: &str, folded: &str) -> Option<Languages> {
        let other = self.other_scripts(folded, SURE);
        let foreign = Languages(Script::Latin.languages().0 & !Languages::ENGLISH.0);
        let most = self.most(foreign);
        if most < SURE || self.of_language(ENGLISH) * 2 > most {
            return (other != Languages::NONE).then_some(other);
        }
        // Neighbours have many stop words in common, such as Danish and Swedish.
        let is_confirmed = |language: &Language, by_trigrams: &whatlang::Info| {
            let count = self.of_language(*language);
            let is_best = count == most && most >= 2 * SURE;
            let is_sure = by_trigrams.is_reliable() || is_best;
            by_trigrams.lang() == language.row().lang && count * 2 >= most && is_sure
        };
        let by_trigrams = whatlang::detect(text);
        let confirmed =
            foreign.iter().filter(|one| by_trigrams.as_ref().is_some_and(|told| is_confirmed(one, told)));
        let told = confirmed.fold(other, |all, one| all.or(Languages::only(one)));
        (told != Languages::NONE).then_some(told)
    }

    /// The languages other than English that a text may be in: those of which it has most stop words, if more
    /// than of English, and those of its other scripts.
    fn hinted(&self, folded: &str) -> Languages {
        let latin = Script::Latin.languages();
        let most = self.most(latin);
        let is_hinted =
            |language: &Language| most > self.of_language(ENGLISH) && self.of_language(*language) == most;
        let other = self.other_scripts(folded, 1);
        latin.iter().filter(is_hinted).fold(other, |all, one| all.or(Languages::only(one)))
    }

    fn of_language(&self, language: Language) -> u8 {
        self.of[language.0]
    }

    /// The most of any of some languages.
    fn most(&self, among: Languages) -> u8 {
        among.iter().map(|language| self.of_language(language)).max().unwrap_or_default()
    }

    /// The language that the text is surely in, if it is one of some.
    fn sure(&self, among: Languages) -> Languages {
        let Some(best) = (0..LANGUAGES.len()).map(Language).max_by_key(|one| self.of_language(*one)) else {
            return Languages::NONE;
        };
        let others = Languages(!Languages::only(best).0);
        let is_sure = self.of_language(best) >= SURE
            && self.of_language(best) >= 2 * self.most(others)
            && among.has(best);
        if is_sure { Languages::only(best) } else { Languages::NONE }
    }
}

#[cfg(test)]
mod tests;
