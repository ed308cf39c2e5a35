//! The tokens of the parts of a message that are not text: images, sounds, files.

use super::media_header::Base64Data;
use crate::record::Object;

/// A provider's rule for the tokens of an image.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Images {
    /// `base`, and `tile` for each 512 x 512, after the image is shrunk into 2048 x 2048 and to a shorter
    /// side of 768; with detail "low" the `base`. OpenAI, "Images and vision", 2026-03.
    Tiles { base: usize, tile: usize },
    /// A `percent`age of the patches of 32 x 32: 256 at most with detail "low", `high` with "high", `full`
    /// with any other. The same page; for gpt-5.4 and later the data set image-token-cost, measured in
    /// 2026-11.
    Patches { percent: usize, high: usize, full: usize },
    /// 258 for each crop with two thirds of the shorter side, in 256 to 768, one up to 384 x 384. Google,
    /// "Image understanding", 2026, for Gemini up to 2.5.
    Crops,
    /// A token for each square with `side`, and `row` for each row, after the longer side is shrunk to
    /// `edge`; `most` at most. Anthropic, "Vision", 2026-04, and image-token-cost; the image processors of
    /// Pixtral, Mistral Small 3.1, Qwen2-VL.
    Grid { side: u32, edge: u32, row: u32, most: usize },
    /// The same for each.
    Fixed(usize),
}

/// The rule for gpt-4.1-mini and its like.
pub(super) const fn small_patches(percent: usize) -> Images {
    Images::Patches { percent, high: 1_536, full: 1_536 }
}

/// The size that counts where none is known: the one with the most tiles, and with the most crops.
const MAX_TILES_SIZE: (u32, u32) = (2048, 768);
const MAX_CROPS_SIZE: (u32, u32) = (3072, 384);

impl Images {
    /// The tokens of an image of `size` pixels; one whose size is not known counts as the largest.
    fn tokens(self, size: Option<(u32, u32)>, detail: &str) -> usize {
        match self {
            Images::Tiles { base, .. } if detail == "low" => base,
            Images::Tiles { base, tile } => {
                let size = fitted(size.unwrap_or(MAX_TILES_SIZE), 2048);
                base + tile * cells(shrunk(size, size.0.min(size.1), 768), 512, 0)
            }
            Images::Patches { percent, high, full } => {
                let most = match detail {
                    "low" => 256,
                    "high" => high,
                    _ => full,
                };
                let patches = size.map_or(most, |size| cells(size, 32, 0).min(most));
                (patches * percent).div_ceil(100)
            }
            Images::Crops => match size.unwrap_or(MAX_CROPS_SIZE) {
                (..=384, ..=384) => 258,
                size => {
                    let size = fitted(size, MAX_CROPS_SIZE.0);
                    258 * cells(size, (size.0.min(size.1) * 2 / 3).clamp(256, 768), 0)
                }
            },
            Images::Grid { side, edge, row, most } => {
                size.map_or(most, |size| cells(fitted(size, edge), side, row).min(most))
            }
            Images::Fixed(tokens) => tokens,
        }
    }
}

/// The number of squares that cover an image, plus `row` for each row.
fn cells((width, height): (u32, u32), side: u32, row: u32) -> usize {
    (width.div_ceil(side) as usize + row as usize) * height.div_ceil(side) as usize
}

/// The size whose longer side is at most `edge`.
fn fitted(size: (u32, u32), edge: u32) -> (u32, u32) {
    shrunk(size, size.0.max(size.1), edge)
}

/// The size in the proportion in which `from` becomes `to`, if that is smaller.
fn shrunk((width, height): (u32, u32), from: u32, to: u32) -> (u32, u32) {
    let side = |side: u32| (u64::from(side) * u64::from(to)).div_ceil(u64::from(from)) as u32;
    if from <= to { (width, height) } else { (side(width), side(height)) }
}

/// Bytes a second of sound without a WAV's header: 32 kbit/s, slow for speech in MP3 or Opus. A WAV that
/// claims less than 8 kbit/s is not believed.
const DEFAULT_BYTE_RATE: usize = 4_000;
const MIN_BYTE_RATE: usize = 1_000;

/// A file that is not text is taken for pages of 25 000 bytes and 2 500 tokens (Anthropic, "PDF support",
/// 2026: 1500 to 3000 a page), one that is only named for ten of them: no provider publishes a rule by size.
pub(super) const BYTES_PER_TOKEN: usize = 10;
const NAMED_FILE_TOKENS: usize = 25_000;

/// Members of a part that are its data or the address of it, or an object with one of the last three.
const SOURCE_MEMBERS: [&str; 10] = [
    "image_url",
    "input_audio",
    "audio_url",
    "file",
    "source",
    "document_url",
    "video_url",
    "url",
    "data",
    "file_data",
];

