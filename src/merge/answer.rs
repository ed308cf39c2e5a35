//! A model's answer about a cluster: JSON, or labels at the beginnings of lines.

use super::cluster::MAX_CONTENT_CHARS;
use crate::error::Result;
use crate::record::invalid;
use crate::structured::{AnswerError, check_length, check_line, check_tags, parse_json, without_code_fence};
use serde::Deserialize;

/// The greatest lengths of a title and of a tag, in characters.
pub(super) const MAX_TITLE_CHARS: usize = 200;
pub(super) const MAX_TAG_CHARS: usize = 50;
/// The greatest number of tags.
pub(super) const MAX_TAGS: usize = 20;
/// The greatest length of an attribution, in characters.
const MAX_ATTRIBUTION_CHARS: usize = 2000;

/// The labels of an answer in lines.
const LABELS: [&str; 5] = ["TITLE:", "CONTENT:", "TAGS:", "OUTCOME:", "SOURCE_ATTRIBUTION:"];

/// A valid answer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub(super) struct Answer {
    pub(super) title: String,
    pub(super) content: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    outcome: String,
    #[serde(default, rename = "source_attribution")]
    pub(super) attribution: String,
}

impl Answer {
    /// Reads an answer about members with this outcome, which may be empty. Errors if it is of no use, with
    /// the reason.
    pub(super) fn read(text: &str, outcome: &str) -> Result<Answer> {
        let text = without_code_fence(text);
        let answer = if is_labelled(text) { Answer::labelled(text)? } else { parse_json(text)? };
        answer.checked(outcome).map_err(|error| error.at("the answer is invalid"))
    }

    /// Reads labelled lines: each label is at the beginning of a line, and its text continues to the next
    /// label.
    fn labelled(text: &str) -> Result<Answer> {
        let mut values: [Option<String>; LABELS.len()] = Default::default();
        let mut current = None;
        for line in text.lines() {
            let label = LABELS.iter().position(|label| line.starts_with(label));
            let (at, line) = match (label, current) {
                (Some(at), _) if values[at].is_some() => {
                    return Err(AnswerError::Twice { label: LABELS[at] }.into());
                }
                (Some(at), _) => (at, &line[LABELS[at].len()..]),
                (None, Some(at)) => (at, line),
                // An introduction.
                (None, None) => continue,
            };
            current = Some(at);
            let value = values[at].get_or_insert_default();
            value.push_str(line);
            value.push('\n');
        }
        let [title, content, tags, outcome, attribution] = values.map(Option::unwrap_or_default);
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
        Ok(Answer { title, content, tags, outcome, attribution })
    }

    fn checked(mut self, outcome: &str) -> Result<Answer> {
        for (member, text, limit) in [
            ("title", &mut self.title, MAX_TITLE_CHARS),
            ("content", &mut self.content, MAX_CONTENT_CHARS),
            ("source_attribution", &mut self.attribution, MAX_ATTRIBUTION_CHARS),
        ] {
            *text = without_code_fence(text).to_owned();
            if text.is_empty() && member != "source_attribution" {
                return Err(invalid(member, "is missing"));
            }
            check_length(member, text, limit)?;
        }
        check_line("title", &self.title)?;
        let own = self.outcome.trim().to_lowercase();
        if own != outcome && !outcome.is_empty() {
            let found = if own.is_empty() { "nothing".to_owned() } else { format!("{own:?}") };
            return Err(invalid("outcome", format!("expected {outcome}, found {found}")));
        }
        check_tags(&self.tags, MAX_TAGS, MAX_TAG_CHARS)?;
        for tag in &mut self.tags {
            *tag = tag.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        self.tags.retain(|tag| !tag.is_empty());
        Ok(self)
    }
}

fn is_labelled(text: &str) -> bool {
    !text.starts_with('{') && text.lines().any(|line| LABELS.iter().any(|label| line.starts_with(label)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_count_at_the_beginnings_of_lines_only() {
        let text = "TITLE: One\nCONTENT:\n## Do\n\nSay TAGS: none, and\n OUTCOME: failure\nTAGS: a, b c,\nOUTCOME: Success\n";
        let wanted = Answer {
            title: "One".into(),
            content: "## Do\n\nSay TAGS: none, and\n OUTCOME: failure".into(),
            tags: vec!["a".into(), "b c".into()],
            outcome: " Success\n".into(),
            attribution: String::new(),
        };
        assert_eq!(Answer::read(text, "success").unwrap(), wanted);
        for around in [("```\n", "```"), ("Here it is:\n\n", "")] {
            let text = format!("{}{text}{}", around.0, around.1);
            assert_eq!(Answer::read(&text, "success").unwrap(), wanted);
        }
    }

    #[test]
    fn a_broken_answer_is_explained() {
        let long = "x".repeat(10_001);
        for (text, wanted) in [
            ("TITLE: One\nCONTENT: a\nOUTCOME: success\nTITLE: Two", "the answer has TITLE: twice"),
            ("TITLE: One\nOUTCOME: success", "the answer is invalid: content: is missing"),
            (
                "TITLE: One\nTwo\nCONTENT: a\nOUTCOME: success",
                "the answer is invalid: title: has more than one line",
            ),
            (
                "TITLE: One\nCONTENT: a\nOUTCOME: failure",
                "the answer is invalid: outcome: expected success, found \"failure\"",
            ),
            ("TITLE: One\nCONTENT: a", "the answer is invalid: outcome: expected success, found nothing"),
            (
                &format!("TITLE: One\nOUTCOME: success\nCONTENT: {long}"),
                "the answer is invalid: content: has more than 10000 characters",
            ),
            ("I cannot do that.", "the answer is not JSON: “I cannot do that.”"),
            (
                r#"{"title":"a","content":["b"]}"#,
                "the answer is not the JSON that was asked for: invalid type: sequence, expected a string at line 1 column 23",
            ),
            (
                r#"{"title":"a","content":"b","outcome":"success","tags":["#,
                "the answer is not the JSON that was asked for: EOF while parsing a list at line 1 column 55",
            ),
        ] {
            assert_eq!(Answer::read(text, "success").unwrap_err().to_string(), wanted);
        }
    }
}
