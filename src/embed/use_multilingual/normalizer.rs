//! The normalizer of SentencePiece: its rules `nmt_nfkc` (compatible forms become one, control characters
//! vanish or become spaces), and spaces as `▁`, one in front of every word.
//!
//! The rules are a double array as darts-clone lays it out, which SentencePiece compiles into its models. It
//! is walked over bytes, and the longest match counts. The crate that the tokenizers use for it walks over
//! graphemes, which gives other texts.

/// The sign that stands for a space.
pub(super) const SPACE: &str = "\u{2581}";

/// The rules.
pub(super) struct Normalizer {
    units: Vec<u32>,
    /// The texts that replace others, each ended by a zero.
    replacements: Vec<u8>,
}

/// A normalized text.
pub(super) struct Normalized {
    pub(super) text: String,
    /// The place in the original text from which each byte comes.
    pub(super) origin: Vec<usize>,
}

/// A unit of the double array.
#[derive(Clone, Copy)]
struct Unit(u32);

impl Unit {
    /// Distance to the children.
    fn offset(self) -> usize {
        ((self.0 >> 10) << ((self.0 & 0x200) >> 6)) as usize
    }

    /// Whether this is the node for a byte.
    fn is_for(self, byte: u8) -> bool {
        self.0 & 0x8000_00ff == u32::from(byte)
    }

    /// Whether a rule ends here, whose value is in the unit at the children's offset.
    fn has_value(self) -> bool {
        self.0 & 0x100 != 0
    }

    fn value(self) -> usize {
        (self.0 & 0x7fff_ffff) as usize
    }
}

impl Normalizer {
    pub(super) fn new(units: Vec<u32>, replacements: Vec<u8>) -> Normalizer {
        Normalizer { units, replacements }
    }

    /// Normalizes a text; one of spaces alone becomes empty.
    pub(super) fn normalize(&self, text: &str) -> Normalized {
        let mut made = Normalized { text: String::with_capacity(text.len() + 16), origin: Vec::new() };
        let mut at = 0;
        // Spaces at the beginning, and all but the first of several, are left out.
        let mut after_space = true;
        while at < text.len() {
            let (replacement, length) = self.replace_prefix(&text[at..]);
            let kept = if after_space { replacement.trim_start_matches(' ') } else { replacement };
            for c in kept.chars() {
                if made.text.is_empty() {
                    made.push_str(SPACE, at);
                }
                let mut buffer = [0; 4];
                made.push_str(if c == ' ' { SPACE } else { c.encode_utf8(&mut buffer) }, at);
            }
            if !kept.is_empty() {
                after_space = kept.ends_with(' ');
            }
            at += length;
        }
        made.text.truncate(made.text.trim_end_matches(SPACE).len());
        made.origin.truncate(made.text.len());
        made
    }

    /// The replacement of the beginning of a text that is not empty, and how many bytes it replaces: the
    /// longest match of the rules, or one character, which stays.
    fn replace_prefix<'a>(&'a self, text: &'a str) -> (&'a str, usize) {
        let unit = |at: usize| self.units.get(at).copied().map(Unit);
        let mut found = None;
        let mut at = unit(0).map_or(0, Unit::offset);
        for (n, byte) in text.bytes().enumerate() {
            let Some(node) = unit(at ^ usize::from(byte)).filter(|node| node.is_for(byte)) else { break };
            at ^= usize::from(byte) ^ node.offset();
            if node.has_value() {
                found = unit(at).map(|value| (value.value(), n + 1));
            }
        }
        found.and_then(|(at, length)| Some((self.replacement(at)?, length))).unwrap_or_else(|| {
            let length = text.chars().next().map_or(1, char::len_utf8);
            (&text[..length], length)
        })
    }

    fn replacement(&self, at: usize) -> Option<&str> {
        let rest = self.replacements.get(at..)?;
        str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
    }
}

impl Normalized {
    fn push_str(&mut self, text: &str, origin: usize) {
        self.text.push_str(text);
        self.origin.resize(self.text.len(), origin);
    }
}
