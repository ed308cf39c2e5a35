//! HTML: its main part as Markdown, without navigation, scripts and other hidden parts.
//!
//! The text is made of the tokens, in one pass whose time and memory are linear in the size of the file; a tree of
//! elements would have cost more, and a page of a million nested elements would be read for hours.

use super::html_elements::{ElementKind, kind_of};
use super::outline::{Breaks, Extract, Heading};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::mem;
use std::ops::Range;

/// Reads HTML.
pub(super) fn extract(html: &str) -> Extract {
    read(html, Page::default())
}

/// Reads XHTML, in which any element may be closed where it begins.
pub(super) fn extract_xhtml(xhtml: &str) -> Extract {
    read(&close_raw_elements(xhtml), Page { is_xhtml: true, ..Page::default() })
}

/// Gives end tags to elements such as `<script/>`, which for the tokenizer would continue.
fn close_raw_elements(xhtml: &str) -> String {
    let mut closed = String::with_capacity(xhtml.len());
    let mut rest = xhtml;
    while let Some(end) = rest.find("/>") {
        let begin = rest[..end].rfind('<').unwrap_or(end);
        let name: String = rest[begin..end].chars().skip(1).take_while(char::is_ascii_alphanumeric).collect();
        closed.push_str(&rest[..end]);
        let is_raw =
            matches!(name.as_str(), "script" | "style" | "title" | "textarea" | "iframe" | "noscript");
        closed.push_str(&if is_raw { format!("></{name}>") } else { "/>".to_owned() });
        rest = &rest[end + 2..];
    }
    closed + rest
}

fn read(html: &str, mut page: Page) -> Extract {
    let take = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        page.take(&event);
        None
    };
    let mut emitter = CallbackEmitter::new(take);
    emitter.naively_switch_states(true);
    // Reading from memory does not fail, and no token is returned.
    for _ in Tokenizer::new_with_emitter(html, emitter) {}
    page.end()
}

/// An element that has begun.
struct Element {
    name: Box<[u8]>,
    kind: ElementKind,
    skipped: bool,
}

/// A start tag, as far as it is read.
#[derive(Default)]
struct StartTag {
    name: Vec<u8>,
    attribute: Vec<u8>,
    attributes: Vec<(Vec<u8>, String)>,
}

#[derive(Default)]
struct Page {
    is_xhtml: bool,
    text: String,
    headings: Vec<Heading>,
    title: String,
    description: Option<String>,
    tag: StartTag,
    open: Vec<Element>,
    /// How many open elements have a name.
    counts: HashMap<Box<[u8]>, usize>,
    /// How many open elements are skipped, preformatted, or the main part.
    skipped: usize,
    preformatted: usize,
    main: usize,
    articles: usize,
    in_title: bool,
    heading: Option<Heading>,
    lists: Vec<List>,
    /// The parts of the text in the main element, and in articles.
    mains: Vec<Range<usize>>,
    article_parts: Vec<Range<usize>>,
    /// The separator between the next word and the text before it.
    gap: Gap,
}

/// A list that has begun.
struct List {
    numbered: bool,
    items: usize,
}

/// A separator of words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

