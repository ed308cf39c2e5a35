//! The passage of a document for a question: the sentences of its content that have those words of the
//! question which the text shown of the document lacks.
//!
//! An overview is written before anyone asks, and may leave out the one sentence that is needed. This is a
//! summary with regard to a question (Tombros and Sanderson, 1998), by greedy maximum coverage: of the
//! sentences, the one that adds most words and neighbouring pairs of words comes first, as long as there is
//! room. It follows from the question and the version of the document alone, so that later requests of a turn
//! show the same.

use crate::ranking::weights;
use crate::record::{DOCUMENT, PASSAGE, StoredRecord};
use crate::text::{Coverage, Phrasing};

/// The greatest length of a passage, in characters. With it, the overviews of the first hits take about a
/// third of the tokens of their contents (`scripts/bench tree`).
const MAX_CHARS: usize = 480;
/// The mark between sentences that are not adjacent.
const GAP: &str = " … ";

/// Sets the passage of a document for a question; other records stay as they are.
pub fn set_passage(record: &mut StoredRecord, question: &Phrasing) {
    if record.kind != &DOCUMENT {
        return;
    }
    record.members.take(PASSAGE);
    if record.shown_level() < 2
        && let Some(passage) = passage(record, question)
    {
        record.members.set_text(PASSAGE, &passage);
    }
}

/// The passage of a document; `None` if the text shown of it lacks nothing that its content has.
fn passage(document: &StoredRecord, question: &Phrasing) -> Option<String> {
    let mut covered = question.coverage(&document.member_text("title"));
    covered.add(&question.coverage(&document.shown_text()));
    let mut sentences: Vec<(usize, String, Coverage)> = Vec::new();
    for (at, text) in units(&document.text).into_iter().enumerate() {
        let coverage = question.coverage(&text);
        if coverage.weight_beyond(&covered, weights::PASSAGE_PAIR) > 0.0 {
            sentences.push((at, text, coverage));
        }
    }
    let mut chosen: Vec<(usize, String)> = Vec::new();
    let mut remaining = MAX_CHARS;
    loop {
        sentences.retain(|(_, text, coverage)| {
            text.chars().count() <= remaining && coverage.weight_beyond(&covered, weights::PASSAGE_PAIR) > 0.0
        });
        let rank = |(at, text, coverage): &(usize, String, Coverage)| {
            (coverage.weight_beyond(&covered, weights::PASSAGE_PAIR), std::cmp::Reverse((text.len(), *at)))
        };
        let best = (0..sentences.len()).max_by(|a, b| {
            let ((one, size), (other, size_of_other)) = (rank(&sentences[*a]), rank(&sentences[*b]));
            one.total_cmp(&other).then(size.cmp(&size_of_other))
        });
        let Some(best) = best else { break };
        let (at, text, coverage) = sentences.swap_remove(best);
        covered.add(&coverage);
        remaining = remaining.saturating_sub(text.chars().count() + GAP.len());
        chosen.push((at, text));
    }
    chosen.sort();
    let mut passage = String::new();
    for (nth, (at, text)) in chosen.iter().enumerate() {
        let is_next = nth > 0 && chosen[nth - 1].0 + 1 == *at;
        passage.push_str(if nth == 0 {
            ""
        } else if is_next {
            " "
        } else {
            GAP
        });
        passage.push_str(text);
    }
    (!passage.is_empty()).then_some(passage)
}

/// The beginnings of lines that continue no paragraph: those of lists, tables and quotations.
const ITEM_MARKS: [&str; 5] = ["- ", "* ", "+ ", "| ", "> "];
const CODE_FENCE: &str = "```";

/// The sentences of a text in Markdown, its lines of code and its rows, each on one line and of at most
/// `MAX_CHARS`. Headings are in the overview.
fn units(text: &str) -> Vec<String> {
    let (mut units, mut paragraph, mut is_code) = (Vec::new(), String::new(), false);
    for line in text.lines().map(str::trim) {
        let is_fence = line.starts_with(CODE_FENCE);
        let begins = is_fence || is_code || line.is_empty() || line.starts_with('#') || is_item(line);
        if begins {
            push_sentences(&mut units, &std::mem::take(&mut paragraph));
        }
        is_code ^= is_fence;
        if is_fence || !is_code && line.starts_with('#') {
            continue;
        }
        if is_code {
            push_pieces(&mut units, line);
            continue;
        }
        paragraph.push(' ');
        paragraph.push_str(line);
    }
    push_sentences(&mut units, &paragraph);
    units
}

fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_numbered = digits > 0 && line[digits..].starts_with(['.', ')']);
    is_numbered || ITEM_MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Appends the sentences of a paragraph.
fn push_sentences(units: &mut Vec<String>, paragraph: &str) {
    let mut begin = 0;
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '.' | '!' | '?' => chars.peek().is_some_and(|(_, next)| next.is_whitespace()),
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            let end = at + c.len_utf8();
            push_pieces(units, &paragraph[begin..end]);
            begin = end;
        }
    }
    push_pieces(units, &paragraph[begin..]);
}

/// Appends a sentence; a long one in pieces of whole words.
fn push_pieces(units: &mut Vec<String>, sentence: &str) {
    let (mut piece, mut length) = (String::new(), 0);
    for word in sentence.split_whitespace() {
        let own = word.chars().count();
        if length + 1 + own > MAX_CHARS {
            units.push(std::mem::take(&mut piece));
            length = 0;
        }
        if own > MAX_CHARS {
            continue;
        }
        if !piece.is_empty() {
            piece.push(' ');
        }
        piece.push_str(word);
        length += own + 1;
    }
    units.push(piece);
    units.retain(|unit| !unit.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{DraftDefaults, Object};
    use crate::text::Languages;

    fn document(overview: &str, content: &str) -> StoredRecord {
        let mut line = Object::default();
        line.set_text("uri", "viking://resources/a");
        line.set_text("title", "Beds");
        line.set_text("overview", overview);
        line.set_text("content", content);
        let defaults = DraftDefaults {
            partition: Some("p".into()),
            instance: None,
            trace_id: String::new(),
            timestamp: 0,
            seq: 0,
        };
        (DOCUMENT.read)(line).unwrap().complete(&defaults).unwrap()
    }

    fn passage_of(question: &str, overview: &str, content: &str) -> Option<String> {
        passage(&document(overview, content), &Phrasing::of(question, Languages::ENGLISH))
    }

    #[test]
    fn a_passage_has_the_words_that_the_overview_lacks() {
        let content = "# Beds\n\nTomatoes stand\nby the wall. Give them potash weekly. Nothing else.\n\n- Beans climb.\n\
                       ```\nsow --beans now\n```\n| Frost | harms |";
        for (question, wanted) in [
            ("What do tomatoes get weekly?", Some("Tomatoes stand by the wall. Give them potash weekly.")),
            ("potash for beans", Some("Give them potash weekly. … - Beans climb.")),
            ("frost", Some("| Frost | harms |")),
            ("sow beans", Some("sow --beans now")),
            ("the garden", None),
            ("snow", None),
            ("", None),
        ] {
            assert_eq!(passage_of(question, "About the garden.", content).as_deref(), wanted, "{question}");
        }
        assert_eq!(passage_of("potash weekly", "Potash weekly.", content), None);
        // The words occur, but not adjacent.
        let wanted = Some("Give them potash weekly.".to_owned());
        assert_eq!(passage_of("potash weekly", "Weekly news of potash.", content), wanted);
    }

    #[test]
    fn a_passage_is_short_whatever_the_text() {
        let long = "word ".repeat(100_000) + "needle " + &"x".repeat(300_000);
        let found = passage_of("needle", "o", &long).unwrap();
        assert!(found.contains("needle") && found.chars().count() <= MAX_CHARS, "{found}");
        let many: String = (0..50).map(|n| format!("Sentence with w{n} in it. ")).collect();
        let question: String = (0..50).map(|n| format!("w{n} ")).collect();
        let found = passage_of(&question, "o", &many).unwrap();
        assert!((100..=MAX_CHARS).contains(&found.chars().count()), "{found}");
        for hostile in ["", "\n\n", "```", "#", "1.", "```\n#", "。。", "\u{0}.\u{0} \u{2028}"] {
            assert_eq!(passage_of("needle", "o", hostile), None);
        }
    }
}
