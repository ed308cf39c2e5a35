//! Folds texts and questions alike for search by words: what people write in several ways for one word is
//! written in one. Ids, digests and tombstones have a folding of their own (`record/fold.rs`), which never
//! changes.
//!
//! An index keeps folded words, so it notes by which folding: a change here is a new version, and the one
//! before stays as long as indexes may have it.

use crate::record::is_unseen;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The version of `fold`.
pub(crate) const FOLDING: i64 = 2;

/// The bytes of a question, or of a text whose language is told by its first words, that are read: what is
/// longer is pasted.
const READ_BYTES: usize = 4 * 1024;

/// Folds the beginning of a long text.
pub(super) fn fold_beginning(text: &str) -> String {
    fold(&text[..text.floor_char_boundary(READ_BYTES)])
}

/// Folds a text: compatibility decomposition (NFKD), lower case, without accents, points, vowel marks and
/// characters that are not seen; and one letter, digit or mark for those that `plain` names.
pub(crate) fn fold(text: &str) -> String {
    fold_runs(text, |run, folded| {
        let mut rest = run;
        while let Some(c) = rest.chars().next() {
            if let Some(letter) = letter(c) {
                folded.push(letter);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            // Decomposition reorders nothing across a letter.
            let (others, after) = rest.split_at(rest.find(|c| letter(c).is_some()).unwrap_or(rest.len()));
            decomposed(others.chars()).for_each(|c| push_decomposed(folded, c));
            rest = after;
        }
    })
}

/// The folded form of a letter of those that make up most of the texts in Cyrillic, Hebrew, Arabic and
/// Chinese, without a look at Unicode's tables.
fn letter(c: char) -> Option<char> {
    match c {
        'А'..='Я' => char::from_u32(u32::from(c) + 32),
        'а'..='я'
        | '\u{5d0}'..='\u{5ea}'
        | '\u{627}'..='\u{628}'
        | '\u{62a}'..='\u{63a}'
        | '\u{641}'..='\u{648}'
        | '\u{64a}'
        | '\u{4e00}'..='\u{9fff}' => Some(c),
        _ => None,
    }
}

/// Folds a text as an index of a version has it.
pub(crate) fn fold_as(folding: i64, text: &str) -> String {
    if folding < FOLDING { fold_1(text) } else { fold(text) }
}

/// Appends a character of a text in its folded form. One that has none leaves the length as it is, and may
/// change the letter before it, to which it belongs.
pub(super) fn push(folded: &mut String, c: char) {
    decomposed(std::iter::once(c)).for_each(|c| push_decomposed(folded, c));
}

/// The compatibility decomposition. It would make a blank of the accent that many type as an apostrophe.
fn decomposed(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.map(|c| if c == '\u{b4}' { '\'' } else { c }).nfkd()
}

fn push_decomposed(folded: &mut String, c: char) {
    // A letter of its own, not an и with an accent: the Russian stems need it.
    if c == BREVE && folded.ends_with('и') {
        folded.pop();
        folded.push('й');
    }
    if is_dropped(c) {
        return;
    }
    for c in c.to_lowercase() {
        match c {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'þ' => folded.push_str("th"),
            _ => folded.push(plain(c)),
        }
    }
}

const BREVE: char = '\u{306}';

/// Whether a decomposed character is left out: it is not seen; it is an accent, a Hebrew point, an Arabic
/// vowel mark or a stroke that only lengthens an Arabic word; or a mark that is no letter by Unicode and
/// would split a word, as the virama. Those of kana and of the scripts of South-East Asia stay, where a mark
/// makes another word, and those of symbols.
fn is_dropped(c: char) -> bool {
    if c < '\u{300}' {
        return is_unseen(c);
    }
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{5b0}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'..='\u{5c2}'
        | '\u{5c4}'..='\u{5c5}'
        | '\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{640}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}'..='\u{6e8}'
        | '\u{6ea}'..='\u{6ed}'
        | '\u{8d3}'..='\u{8e1}'
        | '\u{8e3}'..='\u{8ff}' => true,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17ff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{3099}'..='\u{309a}' => false,
        _ => is_unseen(c) || is_combining_mark(c) && !c.is_alphabetic(),
    }
}

/// The one form of a small letter, a digit or a mark that is typed in several. The letters of Latin are as in
/// Lucene's `ASCIIFoldingFilter`, those of Arabic as in its normalizers for Arabic and Persian.
fn plain(c: char) -> char {
    match c {
        'ς' => 'σ',
        'ı' => 'i',
        'ø' => 'o',
        'ł' => 'l',
        'đ' | 'ð' => 'd',
        'ħ' => 'h',
        'ŧ' => 't',
        // Alef with wasla; alef maksura and the forms of yeh; keheh; teh marbuta and the forms of heh.
        '\u{671}' => '\u{627}',
        '\u{649}' | '\u{6cc}' | '\u{6d2}' => '\u{64a}',
        '\u{6a9}' => '\u{643}',
        '\u{629}' | '\u{6c1}' | '\u{6c3}' | '\u{6d5}' => '\u{647}',
        // Quotes and letters that stand for an apostrophe; those of Hebrew abbreviations; hyphens and dashes.
        '‘' | '’' | '‛' | 'ʻ' | 'ʼ' | '\u{5f3}' => '\'',
        '\u{5f4}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{5be}' => '-',
        _ => digit(c).unwrap_or(c),
    }
}

/// The zeros of the scripts whose digits are typed beside 0 to 9.
const ZEROS: [char; 17] = [
    '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}', '\u{c66}',
    '\u{ce6}', '\u{d66}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{17e0}', '\u{1810}',
];

