//! Markdown (CommonMark): its headings, ATX and setext, and its front matter.

use super::outline::{Breaks, Extract, Heading};
use pulldown_cmark::{Event, MetadataBlockKind, Options, Parser, Tag, TagEnd};

const OPTIONS: Options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
    .union(Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS)
    .union(Options::ENABLE_TABLES);

/// Reads Markdown. Headings in code, quotes and lists do not count.
pub(super) fn extract(text: String) -> Extract {
    let mut reading = Extract { markdown: true, breaks: Breaks::BlankLines, ..Extract::default() };
    let mut depth = 0_usize;
    let mut heading: Option<Heading> = None;
    let mut front_matter = false;
    for (event, range) in Parser::new_ext(&text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                let start = line_start(&text, range.start);
                heading = Some(Heading { level: level as u8, start, end: range.end, title: String::new() });
            }
            Event::End(TagEnd::Heading(_)) if depth == 0 => {
                reading.headings.extend(heading.take().map(|mut heading| {
                    heading.title = heading.title.split_whitespace().collect::<Vec<_>>().join(" ");
                    heading
                }));
            }
            Event::Start(Tag::MetadataBlock(_)) => front_matter = true,
            Event::End(TagEnd::MetadataBlock(kind)) => {
                front_matter = false;
                read_front_matter(&mut reading, &text[range], kind);
            }
            Event::Start(_) => depth += usize::from(heading.is_none()),
            Event::End(_) => depth -= usize::from(heading.is_none()),
            Event::Text(words) | Event::Code(words) if !front_matter => {
                if let Some(heading) = &mut heading {
                    heading.title.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut heading {
                    heading.title.push(' ');
                }
            }
            _ => {}
        }
    }
    reading.text = text;
    reading
}

/// A heading may be indented.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |line_end| line_end + 1)
}

/// Takes the title and the description from lines such as `title: "A garden"`, in TOML `title = "A garden"`.
fn read_front_matter(reading: &mut Extract, block: &str, kind: MetadataBlockKind) {
    let sign = if kind == MetadataBlockKind::YamlStyle { ':' } else { '=' };
    for line in block.lines() {
        let Some((name, value)) = line.split_once(sign) else { continue };
        let value = value.trim().trim_matches(['"', '\'']).trim();
        let member = match name.trim_end() {
            "title" => &mut reading.title,
            "description" | "summary" => &mut reading.description,
            _ => continue,
        };
        // A value on several lines is not read.
        if !value.is_empty() && !value.starts_with(['|', '>']) {
            *member = Some(value.to_owned());
        }
    }
}

/// The words of Markdown as sentences of its paragraphs and list items, up to about `limit` bytes. Headings,
/// code and tables are left out.
pub(super) fn prose(markdown: &str, limit: usize) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut paragraph = String::new();
    let (mut skipped, mut length) = (0_usize, 0);
    for event in Parser::new_ext(markdown, OPTIONS) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) | Tag::MetadataBlock(_)) => {
                skipped += 1
            }
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::MetadataBlock(_)) => {
                skipped -= 1
            }
            Event::Text(words) | Event::Code(words) if skipped == 0 => paragraph.push_str(&words),
            Event::SoftBreak | Event::HardBreak if skipped == 0 => paragraph.push(' '),
            Event::Start(Tag::Paragraph | Tag::Item) | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                length += paragraph.len();
                take_paragraph(&mut paragraph, &mut paragraphs);
                if length > limit {
                    return paragraphs;
                }
            }
            _ => {}
        }
    }
    take_paragraph(&mut paragraph, &mut paragraphs);
    paragraphs
}

fn take_paragraph(paragraph: &mut String, paragraphs: &mut Vec<String>) {
    let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    paragraph.clear();
    if !words.is_empty() {
        paragraphs.push(words);
    }
}
