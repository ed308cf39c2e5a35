//! Letters into words, by the gaps between them.

use super::bidi::{is_rtl, reading_order};
use super::letters::Letter;

/// The gaps within a line that part words, in parts of the size of its letters. Blanks of justified lines are
/// wider, kerning is less.
const WORD_GAP: f64 = 0.13;
/// How far a letter may lie over the one before, in the same parts.
const OVERLAP: f64 = 0.5;
/// Up to which gap the letters of a word may be spaced out, in the same parts: blanks are wider.
const SPACING: f64 = 0.25;
/// How far letters of a word may differ in height, in the same parts.
const SAME_BASELINE: f64 = 0.1;

/// Letters that stand together.
#[derive(Clone, Debug)]
pub(super) struct Word {
    letters: Vec<Letter>,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) baseline: f64,
    pub(super) size: f64,
    /// Whether the file has blanks at its left and at its right.
    blank_left: bool,
    blank_right: bool,
    /// Whether the file has it right after another word, without a blank.
    continues: bool,
}

impl Word {
    fn new(letter: Letter, continues: bool) -> Word {
        Word {
            left: letter.left,
            right: letter.right,
            baseline: letter.baseline,
            size: letter.size,
            blank_left: false,
            blank_right: false,
            continues,
            letters: vec![letter],
        }
    }

    pub(super) fn top(&self) -> f64 {
        self.baseline - 0.7 * self.size
    }

    pub(super) fn bottom(&self) -> f64 {
        self.baseline + 0.2 * self.size
    }

    pub(super) fn chars(&self) -> impl Iterator<Item = char> {
        self.letters.iter().flat_map(|letter| letter.text.chars())
    }

    pub(super) fn is_rtl(&self) -> bool {
        self.chars().any(is_rtl)
    }

    fn is_alphabetic(&self) -> bool {
        self.chars().all(char::is_alphabetic)
    }

    fn is_one_letter(&self) -> bool {
        let mut chars = self.chars();
        chars.next().is_some() && chars.next().is_none()
    }

    /// Whether it is the raised number of a note, which is no part of the word beside it. An exponent has a
    /// number or a short name before it.
    fn is_note_of(&self, word: &Word) -> bool {
        let is_raised = self.baseline < word.baseline - 0.2 * word.size && self.size < 0.85 * word.size;
        let is_note = self.chars().all(|c| c.is_ascii_digit() || ",*†‡§".contains(c));
        is_raised && is_note && word.chars().filter(|c| c.is_alphabetic()).count() > 2
    }

    /// Whether a letter belongs to this word, before or after it.
    fn joins(&self, letter: &Letter) -> bool {
        let Some(last) = self.letters.last() else { return false };
        let size = last.size.max(letter.size);
        if (last.baseline - letter.baseline).abs() > SAME_BASELINE * size {
            return false;
        }
        let is_rtl = |letter: &Letter| letter.text.chars().any(is_rtl);
        let near = |gap: f64| (-OVERLAP * size..WORD_GAP * size).contains(&gap);
        near(letter.left - last.right) || (is_rtl(last) || is_rtl(letter)) && near(last.left - letter.right)
    }

    /// Notes a blank that the file has before it or after it.
    fn add_blank(&mut self, blank: &Letter) {
        if (self.baseline - blank.baseline).abs() < self.size {
            let is_right = blank.left + blank.right > self.left + self.right;
            *if is_right { &mut self.blank_right } else { &mut self.blank_left } = true;
        }
    }

    fn push(&mut self, letter: Letter) {
        self.left = self.left.min(letter.left);
        self.right = self.right.max(letter.right);
        self.letters.push(letter);
    }
}

/// The words of letters in the order of the file.
pub(super) fn words(letters: Vec<Letter>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut blank: Option<Letter> = None;
    for letter in letters {
        if letter.is_space() {
            if let Some(last) = words.last_mut() {
                last.add_blank(&letter);
            }
            blank = Some(letter);
            continue;
        }
        let blank = blank.take();
        match words.last_mut().filter(|last| blank.is_none() && last.joins(&letter)) {
            Some(last) => last.push(letter),
            None => {
                let mut word = Word::new(letter, !words.is_empty() && blank.is_none());
                if let Some(blank) = blank {
                    word.add_blank(&blank);
                }
                words.push(word);
            }
        }
    }
    words.retain(|word| word.chars().next().is_some());
    words
}

/// The text of the words of a line, which stand from left to right.
pub(super) fn line_text(words: &mut [Word]) -> String {
    let glued = letterspaced(words);
    let apart = |at: usize| at > 0 && !glued[at] && is_apart(&words[at - 1], &words[at]);
    let apart: Vec<bool> = (0..words.len()).map(apart).collect();
    let mut letters: Vec<Letter> = Vec::new();
    for (word, is_apart) in words.iter_mut().zip(apart) {
        if is_apart {
            let (text, at) = (" ".to_owned(), word.left);
            letters.push(Letter { text, left: at, right: at, baseline: word.baseline, size: word.size });
        }
        if word.is_rtl() {
            word.letters.sort_by(|a, b| (a.left + a.right).total_cmp(&(b.left + b.right)));
        }
        letters.append(&mut word.letters);
    }
    reading_order(&mut letters, |letter| &letter.text);
    let text: String = letters.iter().map(|letter| letter.text.as_str()).collect();
    text.trim().to_owned()
}

/// Whether a blank is between two words of a line.
fn is_apart(before: &Word, after: &Word) -> bool {
    let size = before.size.max(after.size);
    let gap = after.left - before.right;
    if before.blank_right || after.blank_left || gap > WORD_GAP * size {
        return true;
    }
    let is_over = gap < -OVERLAP * size && !after.continues;
    // Of numbers of one size, none is an index of the other.
    let is_beside =
        (before.baseline - after.baseline).abs() > SAME_BASELINE * size && before.size == after.size;
    let is_numeric = |c: Option<char>| c.is_some_and(char::is_numeric);
    let are_numbers = is_numeric(before.chars().last()) && is_numeric(after.chars().next());
    is_over || is_beside && are_numbers || after.is_note_of(before) || before.is_note_of(after)
}

/// Whether each word continues the one before it, as the letters of a word that is spaced out: S P A C E D.
fn letterspaced(words: &[Word]) -> Vec<bool> {
    let mut glued = vec![false; words.len()];
    // Where the file has blanks, it has them between all words.
    let has_blanks = words.iter().any(|word| word.blank_left || word.blank_right);
    let least = if has_blanks { 2 } else { 3 };
    let mut start = 0;
    while start < words.len() {
        let is_part = |at: usize| {
            let (before, word) = (&words[at - 1], &words[at]);
            let has_blank = before.blank_right || word.blank_left;
            !has_blank
                && is_spaced(before)
                && is_spaced(word)
                && (before.size - word.size).abs() < 0.05 * word.size
        };
        let end = (start + 1..words.len()).find(|at| !is_part(*at)).unwrap_or(words.len());
        let gap = |at: usize| words[at].left - words[at - 1].right;
        let mut gaps: Vec<f64> = (start + 1..end).map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        if gaps.len() >= least {
            let median = gaps[gaps.len() / 2];
            let limit = median + 0.1 * words[start].size;
            if median < SPACING * words[start].size {
                for (at, is_glued) in glued.iter_mut().enumerate().take(end).skip(start + 1) {
                    *is_glued = gap(at) < limit;
                }
            }
        }
        start = end;
    }
    glued
}

fn is_spaced(word: &Word) -> bool {
    word.is_one_letter() && word.is_alphabetic()
}
