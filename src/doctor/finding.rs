//! The finding of a check, in text and as JSON.

use crate::cli::{Layout, Style};
use crate::error::{Error, Result};
use crate::record::Object;
use crate::view::visible;

/// The result of one check.
#[derive(Clone, Debug)]
pub struct Finding {
    check: &'static str,
    state: State,
    text: String,
    remedy: Option<String>,
}

/// The urgency of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ok,
    /// The tools work without it, but the user may want it.
    Advice,
    /// Something needs doing.
    Trouble,
}

impl Finding {
    /// Nothing needs doing.
    pub fn ok(check: &'static str, text: impl Into<String>) -> Finding {
        Finding { check, state: State::Ok, text: text.into(), remedy: None }
    }

    /// A suggestion: the tools work without it.
    pub fn advice(check: &'static str, error: impl Into<Error>) -> Finding {
        Finding { state: State::Advice, ..Finding::trouble(check, error) }
    }

    /// Something must be fixed; the hint of the error says how.
    pub fn trouble(check: &'static str, error: impl Into<Error>) -> Finding {
        let error = error.into();
        let remedy = error.remedy().map(str::to_owned);
        Finding { check, state: State::Trouble, text: error.to_string(), remedy }
    }

    /// `ok` or `trouble`, by the result of a check.
    pub fn from_result(check: &'static str, found: Result<String>) -> Finding {
        found.map_or_else(|error| Finding::trouble(check, error), |text| Finding::ok(check, text))
    }

    /// Whether nothing needs doing.
    pub fn is_good(&self) -> bool {
        self.state != State::Trouble
    }

    /// A line for people, and one more for each line of the remedy.
    pub fn to_text(&self, layout: &Layout) -> String {
        let (word, style) = self.state.word();
        let mut text = format!(
            "{}: {}: {}\n",
            self.check,
            layout.paint(style, word),
            visible(&self.text).replace('\n', " ")
        );
        if let Some(remedy) = &self.remedy {
            for line in remedy.lines() {
                text.push_str(&format!("  {}\n", visible(line)));
            }
        }
        text
    }

    /// As a line of JSON.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("check", self.check);
        line.set_text("state", self.state.word().0);
        line.set_text("found", &self.text);
        if let Some(remedy) = &self.remedy {
            line.set_text("remedy", remedy);
        }
        line
    }
}

impl State {
    fn word(self) -> (&'static str, Style) {
        match self {
            State::Ok => ("ok", Style::Green),
            State::Advice => ("advice", Style::Yellow),
            State::Trouble => ("trouble", Style::Red),
        }
    }
}
