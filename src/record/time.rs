//! Times: integer milliseconds since 1970, UTC; RFC 3339 with milliseconds and `Z` for people.

use crate::error::{Error, Result};
use jiff::Timestamp;

/// The source of the current time: the system, or a fixed instant in tests.
#[derive(Clone, Copy, Default, Debug)]
pub struct Clock {
    fixed: Option<i64>,
}

impl Clock {
    /// A clock that is fixed at `ms`.
    pub fn fixed(ms: i64) -> Clock {
        Clock { fixed: Some(ms) }
    }

    /// The present, in milliseconds.
    pub fn now(&self) -> i64 {
        self.fixed.unwrap_or_else(|| Timestamp::now().as_millisecond())
    }

    /// Whether time is fixed, so that nothing else may be random either.
    pub fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }
}

/// The years 1 to 9999, which RFC 3339 can represent, in milliseconds.
const REPRESENTABLE_MILLIS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_207_200_999;

/// Checks that a number of milliseconds can be written as a date.
pub fn checked(ms: i64) -> Result<i64> {
    if REPRESENTABLE_MILLIS.contains(&ms) {
        return Ok(ms);
    }
    Err(Error::new(format!("expected milliseconds between the years 1 and 9999, found {ms}")))
}

/// `2026-11-21T07:03:00.000Z`.
pub fn rfc3339(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => ms.to_string(),
    }
}

/// The year and the month, 1 to 12, of a time in UTC.
pub fn year_and_month(ms: i64) -> (i64, u8) {
    let time = Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    (time.year().into(), time.month().unsigned_abs())
}

/// Reads RFC 3339 (`2026-11-21T07:03:00Z`, `2026-11-21 09:03:00.5+02:00`), a date (midnight UTC), or a
/// whole number of milliseconds.
pub fn parse(text: &str) -> Result<i64> {
    let text = text.trim();
    if let Ok(ms) = text.parse::<i64>() {
        return checked(ms);
    }
    let date_time =
        || text.parse::<jiff::civil::DateTime>().ok().and_then(|d| d.to_zoned(jiff::tz::TimeZone::UTC).ok());
    let time = match text.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => date_time().map(|z| z.timestamp()).ok_or_else(|| {
            Error::new(format!(
                "expected a time such as 2026-11-21T07:03:00Z, a date or milliseconds, found {text:?}"
            ))
        })?,
    };
    checked(time.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, written) in [
            ("2026-11-21T07:03:00Z", "2026-11-21T07:03:00.000Z"),
            ("2026-11-21T09:03:00.5+02:00", "2026-11-21T07:03:00.500Z"),
            ("2026-11-21", "2026-11-21T00:00:00.000Z"),
            ("2026-11-21T07:03:00", "2026-11-21T07:03:00.000Z"),
            ("0", "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(parse(text).unwrap()), written, "{text}");
        }
        assert!(parse("yesterday").is_err());
        assert!(parse("9223372036854775807").is_err());
    }
}
