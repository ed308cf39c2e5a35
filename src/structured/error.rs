//! The faults of a model's answers.

use crate::error::{Error, Result, failures};
use crate::record::{LINE_ENDS, empty, invalid};

failures! { pub enum AnswerError {
    Invalid { source: Error } ("the answer is invalid"),
    Refusal { words: String } ("the model refuses: {words}"),
    CutOff ("the answer was cut off at its maximum length"),
    Withheld ("the answer was withheld by a content filter"),
    Empty ("the answer is empty"),
    NotJson { found: String } ("the answer is not JSON: {found}"),
    OtherJson { source: serde_json::Error } ("the answer is not the JSON that was asked for"),
    Twice { label: &'static str } ("the answer has {label} twice"),
    TooMany { count: usize, most: usize } ("the answer has {count} memories, more than {most}"),
    Language { found: String, expected: String } ("it is in {found}, and the document is in {expected}"),
} }

/// Errors if a text has more than `most` characters.
pub fn check_length(member: &'static str, text: &str, most: usize) -> Result<()> {
    match text.chars().nth(most) {
        Some(_) => Err(invalid(member, format!("has more than {most} characters"))),
        None => Ok(()),
    }
}

/// Errors if a text is empty, or has more than `most` characters.
pub fn check_text(member: &'static str, text: &str, most: usize) -> Result<()> {
    if text.is_empty() { Err(empty(member)) } else { check_length(member, text, most) }
}

/// Errors if a text has more than one line.
pub fn check_line(member: &'static str, text: &str) -> Result<()> {
    if text.contains(LINE_ENDS) { Err(invalid(member, "has more than one line")) } else { Ok(()) }
}

/// Errors if there are more than `most` tags, or one has more than `chars` characters.
pub fn check_tags(tags: &[String], most: usize, chars: usize) -> Result<()> {
    if tags.len() > most || tags.iter().any(|tag| tag.chars().nth(chars).is_some()) {
        return Err(invalid("tags", format!("are more than {most}, or longer than {chars} characters")));
    }
    Ok(())
}
