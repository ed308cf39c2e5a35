//! Bodies that come compressed (RFC 9110, 8.4.1): decoded piece by piece.

use super::{Cut, Failed};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, Write};

/// What may be offered to a server for an answer that is to be read here too: of what a client takes
/// (`Accept-Encoding`), that which can be decoded.
pub fn offer(accepted: &str) -> String {
    let name = |coding: &str| coding.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = |coding: &&str| ["gzip", "x-gzip", "deflate", "identity"].contains(&name(coding).as_str());
    let known: Vec<&str> = accepted.split(',').map(str::trim).filter(known).collect();
    if known.is_empty() { "identity".to_owned() } else { known.join(", ") }
}

/// Decodes one body.
pub enum Decoder {
    Identity,
    Gzip(MultiGzDecoder<Room>),
    /// Not begun yet: which of both it is shows its first byte.
    Deflate,
    Zlib(ZlibDecoder<Room>),
    /// What some servers call deflate.
    Raw(DeflateDecoder<Room>),
    Unknown(String),
}

/// Takes so many bytes and no more: a few may decode to very many.
#[derive(Default)]
pub struct Room {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.limit - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if taken < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// For the value of `Content-Encoding`.
    pub fn of(encoding: Option<&str>) -> Decoder {
        match encoding.unwrap_or("identity").trim().to_ascii_lowercase().as_str() {
            "identity" | "" => Decoder::Identity,
            "gzip" | "x-gzip" => Decoder::Gzip(MultiGzDecoder::new(Room::default())),
            "deflate" => Decoder::Deflate,
            other => Decoder::Unknown(other.to_owned()),
        }
    }

    /// Appends what a piece says to `out`, until that has `limit` bytes.
    pub fn decode(&mut self, piece: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), Cut> {
        if let (Decoder::Deflate, Some(first)) = (&self, piece.first()) {
            // The method of zlib's header (RFC 1950, 2.2) is no beginning of a block that compressors write.
            *self = match first & 0x0f {
                8 => Decoder::Zlib(ZlibDecoder::new(Room::default())),
                _ => Decoder::Raw(DeflateDecoder::new(Room::default())),
            };
        }
        let limit = limit.saturating_sub(out.len());
        match self {
            Decoder::Identity => {
                out.extend_from_slice(&piece[..limit.min(piece.len())]);
                if piece.len() > limit { Err(Cut::Limit) } else { Ok(()) }
            }
            Decoder::Gzip(decoder) => through(decoder, MultiGzDecoder::get_mut, piece, out, limit),
            Decoder::Zlib(decoder) => through(decoder, ZlibDecoder::get_mut, piece, out, limit),
            Decoder::Raw(decoder) => through(decoder, DeflateDecoder::get_mut, piece, out, limit),
            Decoder::Deflate => Ok(()),
            Decoder::Unknown(name) => {
                Err(Cut::Failed(Failed::broken(format!("it is encoded as {name:?}, which was not offered"))))
            }
        }
    }
}

fn through<D: Write>(
    decoder: &mut D,
    room: impl Fn(&mut D) -> &mut Room,
    piece: &[u8],
    out: &mut Vec<u8>,
    limit: usize,
) -> Result<(), Cut> {
    room(decoder).limit = limit;
    // What is decoded stays within the decoder until it is flushed.
    let done = decoder.write_all(piece).and_then(|()| decoder.flush());
    out.append(&mut room(decoder).bytes);
    done.map_err(|e| match e.kind() {
        io::ErrorKind::StorageFull => Cut::Limit,
        _ => Cut::Failed(Failed::broken(format!("it cannot be decoded: {e}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn encoded(encoding: &str, text: &[u8]) -> Vec<u8> {
        let level = Compression::fast();
        match encoding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "raw" => {
                let mut encoder = DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            _ => text.to_vec(),
        }
    }

    #[test]
    fn every_encoding_is_read_in_pieces_of_any_length() {
        let text = "data: süß\n\n".repeat(50);
        for (form, name) in [
            ("plain", None),
            ("plain", Some("identity")),
            ("gzip", Some("GZip")),
            ("gzip", Some("x-gzip")),
            ("zlib", Some("deflate")),
            ("raw", Some("deflate")),
        ] {
            for length in [1, 7, 10_000] {
                let (mut decoder, mut out) = (Decoder::of(name), Vec::new());
                for piece in encoded(form, text.as_bytes()).chunks(length) {
                    decoder.decode(piece, &mut out, usize::MAX).unwrap();
                }
                assert_eq!(out, text.as_bytes(), "{form} by {length}");
            }
        }
    }

    #[test]
    fn what_is_flushed_is_decoded_at_once() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut decoder = Decoder::of(Some("gzip"));
        for text in ["data: one\n\n", "data: two\n\n"] {
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.flush().unwrap();
            let mut out = Vec::new();
            decoder.decode(&std::mem::take(encoder.get_mut()), &mut out, 100).unwrap();
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn no_more_is_held_than_was_asked_for() {
        for form in ["plain", "gzip"] {
            let (mut decoder, mut out) = (Decoder::of(Some(form).filter(|f| *f != "plain")), Vec::new());
            let bomb = encoded(form, &[b'x'; 10 << 20]);
            assert!(matches!(decoder.decode(&bomb, &mut out, 1000), Err(Cut::Limit)));
            assert_eq!((out.len(), out.capacity() < 1 << 20), (1000, true));
        }
    }

    #[test]
    fn what_is_no_such_encoding_is_refused() {
        for (name, bytes) in [("gzip", &b"no gzip at all"[..]), ("deflate", b"\x78\x9cno"), ("br", b"x")] {
            let said = Decoder::of(Some(name)).decode(bytes, &mut Vec::new(), 100);
            assert!(matches!(said, Err(Cut::Failed(_))), "{name}");
        }
    }

    #[test]
    fn only_what_can_be_decoded_is_offered() {
        for (accepted, offered) in [
            ("gzip, deflate, br, zstd", "gzip, deflate"),
            ("br;q=1.0, GZIP;q=0.5", "GZIP;q=0.5"),
            ("*", "identity"),
            ("", "identity"),
        ] {
            assert_eq!(offer(accepted), offered);
        }
    }
}
