//! The passages of a long text that answer a question: it is cut at sentences, and those passages are quoted
//! that hold most of the question's words (greedy maximum coverage; Tombros and Sanderson, 1998).
//!
//! `scripts/bench recall` measures what is quoted. The vectors of passages would choose no better: of 179
//! questions about long chats, the sentence of the answer reaches the model as often.

use super::fold::{fold, fold_beginning};
use super::languages::{Languages, Stem};
use super::terms;
use std::collections::HashSet;
use std::ops::Range;

/// The greatest length of a passage, in bytes.
const PASSAGE_BYTES: usize = 480;

/// The greatest length of a text that is quoted whole, and of the passages of another one together, in bytes.
const QUOTED_BYTES: usize = 960;

/// A passage says the same as another text that has this part of its words.
const SAME: f64 = 0.9;

/// The number of words of a long question that count.
const MAX_WORDS: usize = 64;

/// Stands where a quotation leaves something out.
const GAP: &str = "[...]";

/// The byte ranges of the passages of a text that answer a question, in their order; `None` if it is short
/// enough to be quoted whole. They follow from the two alone.
pub fn quoted_ranges(text: &str, question: &SoughtWords) -> Option<Vec<Range<usize>>> {
    (text.len() > QUOTED_BYTES).then(|| choose(text, question, |_| true))
}

/// The ranges of the best passages of a long text, of those that are wanted.
fn choose(text: &str, question: &SoughtWords, mut is_wanted: impl FnMut(&str) -> bool) -> Vec<Range<usize>> {
    let passages = passages(text);
    let held: Vec<Vec<usize>> =
        passages.iter().map(|passage| question.held(&text[passage.clone()])).collect();
    let mut left: Vec<usize> = (0..passages.len()).collect();
    let (mut chosen, mut covered, mut bytes) =
        (Vec::new(), vec![false; question.words.len() + question.pieces.len()], 0);
    while let Some(best) = (0..left.len()).max_by_key(|at| {
        let held = &held[left[*at]];
        (held.iter().filter(|term| !covered[**term]).count(), held.len(), std::cmp::Reverse(left[*at]))
    }) {
        let passage = left.swap_remove(best);
        let together = bytes + passages[passage].len();
        if together > QUOTED_BYTES && !chosen.is_empty() {
            break;
        }
        if !is_wanted(&text[passages[passage].clone()]) {
            continue;
        }
        bytes = together;
        held[passage].iter().for_each(|term| covered[*term] = true);
        chosen.push(passage);
    }
    chosen.sort_unstable();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for Range { start, end } in chosen.into_iter().map(|passage| passages[passage].clone()) {
        match ranges.last_mut() {
            Some(last) if text[last.end..start].trim().is_empty() => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}

/// The texts and passages that are quoted for a question, none that says the same as an earlier one.
pub struct Quotations<'a> {
    question: &'a SoughtWords,
    /// The words of each.
    quoted: Vec<HashSet<String>>,
    /// The words of those that were added, in their order, each between spaces.
    added: Vec<String>,
}

impl Quotations<'_> {
    /// Nothing is quoted yet.
    pub fn new(question: &SoughtWords) -> Quotations<'_> {
        Quotations { question, quoted: Vec::new(), added: Vec::new() }
    }

    /// Adds a text that stands elsewhere.
    pub fn add(&mut self, text: &str) {
        self.quoted.push(all_words(text));
        self.added.push(words_in_order(text));
    }

    /// Whether an added text has all words of another one, in a row.
    pub fn have(&self, text: &str) -> bool {
        let words = words_in_order(text);
        words != " " && self.added.iter().any(|added| added.contains(&words))
    }

    /// The byte ranges that are quoted of the next text, as `quoted_ranges`; empty if there is nothing new in
    /// it.
    pub fn ranges(&mut self, text: &str) -> Option<Vec<Range<usize>>> {
        if text.len() <= QUOTED_BYTES {
            self.quoted.push(all_words(text));
            return None;
        }
        Some(choose(text, self.question, |passage| {
            let words = all_words(passage);
            let shared = self.quoted.iter().map(|quoted| words.intersection(quoted).count()).max();
            let is_new = (shared.unwrap_or(0) as f64) < SAME * words.len() as f64;
            self.quoted.extend(is_new.then_some(words));
            is_new
        }))
    }
}

/// The words of a text, each between spaces.
fn words_in_order(text: &str) -> String {
    let folded = fold(text);
    let mut words = " ".to_owned();
    for word in terms::words(&folded) {
        words.push_str(word);
        words.push(' ');
    }
    words
}

/// The words of a text, each once; in a script without spaces their pieces.
fn all_words(text: &str) -> HashSet<String> {
    let folded = fold(text);
    let mut all = HashSet::new();
    for word in terms::words(&folded) {
        let pieces = if word.contains(terms::is_unspaced) { terms::pieces(word) } else { vec![word] };
        all.extend(pieces.into_iter().map(str::to_owned));
    }
    all
}

/// The words of a question for which passages are chosen.
pub struct SoughtWords {
    /// Words, except stop words.
    words: Vec<SoughtWord>,
    /// The pieces of words in a script without spaces.
    pieces: Vec<String>,
}

