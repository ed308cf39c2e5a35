//! HTML: its main part as Markdown, without navigation, scripts and other hidden parts.
//!
//! The text is made of the tokens, in one pass whose time and memory are linear in the size of the file; a
//! tree of elements would have cost more, and a page of a million nested elements would be read for hours.

use super::flow::is_exponent;
use super::html_elements::{ElementKind, kind_of};
use super::html_parts::{PageParts, keep_parts};
use super::html_tag::{Place, StartTag};
use super::math::{Equation, runs_into};
use super::outline::{Breaks, Extract, Heading};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::mem;

/// Reads HTML.
pub(super) fn extract(html: &str) -> Extract {
    read(html, Page::default())
}

/// Reads a chapter of a book: XHTML, in which any element may be closed where it begins, and which has no
/// other part than the main one.
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
    place: Place,
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
    /// The number of open elements that are not displayed, and that are preformatted.
    hidden: usize,
    preformatted: usize,
    in_title: bool,
    heading: Option<Heading>,
    lists: Vec<List>,
    parts: PageParts,
    /// The equation that has begun.
    equation: Option<Equation>,
    /// Raised text begins.
    raised: bool,
    /// The separator between the next word and the text before it.
    gap: Gap,
}

/// A list that has begun.
struct List {
    numbered: bool,
    /// The number of the last item.
    items: usize,
    has_items: bool,
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
                // In equations too, any element may be closed where it begins.
                if *self_closing && (self.is_xhtml || self.equation.is_some()) {
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
        if ends_equation(kind_of(&tag.name)) {
            self.end_equation();
        }
        if let Some(equation) = &mut self.equation {
            let name = String::from_utf8_lossy(&tag.name);
            let name = name.rsplit(':').next().unwrap_or_default();
            return equation.start(name, |name| tag.attribute(name).map(str::to_owned));
        }
        let kind = match (kind_of(&tag.name), tag.attribute("role")) {
            (ElementKind::Block, Some("main")) => ElementKind::Main,
            (ElementKind::Block, Some("article")) => ElementKind::Article,
            (kind, _) => kind,
        };
        let place = self.place(kind, tag);
        // Of spans, only those matter that are hidden, and those in them.
        if kind.is_tracked() || kind == ElementKind::Span && (place != Place::Text || self.hidden > 0) {
            *self.counts.entry(tag.name.clone().into()).or_default() += 1;
            self.open.push(Element { name: tag.name.clone().into(), kind, place });
        }
        if tag.name == b"title" && self.hidden == 0 {
            self.in_title = self.title.is_empty();
        }
        if tag.name == b"meta"
            && tag.attribute("name").is_some_and(|name| name.eq_ignore_ascii_case("description"))
        {
            self.description = tag.attribute("content").map(str::to_owned);
        }
        self.hidden += usize::from(place == Place::Hidden);
        if self.hidden > 0 {
            return;
        }
        self.begin(kind, tag);
        self.raised |= tag.is_note_mark();
        match place {
            Place::Navigation => self.parts.navigation.begin(self.text.len()),
            Place::Margin => self.parts.margins.begin(self.text.len()),
            Place::Text | Place::Hidden => {}
        }
    }

    /// The place of an element that begins.
    fn place(&self, kind: ElementKind, tag: &StartTag) -> Place {
        let is_in_main = self.is_xhtml || self.parts.main.open + self.parts.articles.open > 0;
        let by_kind = match kind {
            ElementKind::Hidden => Place::Hidden,
            ElementKind::Button if self.heading.is_none() => Place::Hidden,
            ElementKind::Navigation => Place::Navigation,
            ElementKind::Margin => Place::Margin,
            _ => Place::Text,
        };
        let place = if by_kind == Place::Text || kind.may_be_marked() {
            tag.place(kind).unwrap_or(by_kind)
        } else {
            by_kind
        };
        if place == Place::Margin && is_in_main { Place::Text } else { place }
    }

    fn begin(&mut self, kind: ElementKind, tag: &StartTag) {
        if kind.is_block() {
            self.break_heading(kind);
            self.widen(Gap::Paragraph);
        }
        match kind {
            ElementKind::Main => self.parts.main.begin(self.text.len()),
            ElementKind::Article => self.parts.articles.begin(self.text.len()),
            ElementKind::Heading(level) => self.begin_heading(level),
            ElementKind::List { numbered } => {
                self.lists.push(List { numbered, items: tag.list_start() - 1, has_items: false })
            }
            ElementKind::Item => self.begin_item(tag),
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
            ElementKind::Raised => self.raised = true,
            ElementKind::Math => self.equation = Some(Equation::begin("math")),
            _ => {}
        }
    }

