//! A JSON object that keeps its members in order, and each value in its own spelling.
//!
//! `Object` is for bytes that must survive: a client's or a provider's JSON that passes on, of which a few
//! members are read or replaced, and records, whose unknown members stay. JSON of which nothing passes on is
//! read into a type that derives `Deserialize`, and JSON that rsv words itself is written from one that
//! derives `Serialize` (`of_value`, `set_value`); a part that passes unchanged is a `&RawValue` in it.

use super::error::RecordError;
use crate::error::{Error, Result};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The length in bytes from which the text of values that are gone is freed, once it is most of the text.
const RECLAIM_BYTES: usize = 64 * 1024;

/// The spare bytes of a long text for the next values, which would otherwise move all of it.
const SPARE_BYTES: usize = 32 * 1024;

/// The bytes of the punctuation of a member: a brace or a comma, two quotation marks, a colon.
const PUNCTUATION_BYTES: usize = 4;

/// Members in the order of the input. A value is kept as its compact JSON text, so that a number such as
/// `1.0` or one with forty digits is written unchanged.
///
/// Invariants: ranges lie in `text` at the borders of characters and do not overlap; names differ, and stand
/// there without escapes; each value is valid JSON text. Members that were removed or replaced leave gaps,
/// and a replaced value stands behind all others: so only `is_in_order` says whether `text` may be written as
/// it is.
#[derive(Clone, Default, Debug)]
pub struct Object {
    /// All names and values, one after the other, with the punctuation of JSON before each; clones share it
    /// until one of them changes.
    text: Arc<String>,
    members: Vec<Member>,
}

/// The position of a name and its value in the text.
#[derive(Clone, Debug)]
struct Member {
    name: Range<usize>,
    value: Range<usize>,
}

impl Object {
    /// An object without members, with room for this many bytes of names and values.
    pub fn with_capacity(bytes: usize) -> Object {
        Object { text: Arc::new(String::with_capacity(bytes)), members: Vec::with_capacity(16) }
    }

