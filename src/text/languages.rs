//! The languages whose words are stemmed, and which of them a text or a question is in.
//!
//! A word of a record matches a word of a question if both are the same, or have the same stem in one of the question's
//! languages. These are chosen among the store's languages, which it notes as texts are written: so in a store of
//! English nothing is stemmed otherwise than in English, whatever a question looks like.

use super::fold::{fold, fold_beginning};
use super::stop_words;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::LazyLock;
use whatlang::Lang;

/// A language of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Language(usize);

/// A language with a stemmer.
struct LanguageRow {
    /// As in ISO 639-1.
    code: &'static str,
    algorithm: Algorithm,
    lang: Lang,
    script: Script,
    /// Endings that the stemmer knows with accents, which folding drops: as folded, and as it knows them.
    endings: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Arabic,
    Cyrillic,
    Greek,
    Latin,
    Tamil,
}
use Script::{Arabic, Cyrillic, Greek, Latin, Tamil};

const OTHER_SCRIPTS: [Script; 4] = [Arabic, Cyrillic, Greek, Tamil];

const SPANISH_ENDINGS: &[(&str, &str)] =
    &[("cion", "ción"), ("sion", "sión"), ("ria", "ría"), ("rian", "rían"), ("rias", "rías")];
const FRENCH_ENDINGS: &[(&str, &str)] = &[("ite", "ité"), ("ites", "ités"), ("ee", "ée"), ("ees", "ées")];
const PORTUGUESE_ENDINGS: &[(&str, &str)] = &[("cao", "ção"), ("coes", "ções")];

#[rustfmt::skip]
const LANGUAGES: &[LanguageRow] = &[
    LanguageRow { code: "en", algorithm: Algorithm::English, lang: Lang::Eng, script: Latin, endings: &[] },
    LanguageRow { code: "ar", algorithm: Algorithm::Arabic, lang: Lang::Ara, script: Arabic, endings: &[] },
    LanguageRow { code: "da", algorithm: Algorithm::Danish, lang: Lang::Dan, script: Latin, endings: &[] },
    LanguageRow { code: "de", algorithm: Algorithm::German, lang: Lang::Deu, script: Latin, endings: &[] },
    LanguageRow { code: "el", algorithm: Algorithm::Greek, lang: Lang::Ell, script: Greek, endings: &[] },
    LanguageRow { code: "es", algorithm: Algorithm::Spanish, lang: Lang::Spa, script: Latin, endings: SPANISH_ENDINGS },
    LanguageRow { code: "fi", algorithm: Algorithm::Finnish, lang: Lang::Fin, script: Latin, endings: &[] },
    LanguageRow { code: "fr", algorithm: Algorithm::French, lang: Lang::Fra, script: Latin, endings: FRENCH_ENDINGS },
    LanguageRow { code: "hu", algorithm: Algorithm::Hungarian, lang: Lang::Hun, script: Latin, endings: &[] },
    LanguageRow { code: "it", algorithm: Algorithm::Italian, lang: Lang::Ita, script: Latin, endings: &[("ita", "ità")] },
    LanguageRow { code: "nl", algorithm: Algorithm::Dutch, lang: Lang::Nld, script: Latin, endings: &[] },
    LanguageRow { code: "no", algorithm: Algorithm::Norwegian, lang: Lang::Nob, script: Latin, endings: &[] },
    LanguageRow { code: "pt", algorithm: Algorithm::Portuguese, lang: Lang::Por, script: Latin, endings: PORTUGUESE_ENDINGS },
    LanguageRow { code: "ro", algorithm: Algorithm::Romanian, lang: Lang::Ron, script: Latin, endings: &[] },
    LanguageRow { code: "ru", algorithm: Algorithm::Russian, lang: Lang::Rus, script: Cyrillic, endings: &[] },
    LanguageRow { code: "sv", algorithm: Algorithm::Swedish, lang: Lang::Swe, script: Latin, endings: &[] },
    LanguageRow { code: "ta", algorithm: Algorithm::Tamil, lang: Lang::Tam, script: Tamil, endings: &[] },
    LanguageRow { code: "tr", algorithm: Algorithm::Turkish, lang: Lang::Tur, script: Latin, endings: &[] },
];

const ENGLISH: Language = Language(0);

/// The beginning of a text by which its language is told, in bytes.
const TOLD_BYTES: usize = 240;
/// The bytes of short texts by which their language is told together.
const TOGETHER_BYTES: usize = 1200;
/// The number of different stop words from which on a language is sure, if it has twice as many as each other one.
const SURE: u8 = 3;
/// A text of up to this many words may have none of the stop words of its language.
const FEW_WORDS: usize = 16;
/// The words of a text that are looked at.
const MAX_WORDS: usize = 64;

