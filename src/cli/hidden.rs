//! Characters that a terminal must not get unescaped. The program `rsv`, without the library, has this file
//! too.

/// Whether a character moves the cursor, reorders what follows, or is not seen: control characters (C0 and
/// C1), bidirectional controls (Unicode annex 9), line separators, zero-width characters, and the tags that
/// can smuggle text. The joiner and the variation selectors are none: emoji are made with them.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A text on one line, with its hidden characters escaped.
pub(crate) fn on_one_line(text: &str) -> String {
    text.chars().flat_map(|c| if is_hidden(c) { c.escape_default().collect() } else { vec![c] }).collect()
}
