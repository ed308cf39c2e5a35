//! xlsx, the tables of Excel (Office Open XML): a section for each sheet, a line for each row.

use super::container::{Container, TextLimit};
use super::outline::{Breaks, Extract, Heading};
use super::package::{Part, main_part};
use super::xml::{self, XmlStep, attribute, first_text, number, relation_id};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Unit};
use quick_xml::events::BytesStart;
use std::collections::HashSet;

/// Reads xlsx. Fails if the archive or a sheet is damaged, or the text too long.
pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let main = main_part(&mut container)?.unwrap_or_else(|| "xl/workbook.xml".to_owned());
    let main = Part::open(&mut container, &main)?;
    let strings = main.related(&mut container, "sharedStrings")?;
    let styles = main.related(&mut container, "styles")?;
    let (sheets, begins_1904) = sheets(&main)?;
    let formats = Formats {
        strings: strings.map(|xml| shared_strings(&xml)).transpose()?.unwrap_or_default(),
        are_dates: styles.map(|xml| date_styles(&xml)).unwrap_or_default(),
        begins_1904,
    };
    let mut extract = Extract { markdown: false, breaks: Breaks::Lines, ..Extract::default() };
    let mut limit = TextLimit::default();
    for (name, path) in sheets {
        // A sheet that is missing, such as one that is a chart, leaves the others readable.
        let Some(sheet) = container.optional(&path)? else { continue };
        let mut reader = SheetReader {
            formats: &formats,
            text: String::new(),
            row: Vec::new(),
            cell: SheetCell::default(),
            limit: &mut limit,
        };
        xml::walk(&sheet, |step| reader.step(&step))?;
        reader.limit.check()?;
        if reader.text.is_empty() {
            continue;
        }
        let start = extract.text.len();
        extract.text.push_str(&format!("# {name}\n\n"));
        extract.headings.push(Heading { level: 1, start, end: extract.text.len(), title: name });
        extract.text.push_str(&reader.text);
        extract.text.push('\n');
    }
    extract.title = container.optional("docProps/core.xml")?.and_then(|core| first_text(&core, "title"));
    Ok(extract)
}

/// The names and the paths of the sheets, in order, and whether days are counted from 1904.
fn sheets(main: &Part) -> Result<(Vec<(String, String)>, bool), String> {
    let targets = main.targets();
    let (mut sheets, mut begins_1904) = (Vec::new(), false);
    xml::tags(main.content(), |tag| match tag.local_name().as_ref() {
        "sheet" => {
            let path = relation_id(tag).and_then(|id| targets.get(id.as_str()).copied());
            let name = attribute(tag, "name").unwrap_or_default();
            sheets.extend(path.map(|path| (name, path.to_owned())));
        }
        "workbookPr" => begins_1904 = attribute(tag, "date1904").is_some_and(|on| on == "1" || on == "true"),
        _ => {}
    })?;
    Ok((sheets, begins_1904))
}

/// The texts that cells share.
fn shared_strings(xml: &[u8]) -> Result<Vec<String>, String> {
    let (mut strings, mut text, mut reads, mut sounds) = (Vec::new(), String::new(), false, false);
    xml::walk(xml, |step| match step {
        XmlStep::Start(tag) => match tag.local_name().as_ref() {
            "si" => text.clear(),
            "t" => reads = !sounds,
            // How a word is read.
            "rPh" => sounds = true,
            _ => {}
        },
        XmlStep::Text(words) if reads => text.push_str(words),
        XmlStep::End("t") => reads = false,
        XmlStep::End("rPh") => sounds = false,
        XmlStep::End("si") => strings.push(std::mem::take(&mut text)),
        _ => {}
    })?;
    Ok(strings)
}

/// Whether each style of cells is one of dates.
fn date_styles(xml: &[u8]) -> Vec<bool> {
    let (mut custom, mut styles, mut in_cells) = (HashSet::new(), Vec::new(), false);
    let _ = xml::walk(xml, |step| match step {
        XmlStep::Start(tag) => match tag.local_name().as_ref() {
            "numFmt" => {
                let code = attribute(tag, "formatCode").unwrap_or_default();
                custom.extend(number(tag, "numFmtId").filter(|_| is_date_code(&code)));
            }
            "cellXfs" => in_cells = true,
            "xf" if in_cells => {
                let format = number(tag, "numFmtId").unwrap_or(0);
                styles.push(
                    matches!(format, 14..=22 | 27..=36 | 45..=47 | 50..=58) || custom.contains(&format),
                );
            }
            _ => {}
        },
        XmlStep::End("cellXfs") => in_cells = false,
        _ => {}
    });
    styles
}