impl Script {
    /// The script of a character of a folded word.
    fn of(c: char) -> Option<Script> {
        match c {
            'a'..='z' | '\u{df}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some(Latin),
            '\u{370}'..='\u{3ff}' => Some(Greek),
            '\u{400}'..='\u{52f}' => Some(Cyrillic),
            '\u{600}'..='\u{6ff}' => Some(Arabic),
            '\u{b80}'..='\u{bff}' => Some(Tamil),
            _ => None,
        }
    }

    /// The languages written in it.
    const fn languages(self) -> Languages {
        let (mut set, mut at) = (0, 0);
        while at < LANGUAGES.len() {
            if LANGUAGES[at].script as u8 == self as u8 {
                set |= 1 << at;
            }
            at += 1;
        }
        Languages(set)
    }
}

impl Language {
    fn row(self) -> &'static LanguageRow {
        &LANGUAGES[self.0]
    }

    /// Whether its stemmer is for a folded word: other words are their own stems.
    fn is_of(self, word: &str) -> bool {
        if self == ENGLISH {
            return word.bytes().all(|b| b.is_ascii_lowercase());
        }
        word.chars().all(|c| Script::of(c) == Some(self.row().script))
    }

    /// The stem of a folded word, by its Snowball stemmer.
    fn stem(self, word: &str) -> Cow<'_, str> {
        if !self.is_of(word) {
            return Cow::Borrowed(word);
        }
        let LanguageRow { algorithm, endings, .. } = self.row();
        let stemmer = Stemmer::create(*algorithm);
        let accented = endings.iter().find_map(|(folded, known)| Some((word.strip_suffix(folded)?, known)));
        match accented {
            Some((before, ending)) => Cow::Owned(fold(&stemmer.stem(&format!("{before}{ending}")))),
            None => stemmer.stem(word),
        }
    }
}

/// The stem of a word in a language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stem {
    language: Language,
    text: String,
}

impl Stem {
    fn of(language: Language, word: &str) -> Stem {
        Stem { language, text: language.stem(word).into_owned() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The piece that every word of the stem has, at its beginning unless `is_anywhere`: the last letter may differ
    /// (`citi`,
    /// `city`), in Dutch also of a short one (`man`, `maan`).
    pub(crate) fn piece(&self) -> &str {
        let stem = &self.text[..];
        let shortest = match self.language.row().code {
            "en" if !stem.is_ascii() => return stem,
            "nl" => 2,
            _ => 3,
        };
        match stem.char_indices().nth_back(0) {
            Some((last, _)) if stem.chars().nth(shortest).is_some() => &stem[..last],
            _ => stem,
        }
    }

    /// Whether the stemmer takes off beginnings of words, too.
    pub(crate) fn is_anywhere(&self) -> bool {
        self.language.row().script == Arabic
    }

    /// Whether a folded word has the stem, and its piece where it must be.
    pub(crate) fn is_of(&self, word: &str) -> bool {
        let has_piece =
            if self.is_anywhere() { word.contains(self.piece()) } else { word.starts_with(self.piece()) };
        has_piece && self.language.stem(word) == self.text
    }

    /// Its name in an index of the stems of all languages: of English the text alone. In no text, which has only
    /// letters and digits, is there a `_`.
    pub(crate) fn key(&self) -> Cow<'_, str> {
        match self.language {
            ENGLISH => Cow::Borrowed(&self.text),
            other => Cow::Owned(format!("{}_{}", other.row().code, self.text)),
        }
    }

    /// Whether it is in English, or of a word that no stemmer is for.
    pub(crate) fn is_english(&self) -> bool {
        self.language == ENGLISH
    }
}

/// A set of languages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Languages(u32);

impl Default for Languages {
    fn default() -> Languages {
        Languages::ENGLISH
    }
}

impl Languages {
    /// English alone.
    pub const ENGLISH: Languages = Languages(1);
    const NONE: Languages = Languages(0);
    const ALL: Languages = Languages((1 << LANGUAGES.len()) - 1);

    fn only(language: Language) -> Languages {
        Languages(1 << language.0)
    }

    fn iter(self) -> impl Iterator<Item = Language> {
        (0..LANGUAGES.len()).map(Language).filter(move |language| self.has(*language))
    }

    fn has(self, language: Language) -> bool {
        self.0 & 1 << language.0 != 0
    }

    /// Whether it has the language of a code.
    pub(super) fn includes(self, code: &str) -> bool {
        self.iter().any(|language| language.row().code == code)
    }

    /// Those that are in both.
    fn and(self, other: Languages) -> Languages {
        Languages(self.0 & other.0)
    }

    /// Those that are in either.
    pub(crate) fn or(self, other: Languages) -> Languages {
        Languages(self.0 | other.0)
    }

