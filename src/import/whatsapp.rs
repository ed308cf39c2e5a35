//! Chats that WhatsApp exports: text, in which a line with a date, a time and a name begins each message.
//! Whether the day or the month comes first follows from the dates of the file; if they do not say, it is the
//! day, and a note says so.

use super::blocks::{Block, BlockFormat, Blocks};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{DOWNLOADS, ImportFormat, ReadFormat, TextInput, stem};
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use jiff::civil::Date;
use std::cmp::Ordering;
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
        let Some(first) = lines.next().and_then(heading) else { return false };
        let headings = || std::iter::once(first.clone()).chain(lines.clone().filter_map(heading));
        // Logs and notes have dates too.
        let is_chat = |heading: &Object| has_name(heading) && !has_iso_date(heading);
        headings().any(|heading| is_of_program(&heading)) || headings().filter(is_chat).take(2).count() == 2
    },
    read: ReadFormat::Text(|input| {
        let TextInput { name, mut bytes, options, files } = input;
        let mut text = Vec::new();
        // An error comes again when the lines are read.
        let _ = bytes.by_ref().take(options.max_line as u64).read_to_end(&mut text);
        let format = match date_order(&String::from_utf8_lossy(&text), options) {
            Some(DateOrder::MonthFirst) => MONTH_FIRST,
            Some(DateOrder::DayFirst) => DAY_FIRST,
            None => {
                files.add_ambiguous(name, EITHER);
                DAY_FIRST
            }
        };
        let bytes = Box::new(Cursor::new(text).chain(bytes));
        Box::new(Blocks::new(format, TextInput { name, bytes, options, files }))
    }),
};

const DAY_FIRST: BlockFormat =
    BlockFormat { heading, lines: |options, block, lines| message(options, block, YEAR_MONTH_DAY[0], lines) };
const MONTH_FIRST: BlockFormat =
    BlockFormat { heading, lines: |options, block, lines| message(options, block, YEAR_MONTH_DAY[1], lines) };

/// The places of the year, the month and the day among the numbers of a date.
const YEAR_MONTH_DAY: [[usize; 3]; 2] = [[2, 1, 0], [2, 0, 1]];

/// The note on a chat of which nothing says whether the day or the month comes first.
const EITHER: &str = "they have dates that fit both day/month and month/day, and day/month was taken";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DateOrder {
    DayFirst,
    MonthFirst,
}

/// The order of the day and the month in the dates of a chat: that in which more dates are days of the past,
/// or, if that does not say, in which the messages ascend, or, if neither does, that which the form of the
/// dates has in the languages that write them so. `None` if nothing says.
fn date_order(text: &str, options: &ImportOptions) -> Option<DateOrder> {
    // A day more, since the clock of the sender may be in another zone.
    let latest = options.now + 24 * 60 * 60 * 1000;
    // Chats are long: of their headings only the times are kept.
    let mut times = YEAR_MONTH_DAY.map(|_| Vec::new());
    let (mut is_american, mut has_slash) = (false, false);
    for heading in text.lines().filter_map(heading) {
        for (times, order) in times.iter_mut().zip(YEAR_MONTH_DAY) {
            times.push(time(&heading, order, options));
        }
        is_american |= heading.has(AMERICAN);
        has_slash |= heading.has(SLASH);
    }
    let faults = times.each_ref().map(|times| {
        let impossible = times.iter().filter(|time| time.is_none()).count();
        let future = times.iter().flatten().filter(|time| options.now > 0 && **time > latest).count();
        let descents = times.windows(2).filter(|pair| pair[0] > pair[1]).count();
        (impossible, future, descents)
    });
    match faults[0].cmp(&faults[1]) {
        Ordering::Less => Some(DateOrder::DayFirst),
        Ordering::Greater => Some(DateOrder::MonthFirst),
        Ordering::Equal if is_american => Some(DateOrder::MonthFirst),
        // Points and hyphens stand between a day and a month only.
        Ordering::Equal => (times[0] == times[1] || !has_slash).then_some(DateOrder::DayFirst),
    }
}

/// Whether a heading names somebody.
fn has_name(heading: &Object) -> bool {
    heading.get("name") != Some("\"\"")
}

/// Whether a date is written as logs write it: `2026-11-21`.
fn has_iso_date(heading: &Object) -> bool {
    heading.has(ISO)
}

/// Whether a heading has a note that only the program writes.
fn is_of_program(heading: &Object) -> bool {
    let text = heading.valid_text("text").unwrap_or_default();
    text.starts_with(MARK) || !has_name(heading) && text.contains("WhatsApp")
}

/// The character before what the program itself writes.
const MARK: char = '\u{200e}';

