//! Passwords in addresses: `postgres://user:password@host`.

use super::value::is_address_password;
use std::ops::Range;

/// The length of a user's name and of a password together, in bytes, at most.
const MAX_BYTES: usize = 512;
/// The scheme of documents' addresses, which have no users.
const DOCUMENTS: &[u8] = b"viking";

/// The user and the password between `://`, which ends at `begin`, and the last `@` before the end of a host.
fn user_and_password(bytes: &[u8], begin: usize) -> Option<(Range<usize>, Range<usize>)> {
    if bytes[..begin - b"://".len()].ends_with(DOCUMENTS) {
        return None;
    }
    let rest = &bytes[begin..bytes.len().min(begin + MAX_BYTES)];
    let is_end =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'\\');
    let rest = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let at = rest.iter().rposition(|byte| *byte == b'@')?;
    let colon = rest[..at].iter().position(|byte| *byte == b':')?;
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b'_') || !byte.is_ascii();
    rest.get(at + 1).filter(|byte| is_host(byte))?;
    Some((begin..begin + colon, begin + colon + 1..begin + at))
}

/// Whether an address may have a password; quickly.
pub(super) fn may_be_at(bytes: &[u8], slashes: &Range<usize>) -> bool {
    user_and_password(bytes, slashes.end).is_some()
}

/// The password of the address with these slashes.
pub(super) fn find_at(text: &str, slashes: &Range<usize>) -> Option<Range<usize>> {
    let (user, password) = user_and_password(text.as_bytes(), slashes.end)?;
    let (user, value) = (text.get(user)?, text.get(password.clone())?);
    is_address_password(value, user).then_some(password)
}
