//! Chats that WhatsApp exports: text, in which a line with a date, a time and a name begins each message. Whether the day
//! or the month comes first follows from the dates of the file, and is that of the day if they do not say.

use super::blocks::{Block, BlockFormat, Blocks};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{DOWNLOADS, ImportFormat, ReadFormat, TextInput, stem};
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use jiff::civil::Date;
use std::io::{Cursor, Read};
use std::path::Path;

const NAME: &str = "whatsapp";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "chats of WhatsApp: the export as text",
    places: &[DOWNLOADS],
    timeless: false,
    recognize: |sample| {
        let mut lines = sample.text().lines().filter(|line| !line.trim().is_empty());
        lines.next().is_some_and(|line| heading(line).is_some())
    },
    read: ReadFormat::Text(|input| {
        let TextInput { name, mut bytes, options } = input;
        let mut text = Vec::new();
        // An error comes again when the lines are read.
        let _ = bytes.by_ref().take(options.max_line as u64).read_to_end(&mut text);
        let format = if is_month_first(&String::from_utf8_lossy(&text)) { MONTH_FIRST } else { DAY_FIRST };
        let bytes = Box::new(Cursor::new(text).chain(bytes));
        Box::new(Blocks::new(format, TextInput { name, bytes, options }))
    }),
};

const DAY_FIRST: BlockFormat =
    BlockFormat { heading, lines: |options, block, lines| message(options, block, [2, 1, 0], lines) };
const MONTH_FIRST: BlockFormat =
    BlockFormat { heading, lines: |options, block, lines| message(options, block, [2, 0, 1], lines) };

/// Whether the dates of a chat have the month before the day: some number says so, or, if none does, the form of the
/// United States.
fn is_month_first(text: &str) -> bool {
    let headings: Vec<Object> = text.lines().filter_map(heading).collect();
    let exceeds = |member: &str| {
        headings
            .iter()
            .any(|heading| heading.integer(member).is_ok_and(|number| number.is_some_and(|n| n > 12)))
    };
    let is_american =
        || text.lines().next().is_some_and(|line| !line.starts_with('[') && line.contains("M - "));
    !exceeds("first") && (exceeds("second") || is_american())
}

/// Appends the line of a message; `order` has the places of the year, the month and the day among the numbers of its date.
fn message(options: &ImportOptions, block: Block, order: [usize; 3], lines: &mut Vec<Object>) -> Result<()> {
    let Block { input, heading, text } = block;
    let number = |member| heading.integer(member).map(Option::unwrap_or_default);
    let numbers = [number("first")?, number("second")?, number("third")?];
    // A year of four digits is where it is.
    let [year, month, day] = if numbers[0] > 31 { numbers } else { order.map(|at| numbers[at]) };
    let year = if year < 100 { year + 2000 } else { year };
    let part = |number: i64| i8::try_from(number).ok();
    let clock = [number("hour")?, number("minute")?, number("second_of")?];
    let when = || {
        let day = Date::new(i16::try_from(year).ok()?, part(month)?, part(day)?).ok()?;
        Some(day.at(part(clock[0])?, part(clock[1])?, part(clock[2])?, 0))
    };
    let time = when().and_then(|when| times::local(when, options.zone.as_ref()));
    let name = heading.text("name")?.unwrap_or_default();
    // A note of the program itself names nobody.
    if name.is_empty() {
        return Ok(());
    }
    let first = heading.text("text")?.unwrap_or_default();
    let said = format!("{name}: {}", format!("{first}\n{text}").trim());
    let about = Conversation { id: chat(input), ..Conversation::default() };
    options.add(NAME, &about, ImportedMessage { time, ..ImportedMessage::new(Role::User, said) }, lines)
}

/// The name of a chat: that of its file, or, in an archive, of that.
fn chat(input: &str) -> Option<String> {
    const IN_ARCHIVE: &str = "_chat";
    let name = stem(input)?;
    let folder = Path::new(input).parent().and_then(|folder| stem(folder.to_str()?));
    if name == IN_ARCHIVE { folder.or(Some(name)) } else { Some(name) }
}

/// The date, the time, the name and the first line of a message in a line such as `[21.11.26, 08:03:00] Ada: Hello` or
/// `11/21/26, 8:03 AM - Ada: Hello`; none of another line.
fn heading(line: &str) -> Option<Object> {
    let line = line.trim_start_matches(['\u{feff}', '\u{200e}', '\u{200f}']);
    let (when, rest) = match line.strip_prefix('[') {
        Some(line) => line.split_once("] ")?,
        None => line.split_once(" - ")?,
    };
    let (day, clock) = when.split_once(", ").or_else(|| when.split_once(' '))?;
    let numbers: Vec<i64> =
        day.split(['/', '.', '-']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [first, second, third] = numbers[..] else { return None };
    let clock = clock.replace(['\u{202f}', '\u{a0}'], " ").to_lowercase();
    let clock = clock.trim();
    let half = if clock.ends_with("pm") || clock.ends_with("p.m.") {
        Some(12)
    } else if clock.ends_with("am") || clock.ends_with("a.m.") {
        Some(0)
    } else {
        None
    };
    let digits = clock.trim_end_matches(|c: char| !c.is_ascii_digit());
    let parts: Vec<i64> = digits.split([':', '.']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hour, minute, second_of) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second_of > 59 {
        return None;
    }
    let hour = half.map_or(hour, |half| hour % 12 + half);
    let (name, text) = rest.split_once(": ").unwrap_or(("", rest));
    let mut heading = Object::default();
    for (member, number) in [
        ("first", first),
        ("second", second),
        ("third", third),
        ("hour", hour),
        ("minute", minute),
        ("second_of", second_of),
    ] {
        heading.set(member, number.to_string());
    }
    heading.set_text("name", name);
    heading.set_text("text", text);
    Some(heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_several_languages_are_read() {
        for line in [
            "[21.11.26, 20:03:00] Ada: Hello",
            "\u{200e}[21/11/2026, 8:03:00\u{202f}PM] Ada: Hello",
            "11/21/26, 8:03 PM - Ada: Hello",
            "21.11.26, 20:03 - Ada: Hello",
        ] {
            let heading = heading(line).unwrap();
            assert_eq!(heading.integer("hour").unwrap(), Some(20), "{line}");
            assert_eq!(heading.text("name").unwrap().as_deref(), Some("Ada"), "{line}");
        }
        for line in ["Hello", "- [x] done", "1. one - two: three", "[link] text", "2026-11-21 - Ada"] {
            assert!(heading(line).is_none(), "{line}");
        }
        assert!(is_month_first("11/5/26, 8:03 PM - Ada: Hello\n11/21/26, 8:03 PM - Ada: Hello"));
        assert!(!is_month_first("5/11/26, 20:03 - Ada: Hello"));
    }
}
