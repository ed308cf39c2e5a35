//! The parts of a page, of which the main one is read.

use super::outline::{Extract, Heading};
use std::ops::Range;

/// The parts of the text of a page in the main element, in articles, in navigation, and beside these.
#[derive(Default)]
pub(super) struct PageParts {
    pub(super) main: Parts,
    pub(super) articles: Parts,
    pub(super) navigation: Parts,
    pub(super) margins: Parts,
}

/// Parts of the text, in order and apart from each other.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) ranges: Vec<Range<usize>>,
    /// The number of open elements that such a part is in.
    pub(super) open: usize,
}

impl Parts {
    pub(super) fn begin(&mut self, at: usize) {
        self.open += 1;
        if self.open == 1 {
            self.ranges.push(at..at);
        }
    }

    pub(super) fn end(&mut self, at: usize) {
        self.open = self.open.saturating_sub(1);
        if let (0, Some(last)) = (self.open, self.ranges.last_mut()) {
            last.end = at;
        }
    }

    pub(super) fn finish(&mut self, at: usize) {
        self.open = self.open.min(1);
        if self.open == 1 {
            self.end(at);
        }
    }
}

impl PageParts {
    /// Ends the parts that are open.
    pub(super) fn finish(&mut self, at: usize) {
        for parts in [&mut self.main, &mut self.articles, &mut self.navigation, &mut self.margins] {
            parts.finish(at);
        }
    }

    /// Takes from the parts what a text lost that was cut at a place.
    pub(super) fn truncate(&mut self, len: usize) {
        for parts in [&mut self.main, &mut self.articles, &mut self.navigation, &mut self.margins] {
            for range in parts.ranges.iter_mut().rev().take_while(|range| range.start.max(range.end) > len) {
                *range = range.start.min(len)..range.end.min(len);
            }
        }
    }

    /// The parts of the text that are read: the main part; else the articles, if most words are in them; else
    /// all but navigation and what is beside; of a page of nothing else, that.
    pub(super) fn chosen(&self, text: &str, headings: &[Heading]) -> Vec<Range<usize>> {
        let whole = 0..text.len();
        let without = |from: &[Range<usize>], parts: &Parts| subtract(from, &parts.ranges);
        let words =
            |parts: &[Range<usize>]| -> usize { parts.iter().map(|part| letters(&text[part.clone()])).sum() };
        let all = without(std::slice::from_ref(&whole), &self.navigation);
        let centre = without(&all, &self.margins);
        let main = without(&self.main.ranges, &self.navigation);
        let articles = without(&self.articles.ranges, &self.navigation);
        let mut chosen = if words(&main) > 0 {
            main
        } else if words(&articles) > 0 && 2 * words(&articles) >= words(&centre) {
            articles
        } else if words(&centre) > 0 {
            centre
        } else if words(&all) > 0 {
            all
        } else {
            vec![whole]
        };
        self.add_title_of_page(headings, &mut chosen);
        chosen
    }

    /// Adds the title that stands in a header, if the main part has none.
    fn add_title_of_page(&self, headings: &[Heading], chosen: &mut Vec<Range<usize>>) {
        let is_title = |heading: &&Heading| heading.level == 1;
        let within = |parts: &[Range<usize>], heading: &Heading| {
            let after = parts.partition_point(|part| part.end <= heading.start);
            parts.get(after).is_some_and(|part| part.start <= heading.start)
        };
        if headings.iter().filter(is_title).any(|heading| within(chosen, heading)) {
            return;
        }
        let apart = |heading: &&Heading| {
            !within(&self.navigation.ranges, heading) && !within(&self.articles.ranges, heading)
        };
        let title = headings.iter().filter(is_title).find(apart).filter(|heading| !within(chosen, heading));
        if let Some(title) = title {
            let at = chosen.partition_point(|part| part.start < title.start);
            chosen.insert(at, title.start..title.end);
        }
    }
}

/// The number of letters and digits.
fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

/// The parts of some ranges that are in none of the others; both are in order.
fn subtract(parts: &[Range<usize>], others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut rest = Vec::new();
    let mut others = others.iter().peekable();
    for part in parts {
        let mut start = part.start;
        while others.next_if(|other| other.end <= start).is_some() {}
        while let Some(other) = others.peek().filter(|other| other.start < part.end) {
            if other.start > start {
                rest.push(start..other.start);
            }
            start = other.end.max(start);
            // One that goes beyond this part may be in the next one too.
            if other.end > part.end {
                break;
            }
            others.next();
        }
        if start < part.end {
            rest.push(start..part.end);
        }
    }
    rest
}

/// Takes parts of a text, in order, and the headings in them.
pub(super) fn keep_parts(extract: &mut Extract, text: &str, headings: &[Heading], parts: &[Range<usize>]) {
    let mut headings = headings.iter().peekable();
    for part in parts {
        let words = text[part.clone()].trim();
        if words.is_empty() {
            continue;
        }
        if !extract.text.is_empty() {
            extract.text.push_str("\n\n");
        }
        let skipped = text[part.clone()].len() - text[part.clone()].trim_start().len();
        let (from, to) = (part.start + skipped, extract.text.len());
        extract.text.push_str(&text[from..part.end]);
        while headings.next_if(|heading| heading.start < from).is_some() {}
        while let Some(heading) = headings.next_if(|heading| heading.start < part.end) {
            let (start, end) = (heading.start - from + to, heading.end.min(part.end) - from + to);
            extract.headings.push(Heading { start, end, ..heading.clone() });
        }
    }
}