    fn end_tag(&mut self, name: &[u8]) {
        if ends_equation(kind_of(name)) {
            self.end_equation();
        }
        if let Some(equation) = &mut self.equation {
            // One that is not well-formed ends with its element.
            let text = if name == b"math" { equation.end_all() } else { equation.end() };
            if let Some(text) = text {
                self.equation = None;
                self.push_equation(&text);
            }
            return;
        }
        match kind_of(name) {
            ElementKind::Block | ElementKind::Item if self.hidden == 0 => self.widen(Gap::Paragraph),
            ElementKind::Row if self.hidden == 0 => self.widen(Gap::Line),
            ElementKind::Raised => self.raised = false,
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
        if element.place == Place::Hidden {
            self.hidden -= 1;
            return;
        }
        if self.hidden > 0 {
            return;
        }
        match element.kind {
            ElementKind::Main => self.parts.main.end(self.text.len()),
            ElementKind::Article => self.parts.articles.end(self.text.len()),
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
        match element.place {
            Place::Navigation => self.parts.navigation.end(self.text.len()),
            Place::Margin => self.parts.margins.end(self.text.len()),
            Place::Text | Place::Hidden => {}
        }
        if element.kind.is_block() {
            self.widen(Gap::Paragraph);
        }
    }

    /// Ends the open heading before an element, unless that may be a part of it.
    fn break_heading(&mut self, kind: ElementKind) {
        // The end of a heading that is longer is missing.
        const MAX_HEADING: usize = 400;
        let Some(heading) = &self.heading else { return };
        let is_part = matches!(kind, ElementKind::Block | ElementKind::Paragraph);
        if !is_part || self.text.len() - heading.start > MAX_HEADING {
            self.end_heading();
        }
    }

    fn begin_heading(&mut self, level: u8) {
        self.end_heading();
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
            self.parts.truncate(heading.start);
        } else {
            self.headings.push(heading);
        }
        self.widen(Gap::Paragraph);
    }

    fn begin_item(&mut self, tag: &StartTag) {
        self.end_heading();
        if let (Some(list), Some(number)) = (self.lists.last_mut(), tag.number("value")) {
            list.items = number.saturating_sub(1);
        }
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(8));
        let is_nested = self.lists.len() > 1;
        let (sign, is_first) = match self.lists.last_mut() {
            Some(list) => {
                list.items = list.items.saturating_add(1);
                let sign =
                    if list.numbered { format!("{indent}{}.", list.items) } else { format!("{indent}-") };
                (sign, !mem::replace(&mut list.has_items, true))
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
        if let Some(equation) = &mut self.equation {
            return equation.push(text);
        }
        if self.hidden > 0 || self.in_title {
            return;
        }
        if self.preformatted > 0 {
            self.text.push_str(text);
            self.gap = Gap::None;
            return;
        }
        let is_raised = mem::take(&mut self.raised) && self.gap == Gap::None;
        if is_raised && is_exponent(&self.text, text) {
            self.text.push('^');
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

    /// Ends the open equation, whose own end is missing.
    fn end_equation(&mut self) {
        if let Some(text) = self.equation.take().and_then(|mut equation| equation.end_all()) {
            self.push_equation(&text);
        }
    }

    /// Appends an equation, apart from a word before it.
    fn push_equation(&mut self, text: &str) {
        if runs_into(&self.text, text) {
            self.widen(Gap::Space);
        }
        if !text.is_empty() {
            self.push(text);
        }
    }

    /// Appends a word after the gap before it.
    fn push(&mut self, word: &str) {
        // A heading is one line, whose sign is its beginning.
        let in_heading = self.heading.is_some() && self.gap > Gap::Space;
        let gap = match mem::take(&mut self.gap) {
            _ if self.text.is_empty() => "",
            _ if in_heading => " ",
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
        self.end_equation();
        self.end_heading();
        self.parts.finish(self.text.len());
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut extract = Extract {
            title: Some(title).filter(|title| !title.is_empty()),
            description: self.description.take().filter(|text| !text.trim().is_empty()),
            markdown: true,
            breaks: Breaks::BlankLines,
            ..Extract::default()
        };
        let chosen = self.parts.chosen(&self.text, &self.headings);
        keep_parts(&mut extract, &self.text, &self.headings, &chosen);
        extract
    }
}

/// Whether an equation ends where an element begins or ends: one of the text around equations.
fn ends_equation(kind: ElementKind) -> bool {
    kind.is_block() || matches!(kind, ElementKind::Item | ElementKind::Row | ElementKind::Cell)
}

/// White space that HTML collapses; a no-break space is none.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}