/// The digit of ASCII that a digit of another script is.
fn digit(c: char) -> Option<char> {
    if !(ZEROS[0]..='\u{1819}').contains(&c) {
        return None;
    }
    let value = |zero: &char| (u32::from(c)).checked_sub(u32::from(*zero)).filter(|value| *value < 10);
    char::from_digit(ZEROS.iter().find_map(value)?, 10)
}

/// The first version: NFKD, lower case, without U+0300 to U+036F, and one sigma and one apostrophe.
fn fold_1(text: &str) -> String {
    let plain = |c| match c {
        'ς' => 'σ',
        '‘' | '’' => '\'',
        _ => c,
    };
    fold_runs(text, |run, folded| {
        let decomposed = run.nfkd().filter(|c| !('\u{300}'..='\u{36f}').contains(c));
        folded.extend(decomposed.flat_map(char::to_lowercase).map(plain));
    })
}

/// Folds the runs of ASCII of a text as they are, and the others by `fold_run`: decomposition reorders
/// nothing across a character of ASCII.
fn fold_runs(text: &str, fold_run: impl Fn(&str, &mut String)) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (ascii, after) = rest.split_at(rest.bytes().position(|b| !b.is_ascii()).unwrap_or(rest.len()));
        let begin = folded.len();
        folded.push_str(ascii);
        folded[begin..].make_ascii_lowercase();
        let (other, after) = after.split_at(after.bytes().position(|b| b.is_ascii()).unwrap_or(after.len()));
        fold_run(other, &mut folded);
        rest = after;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spellings of one word each.
    const SPELLINGS: [&[&str]; 33] = [
        &["can't", "can’t", "can‘t", "canʼt", "can´t", "CAN＇T"],
        &["strasse", "straße", "STRASSE", "STRAẞE", "Straſse"],
        &["carrots", "car\u{ad}rots", "car\u{200b}rots", "carrots\u{feff}", "\u{200e}carrots"],
        &["שלום", "שָׁלוֹם", "שָׁל֥וֹם", "\u{fb2a}\u{5b8}לוֹם"],
        &["צה\"ל", "צה״ל"],
        &["בית-ספר", "בית־ספר"],
        &["محمد", "مُحَمَّد", "محـــمد", "ﻣﺤﻤﺪ"],
        &["احمد", "أحمد", "إحمد", "آحمد", "ٱحمد"],
        &["على", "علي", "علی"],
        &["مدرسة", "مدرسه", "مدرسۃ"],
        &["كتاب", "کتاب"],
        &["الرحمن", "الرحمٰن"],
        &["میخواهم", "مي\u{200c}خواهم"],
        &["مسؤول", "مسوول"],
        &["2026", "٢٠٢٦", "۲۰۲۶", "２０２６", "२०२६"],
        &["abc", "ＡＢＣ", "ａｂｃ", "𝐚𝐛𝐜"],
        &["office", "oﬃce"],
        &["istanbul", "İstanbul", "ISTANBUL", "ıstanbul"],
        &["smorrebrod", "smørrebrød", "SMØRREBRØD"],
        &["aero", "ærø"],
        &["coeur", "cœur", "CŒUR"],
        &["lodz", "Łódź"],
        &["dang", "đặng", "Đàng"],
        &["thor", "þór", "Þór"],
        &["елка", "ёлка", "Е\u{308}лка"],
        &["йод", "и\u{306}од", "Йод", "И\u{306}ОД"],
        &["οδοσ", "ΟΔΟΣ", "οδός"],
        &["カタカナ", "ｶﾀｶﾅ"],
        &["がデジパ", "か\u{3099}ﾃﾞｼﾞﾊﾟ"],
        &["हिनदी", "हिन्दी", "हिन्\u{200d}दी"],
        &["कानून", "क\u{93c}ानून", "\u{958}ानून"],
        &["2010-2015", "2010–2015", "2010‑2015", "2010−2015"],
        &["hawai'i", "Hawaiʻi"],
    ];

    /// Words that are not the same.
    const OTHERS: [[&str; 2]; 7] = [
        ["йод", "иод"],
        ["か", "が"],
        ["ハ", "パ"],
        ["서울", "서웅"],
        ["שלום", "שלומ"],
        ["ม้า", "มา"],
        ["now here", "nowhere"],
    ];

    #[test]
    fn the_spellings_of_a_word_are_folded_into_one() {
        for spellings in SPELLINGS {
            for spelling in spellings {
                assert_eq!(fold(spelling), fold(spellings[0]), "{spelling}");
            }
        }
        for [one, other] in OTHERS {
            assert_ne!(fold(one), fold(other));
        }
        assert_eq!(fold("Čapek’s ÉTUDE Ёж Straße"), "capek's etude еж strasse");
        for c in ('\u{80}'..=char::MAX).filter(|c| letter(*c).is_some()) {
            let mut pushed = String::new();
            push(&mut pushed, c);
            assert_eq!(fold(&c.to_string()), pushed);
        }
        // An index of the first version has these.
        assert_eq!(
            fold_as(1, "Čapek’s ÉTUDE ＡＢＣ Ёй Straße so\u{ad}ft"),
            "capek's etude abc еи straße so\u{ad}ft"
        );
    }

    proptest! {
        #[test]
        fn a_text_is_folded_once_and_as_its_characters_are(text in "[a-zA-Zßéèñçøåσς́̆абйИע\u{5b8}شَأة가각がﾊ漢न्ด½ \u{ad}\n]{0,40}") {
            let folded = fold(&text);
            prop_assert_eq!(&fold(&folded), &folded);
            let mut pushed = String::new();
            text.chars().for_each(|c| push(&mut pushed, c));
            prop_assert_eq!(pushed, folded);
        }
    }
}
