//! Documents of word processors: docx (Office Open XML) and odt (OpenDocument).

use super::container::Container;
use super::outline::{Breaks, Extract};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads docx.
pub(super) fn docx(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let levels =
        container.optional("word/styles.xml")?.map(|styles| heading_styles(&styles)).unwrap_or_default();
    let document = container.member("word/document.xml")?;
    let mut extract = new_extract();
    ParagraphReader::new(&levels).read(&document, &mut extract)?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(notes) = container.optional(notes)? {
            ParagraphReader::new(&levels).read(&notes, &mut extract)?;
        }
    }
    extract.title = container.optional("docProps/core.xml")?.and_then(|core| first_text(&core, "dc:title"));
    Ok(extract)
}

/// Reads odt.
pub(super) fn odt(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let document = container.member("content.xml")?;
    let mut extract = new_extract();
    ParagraphReader::new(&Levels::new()).read(&document, &mut extract)?;
    extract.title = container.optional("meta.xml")?.and_then(|meta| first_text(&meta, "dc:title"));
    Ok(extract)
}

fn new_extract() -> Extract {
    Extract { markdown: true, breaks: Breaks::BlankLines, ..Extract::default() }
}

/// The paragraphs of a document, as far as they are read. Elements of both formats are known by their names.
struct ParagraphReader<'a> {
    /// The levels of the styles of headings, of docx.
    levels: &'a Levels,
    paragraph: String,
    level: Option<u8>,
    is_item: bool,
    /// The number of open elements whose text is read: in docx, `w:t`; in odt, paragraphs, also those of notes in them.
    reads: usize,
    /// The number of open elements whose text is not read.
    skipped: usize,
    /// The cells of the open row, if one is open.
    rows: Vec<Vec<String>>,
}

type Levels = HashMap<String, u8>;

