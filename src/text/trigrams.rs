//! The trigrams of a text, three adjoining bytes each: a text lacks a word of which it lacks a trigram, which
//! is known sooner than by a search through the text.

/// The number of bits of a set is 2 to the power of this: a section of a document has some hundred trigrams.
const SET_BITS: u32 = 11;

/// A set of trigrams, which may have some more than its text: each has one bit by its hash.
#[derive(Clone)]
pub(crate) struct Trigrams([u64; 1 << SET_BITS >> 6]);

impl Trigrams {
    /// The trigrams of a text.
    pub(crate) fn of(text: &str) -> Trigrams {
        let mut trigrams = Trigrams([0; _]);
        for trigram in text.as_bytes().windows(3) {
            let (word, bit) = place(trigram);
            trigrams.0[word] |= bit;
        }
        trigrams
    }

    /// Whether the text may contain a piece; if not, it does not. Of a piece shorter than a trigram nothing
    /// is known.
    pub(crate) fn may_hold(&self, piece: &str) -> bool {
        piece.as_bytes().windows(3).map(place).all(|(word, bit)| self.0[word] & bit != 0)
    }
}

/// The number of a trigram's word in the set, and its bit there. The hash is Knuth's multiplicative one.
fn place(trigram: &[u8]) -> (usize, u64) {
    let number = u32::from_le_bytes([trigram[0], trigram[1], trigram[2], 0]);
    let hash = number.wrapping_mul(0x9e37_79b1) >> (32 - SET_BITS);
    (hash as usize / 64, 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_lacks_a_word_of_which_it_lacks_a_trigram() {
        let trigrams = Trigrams::of("the tomatoes stand by the warm wall");
        assert!(!trigrams.may_hold("beans") && !trigrams.may_hold("tomb"));
        assert!(trigrams.may_hold("tomato") && trigrams.may_hold("zq") && trigrams.may_hold(""));
    }

    proptest! {
        #[test]
        fn what_a_text_contains_it_may_hold(text in "\\PC{0,40}", from in 0..40_usize, length in 0..8_usize) {
            let piece: String = text.chars().skip(from).take(length).collect();
            prop_assert!(Trigrams::of(&text).may_hold(&piece));
        }
    }
}
