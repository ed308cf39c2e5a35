//! Folds texts and questions alike, so that case, accents and width do not matter.

use unicode_normalization::UnicodeNormalization;

/// Folds a text: lower case, compatibility decomposition (NFKD), without the accents of Latin, Greek and Cyrillic, with
/// the final sigma of Greek as any other sigma, and with typographic apostrophes as straight ones.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        // Decomposition reorders nothing across a character of ASCII, so that only the other runs need it.
        let (ascii, after) = rest.split_at(rest.bytes().position(|b| !b.is_ascii()).unwrap_or(rest.len()));
        let begin = folded.len();
        folded.push_str(ascii);
        folded[begin..].make_ascii_lowercase();
        let (other, after) = after.split_at(after.bytes().position(|b| b.is_ascii()).unwrap_or(after.len()));
        let decomposed = other.nfkd().filter(|c| !('\u{300}'..='\u{36f}').contains(c));
        folded.extend(decomposed.flat_map(char::to_lowercase).map(plain));
        rest = after;
    }
    folded
}

fn plain(c: char) -> char {
    match c {
        'ς' => 'σ',
        '‘' | '’' => '\'',
        _ => c,
    }
}
