//! Titles: the name of a conversation, which is an instance. Each instance has one, of which newer versions
//! take the place.

use super::members::{name, time_member};
use super::object::{Object, missing, write_member};
use super::stored::{Draft, RecordKind, StoredRecord, TextSource, Versions, write_time};
use super::{Scope, id, timestamp};
use crate::error::Result;

/// The kind of titles.
pub static TITLE: RecordKind = RecordKind {
    name: "title",
    label: "TitleNode",
    read: parse,
    complete,
    write,
    versions: Some(Versions {
        version: TEXT,
        source: "source_sha256",
        order: "order",
        gives_way,
        moved: |_, _| None,
    }),
    indexed: TextSource::Composed(text),
    shown: TextSource::Composed(text),
    heading: |_| "title".to_owned(),
    ..RecordKind::PLAIN
};

/// The member with the text, and that with the time of the conversation when it was read elsewhere.
const TEXT: &str = "title";
const SOURCE_TIME: &str = "source_time";

/// The members with a field of their own, and those that are written first.
const HEAD: [&str; 6] = ["kind", "id", "partition", "instance", "timestamp", "created_at"];
const ORDER: [&str; 2] = [TEXT, SOURCE_TIME];

/// The greatest length of a title that follows from a question, in characters.
const MAX_DERIVED_CHARS: usize = 60;

/// Reads a title line. Errors begin with the member at fault.
fn parse(mut line: Object) -> Result<Draft> {
    let title = line.text(TEXT)?.unwrap_or_default();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(missing("title"));
    }
    time_member(&line, SOURCE_TIME)?;
    let draft = Draft {
        partition: name(&line, "partition")?,
        instance: name(&line, "instance")?,
        timestamp: timestamp(&line)?,
        ..Draft::new(&TITLE, String::new())
    };
    line.retain(|name| !HEAD.contains(&name));
    line.set_text(TEXT, &title);
    Ok(Draft { members: line, ..draft })
}

/// Gives a title its id, which follows from its scope.
fn complete(title: &mut StoredRecord) -> Result<()> {
    title.id = title_id(&title.scope);
    title.seq = 0;
    Ok(())
}

/// Whether a stored version is kept: one that was read from an older state of the conversation does not
/// replace it.
fn gives_way(new: &StoredRecord, stored: &StoredRecord) -> bool {
    let time = |title: &StoredRecord| time_member(&title.members, SOURCE_TIME).ok().flatten();
    time(new).zip(time(stored)).is_some_and(|(new, stored)| new < stored)
}

fn text(title: &StoredRecord) -> String {
    title.member_text(TEXT)
}

fn write(title: &StoredRecord, out: &mut Vec<u8>) {
    for member in ORDER {
        if let Some(json) = title.members.get(member) {
            write_member(out, member, json);
        }
    }
    write_time(title.timestamp, out);
    title.members.write_members_except(&ORDER, out);
}

/// The id of the title of an instance.
pub fn title_id(scope: &Scope) -> String {
    id::derived(0, &[TITLE.name, &scope.partition, &scope.instance])
}

/// The title of a conversation that has none: its first question, on one line and shortened at a word.
pub fn title_of_question(question: &str) -> String {
    let mut title = String::new();
    let (mut chars, mut is_cut) = (0, false);
    for word in question.split_whitespace() {
        let length = word.chars().count();
        let separator = usize::from(chars > 0);
        if chars + separator + length > MAX_DERIVED_CHARS {
            is_cut = true;
            if chars == 0 {
                title.extend(word.chars().take(MAX_DERIVED_CHARS - 1));
            }
            break;
        }
        if chars > 0 {
            title.push(' ');
        }
        title.push_str(word);
        chars += separator + length;
    }
    if is_cut {
        title.push('…');
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_shortened_at_a_word() {
        assert_eq!(title_of_question(" Where are\nmy  tomatoes? "), "Where are my tomatoes?");
        let long = "one two three ".repeat(20);
        let title = title_of_question(&long);
        assert!(title.chars().count() <= MAX_DERIVED_CHARS + 1 && title.ends_with("three one…"), "{title}");
        assert_eq!(title_of_question(&"ü".repeat(100)).chars().count(), MAX_DERIVED_CHARS);
        assert_eq!(title_of_question(""), "");
    }
}
