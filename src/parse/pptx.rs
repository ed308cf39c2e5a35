//! pptx, the presentations of PowerPoint (Office Open XML): a section for each slide.

use super::container::Container;
use super::flow::Flow;
use super::math::Equation;
use super::numbering::{Counters, LevelStyle, ListStyle, NumberFormat};
use super::outline::Extract;
use super::package::{Part, main_part};
use super::xml::{self, Skips, XmlStep, attribute, first_text, number, relation_id};
use quick_xml::events::BytesStart;

/// Reads pptx: the slides in order, each with its notes. Fails if the archive or a slide is damaged.
pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let main = main_part(&mut container)?.unwrap_or_else(|| "ppt/presentation.xml".to_owned());
    let main = Part::open(&mut container, &main)?;
    let mut reader = PptxReader::default();
    for (at, path) in slides(&main)?.iter().enumerate() {
        // A slide that is missing leaves the others readable.
        if !container.has(path) {
            continue;
        }
        let slide = Part::open(&mut container, path)?;
        let title = read_title(slide.content())?;
        reader.flow.push_heading(2, title.as_deref().unwrap_or(&format!("Slide {}", at + 1)));
        reader.read(slide.content(), SlidePart::Slide)?;
        for notes in slide.of_kind("notesSlide") {
            if let Some(notes) = container.optional(notes)? {
                reader.read(&notes, SlidePart::Notes)?;
            }
        }
    }
    let mut extract = reader.flow.finish()?;
    extract.title = container.optional("docProps/core.xml")?.and_then(|core| first_text(&core, "title"));
    Ok(extract)
}

/// The paths of the slides, in order.
fn slides(main: &Part) -> Result<Vec<String>, String> {
    let targets = main.targets();
    let mut slides = Vec::new();
    xml::tags(main.content(), |tag| {
        if tag.local_name().as_ref() == "sldId" {
            let target = relation_id(tag).and_then(|id| targets.get(id.as_str()).copied());
            slides.extend(target.map(str::to_owned));
        }
    })?;
    Ok(slides)
}

/// The title of a slide, if it has one with words.
fn read_title(slide: &[u8]) -> Result<Option<String>, String> {
    let mut reader = PptxReader::default();
    reader.read(slide, SlidePart::Title)?;
    let title = reader.flow.finish()?.text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Some(title).filter(|title| !title.is_empty()))
}

/// The part of a slide or of its notes that is read.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum SlidePart {
    Title,
    /// All but the title.
    #[default]
    Slide,
    /// The words, and not the picture of the slide, its number or its date.
    Notes,
}

#[derive(Default)]
struct PptxReader {
    flow: Flow,
    page: SlidePart,
    /// The kind of the placeholder that the open shape is; empty if it is another.
    placeholder: String,
    reads: usize,
    skips: Skips,
    is_raised: bool,
    /// The lists of the open shape, and the numbers that they have reached.
    lists: ListStyle,
    counters: Counters,
    /// The level of the paragraph, from 0, and how it is numbered, if it is.
    level: usize,
    numbers: Option<LevelStyle>,
    equation: Option<Equation>,
}

impl PptxReader {
    fn read(&mut self, xml: &[u8], page: SlidePart) -> Result<(), String> {
        self.page = page;
        xml::walk(xml, |step| self.step(&step))
    }

    fn step(&mut self, step: &XmlStep) {
        if let Some(equation) = &mut self.equation {
            if let Some(text) = equation.step(step) {
                self.equation = None;
                if self.is_read() {
                    self.flow.push_equation(&text);
                }
            }
            return;
        }
        match step {
            XmlStep::Start(tag) => self.start(tag),
            XmlStep::End(name) => self.end(name),
            XmlStep::Text(text) if self.reads > 0 && !self.skips.is_open() && self.is_read() => {
                self.flow.push_text(text, self.is_raised)
            }
            XmlStep::Text(_) => {}
        }
    }