    /// Those of two texts, each of which is sure or not.
    pub(crate) fn joined(one: Option<Languages>, other: Option<Languages>) -> Option<Languages> {
        one.into_iter().chain(other).reduce(Languages::or)
    }

    /// The languages by their codes; unknown ones are left out. English is always one.
    pub(crate) fn parse(codes: &str) -> Languages {
        let named = (0..).zip(LANGUAGES).filter(|(_, row)| codes.split(' ').any(|code| code == row.code));
        named.fold(Languages::ENGLISH, |all, (at, _)| all.or(Languages::only(Language(at))))
    }

    /// Their codes.
    pub(crate) fn codes(self) -> String {
        self.iter().map(|language| language.row().code).collect::<Vec<_>>().join(" ")
    }

    /// The languages by whose stems the words of a question are looked for: of those of the store, for each script. Of
    /// those in Latin letters the one of which the question has most stop words; if it has none of any, all. English is
    /// one of them unless another has two more: few words are in one language only.
    pub fn of_question(question: &str, stored: Languages) -> Languages {
        let latin = stored.and(Latin.languages());
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

    /// The languages that a text is in, by itself: English unless it has at least two stop words of another language in
    /// Latin letters, and more than of English; the others by their scripts.
    pub fn of_text(text: &str) -> Languages {
        let counts = StopWordCounts::of(words(&fold_beginning(text)));
        let latin = Latin.languages();
        let (most, others) = (counts.most(latin), Languages(Languages::ALL.0 & !latin.0));
        if most < 2 || counts.of_language(ENGLISH) == most {
            return others.or(Languages::ENGLISH);
        }
        let of_latin = latin.iter().filter(|language| counts.of_language(*language) == most);
        of_latin.fold(others, |all, language| all.or(Languages::only(language)))
    }

    /// The languages that a text is in, by itself, as `of_text`; English unless another one in Latin letters is sure.
    pub fn surely_of(text: &str) -> Languages {
        let counts = StopWordCounts::of(words(&fold_beginning(text)));
        let others = Languages(Languages::ALL.0 & !Latin.languages().0);
        match counts.sure(Latin.languages()) {
            Languages::NONE => others.or(Languages::ENGLISH),
            sure => others.or(sure),
        }
    }

    /// The languages other than English in whose stems a record must be found, by its words: those that it may be in.
    pub(crate) fn of_words(all_words: &[&str]) -> Languages {
        let counts = StopWordCounts::of(all_words.iter().copied());
        let latin = Latin.languages();
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

    /// The stems of a folded word in each of the languages that it may be in; in none of them, it is its own.
    pub(crate) fn stems(self, word: &str) -> Vec<Stem> {
        let known = self.iter().filter(|language| language.is_of(word));
        let stems: Vec<Stem> = known.map(|language| Stem::of(language, word)).collect();
        if stems.is_empty() { vec![Stem { language: ENGLISH, text: word.to_owned() }] } else { stems }
    }

    /// The first of the stems of a folded word, as text.
    pub(super) fn first_stem<'a>(self, word: &'a str) -> Cow<'a, str> {
        let language = self.iter().find(|language| language.is_of(word));
        language.map_or(Cow::Borrowed(word), |language| language.stem(word))
    }

    /// The stems of a folded word in those of the languages that it may be in.
    pub(crate) fn foreign_stems(self, word: &str) -> impl Iterator<Item = Stem> {
        self.iter().filter(|language| language.is_of(word)).map(|language| Stem::of(language, word))
    }