    /// An object of members, whose names must differ, with the JSON texts of their values.
    pub fn of<'a>(members: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> Object {
        let mut object = Object::default();
        for (name, json) in members {
            object.push(&name, &json);
        }
        object
    }

    /// The members of a value that serializes as an object.
    pub fn of_value(value: &impl Serialize) -> Object {
        Object::parse(&json(value)).expect("a struct is an object")
    }

    /// The number of bytes of its names and values, of which some may be gone.
    pub(super) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Reads one object from JSON text; anything else, or a member given twice, is an error.
    pub fn parse(text: &str) -> Result<Object> {
        let mut from = serde_json::Deserializer::from_str(text);
        let spare = if text.len() < RECLAIM_BYTES { 0 } else { SPARE_BYTES };
        let object = from.deserialize_map(Members { bytes: text.len() + spare, only: None });
        object
            .and_then(|object| from.end().map(|()| object))
            .map_err(|error| RecordError::Json { error }.into())
    }

    /// As `parse`, with the members of some names only: nothing of the others is kept. Fails at invalid JSON.
    pub fn parse_only(text: &str, names: &[&str]) -> Result<Object> {
        let mut from = serde_json::Deserializer::from_str(text);
        let object = from.deserialize_map(Members { bytes: 0, only: Some(names) });
        object
            .and_then(|object| from.end().map(|()| object))
            .map_err(|error| RecordError::Json { error }.into())
    }

    /// As `parse`, from bytes that may not be UTF-8. Fails if they are not, or are no object.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Object> {
        Object::parse(utf8(bytes)?)
    }

    /// The JSON text of a member's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Whether there is such a member.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Removes a member and returns it.
    pub fn take(&mut self, name: &str) -> Option<Box<str>> {
        let at = self.position(name)?;
        let member = self.members.remove(at);
        let taken = self.text[member.value.clone()].into();
        match Arc::get_mut(&mut self.text) {
            // The last text goes with its `,"`: the rest is in order, and need not be copied to be written.
            Some(own) if member.value.end == own.len() && member.value.start == member.name.end + 2 => {
                own.truncate(member.name.start - 2);
            }
            _ => self.reclaim(),
        }
        Some(taken)
    }

    /// Replaces a member in its place, or appends it. `json` must be valid JSON text.
    pub fn set(&mut self, name: &str, json: impl AsRef<str>) {
        match self.position(name) {
            Some(at) if self.text[self.members[at].value.clone()] == *json.as_ref() => {}
            Some(at) => {
                // Appended: in its place it would move all text after it, for each change of a long object.
                self.members[at].value = self.keep(json.as_ref());
                self.reclaim();
            }
            None => self.push(name, json.as_ref()),
        }
    }

    /// Replaces a part of the value of a member, if there is such a member: of a long value, faster than
    /// `set`. `range` is in bytes of the value, at the borders of characters; the result must be valid JSON
    /// text.
    pub fn replace_within(&mut self, name: &str, range: Range<usize>, json: &str) {
        let Some(at) = self.position(name) else { return };
        let value = self.members[at].value.clone();
        let (begin, end) = (value.start + range.start, value.start + range.end);
        let growth = json.len().saturating_sub(range.len());
        match Arc::get_mut(&mut self.text).filter(|own| own.capacity() - own.len() >= growth) {
            Some(own) => own.replace_range(begin..end, json),
            None => {
                // Copied once, also when another member is set next.
                let mut own = String::with_capacity(self.text.len() + json.len() + SPARE_BYTES);
                for part in [&self.text[..begin], json, &self.text[end..]] {
                    own.push_str(part);
                }
                self.text = Arc::new(own);
            }
        }
        let moved = |place: usize| place - (end - begin) + json.len();
        for member in &mut self.members {
            for place in [&mut member.name, &mut member.value] {
                if place.start >= end {
                    *place = moved(place.start)..moved(place.end);
                }
            }
        }
        self.members[at].value = value.start..moved(value.end);
    }

    fn push(&mut self, name: &str, json: &str) {
        self.push_with(name, |own| own.push_str(json));
    }

    /// As `push`, for a value that `write` appends.
    fn push_with(&mut self, name: &str, write: impl FnOnce(&mut String)) {
        let own = Arc::make_mut(&mut self.text);
        own.push_str(if own.is_empty() { "{\"" } else { ",\"" });
        let start = own.len();
        own.push_str(name);
        let name = start..own.len();
        own.push_str("\":");
        let start = own.len();
        write(own);
        self.members.push(Member { name, value: start..own.len() });
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let own = Arc::make_mut(&mut self.text);
        let start = own.len();
        own.push_str(text);
        start..own.len()
    }

    /// Frees the text of removed and replaced values, if it is most of a long text.
    fn reclaim(&mut self) {
        if self.text.len() < RECLAIM_BYTES {
            return;
        }
        let bytes = |member: &Member| member.name.len() + member.value.len() + PUNCTUATION_BYTES;
        if self.members.iter().map(bytes).sum::<usize>() < self.text.len() / 2 {
            let mut kept = Object::default();
            for (name, value) in self.iter() {
                kept.push(name, value);
            }
            *self = kept;
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| self.text[member.name.clone()] == *name)
    }

    /// As `set`, for a string.
    pub fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, quote(text));
    }

    /// As `set`, for a value of any type.
    pub fn set_value(&mut self, name: &str, value: &impl Serialize) {
        self.set(name, json(value));
    }

    /// A member that is a string without escapes, as types and roles are; `None` for any other.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(word)
    }

    /// An optional string, as `unquote` reads it; `null` counts as absent. Fails if the member has another
    /// type.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        match self.get(name) {
            None | Some("null") => Ok(None),
            Some(json) => unquote(json).map(Some).map_err(|_| unexpected(name, "a string", json)),
        }
    }

    /// An optional whole number; `null` counts as absent. Fails at another type, or beyond 64 bits.
    pub fn integer(&self, name: &str) -> Result<Option<i64>> {
        match self.get(name) {
            None | Some("null") => Ok(None),
            Some(json) => json
                .parse()
                .map(Some)
                .map_err(|_| unexpected(name, "a whole number of at most 64 bits", json)),
        }
    }

    /// An optional number; `null` counts as absent. Fails if the member has another type or is not finite.
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        match self.get(name) {
            None | Some("null") => Ok(None),
            Some(json) => match json.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                _ => Err(unexpected(name, "a number", json)),
            },
        }
    }

    /// An optional object; `null` counts as absent. Fails if the member has another type.
    pub fn object(&self, name: &str) -> Result<Option<Object>> {
        match self.get(name) {
            None | Some("null") => Ok(None),
            Some(json) => Object::parse(json).map(Some).map_err(|error| not_object(name, json, error)),
        }
    }

    /// The elements of an optional array of objects; `null` counts as absent. Fails at another type, with the
    /// place of the first element that is no object.
    pub fn objects(&self, name: &str) -> Result<Option<Vec<Object>>> {
        match self.get(name) {
            None | Some("null") => Ok(None),
            Some(json) => serde_json::from_str(json).map(Some).map_err(|_| not_objects(name, json)),
        }
    }

    /// The string of a member, or nothing also at another type. For members of other programs, whose formats
    /// change between their versions: the record is worth more than one member of it.
    pub fn valid_text(&self, name: &str) -> Option<String> {
        self.text(name).ok().flatten()
    }

    /// The whole number of a member, or nothing also at another type (see `valid_text`).
    pub fn valid_integer(&self, name: &str) -> Option<i64> {
        self.integer(name).ok().flatten()
    }

    /// The finite number of a member, or nothing also at another type (see `valid_text`).
    pub fn valid_number(&self, name: &str) -> Option<f64> {
        self.number(name).ok().flatten()
    }

    /// The object of a member, or nothing also at another type (see `valid_text`).
    pub fn valid_object(&self, name: &str) -> Option<Object> {
        self.object(name).ok().flatten()
    }

    /// The elements of an array of objects, or nothing also at another type (see `valid_text`).
    pub fn valid_objects(&self, name: &str) -> Option<Vec<Object>> {
        self.objects(name).ok().flatten()
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|member| (&self.text[member.name.clone()], &self.text[member.value.clone()]))
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Keeps the members that `keep` wants.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let text = &self.text;
        self.members.retain(|member| keep(&text[member.name.clone()]));
        if self.members.is_empty() {
            *self = Object::default();
        }
    }

    /// Appends the members to an object that is being written, each preceded by a comma.
    pub fn write_members(&self, out: &mut Vec<u8>) {
        self.write_members_except(&[], out);
    }

    /// As `write_members`, without those of some names.
    pub fn write_members_except(&self, names: &[&str], out: &mut Vec<u8>) {
        for (name, value) in self.iter().filter(|(name, _)| !names.contains(name)) {
            write_member(out, name, value);
        }
    }

    /// Appends the whole object.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.write_members(out);
        if out.len() == start {
            out.push(b'{');
        } else {
            out[start] = b'{';
        }
        out.push(b'}');
    }

    /// The object as JSON text, for which nothing is copied if no member changed its place and there is no
    /// clone.
    pub fn into_json(mut self) -> String {
        if self.is_in_order()
            && let Some(own) = Arc::get_mut(&mut self.text)
        {
            own.push('}');
            return std::mem::take(own);
        }
        self.to_json()
    }

    /// Whether the text is that of the object, up to its last brace. A name that needs escapes is not: it
    /// stands there without them.
    fn is_in_order(&self) -> bool {
        let mut end = 0;
        for Member { name, value } in &self.members {
            let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
            if name.start != end + 2
                || value.start != name.end + 2
                || !self.text[name.clone()].bytes().all(is_plain)
            {
                return false;
            }
            end = value.end;
        }
        end > 0 && end == self.text.len()
    }

    /// The object as JSON text.
    pub fn to_json(&self) -> String {
        if self.is_in_order() {
            return [&*self.text, "}"].concat();
        }
        let mut out = Vec::with_capacity(self.text.len() + PUNCTUATION_BYTES * (self.members.len() + 1));
        self.write(&mut out);
        String::from_utf8(out).expect("all of it was text")
    }
}

