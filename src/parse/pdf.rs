//! PDF: the words of its pages. A page that is a picture has none.

use super::outline::{Breaks, Extract, Heading};
use pdf_extract::{Document, OutputError, PlainTextOutput, output_doc_page};
use std::borrow::Cow;

/// The text of a PDF; a form feed follows each page.
pub(super) fn pages(bytes: &[u8]) -> Result<String, String> {
    let mut document = Document::load_mem(bytes).map_err(|error| format!("a damaged PDF: {error}"))?;
    if document.is_encrypted() {
        // Many are encrypted with an empty password, so that anyone can read them.
        document.decrypt("").map_err(|_| "encrypted with a password".to_owned())?;
    }
    let mut text = String::new();
    let mut failed: Option<OutputError> = None;
    for number in document.get_pages().keys() {
        let mut words = String::new();
        let mut output = PlainTextOutput::new(&mut words);
        if let Err(error) = output_doc_page(&document, &mut output, *number) {
            failed.get_or_insert(error);
        }
        for line in words.trim_end().lines() {
            text.push_str(&without_ligatures(&without_letter_spacing(line)));
            text.push('\n');
        }
        text.push('\u{c}');
    }
    if text.chars().any(char::is_alphanumeric) {
        return Ok(text);
    }
    Err(match failed {
        Some(error) => format!("no page of this PDF can be read: {error}"),
        None => "no words on its pages, which are pictures or scanned".to_owned(),
    })
}

/// Makes a section of each page of such a text.
pub(super) fn from_pages(text: &str) -> Extract {
    let mut extract = Extract { breaks: Breaks::BlankLines, ..Extract::default() };
    for (at, page) in text.split_terminator('\u{c}').enumerate() {
        let start = extract.text.len();
        extract.text.push_str(page.trim_start_matches('\n'));
        extract.text.push('\n');
        extract.headings.push(Heading { level: 1, start, end: start, title: format!("Page {}", at + 1) });
    }
    extract
}

/// A line with its words joined, if the parser spaced their letters apart, as in fixed-width fonts.
fn without_letter_spacing(line: &str) -> Cow<'_, str> {
    let letters: Vec<&str> = line.split_whitespace().collect();
    if letters.len() < 4 || letters.iter().any(|letter| letter.chars().count() > 1) {
        return Cow::Borrowed(line);
    }
    let words = line.split("  ").map(|word| word.replace(' ', ""));
    Cow::Owned(words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}

/// A text with the letters of which ligatures are made, as people search for them.
fn without_ligatures(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '\u{fb00}' => text.push_str("ff"),
            '\u{fb01}' => text.push_str("fi"),
            '\u{fb02}' => text.push_str("fl"),
            '\u{fb03}' => text.push_str("ffi"),
            '\u{fb04}' => text.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => text.push_str("st"),
            c => text.push(c),
        }
    }
    text
}
