//! Texts and times as a terminal may show them.

use crate::cli::is_hidden;
use crate::record::time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write;

/// A time, in milliseconds since 1970, UTC, as `2026-11-21 07:03`.
pub fn date(ms: i64, zone: &TimeZone) -> String {
    formatted(ms, zone, "%Y-%m-%d %H:%M")
}

/// Its time of day, `07:03:21`.
pub(super) fn time_of_day(ms: i64, zone: &TimeZone) -> String {
    formatted(ms, zone, "%H:%M:%S")
}

fn formatted(ms: i64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => time::utc(ms).map_or_else(|| ms.to_string(), |utc| utc.strftime(format).to_string()),
    }
}

/// The text with control, bidirectional and zero-width characters written out (`\u{202e}`), so that
/// nothing stored can move the cursor or hide; line ends stay.
pub fn visible(text: &str) -> String {
    escape_controls(&text.replace('\t', "    "))
}

/// As `visible`, but tabs stay.
pub fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if is_hidden(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidi_characters_are_escaped() {
        assert_eq!(visible("a\x1b[2Jb\u{202e}c\u{200b}\td\r\n"), "a\\u{1b}[2Jb\\u{202e}c\\u{200b}    d\n");
        assert_eq!(visible("👩\u{200d}💻"), "👩\u{200d}💻");
    }
}
