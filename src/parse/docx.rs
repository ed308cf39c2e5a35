//! docx, the documents of Word (Office Open XML).

use super::container::Container;
use super::flow::Flow;
use super::math::Equation;
use super::numbering::{Counters, LevelStyle, ListStyle, NumberFormat};
use super::outline::Extract;
use super::package::{Part, main_part};
use super::xml::{self, Skips, XmlStep, attribute, first_text, number};
use quick_xml::events::BytesStart;
use std::collections::HashMap;

/// Reads docx. Fails if the archive or the main part is damaged.
pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let main = main_part(&mut container)?.unwrap_or_else(|| "word/document.xml".to_owned());
    let main = Part::open(&mut container, &main)?;
    let mut reader = DocxReader::default();
    if let Some(styles) = main.related(&mut container, "styles")? {
        reader.styles = read_styles(&styles);
    }
    if let Some(numbering) = main.related(&mut container, "numbering")? {
        reader.lists = read_numbering(&numbering);
    }
    for kind in ["footnotes", "endnotes"] {
        if let Some(notes) = main.related(&mut container, kind)? {
            let _ = reader.read(&notes);
        }
    }
    reader.read(main.content())?;
    let mut extract = reader.flow.finish()?;
    extract.title = container.optional("docProps/core.xml")?.and_then(|core| first_text(&core, "title"));
    Ok(extract)
}

/// A note, by its kind.
#[derive(Clone, PartialEq, Eq, Hash)]
enum NoteId {
    Foot(String),
    End(String),
}

/// A style of paragraphs.
#[derive(Clone, Default, Debug)]
struct ParagraphStyle {
    level: Option<u8>,
    list: Option<String>,
    list_level: Option<usize>,
    based_on: Option<String>,
}

type ParagraphStyles = HashMap<String, ParagraphStyle>;

/// The lists: their styles, and which of them each number stands for.
#[derive(Default)]
struct Lists {
    styles: HashMap<String, ListStyle>,
    /// The levels of a list that belong to styles of paragraphs.
    style_levels: HashMap<(String, String), usize>,
    /// By its number, the style, and the numbers at which levels start over.
    uses: HashMap<String, (String, Vec<(usize, usize)>)>,
}

#[derive(Default)]
struct DocxReader {
    styles: ParagraphStyles,
    lists: Lists,
    notes: HashMap<NoteId, String>,
    counters: Counters,
    flow: Flow,
    paragraph: Properties,
    /// The number of open elements whose text is read.
    reads: usize,
    skips: Skips,
    /// The number of open elements of properties.
    properties: usize,
    is_raised: bool,
    equation: Option<Equation>,
    /// The note whose text is read.
    note_id: Option<String>,
    /// The sounds of the word that follows.
    reading: String,
}

/// The properties of a paragraph, as far as they are read.
#[derive(Clone, Default)]
struct Properties {
    style: Option<String>,
    level: Option<u8>,
    list: Option<String>,
    list_level: Option<usize>,
    is_drop_cap: bool,
}

impl DocxReader {
    fn read(&mut self, xml: &[u8]) -> Result<(), String> {
        xml::walk(xml, |step| self.step(&step))
    }

    fn step(&mut self, step: &XmlStep) {
        if let Some(equation) = &mut self.equation {
            if let Some(text) = equation.step(step) {
                self.equation = None;
                self.flow.push_equation(&text);
            }
            return;
        }
        match step {
            XmlStep::Start(tag) => self.start(tag),
            XmlStep::End(name) => self.end(name),
            XmlStep::Text(text) if self.reads > 0 && !self.skips.is_open() => {
                self.flow.push_text(text, self.is_raised)
            }
            XmlStep::Text(_) => {}
        }
    }

