//! The models, one row each: the family of their tokenizer, the cost of an image, and their windows.

use super::family::Family::{self, *};
use super::media::Images::{self, *};
use super::media::small_patches;
use std::sync::LazyLock;

/// A model's window and the part of it that is reserved for the answer, in tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    pub window: usize,
    pub reserve: usize,
}

/// The properties of a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Model {
    pub(super) family: Family,
    pub(super) images: Images,
    pub(super) limits: Limits,
}

// The rules for images that many rows share. OpenAI's big and reasoning models; the newest see more.
const GPT4: Images = Tiles { base: 85, tile: 170 };
const GPT5: Images = Tiles { base: 70, tile: 140 };
const O: Images = Tiles { base: 75, tile: 150 };
const GPT5_2: Images = small_patches(120);
const GPT5_4: Images = Patches { percent: 120, high: 2_500, full: 10_000 };
// 11 970 patches were measured, and no bound was found: this is a guess above.
const GPT6: Images = Patches { percent: 120, high: 2_500, full: 20_000 };
const MINI: Images = small_patches(162);
const NANO: Images = small_patches(246);
const CLAUDE: Images = Grid { side: 28, edge: 1_568, row: 0, most: 1_600 };
const CLAUDE4_7: Images = Grid { side: 28, edge: 2_576, row: 0, most: 4_784 };
const PIXTRAL: Images = Grid { side: 16, edge: 1_024, row: 1, most: 4_160 };
const MISTRAL: Images = Grid { side: 28, edge: 1_540, row: 1, most: 3_080 };
const QWEN: Images = Grid { side: 28, edge: u32::MAX, row: 0, most: 16_384 };
// Gemini 3 and its "Media resolution", and the largest budget of gemma 4.
const GEMINI3: Images = Fixed(1_120);
// Seventeen tiles of llama 4 with 144 tokens each, and their separators.
const LLAMA: Images = Fixed(2_500);
// xAI, "Image understanding": seven tiles of 256.
const GROK: Images = Fixed(1_792);
// The five views of LLaVA-NeXT with 576 each: the highest published cost for models without a row.
const OTHER: Images = Fixed(2_880);

