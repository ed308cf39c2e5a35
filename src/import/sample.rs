//! The beginning of an input, by which its format is recognized.

use crate::record::Object;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The first bytes of an input, and the first JSON objects in them.
pub(super) struct Sample {
    bytes: Vec<u8>,
    /// The first objects; a member that the sample cuts off is empty.
    objects: Vec<Object>,
}

/// The number of bytes of a sample, at most.
pub(super) const SAMPLE_BYTES: usize = 1 << 16;

/// The number of lines whose objects are looked at.
const LINES: usize = 16;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Sample {
    pub(super) fn new(bytes: Vec<u8>) -> Sample {
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let mut objects: Vec<Object> = object(text).into_iter().collect();
        objects.extend(text.split(|byte| *byte == b'\n').take(LINES).skip(1).filter_map(object));
        Sample { bytes, objects }
    }

    /// Its text, up to the first byte that is no UTF-8.
    pub(super) fn text(&self) -> &str {
        let text = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes);
        text.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether one of the first objects is such.
    pub(super) fn any(&self, is_such: impl Fn(&Object) -> bool) -> bool {
        self.objects.iter().any(is_such)
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

/// The object at the beginning of a text, or in an array there, as far as it goes.
fn object(text: &[u8]) -> Option<Object> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    if !text.starts_with(b"{") {
        return None;
    }
    let mut members = Object::default();
    // An error is the end of the sample, or an input of another format.
    let _ = Members(&mut members).deserialize(&mut serde_json::Deserializer::from_slice(text));
    Some(members)
}

/// Collects members until the text ends.
struct Members<'a>(&'a mut Object);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.0.set(&name, "");
            let value: &RawValue = map.next_value()?;
            self.0.set(&name, value.get());
        }
        Ok(())
    }
}
