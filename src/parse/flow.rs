//! The text of a document of a word processor, from its paragraphs, tables, notes and text boxes as they are
//! read.

use super::container::TextLimit;
use super::math::runs_into;
use super::outline::{Breaks, Extract};
use std::mem;

/// A text that is being made. Each nested part has a frame, so that its words do not run into those around
/// it: notes and text boxes stand after the paragraph or the row that has them.
pub(super) struct Flow {
    extract: Extract,
    frames: Vec<FlowFrame>,
    /// The notes and the text boxes of the current paragraph or row.
    waiting: Vec<String>,
    notes: usize,
    /// The number of open frames that are deeper than frames are kept.
    deeper: usize,
    /// Whether the last block is an item of a list.
    after_item: bool,
    limit: TextLimit,
}

/// The deepest nesting; what is deeper belongs to the frame above it.
const MAX_FRAMES: usize = 64;

struct FlowFrame {
    kind: FrameKind,
    /// The open paragraph.
    paragraph: String,
    form: Form,
    /// The cells of a row, the paragraphs of the others.
    parts: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum FrameKind {
    Body,
    Row,
    Cell,
    TextBox,
    Note { mark: String },
}

/// The form of a paragraph.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Form {
    /// The level of a heading, from 1.
    pub(super) level: Option<u8>,
    /// The sign or number of an item, if the paragraph begins one, and the depth of its list, from 0.
    pub(super) item: Option<(String, usize)>,
}

impl Default for Flow {
    fn default() -> Flow {
        let extract = Extract { markdown: true, breaks: Breaks::BlankLines, ..Extract::default() };
        let frames = vec![FlowFrame::new(FrameKind::Body)];
        Flow {
            extract,
            frames,
            waiting: Vec::new(),
            notes: 0,
            deeper: 0,
            after_item: false,
            limit: TextLimit::default(),
        }
    }
}

impl FlowFrame {
    fn new(kind: FrameKind) -> FlowFrame {
        FlowFrame { kind, paragraph: String::new(), form: Form::default(), parts: Vec::new() }
    }

    fn parts(mut self, separator: &str) -> String {
        let rest = words_of(&self.paragraph);
        self.parts.push(rest);
        self.parts.retain(|part| !part.is_empty());
        self.parts.join(separator)
    }
}

fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Flow {
    /// The frame that takes words.
    fn top(&mut self) -> Option<&mut FlowFrame> {
        self.frames.last_mut()
    }

    /// The form of the open paragraph.
    pub(super) fn form(&mut self) -> Option<&mut Form> {
        self.top().map(|frame| &mut frame.form)
    }

    /// Appends to the open paragraph.
    pub(super) fn push(&mut self, text: &str) {
        if self.limit.take(text)
            && let Some(frame) = self.top()
        {
            frame.paragraph.push_str(text);
        }
    }

    /// Whether the open paragraph has no words.
    pub(super) fn is_blank(&self) -> bool {
        self.frames.last().is_none_or(|frame| frame.paragraph.trim().is_empty())
    }

    /// Appends text, raised or not.
    pub(super) fn push_text(&mut self, text: &str, is_raised: bool) {
        if is_raised {
            self.push_raised(text);
        } else {
            self.push(text);
        }
    }

    /// Appends raised text: after a word or a number, one that is a number is an exponent or a mark.
    fn push_raised(&mut self, text: &str) {
        if self.top().is_some_and(|frame| is_exponent(&frame.paragraph, text)) {
            self.push("^");
        }
        self.push(text);
    }

    /// Appends words that stand apart from those before and after them.
    pub(super) fn push_apart(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.push(" ");
            self.push(text.trim());
            self.push(" ");
        }
    }

    /// Appends an equation, apart from a word before it.
    pub(super) fn push_equation(&mut self, text: &str) {
        if self.top().is_some_and(|frame| runs_into(&frame.paragraph, text)) {
            self.push(" ");
        }
        self.push(text);
    }

    /// Ends the paragraph.
    pub(super) fn end_paragraph(&mut self) {
        let is_body = self.frames.len() == 1;
        let Some(frame) = self.top() else { return };
        let (text, form) = (mem::take(&mut frame.paragraph), mem::take(&mut frame.form));
        if is_body {
            self.block(&text, &form);
            return;
        }
        let mut words = words_of(&text);
        if let Some((sign, _)) = form.item.filter(|(sign, _)| !sign.is_empty() && !words.is_empty()) {
            words = format!("{sign} {words}");
        }
        frame.parts.push(words);
    }

    /// Appends a block to the text, and after it what waits.
    fn block(&mut self, text: &str, form: &Form) {
        let after_item = mem::take(&mut self.after_item);
        let words = text.trim();
        match (&form.item, form.level) {
            _ if words.is_empty() => self.after_item = after_item,
            (Some((sign, _)), Some(level)) if !sign.is_empty() => {
                // A sign has no place in a heading, a number does.
                let number = sign.trim_start_matches('-');
                self.extract.push_paragraph(Some(level), &format!("{number} {words}"));
            }
            (Some((sign, depth)), None) if !sign.is_empty() => {
                if after_item && self.waiting.is_empty() {
                    self.extract.text.truncate(self.extract.text.trim_end().len());
                    self.extract.text.push('\n');
                }
                let indent = "  ".repeat((*depth).min(8));
                self.extract.text.push_str(&format!("{indent}{sign} {words}\n\n"));
                self.after_item = true;
            }
            (_, level) => self.extract.push_paragraph(level, words),
        }
        for text in mem::take(&mut self.waiting) {
            self.after_item = false;
            self.extract.push_paragraph(None, &text);
        }
    }

    /// Appends a heading.
    pub(super) fn push_heading(&mut self, level: u8, title: &str) {
        self.block(title, &Form { level: Some(level), item: None });
    }

    /// Begins a row of a table.
    pub(super) fn begin_row(&mut self) {
        self.begin(FrameKind::Row);
    }

    pub(super) fn begin_cell(&mut self) {
        self.begin(FrameKind::Cell);
    }

    pub(super) fn begin_text_box(&mut self) {
        self.begin(FrameKind::TextBox);
    }

    /// Ends a text box, and returns its text instead of adding it.
    pub(super) fn take(&mut self) -> String {
        if self.deeper > 0 || self.frames.len() == 1 {
            self.deeper = self.deeper.saturating_sub(1);
            return String::new();
        }
        self.frames.pop().map(|frame| frame.parts("\n\n")).unwrap_or_default()
    }

    /// Adds a note whose text is known.
    pub(super) fn push_note(&mut self, text: &str) {
        if !text.is_empty() {
            self.begin_note();
            self.push(text);
            self.end();
        }
    }

    /// Ends a paragraph that is the first letter of the next one, or its first word.
    pub(super) fn end_drop_cap(&mut self) {
        if let Some(frame) = self.top() {
            frame.form = Form::default();
            frame.paragraph.truncate(frame.paragraph.trim_end().len());
            if frame.paragraph.chars().filter(|c| c.is_alphanumeric()).count() > 1 {
                frame.paragraph.push(' ');
            }
        }
    }

    /// Begins a note, whose mark stands where it begins unless that is a heading.
    pub(super) fn begin_note(&mut self) {
        self.notes += 1;
        let mark = format!("[^{}]", self.notes);
        if self.form().is_some_and(|form| form.level.is_none()) {
            self.push(&mark);
        }
        self.begin(FrameKind::Note { mark });
    }

    fn begin(&mut self, kind: FrameKind) {
        if self.frames.len() < MAX_FRAMES {
            self.frames.push(FlowFrame::new(kind));
        } else {
            self.deeper += 1;
        }
    }

    /// Ends what began last: a row, a cell, a text box or a note.
    pub(super) fn end(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return self.push(" ");
        }
        if self.frames.len() == 1 {
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        let is_outermost = self.frames.len() == 1;
        match frame.kind.clone() {
            FrameKind::Body => {}
            FrameKind::Cell => {
                let text = frame.parts(" ");
                match self.top() {
                    Some(row) if row.kind == FrameKind::Row => row.parts.push(text),
                    _ => self.push_apart(&text),
                }
            }
            FrameKind::Row => {
                let cells: Vec<&str> = frame.parts.iter().map(|cell| cell.trim()).collect();
                let last = cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1);
                let first = cells.iter().position(|cell| !cell.is_empty()).unwrap_or(0).min(last);
                if is_outermost {
                    self.block(&cells[first..last].join(" | "), &Form::default());
                } else if let Some(outer) = self.top() {
                    outer.parts.push(cells[first..last].join(", "));
                }
            }
            FrameKind::TextBox => {
                let paragraphs = frame.parts("\n\n");
                self.wait(paragraphs);
            }
            FrameKind::Note { mark } => {
                let paragraphs = frame.parts("\n\n");
                if !paragraphs.is_empty() {
                    self.wait(format!("{mark}: {paragraphs}"));
                }
            }
        }
    }

    fn wait(&mut self, text: String) {
        if !text.is_empty() {
            self.waiting.push(text);
        }
    }

    /// The text, with its headings; an error if it is too long.
    pub(super) fn finish(mut self) -> Result<Extract, String> {
        self.limit.check()?;
        while self.frames.len() > 1 {
            self.end();
        }
        self.end_paragraph();
        // Of a text box that no paragraph has.
        self.block("", &Form::default());
        Ok(self.extract)
    }
}

/// Whether raised text is an exponent of the text before it, or a mark on it, and not the end of a word, as
/// in `1st`.
pub(super) fn is_exponent(before: &str, raised: &str) -> bool {
    let sign = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '−');
    before.chars().next_back().is_some_and(char::is_alphanumeric) && raised.starts_with(sign)
}
