//! The places of a text where the terms of a question occur, to show why it was found.

use super::fold;
use super::languages::Stem;
use super::terms::{Term, words};
use std::ops::Range;

/// The parts of a text, in bytes, that match any of the terms: in their order, without overlaps. Case,
/// accents and width do not matter, as in a search.
pub fn occurrences(terms: &[Term], text: &str) -> Vec<Range<usize>> {
    let folded = Folded::new(text);
    let mut found = Vec::new();
    // Accents alone fold to nothing.
    for term in terms.iter().filter(|term| !term.text.is_empty()) {
        let Some(languages) = term.stems else {
            let starts = memchr::memmem::find_iter(folded.text.as_bytes(), term.text.as_bytes());
            found.extend(starts.map(|start| start..start + term.text.len()));
            continue;
        };
        let stems: Vec<Stem> = term.tokens.iter().flat_map(|token| languages.stems(token)).collect();
        let matching =
            words(&folded.text).filter(|word| languages.stems(word).iter().any(|stem| stems.contains(stem)));
        found.extend(matching.map(|word| {
            let start = word.as_ptr() as usize - folded.text.as_ptr() as usize;
            start..start + word.len()
        }));
    }
    merged(found.into_iter().map(|part| folded.original(part)).collect())
}

/// A folded text, in which each run of white space is one space, and where each of its bytes comes from.
struct Folded {
    text: String,
    /// For each byte, the character of the original that it was folded from.
    origins: Vec<Range<usize>>,
}

impl Folded {
    fn new(original: &str) -> Folded {
        let (mut text, mut origins) = (String::new(), Vec::<Range<usize>>::new());
        for (start, c) in original.char_indices() {
            let end = start + c.len_utf8();
            let before = text.len();
            if !c.is_whitespace() {
                fold::push(&mut text, c);
            } else if !text.ends_with(' ') {
                text.push(' ');
            } else {
                continue;
            }
            // An accent belongs to the letter before it, and so does what is not seen.
            if text.len() == before
                && let Some(last) = origins.last().cloned()
            {
                let letter = origins.iter_mut().rev().take_while(|origin| **origin == last);
                letter.for_each(|origin| origin.end = end);
            }
            origins.extend(std::iter::repeat_n(start..end, text.len() - before));
        }
        Folded { text, origins }
    }

    /// The part of the original from which a part was folded.
    fn original(&self, part: Range<usize>) -> Range<usize> {
        self.origins[part.start].start..self.origins[part.end - 1].end
    }
}

/// The same parts in their order, those that overlap or adjoin joined.
fn merged(mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    parts.sort_by_key(|part| part.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for part in parts {
        match merged.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => merged.push(part),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Languages;

    fn marked(terms: &[Term], text: &str) -> String {
        let (mut out, mut done) = (String::new(), 0);
        for part in occurrences(terms, text) {
            out += &format!("{}[{}]", &text[done..part.start], &text[part.clone()]);
            done = part.end;
        }
        out + &text[done..]
    }

    #[test]
    fn the_terms_of_a_search_by_words_are_found_within_words() {
        for (question, text, found) in [
            ("graph", "Photographs, a GRAPH", "Photo[graph]s, a [GRAPH]"),
            ("cafe ab", "a Cafe\u{301}, café ｃａｆｅ crab", "a [Cafe\u{301}], [café] [ｃａｆｅ] cr[ab]"),
            ("\"green tea\"", "Green \n\t TEA greentea", "[Green \n\t TEA] greentea"),
            ("ana nas", "ananas", "[ananas]"),
            ("fi", "ﬁn", "[ﬁ]n"),
            ("緑", "緑の茶", "[緑]の茶"),
            ("c++", "c++ or c", "[c++] or c"),
            ("strasse", "die Straße, STRASSE", "die [Straße], [STRASSE]"),
            ("teil wort", "Wort\u{ad}teile, Worte", "[Wort\u{ad}teil]e, [Wort]e"),
            ("wort", " \u{200b}Wort\u{ad}teil", " \u{200b}[Wort\u{ad}]teil"),
            ("שלום", "אָז שָׁלוֹם.", "אָז [שָׁלוֹם]."),
            ("чай", "чаи\u{306} чаи", "[чаи\u{306}] чаи"),
            ("مدرسه", "المَدرسةُ", "ال[مَدرسةُ]"),
            ("can't", "I can’t", "I [can’t]"),
            ("x", "", ""),
            ("\u{301} x", "x\u{301}\u{302}y", "[x\u{301}\u{302}]y"),
        ] {
            assert_eq!(marked(&Term::parse(question), text), found, "{question}");
        }
    }

    #[test]
    fn the_terms_of_a_question_are_found_by_their_stems() {
        let found = marked(
            &Term::content("painted cities", Languages::ENGLISH),
            "We paint the City, and repaint painters.",
        );
        assert_eq!(found, "We [paint] the [City], and repaint painters.");
    }
}
