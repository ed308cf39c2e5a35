//! XML in the containers of office documents and books.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::borrow::Cow;

/// A step through XML. Names are local: programs choose prefixes of their own.
pub(super) enum XmlStep<'a> {
    Start(&'a BytesStart<'a>),
    /// Also follows the start of an empty element.
    End(&'a str),
    Text(&'a str),
}

/// The elements that are skipped with all that is in them, as they begin and end.
#[derive(Default)]
pub(super) struct Skips {
    open: usize,
}

impl Skips {
    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Begins an element; whether it is skipped, itself or by one around it.
    pub(super) fn start(&mut self, is_skipped: bool) -> bool {
        self.open += usize::from(is_skipped);
        self.is_open()
    }

    /// The same of its end.
    pub(super) fn end(&mut self, is_skipped: bool) -> bool {
        let was_open = self.is_open();
        self.open = self.open.saturating_sub(usize::from(is_skipped));
        was_open || is_skipped
    }
}

/// Calls `take` for each element and each text, in order. Fails if the XML is damaged.
pub(super) fn walk(xml: &[u8], mut take: impl FnMut(XmlStep)) -> Result<(), String> {
    let xml = decoded(xml);
    let mut reader = Reader::from_str(&xml);
    let mut character = String::new();
    loop {
        match reader.read_event().map_err(|error| format!("damaged XML: {error}"))? {
            Event::Start(tag) => take(XmlStep::Start(&tag)),
            Event::Empty(tag) => {
                take(XmlStep::Start(&tag));
                take(XmlStep::End(tag.local_name().as_ref()));
            }
            Event::End(tag) => take(XmlStep::End(tag.local_name().as_ref())),
            Event::Text(text) => take(XmlStep::Text(&text)),
            Event::CData(text) => take(XmlStep::Text(&text)),
            Event::GeneralRef(entity) => {
                character.clear();
                push_entity(&mut character, &entity);
                take(XmlStep::Text(&character));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Calls `take` for the start of each element. Fails if the XML is damaged.
pub(super) fn tags(xml: &[u8], mut take: impl FnMut(&BytesStart)) -> Result<(), String> {
    walk(xml, |step| {
        if let XmlStep::Start(tag) = step {
            take(tag);
        }
    })
}

/// The text of the first element of a name.
pub(super) fn first_text(xml: &[u8], name: &str) -> Option<String> {
    let (mut text, mut is_open, mut found) = (String::new(), false, None);
    // Text before the damage counts.
    let _ = walk(xml, |step| match step {
        XmlStep::Start(tag) => is_open |= tag.local_name().as_ref() == name,
        XmlStep::Text(words) if is_open => text.push_str(words),
        XmlStep::End(ended) if is_open && ended == name => {
            is_open = false;
            found.get_or_insert_with(|| text.trim().to_owned());
        }
        _ => {}
    });
    found.filter(|text| !text.is_empty())
}

/// The value of an attribute, by its local name; one with an unknown entity stays as it is.
pub(super) fn attribute(tag: &BytesStart, name: &str) -> Option<String> {
    let found = tag.attributes().flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
    let value = quick_xml::escape::unescape(&found.value);
    Some(value.unwrap_or(Cow::Borrowed(&found.value)).into_owned())
}

/// The id of a relationship, an attribute with a prefix; one without is another.
pub(super) fn relation_id(tag: &BytesStart) -> Option<String> {
    let is_relation =
        |key: quick_xml::name::QName| key.prefix().is_some() && key.local_name().as_ref() == "id";
    let found = tag.attributes().flatten().find(|attribute| is_relation(attribute.key))?;
    Some(found.value.into_owned())
}

/// The number in an attribute.
pub(super) fn number(tag: &BytesStart, name: &str) -> Option<usize> {
    attribute(tag, name)?.parse().ok()
}

/// UTF-8, or UTF-16 with a byte order mark.
fn decoded(xml: &[u8]) -> Cow<'_, str> {
    match encoding_rs::Encoding::for_bom(xml) {
        Some((encoding, _)) => encoding.decode(xml).0,
        None => String::from_utf8_lossy(xml),
    }
}

/// Appends the character of a reference such as `&amp;` or `&#228;`. Entities that a document defines itself
/// are left out: one that consists of others can be of any length.
fn push_entity(text: &mut String, entity: &BytesRef) {
    match entity.resolve_char_ref() {
        Ok(Some(c)) => text.push(c),
        _ => text.push_str(resolve_predefined_entity(entity).unwrap_or_default()),
    }
}
