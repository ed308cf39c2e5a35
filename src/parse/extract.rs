//! The text of a file, by its format.

use super::format::Format;
use super::outline::{Breaks, Extract};
use super::reason::{Reason, UnreadKind};
use super::{code, decode, docx, epub, html, json, mail, markdown, odt, pdf, pptx, xlsx};

/// Extracts the text of a file, or says why it has none. Fails if the bytes are not of the format.
pub(super) fn extract(format: Format, bytes: Vec<u8>) -> Result<Extract, Reason> {
    let text = decoded;
    let mut extract = match format {
        Format::Markdown => markdown::extract(text(bytes)?),
        Format::Code => code::extract(text(bytes)?),
        Format::Html => html::extract(&decode::decode_html(bytes).ok_or_else(|| NOT_TEXT.to_owned())?),
        Format::Text => Extract { text: text(bytes)?, breaks: Breaks::BlankLines, ..Extract::default() },
        Format::Csv => Extract { text: text(bytes)?, breaks: Breaks::Rows, ..Extract::default() },
        Format::Json => json::extract(text(bytes)?),
        Format::Notebook => markdown::extract(json::notebook(&text(bytes)?)?),
        Format::Mail => mail::message(&bytes)?,
        Format::Mbox => mail::mailbox(&bytes),
        Format::Docx => docx::extract(&bytes)?,
        Format::Pptx => pptx::extract(&bytes)?,
        Format::Xlsx => xlsx::extract(&bytes)?,
        Format::Odt => odt::extract(&bytes)?,
        Format::Epub => epub::extract(&bytes)?,
        Format::Pdf => pdf::from_pages(&pdf::pages(bytes)?),
        Format::Zip | Format::Tar | Format::Gzip => {
            let reason = "an archive, which only --archives opens".to_owned();
            return Err(Reason::Kind(UnreadKind::Archive, reason));
        }
    };
    if extract.markdown {
        extract.add_title();
    }
    Ok(extract)
}

const NOT_TEXT: &str = "not text";

/// The text alone; a form feed follows each page of a PDF. Fails as `extract` does.
pub(super) fn text(format: Format, bytes: Vec<u8>) -> Result<String, Reason> {
    if format == Format::Pdf {
        return Ok(pdf::pages(bytes)?);
    }
    extract(format, bytes).map(|extract| extract.text)
}

fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    decode::decode(bytes).ok_or_else(|| NOT_TEXT.to_owned())
}