/// The prefix of a model's name, its family, the cost of its images, its window and the reserve. The first matching row
/// counts. Sources: LiteLLM's table of models, release 1.109.1 (2026-11), which follows the providers' pages, and its
/// maker's figures for a model with several hosts; Reservoir's documents for gpt-3.5, gpt-4, gpt-4-turbo, gpt-4o,
/// llama3.1, mistral and codellama. From memory of the model cards, not looked up: llama 1, falcon, vicuna, gemini 1.5,
/// deepseek v2, phi 2, smollm, olmo 2, solar, yi, and the rules for images of gpt-5, the o-series, Mistral, Qwen, llama
/// and grok. A family's last row is the fallback for newer or rarer models. The reserve is the longest answer that the
/// maker allows if that is taken from the window (gpt-5 and later), else a sixteenth to a quarter of the window.
pub(super) const MODELS: &[(&str, Family, Images, usize, usize)] = &[
    ("gpt-3.5-turbo-16k", Cl100k, GPT4, 16_385, 2_048),
    ("gpt-35-turbo-16k", Cl100k, GPT4, 16_385, 2_048),
    ("gpt-3.5-turbo-0125", Cl100k, GPT4, 16_385, 2_048),
    ("gpt-3.5-turbo-1106", Cl100k, GPT4, 16_385, 2_048),
    ("gpt-3.5", Cl100k, GPT4, 4_096, 1_024),
    ("gpt-35", Cl100k, GPT4, 4_096, 1_024),
    ("gpt-4-32k", Cl100k, GPT4, 32_768, 4_096),
    ("gpt-4-turbo", Cl100k, GPT4, 128_000, 8_000),
    ("gpt-4-1106", Cl100k, GPT4, 128_000, 8_000),
    ("gpt-4-0125", Cl100k, GPT4, 128_000, 8_000),
    ("gpt-4-vision", Cl100k, GPT4, 128_000, 8_000),
    ("gpt-4o-mini", O200k, Tiles { base: 2_833, tile: 5_667 }, 128_000, 8_000),
    ("gpt-4o", O200k, GPT4, 128_000, 8_000),
    ("chatgpt-4o", O200k, GPT4, 128_000, 8_000),
    ("gpt-4.1-mini", O200k, MINI, 1_047_576, 32_768),
    ("gpt-4.1-nano", O200k, NANO, 1_047_576, 32_768),
    ("gpt-4.1", O200k, GPT4, 1_047_576, 32_768),
    ("gpt-4.5", O200k, GPT4, 128_000, 8_000),
    ("gpt-4", Cl100k, GPT4, 8_192, 2_048),
    ("gpt-5-chat", O200k, GPT5, 128_000, 16_384),
    ("gpt-5.1-chat", O200k, GPT5, 128_000, 16_384),
    ("gpt-5.2-chat", O200k, GPT5_2, 128_000, 16_384),
    ("gpt-5.3-chat", O200k, GPT5_2, 128_000, 16_384),
    ("gpt-5-mini", O200k, MINI, 400_000, 128_000),
    ("gpt-5-nano", O200k, NANO, 400_000, 128_000),
    ("gpt-5.1-codex-mini", O200k, MINI, 400_000, 128_000),
    ("gpt-5.1", O200k, GPT5, 400_000, 128_000),
    ("gpt-5.2", O200k, GPT5_2, 400_000, 128_000),
    ("gpt-5.3", O200k, GPT5_2, 400_000, 128_000),
    ("gpt-5.4-mini", O200k, MINI, 400_000, 128_000),
    ("gpt-5.4-nano", O200k, NANO, 400_000, 128_000),
    ("gpt-5.4", O200k, GPT5_4, 1_050_000, 128_000),
    ("gpt-5.5", O200k, GPT5_4, 1_050_000, 128_000),
    ("gpt-5.6-cyber", O200k, GPT5_4, 400_000, 128_000),
    ("gpt-5.6", O200k, GPT5_4, 1_050_000, 128_000),
    ("gpt-5", O200k, GPT5, 400_000, 128_000),
    ("gpt-6", O200k, GPT6, 1_050_000, 128_000),
    ("gpt-oss", O200k, OTHER, 131_072, 16_384),
    ("gpt-audio", O200k, GPT4, 128_000, 8_000),
    ("gpt-realtime", O200k, GPT4, 32_000, 4_096),
    ("codex-mini", O200k, small_patches(172), 200_000, 32_768),
    ("text-embedding", Cl100k, OTHER, 8_191, 512),
    ("davinci-002", Cl100k, OTHER, 16_384, 2_048),
    ("babbage-002", Cl100k, OTHER, 16_384, 2_048),
    ("computer-use", O200k, Tiles { base: 65, tile: 129 }, 8_192, 1_024),
    ("o1-mini", O200k, O, 128_000, 32_768),
    ("o1-preview", O200k, O, 128_000, 32_768),
    ("o1", O200k, O, 200_000, 32_768),
    ("o3", O200k, O, 200_000, 32_768),
    ("o4-mini", O200k, small_patches(172), 200_000, 32_768),
    ("o4", O200k, O, 200_000, 32_768),
    ("claude-2.0", Claude, CLAUDE, 100_000, 4_096),
    ("claude-2", Claude, CLAUDE, 200_000, 4_096),
    ("claude-instant", Claude, CLAUDE, 100_000, 4_096),
    ("claude-3", Claude, CLAUDE, 200_000, 8_192),
    ("claude-opus-4-5", Claude, CLAUDE, 200_000, 32_768),
    ("claude-opus-4-6", Claude, CLAUDE, 1_000_000, 32_768),
    ("claude-opus-4-7", Claude47, CLAUDE4_7, 1_000_000, 32_768),
    ("claude-opus-4-8", Claude47, CLAUDE4_7, 1_000_000, 32_768),
    ("claude-opus-4", Claude, CLAUDE, 200_000, 32_000),
    ("claude-sonnet-4-6", Claude, CLAUDE, 1_000_000, 32_768),
    ("claude-sonnet-4", Claude, CLAUDE, 200_000, 32_768),
    ("claude-haiku-4", Claude, CLAUDE, 200_000, 32_768),
    ("claude-4", Claude, CLAUDE, 200_000, 32_768),
    ("claude", Claude47, CLAUDE4_7, 1_000_000, 32_768),
    ("gemini-1.0", Gemma, Crops, 32_768, 2_048),
    ("gemini-pro-vision", Gemma, Crops, 16_384, 2_048),
    ("gemini-1.5-pro", Gemma, Crops, 2_097_152, 8_192),
    ("gemini-1.5", Gemma, Crops, 1_048_576, 8_192),
    ("gemini-2.5-computer-use", Gemma, Crops, 128_000, 8_192),
    ("gemini-2", Gemma, Crops, 1_048_576, 8_192),
    ("gemini-exp", Gemma, Crops, 1_048_576, 8_192),
    ("gemini-robotics", Gemma, GEMINI3, 131_072, 8_192),
    ("gemini-omni-flash", Gemma, GEMINI3, 131_072, 8_192),
    ("gemini", Gemma, GEMINI3, 1_048_576, 8_192),
    ("gemma-4-e", Gemma, GEMINI3, 131_072, 8_192),
    ("gemma-4", Gemma, GEMINI3, 262_144, 8_192),
    ("gemma-3n", Gemma, Fixed(256), 32_768, 2_048),
    ("gemma-3-1b", Gemma, Fixed(256), 32_768, 2_048),
    ("gemma-3-270m", Gemma, Fixed(256), 32_768, 2_048),
    ("gemma-3", Gemma, Fixed(256), 131_072, 8_192),
    ("gemma", Gemma, Fixed(256), 8_192, 2_048),
    ("codegemma", Gemma, OTHER, 8_192, 2_048),
    ("mistral-large-2402", Llama2, PIXTRAL, 32_000, 2_048),
    ("mistral-large-2407", Tekken, PIXTRAL, 128_000, 8_000),
    ("mistral-large-2411", Tekken, PIXTRAL, 128_000, 8_000),
    ("mistral-large-2512", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral-large-3", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral-large-4", Tekken, MISTRAL, 1_048_576, 8_192),
    ("mistral-large", Llama2, PIXTRAL, 128_000, 8_000),
    ("mistral-medium-2604", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral-medium-3.5", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral-medium", Tekken, MISTRAL, 128_000, 8_000),
    ("mistral-small-2402", Llama2, MISTRAL, 32_000, 2_048),
    ("mistral-small-2501", Tekken, MISTRAL, 32_768, 2_048),
    ("mistral-small-2603", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral-small-4", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral-small", Tekken, MISTRAL, 128_000, 8_000),
    ("mistral-nemo", Tekken, MISTRAL, 128_000, 8_000),
    ("open-mistral-nemo", Tekken, MISTRAL, 128_000, 8_000),
    ("open-mistral", Llama2, MISTRAL, 32_768, 2_048),
    ("mistral-tiny", Llama2, MISTRAL, 32_000, 2_048),
    ("mistral-saba", Llama2, MISTRAL, 32_768, 2_048),
    ("mistral-code", Tekken, MISTRAL, 128_000, 8_000),
    ("mistral-vibe", Tekken, MISTRAL, 262_144, 8_192),
    ("mistral", Llama2, MISTRAL, 32_768, 2_048),
    ("mixtral-8x22b", Llama2, OTHER, 65_536, 4_096),
    ("open-mixtral-8x22b", Llama2, OTHER, 65_536, 4_096),
    ("open-mixtral", Llama2, OTHER, 32_768, 2_048),
    ("mixtral", Llama2, OTHER, 32_768, 2_048),
    ("ministral-8b-2410", Tekken, MISTRAL, 128_000, 8_000),
    ("ministral-8b-2512", Tekken, MISTRAL, 262_144, 8_192),
    ("ministral-14b", Tekken, MISTRAL, 262_144, 8_192),
    ("ministral-3:8b", Tekken, MISTRAL, 262_144, 8_192),
    ("ministral-3:14b", Tekken, MISTRAL, 262_144, 8_192),
    ("ministral", Tekken, MISTRAL, 128_000, 8_000),
    ("codestral-2405", Llama2, OTHER, 32_000, 2_048),
    ("codestral-22b", Llama2, OTHER, 32_768, 2_048),
    ("codestral-mamba", Llama2, OTHER, 256_000, 8_192),
    ("codestral", Tekken, OTHER, 128_000, 8_000),
    ("devstral-small-2505", Tekken, MISTRAL, 131_072, 8_000),
    ("devstral-small-2507", Tekken, MISTRAL, 131_072, 8_000),
    ("devstral-24b", Tekken, MISTRAL, 131_072, 8_000),
    ("devstral", Tekken, MISTRAL, 256_000, 8_192),
    ("magistral-medium-latest", Tekken, MISTRAL, 262_144, 8_192),
    ("magistral-small-latest", Tekken, MISTRAL, 262_144, 8_192),
    ("magistral", Tekken, MISTRAL, 128_000, 8_000),
    ("pixtral", Tekken, PIXTRAL, 128_000, 8_000),
    ("voxtral", Tekken, MISTRAL, 32_768, 2_048),
    ("mathstral", Llama2, OTHER, 32_768, 2_048),
    ("deepseek-v4", DeepSeek, OTHER, 1_000_000, 32_768),
    ("deepseek-flash", DeepSeek, OTHER, 1_000_000, 32_768),
    ("deepseek-v3.2", DeepSeek, OTHER, 163_840, 8_192),
    ("deepseek-v3.1", DeepSeek, OTHER, 163_840, 8_192),
    ("deepseek-v3", DeepSeek, OTHER, 65_536, 8_192),
    ("deepseek-r1", DeepSeek, OTHER, 65_536, 8_192),
    ("deepseek-coder-v2", DeepSeek, OTHER, 128_000, 8_000),
    ("deepseek-coder", DeepSeek, OTHER, 16_384, 2_048),
    ("deepseek-v2", DeepSeek, OTHER, 128_000, 8_000),
    ("deepseek-chat", DeepSeek, OTHER, 131_072, 8_192),
    ("deepseek-reasoner", DeepSeek, OTHER, 131_072, 32_768),
    ("deepseek", DeepSeek, OTHER, 65_536, 8_192),
    ("qwen-max", Qwen, QWEN, 30_720, 2_048),
    ("qwen-plus-latest", Qwen, QWEN, 997_952, 8_192),
    ("qwen-plus", Qwen, QWEN, 129_024, 8_192),
    ("qwen-turbo-latest", Qwen, QWEN, 1_000_000, 8_192),
    ("qwen-turbo", Qwen, QWEN, 129_024, 8_192),
    ("qwen-flash", Qwen, QWEN, 997_952, 8_192),
    ("qwen-coder", Qwen, QWEN, 1_000_000, 8_192),
    ("qwen2-vl", Qwen, QWEN, 32_768, 2_048),
    ("qwen2.5-vl", Qwen, QWEN, 128_000, 8_000),
    ("qwen2.5", Qwen, QWEN, 32_768, 2_048),
    ("qwen3-coder-plus", Qwen, QWEN, 997_952, 32_768),
    ("qwen3-coder-flash", Qwen, QWEN, 997_952, 32_768),
    ("qwen3-coder", Qwen, QWEN, 262_144, 16_384),
    ("qwen3-next", Qwen, QWEN, 262_144, 16_384),
    ("qwen3-max", Qwen, QWEN, 258_048, 16_384),
    ("qwen3-vl", Qwen, QWEN, 131_072, 8_192),
    ("qwen3-omni", Qwen, QWEN, 65_536, 8_192),
    ("qwen3.5-plus", Qwen, QWEN, 991_808, 32_768),
    ("qwen3.6-plus", Qwen, QWEN, 1_000_000, 32_768),
    ("qwen3.7", Qwen, QWEN, 991_808, 32_768),
    ("qwen3.8-max", Qwen, QWEN, 991_808, 32_768),
    ("qwen3.8-flash", Qwen, QWEN, 991_808, 32_768),
    ("qwen3.8-omni", Qwen, QWEN, 991_808, 32_768),
    ("qwen3.5", Qwen, QWEN, 262_144, 16_384),
    ("qwen3.6", Qwen, QWEN, 262_144, 16_384),
    ("qwen3.8", Qwen, QWEN, 262_144, 16_384),
    ("qwen3", Qwen, QWEN, 40_960, 8_192),
    ("qwen", Qwen, QWEN, 32_768, 2_048),
    ("codeqwen", Qwen, QWEN, 65_536, 4_096),
    ("qwq", Qwen, QWEN, 32_768, 8_192),
    ("codellama", Llama2, OTHER, 16_384, 1_024),
    ("code-llama", Llama2, OTHER, 16_384, 1_024),
    ("llama2", Llama2, OTHER, 4_096, 1_024),
    ("llama3.1", Llama3, LLAMA, 32_768, 2_048),
    ("llama3.2", Llama3, LLAMA, 131_072, 8_192),
    ("llama3.3", Llama3, LLAMA, 131_072, 8_192),
    ("llama3", Llama3, LLAMA, 8_192, 2_048),
    ("llama4-scout", Llama3, LLAMA, 10_000_000, 8_192),
    ("llama4", Llama3, LLAMA, 1_048_576, 8_192),
    ("llama", Llama2, OTHER, 2_048, 512),
    ("tinyllama", Llama2, OTHER, 2_048, 512),
    ("vicuna", Llama2, OTHER, 4_096, 1_024),
    ("llava", Llama2, OTHER, 4_096, 1_024),
    ("phi-2", Other, OTHER, 2_048, 512),
    ("phi-3-mini-4k", Llama2, LLAMA, 4_096, 1_024),
    ("phi-3-medium-4k", Llama2, LLAMA, 4_096, 1_024),
    ("phi-3-small-8k", Llama3, LLAMA, 8_192, 2_048),
    ("phi-3", Llama2, LLAMA, 128_000, 8_000),
    ("phi-4-reasoning", Llama3, LLAMA, 32_768, 8_192),
    ("phi-4-mini", O200k, LLAMA, 131_072, 8_192),
    ("phi-4-multimodal", O200k, LLAMA, 131_072, 8_192),
    ("phi", Llama3, LLAMA, 16_384, 2_048),
    ("granite-4", Other, OTHER, 131_072, 8_192),
    ("granite-3", Other, OTHER, 131_072, 8_192),
    ("granite", Other, OTHER, 8_192, 2_048),
    ("command-a-plus", Other, OTHER, 128_000, 8_000),
    ("command-a", Other, OTHER, 256_000, 8_192),
    ("command-r", Other, OTHER, 128_000, 4_096),
    ("command", Other, OTHER, 4_096, 1_024),
    ("aya-expanse-32b", Other, OTHER, 128_000, 4_096),
    ("grok-2-vision", Other, GROK, 32_768, 2_048),
    ("grok-2", Other, GROK, 131_072, 8_192),
    ("grok-3", Other, GROK, 131_072, 8_192),
    ("grok-4-fast", Other, GROK, 2_000_000, 32_768),
    ("grok-4.1-fast", Other, GROK, 2_000_000, 32_768),
    ("grok-4.20", Other, GROK, 1_000_000, 32_768),
    ("grok-4.3", Other, GROK, 1_000_000, 32_768),
    ("grok-4.", Other, GROK, 500_000, 32_768),
    ("grok-build-latest", Other, GROK, 500_000, 32_768),
    ("grok", Other, GROK, 256_000, 16_384),
    ("kimi-k2.8", Other, OTHER, 1_000_000, 32_768),
    ("kimi-k2-instruct", Other, OTHER, 131_072, 8_192),
    ("kimi-k2", Other, OTHER, 262_144, 16_384),
    ("kimi-k3", Other, OTHER, 1_000_000, 32_768),
    ("glm-4.5", Other, OTHER, 131_072, 8_192),
    ("glm-4.6v", Other, OTHER, 131_072, 8_192),
    ("glm-4.6", Other, OTHER, 200_000, 16_384),
    ("glm-4.7", Other, OTHER, 200_000, 16_384),
    ("glm-4", Other, OTHER, 128_000, 8_000),
    ("glm-5.2", Other, OTHER, 1_000_000, 32_768),
    ("glm-5.3", Other, OTHER, 1_000_000, 32_768),
    ("glm-5", Other, OTHER, 200_000, 16_384),
    ("minimax-m3", Other, OTHER, 512_000, 32_768),
    ("minimax", Other, OTHER, 196_608, 16_384),
    ("nemotron-3", Other, OTHER, 262_144, 16_384),
    ("jamba", Other, OTHER, 256_000, 8_192),
    ("olmo-3", Llama3, OTHER, 32_768, 4_096),
    ("olmo2", Llama3, OTHER, 4_096, 1_024),
    ("smollm2", Other, OTHER, 8_192, 2_048),
    ("solar", Llama2, OTHER, 4_096, 1_024),
    ("falcon3", Other, OTHER, 32_768, 2_048),
    ("falcon", Other, OTHER, 2_048, 512),
    ("yi-large", Other, OTHER, 32_768, 2_048),
    ("yi", Other, OTHER, 4_096, 1_024),
    ("", Other, OTHER, 8_192, 2_048),
];

