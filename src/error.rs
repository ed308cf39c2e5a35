//! Errors: kinds with causes for programs, and for people one line (the attempt, the cause after a colon) and a hint.
//!
//! A module that fails in ways of its own has an enum of them in its `error.rs`: it derives `thiserror::Error`, its
//! variants hold data and the `#[source]` of another library, its messages are in lower case without a full stop. The
//! enum is a `Failure`: `hint` is the one table of what helps. `?` and `into` make it the `Error` that tools see:
//!
//! | part of an `Error` | of `a.jsonl:3: content: is missing` | added by |
//! |---|---|---|
//! | place | `a.jsonl:3` | `at`, the outermost last |
//! | failure, its `source` | `RecordError::Missing { member: "content" }` | `From` |
//! | cause, the `source` of the failure | none | `#[source]`, or `context` for an attempt without a kind |
//! | hint | none | `Failure::hint`; `hint`, if only the caller knows it |
//!
//! A failure writes its own words only, and `Error` writes the cause behind them, so that no message is there twice in
//! a chain of sources. Callers ask for kinds, never for words: `error.find::<RequestError>()` looks through the chain.
//! `Error::new` is for the mistakes of usage in tools, which nothing tells apart.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// What helps after a failure.
pub type Hint = Option<Cow<'static, str>>;

/// A cause that another library may have made.
type BoxedError = Box<dyn StdError + Send + Sync>;

/// The kinds of failures of a module.
pub trait Failure: StdError + Send + Sync + 'static {
    /// The command or setting that helps.
    fn hint(&self) -> Hint {
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

/// One failure: its place, its kind with the cause, and a hint that names the remedy.
#[derive(Clone)]
pub struct Error {
    /// Such as `a.jsonl:3`; may be empty.
    place: String,
    failure: Arc<dyn Failure>,
    hint: Option<String>,
}

/// Standard output is closed. It is no failure, but the tool can do nothing more.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct Closed;

/// A mistake of usage, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// An attempt that failed for a reason of the system, or of another library.
#[derive(Debug, thiserror::Error)]
#[error("{attempt}")]
struct Attempt {
    attempt: String,
    #[source]
    cause: BoxedError,
}

impl Failure for Closed {}
impl Failure for Usage {}
impl Failure for Attempt {}

impl Error {
    /// Makes an error of a text such as `--limit: expected a number from 1`.
    pub fn new(text: impl Into<String>) -> Error {
        Usage(text.into()).into()
    }

    /// Makes the error of a failure, with its hint.
    pub(crate) fn of(failure: impl Failure) -> Error {
        let hint = failure.hint().map(Cow::into_owned);
        Error { place: String::new(), failure: Arc::new(failure), hint }
    }

    /// Makes the error of an attempt with its cause.
    pub fn attempt(attempt: impl Into<String>, cause: impl Into<BoxedError>) -> Error {
        Attempt { attempt: attempt.into(), cause: cause.into() }.into()
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

    /// Leaves the hint out, where another place has one that fits better.
    pub(crate) fn without_hint(self) -> Error {
        Error { hint: None, ..self }
    }

    /// Adds the cause: `text: cause`.
    pub fn because(self, cause: impl fmt::Display) -> Error {
        Error { hint: self.hint.clone(), ..Error::attempt(self.to_string(), cause.to_string()) }
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
        (&*self.failure as &(dyn StdError + 'static)).is::<Closed>()
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

/// A cause as the end of an error message: without the number of the operating system (`Permission denied (os error
/// 13)`), and in lower case except names.
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
