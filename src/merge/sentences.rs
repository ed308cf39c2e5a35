//! Texts as sections of sentences, so that repetitions are kept once.

use std::collections::HashSet;

/// A text in sections, each with its heading.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Sections(Vec<Section>);

#[derive(Clone, PartialEq, Debug, Default)]
struct Section {
    /// A line that begins with `#`; empty for the text before the first.
    heading: String,
    units: Vec<Unit>,
}

/// A sentence, a line of a list, or a block of code.
#[derive(Clone, PartialEq, Debug)]
struct Unit {
    /// The white space before it.
    gap: String,
    text: String,
}

/// The beginning of a line that begins or ends a block of code.
const CODE_FENCE: &str = "```";

impl Sections {
    /// Cuts a text.
    pub(super) fn parse(text: &str) -> Sections {
        let mut sections = vec![Section::default()];
        let mut gap = String::new();
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let (body, end) = split_end(line);
            let section = sections.len() - 1;
            if body.trim_start().starts_with(CODE_FENCE) {
                let mut block = line.to_owned();
                for line in lines.by_ref() {
                    block.push_str(line);
                    if line.trim_start().starts_with(CODE_FENCE) {
                        break;
                    }
                }
                let (block, end) = split_end(&block);
                sections[section].units.push(Unit { gap: std::mem::take(&mut gap), text: block.to_owned() });
                gap.push_str(end);
            } else if body.starts_with('#') {
                sections.push(Section { heading: body.trim_end().to_owned(), units: Vec::new() });
                gap.clear();
            } else {
                for sentence in sentences(body) {
                    let blank = sentence.len() - sentence.trim_start().len();
                    gap.push_str(&sentence[..blank]);
                    let text = sentence.trim();
                    if !text.is_empty() {
                        let unit = Unit { gap: std::mem::take(&mut gap), text: text.to_owned() };
                        sections[section].units.push(unit);
                    }
                }
                gap.push_str(end);
            }
        }
        sections.retain(|section| !section.heading.is_empty() || !section.units.is_empty());
        Sections(sections)
    }

    /// The text, each section after a blank line; sections without words are left out.
    pub(super) fn join(&self) -> String {
        let mut text = String::new();
        for section in self.0.iter().filter(|section| !section.units.is_empty()) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            if !section.heading.is_empty() {
                text.push_str(&section.heading);
                text.push_str("\n\n");
            }
            for (at, unit) in section.units.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { &unit.gap });
                text.push_str(&unit.text);
            }
        }
        text
    }
}

/// Merges texts: the units of the first, then those that the others add, each in the section with its
/// heading. Repetitions are left out, and nothing is added beyond a length.
#[derive(Debug, Default)]
pub(super) struct SentenceMerger {
    merged: Sections,
    seen: HashSet<String>,
    chars: usize,
}

impl SentenceMerger {
    /// Adds the new sentences of a text, up to this many characters in all.
    pub(super) fn add(&mut self, text: &str, max_chars: usize) {
        for section in Sections::parse(text).0 {
            let is_same = |known: &Section| key(&known.heading) == key(&section.heading);
            let place = self.merged.0.iter().position(is_same).unwrap_or_else(|| {
                let before = usize::from(section.heading.is_empty());
                let place = if before == 1 { 0 } else { self.merged.0.len() };
                let heading = Section { heading: section.heading.clone(), units: Vec::new() };
                self.merged.0.insert(place, heading);
                place
            });
            let mut is_next = false;
            for mut unit in section.units {
                let key = key(&unit.text);
                if !self.seen.contains(&key) || key.is_empty() && is_next {
                    if !is_next && !self.merged.0[place].units.is_empty() {
                        "\n\n".clone_into(&mut unit.gap);
                    }
                    is_next = self.push(place, unit, max_chars);
                    if is_next && !key.is_empty() {
                        self.seen.insert(key);
                    }
                } else {
                    is_next = false;
                }
            }
        }
    }