/// Bytes as text. The error for others names the first of them.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| invalid_utf8(&format!(" at byte {}", e.valid_up_to() + 1)))
}

/// The error for text that is not UTF-8.
pub fn invalid_utf8(place: &str) -> Error {
    RecordError::InvalidUtf8 { place: place.to_owned() }.into()
}

/// A text, or its first `most` characters and `…`.
pub fn excerpt(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most).map(|(end, _)| end);
    end.map_or_else(|| text.to_owned(), |end| format!("{}…", &text[..end]))
}

/// The error `content: expected a string, found 12`, for modules that read members of their own.
pub fn unexpected(name: &str, what: &str, found: &str) -> Error {
    let found = excerpt(found, 40);
    RecordError::Unexpected { member: name.to_owned(), expected: what.to_owned(), found }.into()
}

/// The error of JSON text that is no object, or of an object with a member given twice.
fn not_object(name: &str, json: &str, error: Error) -> Error {
    if json.starts_with('{') { error.at(name) } else { unexpected(name, "an object", json) }
}

/// The error of JSON text that is no array of objects: it names the first element that is none.
pub fn not_objects(name: &str, json: &str) -> Error {
    let elements: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    let faults = elements.iter().enumerate().filter_map(|(at, element)| {
        let error = Object::parse(element.get()).err()?;
        Some(not_object(&format!("{name}[{at}]"), element.get(), error))
    });
    faults.into_iter().next().unwrap_or_else(|| unexpected(name, "an array of objects", json))
}

