//! The end of a private key in PEM.

use memchr::memmem;

/// The marks around each of the two lines.
const DASHES: &[u8] = b"-----";
/// The greatest length of the text between the dashes, in bytes.
const MAX_LABEL_BYTES: usize = 120;

/// The fewest letters of base64 in a key; a block with fewer names a key, or is a placeholder.
const MIN_LETTERS: usize = 32;

/// Where a key ends whose first line ends at `begin`: after its last line; without one, after the letters
/// that may be its. No other key is between, so that each byte is looked at once for one opening. `None` if
/// it is no key.
pub(super) fn end(text: &str, begin: usize) -> Option<usize> {
    let rest = &text.as_bytes()[begin..];
    let dashes = memmem::find(rest, DASHES);
    let body = &rest[..dashes.unwrap_or(rest.len())];
    let after = dashes.map_or(&b""[..], |dashes| &rest[dashes + DASHES.len()..]);
    let length = if after.starts_with(b"END") {
        let label = &after[..after.len().min(MAX_LABEL_BYTES)];
        let label = memmem::find(label, DASHES).map_or(b"END".len(), |label| label + DASHES.len());
        body.len() + DASHES.len() + label
    } else {
        letters(body)
    };
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let count = body[..length.min(body.len())].iter().filter(is_letter).take(MIN_LETTERS).count();
    (count == MIN_LETTERS).then_some(begin + length)
}

/// The length of a possible key in base64, with headers, or in a string of a program.
fn letters(bytes: &[u8]) -> usize {
    let is_of_key = |byte: &u8| byte.is_ascii_alphanumeric() || b" \t\r\n+/=:,.\\-".contains(byte);
    bytes.iter().take_while(|byte| is_of_key(byte)).count()
}
