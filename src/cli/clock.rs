//! The present, in the user's time zone.

use crate::error::Result;
use crate::record::{Clock, time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The time, or the time in `RSV_TEST_NOW`, whose milliseconds may be out of range as a clock may be.
pub(super) fn clock() -> Result<Clock> {
    match std::env::var("RSV_TEST_NOW") {
        Ok(now) => {
            now.parse().or_else(|_| time::parse(&now)).map(Clock::fixed).map_err(|e| e.at("RSV_TEST_NOW"))
        }
        Err(_) => Ok(Clock::default()),
    }
}

/// The user's time zone: that of `TZ`, else of the system, else UTC.
pub fn zone() -> TimeZone {
    TimeZone::try_system().unwrap_or(TimeZone::UTC)
}

/// The present in the user's time zone.
pub(super) fn now() -> Result<Zoned> {
    Ok(in_user_zone(clock()?.now()))
}

/// A time, in milliseconds since 1970, in the user's time zone.
pub(crate) fn in_user_zone(ms: i64) -> Zoned {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX).to_zoned(zone())
}
