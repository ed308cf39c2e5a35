//! JSON, one member or element a section, and the notebooks of Jupyter.

use super::outline::{Breaks, Extract, Heading};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A line of JSON that is longer is broken up, in bytes.
const MAX_LINE_BYTES: usize = 1000;

/// Reads JSON: as it is, or indented if it has long lines. Invalid JSON is read as text.
pub(super) fn extract(text: String) -> Extract {
    let is_valid = serde_json::from_str::<IgnoredAny>(&text).is_ok();
    if !is_valid {
        return Extract { text, ..Extract::default() };
    }
    let text = if text.lines().any(|line| line.len() > MAX_LINE_BYTES) { indented(&text) } else { text };
    let headings = members(&text);
    Extract { text, headings, breaks: Breaks::Lines, ..Extract::default() }
}

/// Valid JSON with a line for each member and element, indented by two spaces a level.
fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    let line_end = |out: &mut String, depth: usize| {
        out.push('\n');
        // The indentation is limited, so that the text stays in proportion.
        out.extend(std::iter::repeat_n("  ", depth.min(16)));
    };
    while let Some(c) = chars.next() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
            continue;
        }
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line_end(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line_end(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line_end(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// The members of an object, or the elements of an array, that begin a line.
fn members(json: &str) -> Vec<Heading> {
    let is_object = json.trim_start().starts_with('{');
    let mut headings = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut line_start, mut at_start) = (0_usize, false, false, 0, true);
    for (at, c) in json.char_indices() {
        if at_start && !quoted && depth == 1 && !c.is_whitespace() && !matches!(c, '}' | ']' | ',') {
            let title =
                if is_object { member_name(&json[at..]) } else { format!("item {}", headings.len() + 1) };
            headings.push(Heading { level: 1, start: line_start, end: line_start, title });
        }
        at_start = c == '\n' || at_start && c.is_whitespace();
        if c == '\n' {
            line_start = at + 1;
        }
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => quoted = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    headings
}

/// The name with which a member begins.
fn member_name(json: &str) -> String {
    let mut names = serde_json::Deserializer::from_str(json).into_iter::<String>();
    names.next().and_then(Result::ok).unwrap_or_default()
}

/// A notebook (nbformat 4; in version 3 the cells are in worksheets).
#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
    #[serde(default)]
    worksheets: Vec<Worksheet>,
}

#[derive(Deserialize)]
struct Worksheet {
    #[serde(default)]
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(alias = "input", default)]
    source: Lines,
    #[serde(default)]
    outputs: Vec<CellOutput>,
}

#[derive(Deserialize)]
struct CellOutput {
    #[serde(default)]
    text: Lines,
    #[serde(default)]
    data: CellData,
}

#[derive(Deserialize, Default)]
struct CellData {
    #[serde(rename = "text/plain", default)]
    plain: Lines,
}

/// A text, or its lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Whole(String),
    Each(Vec<String>),
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::Whole(String::new())
    }
}

impl Lines {
    fn into_text(self) -> String {
        match self {
            Lines::Whole(text) => text,
            Lines::Each(lines) => lines.concat(),
        }
    }
}

/// Makes Markdown of a notebook: its text as it is, its code and its output in fences.
pub(super) fn notebook(json: &str) -> Result<String, String> {
    let notebook: Notebook =
        serde_json::from_str(json).map_err(|error| format!("not a notebook: {error}"))?;
    let mut text = String::new();
    let cells =
        notebook.cells.into_iter().chain(notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells));
    for cell in cells {
        let source = cell.source.into_text();
        if cell.cell_type == "code" {
            push_fenced(&mut text, &source);
        } else {
            text.push_str(&source);
            text.push_str("\n\n");
        }
        for output in cell.outputs {
            push_fenced(&mut text, &output.text.into_text());
            push_fenced(&mut text, &output.data.plain.into_text());
        }
    }
    Ok(text)
}

fn push_fenced(text: &mut String, code: &str) {
    if code.trim().is_empty() {
        return;
    }
    // A fence is longer than any in the code.
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    text.push_str(&format!("{fence}\n{}\n{fence}\n\n", code.trim_end_matches('\n')));
}
