//! Splits a text into sections, at its headings. Sections of a text follow each other without gap or overlap,
//! so that nothing of it is lost.

use super::outline::{Breaks, Extract, Heading};
use super::rows;
use super::tokens::{LIMIT, SMALL, Tokens};
use std::ops::Range;

/// The greatest length of a piece of a paragraph that is too long for a section, in characters.
const SLICE_CHARS: usize = 3072;

/// A section: a part of a text, or sections.
#[derive(Debug)]
pub(super) struct Section {
    /// For people.
    pub(super) title: String,
    /// The title from which the name in the address is made.
    pub(super) name: String,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Leaf(Range<usize>),
    Directory(Vec<Section>),
}

/// Splits a text. One that fits, or has nothing to split at, is one leaf.
pub(super) fn split(extract: &Extract, title: &str) -> Body {
    let mut root = HeadingTree::build(&extract.text, &extract.headings);
    if root.tokens <= LIMIT {
        return Body::Leaf(0..extract.text.len());
    }
    // A heading above all others is the title of the whole.
    if root.children.len() == 1 {
        root.adopt_only_child();
    }
    let splitter = Splitter { text: &extract.text, breaks: extract.breaks };
    if root.children.is_empty() {
        return Body::Directory(splitter.cut(0..extract.text.len(), title));
    }
    Body::Directory(splitter.sections(&root, 0, Tokens::default(), title))
}

/// A heading with everything below it.
#[derive(Default)]
struct HeadingTree<'a> {
    title: &'a str,
    end: usize,
    /// The end of its own text, before the first heading below it.
    own_end: usize,
    /// Whether there are words of its own besides the heading.
    has_own: bool,
    own_tokens: Tokens,
    /// Of the own text and all below.
    tokens: Tokens,
    children: Vec<HeadingTree<'a>>,
}

