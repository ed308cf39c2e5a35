//! One form for texts that say the same: in other Unicode forms, in other cases, with other white space.

use unicode_normalization::UnicodeNormalization;

/// Folds a text: compatibility decomposition (NFKD), letters without case, runs of white space as one blank,
/// none at the ends, and without characters that are not seen. Stores have digests of folded texts: a change
/// of the rule would let forgotten records in. Unicode keeps these mappings for every character that it has.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut is_after_blank = false;
    let mut push = |c: char| {
        // The dot that Turkish and Lithuanian keep above an i.
        let is_dot_above = c == '\u{307}' && folded.ends_with('i');
        if is_blank(c) {
            is_after_blank = true;
        } else if !is_unseen(c) && !is_dot_above {
            if std::mem::take(&mut is_after_blank) && !folded.is_empty() {
                folded.push(' ');
            }
            folded.push(c);
        }
    };
    // Decomposition reorders nothing across a character of ASCII, so that only the other runs need Unicode's tables.
    for run in text.as_bytes().chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
        if run[0].is_ascii() {
            for byte in run {
                push(char::from(byte.to_ascii_lowercase()));
            }
            continue;
        }
        // Small letters first: the capital of ß is SS, that of ẞ is not.
        let small = str::from_utf8(run).unwrap_or_default().nfkd().flat_map(char::to_lowercase);
        small.flat_map(char::to_uppercase).flat_map(char::to_lowercase).for_each(&mut push);
    }
    folded
}

/// White space, and the separators among the control characters.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Whether a character is not seen: Default_Ignorable_Code_Point of Unicode 16.
pub(crate) fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::fold;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn texts_that_say_the_same_are_folded_into_one() {
        for (text, folded) in [
            ("", ""),
            (" \t\r\n\u{3000}\u{feff}", ""),
            ("  An\u{a0}OWL\u{2003}\r\n hoots\u{85}", "an owl hoots"),
            ("Straße STRASSE stra\u{1e9e}e", "strasse strasse strasse"),
            ("ΟΔΟΣ οδος οδοσ", "οδοσ οδοσ οδοσ"),
            ("İI ıi i\u{307}", "ii ii i"),
            ("ﬁﬂ ﬀ ĳ Ｗｉｄｅ ⅷ ① ²", "fifl ff ij wide viii 1 2"),
            ("so\u{ad}ft ze\u{200b}ro join\u{200d}er", "soft zero joiner"),
        ] {
            assert_eq!(fold(text), folded, "{text:?}");
        }
        assert_eq!(fold("Å Å A\u{30a}"), "a\u{30a} a\u{30a} a\u{30a}");
        assert_eq!(fold("각 ㄱㅏㄱ"), "\u{1100}\u{1161}\u{11a8} \u{1100}\u{1161}\u{1100}");
        assert_ne!(fold("now here"), fold("nowhere"));
    }

    proptest! {
        #[test]
        fn a_folded_text_is_that_of_its_other_forms(text in "[a-zA-ZäöüßÄÖÜéèñçøåÅσςΣабвАБВ가각힣ｱﾊﾞ漢字 \t\n]{0,40}") {
            let folded = fold(&text);
            let forms = [
                text.nfc().collect::<String>(),
                text.nfd().collect(),
                text.nfkc().collect(),
                text.nfkd().collect(),
                text.to_uppercase(),
                text.to_lowercase(),
                text.replace(' ', "\u{3000}\r\n"),
                format!("\u{feff} {text}\n"),
                folded.clone(),
            ];
            for form in forms {
                prop_assert_eq!(&fold(&form), &folded, "{:?}", form);
            }
        }
    }
}