/// The members of a heading with a date such as `11/21/26`, of one that has a time such as `8:03 PM` too, and
/// of one with a date such as `2026-11-21`.
const SLASH: &str = "slash";
const AMERICAN: &str = "american";
const ISO: &str = "iso";

/// The time of a heading, in milliseconds since 1970 (UTC); none if there is no such time. `order` has the
/// places of the year, the month and the day among the numbers of its date.
fn time(heading: &Object, order: [usize; 3], options: &ImportOptions) -> Option<i64> {
    let number = |member| heading.valid_integer(member);
    let numbers = [number("first")?, number("second")?, number("third")?];
    // A year of four digits is where it is.
    let [year, month, day] = if numbers[0] > 31 { numbers } else { order.map(|at| numbers[at]) };
    let year = if year < 100 { year + 2000 } else { year };
    let part = |number: i64| i8::try_from(number).ok();
    let day = Date::new(i16::try_from(year).ok()?, part(month)?, part(day)?).ok()?;
    let clock = [number("hour")?, number("minute")?, number("second_of")?];
    let when = day.at(part(clock[0])?, part(clock[1])?, part(clock[2])?, 0);
    times::local(when, options.zone.as_ref())
}

/// Appends the line of a message, whose date has that order.
fn message(options: &ImportOptions, block: Block, order: [usize; 3], lines: &mut Vec<Object>) -> Result<()> {
    let Block { input, heading, text } = block;
    let time = time(&heading, order, options);
    let name = heading.text("name")?.unwrap_or_default();
    let said = own_words(&format!("{}\n{text}", heading.text("text")?.unwrap_or_default()));
    // A note of the program itself names nobody, or has its quotation taken for a name.
    if name.is_empty() || is_open_quotation(&name) || said.is_empty() {
        return Ok(());
    }
    let said = format!("{name}: {said}");
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

/// Messages that the program writes in place of one, without the full stop.
const PLACEHOLDERS: [&str; 22] = [
    "<Media omitted>",
    "<Medien ausgeschlossen>",
    "<Multimedia omitido>",
    "<Médias omis>",
    "<Fichier omis>",
    "<Mídia oculta>",
    "<Arquivo de mídia oculto>",
    "<Media omessi>",
    "<Media weggelaten>",
    "This message was deleted",
    "You deleted this message",
    "Diese Nachricht wurde gelöscht",
    "Du hast diese Nachricht gelöscht",
    "Se eliminó este mensaje",
    "Eliminaste este mensaje",
    "Ce message a été supprimé",
    "Vous avez supprimé ce message",
    "Mensagem apagada",
    "Essa mensagem foi apagada",
    "Questo messaggio è stato eliminato",
    "Hai eliminato questo messaggio",
    "null",
];

/// The words of a message that somebody wrote; an empty text if the program wrote all.
fn own_words(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(MARK));
    // A mark and an angle bracket begin what the program adds to a line: a file, or that it was edited.
    let lines = lines.map(|line| line.split("\u{200e}<").next().unwrap_or_default().trim_end());
    let own = lines.collect::<Vec<_>>().join("\n");
    let own = own.trim();
    let is_placeholder = PLACEHOLDERS.contains(&own.trim_end_matches('.'));
    if is_placeholder { String::new() } else { own.to_owned() }
}

/// Whether a quotation begins in a text and does not end: `Ada changed the subject from "Owls`.
fn is_open_quotation(text: &str) -> bool {
    let count = |mark: char| text.matches(mark).count();
    count('"') % 2 == 1 || count('\u{201c}') > count('\u{201d}') || count('«') > count('»')
}

/// The marks of the hours before noon, and after it, without spaces and full stops.
const HALVES: [(&[&str], i64); 2] = [
    (&["am", "上午", "凌晨", "早上", "清晨", "오전", "午前", "πμ"], 0),
    (&["pm", "下午", "中午", "晚上", "오후", "午後", "μμ"], 12),
];