/// The tokens of a part of a message that is an image, a sound (`sound` tokens a second) or a file; `None`
/// for text, and for unknown types.
pub(super) fn tokens(part: &Object, images: Images, sound: usize) -> Option<usize> {
    let text = |object: &Object, member| object.valid_text(member);
    let kind = text(part, "type")?;
    let kind = kind.trim_start_matches("input_").trim_end_matches("_url");
    if !["image", "audio", "file", "document", "video"].contains(&kind) {
        return None;
    }
    let inner = SOURCE_MEMBERS.iter().find_map(|member| part.valid_object(member));
    let inner = inner.as_ref().unwrap_or(part);
    let source = SOURCE_MEMBERS.iter().find_map(|member| text(inner, member));
    let data = source.as_deref().and_then(Base64Data::parse);
    Some(match (kind, data) {
        ("image", data) => {
            let detail = text(inner, "detail").or_else(|| text(part, "detail"));
            images.tokens(data.and_then(Base64Data::size), &detail.unwrap_or_default())
        }
        (_, None) => NAMED_FILE_TOKENS,
        ("audio", Some(data)) => {
            let rate = data.byte_rate().map_or(DEFAULT_BYTE_RATE, |rate| rate.max(MIN_BYTE_RATE));
            data.len().div_ceil(rate) * sound
        }
        (_, Some(data)) => data.len().div_ceil(BYTES_PER_TOKEN),
    })
}

#[cfg(test)]
mod tests {
    use super::super::window::{self, Model};
    use super::*;

    fn image(model: &str, width: u32, height: u32, detail: &str) -> usize {
        window::for_model(model).images.tokens(Some((width, height)), detail)
    }

    /// The examples of the providers' pages, and what was measured.
    #[test]
    fn an_image_costs_what_its_provider_says() {
        let cases = [
            ("gpt-4o", 1024, 1024, "high", 765),
            ("gpt-4o", 2048, 4096, "high", 1105),
            ("gpt-4o", 4096, 8192, "low", 85),
            ("gpt-4o-mini", 512, 512, "high", 2833 + 5667),
            ("gpt-5", 1024, 1024, "auto", 70 + 4 * 140),
            ("o3", 512, 513, "", 75 + 2 * 150),
            ("gpt-4.1-mini", 1024, 1024, "", 1659),
            ("gpt-4.1-mini", 4000, 1474, "", 2489),
            ("gpt-4.1-nano", 128, 64, "", 20),
            ("gpt-5.5", 3840, 2160, "auto", 9792),
            ("gpt-5.5", 1920, 1080, "high", 2448),
            ("gpt-6-astra", 4032, 3024, "auto", 14364),
            ("claude-haiku-4-5", 512, 512, "", 361),
            ("claude-haiku-4-5", 1024, 1024, "", 1369),
            ("claude-opus-5-5", 1920, 1080, "", 2691),
            ("gemini-2.0-flash", 384, 384, "", 258),
            ("gemini-2.0-flash", 960, 540, "", 6 * 258),
            ("gemini-3-flash", 4032, 3024, "", 1120),
            ("gemma3:4b", 10, 10, "", 256),
            ("pixtral-12b", 1024, 1024, "", 4160),
        ];
        for (model, width, height, detail, tokens) in cases {
            assert_eq!(image(model, width, height, detail), tokens, "{model} {width} x {height} {detail}");
        }
    }

    #[test]
    fn an_unknown_image_is_the_largest() {
        for (_, Model { images, .. }) in window::ROWS.iter() {
            let largest = ["low", "high", ""].map(|detail| images.tokens(None, detail));
            for side in [1, 300, 384, 385, 512, 768, 1000, 2000, 3072, 10_000, u32::MAX] {
                for other in [1, 200, 384, 512, 1152, 4000, u32::MAX] {
                    let sizes = ["low", "high", ""].map(|detail| images.tokens(Some((side, other)), detail));
                    assert!(
                        (0..3).all(|at| sizes[at] > 0 && sizes[at] <= largest[at]),
                        "{images:?} {side} {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn sound_costs_by_its_length() {
        let tokens = |part: &str| tokens(&Object::parse(part).unwrap(), Images::Fixed(1), 10);
        let mp3 = "A".repeat(80_000 / 3 * 4);
        let part = format!(r#"{{"type":"input_audio","input_audio":{{"format":"mp3","data":"{mp3}"}}}}"#);
        assert_eq!(tokens(&part), Some(200));
        let file =
            r#"{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAAAAAAAAAAAAAAAAAA"}}"#;
        assert_eq!(tokens(file), Some(2));
        assert_eq!(tokens(r#"{"type":"file","file":{"file_id":"f1"}}"#), Some(NAMED_FILE_TOKENS));
        assert_eq!(tokens(r#"{"type":"text","text":"owl"}"#), None);
        assert_eq!(tokens(r#"{"type":"image_url","image_url":7}"#), Some(1));
        assert_eq!(tokens(r#"{"type":"image_url","image_url":"data:"}"#), Some(1));
        assert_eq!(tokens(r#"{"text":"owl"}"#), None);
    }
}
