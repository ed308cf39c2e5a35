//! Ids: UUIDv7 (RFC 9562, 5.7), whose first 48 bits are the time, so that they sort as they were made.

use super::digest;
use super::time::Clock;
use crate::error::{Context, Result};

/// The id of a record that these `parts` make unique at `ms`: the same record has the same id wherever and
/// however often it is written, which makes writes idempotent. The 74 bits that RFC 9562 leaves free come
/// from SHA-256 over the parts, each preceded by its length.
pub fn derived(ms: i64, parts: &[&str]) -> String {
    let mut bits = [0; 10];
    bits.copy_from_slice(&digest::bytes(parts)[..10]);
    v7(ms, bits)
}

/// A new id for something without a natural key, such as a trace. With a fixed clock it is derived from
/// `salt`. Fails if the system has no random bytes.
pub fn fresh(clock: &Clock, salt: &str) -> Result<String> {
    if clock.is_fixed() {
        return Ok(derived(clock.now(), &["fresh", salt]));
    }
    let mut bits = [0; 10];
    getrandom::fill(&mut bits).context("cannot get random bytes")?;
    Ok(v7(clock.now(), bits))
}

/// The time in an id that the suite makes, as the 12 hexadecimal digits with which it begins; `None` of any
/// other id.
pub fn time_digits(id: &str) -> Option<&str> {
    let uuid = uuid::Uuid::try_parse(id).ok().filter(|uuid| uuid.get_version_num() == 7)?;
    let digits = id.get(..13)?;
    (uuid.hyphenated().to_string() == id).then_some(digits)
}

fn v7(ms: i64, bits: [u8; 10]) -> String {
    // A UUIDv7 has 48 bits for the time since 1970; an earlier time has none.
    let ms = u64::try_from(ms).unwrap_or(0) & 0xffff_ffff_ffff;
    uuid::Builder::from_unix_timestamp_millis(ms, &bits).into_uuid().hyphenated().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_uuids_of_version_7_and_differ_by_every_part() {
        let id = derived(1_700_000_000_000, &["a", "bc"]);
        assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 7);
        assert_eq!(id, derived(1_700_000_000_000, &["a", "bc"]));
        assert_ne!(id, derived(1_700_000_000_000, &["ab", "c"]));
        assert_ne!(id, derived(1_700_000_000_001, &["a", "bc"]));
    }
}
