//! odt, the documents of LibreOffice and others (OpenDocument).

use super::container::Container;
use super::flow::Flow;
use super::math::Equation;
use super::numbering::{Counters, LevelStyle, ListStyle, NumberFormat};
use super::outline::Extract;
use super::package::resolve;
use super::xml::{self, Skips, XmlStep, attribute, first_text, number};
use quick_xml::events::BytesStart;
use std::collections::{HashMap, HashSet};

/// Reads odt. Fails if the archive or its content is damaged.
pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let document = container.member("content.xml")?;
    let mut reader = OdtReader::default();
    for xml in [container.optional("styles.xml")?.as_deref(), Some(&document)].into_iter().flatten() {
        read_styles(xml, &mut reader.styles);
    }
    for object in objects(&document) {
        if let Some(formula) = container.optional(&object)?.and_then(|xml| formula(&xml)) {
            reader.formulas.insert(object, formula);
        }
    }
    xml::walk(&document, |step| reader.step(&step))?;
    let mut extract = reader.flow.finish()?;
    extract.title = container.optional("meta.xml")?.and_then(|meta| first_text(&meta, "title"));
    Ok(extract)
}

/// The paths of the objects in a document.
fn objects(xml: &[u8]) -> Vec<String> {
    let mut objects = Vec::new();
    // Damage is reported when the text is read.
    let _ = xml::tags(xml, |tag| objects.extend(object(tag)));
    objects
}

/// The path of the object that an element names.
fn object(tag: &BytesStart) -> Option<String> {
    let target = attribute(tag, "href").filter(|_| tag.local_name().as_ref() == "object")?;
    Some(format!("{}/content.xml", resolve("", &target)))
}

/// The text of an object that is a formula.
fn formula(xml: &[u8]) -> Option<String> {
    let (mut equation, mut text) = (None::<Equation>, None);
    let _ = xml::walk(xml, |step| match (&step, &mut equation) {
        (XmlStep::Start(tag), None) if tag.local_name().as_ref() == "math" => {
            equation = Some(Equation::begin("math"));
        }
        (step, Some(open)) => {
            if let Some(done) = open.step(step) {
                (equation, text) = (None, Some(done));
            }
        }
        _ => {}
    });
    text
}

/// The styles that matter to the text.
#[derive(Default)]
struct OdtStyles {
    lists: HashMap<String, ListStyle>,
    /// The numbers of headings.
    outline: ListStyle,
    /// The styles of raised text.
    raised: HashSet<String>,
}

#[derive(Default)]
struct OdtReader {
    styles: OdtStyles,
    /// The texts of formulas by their paths.
    formulas: HashMap<String, String>,
    counters: Counters,
    flow: Flow,
    /// The number of open paragraphs, also those of notes in others.
    reads: usize,
    skips: Skips,
    /// The open elements that have a style, and whether their text is raised.
    spans: Vec<bool>,
    lists: Vec<OdtList>,
    /// The open paragraphs end with white space, which more of it does not widen.
    after_blank: bool,
}

/// A list that has begun.
struct OdtList {
    style: String,
    /// Whether the next paragraph begins an item.
    at_item: bool,
}

/// The name of the numbers of headings.
const OUTLINE: &str = "\0outline";

impl OdtReader {
    fn step(&mut self, step: &XmlStep) {
        match step {
            XmlStep::Start(tag) => self.start(tag),
            XmlStep::End(name) => self.end(name),
            XmlStep::Text(text) if self.reads > 0 && !self.skips.is_open() => self.text(text),
            XmlStep::Text(_) => {}
        }
    }

    /// Appends text, in which white space of any length is a blank.
    fn text(&mut self, text: &str) {
        let mut words = String::with_capacity(text.len());
        for c in text.chars() {
            if matches!(c, ' ' | '\t' | '\n' | '\r') {
                if !self.after_blank {
                    words.push(' ');
                }
                self.after_blank = true;
            } else {
                words.push(c);
                self.after_blank = false;
            }
        }
        self.flow.push_text(&words, self.spans.last() == Some(&true));
    }

