//! Pictures and other files in base64, in which any letters come by chance.

use std::ops::Range;

/// The length from which a run of base64 is a file, unless the secret is most of it.
const MIN_FILE_BYTES: usize = 512;

/// Whether a part of a text stands in a file in base64.
pub(super) fn is_inside(text: &str, part: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    // Base64 in lines, as in mail, has no longer runs than its lines; a secret of its own does not stand in one.
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let before = bytes[..part.start].iter().rev().take_while(|byte| is_base64(byte)).count();
    let after = bytes[part.end..].iter().take_while(|byte| is_base64(byte)).count();
    if bytes[..part.start - before].ends_with(b";base64,") {
        return true;
    }
    let run = before + part.len() + after;
    run >= MIN_FILE_BYTES && part.len() < run / 2
}
