//! A text whose pieces arrive one after the other, as JSON strings.

use serde_json::from_str;

/// The halves by which JSON writes a character beyond U+FFFF (`\ud83c`, `\udf45`): the first, and the second.
const HIGH_SURROGATES: std::ops::Range<u16> = 0xd800..0xdc00;
const LOW_SURROGATES: std::ops::Range<u16> = 0xdc00..0xe000;

/// A text that grows by JSON strings. A provider may cut it between the two halves of a character: the first
/// waits for the second, and one without the other becomes U+FFFD.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct GrowingText {
    text: String,
    half: Option<u16>,
}

impl GrowingText {
    /// Appends a JSON string; other JSON is no text.
    pub fn push_json(&mut self, json: &str) {
        match (self.half, from_str::<String>(json)) {
            (None, Ok(piece)) => self.text.push_str(&piece),
            _ => self.push_halves(json),
        }
    }

    /// Appends a text.
    pub fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.end();
            self.text.push_str(text);
        }
    }

    /// Ends the text: no second half will come.
    pub fn end(&mut self) {
        if self.half.take().is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// The text so far, without a half of a character at its end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes the text so far out.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The whole text.
    pub fn into_text(mut self) -> String {
        self.end();
        self.text
    }

    /// Appends a JSON string whose escapes may be halves of characters.
    fn push_halves(&mut self, json: &str) {
        let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
        let mut rest = inner.unwrap_or_default();
        while !rest.is_empty() {
            let length = match rest.strip_prefix('\\') {
                None => rest.find('\\').unwrap_or(rest.len()),
                Some(escape) if escape.starts_with('u') => 6,
                Some(_) => 2,
            };
            let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            let unit = piece.strip_prefix("\\u").and_then(|digits| u16::from_str_radix(digits, 16).ok());
            match unit {
                Some(unit) => self.push_unit(unit),
                None => self.push_text(&from_str::<String>(&format!("\"{piece}\"")).unwrap_or_default()),
            }
            rest = after;
        }
    }

    /// Appends a unit of UTF-16.
    fn push_unit(&mut self, unit: u16) {
        if let Some(half) = self.half.filter(|_| LOW_SURROGATES.contains(&unit)) {
            self.half = None;
            self.text.extend(char::decode_utf16([half, unit]).flatten());
            return;
        }
        self.end();
        if HIGH_SURROGATES.contains(&unit) {
            self.half = Some(unit);
        } else {
            self.text.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_cut_is_put_together() {
        for (pieces, text) in [
            (&[r#""ripe \ud83c""#, r#""\udf45 figs""#][..], "ripe 🍅 figs"),
            (&[r#""\uD83C\uDF45 \ud83c""#, r#""""#, r#""\uDf45""#], "🍅 🍅"),
            (&[r#""\\ud83c""#, r#""\\udf45""#], r"\ud83c\udf45"),
            (&[r#""a\n\"\ud83c""#, r#""\u00e9\t""#], "a\n\"\u{fffd}é\t"),
            (&[r#""\udf45\ud83c\ud83c""#, r#""\udf45\ud83c""#], "\u{fffd}\u{fffd}🍅\u{fffd}"),
            (&["null", r#""x""#, "3"], "x"),
        ] {
            let mut growing = GrowingText::default();
            for piece in pieces {
                growing.push_json(piece);
            }
            assert_eq!(growing.into_text(), text, "{pieces:?}");
        }
    }

    #[test]
    fn what_came_so_far_is_told_without_half_of_a_character() {
        let mut growing = GrowingText::default();
        growing.push_json(r#""a\ud83c""#);
        assert_eq!(growing.take(), "a");
        growing.push_json(r#""\udf45b""#);
        assert_eq!(growing.text(), "🍅b");
        assert_eq!(growing.take(), "🍅b");
    }
}