/// Whether a format has parts of a date: letters that stand neither in quotes nor in brackets.
fn is_date_code(code: &str) -> bool {
    let (mut quoted, mut bracketed, mut escaped) = (false, false, false);
    code.chars().any(|c| {
        let is_plain = !quoted && !bracketed && !escaped;
        escaped = is_plain && matches!(c, '\\' | '_' | '*');
        match c {
            '"' => quoted = !quoted,
            '[' if !quoted => bracketed = true,
            ']' if !quoted => bracketed = false,
            _ => {}
        }
        is_plain && matches!(c.to_ascii_lowercase(), 'y' | 'd' | 'h' | 'm' | 's')
    })
}

struct Formats {
    strings: Vec<String>,
    are_dates: Vec<bool>,
    begins_1904: bool,
}

impl Formats {
    /// The text of a cell.
    fn text(&self, cell: &SheetCell) -> String {
        match cell.kind.as_str() {
            "s" => {
                let at = cell.text.trim().parse::<usize>().ok();
                at.and_then(|at| self.strings.get(at)).cloned().unwrap_or_default()
            }
            "b" => (if cell.text.trim() == "1" { "TRUE" } else { "FALSE" }).to_owned(),
            "" | "n" => {
                let is_date = self.are_dates.get(cell.style).copied().unwrap_or(false);
                let value = cell.text.trim().parse::<f64>().ok();
                let date = value.filter(|_| is_date).and_then(|days| self.date(days));
                date.or_else(|| value.map(shown)).unwrap_or_else(|| cell.text.clone())
            }
            _ => cell.text.clone(),
        }
    }

    /// The date of a number of days, or the time if there is no day.
    fn date(&self, days: f64) -> Option<String> {
        if !(0.0..2_958_466.0).contains(&days) {
            return None;
        }
        // Day 60 of the calendar from 1900 is a 29 February that there was not.
        let begin = match (self.begins_1904, days >= 61.0) {
            (true, _) => DateTime::constant(1904, 1, 1, 0, 0, 0, 0),
            (false, true) => DateTime::constant(1899, 12, 30, 0, 0, 0, 0),
            (false, false) => DateTime::constant(1899, 12, 31, 0, 0, 0, 0),
        };
        let time = SignedDuration::try_from_secs_f64(days * 86_400.0).ok()?;
        let date = begin.checked_add(time).ok()?.round(Unit::Second).ok()?;
        let text = date.to_string().replace('T', " ");
        let text = text.strip_suffix(" 00:00:00").unwrap_or(&text);
        let is_time = days < 1.0 && !self.begins_1904;
        Some(if is_time { date.time().to_string() } else { text.to_owned() })
    }
}

/// A number with the 15 digits that tables have.
fn shown(value: f64) -> String {
    format!("{value:.14e}").parse::<f64>().unwrap_or(value).to_string()
}

#[derive(Default)]
struct SheetCell {
    kind: String,
    style: usize,
    column: Option<usize>,
    text: String,
    reads: bool,
}

struct SheetReader<'a> {
    formats: &'a Formats,
    text: String,
    row: Vec<String>,
    cell: SheetCell,
    limit: &'a mut TextLimit,
}

impl SheetReader<'_> {
    fn step(&mut self, step: &XmlStep) {
        match step {
            XmlStep::Start(tag) => self.start(tag),
            XmlStep::Text(text) if self.cell.reads => self.cell.text.push_str(text),
            XmlStep::Text(_) => {}
            XmlStep::End("v" | "t") => self.cell.reads = false,
            XmlStep::End("c") => self.end_cell(),
            XmlStep::End("row") => self.end_row(),
            XmlStep::End(_) => {}
        }
    }

    fn start(&mut self, tag: &BytesStart) {
        match tag.local_name().as_ref() {
            "c" => {
                self.cell = SheetCell {
                    kind: attribute(tag, "t").unwrap_or_default(),
                    style: number(tag, "s").unwrap_or(0),
                    column: attribute(tag, "r").and_then(|place| column(&place)),
                    ..SheetCell::default()
                };
            }
            "v" | "t" => self.cell.reads = true,
            _ => {}
        }
    }

    fn end_cell(&mut self) {
        // Cells without a value between others keep these in their columns, unless they are many.
        const MAX_EMPTY: usize = 32;
        if self.limit.is_exceeded() {
            return;
        }
        let text = self.formats.text(&self.cell).split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || !self.limit.take(&text) {
            return;
        }
        let missing = self.cell.column.map_or(0, |column| column.saturating_sub(self.row.len()));
        if missing <= MAX_EMPTY && !self.row.is_empty() {
            self.row.resize(self.row.len() + missing, String::new());
        } else if self.row.is_empty() && missing <= MAX_EMPTY {
            self.row.resize(missing, String::new());
        }
        self.row.push(text);
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let first = row.iter().position(|cell| !cell.is_empty());
        if let Some(first) = first {
            self.text.push_str(&row[first..].join(" | "));
            self.text.push('\n');
        }
    }
}

/// The number of a column, from 0, of a place such as `AB12`.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic).take(3);
    let number =
        letters.fold(0, |sum, letter| 26 * sum + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1)
}
