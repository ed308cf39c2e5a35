//! Errors, in words for the person at the shell: the attempt, the cause after a colon, and a hint.

use std::fmt;

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// One failure: a line of text, lower case and without a full stop, and a hint that names the remedy.
#[derive(Clone)]
pub struct Error {
    text: String,
    hint: Option<String>,
    timeout: Option<&'static str>,
    closed: bool,
}

impl Error {
    /// Makes an error of a text such as `cannot open store sqlite:/x: permission denied`.
    pub fn new(text: impl Into<String>) -> Error {
        Error { text: text.into(), hint: None, timeout: None, closed: false }
    }

    /// The error of a closed standard output. It is no failure, but the tool can do nothing more.
    pub(crate) fn closed() -> Error {
        Error { text: "standard output is closed".into(), hint: None, timeout: None, closed: true }
    }

    /// Adds a hint: the command or setting that helps.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Records the setting whose time limit was reached.
    pub(crate) fn timed_out(mut self, setting: &'static str) -> Error {
        self.timeout = Some(setting);
        self
    }

    /// The setting whose time limit was reached, if one was.
    pub(crate) fn timeout(&self) -> Option<&'static str> {
        self.timeout
    }

    /// Adds the cause: `text: cause`.
    pub fn because(mut self, cause: impl fmt::Display) -> Error {
        self.text = format!("{}: {}", self.text, plain(&cause.to_string()));
        self
    }

    /// Puts the location or the attempt in front: `place: text`.
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        if !self.closed {
            self.text = format!("{place}: {}", self.text);
        }
        self
    }

    /// The hint, if there is one.
    pub fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the only cause is a closed standard output.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}

impl std::error::Error for Error {}

/// Converts the errors of other libraries by naming the failed attempt.
pub trait Context<T> {
    /// Puts `what: ` before the cause.
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error::new(what.to_string()).because(cause))
    }
}

/// A cause as the end of an error message: without the number of the operating system (`Permission denied (os error
/// 13)`), and in lower case except names.
fn plain(cause: &str) -> String {
    let cause = cause.split(" (os error").next().unwrap_or(cause).replace('\n', " ");
    let mut chars = cause.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_ascii_lowercase() => {
            format!("{}{}", first.to_ascii_lowercase(), &cause[1..])
        }
        _ => cause,
    }
}