/// The error of a line without a member that it needs.
pub fn missing(member: &str) -> Error {
    RecordError::Missing { member: member.to_owned() }.into()
}

/// The error of a name, a text or a list that must not be empty.
pub fn empty(member: &str) -> Error {
    RecordError::Empty { member: member.to_owned() }.into()
}

/// The error of a member whose value is of its type, and cannot be.
pub fn invalid(member: &'static str, fault: impl Into<String>) -> Error {
    RecordError::Invalid { member, fault: fault.into() }.into()
}

/// Appends a JSON string.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing to memory does not fail");
}

/// Appends a member to an object that is being written, after a comma; `json` is its value.
pub(super) fn write_member(out: &mut Vec<u8>, name: &str, json: &str) {
    out.push(b',');
    write_text(out, name);
    out.push(b':');
    out.extend_from_slice(json.as_bytes());
}

/// A value as JSON text.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("writing to memory does not fail")
}

/// The text of a JSON string without escapes; `None` for any other JSON.
pub fn word(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains('\\'))
}

/// The text of a JSON string, with U+FFFD for half of a surrogate pair. Fails at other JSON.
pub fn unquote(json: &str) -> serde_json::Result<String> {
    serde_json::from_str(json).or_else(|_| serde_json::from_str(&without_halves(json)))
}

/// JSON text with U+FFFD for each half of a surrogate pair without the other.
pub fn without_halves(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut whole, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                whole.push_str(&json[kept..at]);
                whole.push_str("\\ufffd");
                kept = at + 6;
                6
            }
            _ => 2,
        };
    }
    if kept == 0 { Cow::Borrowed(json) } else { Cow::Owned(whole + &json[kept..]) }
}

/// A JSON string with a text before it; the spelling of the rest stays.
pub fn prepend(text: &str, json: &str) -> String {
    let mut joined = quote(text);
    joined.pop();
    joined + json.get(1..).unwrap_or("\"")
}

/// A JSON string.
pub fn quote(text: &str) -> String {
    // With room for some escapes, so that most texts are not moved as they grow.
    let mut out = Vec::with_capacity(text.len() + text.len() / 16 + 8);
    write_text(&mut out, text);
    String::from_utf8(out).expect("all of it was text")
}

