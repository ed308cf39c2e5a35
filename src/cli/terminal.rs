//! Tells which standard streams are terminals, the only place that checks, and what a terminal may get.

use super::hidden::is_hidden;
use super::style::Style;
use atty::Stream;
use std::borrow::Cow;
use std::fmt::Write;

/// Whether a standard stream is a terminal.
pub(super) fn is_terminal(stream: Stream) -> bool {
    atty::is(stream)
}

/// Output as a terminal may get it: hidden characters are written as in JSON (`\u202e`), so that a line of
/// JSON stays one. Line ends, tabs and the tools' own colours stay; of bytes that are no UTF-8, replacement
/// characters are left.
pub(super) fn printable(output: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(output);
    let mut shown = String::new();
    let mut done = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_hidden(*c)) {
        let rest = &text[at..];
        let stays = matches!(c, '\n' | '\t') || rest.starts_with("\r\n") || Style::begins(rest);
        if !stays {
            shown.push_str(&text[done..at]);
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
            done = at + c.len_utf8();
        }
    }
    match text {
        Cow::Borrowed(_) if done == 0 => Cow::Borrowed(output),
        text => Cow::Owned((shown + &text[done..]).into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_must_not_get_is_written_out() {
        for (output, shown) in [
            ("plain é 漢字 👩\u{200d}💻 שלום\r\n\ta\n", "plain é 漢字 👩\u{200d}💻 שלום\r\n\ta\n"),
            ("\x1b[1;32muser\x1b[0m: a", "\x1b[1;32muser\x1b[0m: a"),
            ("\x1b[8ma\x1b]0;b\x07c\r", "\\u001b[8ma\\u001b]0;b\\u0007c\\u000d"),
            ("a\u{202e}b\u{9b}2Jc\u{7f}", "a\\u202eb\\u009b2Jc\\u007f"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("\u{2028}\u{2066}\u{feff}\u{200b}", "\\u2028\\u2066\\ufeff\\u200b"),
        ] {
            assert_eq!(String::from_utf8_lossy(&printable(output.as_bytes())), shown);
        }
        assert_eq!(*printable(b"a\x9b2J"), *"a\u{fffd}2J".as_bytes());
    }
}