impl Page {
    fn take(&mut self, event: &CallbackEvent) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag.name = name.to_vec();
                self.tag.attributes.clear();
            }
            CallbackEvent::AttributeName { name } => {
                self.tag.attribute = name.to_vec();
                self.tag.attributes.push((name.to_vec(), String::new()));
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some((_, last)) = self.tag.attributes.last_mut() {
                    *last = String::from_utf8_lossy(value).into_owned();
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                let tag = mem::take(&mut self.tag);
                self.start(&tag);
                if *self_closing && self.is_xhtml {
                    self.end_tag(&tag.name);
                }
                self.tag = tag;
            }
            CallbackEvent::EndTag { name } => self.end_tag(name),
            CallbackEvent::String { value } => self.words(&String::from_utf8_lossy(value)),
            _ => {}
        }
    }

    fn start(&mut self, tag: &StartTag) {
        let kind = kind_of(&tag.name);
        let skipped = kind == ElementKind::Skipped
            && !(tag.name == b"header" && self.main + self.articles > 0)
            || kind.may_be_skipped() && tag.is_navigation();
        if kind.is_tracked() {
            *self.counts.entry(tag.name.clone().into()).or_default() += 1;
            self.open.push(Element { name: tag.name.clone().into(), kind, skipped });
            self.skipped += usize::from(skipped);
        }
        if tag.name == b"title" {
            self.in_title = self.title.is_empty();
        }
        if tag.name == b"meta"
            && tag.attribute("name").is_some_and(|name| name.eq_ignore_ascii_case("description"))
        {
            self.description = tag.attribute("content").map(str::to_owned);
        }
        if self.skipped > 0 {
            return;
        }
        self.begin(kind, tag);
    }

    fn begin(&mut self, kind: ElementKind, tag: &StartTag) {
        if kind.is_block() {
            self.end_heading();
            self.widen(Gap::Paragraph);
        }
        match kind {
            ElementKind::Main => {
                self.main += 1;
                if self.main == 1 {
                    self.mains.push(self.text.len()..self.text.len());
                }
            }
            ElementKind::Article => {
                self.articles += 1;
                if self.articles == 1 {
                    self.article_parts.push(self.text.len()..self.text.len());
                }
            }
            ElementKind::Heading(level) => self.begin_heading(level),
            ElementKind::List { numbered } => self.lists.push(List { numbered, items: 0 }),
            ElementKind::Item => self.begin_item(),
            ElementKind::Preformatted => {
                self.preformatted += 1;
                if self.preformatted == 1 {
                    self.push("```\n");
                }
            }
            ElementKind::Row => self.widen(Gap::Line),
            ElementKind::Cell if self.gap < Gap::Line && !self.text.is_empty() => {
                self.text.push_str(" |");
                self.widen(Gap::Space);
            }
            ElementKind::LineBreak => self.widen(Gap::Line),
            ElementKind::Image => {
                if let Some(words) = tag.attribute("alt").filter(|alt| !alt.trim().is_empty()) {
                    self.widen(Gap::Space);
                    self.words(words);
                    self.widen(Gap::Space);
                }
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, name: &[u8]) {
        match kind_of(name) {
            ElementKind::Block | ElementKind::Item if self.skipped == 0 => self.widen(Gap::Paragraph),
            ElementKind::Row if self.skipped == 0 => self.widen(Gap::Line),
            _ => {}
        }
        if name == b"title" {
            self.in_title = false;
        }
        if self.counts.get(name).is_none_or(|count| *count == 0) {
            return;
        }
        // Elements still open in it end too.
        while let Some(element) = self.open.pop() {
            if let Some(count) = self.counts.get_mut(&element.name) {
                *count -= 1;
            }
            let found = *element.name == *name;
            self.close(&element);
            if found {
                break;
            }
        }
    }

    fn close(&mut self, element: &Element) {
        if element.skipped {
            self.skipped -= 1;
            return;
        }
        if self.skipped > 0 {
            return;
        }
        match element.kind {
            ElementKind::Main => {
                self.main = self.main.saturating_sub(1);
                if let (0, Some(part)) = (self.main, self.mains.last_mut()) {
                    part.end = self.text.len();
                }
            }
            ElementKind::Article => {
                self.articles = self.articles.saturating_sub(1);
                if let (0, Some(part)) = (self.articles, self.article_parts.last_mut()) {
                    part.end = self.text.len();
                }
            }
            ElementKind::Heading(_) => self.end_heading(),
            ElementKind::List { .. } => {
                self.lists.pop();
            }
            ElementKind::Preformatted => {
                self.preformatted = self.preformatted.saturating_sub(1);
                if self.preformatted == 0 {
                    let line_end = if self.text.ends_with('\n') { "" } else { "\n" };
                    self.text.push_str(line_end);
                    self.text.push_str("```");
                }
            }
            _ => {}
        }
        if element.kind.is_block() {
            self.widen(Gap::Paragraph);
        }
    }

    fn begin_heading(&mut self, level: u8) {
        self.push(&"#".repeat(usize::from(level)));
        self.gap = Gap::Space;
        let start = self.text.len() - usize::from(level);
        self.heading = Some(Heading { level, start, end: start, title: String::new() });
    }

    fn end_heading(&mut self) {
        let Some(mut heading) = self.heading.take() else { return };
        let title = self.text[heading.start + usize::from(heading.level)..].split_whitespace();
        heading.title = title.collect::<Vec<_>>().join(" ");
        heading.end = self.text.len();
        if heading.title.is_empty() {
            self.text.truncate(heading.start);
        } else {
            self.headings.push(heading);
        }
        self.widen(Gap::Paragraph);
    }

    fn begin_item(&mut self) {
        self.end_heading();
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(8));
        let is_nested = self.lists.len() > 1;
        let (sign, is_first) = match self.lists.last_mut() {
            Some(list) => {
                list.items += 1;
                let sign =
                    if list.numbered { format!("{indent}{}.", list.items) } else { format!("{indent}-") };
                (sign, list.items == 1)
            }
            None => ("-".to_owned(), false),
        };
        // The items of a list stand together.
        self.gap = if is_first && !is_nested { self.gap.max(Gap::Line) } else { Gap::Line };
        self.push(&sign);
        self.gap = Gap::Space;
    }

    /// Appends text of an element.
    fn words(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        }
        if self.skipped > 0 || self.in_title {
            return;
        }
        if self.preformatted > 0 {
            self.text.push_str(text);
            self.gap = Gap::None;
            return;
        }
        let mut rest = text;
        loop {
            let word_start = rest.find(|c: char| !is_blank(c));
            if word_start != Some(0) {
                self.widen(Gap::Space);
            }
            let Some(word_start) = word_start else { return };
            rest = &rest[word_start..];
            let end = rest.find(is_blank).unwrap_or(rest.len());
            self.push(&rest[..end]);
            rest = &rest[end..];
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Appends a word after the gap before it.
    fn push(&mut self, word: &str) {
        let gap = match mem::take(&mut self.gap) {
            _ if self.text.is_empty() => "",
            Gap::None => "",
            Gap::Space if self.text.ends_with('\n') => "",
            Gap::Space => " ",
            Gap::Line => "\n",
            Gap::Paragraph => "\n\n",
        };
        self.text.push_str(gap);
        self.text.push_str(word);
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn end(mut self) -> Extract {
        self.end_heading();
        let end = self.text.len();
        for (open, parts) in [(self.main, &mut self.mains), (self.articles, &mut self.article_parts)] {
            if let Some(part) = parts.last_mut().filter(|_| open > 0) {
                part.end = end;
            }
        }
        let has_text =
            |parts: &[Range<usize>]| parts.iter().any(|part| !self.text[part.clone()].trim().is_empty());
        let parts = [&self.mains, &self.article_parts].into_iter().find(|parts| has_text(parts));
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut extract = Extract {
            title: Some(title).filter(|title| !title.is_empty()),
            description: self.description.filter(|text| !text.trim().is_empty()),
            markdown: true,
            breaks: Breaks::BlankLines,
            ..Extract::default()
        };
        match parts {
            None => (extract.text, extract.headings) = (self.text, self.headings),
            Some(parts) => keep_parts(&mut extract, &self.text, &self.headings, parts),
        }
        extract
    }
}

/// Takes parts of a text, and the headings in them.
fn keep_parts(extract: &mut Extract, text: &str, headings: &[Heading], parts: &[Range<usize>]) {
    for part in parts {
        if !extract.text.is_empty() {
            extract.text.push_str("\n\n");
        }
        let skipped = text[part.clone()].len() - text[part.clone()].trim_start().len();
        let (from, to) = (part.start + skipped, extract.text.len());
        extract.text.push_str(&text[from..part.end]);
        let inside = headings.iter().filter(|heading| (from..part.end).contains(&heading.start));
        extract.headings.extend(inside.map(|heading| Heading {
            start: heading.start - from + to,
            end: heading.end - from + to,
            ..heading.clone()
        }));
    }
}

impl StartTag {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| value.as_str())
    }

    /// Whether its attributes say that it is hidden or leads through the pages of a site.
    fn is_navigation(&self) -> bool {
        const ROLES: [&str; 5] = ["navigation", "banner", "contentinfo", "search", "complementary"];
        const CLASSES: [&str; 14] = [
            "nav",
            "navbar",
            "navigation",
            "sidebar",
            "menu",
            "breadcrumb",
            "breadcrumbs",
            "footer",
            "site-header",
            "site-footer",
            "cookie-banner",
            "toc",
            "skip-link",
            "pagination",
        ];
        let role = self.attribute("role").unwrap_or_default();
        let names = [self.attribute("class"), self.attribute("id")];
        let mut names = names.into_iter().flatten().flat_map(str::split_whitespace);
        self.attribute("hidden").is_some()
            || ROLES.contains(&role)
            || names.any(|name| CLASSES.iter().any(|class| class.eq_ignore_ascii_case(name)))
    }
}

/// White space that HTML collapses; a no-break space is none.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}
