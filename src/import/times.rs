//! The times of other programs: texts, and numbers of any unit.

use super::error::ImportError;
use crate::error::Result;
use crate::record::{Object, time};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The number from which on numbers count seconds: a time of March 1973. Smaller numbers may be of any unit.
const FIRST_SECOND: f64 = 1e8;

/// The number from which on numbers count milliseconds, microseconds and nanoseconds, of the same day, each
/// with its share of a millisecond.
const FIRST_OF_UNITS: [(f64, f64); 4] = [(1e17, 1e-6), (1e14, 1e-3), (1e11, 1.0), (FIRST_SECOND, 1e3)];

/// A number of seconds, milliseconds, microseconds or nanoseconds since 1970 in milliseconds: its size says
/// which it counts. Errors if it is before March 1973, or after the year 5138.
pub(super) fn from_number(number: f64) -> Result<i64> {
    let unit = FIRST_OF_UNITS.iter().find(|(first, _)| number.abs() >= *first);
    match unit {
        Some((_, millis)) if number.abs() < 1e20 => time::checked((number * millis).round() as i64),
        _ => Err(ImportError::TimeUnit { found: number }.into()),
    }
}

/// The time that a text or a number says, in milliseconds since 1970 (UTC). Errors for other texts.
pub(super) fn from_text(text: &str) -> Result<i64> {
    match text.trim().parse::<f64>() {
        Ok(number) => from_number(number),
        Err(_) => time::parse(text),
    }
}

/// A date and a time of day in a zone, else in UTC, in milliseconds since 1970; none if it is no such time.
pub(super) fn local(date: DateTime, zone: Option<&TimeZone>) -> Option<i64> {
    let zone = zone.cloned().unwrap_or(TimeZone::UTC);
    Some(date.to_zoned(zone).ok()?.timestamp().as_millisecond())
}

/// The time in a member, in milliseconds since 1970 (UTC), whether it is a text or a number.
pub(super) fn member(object: &Object, name: &str) -> Result<Option<i64>> {
    let text = match object.get(name) {
        None | Some("null" | "\"\"") => return Ok(None),
        Some(json) if json.starts_with('"') => object.text(name)?.unwrap_or_default(),
        Some(json) => json.to_owned(),
    };
    from_text(&text).map(Some).map_err(|error| error.at(name))
}

/// The time in the first of some members that has one. Fails if its value is no time.
pub(super) fn first_member(object: &Object, names: &[&str]) -> Result<Option<i64>> {
    for name in names {
        if let Some(time) = member(object, name)? {
            return Ok(Some(time));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_by_their_size() {
        for text in ["1756000000", "1756000000.0", "1756000000000", "1756000000000000", "1756000000000000000"]
        {
            assert_eq!(from_text(text).unwrap(), 1_756_000_000_000, "{text}");
        }
        assert_eq!(from_text("1756000000.25").unwrap(), 1_756_000_000_250);
        assert_eq!(from_text("2025-08-24T01:46:40Z").unwrap(), 1_756_000_000_000);
        for text in ["0", "1000", "-5", "1e30", "NaN", "inf", "yesterday"] {
            assert!(from_text(text).is_err(), "{text}");
        }
    }
}
