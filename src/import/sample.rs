//! The beginning of an input, by which its format is recognized.

use crate::record::Object;

/// The first bytes of an input, and the JSON objects in them.
pub(super) struct Sample {
    bytes: Vec<u8>,
    /// The first objects; of a member that the sample cuts off, they have the beginning.
    objects: Vec<Object>,
}

/// The number of bytes of the first sample of an input.
pub(super) const SAMPLE_BYTES: usize = 1 << 16;

/// The number of lines of the first sample whose objects are looked at first; of a longer one, all are.
const LINES: usize = 16;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Sample {
    pub(super) fn new(bytes: Vec<u8>) -> Sample {
        let lines = if bytes.len() <= SAMPLE_BYTES { LINES } else { usize::MAX };
        Sample::of_lines(bytes, lines)
    }

    /// The same with the objects of all its lines.
    pub(super) fn with_all_lines(self) -> Sample {
        Sample::of_lines(self.bytes, usize::MAX)
    }

    fn of_lines(bytes: Vec<u8>, lines: usize) -> Sample {
        let text = valid_text(&bytes);
        let mut objects: Vec<Object> = first_object(text).into_iter().collect();
        objects.extend(text.lines().take(lines).skip(1).filter_map(first_object));
        Sample { bytes, objects }
    }

    /// Its text, up to the first byte that is no UTF-8.
    pub(super) fn text(&self) -> &str {
        valid_text(&self.bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Whether it begins like JSON, so that more of it may say more.
    pub(super) fn is_json(&self) -> bool {
        self.text().trim_start().starts_with(['{', '['])
    }

    /// Whether one of the first objects is such.
    pub(super) fn any(&self, is_such: impl Fn(&Object) -> bool) -> bool {
        self.objects.iter().any(is_such)
    }

    /// Whether the object of one of all its lines is such.
    pub(super) fn any_line(&self, is_such: impl Fn(&Object) -> bool) -> bool {
        self.any(&is_such) || self.text().lines().filter_map(first_object).any(|object| is_such(&object))
    }

    /// The first object.
    pub(super) fn first(&self) -> Option<&Object> {
        self.objects.first()
    }
}

/// Whether an object has all these members.
pub(super) fn has_all(object: &Object, members: &[&str]) -> bool {
    members.iter().all(|member| object.has(member))
}

/// Whether the first element of an array, or the object itself, in a member has all these members.
pub(super) fn first_has_all(object: &Object, member: &str, members: &[&str]) -> bool {
    object.get(member).and_then(first_object).is_some_and(|first| has_all(&first, members))
}

/// The text of some bytes without a byte order mark, up to the first byte that is no UTF-8.
fn valid_text(bytes: &[u8]) -> &str {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    text.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// The object at the beginning of JSON text, or in an array there, as far as it goes.
pub(super) fn first_object(json: &str) -> Option<Object> {
    let json = json.trim_start();
    let json = json.strip_prefix('[').unwrap_or(json).trim_start();
    let mut rest = json.strip_prefix('{')?;
    let mut members = Object::default();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if !rest.starts_with('"') {
            return Some(members);
        }
        let end = value_length(rest);
        let Ok(name) = serde_json::from_str::<String>(&rest[..end]) else { return Some(members) };
        let Some(value) = rest[end..].trim_start().strip_prefix(':').map(str::trim_start) else {
            return Some(members);
        };
        let end = value_length(value);
        members.set(&name, value[..end].trim_end());
        rest = &value[end..];
    }
}

/// The length of the JSON value at the beginning of a text, by brackets and strings alone; all of the text if
/// the value does not end in it.
fn value_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += string_length(&bytes[at..]);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + depth,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The length of the string at the beginning of some bytes, with its quotation marks.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_cut_off_have_their_beginnings() {
        let read = |text: &str| first_object(text).map(|object| object.to_json());
        assert_eq!(
            read("[ {\"a\": [1, {\"b\": \"}\\\"\"}], \"c\": 2} ]").unwrap(),
            "{\"a\":[1, {\"b\": \"}\\\"\"}],\"c\":2}"
        );
        assert_eq!(read("{\"a\":1,\"b\":[{\"c\":\"d").unwrap(), "{\"a\":1,\"b\":[{\"c\":\"d}");
        assert_eq!(read("{\"a\":1,\"b").unwrap(), "{\"a\":1}");
        assert_eq!(read("{\"a\":\"b\\").unwrap(), "{\"a\":\"b\\}");
        assert_eq!(read("{").unwrap(), "{}");
        assert_eq!(read("owls"), None);
        let sample = Sample::new(b"{\"results\": [{\"id\": \"1\", \"memory\": \"Likes".to_vec());
        assert!(sample.first().is_some_and(|first| first_has_all(first, "results", &["id", "memory"])));
    }
}
