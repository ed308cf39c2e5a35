//! Tokens of parts between dots that begin with no word of their own.

use std::ops::Range;

/// The parts of a token. In base64, since no number begins otherwise, the number of a bot begins with one of
/// three letters: <https://discord.com/developers/docs/reference#authentication>.
const DISCORD: &str = "discord-bot-token";
/// `pat`, 14 letters and digits, a dot, and 64 hexadecimal digits:
/// <https://airtable.com/developers/web/guides/personal-access-tokens>.
const AIRTABLE: &str = "airtable-token";

/// The tokens in a text, with their kinds.
pub(super) fn find(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'.', bytes).filter_map(|dot| token_at(bytes, dot)).collect()
}

/// Whether there is one; quickly.
pub(super) fn may_be_in(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'.', bytes).any(|dot| token_at(bytes, dot).is_some())
}

/// The token whose first part ends at a dot.
fn token_at(bytes: &[u8], dot: usize) -> Option<(Range<usize>, &'static str)> {
    if bytes.get(dot + 7) == Some(&b'.') {
        return Some((discord(bytes, dot)?, DISCORD));
    }
    let begin = dot.checked_sub(17).filter(|begin| bytes[*begin..].starts_with(b"pat"))?;
    let is_begin = begin == 0 || !bytes[begin - 1].is_ascii_alphanumeric();
    let end = dot + 1 + 64;
    let digits = bytes.get(dot + 1..end)?;
    let is_token = is_begin
        && bytes[begin..dot].iter().all(u8::is_ascii_alphanumeric)
        && digits.iter().all(u8::is_ascii_hexdigit)
        && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    is_token.then_some((begin..end, AIRTABLE))
}

/// A token of three parts, of 23 to 28, 6, and 27 to 45 letters.
fn discord(bytes: &[u8], dot: usize) -> Option<Range<usize>> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let count =
        |bytes: &mut dyn Iterator<Item = &u8>| bytes.take(64).take_while(|byte| is_letter(byte)).count();
    let first = count(&mut bytes[..dot].iter().rev());
    let last = count(&mut bytes[dot + 8..].iter());
    let begin = dot - first;
    let is_token = (23..=28).contains(&first)
        && (27..=45).contains(&last)
        && matches!(bytes[begin], b'M' | b'N' | b'O')
        && bytes[dot + 1..dot + 7].iter().all(is_letter)
        && bytes[begin..dot].iter().any(u8::is_ascii_digit)
        && bytes[dot + 8..dot + 8 + last].iter().any(u8::is_ascii_uppercase);
    is_token.then_some(begin..dot + 8 + last)
}
