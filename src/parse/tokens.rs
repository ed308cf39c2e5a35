//! The length of a text in tokens, estimated in the same way for every model.

/// The greatest length of a node: 1024 tokens.
pub(super) const LIMIT: Tokens = Tokens(10 * 1024);
/// A section that is shorter joins its neighbours: 512 tokens.
pub(super) const SMALL: Tokens = Tokens(10 * 512);

/// A number of tokens, in tenths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Tokens(u64);

impl Tokens {
    /// 0.7 a CJK character, 0.3 any other that is no space.
    pub(super) fn of(text: &str) -> Tokens {
        let ascii = text.bytes().filter(|byte| byte.is_ascii() && !byte.is_ascii_whitespace()).count() as u64;
        let mut tenths = 3 * ascii;
        if !text.is_ascii() {
            for c in text.chars().filter(|c| !c.is_ascii() && !c.is_whitespace()) {
                tenths += if is_cjk(c) { 7 } else { 3 };
            }
        }
        Tokens(tenths)
    }
}

impl std::ops::Add for Tokens {
    type Output = Tokens;

    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0 + other.0)
    }
}

impl std::iter::Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(all: I) -> Tokens {
        all.fold(Tokens::default(), |sum, one| sum + one)
    }
}

/// Whether a character is Chinese, Japanese or Korean: ideographs, kana, hangul.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_estimated_from_characters() {
        for (text, tenths) in
            [("", 0), (" \n\t", 0), ("abc de", 15), ("é\u{a0}ü", 6), ("園に a", 17), ("\0", 3)]
        {
            assert_eq!(Tokens::of(text), Tokens(tenths), "{text:?}");
        }
    }
}
