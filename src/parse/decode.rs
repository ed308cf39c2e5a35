//! Bytes into text: UTF-8, UTF-16 with a byte order mark, and the encodings of older files.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// The beginning of a file, in bytes, in which a NUL shows that it is no text.
const SNIFFED_BYTES: usize = 8 * 1024;

/// The text of a file, or `None` if it has none. Its encoding is that of a byte order mark, else UTF-8 if
/// that is valid or nearly so, else a guess from its bytes. Invalid bytes become U+FFFD.
pub(super) fn decode(bytes: Vec<u8>) -> Option<String> {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        if encoding == UTF_8 {
            return Some(from_utf8(bytes[mark..].to_vec()));
        }
        return Some(encoding.decode(&bytes).0.into_owned());
    }
    if bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0) {
        return None;
    }
    Some(from_utf8(bytes))
}

/// The text of HTML, whose encoding a `meta` element may name.
pub(super) fn decode_html(bytes: Vec<u8>) -> Option<String> {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let is_marked = Encoding::for_bom(&bytes).is_some() || head.contains(&0);
    if is_marked || std::str::from_utf8(&bytes).is_ok() {
        return decode(bytes);
    }
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let label = head.split_once("charset=").map_or("", |(_, rest)| rest.trim_start_matches(['"', '\'']));
    let label =
        label.split(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c)).next().unwrap_or_default();
    match Encoding::for_label(label.as_bytes()).filter(|named| *named != UTF_8) {
        Some(encoding) => Some(encoding.decode_without_bom_handling(&bytes).0.into_owned()),
        None => decode(bytes),
    }
}

fn from_utf8(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bytes = error.into_bytes();
            guess(&bytes).decode_without_bom_handling(&bytes).0.into_owned()
        }
    }
}

/// The encoding of bytes that are not valid UTF-8.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let (mut valid, mut invalid) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    // UTF-8 with some damage.
    if valid > 4 * invalid {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_recognised() {
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("Größe".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        for (bytes, text) in [
            (&b"Gr\xc3\xb6\xc3\x9fe"[..], Some("Größe")),
            (b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe", Some("Größe")),
            (&utf16, Some("Größe")),
            (b"Die Gr\xf6\xdfe der G\xe4rten ist sch\xf6n.", Some("Die Größe der Gärten ist schön.")),
            ("äöüßéè \u{0}".replace('\u{0}', "").as_bytes(), Some("äöüßéè ")),
            (b"a\0b", None),
        ] {
            assert_eq!(decode(bytes.to_vec()).as_deref(), text);
        }
        let damaged = [&"ä".repeat(20).into_bytes()[..], b"\xff", b"ok"].concat();
        assert_eq!(decode(damaged).unwrap(), "ä".repeat(20) + "\u{fffd}ok");
    }
}
