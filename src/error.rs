//! Errors: kinds with causes for programs, and for people one line (attempt, cause after a colon) and a hint.
//!
//! A module that fails in ways of its own has a table of them, made by `failures!`: a row has the kind with
//! its data, the words in lower case without a full stop, and the hint. `?` makes a kind the `Error` that
//! tools see. In `a.jsonl:3: cannot read x: is a directory`, `at` adds the place `a.jsonl:3`, `cannot read x`
//! are the words of the failure, and its cause is the rest: the member `source` of its row. `context` names
//! an attempt that has no row, and `Error::new` a mistake of usage of one tool. A failure has its own words
//! only, and `Error` writes the cause behind them: a chain of sources repeats none. Callers ask for kinds,
//! such as `error.find::<RequestError>()`, never for words.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause that another library may have made.
type BoxedError = Box<dyn StdError + Send + Sync>;

/// The failures of a module.
pub trait Failure: StdError + Send + Sync + 'static {
    /// The command or setting that helps.
    fn hint(&self) -> Option<String> {
        None
    }

    /// The error that tools see.
    fn into_error(self) -> Error
    where
        Self: Sized,
    {
        Error::of(self)
    }
}

/// Makes the enum of a module's failures: rows `Kind { data } ("words") => "hint"`; the data may be in both.
macro_rules! failures {
    ($(#[$doc:meta])* $vis:vis enum $name:ident {
        $($(#[$note:meta])* $kind:ident $({ $($field:ident: $type:ty),+ })? ($($words:tt)+) $(=> $hint:literal)?,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, thiserror::Error)]
        $vis enum $name {
            $($(#[$note])* #[error($($words)+)] $kind $({ $($field: $type),+ })?,)+
        }

        impl $crate::error::Failure for $name {
            #[allow(unused_variables)]
            fn hint(&self) -> Option<String> {
                match self {
                    $($name::$kind $({ $($field),+ })? => $crate::error::failures!(@$($hint)?),)+
                }
            }
        }
    };
    (@) => { None };
    (@$hint:literal) => { Some(format_args!($hint).to_string()) };
}
pub(crate) use failures;

/// One failure: its place, its kind with the cause, and a hint that names the remedy.
#[derive(Clone)]
pub struct Error {
    /// Such as `a.jsonl:3`; may be empty.
    place: String,
    failure: Arc<dyn Failure>,
    hint: Option<String>,
}

// The failures of no module.
failures! { pub(crate) enum Untyped {
    /// It is no failure, but the tool can do nothing more.
    Closed ("standard output is closed"),
    /// A mistake of usage.
    Usage { words: String } ("{words}"),
    /// An attempt that failed for a reason of the system, or of another library.
    Attempt { attempt: String, source: BoxedError } ("{attempt}"),
} }

impl Error {
    /// Makes an error of a text such as `--limit: expected a number from 1`.
    pub fn new(text: impl Into<String>) -> Error {
        Untyped::Usage { words: text.into() }.into()
    }

    /// Makes the error of a failure, with its hint.
    pub(crate) fn of(failure: impl Failure) -> Error {
        Error { place: String::new(), hint: failure.hint(), failure: Arc::new(failure) }
    }

    /// Makes the error of an attempt with its cause.
    pub fn attempt(attempt: impl Into<String>, cause: impl Into<BoxedError>) -> Error {
        Untyped::Attempt { attempt: attempt.into(), source: cause.into() }.into()
    }

    /// Adds a hint: the command or setting that helps.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint unless the kind has one.
    pub(crate) fn or_hint(self, hint: &str) -> Error {
        if self.hint.is_some() { self } else { self.hint(hint) }
    }

    /// Puts the location in front: `place: text`.
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        if !self.is_closed() {
            let within = if self.place.is_empty() { String::new() } else { format!(": {}", self.place) };
            self.place = format!("{place}{within}");
        }
        self
    }

    /// The hint, if there is one.
    pub fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The failure or the cause of a type, if there is one.
    pub fn find<E: StdError + 'static>(&self) -> Option<&E> {
        let mut next = self.source();
        while let Some(error) = next {
            if error.is::<E>() {
                return error.downcast_ref();
            }
            next = error.source();
        }
        None
    }

    /// Whether the only cause is a closed standard output.
    pub fn is_closed(&self) -> bool {
        matches!(self.find(), Some(Untyped::Closed))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}", self.failure)?;
        match self.failure.source() {
            Some(cause) => write!(f, ": {}", plain(&cause.to_string())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.failure)
    }
}

impl<F: Failure> From<F> for Error {
    fn from(failure: F) -> Error {
        failure.into_error()
    }
}

/// Converts the errors of other libraries by naming the failed attempt.
pub trait Context<T> {
    /// Puts `what: ` before the cause, which stays the source.
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<BoxedError>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error::attempt(what.to_string(), cause))
    }
}

/// A cause as the end of an error message: without the number of the operating system (`Permission denied (os
/// error 13)`), and in lower case except names.
pub(crate) fn plain(cause: &str) -> String {
    let cause = cause.split(" (os error").next().unwrap_or(cause).replace('\n', " ");
    let mut chars = cause.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_ascii_lowercase() => {
            format!("{}{}", first.to_ascii_lowercase(), &cause[1..])
        }
        _ => cause,
    }
}
