//! Short ids: the first letters of the digest of an id, by which people name a record. Ids themselves begin
//! alike, since a UUIDv7 begins with its time.

use super::digest::hexadecimal;
use sha2::{Digest, Sha256};
use std::ops::RangeInclusive;

/// The fewest letters of a short id that is shown, and of one that is read.
pub const MIN_SHOWN_LETTERS: usize = 7;
pub const MIN_READ_LETTERS: usize = 4;

/// The letters that a digest number has.
const NUMBER_LETTERS: usize = 16;

/// The digest of an id, SHA-256 of its bytes, in 64 hexadecimal digits.
pub fn id_digest(id: &str) -> String {
    hexadecimal(&Sha256::digest(id.as_bytes()))
}

/// The letters of the digest of an id that name a record: as many as no store has twice.
const UNIQUE_LETTERS: usize = 12;

/// The first letters of the digest of an id, by which tools find the record.
pub fn unique_prefix(id: &str) -> String {
    let mut digest = id_digest(id);
    digest.truncate(UNIQUE_LETTERS);
    digest
}

/// The first 8 bytes of that digest, as a big-endian number, by which a store finds the record.
pub fn digest_number(id: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(id.as_bytes()).into();
    // It has 32 bytes.
    digest.first_chunk().copied().map_or(0, i64::from_be_bytes)
}

/// The numbers of the digests that begin with some letters; `None` if no digest can, or they are too few to
/// be a short id.
pub fn digest_numbers(letters: &str) -> Option<RangeInclusive<i64>> {
    let is_digest = letters.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest || !(MIN_READ_LETTERS..=64).contains(&letters.len()) {
        return None;
    }
    let known = &letters[..letters.len().min(NUMBER_LETTERS)];
    let bound = |fill: char| {
        let digits: String = known.chars().chain(std::iter::repeat(fill)).take(NUMBER_LETTERS).collect();
        u64::from_str_radix(&digits, 16).ok().map(u64::cast_signed)
    };
    Some(bound('0')?..=bound('f')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_prefix_are_those_of_the_digests_that_begin_with_it() {
        for id in ["m1", "0199c1d2-7b1e-7000-8000-000000000000", "", "ü"] {
            let (digest, number) = (id_digest(id), digest_number(id));
            for letters in MIN_READ_LETTERS..=64 {
                let numbers = digest_numbers(&digest[..letters]).unwrap();
                assert!(numbers.contains(&number), "{id} {letters}");
            }
            let other = if digest.starts_with('0') { "1000" } else { "0000" };
            assert!(!digest_numbers(other).unwrap().contains(&number));
        }
        assert_eq!(digest_numbers("abc"), None);
        assert_eq!(digest_numbers("abcg"), None);
        assert_eq!(digest_numbers(&"a".repeat(65)), None);
    }
}
