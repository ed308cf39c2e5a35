//! The outline of a text: its headings, from which its sections follow.

use std::ops::Range;

/// A text as a parser of a format gives it.
#[derive(Default, Debug)]
pub(super) struct Extract {
    /// The title that the document gives itself, if any.
    pub(super) title: Option<String>,
    /// The description that the document gives itself, if any.
    pub(super) description: Option<String>,
    pub(super) text: String,
    /// The headings, in the order of the text.
    pub(super) headings: Vec<Heading>,
    /// Whether the text is Markdown, whose signs are left out of abstracts.
    pub(super) markdown: bool,
    /// Where a section that is too long may be cut.
    pub(super) breaks: Breaks,
}

impl Extract {
    /// Appends a paragraph, or a heading where there is a level; nothing if it has no words.
    pub(super) fn push_paragraph(&mut self, level: Option<u8>, words: &str) {
        let words = words.trim();
        if words.is_empty() {
            return;
        }
        let start = self.text.len();
        if let Some(level) = level.map(|level| level.clamp(1, 6)) {
            let title = words.split_whitespace().collect::<Vec<_>>().join(" ");
            self.text.extend(std::iter::repeat_n('#', usize::from(level)));
            self.text.push(' ');
            self.text.push_str(&title);
            self.headings.push(Heading { level, start, end: self.text.len(), title });
        } else {
            self.text.push_str(words);
        }
        self.text.push_str("\n\n");
    }

    /// Takes the title from a heading if the document has none: the first of level 1, or one that begins the
    /// text.
    pub(super) fn add_title(&mut self) {
        if self.title.is_none() {
            let is_first = |heading: &Heading| self.text[..heading.start].trim().is_empty();
            let title = self.headings.iter().find(|heading| heading.level == 1 || is_first(heading));
            self.title = title.map(|heading| heading.title.clone()).filter(|title| !title.is_empty());
        }
    }

    /// The headings in a part of the text.
    pub(super) fn headings_in(&self, range: &Range<usize>) -> &[Heading] {
        let before = |at: usize| self.headings.partition_point(|heading| heading.start < at);
        &self.headings[before(range.start)..before(range.end)]
    }

    /// Appends a text with its headings.
    pub(super) fn push_extract(&mut self, other: Extract) {
        let to = self.text.len();
        self.text.push_str(&other.text);
        self.text.push_str("\n\n");
        let moved =
            |heading: Heading| Heading { start: heading.start + to, end: heading.end + to, ..heading };
        self.headings.extend(other.headings.into_iter().map(moved));
    }
}

/// A heading: the section that begins with it ends at the next of its level or a higher one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Heading {
    /// From 1, the highest.
    pub(super) level: u8,
    /// Where its line begins, and where the text after it begins, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) title: String,
}

/// The places between which a text is kept together if it can be.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Breaks {
    /// Paragraphs, which blank lines separate.
    #[default]
    BlankLines,
    Lines,
    /// The rows of a table, in which a quoted field may have line ends.
    Rows,
}
