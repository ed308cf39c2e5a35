//! Breaks text into the lines of a terminal.

use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// The least width for a word, in columns.
const MIN_WORD_COLUMNS: usize = 10;

/// The columns for the beginning of a word that ends on a later line: two wide characters.
const MIN_WIDE_COLUMNS: usize = 4;

/// The space around a text.
pub(super) struct Margins {
    /// The columns of the terminal.
    pub(super) width: usize,
    /// The columns that are taken on the first line.
    pub(super) indent: usize,
    /// The columns that are left empty on all others.
    pub(super) hanging: usize,
}

/// A line on a terminal.
#[derive(PartialEq, Debug)]
pub(super) struct Line {
    /// The columns of its own indentation, within the margins.
    pub(super) indent: usize,
    /// The part of the text on it, in bytes.
    pub(super) part: Range<usize>,
}

/// A text in at most this many columns; an ellipsis stands for the rest.
pub(super) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    format!("{}…", text.chars().take_while(fits).collect::<String>().trim_end())
}

/// Breaks text into lines that fit between the margins. A line of the text keeps its indentation, and so do
/// the lines into which it is broken, up to half of the width. Words that are longer than a line are broken,
/// and Chinese and Japanese anywhere. The first line is empty where there would be no room for a word, or
/// where indented lines would begin further left than the first.
// By hand: textwrap keeps blanks at the start of a line, and begins beside the heading however little room
// there is.
pub(super) fn wrap(text: &str, margins: &Margins) -> Vec<Line> {
    let text = text.trim_end();
    let is_misaligned = margins.hanging != margins.indent && text.contains("\n ");
    let mut lines = Lines { lines: Vec::new(), margins };
    if margins.indent + MIN_WORD_COLUMNS > margins.width || is_misaligned {
        lines.lines.push(Line { indent: 0, part: 0..0 });
    }
    let mut start = 0;
    for paragraph in text.split('\n') {
        let words = paragraph.trim_start_matches(' ');
        lines.add(words, start + paragraph.len() - words.len(), paragraph.len() - words.len());
        start += paragraph.len() + 1;
    }
    lines.lines
}

struct Lines<'a> {
    lines: Vec<Line>,
    margins: &'a Margins,
}

impl Lines<'_> {
    /// Adds one line of the text, from `start` on, which is so far indented.
    fn add(&mut self, words: &str, start: usize, indent: usize) {
        let (mut line, mut end, mut used, mut at) = (start, start, 0, start);
        for word in words.split(' ') {
            let needed = if breaks_anywhere(word) { MIN_WIDE_COLUMNS } else { columns(word) };
            if used > 0 && used + 1 + needed > self.columns_left(indent) {
                self.push(line..end, indent);
                used = 0;
            } else if used > 0 {
                used += 1;
            }
            if used == 0 {
                (line, end) = (at, at);
            }
            for (offset, c) in word.char_indices() {
                let columns = c.width().unwrap_or(0);
                if used + columns > self.columns_left(indent) {
                    self.push(line..end, indent);
                    (line, used) = (at + offset, 0);
                }
                used += columns;
                end = at + offset + c.len_utf8();
            }
            at += word.len() + 1;
        }
        self.push(line..end, indent);
    }

    /// The columns of the next line for a text that is so far indented.
    fn columns_left(&self, indent: usize) -> usize {
        let columns = self.columns();
        (columns - indent.min(columns / 2)).max(MIN_WORD_COLUMNS)
    }

    /// The columns of the next line between the margins.
    fn columns(&self) -> usize {
        let taken = if self.lines.is_empty() { self.margins.indent } else { self.margins.hanging };
        self.margins.width.saturating_sub(taken)
    }

    fn push(&mut self, part: Range<usize>, indent: usize) {
        let indent = indent.min(self.columns() / 2);
        self.lines.push(Line { indent, part });
    }
}

/// Whether a word is of a script without blanks between words, Chinese or Japanese, whose lines end anywhere.
fn breaks_anywhere(word: &str) -> bool {
    let first = word.chars().next();
    first.is_some_and(
        |c| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'),
    )
}

/// The columns of a text on one line.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize, indent: usize, hanging: usize) -> Vec<String> {
        let lines = wrap(text, &Margins { width, indent, hanging });
        lines.into_iter().map(|line| " ".repeat(line.indent) + &text[line.part]).collect()
    }

    #[test]
    fn lines_fit_and_lose_nothing() {
        let text = "one two three\nfour 漢字漢字漢字漢字 supercalifragilistic";
        assert_eq!(
            wrapped(text, 20, 8, 4),
            ["one two", "three", "four 漢字漢字漢", "字漢字", "supercalifragili", "stic"]
        );
        assert_eq!(wrapped("one two", 20, 12, 4), ["", "one two"]);
        assert_eq!(
            wrapped("e\u{301}e\u{301}e\u{301}e\u{301} x", 14, 4, 4),
            ["e\u{301}e\u{301}e\u{301}e\u{301} x"]
        );
    }

    #[test]
    fn indentation_and_blank_lines_are_kept() {
        let code = "fn main() {\n    if  x {\n\n        print one more word;\n    }\n}";
        assert_eq!(
            wrapped(code, 30, 4, 4),
            ["fn main() {", "    if  x {", "", "        print one more", "        word;", "    }", "}"]
        );
        assert_eq!(wrapped("    a\n  b", 40, 10, 10), ["    a", "  b"]);
        // Where the first line is elsewhere than the others, the text begins below it.
        assert_eq!(wrapped("a:\n  b", 40, 24, 4), ["", "a:", "  b"]);
        let deep = " ".repeat(50) + "deep down";
        assert_eq!(wrapped(&format!("a\n{deep}"), 40, 4, 4)[1], " ".repeat(18) + "deep down");
    }
}
