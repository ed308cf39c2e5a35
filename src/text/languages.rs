//! The languages whose words are stemmed; `language_detection.rs` tells which of them a text or a question is
//! in.
//!
//! A word of a record matches a word of a question if both are the same, or have the same stem in one of the
//! question's languages. These are chosen among the store's languages, which it notes as texts are written:
//! so in a store of English nothing is stemmed otherwise than in English, whatever a question looks like.

use super::fold::fold;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use whatlang::Lang;

/// A language of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Language(pub(super) usize);

/// A language with a stemmer.
pub(super) struct LanguageRow {
    /// As in ISO 639-1.
    pub(super) code: &'static str,
    algorithm: Algorithm,
    pub(super) lang: Lang,
    script: Script,
    /// Endings that the stemmer knows with accents, which folding drops: as folded, and as it knows them.
    endings: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Arabic,
    Cyrillic,
    Greek,
    Latin,
    Tamil,
}
use Script::{Arabic, Cyrillic, Greek, Latin, Tamil};

pub(super) const OTHER_SCRIPTS: [Script; 4] = [Arabic, Cyrillic, Greek, Tamil];

const SPANISH_ENDINGS: &[(&str, &str)] =
    &[("cion", "ción"), ("sion", "sión"), ("ria", "ría"), ("rian", "rían"), ("rias", "rías")];
const FRENCH_ENDINGS: &[(&str, &str)] = &[("ite", "ité"), ("ites", "ités"), ("ee", "ée"), ("ees", "ées")];
const PORTUGUESE_ENDINGS: &[(&str, &str)] = &[("cao", "ção"), ("coes", "ções")];

#[rustfmt::skip]
pub(super) const LANGUAGES: &[LanguageRow] = &[
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

pub(super) const ENGLISH: Language = Language(0);

impl Script {
    /// The script of a character of a folded word.
    pub(super) fn of(c: char) -> Option<Script> {
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
    pub(super) const fn languages(self) -> Languages {
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
    pub(super) fn row(self) -> &'static LanguageRow {
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

    /// The piece that every word of the stem has, at its beginning unless `is_anywhere`: the last letter may
    /// differ (`citi`, `city`), in Dutch also of a short one (`man`, `maan`).
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

    /// Its name in an index of the stems of all languages: of English the text alone. In no text, which has
    /// only letters and digits, is there a `_`.
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
pub struct Languages(pub(super) u32);

impl Default for Languages {
    fn default() -> Languages {
        Languages::ENGLISH
    }
}

impl Languages {
    /// English alone.
    pub const ENGLISH: Languages = Languages(1);
    pub(super) const NONE: Languages = Languages(0);
    pub(super) const ALL: Languages = Languages((1 << LANGUAGES.len()) - 1);

    pub(super) fn only(language: Language) -> Languages {
        Languages(1 << language.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Language> {
        (0..LANGUAGES.len()).map(Language).filter(move |language| self.has(*language))
    }

    pub(super) fn has(self, language: Language) -> bool {
        self.0 & 1 << language.0 != 0
    }

    /// Whether it has the language of a code.
    pub(super) fn includes(self, code: &str) -> bool {
        self.iter().any(|language| language.row().code == code)
    }

    /// Those that are in both.
    pub(super) fn and(self, other: Languages) -> Languages {
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
}
