//! The layout and the colours of text for people.

use jiff::tz::TimeZone;

/// The layout of text for people.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The columns of the terminal.
    pub width: usize,
    pub colour: bool,
    /// Whether the scope of each record is shown.
    pub scopes: bool,
    pub zone: TimeZone,
}

/// The style of a word in text for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
}

/// The sequence that ends a style (ECMA-48, 8.3.117).
const PLAIN: &str = "\x1b[0m";

impl Style {
    const ALL: [Style; 6] =
        [Style::Dim, Style::Red, Style::Green, Style::Yellow, Style::Blue, Style::Magenta];

    /// The sequence that begins the style.
    fn sequence(self) -> &'static str {
        match self {
            Style::Dim => "\x1b[2m",
            Style::Red => "\x1b[1;31m",
            Style::Green => "\x1b[1;32m",
            Style::Yellow => "\x1b[1;33m",
            Style::Blue => "\x1b[1;34m",
            Style::Magenta => "\x1b[1;35m",
        }
    }

    /// Whether a text begins with a sequence that begins or ends a style.
    pub(super) fn begins(text: &str) -> bool {
        text.starts_with(PLAIN) || Style::ALL.iter().any(|style| text.starts_with(style.sequence()))
    }
}

impl Layout {
    /// A text in a style, where there is colour.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        format!("{}{text}{PLAIN}", style.sequence())
    }
}
