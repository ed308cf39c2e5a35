//! Helpers of all pictures: colours, the width of text, and text in markup, which other pages use too.

use crate::view::escape_controls;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

/// The fonts of every picture.
pub(super) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";

/// The colour of each group; they differ for colour-blind people too where their number allows it.
const COLOURS: [&str; 12] = [
    "#4c78a8", "#e8843c", "#54a24b", "#c94f5d", "#8a6fb3", "#2f9c95", "#b88a1e", "#d16ba5", "#7a5c46",
    "#6b8fd6", "#7f9a2e", "#5f6b7a",
];

/// The colour of messages that belong to no group.
const NO_COLOUR: &str = "#9aa3ae";

/// The colour of a group, or of the `rest` without groups.
pub(super) fn colour(group: usize, is_rest: bool) -> &'static str {
    if is_rest { NO_COLOUR } else { COLOURS[group % COLOURS.len()] }
}

/// A text in markup: nothing in it is an element, an attribute or a character that XML forbids, or hides what
/// follows.
pub(crate) fn escaped(text: &str) -> String {
    attribute(&escape_controls(text))
}

/// A text as the value of an attribute from which it is read again: hidden characters stay as they are.
pub(crate) fn attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The beginning of a text on one line, of at most this many columns.
pub(super) fn beginning(text: &str, columns: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.width() <= columns {
        return text;
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if cut.width() >= columns {
            cut.pop();
            break;
        }
    }
    format!("{}…", cut.trim_end())
}

/// About how wide a bold text of a size is, in pixels.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.width() as f64 * size * 0.64
}

/// A number with narrow spaces between its thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `1 message`, `12 messages`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// The days from one time to another, in milliseconds: `2 Mar – 9 Apr 2026`.
pub(super) fn days(first: i64, last: i64, zone: &TimeZone) -> String {
    let [first, last] = [first, last]
        .map(|ms| Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(zone.clone()).date());
    days_of(first, last)
}

/// The same of days.
pub(super) fn days_of(first: Date, last: Date) -> String {
    let end = last.strftime("%-d %b %Y").to_string();
    if first == last {
        end
    } else if first.year() == last.year() {
        format!("{} – {end}", first.strftime("%-d %b"))
    } else {
        format!("{} – {end}", first.strftime("%-d %b %Y"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escaped("<b a='\"'>&\u{1}\u{ffff}"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{1}\u{fffd}");
    }

    #[test]
    fn numbers_and_days_are_short() {
        assert_eq!(
            (grouped(999), grouped(1451), grouped(100_000)),
            ("999".into(), "1451".into(), "100\u{202f}000".into())
        );
        let (day, zone) = (24 * 60 * 60 * 1000, TimeZone::UTC);
        assert_eq!(days(0, day - 1, &zone), "1 Jan 1970");
        assert_eq!(days(0, 31 * day, &zone), "1 Jan – 1 Feb 1970");
        assert_eq!(days(-day, 0, &zone), "31 Dec 1969 – 1 Jan 1970");
        assert_eq!(beginning("one two\n three", 8), "one two…");
    }
}