    /// Appends a unit, unless it is too long. Returns whether it was appended.
    fn push(&mut self, place: usize, unit: Unit, max_chars: usize) -> bool {
        let section = &self.merged.0[place];
        let heading = if section.units.is_empty() { section.heading.chars().count() + 4 } else { 0 };
        let length = unit.gap.chars().count() + unit.text.chars().count() + heading;
        if self.chars + length > max_chars {
            return false;
        }
        self.chars += length;
        self.merged.0[place].units.push(unit);
        true
    }

    /// The merged text.
    pub(super) fn finish(self) -> String {
        self.merged.join()
    }
}

/// A line and its end.
fn split_end(line: &str) -> (&str, &str) {
    let body = line.trim_end_matches(['\n', '\r']);
    line.split_at(body.len())
}

/// The sentences of a line, each with the white space around it. A sentence ends at `.`, `!` or `?` and the
/// quotes or brackets after it, before white space; or at a sign of that kind in a script without spaces.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut ends) = (0, false);
    for (at, c) in line.char_indices() {
        match c {
            '.' | '!' | '?' => ends = true,
            '\u{3002}' | '\u{ff01}' | '\u{ff1f}' => {
                found.push(&line[begin..at + c.len_utf8()]);
                (begin, ends) = (at + c.len_utf8(), false);
            }
            '"' | '\'' | ')' | ']' | '\u{201d}' | '\u{2019}' | '*' | '_' | '`' => {}
            c if c.is_whitespace() && ends && !is_numbering(&line[begin..at]) => {
                found.push(&line[begin..at]);
                (begin, ends) = (at, false);
            }
            _ => ends = false,
        }
    }
    found.push(&line[begin..]);
    found
}

/// Whether a piece is the number of a line in a list, such as `12.`.
fn is_numbering(piece: &str) -> bool {
    let number = piece.trim().trim_end_matches('.');
    !number.is_empty() && number.len() < 4 && number.bytes().all(|b| b.is_ascii_digit())
}

/// The words of a text in lower case: equal for texts that say the same.
pub(super) fn key(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(texts: &[&str], max_chars: usize) -> String {
        let mut merger = SentenceMerger::default();
        for text in texts {
            merger.add(text, max_chars);
        }
        merger.finish()
    }

    #[test]
    fn a_text_alone_keeps_its_form() {
        for text in [
            "One. Two!\nThree, e.g. this.\n\n- a\n- b\n\n1. First. Really.\n2. Second",
            "## Task\n\nDo it.\n\n## Result\n\n```sh\n# no heading. none.\nls\n```\nDone.",
            "\u{4e00}\u{3002}\u{4e8c}\u{3002}",
            "",
        ] {
            assert_eq!(merged(&[text], 1000), text);
        }
    }

    #[test]
    fn each_sentence_is_kept_once() {
        for (texts, wanted) in [
            (&["One. Two.", "two. Three?"][..], "One. Two.\n\nThree?"),
            (&["One. One. Two."], "One.\n\nTwo."),
            (&["Same words", "same   WORDS!"], "Same words"),
            (
                &["## A\n\none.\n\n## B\n\ntwo.", "## b\n\nthree.\n\n## C\n\nfour."],
                "## A\n\none.\n\n## B\n\ntwo.\n\nthree.\n\n## C\n\nfour.",
            ),
            (&["## A\n\none.", "zero."], "zero.\n\n## A\n\none."),
            (&["## A\n\none.", "## B\n\none."], "## A\n\none."),
            (&["- a\n- b", "- b\n- c\n- d"], "- a\n- b\n\n- c\n- d"),
            (&["```\nx = 1.\n```", "```\nx = 1.\n```\nMore."], "```\nx = 1.\n```\n\nMore."),
        ] {
            assert_eq!(merged(texts, 1000), wanted, "{texts:?}");
        }
    }

    #[test]
    fn no_text_is_longer_than_it_may_be() {
        let long: String = (0..100).map(|at| format!("Sentence {at} \u{e9}. ")).collect();
        for most in [0, 10, 20, 200, 1500] {
            let text = merged(&[&format!("## H\n\n{long}"), "Another."], most);
            assert!(text.chars().count() <= most, "{most}: {text}");
            assert!(text.chars().count() + 20 > most, "{most}: {text}");
        }
    }
}