impl SoughtWords {
    /// Reads a question in some languages, of a long one the beginning.
    pub fn of(question: &str, languages: Languages) -> SoughtWords {
        let mut sought = SoughtWords { words: Vec::new(), pieces: Vec::new() };
        for word in terms::words(&fold_beginning(question)).take(MAX_WORDS) {
            if word.contains(terms::is_unspaced) {
                let pieces = terms::pieces(word).into_iter().map(str::to_owned);
                let new: Vec<String> = pieces.filter(|piece| !sought.pieces.contains(piece)).collect();
                sought.pieces.extend(new);
            } else if !languages.is_stop_word(word) && sought.position(word).is_none() {
                sought.words.push(SoughtWord { text: word.to_owned(), stems: languages.stems(word) });
            }
        }
        sought
    }

    /// The position of the sought word that is the same, or has a stem of it. Most words begin otherwise, and
    /// are not stemmed.
    fn position(&self, word: &str) -> Option<usize> {
        let is_same = |stem: &Stem| stem.is_of(word);
        self.words.iter().position(|sought| word == sought.text || sought.stems.iter().any(is_same))
    }

    /// Those that a passage holds, as numbers.
    fn held(&self, passage: &str) -> Vec<usize> {
        let folded = fold(passage);
        let mut held: Vec<usize> = terms::words(&folded).filter_map(|word| self.position(word)).collect();
        let pieces = self.pieces.iter().enumerate().filter(|(_, piece)| folded.contains(piece.as_str()));
        held.extend(pieces.map(|(at, _)| self.words.len() + at));
        held.sort_unstable();
        held.dedup();
        held
    }
}

/// A word that is sought, and the stems that make others the same.
struct SoughtWord {
    text: String,
    stems: Vec<Stem>,
}

/// The text of some ranges of a longer one, with marks where something is left out; `None` if they are none
/// of it.
pub fn quotation(text: &str, ranges: &[Range<usize>]) -> Option<String> {
    let (mut quotation, mut end) = (String::new(), 0);
    for range in ranges {
        if range.start < end {
            return None;
        }
        let (left_out, passage) = (text.get(end..range.start)?, text.get(range.clone())?);
        quotation.push_str(&mark(left_out));
        quotation.push_str(passage);
        end = range.end;
    }
    quotation.push_str(&mark(text.get(end..)?));
    Some(quotation.trim().to_owned())
}

/// The mark in place of a text: between words, or on a line of its own.
fn mark(left_out: &str) -> String {
    match left_out {
        blank if blank.trim().is_empty() => blank.to_owned(),
        lines if lines.contains('\n') => format!("\n{GAP}\n"),
        _ => format!(" {GAP} "),
    }
}

/// The passages of a text: sentences, or lines of code, joined up to a length; what fits is never split.
fn passages(text: &str) -> Vec<Range<usize>> {
    let mut passages: Vec<Range<usize>> = Vec::new();
    for Range { start, end } in units(text) {
        match passages.last_mut() {
            Some(last) if end - last.start <= PASSAGE_BYTES => last.end = end,
            _ => passages.push(start..end),
        }
    }
    passages
}

/// The sentences and the blocks of code of a text, without the white space around them; what is longer than a
/// passage, or than a quotation if it is a block of code, in pieces.
fn units(text: &str) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        let Some(fence) = fence(&text[line.clone()]) else {
            sentences(text, line, &mut units);
            continue;
        };
        let mut code = vec![line.clone()];
        for next in lines.by_ref() {
            let ends = text[next.clone()].trim() == fence;
            code.push(next);
            if ends {
                break;
            }
        }
        let whole = line.start..code.last().map_or(line.end, |last| last.end);
        if text[whole.clone()].trim().len() <= QUOTED_BYTES {
            push_trimmed(text, whole, &mut units);
        } else {
            for line in code {
                push_pieces(text, line, &mut units);
            }
        }
    }
    units
}

/// The lines of a text with their ends.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = end;
        end += line.len();
        start..end
    })
}

/// The mark that ends the block of code which begins with a line.
fn fence(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark))
}

/// Appends the sentences of a line.
fn sentences(text: &str, line: Range<usize>, units: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    let mut chars = text[line.clone()].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '。' | '！' | '？' | '｡' => true,
            '.' | '!' | '?' | '…' => next.is_none_or(char::is_whitespace),
            // After the end of a sentence, and before white space.
            '"' | '\'' | ')' | ']' | '”' | '’' => {
                next.is_some_and(char::is_whitespace)
                    && text[..line.start + at].ends_with(['.', '!', '?', '…', '。', '！', '？'])
            }
            _ => false,
        };
        if ends {
            let end = line.start + at + c.len_utf8();
            push_pieces(text, start..end, units);
            start = end;
        }
    }
    push_pieces(text, start..line.end, units);
}

/// Appends a range; a long one in pieces that end between words, if there is a space in the second half of
/// one.
fn push_pieces(text: &str, mut range: Range<usize>, units: &mut Vec<Range<usize>>) {
    while text[range.clone()].trim().len() > PASSAGE_BYTES {
        range.start = range.end - text[range.clone()].trim_start().len();
        let most = text.floor_char_boundary(range.start + PASSAGE_BYTES);
        let half = text.floor_char_boundary(range.start + PASSAGE_BYTES / 2);
        let end = text[half..most].rfind(char::is_whitespace).map_or(most, |space| half + space);
        push_trimmed(text, range.start..end, units);
        range.start = end;
    }
    push_trimmed(text, range, units);
}

/// Appends a range without the white space around it, if anything is left.
fn push_trimmed(text: &str, range: Range<usize>, units: &mut Vec<Range<usize>>) {
    let own = &text[range.clone()];
    let start = range.end - own.trim_start().len();
    let end = range.start + own.trim_end().len();
    if start < end {
        units.push(start..end);
    }
}

#[cfg(test)]
mod tests;
