//! The format of a file, recognized by its content and its name.

use super::code;
use super::container::Container;
use super::package;
use super::reason::{Reason, UnreadKind};
use super::xml::{self, attribute};
use std::path::Path;

/// A format that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Markdown,
    Text,
    Html,
    Pdf,
    Docx,
    Pptx,
    Xlsx,
    Odt,
    Epub,
    Csv,
    Json,
    Notebook,
    Mail,
    Mbox,
    Code,
    Zip,
    Tar,
    Gzip,
}

/// The formats with their names and media types.
const FORMATS: [(Format, &str, &str); 18] = [
    (Format::Markdown, "markdown", "text/markdown"),
    (Format::Text, "text", "text/plain"),
    (Format::Html, "html", "text/html"),
    (Format::Pdf, "pdf", "application/pdf"),
    (Format::Docx, "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (Format::Pptx, "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (Format::Xlsx, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (Format::Odt, "odt", "application/vnd.oasis.opendocument.text"),
    (Format::Epub, "epub", "application/epub+zip"),
    (Format::Csv, "csv", "text/csv"),
    (Format::Json, "json", "application/json"),
    (Format::Notebook, "ipynb", "application/x-ipynb+json"),
    (Format::Mail, "eml", "message/rfc822"),
    (Format::Mbox, "mbox", "application/mbox"),
    (Format::Code, "code", "text/x-source"),
    (Format::Zip, "zip", "application/zip"),
    (Format::Tar, "tar", "application/x-tar"),
    (Format::Gzip, "gzip", "application/gzip"),
];

/// The ends of names.
const EXTENSIONS: [(&str, Format); 20] = [
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("mdown", Format::Markdown),
    ("mkd", Format::Markdown),
    ("mdx", Format::Markdown),
    ("qmd", Format::Markdown),
    ("rmd", Format::Markdown),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("xhtml", Format::Html),
    ("csv", Format::Csv),
    ("tsv", Format::Csv),
    ("json", Format::Json),
    ("ipynb", Format::Notebook),
    ("eml", Format::Mail),
    ("mbox", Format::Mbox),
    ("txt", Format::Text),
    ("text", Format::Text),
    ("log", Format::Text),
    ("jsonl", Format::Text),
];

impl Format {
    /// The names of all formats, for messages.
    pub const NAMES: &'static str = "markdown, text, html, pdf, docx, pptx, xlsx, odt, epub, csv, json, ipynb, eml, \
                                     mbox, code, zip, tar or gzip";

    /// The format of a name.
    pub fn named(name: &str) -> Option<Format> {
        FORMATS.iter().find(|(_, known, _)| *known == name).map(|(format, ..)| *format)
    }

    pub(super) fn mime(self) -> &'static str {
        FORMATS.iter().find(|(format, ..)| *format == self).map_or("", |(.., mime)| mime)
    }

    /// Whether it holds files.
    pub(super) fn is_archive(self) -> bool {
        matches!(self, Format::Zip | Format::Tar | Format::Gzip)
    }

    /// The format of a media type, such as a server sends.
    pub(super) fn of_mime(mime: &str) -> Option<Format> {
        let mime = mime.split(';').next().unwrap_or(mime).trim().to_ascii_lowercase();
        let known = FORMATS.iter().find(|(.., known)| *known == mime).map(|(format, ..)| *format);
        known.or_else(|| (mime == "application/xhtml+xml").then_some(Format::Html))
    }
}

/// The format of a file, by its content where that is unmistakable, else by its name. Errors with the reason
/// if the file cannot be read.
pub(super) fn detect(name: &str, bytes: &[u8]) -> Result<Format, Reason> {
    if is_pdf(bytes) {
        return Ok(Format::Pdf);
    }
    match infer::get(bytes).map(|kind| kind.mime_type()) {
        Some("application/gzip") => return Ok(Format::Gzip),
        Some("application/x-tar") => return Ok(Format::Tar),
        _ if bytes.starts_with(b"PK\x03\x04") => return detect_container(bytes),
        // Some signatures are so short that text may begin with them.
        None | Some("text/html" | "text/xml" | "text/x-shellscript") => {}
        Some(_) if std::str::from_utf8(bytes).is_ok() => {}
        Some(mime) if mime.starts_with("image/") => {
            return Err(Reason::Kind(UnreadKind::Picture, format!("a picture ({mime}), which has no text")));
        }
        Some(mime) => return Err(unsupported(mime)),
    }
    if bytes.starts_with(b"{\\rtf") {
        return Err(unsupported("application/rtf"));
    }
    if !is_text(bytes) {
        return Err(Reason::Kind(UnreadKind::Binary, "not text, and of no known format".to_owned()));
    }
    Ok(detect_text(name, bytes))
}

/// Whether the mark of a PDF stands near the beginning. A few bytes may be before it, but a text may speak of
/// it.
fn is_pdf(bytes: &[u8]) -> bool {
    const MARK: &[u8] = b"%PDF-";
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(MARK)
        || bytes[..bytes.len().min(1024)].windows(MARK.len()).any(|window| window == MARK)
            && std::str::from_utf8(bytes).is_err()
}

fn unsupported(mime: &str) -> Reason {
    Reason::Kind(UnreadKind::of_mime(mime), format!("format not supported: {mime}"))
}

/// The format of a zip archive, by its contents. Errors with the reason if it is damaged, or of another
/// format.
fn detect_container(bytes: &[u8]) -> Result<Format, Reason> {
    let mut container = match Container::open(bytes) {
        Ok(container) => container,
        Err(_) if Container::is_archive(bytes) => return Ok(Format::Zip),
        Err(_) => return Err(Reason::Failed("a damaged archive".to_owned())),
    };
    let main_type = package::main_type(&mut container);
    let office = main_type.as_deref().and_then(|mime| {
        let types = [
            (Format::Docx, "wordprocessingml", "ms-word"),
            (Format::Pptx, "presentationml", "ms-powerpoint"),
            (Format::Xlsx, "spreadsheetml", "ms-excel"),
        ];
        // The binary form of a table is none of XML.
        let is_xml = mime.ends_with("+xml");
        types.into_iter().find(|(_, open, macros)| is_xml && (mime.contains(open) || mime.contains(macros)))
    });
    if let Some((format, ..)) = office {
        return Ok(format);
    }
    if container.has("word/document.xml") {
        return Ok(Format::Docx);
    }
    if container.has("META-INF/container.xml") {
        return Ok(Format::Epub);
    }
    match main_type.or_else(|| open_document_type(&mut container)) {
        Some(mime) if mime.starts_with(Format::Odt.mime()) && container.has("content.xml") => Ok(Format::Odt),
        Some(mime) if UnreadKind::of_mime(&mime) == UnreadKind::Document => Err(unsupported(&mime)),
        _ => Ok(Format::Zip),
    }
}

/// The media type of an archive of OpenDocument. The member that says so is the first of the archive by the
/// standard, and another or none in some files.
fn open_document_type(container: &mut Container) -> Option<String> {
    let mut member = |name: &str| container.optional(name).ok().flatten();
    if let Some(mime) = member("mimetype") {
        return Some(String::from_utf8_lossy(&mime).trim().to_owned());
    }
    let manifest = member("META-INF/manifest.xml")?;
    let mut mime = None;
    // Of a damaged manifest, the beginning counts.
    let _ = xml::tags(&manifest, |tag| {
        if attribute(tag, "full-path").as_deref() == Some("/") {
            mime = attribute(tag, "media-type");
        }
    });
    mime
}

/// Whether bytes may be text: they have no NUL, or a byte order mark.
fn is_text(bytes: &[u8]) -> bool {
    encoding_rs::Encoding::for_bom(bytes).is_some() || !bytes[..bytes.len().min(8192)].contains(&0)
}

fn detect_text(name: &str, bytes: &[u8]) -> Format {
    let extension =
        Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let named = EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, format)| *format);
    if let Some(format) = named.filter(|format| *format != Format::Text) {
        return format;
    }
    if named.is_none() && code::language(name).is_some() {
        return Format::Code;
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let begins = |sign: &str| head.get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign));
    if begins("<!doctype html") || begins("<html") {
        return Format::Html;
    }
    if head.starts_with("From ") && head.lines().nth(1).is_some_and(is_header) {
        return Format::Mbox;
    }
    if is_mail(head) {
        return Format::Mail;
    }
    if named.is_none() && head.starts_with("#!") {
        return Format::Code;
    }
    if head.starts_with(['{', '[']) && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
        return if head.contains("\"nbformat\"") { Format::Notebook } else { Format::Json };
    }
    Format::Text
}

/// Whether a text begins as mail does: with header fields, and among them who sent it.
fn is_mail(head: &str) -> bool {
    let fields: Vec<&str> = head.lines().take_while(|line| !line.is_empty()).collect();
    let named = |name: &str| {
        fields.iter().any(|line| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
    };
    let well_formed = fields.iter().all(|line| is_header(line) || line.starts_with([' ', '\t']));
    well_formed && named("from:") && (named("date:") || named("received:") || named("message-id:"))
}

fn is_header(line: &str) -> bool {
    let name = line.split_once(':').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