    /// Whether a folded word is one of the stop words of each of the languages that it may be in.
    pub(crate) fn is_stop_word(self, word: &str) -> bool {
        let Some(listed) = STOP_WORDS.get(word) else { return false };
        let script = word.chars().next().and_then(Script::of);
        let own = script.map_or(Languages::NONE, |script| self.and(script.languages()));
        own != Languages::NONE && listed.and(own) == own
    }
}

/// The languages of texts, other than English: of those that tell theirs, and of short ones that tell it together.
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
                Some(Latin) => counts.add(word),
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
            .filter(|(script, _)| **script != Arabic || !folded.contains(PERSIAN_LETTERS))
            .fold(Languages::NONE, |all, (script, _)| all.or(script.languages()))
    }

    /// The language of a text, if it is sure and is not English: by the stop words or the script, and, in Latin letters,
    /// also by trigrams.
    fn told(&self, text: &str, folded: &str) -> Option<Languages> {
        let other = self.other_scripts(folded, SURE);
        let foreign = Languages(Latin.languages().0 & !Languages::ENGLISH.0);
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

    /// The languages other than English that a text may be in: those of which it has most stop words, if more than of
    /// English, and those of its other scripts.
    fn hinted(&self, folded: &str) -> Languages {
        let latin = Latin.languages();
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told_by(text: &str) -> Option<Languages> {
        let mut languages = ToldLanguages::default();
        languages.add(text);
        languages.told()
    }

    proptest! {
        #[test]
        fn any_word_has_stems(
            word in "[a-zß-žæø]{1,20}|[а-яёй]{1,20}|[ء-ي]{1,20}|[α-ω]{1,20}|[அ-ஹா-ௌ்]{1,20}|\\PC{1,20}"
        ) {
            let word = fold(&word);
            for stem in Languages::ALL.stems(&word) {
                prop_assert!(!stem.is_of("") || stem.text.is_empty());
            }
        }

        #[test]
        fn any_text_is_in_some_language(text in "\\PC{0,300}") {
            let all: Vec<&str> = words(&text).collect();
            Languages::of_words(&all);
            told_by(&text);
            prop_assert_ne!(Languages::of_text(&text), Languages::NONE);
        }
    }

    #[test]
    fn words_of_one_stem_have_its_piece() {
        for (code, word, other) in [
            ("en", "painted", "painting"),
            ("en", "city", "cities"),
            ("en", "happy", "happiness"),
            ("en", "ran", "ran"),
            ("de", "katzen", "katze"),
            ("de", "hauser", "haus"),
            ("es", "canciones", "canción"),
            ("es", "comería", "comer"),
            ("fr", "chevaux", "cheval"),
            ("fr", "nationalités", "nationaux"),
            ("it", "libri", "libro"),
            ("nl", "katten", "kat"),
            ("nl", "manen", "maan"),
            ("pt", "chaves", "chave"),
            ("ru", "ключами", "ключ"),
            ("sv", "katterna", "katten"),
            ("ar", "الكتاب", "كتابي"),
        ] {
            let (word, other) = (fold(word), fold(other));
            let languages = Languages(Languages::parse(code).0 & !u32::from(code != "en"));
            let stems = languages.stems(&word);
            assert_eq!(stems, languages.stems(&other), "{word} {other}");
            assert!(stems.iter().all(|stem| stem.is_of(&word) && stem.is_of(&other)), "{word} {other}");
        }
        assert_eq!(Languages::ENGLISH.stems("3d")[0].text, "3d");
        assert_eq!(Languages::ENGLISH.stems("𐌰")[0].piece(), "𐌰");
    }

    #[test]
    fn a_question_is_in_the_language_of_its_stop_words() {
        let stored = Languages::parse("de es");
        for (question, codes) in [
            ("Wo ist der Schlüssel?", "de"),
            ("¿Dónde están las llaves?", "es"),
            ("Where is the key?", "en"),
            ("When did they die?", "en"),
            ("Docker Container", "en de es"),
            ("", "en de es"),
        ] {
            assert_eq!(Languages::of_question(question, stored).codes(), codes, "{question}");
            assert_eq!(Languages::of_question(question, Languages::ENGLISH).codes(), "en", "{question}");
        }
        let stop = |word, code| Languages::of_question(code, stored).is_stop_word(word);
        assert!(stop("die", "wo ist der") && !stop("die", "where is the") && stop("the", "where is the"));
    }

    #[test]
    fn the_language_of_a_text_is_told_if_it_is_sure() {
        for (text, codes) in [
            ("Die Katzen schlafen auf dem warmen Ofen, weil es in dem Zimmer so kalt ist.", Some("de")),
            ("Ключи от сарая висят за дверью.", Some("ru")),
            ("وضعت الكتاب على الطاولة في غرفة الجلوس.", Some("ar")),
            ("The cats sleep on the warm stove, and it was in the house that he died.", None),
            ("کتاب را روی میز گذاشتم و رفتم پیش او", None),
            ("ok", None),
            ("", None),
        ] {
            assert_eq!(told_by(text).map(Languages::codes).as_deref(), codes, "{text}");
        }
    }

    #[test]
    fn short_texts_tell_their_language_together() {
        let english = Languages::ENGLISH;
        for (texts, codes) in [
            (&["Wo liegt mein Pass?", "In der Schublade.", "Und die Karte?", "Auch dort."][..], Some("de")),
            (&["Ключи где?", "За дверью."], Some("ru")),
            (&["Did he die?", "So am I.", "Run a docker image", "man page of tar", "an API"], None),
        ] {
            let mut languages = ToldLanguages::default();
            for text in texts {
                languages.add(text);
            }
            assert_eq!(languages.told().map(Languages::codes).as_deref(), codes, "{texts:?}");
            assert!(!languages.are_in_doubt(english.or(languages.told().unwrap_or(english))));
        }
        let mut languages = ToldLanguages::default();
        languages.add("Wo liegt mein Pass?");
        assert!(languages.are_in_doubt(english) && !languages.are_in_doubt(Languages::parse("de")));
    }
}
