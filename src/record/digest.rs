//! Digests of several texts: SHA-256 over each, preceded by its length (64 bits, little-endian).

use sha2::{Digest, Sha256};

/// The digest of some parts: other parts have another digest, also if all together are the same text.
pub(super) fn bytes(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

/// The digest of some parts, in 64 hexadecimal digits.
pub(super) fn of(parts: &[&str]) -> String {
    hexadecimal(&bytes(parts))
}

/// Bytes as hexadecimal digits, two each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
