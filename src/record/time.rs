//! Times: integer milliseconds since 1970, UTC; RFC 3339 with milliseconds and `Z` for people.

use super::error::TimeError;
use crate::error::Result;
use jiff::civil::{self, DateTime};
use jiff::fmt::temporal::Pieces;
use jiff::{SignedDuration, Timestamp};
use std::fmt::{self, Display, Formatter};
use std::time::SystemTime;

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

    /// The present, in milliseconds; the nearest valid time if the clock is out of range.
    pub fn now(&self) -> i64 {
        self.reading().clamp(*CLOCK_RANGE_MILLIS.start(), *CLOCK_RANGE_MILLIS.end())
    }

    /// Errors if the clock is before 1970 or beyond the year 9999.
    pub fn check(&self) -> Result<()> {
        if CLOCK_RANGE_MILLIS.contains(&self.reading()) {
            return Ok(());
        }
        Err(TimeError::Clock { used: rfc3339(self.now()) }.into())
    }

    /// The milliseconds that the clock shows, however far it is off.
    fn reading(&self) -> i64 {
        self.fixed.unwrap_or_else(|| match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        })
    }

    /// Whether time is fixed, so that nothing else may be random either.
    pub fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }
}

/// The years 1 to 9999, which RFC 3339 can represent, in milliseconds.
const REPRESENTABLE_MILLIS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// The times that a clock may show: an id has no time before 1970.
const CLOCK_RANGE_MILLIS: std::ops::RangeInclusive<i64> = 0..=*REPRESENTABLE_MILLIS.end();

/// The date and time of day in UTC. `Timestamp` ends 26 hours before the year 9999 does; this does not.
pub fn utc(ms: i64) -> Option<DateTime> {
    civil::date(1970, 1, 1).at(0, 0, 0, 0).checked_add(SignedDuration::from_millis(ms)).ok()
}

/// Errors unless a number of milliseconds is in the years 1 to 9999, which can be written as dates.
pub fn checked(ms: i64) -> Result<i64> {
    if REPRESENTABLE_MILLIS.contains(&ms) {
        return Ok(ms);
    }
    Err(TimeError::OutOfRange { ms }.into())
}

/// `2026-11-21T07:03:00.000Z`.
pub fn rfc3339(ms: i64) -> String {
    Rfc3339(ms).to_string()
}

/// The date and the minute in UTC: `2026-11-21 07:03`.
pub fn minute(ms: i64) -> String {
    let Some(time) = utc(ms) else { return ms.to_string() };
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute()
    )
}

/// A time that is shown as by `rfc3339`.
pub(super) struct Rfc3339(pub(super) i64);

impl Display for Rfc3339 {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match utc(self.0) {
            Some(time) => write!(f, "{time:.3}Z"),
            None => self.0.fmt(f),
        }
    }
}

/// The year and the month, 1 to 12, of a time in UTC.
pub fn year_and_month(ms: i64) -> (i64, u8) {
    // Times of records are within the years 1 to 9999 (`checked`).
    let time = utc(ms).unwrap_or_default();
    (time.year().into(), time.month().unsigned_abs())
}

/// Reads RFC 3339 (`2026-11-21T07:03:00Z`, `2026-11-21 09:03:00.5+02:00`), a date (midnight UTC), or a whole
/// number of milliseconds. Errors for other texts.
pub fn parse(text: &str) -> Result<i64> {
    let text = text.trim();
    if let Ok(ms) = text.parse::<i64>() {
        return checked(ms);
    }
    let ms = match text.parse::<Timestamp>() {
        Ok(time) => time.as_millisecond(),
        Err(_) => civil_millis(text).ok_or_else(|| TimeError::NotATime {
            such_as: "2026-11-21T07:03:00Z, a date or milliseconds",
            found: text.to_owned(),
        })?,
    };
    checked(ms)
}

/// The milliseconds of a date, or of a date and a time of day, with or without an offset from UTC.
fn civil_millis(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text).ok()?;
    let time = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let since = time.duration_since(civil::date(1970, 1, 1).at(0, 0, 0, 0));
    let offset = pieces.to_numeric_offset().map_or(0, |offset| offset.seconds());
    Some(i64::try_from(since.as_millis()).ok()? - i64::from(offset) * 1000)
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
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
            ("9999-12-31T21:59:59.999-02:00", "9999-12-31T23:59:59.999Z"),
            ("0001-01-01", "0001-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(parse(text).unwrap()), written, "{text}");
        }
        assert!(parse("yesterday").is_err());
        assert!(parse("9223372036854775807").is_err());
        assert!(parse("9999-12-31T23:59:59-00:01").is_err());
    }

    #[test]
    fn a_clock_that_is_out_of_range_gives_the_nearest_valid_time() {
        for (clock, now) in [(i64::MIN, 0), (-1, 0), (i64::MAX, 253_402_300_799_999)] {
            assert_eq!(Clock::fixed(clock).now(), now);
            assert!(Clock::fixed(clock).check().is_err());
        }
        assert!(Clock::default().check().is_ok());
    }
}
