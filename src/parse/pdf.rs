//! PDF: the words of its pages. A page that is a picture has none.

mod bidi;
mod cid;
mod glyphs;
mod layout;
mod letters;
mod pages;
mod unembedded;
mod words;

use super::outline::{Breaks, Extract, Heading};
use super::reason;
use cid::CidFonts;
use hayro_interpret::InterpreterCache;
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{LoadPdfError, Pdf};
use layout::Line;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text of a PDF; a form feed follows each page. Fails if it is encrypted, damaged, or has no words.
pub(super) fn pages(bytes: Vec<u8>) -> Result<String, String> {
    let pdf =
        quietly(|| Pdf::new(bytes)).unwrap_or(Err(LoadPdfError::Invalid)).map_err(|error| match error {
            // Those that are encrypted with an empty password can be read by anyone.
            LoadPdfError::Decryption(_) => reason::PASSWORD.to_owned(),
            LoadPdfError::Invalid => "a damaged PDF".to_owned(),
        })?;
    let (cache, cid_fonts) = (InterpreterCache::new(), CidFonts::new(&pdf));
    let mut failed = 0;
    let pages = pdf.pages().iter().map(|page| {
        let lines = quietly(|| lines(page, &cache, &cid_fonts));
        failed += usize::from(lines.is_none());
        pages::TextPage { lines: lines.unwrap_or_default(), height: f64::from(page.render_dimensions().1) }
    });
    let text = pages::text(pages.collect());
    if text.chars().any(char::is_alphanumeric) {
        return Ok(text);
    }
    Err(match failed {
        _ if pdf.pages().is_empty() => "a PDF without pages".to_owned(),
        0 => reason::NO_WORDS.to_owned(),
        _ => "no page of this PDF can be read".to_owned(),
    })
}

/// The lines of a page, the level ones first.
fn lines<'a>(page: &Page<'a>, cache: &InterpreterCache<'a>, cid_fonts: &CidFonts<'_>) -> Vec<Line> {
    let frames = letters::frames(glyphs::of_page(page, cache, cid_fonts));
    let lines = frames.into_iter().flat_map(|frame| {
        let mut lines = layout::lines(words::words(frame.letters));
        if !frame.is_level {
            // They are in no margin.
            for line in &mut lines {
                line.baseline = f64::NAN;
            }
        }
        lines
    });
    lines.collect()
}

/// Does something at which the interpreter may panic, on a file that nobody thought of: a page is lost, no
/// more.
fn quietly<T>(parse: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(parse)).ok()
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
