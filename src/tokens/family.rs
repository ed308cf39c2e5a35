//! The families of tokenizers: which of tiktoken's encoders counts for each, and how far it is off.

use serde::Deserialize;
use tiktoken_rs::CoreBPE;

/// Models with one tokenizer and one way to lay out a conversation; in lower case, the names in `models.csv`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Family {
    /// gpt-4o and all later models, gpt-oss too.
    O200k,
    /// gpt-3.5 and gpt-4.
    Cl100k,
    /// SentencePiece with 32 000 pieces: llama 1 and 2, mistral 7B, mixtral, phi-3.
    Llama2,
    /// llama 3 and 4, phi-4: tiktoken's form, begun with the pieces of cl100k_base.
    Llama3,
    /// Mistral's of 2024-07 and later.
    Tekken,
    /// gemma and gemini.
    Gemma,
    Qwen,
    DeepSeek,
    /// Claude 3 to 4.6.
    Claude,
    /// Claude 4.7 and later.
    Claude47,
    /// Not measured.
    Other,
}

/// The counting rule of a family: `percent` and `bound` in hundredths, the others in tokens.
pub(super) struct CountingRule {
    pub(super) encoder: Encoder,
    /// The family's own tokens for a hundred of the encoder's.
    pub(super) percent: usize,
    /// Of a text's bytes, the most tokens that it can have.
    pub(super) bound: usize,
    /// The tokens around a message, except its role.
    pub(super) message: usize,
    /// The tokens at the beginning of the request and of the answer.
    pub(super) request: usize,
    /// The tokens of the preamble to the list of tools.
    pub(super) tools: usize,
}

/// One of tiktoken's encoders; its table is built at the first use, once a process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Encoder {
    O200k,
    Cl100k,
}

impl Family {
    /// The measured numbers, by scripts/tokens.py on 2026-11-21: tokens of the family for 100 of cl100k_base
    /// (224 kB of English chat; 400 kB each of Rust, Python, Markdown, JSON full of numbers, and manual pages
    /// in German, Russian, Chinese and Japanese; the Declaration of Human Rights in the last four).
    ///
    /// ```text
    ///            chat Rust Pyth Mark JSON   de   ru   zh   ja   ar   hi   ko   th   percent
    /// Llama3      100  100  100  100  100  100   76   73   70   54   54   60   48   100
    /// Qwen        100  101  101  105  109  100   83   67   69   53   95   63   58   107
    /// DeepSeek    100  106  106  104  109   98   75   61   69   52   55   66   37   107
    /// Tekken      101  105  106  109  116   93   82   86   74   43   36   53   53   113
    /// Gemma       105  119  117  114  135   90   71   62   55   50   37   68   41   131
    /// Claude      102  106  103  105  109  121   86   97   89   89   70  101   87   118
    /// Claude47    143  141  137  145  131  170  106  101   92   89   70  101   87   166
    /// Llama2      111  126  128  126  142  122  102   98  108  134  110  112  108   138
    /// ```
    ///
    /// The percentage is rounded up so that no chat and no code is counted short, and nothing else by more
    /// than 3 in
    /// 100. Claude's tokenizers are not published since Claude 3: these are counts of the package ctok 1.3.0,
    ///      which
    /// reconstructs them from what Anthropic's counter answers. Families that are not measured (grok,
    /// command, granite, glm, kimi ...) count as Llama2, which makes the most tokens of a text; phi-4 and
    /// llama 4 as Llama3, which their form follows. Layouts: OpenAI's cookbook, "How to count tokens with
    /// tiktoken", for its own, checked by its example; for the others upper guesses from the chat templates.
    pub(super) fn rule(self) -> CountingRule {
        let rule = |percent, message, request, tools| {
            let encoder = if self == Family::O200k { Encoder::O200k } else { Encoder::Cl100k };
            // Case, accents and the ends of words are tokens of their own for Claude: 3 of 2 bytes were seen.
            let bound = if matches!(self, Family::Claude | Family::Claude47) { 150 } else { 100 };
            CountingRule { encoder, percent, bound, message, request, tools }
        };
        match self {
            Family::O200k | Family::Cl100k => rule(100, 3, 3, 16),
            Family::Llama3 => rule(100, 5, 32, 160),
            Family::Qwen => rule(107, 5, 32, 160),
            Family::DeepSeek => rule(107, 5, 8, 160),
            Family::Tekken => rule(113, 5, 8, 16),
            Family::Gemma => rule(131, 5, 8, 160),
            Family::Claude => rule(118, 5, 8, 600),
            Family::Claude47 => rule(166, 5, 12, 900),
            Family::Llama2 | Family::Other => rule(138, 10, 4, 160),
        }
    }

