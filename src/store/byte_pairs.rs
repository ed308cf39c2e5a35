//! The pairs of adjoining bytes of a text: a text lacks a word of which it lacks a pair, which is known sooner than by a
//! search through the text.

/// The bits of a byte that tell letters apart.
const LETTER_BITS: u32 = 5;

/// A set of pairs, which may have some more than its text: other bytes count as letters, and letters of all cases as one.
#[derive(Clone)]
pub(super) struct BytePairs([u64; 1 << (2 * LETTER_BITS) >> 6]);

impl BytePairs {
    /// The pairs of a text.
    pub(super) fn of(text: &str) -> BytePairs {
        let mut pairs = BytePairs([0; _]);
        for pair in text.as_bytes().windows(2) {
            let (word, bit) = place(pair);
            pairs.0[word] |= bit;
        }
        pairs
    }

    /// Whether the text may contain a piece; if not, it does not.
    pub(super) fn may_hold(&self, piece: &str) -> bool {
        piece.as_bytes().windows(2).map(place).all(|(word, bit)| self.0[word] & bit != 0)
    }
}

/// The number of a pair's word in the set, and its bit there.
fn place(pair: &[u8]) -> (usize, u64) {
    let letter = |byte: u8| usize::from(byte) & ((1 << LETTER_BITS) - 1);
    let number = letter(pair[0]) << LETTER_BITS | letter(pair[1]);
    (number / 64, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_lacks_a_word_of_which_it_lacks_a_pair() {
        let pairs = BytePairs::of("the tomatoes stand by the warm wall");
        assert!(!pairs.may_hold("beans") && !pairs.may_hold("tomb"));
        assert!(pairs.may_hold("tomato") && pairs.may_hold("m") && pairs.may_hold(""));
    }

    proptest! {
        #[test]
        fn what_a_text_contains_it_may_hold(text in "\\PC{0,40}", from in 0..40_usize, length in 0..8_usize) {
            let piece: String = text.chars().skip(from).take(length).collect();
            prop_assert!(BytePairs::of(&text).may_hold(&piece));
        }
    }
}