/// The beginnings of the names in the table, in their one spelling.
static PREFIXES: LazyLock<Vec<String>> =
    LazyLock::new(|| MODELS.iter().map(|(prefix, ..)| plain(prefix)).collect());

/// The limits of a model, by the beginning of its name without a provider in front.
pub fn limits(model: &str) -> Limits {
    for_model(model).limits
}

/// The row of a model.
pub(super) fn for_model(model: &str) -> Model {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let name = name.strip_prefix("ft:").unwrap_or(&name);
    let name = plain(bare(name));
    let row = PREFIXES.iter().position(|prefix| fits(prefix, &name)).unwrap_or(MODELS.len() - 1);
    let (_, family, images, window, reserve) = MODELS[row];
    Model { family, images, limits: Limits { window, reserve } }
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

/// Whether a name begins so. A number at the end of the beginning must end there in the name too, and count no
/// billions: `qwen3:8b` is no qwen 3.8.
fn fits(prefix: &str, name: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|sign: char| sign.is_ascii_digit() || sign == 'b');
    let number = prefix.ends_with(|sign: char| sign.is_ascii_digit());
    name.strip_prefix(prefix).is_some_and(|rest| !(number && goes_on(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_name_stands_before_the_shorter() {
        for (later, (name, ..)) in MODELS.iter().enumerate() {
            let first = MODELS.iter().position(|(prefix, ..)| fits(&plain(prefix), &plain(name)));
            assert_eq!(first, Some(later), "{name} is never reached");
        }
    }

    #[test]
    fn the_window_leaves_room_beside_the_reserve() {
        for (name, _, _, window, reserve) in MODELS {
            assert!(*reserve >= 512 && *reserve <= window * 2 / 5, "{name}");
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
