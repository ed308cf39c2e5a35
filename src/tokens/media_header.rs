//! The headers of images and sounds: their size and rate. Only the bytes that are read are decoded.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// At most this many segments of a JPEG, or chunks of a WAV, are searched for the one with the size or the
/// rate.
const MAX_SEGMENTS: usize = 256;

/// Data in base64, decoded only where it is read.
#[derive(Clone, Copy)]
pub(super) struct Base64Data<'a>(&'a str);

impl<'a> Base64Data<'a> {
    /// The data of a `data:` address or plain base64; `None` for any other address.
    pub(super) fn parse(text: &'a str) -> Option<Base64Data<'a>> {
        match text.strip_prefix("data:") {
            Some(rest) => rest.split_once(',').map(|(_, data)| Base64Data(data)),
            None if text.bytes().take(64).any(|byte| byte == b':') => None,
            None => Some(Base64Data(text)),
        }
    }

    /// The number of decoded bytes.
    pub(super) fn len(self) -> usize {
        self.0.len() / 4 * 3
    }

    fn bytes<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        let (first, last) = (at / 3 * 4, (at + N).div_ceil(3) * 4);
        let bytes = BASE64.decode(self.0.get(first..last.min(self.0.len()))?).ok()?;
        bytes.get(at % 3..at % 3 + N)?.try_into().ok()
    }

    /// Width and height in pixels of a PNG, GIF, WebP or JPEG; `None` where they cannot be read.
    pub(super) fn size(self) -> Option<(u32, u32)> {
        let size = match self.bytes::<12>(0)? {
            [0x89, b'P', b'N', b'G', ..] => {
                let [a, b, c, d, e, f, g, h] = self.bytes(16)?;
                (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
            }
            [b'G', b'I', b'F', b'8', _, _, a, b, c, d, ..] => {
                (u16::from_le_bytes([a, b]).into(), u16::from_le_bytes([c, d]).into())
            }
            [b'R', b'I', b'F', b'F', .., b'W', b'E', b'B', b'P'] => self.webp()?,
            [0xFF, 0xD8, ..] => self.jpeg()?,
            _ => return None,
        };
        (size.0 > 0 && size.1 > 0).then_some(size)
    }

    /// The three forms of a WebP's first chunk: RFC 9649.
    fn webp(self) -> Option<(u32, u32)> {
        match &self.bytes::<4>(12)? {
            b"VP8X" => {
                let [a, b, c, d, e, f] = self.bytes(24)?;
                Some((u32::from_le_bytes([a, b, c, 0]) + 1, u32::from_le_bytes([d, e, f, 0]) + 1))
            }
            b"VP8L" => {
                let bits = u32::from_le_bytes(self.bytes(21)?);
                Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
            }
            _ => {
                let [a, b, c, d] = self.bytes(26)?;
                let number = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3FFF);
                Some((number(a, b), number(c, d)))
            }
        }
    }

    /// The size in the frame header, over all segments before it.
    fn jpeg(self) -> Option<(u32, u32)> {
        let mut at = 2;
        for _ in 0..MAX_SEGMENTS {
            let [0xFF, marker, high, low] = self.bytes(at)? else { return None };
            // Frame headers, without the tables DHT and DAC and the reserved JPG among their numbers.
            if matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC) {
                let [a, b, c, d] = self.bytes(at + 5)?;
                return Some((u16::from_be_bytes([c, d]).into(), u16::from_be_bytes([a, b]).into()));
            }
            at += 2 + usize::from(u16::from_be_bytes([high, low]));
        }
        None
    }

    /// The bytes a second of a WAV, from its format chunk.
    pub(super) fn byte_rate(self) -> Option<usize> {
        let [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E'] = self.bytes(0)? else {
            return None;
        };
        let mut at = 12;
        for _ in 0..MAX_SEGMENTS {
            let [a, b, c, d, length @ ..] = self.bytes::<8>(at)?;
            if [a, b, c, d] == *b"fmt " {
                return Some(u32::from_le_bytes(self.bytes(at + 16)?) as usize);
            }
            at = at.checked_add(8 + u32::from_le_bytes(length).next_multiple_of(2) as usize)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded(bytes: &[u8]) -> String {
        format!("data:image/x;base64,{}", BASE64.encode(bytes))
    }

    fn pictures() -> Vec<(Vec<u8>, (u32, u32))> {
        let webp = |form: &[u8; 4], more: &[u8]| [b"RIFF\0\0\0\0WEBP", &form[..], &[0; 4], more].concat();
        let jpeg = [
            &[0xFF, 0xD8, 0xFF, 0xE1, 0xFF, 0xFF][..],
            &[7; 65533],
            &[0xFF, 0xC4, 0, 3, 1, 0xFF, 0xC2, 0, 17, 8, 0, 30, 1, 4],
        ];
        vec![
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x02\xd0\x08".to_vec(), (1280, 720)),
            (b"GIF89a\x40\x01\xc8\0\0\0\0".to_vec(), (320, 200)),
            (webp(b"VP8X", b"\0\0\0\0\x7f\x07\0\x37\x04\0"), (1920, 1080)),
            (webp(b"VP8L", &[0x2F, 0x3F, 0xC1, 0x31, 0, 0]), (320, 200)),
            (webp(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xC8, 0]), (320, 200)),
            (jpeg.concat(), (260, 30)),
        ]
    }

    #[test]
    fn the_size_of_a_picture_is_read() {
        for (bytes, size) in pictures() {
            assert_eq!(Base64Data::parse(&coded(&bytes)).unwrap().size(), Some(size), "{:?}", &bytes[..4]);
        }
    }

    #[test]
    fn a_truncated_picture_has_no_size() {
        for (bytes, _) in pictures() {
            let header = if bytes.len() > 1000 { bytes.len() - 1 } else { 22.min(bytes.len() - 4) };
            for end in (0..header).step_by(1 + header / 40) {
                let text = coded(&bytes[..end]);
                let size = Base64Data::parse(&text).unwrap().size();
                assert!(size.is_none() || end > 9, "{end}: {size:?}");
            }
        }
        let evil = [&[0xFF, 0xD8][..], &[0xFF, 0xE0, 0, 0].repeat(1_000_000)].concat();
        assert_eq!(Base64Data::parse(&coded(&evil)).unwrap().size(), None);
        for text in ["data:image/png;base64,ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ", "data:,", "", "data:image/png;base64,####"]
        {
            assert_eq!(Base64Data::parse(text).and_then(Base64Data::size), None);
        }
        assert!(
            Base64Data::parse("https://example.com/owl.png").is_none()
                && Base64Data::parse("data:image/png").is_none()
        );
    }

    #[test]
    fn the_rate_of_a_sound_is_read() {
        let wav =
            b"RIFF\0\0\0\0WAVEJUNK\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0";
        assert_eq!(Base64Data::parse(&BASE64.encode(wav)).unwrap().byte_rate(), Some(32_000));
        assert_eq!(Base64Data::parse(&BASE64.encode(&wav[..40])).unwrap().byte_rate(), None);
        assert_eq!(
            Base64Data::parse(&BASE64.encode(b"ID3\x04\0\0\0\0\0\0\0\0\0\0")).unwrap().byte_rate(),
            None
        );
    }
}