    fn start(&mut self, tag: &BytesStart) {
        let name = tag.local_name();
        let name = name.as_ref();
        if self.skips.start(is_skipped(name)) {
            return;
        }
        match name {
            "t" => self.reads += 1,
            "r" => self.is_raised = false,
            "p" => self.paragraph = Properties::default(),
            "pPr" | "rPr" | "tblPr" | "sectPr" => self.properties += 1,
            "tr" => self.flow.begin_row(),
            "tc" => self.flow.begin_cell(),
            "txbxContent" => self.flow.begin_text_box(),
            "footnote" | "endnote" => {
                self.note_id = attribute(tag, "id");
                self.flow.begin_text_box();
            }
            "oMath" => self.equation = Some(Equation::begin(name)),
            "tab" | "ptab" if self.properties == 0 => self.flow.push(" "),
            "br" | "cr" if self.properties == 0 => self.flow.push("\n"),
            "noBreakHyphen" => self.flow.push("-"),
            // A picture, in the words of its author.
            "docPr" => self.flow.push_apart(&attribute(tag, "descr").unwrap_or_default()),
            "rt" => self.flow.begin_text_box(),
            "footnoteReference" | "endnoteReference" => {
                let id = attribute(tag, "id").unwrap_or_default();
                let id = if name == "footnoteReference" { NoteId::Foot(id) } else { NoteId::End(id) };
                if let Some(note) = self.notes.get(&id) {
                    self.flow.push_note(note);
                }
            }
            _ if self.properties > 0 => self.property(name, tag),
            _ => {}
        }
    }

