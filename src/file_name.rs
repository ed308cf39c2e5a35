//! File names made of untrusted names: each is short enough, and the same file on every system, whether or
//! not it distinguishes cases or Unicode forms.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The longest name, in bytes: that of eCryptfs, which encrypts home directories. Most other file systems
/// have 255.
pub const MAX_BYTES: usize = 143;
/// The characters that stay as they are.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b' ');
/// The names that are devices on Windows, with any extension; the last two have a digit at the end.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];
/// The sign before the digest of a whole name, which is none of the kept ones.
const DIGEST_SIGN: char = '~';
/// The length of such a digest, in bytes.
const DIGEST_BYTES: usize = 8;

/// The files of one tree, none of which takes the place of another.
#[derive(Default)]
pub struct FileNames {
    /// The name that each path was made of; paths that differ only in case are one.
    taken: BTreeMap<String, String>,
}

impl FileNames {
    /// The name of the file in a folder that has this name, or of the folder: characters other than ASCII
    /// letters, digits, spaces, `-`, `_` and `.` are percent-encoded, and so are those with a special meaning
    /// on some systems. A long name is cut, and a digest of the whole is added, also if another name differs
    /// only in case.
    pub fn make(&mut self, folder: &str, name: &str, ending: &str) -> String {
        let encoded = encode(name);
        let is_long = encoded.len() + ending.len() > MAX_BYTES;
        if !is_long {
            let path = format!("{folder}/{encoded}").to_ascii_lowercase();
            let owner = self.taken.entry(path).or_insert_with(|| name.to_owned());
            if owner == name {
                return encoded + ending;
            }
        }
        cut(name, MAX_BYTES - ending.len()) + ending
    }
}

/// A name with percent-encoding: a point at the beginning hides a file, Windows drops points and spaces at
/// the end, and has devices.
fn encode(name: &str) -> String {
    let mut encoded = utf8_percent_encode(name, KEPT).to_string();
    if encoded.ends_with(['.', ' ']) {
        let last = encoded.pop().unwrap_or_default();
        encoded += &format!("%{:02X}", u32::from(last));
    }
    match encoded.chars().next() {
        Some(first) if first == '.' || is_device(&encoded) => {
            format!("%{:02X}{}", u32::from(first), &encoded[1..])
        }
        _ => encoded,
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let port = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.len() - port.len() {
        0 => DEVICES[..4].contains(&&*stem),
        1 => DEVICES[4..].contains(&port),
        _ => false,
    }
}

/// The beginning of a name and a digest of the whole, of at most `max` bytes.
fn cut(name: &str, max: usize) -> String {
    let digest = digest(name.as_bytes());
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    // The bytes of an encoded character stay together.
    let beginnings = ends.map(|end| encode(&name[..end])).take_while(|part| part.len() + digest.len() <= max);
    beginnings.last().unwrap_or_default() + &digest
}

/// A digest of a name, as it is added to one.
pub fn digest(name: &[u8]) -> String {
    let digest = Sha256::digest(name);
    let digits = digest.iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}"));
    std::iter::once(DIGEST_SIGN.to_string()).chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_so_that_every_system_takes_them() {
        for (name, encoded) in [
            ("garden-2_a b.c", "garden-2_a b.c"),
            ("a/b%", "a%2Fb%25"),
            ("\u{5ead}", "%E5%BA%AD"),
            ("..", "%2E%2E"),
            (".hidden", "%2Ehidden"),
            ("end. ", "end.%20"),
            (" ", "%20"),
            ("Con", "%43on"),
            ("nul.tar.gz", "%6Eul.tar.gz"),
            ("LPT1 .x", "%4CPT1 .x"),
            ("COM10", "COM10"),
            ("com", "com"),
            ("console", "console"),
        ] {
            assert_eq!(encode(name), encoded, "{name:?}");
        }
    }

    #[test]
    fn no_name_takes_the_place_of_another() {
        let names = ["a", "A", "\u{e9}", "e\u{301}", "\u{c9}", "%C3%A9", "con", "CON", "a.", "a", "A~"];
        let long =
            ["x".repeat(300), "x".repeat(301), "X".repeat(300), "\u{5ead}".repeat(29), "\u{5ead}".repeat(30)];
        let names = names.into_iter().map(str::to_owned).chain(long);
        let (mut files, mut made) = (FileNames::default(), BTreeMap::new());
        for name in names {
            let file = files.make("", &name, ".md");
            assert!(file.len() <= MAX_BYTES && file.is_ascii(), "{file}");
            let other = made.insert(file.to_lowercase(), name.clone());
            assert!(other.is_none_or(|other| other == name), "{file}");
            assert_eq!(files.make("", &name, ".md"), file);
        }
        assert_eq!(files.make("folder", "A", ".md"), "A.md");
        let cut = files.make("", &"\u{5ead}".repeat(29), "");
        let (encoded, digest) = cut.split_once('~').unwrap();
        assert!(encoded.len() % 9 == 0 && digest.len() == 16, "{cut}");
    }
}