    fn start(&mut self, tag: &BytesStart) {
        let name = tag.local_name();
        let name = name.as_ref();
        if self.skips.start(is_skipped(name)) {
            return;
        }
        match name {
            "p" | "h" => {
                self.reads += 1;
                self.after_blank = false;
                self.begin_paragraph(tag, name == "h");
            }
            "span" => {
                let is_raised =
                    attribute(tag, "style-name").is_some_and(|style| self.styles.raised.contains(&style));
                self.spans.push(is_raised);
            }
            "s" | "tab" => self.text(" "),
            "line-break" => {
                self.flow.push("\n");
                self.after_blank = true;
            }
            "list" => self.begin_list(tag),
            "list-item" => self.begin_item(tag),
            "table-row" => self.flow.begin_row(),
            "table-cell" | "covered-table-cell" => self.flow.begin_cell(),
            name if is_box(name) => self.flow.begin_text_box(),
            "note" => self.flow.begin_note(),
            "ruby-text" => {
                self.reads += 1;
                self.flow.push("(");
                self.after_blank = false;
            }
            "title" | "desc" => self.reads += 1,
            "object" => {
                let formula = object(tag).and_then(|object| self.formulas.get(&object));
                if let Some(formula) = formula {
                    self.flow.push_equation(formula);
                    self.after_blank = false;
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.skips.end(is_skipped(name)) {
            return;
        }
        match name {
            "p" | "h" => {
                self.reads = self.reads.saturating_sub(1);
                self.flow.end_paragraph();
            }
            "span" => {
                self.spans.pop();
            }
            "list" => {
                self.lists.pop();
            }
            "table-row" | "table-cell" | "covered-table-cell" => self.flow.end(),
            name if name == "note" || is_box(name) => {
                self.flow.end();
                self.after_blank = false;
            }
            "ruby-text" => {
                self.reads = self.reads.saturating_sub(1);
                self.flow.push(")");
                self.after_blank = false;
            }
            // Of a picture, in the words of its author.
            "title" | "desc" => {
                self.reads = self.reads.saturating_sub(1);
                self.text(" ");
            }
            _ => {}
        }
    }

    fn begin_list(&mut self, tag: &BytesStart) {
        let own = attribute(tag, "style-name");
        let style = own.or_else(|| self.lists.last().map(|list| list.style.clone())).unwrap_or_default();
        let continues = attribute(tag, "continue-numbering").is_some_and(|value| value == "true")
            || attribute(tag, "continue-list").is_some();
        if self.lists.is_empty() && !continues {
            self.counters.clear(&style);
        }
        self.lists.push(OdtList { style, at_item: false });
    }

    fn begin_item(&mut self, tag: &BytesStart) {
        let level = self.lists.len().saturating_sub(1);
        if let Some(list) = self.lists.last_mut() {
            list.at_item = true;
            if let Some(start) = number(tag, "start-value") {
                self.counters.restart(&list.style, level, start);
            }
        }
    }

    fn begin_paragraph(&mut self, tag: &BytesStart, is_heading: bool) {
        let depth = self.lists.len().saturating_sub(1);
        let mut item = None;
        if let Some(list) = self.lists.last_mut().filter(|list| list.at_item) {
            list.at_item = false;
            let plain = ListStyle::default();
            let style = self.styles.lists.get(&list.style).unwrap_or(&plain);
            item = Some((self.counters.next(&list.style, depth, style), depth));
        }
        let mut level = None;
        if is_heading {
            level = number(tag, "outline-level").and_then(|level| u8::try_from(level).ok()).or(Some(1));
            let at = usize::from(level.unwrap_or(1)).saturating_sub(1);
            let is_numbered =
                self.styles.outline.0.get(at).is_some_and(|style| style.format != NumberFormat::Bullet);
            if item.is_none() && is_numbered {
                item = Some((self.counters.next(OUTLINE, at, &self.styles.outline), 0));
            }
        }
        if let Some(form) = self.flow.form() {
            (form.level, form.item) = (level, item);
        }
    }
}

/// Whether an element has no text of the document: deleted text, remarks, and marks of notes, numbered here.
fn is_skipped(name: &str) -> bool {
    matches!(name, "tracked-changes" | "annotation" | "note-citation" | "forms")
}

/// Whether an element is a frame or a shape, whose text is not part of the paragraph around it.
fn is_box(name: &str) -> bool {
    matches!(
        name,
        "text-box"
            | "custom-shape"
            | "rect"
            | "ellipse"
            | "circle"
            | "line"
            | "connector"
            | "polygon"
            | "polyline"
            | "path"
            | "regular-polygon"
    )
}

fn read_styles(xml: &[u8], styles: &mut OdtStyles) {
    // The list style and the style that are open; a list style without a name is that of headings.
    let (mut list, mut style) = (None::<String>, String::new());
    let _ = xml::tags(xml, |tag| match tag.local_name().as_ref() {
        "list-style" => list = attribute(tag, "name"),
        "outline-style" => list = None,
        "style" => style = attribute(tag, "name").unwrap_or_default(),
        "text-properties" => {
            let place = attribute(tag, "text-position").unwrap_or_default();
            let raise = place.split(' ').next().unwrap_or_default();
            let is_raised =
                raise == "super" || raise.trim_end_matches('%').parse().is_ok_and(|percent: i32| percent > 0);
            if is_raised && !style.is_empty() {
                styles.raised.insert(style.clone());
            }
        }
        name @ ("list-level-style-number" | "list-level-style-bullet" | "outline-level-style") => {
            let at = number(tag, "level").unwrap_or(1).saturating_sub(1).min(9);
            let levels = match &list {
                Some(list) => styles.lists.entry(list.clone()).or_default(),
                None => &mut styles.outline,
            };
            if levels.0.len() <= at {
                levels.0.resize(at + 1, LevelStyle::default());
            }
            levels.0[at] = level_style(tag, name, at);
        }
        _ => {}
    });
}

fn level_style(tag: &BytesStart, name: &str, at: usize) -> LevelStyle {
    let format = match attribute(tag, "num-format").as_deref() {
        _ if name == "list-level-style-bullet" => NumberFormat::Bullet,
        Some("1") => NumberFormat::Decimal,
        Some("a") => NumberFormat::LowerLetter,
        Some("A") => NumberFormat::UpperLetter,
        Some("i") => NumberFormat::LowerRoman,
        Some("I") => NumberFormat::UpperRoman,
        _ => NumberFormat::None,
    };
    // The numbers of the levels above are shown too, as many as this says in all.
    let shown = number(tag, "display-levels").unwrap_or(1).clamp(1, at + 1);
    let numbers: Vec<String> = (at + 1 - shown..=at).map(|level| format!("%{}", level + 1)).collect();
    let (prefix, suffix) = (attribute(tag, "num-prefix"), attribute(tag, "num-suffix"));
    let text = format!("{}{}{}", prefix.unwrap_or_default(), numbers.join("."), suffix.unwrap_or_default());
    LevelStyle { format, start: number(tag, "start-value"), text: Some(text) }
}