    fn property(&mut self, name: &str, tag: &BytesStart) {
        let value = || attribute(tag, "val");
        match name {
            "pStyle" => self.paragraph.style = value(),
            "outlineLvl" => self.paragraph.level = value().and_then(|level| outline_level(&level)),
            "numId" => self.paragraph.list = value(),
            "ilvl" => self.paragraph.list_level = number(tag, "val"),
            "framePr" => {
                self.paragraph.is_drop_cap = attribute(tag, "dropCap").is_some_and(|cap| cap != "none")
            }
            "vertAlign" => self.is_raised = value().is_some_and(|place| place == "superscript"),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.skips.end(is_skipped(name)) {
            return;
        }
        match name {
            "t" => self.reads = self.reads.saturating_sub(1),
            "pPr" => {
                self.properties = self.properties.saturating_sub(1);
                self.begin_paragraph();
            }
            "rPr" | "tblPr" | "sectPr" => self.properties = self.properties.saturating_sub(1),
            "p" if std::mem::take(&mut self.paragraph.is_drop_cap) => self.flow.end_drop_cap(),
            "p" => self.flow.end_paragraph(),
            "tr" | "tc" | "txbxContent" => self.flow.end(),
            "footnote" | "endnote" => {
                let (text, id) = (self.flow.take(), self.note_id.take().unwrap_or_default());
                let id = if name == "footnote" { NoteId::Foot(id) } else { NoteId::End(id) };
                self.notes.insert(id, text);
            }
            // How a word is read stands before the word.
            "rt" => self.reading = self.flow.take(),
            "rubyBase" => self.flow.push(&format!("({})", std::mem::take(&mut self.reading))),
            _ => {}
        }
    }

    /// Sets the form of the paragraph whose properties have been read.
    fn begin_paragraph(&mut self) {
        let Properties { style, level, list, list_level, .. } = self.paragraph.clone();
        let by_style = style.as_deref().map(|style| self.styles.resolved(style)).unwrap_or_default();
        let level = level.or(by_style.level);
        let style_list = by_style.list.filter(|_| list.is_none());
        let list_level = match (&style_list, list_level) {
            (_, Some(level)) => level,
            (Some(list), None) => {
                let level = style.and_then(|style| self.lists.level_of_style(list, &style));
                level.or(by_style.list_level).unwrap_or(0)
            }
            (None, None) => 0,
        };
        let item =
            list.or(style_list).and_then(|list| self.lists.sign(&list, list_level, &mut self.counters));
        if let Some(form) = self.flow.form() {
            form.level = level;
            form.item = item.map(|sign| (sign, list_level));
        }
    }
}

/// Whether an element has no text of the document: another form of the text before it, code of fields, what
/// was deleted, moved elsewhere, or changed.
fn is_skipped(name: &str) -> bool {
    matches!(name, "Fallback" | "instrText" | "del" | "moveFrom" | "delText" | "delInstrText")
        || name.ends_with("PrChange")
}

fn outline_level(value: &str) -> Option<u8> {
    value.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

trait Resolve {
    fn resolved(&self, name: &str) -> ParagraphStyle;
}

impl Resolve for ParagraphStyles {
    /// A style with what it inherits.
    fn resolved(&self, name: &str) -> ParagraphStyle {
        // In a damaged file, styles may inherit from each other in a circle.
        const MAX_BASES: usize = 16;
        let mut style = self.get(name).cloned().unwrap_or_default();
        for _ in 0..MAX_BASES {
            let Some(base) = style.based_on.take().and_then(|base| self.get(&base)) else { break };
            style.level = style.level.or(base.level);
            if style.list.is_none() {
                style.list.clone_from(&base.list);
            }
            style.list_level = style.list_level.or(base.list_level);
            style.based_on.clone_from(&base.based_on);
        }
        style
    }
}

fn read_styles(xml: &[u8]) -> ParagraphStyles {
    let mut styles = ParagraphStyles::new();
    let mut name = String::new();
    let _ = xml::tags(xml, |tag| {
        let value = || attribute(tag, "val");
        match tag.local_name().as_ref() {
            "style" => {
                name = attribute(tag, "styleId").unwrap_or_default();
                styles.insert(name.clone(), ParagraphStyle::default());
            }
            property => {
                let Some(style) = styles.get_mut(&name) else { return };
                match property {
                    "name" => {
                        let title = value().unwrap_or_default();
                        let heading = title.to_ascii_lowercase();
                        let heading = heading.strip_prefix("heading ").and_then(|level| level.parse().ok());
                        style.level = heading.or((title == "Title").then_some(1));
                    }
                    "outlineLvl" => {
                        style.level = style.level.or(value().and_then(|level| outline_level(&level)))
                    }
                    "numId" => style.list = value(),
                    "ilvl" => style.list_level = number(tag, "val"),
                    "basedOn" => style.based_on = value(),
                    _ => {}
                }
            }
        }
    });
    styles
}

fn read_numbering(xml: &[u8]) -> Lists {
    let mut lists = Lists::default();
    // The style, the level, and the use that are open.
    let (mut style, mut level, mut used) = (String::new(), 0_usize, None::<String>);
    let _ = xml::tags(xml, |tag| {
        let value = || attribute(tag, "val");
        let name = tag.local_name();
        match name.as_ref() {
            "abstractNum" => {
                style = attribute(tag, "abstractNumId").unwrap_or_default();
                used = None;
                lists.styles.insert(style.clone(), ListStyle::default());
            }
            "num" => {
                let id = attribute(tag, "numId").unwrap_or_default();
                lists.uses.insert(id.clone(), (String::new(), Vec::new()));
                used = Some(id);
            }
            "abstractNumId" => {
                if let Some((of, _)) = used.as_ref().and_then(|used| lists.uses.get_mut(used)) {
                    *of = value().unwrap_or_default();
                }
            }
            "lvl" | "lvlOverride" => level = number(tag, "ilvl").unwrap_or(0).min(9),
            "startOverride" => {
                if let Some((_, starts)) = used.as_ref().and_then(|used| lists.uses.get_mut(used)) {
                    starts.push((level, number(tag, "val").unwrap_or(1)));
                }
            }
            "pStyle" if used.is_none() => {
                lists.style_levels.insert((style.clone(), value().unwrap_or_default()), level);
            }
            "numFmt" | "start" | "lvlText" if used.is_none() => {
                let Some(ListStyle(levels)) = lists.styles.get_mut(&style) else { return };
                if levels.len() <= level {
                    levels.resize(level + 1, LevelStyle::default());
                }
                let own = &mut levels[level];
                match name.as_ref() {
                    "numFmt" => own.format = number_format(&value().unwrap_or_default()),
                    "start" => own.start = number(tag, "val"),
                    _ => own.text = value(),
                }
            }
            _ => {}
        }
    });
    lists
}

fn number_format(name: &str) -> NumberFormat {
    match name {
        "bullet" => NumberFormat::Bullet,
        "none" => NumberFormat::None,
        "upperLetter" => NumberFormat::UpperLetter,
        "lowerLetter" => NumberFormat::LowerLetter,
        "upperRoman" => NumberFormat::UpperRoman,
        "lowerRoman" => NumberFormat::LowerRoman,
        _ => NumberFormat::Decimal,
    }
}

impl Lists {
    fn level_of_style(&self, list: &str, paragraph_style: &str) -> Option<usize> {
        let (style, _) = self.uses.get(list)?;
        self.style_levels.get(&(style.clone(), paragraph_style.to_owned())).copied()
    }

    /// The sign of the next item of a list; `None` where a paragraph is in no list.
    fn sign(&mut self, list: &str, level: usize, counters: &mut Counters) -> Option<String> {
        if list == "0" {
            return None;
        }
        let Some((style, starts)) = self.uses.get_mut(list) else { return Some("-".to_owned()) };
        // Only the first item starts over.
        for (level, start) in std::mem::take(starts) {
            counters.restart(style, level, start);
        }
        Some(counters.next(style, level, self.styles.get(style).unwrap_or(&ListStyle(Vec::new()))))
    }
}