    /// Whether the open shape is read.
    fn is_read(&self) -> bool {
        let is_title = matches!(self.placeholder.as_str(), "title" | "ctrTitle");
        let is_number = matches!(self.placeholder.as_str(), "sldNum" | "dt" | "ftr" | "hdr" | "sldImg");
        match self.page {
            SlidePart::Title => is_title,
            SlidePart::Slide => !is_title && !is_number,
            SlidePart::Notes => !is_number,
        }
    }

    fn start(&mut self, tag: &BytesStart) {
        let name = tag.local_name();
        let name = name.as_ref();
        if self.skips.start(name == "Fallback") {
            return;
        }
        match name {
            "sp" | "graphicFrame" | "cxnSp" | "pic" => {
                self.placeholder.clear();
                self.lists = ListStyle::default();
                self.counters.clear(LIST);
            }
            "ph" => self.placeholder = attribute(tag, "type").unwrap_or_else(|| "obj".to_owned()),
            "cNvPr" if self.page == SlidePart::Slide => {
                self.flow.push(&attribute(tag, "descr").unwrap_or_default());
                self.flow.end_paragraph();
            }
            "t" => self.reads += 1,
            "p" => (self.level, self.numbers) = (0, None),
            "pPr" => self.level = number(tag, "lvl").unwrap_or(0).min(MAX_LEVEL),
            "r" => self.is_raised = false,
            "buAutoNum" => self.numbers = Some(level_style(tag, self.level)),
            "rPr" => {
                let baseline = attribute(tag, "baseline").and_then(|place| place.parse::<i32>().ok());
                self.is_raised = baseline.is_some_and(|place| place > 0);
            }
            "tr" => self.flow.begin_row(),
            "tc" => self.flow.begin_cell(),
            "br" if self.is_read() => self.flow.push("\n"),
            "oMath" => self.equation = Some(Equation::begin(name)),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.skips.end(name == "Fallback") {
            return;
        }
        match name {
            "t" => self.reads = self.reads.saturating_sub(1),
            "p" => {
                if !self.flow.is_blank() {
                    self.count_item();
                }
                self.flow.end_paragraph();
            }
            "tr" | "tc" => self.flow.end(),
            _ => {}
        }
    }

    /// Gives the paragraph its number, if it has one. Counting starts over at another kind of number and
    /// after a paragraph without one.
    fn count_item(&mut self) {
        let level = self.level;
        if self.numbers.is_none() || self.lists.0.get(level) != self.numbers.as_ref() {
            self.counters.end_level(LIST, level);
        }
        let Some(numbers) = self.numbers.take() else { return };
        if self.lists.0.len() <= level {
            self.lists.0.resize(level + 1, LevelStyle::default());
        }
        self.lists.0[level] = numbers;
        let sign = self.counters.next(LIST, level, &self.lists);
        if let Some(form) = self.flow.form() {
            form.item = Some((sign, level));
        }
    }
}

/// The name of the numbers of a shape.
const LIST: &str = "shape";
/// The deepest level of a paragraph.
const MAX_LEVEL: usize = 8;

/// How the items of a level are numbered, from a name such as `alphaLcParenR`.
fn level_style(tag: &BytesStart, level: usize) -> LevelStyle {
    let name = attribute(tag, "type").unwrap_or_default();
    let formats = [
        ("alphaLc", NumberFormat::LowerLetter),
        ("alphaUc", NumberFormat::UpperLetter),
        ("romanLc", NumberFormat::LowerRoman),
        ("romanUc", NumberFormat::UpperRoman),
    ];
    let format = formats.into_iter().find(|(prefix, _)| name.starts_with(prefix));
    let number_place = format!("%{}", level + 1);
    let text = match &name {
        name if name.ends_with("ParenBoth") => format!("({number_place})"),
        name if name.ends_with("ParenR") => format!("{number_place})"),
        name if name.ends_with("Plain") => number_place,
        _ => format!("{number_place}."),
    };
    let format = format.map_or(NumberFormat::Decimal, |(_, format)| format);
    LevelStyle { format, start: number(tag, "startAt"), text: Some(text) }
}
