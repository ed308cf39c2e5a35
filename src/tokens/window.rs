//! The models: the family of their tokenizer, the cost of an image, and their windows. `models.csv` has a row
//! for each.

use super::family::Family;
use super::media::Images::{self, *};
use super::media::small_patches;
use serde::Deserialize;
use std::sync::LazyLock;

/// A model's window and the part of it that is reserved for the answer, in tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    pub window: usize,
    pub reserve: usize,
}

/// Of a window that is smaller than the model's, at most this part is reserved.
const RESERVE_DIVISOR: usize = 4;

impl Limits {
    /// The limits of the model in another window, such as its server's.
    pub fn within(self, window: usize) -> Limits {
        let limit = if window < self.window { window / RESERVE_DIVISOR } else { self.reserve };
        Limits { window, reserve: self.reserve.min(limit) }
    }
}

/// The properties of a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Model {
    pub(super) family: Family,
    pub(super) images: Images,
    pub(super) limits: Limits,
}

/// The table of models: its head says what a row holds and where its numbers come from.
const MODELS: &str = include_str!("models.csv");

/// A row of the table.
#[derive(Deserialize)]
struct Row {
    /// The beginning of the model's name.
    prefix: String,
    tokenizer: Family,
    images: String,
    window: usize,
    reserve: usize,
}

/// The prefixes, in the spelling of `plain`, and their models. A row that cannot be read is left out.
pub(super) static ROWS: LazyLock<Vec<(String, Model)>> = LazyLock::new(|| {
    let mut rows = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(MODELS.as_bytes());
    let model = |Row { prefix, tokenizer, images, window, reserve }| {
        let limits = Limits { window, reserve };
        Some((plain(&prefix), Model { family: tokenizer, images: image_rule(&images)?, limits }))
    };
    // The table is part of the program; a test finds every row valid.
    rows.deserialize().filter_map(|row| model(row.ok()?)).collect()
});

/// A model without a row.
const UNKNOWN: Model =
    Model { family: Family::Other, images: OTHER, limits: Limits { window: 8_192, reserve: 2_048 } };

/// The five views of LLaVA-NeXT with 576 each: the highest published cost for models without a row.
const OTHER: Images = Fixed(2_880);

/// The rule for images that a row names. The makers' pages, as said at the kinds of rules; those of gpt-5,
/// the o-series, Mistral, Qwen, llama and grok from memory of these pages.
fn image_rule(name: &str) -> Option<Images> {
    Some(match name {
        "gpt-4" => Tiles { base: 85, tile: 170 },
        "gpt-4o-mini" => Tiles { base: 2_833, tile: 5_667 },
        "gpt-5" => Tiles { base: 70, tile: 140 },
        "o" => Tiles { base: 75, tile: 150 },
        "computer-use" => Tiles { base: 65, tile: 129 },
        "gpt-5.2" => small_patches(120),
        "gpt-5.4" => Patches { percent: 120, high: 2_500, full: 10_000 },
        // 11 970 patches were measured, and no bound was found: this is a guess above.
        "gpt-6" => Patches { percent: 120, high: 2_500, full: 20_000 },
        "mini" => small_patches(162),
        "nano" => small_patches(246),
        "o4-mini" => small_patches(172),
        "claude" => Grid { side: 28, edge: 1_568, row: 0, most: 1_600 },
        "claude-4.7" => Grid { side: 28, edge: 2_576, row: 0, most: 4_784 },
        "pixtral" => Grid { side: 16, edge: 1_024, row: 1, most: 4_160 },
        "mistral" => Grid { side: 28, edge: 1_540, row: 1, most: 3_080 },
        "qwen" => Grid { side: 28, edge: u32::MAX, row: 0, most: 16_384 },
        "gemini" => Crops,
        // Gemini 3 and its "Media resolution", and the largest budget of gemma 4.
        "gemini-3" => Fixed(1_120),
        "gemma-3" => Fixed(256),
        // Seventeen tiles of llama 4 with 144 tokens each, and their separators.
        "llama" => Fixed(2_500),
        // xAI, "Image understanding": seven tiles of 256.
        "grok" => Fixed(1_792),
        "other" => OTHER,
        _ => return None,
    })
}

/// The limits of a model, by the beginning of its name without a provider in front.
pub fn limits(model: &str) -> Limits {
    for_model(model).limits
}

/// The first row whose prefix the name of the model has.
pub(super) fn for_model(model: &str) -> Model {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let name = name.strip_prefix("ft:").unwrap_or(&name);
    let name = plain(bare(name));
    ROWS.iter().find(|(prefix, _)| fits(prefix, &name)).map_or(UNKNOWN, |(_, model)| *model)
}

/// A name without a prefix: a region or a maker with a dot after it, or Meta with a dash.
fn bare(name: &str) -> &str {
    match name.split_once('.') {
        Some((head, rest)) if !head.is_empty() && head.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            bare(rest)
        }
        _ => name.strip_prefix("meta-").unwrap_or(name),
    }
}