    /// The encoder's name for OpenAI's own models, else "estimate".
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::O200k => "o200k_base",
            Family::Cl100k => "cl100k_base",
            _ => "estimate",
        }
    }
}

impl CountingRule {
    /// The most tokens that a text can have: no token is shorter than a byte, and SentencePiece may put a
    /// space in front. The normalisation of Claude and Qwen is not considered: it makes only some hundred
    /// rare characters longer.
    pub(super) fn bound(&self, text: &str) -> usize {
        if text.is_empty() { 0 } else { (text.len() * self.bound).div_ceil(100) + 1 }
    }

    /// The tokens of a text, never more than `bound`; a special token in it counts as text. Once more than
    /// `limit` are counted, those of the rest are estimated.
    pub(super) fn count(&self, text: &str, limit: usize) -> usize {
        let encoder = self.encoder.get();
        let (mut tokens, mut bytes) = (0, 0);
        for block in blocks(text) {
            tokens += encoder.count_ordinary(block);
            bytes += block.len();
            if tokens * self.percent / 100 > limit {
                tokens = (tokens as f64 * (text.len() as f64 / bytes as f64)) as usize;
                break;
            }
        }
        (tokens * self.percent).div_ceil(100).min(self.bound(text))
    }
}

impl Encoder {
    pub(super) fn get(self) -> &'static CoreBPE {
        match self {
            Encoder::O200k => tiktoken_rs::o200k_base_singleton(),
            Encoder::Cl100k => tiktoken_rs::cl100k_base_singleton(),
        }
    }
}

/// Bytes that the encoder gets at once: tiktoken panics on a million spaces, for which its expression has no
/// stack, and its time for a long word grows faster than the word. With blocks 5 MB of one letter, of spaces
/// or of line ends take 1 to 2 s.
const BLOCK_BYTES: usize = 32 * 1024;

/// The text in blocks.
fn blocks(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (block, rest) = text.split_at(block_end(text));
        text = rest;
        (!block.is_empty()).then_some(block)
    })
}

/// The end of the first block: before a line that begins with a letter or a number, since no token spans its
/// beginning. Without such a line it is anywhere, and about two tokens too many are counted for each block.
fn block_end(text: &str) -> usize {
    if text.len() <= BLOCK_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(BLOCK_BYTES);
    let mut lines = text[..end].rmatch_indices('\n').map(|(at, _)| at + 1);
    lines.find(|&at| text[at..].starts_with(char::is_alphanumeric)).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_between_lines_changes_no_count() {
        let line = "Owls hunt at night!\n\n \t\n// and bats ...\r\n/path\n   \n42 bats;\n  let x = \"ü\";\n";
        let text = line.repeat(2_000);
        assert!(blocks(&text).count() > 3 && blocks(&text).collect::<String>() == text);
        for encoder in [Encoder::O200k, Encoder::Cl100k] {
            let blocks: usize = blocks(&text).map(|block| encoder.get().count_ordinary(block)).sum();
            assert_eq!(blocks, encoder.get().count_ordinary(&text));
        }
    }

    #[test]
    fn the_tokens_beyond_a_limit_are_estimated() {
        let text = "数えられる文字は、限りなく続く。 Owls hunt at night.\n".repeat(20_000);
        for rule in [Family::O200k.rule(), Family::Claude47.rule()] {
            let tokens = rule.count(&text, usize::MAX);
            assert_eq!(rule.count(&text, tokens), tokens);
            let estimated = rule.count(&text, tokens / 10);
            assert!(estimated.abs_diff(tokens) < tokens / 100, "{estimated} {tokens}");
        }
    }

    #[test]
    fn a_run_without_end_is_counted() {
        let long = ["a", " ", "🦉"].map(|run| (run, 5_000_000));
        let short = ["\n", "A", "\u{301}", "9", "  \n x", "!/", "字"].map(|run| (run, 200_000));
        for (run, length) in long.into_iter().chain(short) {
            let mut text = run.repeat(length / run.len());
            text.push('x');
            let rule = Family::O200k.rule();
            let tokens = rule.count(&text, usize::MAX);
            assert!(tokens > length / 150 && tokens <= rule.bound(&text), "{run:?}: {tokens}");
        }
    }
}