/// The first name that occurs twice; takes linear time.
fn repeated(object: &Object) -> Option<&str> {
    let mut names: Vec<&str> = object.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Appends a value without the white space between its tokens, so that it fits on one line.
fn push_compact(out: &mut String, json: &str) {
    let nested = json.starts_with(['{', '[']);
    if !nested || memchr::memchr3(b' ', b'\n', b'\t', json.as_bytes()).is_none() && !json.contains('\r') {
        return out.push_str(json);
    }
    let bytes = json.as_bytes();
    // Most values have white space only in texts: the bytes between two pieces of it are copied at once.
    let (mut kept, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at += string_length(&bytes[at..]),
            b' ' | b'\n' | b'\t' | b'\r' => {
                out.push_str(&json[kept..at]);
                at += 1;
                kept = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(&json[kept..]);
}

/// The length of the JSON string at the beginning of a text, in bytes with its quotation marks; of one
/// without an end, that of the text.
pub fn string_length(text: &[u8]) -> usize {
    // Fewer bytes are quotation marks than escapes: a program has one at the end of each of its lines.
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let before = &text[at..at + found];
        at += found + 1;
        // After an odd number of backslashes it is escaped. A quotation mark precedes `before`.
        if before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return at;
        }
    }
    text.len()
}

/// A member's name, borrowed unless it is written with escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Name<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Text)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_json()).map_err(S::Error::custom)?.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Object, D::Error> {
        from.deserialize_map(Members { bytes: 0, only: None })
    }
}

