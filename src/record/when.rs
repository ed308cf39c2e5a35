//! Times as people write them at a command line: in their time zone, in words, mostly past.

use super::error::TimeError;
use super::time;
use crate::error::Result;
use jiff::fmt::temporal::Pieces;
use jiff::{Span, Timestamp, ToSpan, Zoned};
use parse_datetime::ParsedDateTime;

/// The names of the days and the months by their first letters.
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Reads a time, in milliseconds since 1970: a whole number of milliseconds, RFC 3339, a date, a span of time
/// before now (`2d`, `3 hours`), or words (`yesterday`, `last monday`, `14:00`). Times without an offset are
/// in the zone of `now`. A day begins at midnight. A future weekday or day of the year is the one before it.
/// Errors for other texts.
pub fn parse(text: &str, now: &Zoned) -> Result<i64> {
    let text = text.trim();
    if let Ok(ms) = text.parse::<i64>() {
        return time::checked(ms);
    }
    let read = exact(text, now).or_else(|| span(text, now)).or_else(|| words(text, now));
    let such_as = "yesterday, 2d, 2026-11-21, 2026-11-21T07:03:00Z or milliseconds";
    time::checked(read.ok_or_else(|| TimeError::NotATime { such_as, found: text.to_owned() })?)
}

/// Reads a time to come, in milliseconds since 1970: RFC 3339, a date, or a span of time from now (`90d`, `2
/// weeks`). A time without an offset is in the zone of `now`. Errors for other texts.
pub fn parse_ahead(text: &str, now: &Zoned) -> Result<i64> {
    let text = text.trim();
    let after = |span: Span| now.checked_add(span.abs()).ok().map(|end| end.timestamp().as_millisecond());
    let read = exact(text, now).or_else(|| text.to_lowercase().parse().ok().and_then(after));
    let such_as = "90d, 2027-01-01 or 2027-01-01T07:03:00Z";
    time::checked(read.ok_or_else(|| TimeError::NotATime { such_as, found: text.to_owned() })?)
}

/// RFC 3339, or a date with or without a time of day.
fn exact(text: &str, now: &Zoned) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let pieces = Pieces::parse(text).ok()?;
    if pieces.to_numeric_offset().is_some() {
        // Beyond the range of `Timestamp`.
        return time::parse(text).ok();
    }
    let civil = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    match civil.to_zoned(now.time_zone().clone()) {
        Ok(zoned) => Some(zoned.timestamp().as_millisecond()),
        Err(_) => time::parse(text).ok(),
    }
}

/// A span of time before now, with or without `ago`.
fn span(text: &str, now: &Zoned) -> Option<i64> {
    let text = text.to_lowercase();
    let text = text.strip_suffix("ago").unwrap_or(&text).trim();
    let article = text.strip_prefix("an ").or_else(|| text.strip_prefix("a "));
    let span: Span = article.map_or_else(|| text.to_owned(), |unit| format!("1 {unit}")).parse().ok()?;
    let begin = now.checked_sub(span.abs()).ok()?;
    Some(begin.timestamp().as_millisecond())
}

/// Words as `date --date` knows them.
fn words(text: &str, now: &Zoned) -> Option<i64> {
    let text = text.to_lowercase();
    let word = |names: &[&str]| {
        let is_named = |word: &str| names.iter().any(|name| word.starts_with(name));
        text.split(|c: char| !c.is_alphabetic()).any(is_named)
    };
    if text == "now" {
        return Some(now.timestamp().as_millisecond());
    }
    // Single letters are zones of the military, and dates in digits are read above.
    let is_word = |word: &str| word.contains(':') || word.chars().filter(|c| c.is_alphabetic()).count() >= 3;
    let may_stand = |word: &str| word.contains(char::is_alphanumeric) && !word.contains(['-', '/', '+', '@']);
    if !text.split_whitespace().any(is_word) || !text.split_whitespace().all(may_stand) {
        return None;
    }
    let begin = |text: &str| match parse_datetime::parse_datetime_at_date(now.clone(), text) {
        Ok(ParsedDateTime::InRange(time)) => Some(time),
        _ => None,
    };
    let names_hour = ["hour", "min", "sec"].iter().any(|unit| text.contains(unit));
    let day = if names_hour { None } else { begin(&format!("{text} 00:00")) };
    let time = day.or_else(|| begin(&text))?;
    let is_future = time > *now && !text.contains("next") && !text.contains("tomorrow");
    let has_year = text.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() == 4);
    let back = if is_future && word(&WEEKDAYS) {
        1.week()
    } else if is_future && word(&MONTHS) && !has_year {
        1.year()
    } else {
        Span::new()
    };
    Some(time.checked_sub(back).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn times_are_read_as_people_write_them() {
        // A Saturday.
        let now: Timestamp = "2026-11-21T07:03:00Z".parse().unwrap();
        let zoned = now.to_zoned(TimeZone::get("Europe/Berlin").unwrap());
        for (text, wanted) in [
            ("yesterday", "2026-11-20T00:00"),
            ("Today", "2026-11-21T00:00"),
            ("now", "2026-11-21T08:03"),
            ("2d", "2026-11-19T08:03"),
            ("2 days ago", "2026-11-19T08:03"),
            ("3h", "2026-11-21T05:03"),
            ("90m", "2026-11-21T06:33"),
            ("an hour ago", "2026-11-21T07:03"),
            ("a week", "2026-11-14T08:03"),
            ("1mo", "2026-10-21T08:03"),
            // The clock was set back between.
            ("30 days", "2026-10-22T08:03"),
            ("2026-11-01", "2026-11-01T00:00"),
            ("2026-11-01 08:00", "2026-11-01T08:00"),
            ("2026-11-01T08:00:00Z", "2026-11-01T09:00"),
            ("2026-07-01T08:00:00Z", "2026-07-01T10:00"),
            ("last monday", "2026-11-16T00:00"),
            ("monday", "2026-11-16T00:00"),
            ("saturday", "2026-11-21T00:00"),
            ("last saturday", "2026-11-14T00:00"),
            ("yesterday 14:00", "2026-11-20T14:00"),
            ("last friday 18:00", "2026-11-20T18:00"),
            ("14:00", "2026-11-21T14:00"),
            ("last week", "2026-11-14T00:00"),
            ("last month", "2026-10-21T00:00"),
            ("nov 1", "2026-11-01T00:00"),
            ("24 december", "2025-12-24T00:00"),
            ("24 december 2026", "2026-12-24T00:00"),
            ("next monday", "2026-11-23T00:00"),
        ] {
            let read = parse(text, &zoned).unwrap_or_else(|e| panic!("{text}: {e}"));
            let civil =
                Timestamp::from_millisecond(read).unwrap().to_zoned(zoned.time_zone().clone()).datetime();
            assert_eq!(civil.strftime("%Y-%m-%dT%H:%M").to_string(), wanted, "{text}");
        }
        assert_eq!(parse("-5", &zoned).unwrap(), -5);
        for text in [
            "soon",
            "",
            "A",
            "2x",
            "banana 3",
            "5 o",
            "yesterday, or so",
            "2026-13-01",
            "2026-13-01 10:00",
            "11/12/2026",
            "@5",
            "99999999999999999",
        ] {
            assert!(parse(text, &zoned).is_err(), "{text}");
        }
    }
}
