//! One form for texts that say the same: in other Unicode forms, in other cases, with other white space.

use unicode_normalization::UnicodeNormalization;

/// Folds a text: compatibility decomposition (NFKD), letters without case, runs of white space as one blank,
/// none at the ends, and without characters that are not seen. Stores have digests of folded texts: a change
/// of the rule would let forgotten records in. Unicode keeps these mappings for every character that it has.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let (mut rest, mut buffer) = (text, Vec::new());
    // Decomposition reorders nothing across a character of ASCII, so that only the other runs need Unicode's
    // tables.
    while !rest.is_empty() {
        let (ascii, after) = rest.split_at(rest.bytes().position(|b| !b.is_ascii()).unwrap_or(rest.len()));
        fold_ascii(ascii, &mut buffer, &mut folded);
        let (other, after) = after.split_at(after.bytes().position(|b| b.is_ascii()).unwrap_or(after.len()));
        // Small letters first: the capital of ß is SS, that of ẞ is not.
        let small = other.nfkd().flat_map(char::to_lowercase);
        small.flat_map(char::to_uppercase).flat_map(char::to_lowercase).for_each(|c| push(c, &mut folded));
        rest = after;
    }
    folded.truncate(folded.trim_end_matches(' ').len());
    folded
}

/// Appends a folded character; a blank only after another character.
fn push(c: char, folded: &mut String) {
    // The dot that Turkish and Lithuanian keep above an i.
    let is_dot_above = c == '\u{307}' && folded.trim_end_matches(' ').ends_with('i');
    if is_blank(c) {
        if !folded.is_empty() && !folded.ends_with(' ') {
            folded.push(' ');
        }
    } else if !is_unseen(c) && !is_dot_above {
        folded.push(c);
    }
}

/// Appends a text of ASCII, of which every character is seen, folded.
fn fold_ascii(text: &str, buffer: &mut Vec<u8>, folded: &mut String) {
    buffer.resize(text.len().max(buffer.len()), 0);
    let mut count = 0;
    let mut is_after_blank = folded.is_empty() || folded.ends_with(' ');
    // Without a branch, since the ends of words cannot be predicted.
    for byte in text.bytes() {
        let byte = ASCII[usize::from(byte)];
        let is_blank = byte == b' ';
        buffer[count] = byte;
        count += usize::from(!(is_blank && is_after_blank));
        is_after_blank = is_blank;
    }
    folded.push_str(&String::from_utf8_lossy(&buffer[..count]));
}

/// The characters of ASCII, folded.
static ASCII: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_blank = matches!(byte as u8, b'\t'..=b'\r' | 0x1c..=0x1f | b' ');
        folded[byte] = if is_blank { b' ' } else { (byte as u8).to_ascii_lowercase() };
        byte += 1;
    }
    folded
};

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