impl ParagraphReader<'_> {
    fn new(levels: &Levels) -> ParagraphReader<'_> {
        let (paragraph, rows) = (String::new(), Vec::new());
        ParagraphReader { levels, paragraph, level: None, is_item: false, reads: 0, skipped: 0, rows }
    }

    fn read(mut self, xml: &[u8], extract: &mut Extract) -> Result<(), String> {
        let xml = String::from_utf8_lossy(xml);
        let mut reader = Reader::from_str(&xml);
        loop {
            match reader.read_event().map_err(|error| format!("damaged XML: {error}"))? {
                Event::Start(tag) => self.start(&tag),
                Event::Empty(tag) => self.empty(&tag),
                Event::End(tag) => self.end(tag.name().as_ref(), extract),
                Event::Text(text) if self.reads > 0 && self.skipped == 0 => {
                    self.paragraph.push_str(&text);
                }
                Event::GeneralRef(entity) if self.reads > 0 && self.skipped == 0 => {
                    push_entity(&mut self.paragraph, &entity)
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    fn start(&mut self, tag: &BytesStart) {
        match tag.name().as_ref() {
            // A second form of the text before it, reverted changes, remarks.
            "mc:Fallback" | "text:tracked-changes" | "office:annotation" | "w:instrText" => self.skipped += 1,
            "w:t" | "text:p" => self.reads += 1,
            "text:h" => {
                self.reads += 1;
                self.level =
                    attribute(tag, "text:outline-level").and_then(|level| level.parse().ok()).or(Some(1));
            }
            "text:list-item" => self.is_item = true,
            "w:tr" | "table:table-row" => self.rows.push(Vec::new()),
            _ => self.property(tag),
        }
    }

    fn empty(&mut self, tag: &BytesStart) {
        match tag.name().as_ref() {
            "w:tab" | "text:tab" | "text:s" => self.paragraph.push(' '),
            "w:br" | "w:cr" | "text:line-break" => self.paragraph.push('\n'),
            "w:noBreakHyphen" => self.paragraph.push('-'),
            "table:table-cell" => self.end_cell(),
            _ => self.property(tag),
        }
    }

    fn property(&mut self, tag: &BytesStart) {
        match tag.name().as_ref() {
            "w:pStyle" => {
                let style = attribute(tag, "w:val").unwrap_or_default();
                self.level = self.levels.get(&style).copied().or(self.level);
            }
            "w:outlineLvl" => {
                let level = attribute(tag, "w:val").and_then(|level| level.parse::<u8>().ok());
                self.level = level.filter(|level| *level < 9).map(|level| level + 1).or(self.level);
            }
            "w:numPr" => self.is_item = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &str, extract: &mut Extract) {
        match name {
            "mc:Fallback" | "text:tracked-changes" | "office:annotation" | "w:instrText" => {
                self.skipped = self.skipped.saturating_sub(1);
            }
            "w:t" => self.reads = self.reads.saturating_sub(1),
            "w:p" if self.skipped == 0 => self.end_paragraph(extract),
            "text:p" | "text:h" => {
                self.reads = self.reads.saturating_sub(1);
                if self.reads > 0 {
                    self.paragraph.push(' ');
                } else if self.skipped == 0 {
                    self.end_paragraph(extract);
                }
            }
            "text:list-item" => self.is_item = false,
            "w:tc" | "table:table-cell" => self.end_cell(),
            "w:tr" | "table:table-row" => self.end_row(extract),
            _ => {}
        }
    }

    fn end_paragraph(&mut self, extract: &mut Extract) {
        let level = self.level.take();
        let is_item = std::mem::take(&mut self.is_item);
        // In a table, the paragraphs of a cell follow each other.
        if !self.rows.is_empty() {
            self.paragraph.push(' ');
            return;
        }
        let words = std::mem::take(&mut self.paragraph);
        match (level, is_item) {
            (None, true) if !words.trim().is_empty() => {
                extract.push_paragraph(None, &format!("- {}", words.trim()))
            }
            _ => extract.push_paragraph(level, &words),
        }
    }

    fn end_cell(&mut self) {
        let words = self.paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        self.paragraph.clear();
        if let Some(row) = self.rows.last_mut().filter(|_| !words.is_empty()) {
            row.push(words);
        }
    }

    fn end_row(&mut self, extract: &mut Extract) {
        let Some(row) = self.rows.pop() else { return };
        match self.rows.last_mut() {
            // A table in a table.
            Some(_) => self.paragraph.push_str(&row.join(" ")),
            None => extract.push_paragraph(None, &row.join(" | ")),
        }
    }
}

/// The levels of the styles that are for headings.
fn heading_styles(xml: &[u8]) -> Levels {
    let mut levels = Levels::new();
    let xml = String::from_utf8_lossy(xml);
    let mut reader = Reader::from_str(&xml);
    let mut style = String::new();
    loop {
        let Ok(event) = reader.read_event() else { return levels };
        let (Event::Start(tag) | Event::Empty(tag)) = event else {
            if matches!(event, Event::Eof) {
                return levels;
            }
            continue;
        };
        let value = attribute(&tag, "w:val").unwrap_or_default();
        let level = match tag.name().as_ref() {
            "w:style" => {
                style = attribute(&tag, "w:styleId").unwrap_or_default();
                None
            }
            "w:name" if value == "Title" => Some(1),
            "w:name" => {
                value.to_ascii_lowercase().strip_prefix("heading ").and_then(|level| level.parse().ok())
            }
            "w:outlineLvl" => value.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1),
            _ => None,
        };
        if let Some(level) = level.filter(|_| !style.is_empty()) {
            levels.entry(style.clone()).or_insert(level);
        }
    }
}

/// The text of the first element of a name.
pub(super) fn first_text(xml: &[u8], name: &str) -> Option<String> {
    let xml = String::from_utf8_lossy(xml);
    let mut reader = Reader::from_str(&xml);
    let mut text: Option<String> = None;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) if tag.name().as_ref() == name => text = Some(String::new()),
            Event::Text(words) => {
                if let Some(text) = &mut text {
                    text.push_str(&words);
                }
            }
            Event::GeneralRef(entity) => {
                if let Some(text) = &mut text {
                    push_entity(text, &entity);
                }
            }
            Event::End(tag) if tag.name().as_ref() == name => {
                return text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// The value of an attribute.
pub(super) fn attribute(tag: &BytesStart, name: &str) -> Option<String> {
    let found = tag.attributes().flatten().find(|attribute| attribute.key.as_ref() == name)?;
    let value = quick_xml::escape::unescape(&found.value);
    Some(value.unwrap_or(Cow::Borrowed(&found.value)).into_owned())
}

/// Appends the character of a reference such as `&amp;` or `&#228;`.
fn push_entity(text: &mut String, entity: &BytesRef) {
    match entity.resolve_char_ref() {
        Ok(Some(c)) => text.push(c),
        _ => text.push_str(resolve_predefined_entity(entity).unwrap_or_default()),
    }
}