impl<'a> HeadingTree<'a> {
    /// Builds the tree of a text, whose root has no heading.
    fn build(text: &str, headings: &'a [Heading]) -> HeadingTree<'a> {
        let end_of_own = |next: usize| headings.get(next).map_or(text.len(), |heading| heading.start);
        let mut open = vec![(0, HeadingTree::begin(text, "", 0..end_of_own(0), 0))];
        for (at, heading) in headings.iter().enumerate() {
            while open.len() > 1 && open[open.len() - 1].0 >= heading.level {
                HeadingTree::close(&mut open, heading.start);
            }
            let own = heading.start..end_of_own(at + 1);
            open.push((heading.level, HeadingTree::begin(text, &heading.title, own, heading.end)));
        }
        while open.len() > 1 {
            HeadingTree::close(&mut open, text.len());
        }
        let mut root = open.pop().map(|(_, root)| root).unwrap_or_default();
        root.end = text.len();
        root
    }

    fn begin(text: &str, title: &'a str, own: Range<usize>, body: usize) -> HeadingTree<'a> {
        let tokens = Tokens::of(&text[own.clone()]);
        let has_own = text[body.min(own.end)..own.end].chars().any(char::is_alphanumeric);
        let (end, own_end) = (own.end, own.end);
        HeadingTree { title, end, own_end, has_own, own_tokens: tokens, tokens, children: Vec::new() }
    }

    /// Ends the innermost open heading.
    fn close(open: &mut Vec<(u8, HeadingTree<'a>)>, end: usize) {
        if let (Some((_, mut tree)), Some((_, above))) = (open.pop(), open.last_mut()) {
            tree.end = end;
            above.tokens = above.tokens + tree.tokens;
            above.children.push(tree);
        }
    }

    /// Makes the headings below its only child its own.
    fn adopt_only_child(&mut self) {
        if let Some(child) = self.children.pop() {
            self.own_end = child.own_end;
            self.has_own |= child.has_own;
            self.own_tokens = self.own_tokens + child.own_tokens;
            self.children = child.children;
        }
    }
}

/// A part of a directory: the text before its first section, or adjacent sections.
struct Piece<'a, 'b> {
    range: Range<usize>,
    tokens: Tokens,
    /// Of the headings above it that precede it.
    carried: Tokens,
    title: &'b str,
    /// The number of sections that have joined.
    count: usize,
    /// The section, if it is one.
    tree: Option<&'b HeadingTree<'a>>,
}

struct Splitter<'t> {
    text: &'t str,
    breaks: Breaks,
}

impl Splitter<'_> {
    /// The sections of a heading with others below it, from `start`, which is before it by `carried` tokens
    /// if headings without a text of their own lead to it.
    fn sections(&self, tree: &HeadingTree, start: usize, carried: Tokens, title: &str) -> Vec<Section> {
        let mut pieces = Vec::new();
        let (mut start, mut carried) = (start, carried + tree.own_tokens);
        if tree.has_own {
            let range = start..tree.own_end;
            let (tokens, none) = (std::mem::take(&mut carried), Tokens::default());
            pieces.push(Piece { range, tokens, carried: none, title, count: 1, tree: None });
            start = tree.own_end;
        }
        for child in &tree.children {
            let range = std::mem::replace(&mut start, child.end)..child.end;
            let carried = std::mem::take(&mut carried);
            let tokens = carried + child.tokens;
            pieces.push(Piece { range, tokens, carried, title: child.title, count: 1, tree: Some(child) });
        }
        join(pieces).into_iter().flat_map(|piece| self.piece(piece)).collect()
    }

    fn piece(&self, piece: Piece) -> Vec<Section> {
        let title = piece.title;
        if piece.count > 1 {
            let more = piece.count - 1;
            let body = Body::Leaf(piece.range);
            return vec![Section {
                title: format!("{title} and {more} more"),
                name: format!("{title} {more}more"),
                body,
            }];
        }
        match piece.tree {
            _ if piece.tokens <= LIMIT => vec![leaf(title, piece.range)],
            Some(tree) if !tree.children.is_empty() => {
                let body = Body::Directory(self.sections(tree, piece.range.start, piece.carried, title));
                vec![Section { title: title.to_owned(), name: title.to_owned(), body }]
            }
            _ => self.cut(piece.range, title),
        }
    }

    /// Cuts a text without headings at its paragraphs, and paragraphs that are too long at their words.
    fn cut(&self, range: Range<usize>, title: &str) -> Vec<Section> {
        let mut parts: Vec<(Range<usize>, Tokens)> = Vec::new();
        for paragraph in self.paragraphs(range) {
            let tokens = Tokens::of(&self.text[paragraph.clone()]);
            match parts.last_mut() {
                Some((last, sum)) if *sum + tokens <= LIMIT => {
                    last.end = paragraph.end;
                    *sum = *sum + tokens;
                }
                _ if tokens <= LIMIT => parts.push((paragraph, tokens)),
                // Nothing joins a piece of a paragraph.
                _ => parts.extend(self.slices(paragraph).map(|slice| (slice, LIMIT))),
            }
        }
        let count = parts.len();
        let numbered = parts.into_iter().enumerate().map(|(at, (range, _))| {
            let shown = if count > 1 { format!("{title} ({}/{count})", at + 1) } else { title.to_owned() };
            Section { title: shown, name: title.to_owned(), body: Body::Leaf(range) }
        });
        numbered.collect()
    }

    /// The paragraphs of a part of the text, each with the blank lines that follow it.
    fn paragraphs(&self, range: Range<usize>) -> Vec<Range<usize>> {
        if self.breaks == Breaks::Rows {
            let rows = rows::rows(&self.text[range.clone()]).into_iter();
            return rows.map(|row| range.start + row.start..range.start + row.end).collect();
        }
        let mut paragraphs = Vec::new();
        let (mut start, mut at, mut after_blank) = (range.start, range.start, false);
        for line in self.text[range.clone()].split_inclusive('\n') {
            let blank = line.trim().is_empty();
            let begins = self.breaks == Breaks::Lines || after_blank && !blank;
            if begins && at > start {
                paragraphs.push(start..at);
                start = at;
            }
            after_blank = blank;
            at += line.len();
        }
        paragraphs.push(start..range.end);
        paragraphs
    }

    /// Pieces of at most `SLICE_CHARS` characters, which end at a white space unless there is none.
    fn slices(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut start = range.start;
        std::iter::from_fn(move || {
            let rest = &self.text[start..range.end];
            if rest.is_empty() {
                return None;
            }
            let mut end = rest.char_indices().nth(SLICE_CHARS).map_or(rest.len(), |(at, _)| at);
            if end < rest.len() && !rest[end..].starts_with(char::is_whitespace) {
                let blank = rest[..end].char_indices().rev().find(|(_, c)| c.is_whitespace());
                end = blank.map_or(end, |(at, c)| at + c.len_utf8());
            }
            start += end;
            Some(start - end..start)
        })
    }
}

fn leaf(title: &str, range: Range<usize>) -> Section {
    Section { title: title.to_owned(), name: title.to_owned(), body: Body::Leaf(range) }
}

/// Joins small pieces with their neighbours, as long as these fit together.
fn join<'a, 'b>(pieces: Vec<Piece<'a, 'b>>) -> Vec<Piece<'a, 'b>> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if (last.tokens < SMALL || piece.tokens < SMALL) && last.tokens + piece.tokens <= LIMIT =>
            {
                last.range.end = piece.range.end;
                last.tokens = last.tokens + piece.tokens;
                last.count += 1;
            }
            _ => joined.push(piece),
        }
    }
    joined
}