/// One spelling for all: whatever separates is a dash, with none between a letter and a digit after it.
/// `Llama-3.1-8B` and `llama3.1:8b` are both `llama3-1-8b`.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for sign in name.chars() {
        let sign = if matches!(sign, '.' | '_' | ':' | ' ' | '@') { '-' } else { sign };
        if sign.is_ascii_digit() && plain.ends_with('-') {
            let letters = plain.trim_end_matches('-');
            if letters.ends_with(|sign: char| sign.is_ascii_alphabetic()) {
                plain.truncate(letters.len());
            }
        }
        plain.push(sign);
    }
    plain
}

/// Whether a name begins so. A number at the end of the beginning must end there in the name too, and count
/// no billions: `qwen3:8b` is no qwen 3.8.
fn fits(prefix: &str, name: &str) -> bool {
    let continues = |rest: &str| rest.starts_with(|sign: char| sign.is_ascii_digit() || sign == 'b');
    let number = prefix.ends_with(|sign: char| sign.is_ascii_digit());
    name.strip_prefix(prefix).is_some_and(|rest| !(number && continues(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let lines = MODELS.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(ROWS.len(), lines - 1);
    }

    #[test]
    fn the_longer_name_stands_before_the_shorter() {
        for (later, (name, _)) in ROWS.iter().enumerate() {
            let first = ROWS.iter().position(|(prefix, _)| fits(prefix, name));
            assert_eq!(first, Some(later), "{name} is never reached");
        }
    }

    #[test]
    fn the_window_leaves_room_beside_the_reserve() {
        for (prefix, Model { limits, .. }) in ROWS.iter() {
            assert!(limits.reserve >= 512 && limits.reserve <= limits.window * 2 / 5, "{prefix}");
        }
    }

    #[test]
    fn a_model_is_known_however_it_is_spelled() {
        let cases = [
            ("llama3.1:8b", 32_768, 2_048),
            ("llama3.1", 32_768, 2_048),
            ("meta-llama/Llama-3.1-8B-Instruct", 32_768, 2_048),
            ("us.meta.llama3-1-70b-instruct-v1:0", 32_768, 2_048),
            ("Meta-Llama-3.1-405B", 32_768, 2_048),
            ("meta-llama/Meta-Llama-3-8B", 8_192, 2_048),
            ("llama3:18b", 8_192, 2_048),
            ("meta-llama/Llama-2-7b-chat-hf", 4_096, 1_024),
            ("mistral:7b", 32_768, 2_048),
            ("mistral", 32_768, 2_048),
            ("mistralai/Mistral-7B-Instruct-v0.3", 32_768, 2_048),
            ("mistral-small", 128_000, 8_000),
            ("codellama:13b", 16_384, 1_024),
            ("gpt-3.5-turbo", 4_096, 1_024),
            ("gpt-4", 8_192, 2_048),
            ("gpt-4-0613", 8_192, 2_048),
            ("gpt-4-1106-preview", 128_000, 8_000),
            ("gpt-4.1-2025-04-14", 1_047_576, 32_768),
            ("openai/gpt-4-turbo", 128_000, 8_000),
            ("ft:gpt-4o-mini:me::x", 128_000, 8_000),
            ("gpt-5.1-codex", 400_000, 128_000),
            ("o3-mini", 200_000, 32_768),
            ("claude-3-5-sonnet-latest", 200_000, 8_192),
            ("anthropic.claude-3-haiku-20240307-v1:0", 200_000, 8_192),
            ("claude-opus-4-20250514", 200_000, 32_000),
            ("anthropic/claude-opus-4.7", 1_000_000, 32_768),
            ("claude-sonnet-5", 1_000_000, 32_768),
            ("gemma3:4b", 131_072, 8_192),
            ("google/gemma-3-1b-it", 32_768, 2_048),
            ("models/gemini-2.5-flash", 1_048_576, 8_192),
            ("Qwen/Qwen2.5-7B-Instruct", 32_768, 2_048),
            ("qwen2.5:7b", 32_768, 2_048),
            ("qwen3:8b", 40_960, 8_192),
            ("Qwen/Qwen3-8B", 40_960, 8_192),
            ("qwen3.8-27b", 262_144, 16_384),
            ("microsoft/Phi-3-mini-4k-instruct", 4_096, 1_024),
            ("phi4", 16_384, 2_048),
            ("deepseek-r1:8b", 65_536, 8_192),
            ("nobody-knows-it", 8_192, 2_048),
            ("", 8_192, 2_048),
            ("....", 8_192, 2_048),
        ];
        for (model, window, reserve) in cases {
            assert_eq!(limits(model), Limits { window, reserve }, "{model}");
        }
    }
}