/// Reads the members of an object, whose text has about this many bytes.
struct Members<'a> {
    bytes: usize,
    /// The names of those that are wanted, if not all are.
    only: Option<&'a [&'a str]>,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object, A::Error> {
        let mut object = Object::with_capacity(self.bytes);
        while let Some(Name(name)) = map.next_key()? {
            if self.only.is_some_and(|names| !names.contains(&&*name)) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: &RawValue = map.next_value()?;
            object.push_with(&name, |own| push_compact(own, value.get()));
        }
        match repeated(&object) {
            Some(name) => Err(A::Error::custom(format_args!("{name}: given twice"))),
            None => Ok(object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_spelling() {
        let line =
            r#"{"b":1.0,"a":123456789012345678901234567890,"s":"A\u00e9\ud83d","n":{ "x" : [1 , 2e5] }}"#;
        let object = Object::parse(line).unwrap();
        assert_eq!(
            object.to_json(),
            r#"{"b":1.0,"a":123456789012345678901234567890,"s":"A\u00e9\ud83d","n":{"x":[1,2e5]}}"#
        );
    }

    #[test]
    fn clones_are_independent_and_the_text_of_replaced_values_is_freed() {
        let long = quote(&"x".repeat(RECLAIM_BYTES));
        let mut object = Object::parse(&format!(r#"{{"a":1,"long":{long},"b":2}}"#)).unwrap();
        let clone = object.clone();
        assert!(Arc::ptr_eq(&object.text, &clone.text));
        object.set("long", "[]");
        let wanted = r#"{"a":1,"long":[],"b":2}"#;
        assert_eq!((object.to_json().as_str(), object.text.len()), (wanted, wanted.len() - 1));
        assert_eq!(clone.get("long"), Some(long.as_str()));
    }

    #[test]
    fn a_part_of_a_value_is_replaced_in_its_place() {
        let object = Object::parse(r#"{"a":[1,22,3],"b":"x","c":4}"#).unwrap();
        for (range, json, wanted) in [
            (3..5, "\"long\"", r#"{"a":[1,"long",3],"b":"x","c":4}"#),
            (3..5, "", r#"{"a":[1,,3],"b":"x","c":4}"#),
            (0..8, "{}", r#"{"a":{},"b":"x","c":4}"#),
            (7..7, ",5", r#"{"a":[1,22,3,5],"b":"x","c":4}"#),
        ] {
            let mut changed = object.clone();
            changed.replace_within("a", range, json);
            assert_eq!(changed.to_json(), wanted);
            assert_eq!((changed.get("b"), changed.get("c")), (Some("\"x\""), Some("4")));
            changed.replace_within("none", 0..1, "");
            changed.replace_within("c", 0..1, "[]");
            assert_eq!((changed.get("b"), changed.get("c")), (Some("\"x\""), Some("[]")));
        }
        assert_eq!(object.get("a"), Some("[1,22,3]"));
    }

    #[test]
    fn the_text_of_an_object_is_the_same_however_it_came_about() {
        let parsed = || Object::parse(r#"{"a": [1, 2],"b":"x","c":{}}"#).unwrap();
        let changes: [fn(&mut Object); 8] = [
            |_| {},
            |object| object.set("d", "4"),
            |object| {
                object.set("d", "4");
                object.take("d");
            },
            |object| object.set("b", "5"),
            |object| drop(object.take("a")),
            |object| {
                object.set("c", "[]");
                object.take("c");
                object.set("e", "6");
            },
            |object| object.replace_within("a", 1..2, "77"),
            |object| object.set("a \"quoted\"\n", "7"),
        ];
        for change in changes {
            let mut object = parsed();
            change(&mut object);
            let wanted = object.to_json();
            assert_eq!(object.clone().into_json(), wanted);
            assert_eq!(Object::parse(&wanted).unwrap(), object);
            assert_eq!(object.into_json(), wanted);
        }
        for name in ["a", "b", "c"] {
            let mut object = parsed();
            object.retain(|kept| kept == name);
            assert_eq!(object.to_json(), object.clone().into_json());
            object.take(name);
            assert_eq!((object.to_json(), object.into_json()), ("{}".to_owned(), "{}".to_owned()));
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_read_as_the_replacement_character() {
        for (json, text) in [
            (r#""old \ud83c y""#, Some("old \u{fffd} y")),
            (r#""\uD83C\uDF45\udf45\ud83c\ud83c\udf45""#, Some("🍅\u{fffd}\u{fffd}🍅")),
            (r#""\\ud83c \"\ud83c""#, Some("\\ud83c \"\u{fffd}")),
            ("7", None),
        ] {
            assert_eq!(unquote(json).ok().as_deref(), text, "{json}");
            let joined = text.map(|text| format!("é\n{text}"));
            assert_eq!(unquote(&prepend("é\n", json)).ok().filter(|_| text.is_some()), joined, "{json}");
        }
    }

    #[test]
    fn the_element_that_is_no_object_is_named_with_its_fault() {
        for (json, fault) in [
            (r#"{"a":[{},"oops"]}"#, r#"a[1]: expected an object, found "oops""#),
            (r#"{"a":[{"b":1,"b":2}]}"#, "a[0]: b: given twice"),
            (r#"{"a":"x"}"#, r#"a: expected an array of objects, found "x""#),
        ] {
            assert_eq!(Object::parse(json).unwrap().objects("a").unwrap_err().to_string(), fault);
        }
    }

    #[test]
    fn white_space_inside_strings_stays() {
        let object = Object::parse("{\"n\": [ \"a \\\" b\",\n\t\"c\\\\\" , 1 ]}").unwrap();
        assert_eq!(object.to_json(), "{\"n\":[\"a \\\" b\",\"c\\\\\",1]}");
    }

    #[test]
    fn some_members_can_be_read_alone() {
        let only = |json: &str| Object::parse_only(json, &["model", "rsv"]).map(|object| object.to_json());
        assert_eq!(only(r#"{"a":[1, {"model":2}],"model":"m","b":"x"}"#).unwrap(), r#"{"model":"m"}"#);
        assert_eq!(only("{}").unwrap(), "{}");
        for broken in [r#"{"a":[1,"model":"m"}"#, r#"{"model":"m","model":"n"}"#, r#"{"model":"m"} x"#, "[]"]
        {
            only(broken).unwrap_err();
        }
    }

    #[test]
    fn a_member_given_twice_is_an_error() {
        assert_eq!(Object::parse(r#"{"a":1,"a":2}"#).unwrap_err().to_string(), "a: given twice");
    }
}