/// The hour, the minute and the second in a text such as `20:03`, `8:03:00 p. m.` or `下午8:03`; none of
/// another text.
fn clock(text: &str) -> Option<[i64; 3]> {
    let text = text.to_lowercase();
    let is_of_digits = |c: char| c.is_ascii_digit() || c == ':' || c == '.';
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let end = text[begin..].find(|c| !is_of_digits(c)).map_or(text.len(), |end| begin + end);
    let mark: String = [&text[..begin], &text[end..]].concat();
    let mark: String = mark.chars().filter(|c| !c.is_whitespace() && *c != '.').collect();
    let parts = text[begin..end].trim_end_matches('.').split([':', '.']).map(|part| part.parse().ok());
    let (hour, minute, second) = match parts.collect::<Option<Vec<i64>>>()?[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let half = HALVES.iter().find(|(marks, _)| marks.contains(&&*mark)).map(|(_, half)| half);
    match half {
        Some(half) if hour <= 12 => Some([hour % 12 + half, minute, second]),
        None if !mark.is_empty() => None,
        _ => Some([hour, minute, second]),
    }
}

/// The three numbers at the beginning of a text such as `21.11.26, 20:03`, with what stands between them, and
/// the text after them; none of another text.
fn date(text: &str) -> Option<([i64; 3], char, &str)> {
    let (mut numbers, mut rest, mut between) = ([0; 3], text, ' ');
    for (at, number) in numbers.iter_mut().enumerate() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        *number = rest[..end].parse().ok()?;
        rest = &rest[end..];
        if at < 2 {
            between = rest.chars().next().filter(|c| ['/', '.', '-'].contains(c))?;
            rest = rest[1..].trim_start();
        }
    }
    Some((numbers, between, rest))
}

/// The date, the time, the name and the first line of a message in a line such as `[21.11.26, 08:03:00] Ada:
/// Hello` or `11/21/26, 8:03 AM - Ada: Hello`; none of another line.
fn heading(line: &str) -> Option<Object> {
    let line = line.trim_start_matches(['\u{feff}', '\u{200e}', '\u{200f}']);
    let (when, rest, has_brackets) = match line.strip_prefix('[') {
        Some(line) => line.split_once("] ").map(|(when, rest)| (when, rest, true))?,
        None => line.split_once(" - ").map(|(when, rest)| (when, rest, false))?,
    };
    let ([first, second, third], between, after) = date(when)?;
    let after = after.trim_start_matches(['.', ',']);
    let time = after.trim_start();
    let time = time.strip_prefix('à').unwrap_or(time);
    let [hour, minute, second_of] = clock(time).filter(|_| after.starts_with(char::is_whitespace))?;
    // Without brackets, a time has no seconds.
    if !has_brackets && time.matches([':']).count() > 1 {
        return None;
    }
    let (name, text) =
        rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|name| (name, ""))).unwrap_or(("", rest));
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
    if between == '/' {
        heading.set(SLASH, "true");
    }
    if between == '/' && time.ends_with('M') {
        heading.set(AMERICAN, "true");
    }
    if between == '-' && first > 31 {
        heading.set(ISO, "true");
    }
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
            "21/11/26, 8:03 p. m. - Ada: Hello",
            "21/11/26, 8:03\u{a0}p.\u{202f}m. - Ada: Hello",
            "21/11/2026 à 20:03 - Ada: Hello",
            "[2026/11/21 下午8:03:00] Ada: Hello",
            "[2026. 11. 21. 오후 8:03:00] Ada: Hello",
        ] {
            let heading = heading(line).unwrap();
            assert_eq!(heading.integer("hour").unwrap(), Some(20), "{line}");
            assert_eq!(heading.text("name").unwrap().as_deref(), Some("Ada"), "{line}");
        }
        for line in [
            "Hello",
            "- [x] done",
            "1. one - two: three",
            "[link] text",
            "2026-11-21 - Ada",
            "2026-11-21 08:03:00 - ERROR: x",
            "21/11/26, 8:03 xm - Ada: Hello",
        ] {
            assert!(heading(line).is_none(), "{line}");
        }
    }

    #[test]
    fn the_order_of_a_date_follows_from_the_chat() {
        let (day, month) = (Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst));
        for (text, wanted) in [
            ("11/5/26, 8:03 PM - Ada: Hello\n11/21/26, 8:03 PM - Ada: Hello", month),
            ("5/11/26, 20:03 - Ada: Hello", None),
            ("5.11.26, 20:03 - Ada: Hello", day),
            ("5-11-2026 20:03 - Ada: Hello", day),
            ("5/5/26, 20:03 - Ada: Hello", day),
            ("[2026/11/5 下午8:03:00] Ada: Hello", day),
            ("[11/5/26, 8:03:00 PM] Ada: Hello", month),
            ("5/11/26, 8:03 pm - Ada: Hello", None),
            ("5/11/26, 20:03 - Ada: Hello\n13/11/26, 20:03 - Ada: Hello", day),
            ("11/5/26, 20:03 - Ada: Hello\n12/1/26, 20:03 - Ada: Hello", month),
            ("11/5/26, 8:03 PM - Ada: Hello\n1/12/26, 8:03 PM - Ada: Hello", day),
        ] {
            assert_eq!(date_order(text, &ImportOptions::default()), wanted, "{text}");
        }
    }
}
