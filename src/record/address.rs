//! Addresses of the tree of contexts: `viking://`, and segments between slashes.
//!
//! Whole segments are compared, so that `viking://a/1` is not above `viking://a/10`. An address is a name,
//! never a path of the file system: nothing in it is decoded, and `.` and `..` are refused.

use super::error::AddressError;
use super::id;
use crate::error::Result;
use sha2::{Digest, Sha256};
use std::fmt;

/// The prefix of every address.
pub const SCHEME: &str = "viking://";

/// The greatest length of an address, in bytes.
pub const MAX_ADDRESS_BYTES: usize = 4096;

/// The greatest length of a segment, in bytes; a longer one is cut.
pub const MAX_SEGMENT_BYTES: usize = 255;

/// The first segment that stands for the root of the partition that asks.
const HOME: &str = "~";

/// The addresses that belong to one partition, which is named by the segment after these.
const OWNED: [&[&str]; 2] = [&["user"], &["resources", "users"]];

/// A valid address. Ordered by segments, so that the descendants of an address follow it directly.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Address(String);

impl Address {
    /// Reads an address. A segment that is too long is cut, and gets `_` and 8 digits of its SHA-256. Errors
    /// say what is wrong, without the address.
    pub fn parse(text: &str) -> Result<Address> {
        let Some(path) = text.strip_prefix(SCHEME) else {
            return Err(AddressError::NotAnAddress { scheme: SCHEME }.into());
        };
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(AddressError::TooLong { most: MAX_ADDRESS_BYTES }.into());
        }
        let mut address = Address(SCHEME.to_owned());
        for segment in path.split('/').filter(|_| !path.is_empty()) {
            address = address.join(segment)?;
        }
        Ok(address)
    }

    /// Reads an address for a partition: `~` at its beginning is the root of that partition. Errors if the
    /// address belongs to another.
    pub fn resolve(text: &str, partition: &str) -> Result<Address> {
        let address = Address::locate(text, partition)?;
        match address.owner() {
            Some(owner) if !address.is_open_to(partition) => {
                let owner = owner.to_owned();
                Err(AddressError::OfAnother { address: address.0, owner }.into())
            }
            _ => Ok(address),
        }
    }

    /// As `resolve`, also of an address that belongs to another partition. Fails if it is no address.
    pub fn locate(text: &str, partition: &str) -> Result<Address> {
        let address = Address::parse(text)?;
        if address.segments().next() != Some(HOME) {
            return Ok(address);
        }
        address.segments().skip(1).try_fold(Address::home(partition)?, |above, segment| above.join(segment))
    }

    /// Whether it does not belong to another partition.
    pub fn is_open_to(&self, partition: &str) -> bool {
        self.owner().is_none_or(|owner| checked_segment(partition).ok().as_deref() == Some(owner))
    }

    /// The root of a partition. Errors if its name cannot be a segment.
    pub fn home(partition: &str) -> Result<Address> {
        Address(format!("{SCHEME}user"))
            .join(partition)
            .map_err(|error| error.at(format_args!("partition {partition}")))
    }

    /// The address above the memories of a partition. Errors as `home` does.
    pub fn memories(partition: &str) -> Result<Address> {
        Address::home(partition)?.join("memories")
    }

    /// The address as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments, outermost first.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        let path = self.0.get(SCHEME.len()..).unwrap_or_default();
        path.split('/').filter(|segment| !segment.is_empty())
    }

    /// The last segment; empty for the root of all addresses.
    pub fn name(&self) -> &str {
        self.segments().next_back().unwrap_or_default()
    }

    /// The number of segments.
    pub fn depth(&self) -> usize {
        self.segments().count()
    }

    /// The address above; `None` for the root of all addresses.
    pub fn parent(&self) -> Option<Address> {
        let name = self.name();
        let rest = self.0.strip_suffix(name).filter(|_| !name.is_empty())?;
        let is_root = rest == SCHEME;
        Some(Address(if is_root { rest } else { rest.trim_end_matches('/') }.to_owned()))
    }

    /// The address of a name below this one. Errors if the name cannot be a segment, or the address is too
    /// long.
    pub fn join(&self, name: &str) -> Result<Address> {
        let segment = checked_segment(name)?;
        let slash = if self.0 == SCHEME { "" } else { "/" };
        let text = format!("{}{slash}{segment}", self.0);
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(AddressError::TooLong { most: MAX_ADDRESS_BYTES }.into());
        }
        Ok(Address(text))
    }

    /// Whether it lies below another address, at any depth.
    pub fn is_below(&self, other: &Address) -> bool {
        self.0.strip_prefix(&other.below()).is_some_and(|rest| !rest.is_empty())
    }

    /// Whether it is at or below another address.
    pub fn is_within(&self, other: &Address) -> bool {
        self == other || self.is_below(other)
    }

    /// The text with which every address below this one begins, and no other.
    pub fn below(&self) -> String {
        if self.0 == SCHEME { self.0.clone() } else { format!("{}/", self.0) }
    }

    /// The partition to which it belongs, as a segment; `None` if that is the one that asks.
    pub fn owner(&self) -> Option<&str> {
        OWNED.into_iter().find_map(|above| {
            let mut segments = self.segments();
            let is_owned = above.iter().all(|segment| segments.next() == Some(segment));
            segments.next().filter(|_| is_owned)
        })
    }

    /// The address once a partition has another name, if it belongs to that; a session of the partition's
    /// name has the new one too. Errors if the name cannot be a segment, or the address gets too long.
    pub fn renamed(&self, from: &str, to: &str) -> Result<Address> {
        if self.owner().is_none() || !self.is_open_to(from) {
            return Ok(self.clone());
        }
        let segments: Vec<&str> = self.segments().collect();
        let owner = OWNED.into_iter().find(|above| segments.starts_with(above)).map_or(0, <[&str]>::len);
        let is_own_session = owner == 1
            && segments.get(owner + 1) == Some(&"sessions")
            && segments.get(owner + 2) == segments.get(owner);
        segments.iter().enumerate().try_fold(Address(SCHEME.to_owned()), |above, (at, segment)| {
            let is_name = at == owner || is_own_session && at == owner + 2;
            above.join(if is_name { to } else { segment })
        })
    }

    /// The id of the document at this address in a partition, the same for all versions: a UUID of version 7
    /// of the time 0, whose other bits come from SHA-256 over `document`, the partition and the address.
    pub fn document_id(&self, partition: &str) -> String {
        id::derived(0, &["document", partition, &self.0])
    }
}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Address) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Address {
    fn cmp(&self, other: &Address) -> std::cmp::Ordering {
        self.segments().cmp(other.segments())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A segment of a name: cut if it is too long. Errors if it is empty, `.`, `..`, or has a slash or a control
/// character.
fn checked_segment(name: &str) -> Result<String> {
    match name {
        "" => Err(AddressError::EmptySegment.into()),
        "." | ".." => Err(AddressError::Relative { segment: name.to_owned() }.into()),
        _ if name.contains('/') => Err(AddressError::Character { fault: "the segment has a slash" }.into()),
        _ if name.chars().any(char::is_control) => {
            Err(AddressError::Character { fault: "the address has a control character" }.into())
        }
        _ => Ok(shortened(name, MAX_SEGMENT_BYTES)),
    }
}

/// A name of at most `limit` bytes: one that is longer ends with `_` and 8 hexadecimal digits of its SHA-256.
pub fn shortened(name: &str, limit: usize) -> String {
    if name.len() <= limit {
        return name.to_owned();
    }
    let digest: String = Sha256::digest(name).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let end = name.floor_char_boundary(limit.saturating_sub(digest.len() + 1));
    format!("{}_{digest}", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    /// Segments of any characters, among them those that matter.
    fn segments() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-c1~.%_ é漢/\\\\\u{0}\u{1f}\u{85}]{0,4}|[a-é]{240,300}", 0..6)
    }

    proptest! {
        #[test]
        fn an_address_is_its_segments_or_is_refused(segments in segments()) {
            let text = format!("{SCHEME}{}", segments.join("/"));
            let given: Vec<&str> = segments.iter().flat_map(|segment| segment.split('/')).collect();
            let is_bad = |segment: &&str| {
                matches!(*segment, "" | "." | "..") || segment.chars().any(char::is_control)
            };
            let is_root = text == SCHEME;
            match Address::parse(&text) {
                Err(_) => prop_assert!(text.len() > MAX_ADDRESS_BYTES || given.iter().any(is_bad)),
                Ok(_) if is_root => {}
                Ok(address) => {
                    prop_assert!(!given.iter().any(is_bad), "{}", address);
                    prop_assert_eq!(address.depth(), given.len());
                    for (own, given) in address.segments().zip(&given) {
                        prop_assert!(own.len() <= MAX_SEGMENT_BYTES);
                        prop_assert!(own == *given || given.len() > MAX_SEGMENT_BYTES);
                    }
                    // A written address is read unchanged.
                    prop_assert_eq!(&Address::parse(address.as_str()).unwrap(), &address);
                    let parent = address.parent().unwrap();
                    prop_assert_eq!(&parent.join(address.name()).unwrap(), &address);
                    prop_assert!(address.is_below(&parent) && !parent.is_within(&address));
                }
            }
        }

        #[test]
        fn below_is_a_matter_of_whole_segments(one in "[ab1]{1,2}(/[ab1]{1,2}){0,3}", other in "[ab1]{1,2}(/[ab1]{1,2}){0,3}") {
            let (above, below) = (address(&format!("{SCHEME}{one}")), address(&format!("{SCHEME}{other}")));
            let (own, others): (Vec<&str>, Vec<&str>) = (above.segments().collect(), below.segments().collect());
            prop_assert_eq!(below.is_below(&above), others.len() > own.len() && others.starts_with(&own));
            prop_assert_eq!(below.is_below(&above), below.as_str().starts_with(&above.below()));
            prop_assert_eq!(above.cmp(&below), own.cmp(&others));
        }

        #[test]
        fn no_spelling_reaches_another_partition(segments in segments(), partition in "[ab]{1,2}") {
            for text in ["resources/users/b/", "user/b/", "~/", ""] {
                let text = format!("{SCHEME}{text}{}", segments.join("/"));
                if let Ok(address) = Address::resolve(&text, &partition) {
                    prop_assert!(address.owner().is_none_or(|owner| owner == partition), "{}", address);
                }
            }
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "viking:",
            "viking:/a",
            "VIKING://a",
            "http://a",
            "viking://a/",
            "viking:///a",
            "viking://a//b",
            "viking://.",
            "viking://a/../b",
            "viking://a\0",
            "viking://a\n",
            "viking://a/\u{9b}b",
        ] {
            assert!(Address::parse(text).is_err(), "{text:?}");
        }
        let long = format!("viking://{}", ["abcdefg"; 511].join("/"));
        assert_eq!((long.len(), Address::parse(&long).is_ok()), (4096, true));
        assert!(Address::parse(&format!("{long}h")).is_err());
    }

    #[test]
    fn long_segments_are_cut_and_stay_apart() {
        let long = |end: &str| address(&format!("viking://r/{}{end}", "é".repeat(130)));
        assert_eq!(long("x").name(), format!("{}_94cb10dc", "é".repeat(123)).as_str());
        assert_ne!(long("x"), long("y"));
        assert_eq!(address(&format!("viking://{}", "a".repeat(255))).name(), "a".repeat(255));
    }

    #[test]
    fn a_partition_has_a_root_and_addresses_of_its_own() {
        let resolve = |text: &str| Address::resolve(text, "ann").map(|address| address.to_string());
        assert_eq!(resolve("viking://~").unwrap(), "viking://user/ann");
        assert_eq!(resolve("viking://~/memories/x").unwrap(), "viking://user/ann/memories/x");
        assert_eq!(resolve("viking://resources/~").unwrap(), "viking://resources/~");
        assert_eq!(resolve("viking://resources/users/ann/d").unwrap(), "viking://resources/users/ann/d");
        assert_eq!(resolve("viking://resources/users").unwrap(), "viking://resources/users");
        for other in ["viking://user/bob", "viking://resources/users/bob/d", "viking://resources/users/an"] {
            let error = Address::resolve(other, "ann").unwrap_err();
            assert!(matches!(error.find(), Some(AddressError::OfAnother { .. })), "{other}: {error}");
        }
        assert!(Address::home("a/b").is_err());
        assert!(Address::resolve("viking://user/a/b", "a/b").is_err());
    }

    #[test]
    fn the_addresses_of_a_partition_follow_its_name() {
        for (before, after) in [
            ("user/old/memories/x", "user/new/memories/x"),
            ("user/old", "user/new"),
            ("resources/users/old/d", "resources/users/new/d"),
            ("user/old/sessions/old/history/h", "user/new/sessions/new/history/h"),
            ("user/old/sessions/tea/history/old", "user/new/sessions/tea/history/old"),
            ("user/older/x", "user/older/x"),
            ("resources/old/x", "resources/old/x"),
            ("resources/users/old/sessions/old", "resources/users/new/sessions/old"),
        ] {
            let renamed = address(&format!("{SCHEME}{before}")).renamed("old", "new").unwrap();
            assert_eq!(renamed, address(&format!("{SCHEME}{after}")));
        }
        assert!(address("viking://user/old/x").renamed("old", "a/b").is_err());
        assert!(address("viking://resources/x").renamed("old", "a/b").is_ok());
    }

    #[test]
    fn an_id_follows_from_partition_and_address() {
        let notes = address("viking://resources/notes");
        assert_eq!(notes.document_id("p"), notes.document_id("p"));
        assert_ne!(notes.document_id("p"), notes.document_id("q"));
        assert!(notes.document_id("p").starts_with("00000000-0000-7"));
    }
}
