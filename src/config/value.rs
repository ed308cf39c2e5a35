//! The types and values of settings, and how they are written.

use super::error::ConfigError;
use crate::error::{Error, Result};
use crate::record::{excerpt, quote};
use std::fmt;
use std::time::Duration;
use toml_edit::{Item, Value as Toml};

/// A password or a key: printed as `****` wherever it may turn up.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("****")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

/// The value of a setting.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Text(String),
    Secret(Secret),
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Duration(Duration),
    /// A share, 0 to 1.
    Share(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Secret(secret) => write!(f, "{secret}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Real(number) => write!(f, "{number}"),
            Value::Boolean(yes) => write!(f, "{yes}"),
            Value::Duration(Duration::ZERO) => f.write_str(OFF),
            Value::Duration(time) if time.subsec_nanos() == 0 && time.as_secs() % DAY_SECONDS == 0 => {
                write!(f, "{}d", time.as_secs() / DAY_SECONDS)
            }
            Value::Duration(time) if time.subsec_nanos() == 0 => write!(f, "{}s", time.as_secs()),
            Value::Duration(time) => write!(f, "{}ms", time.as_secs_f64() * 1000.0),
            Value::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl Value {
    /// The value as the file has it, a secret in the clear.
    pub(super) fn to_toml(&self) -> Toml {
        match self {
            Value::Secret(secret) => Toml::from(secret.expose()),
            Value::Integer(number) => Toml::from(*number),
            Value::Real(number) => Toml::from(*number),
            Value::Boolean(yes) => Toml::from(*yes),
            Value::Text(_) | Value::Duration(_) | Value::Share(_) => Toml::from(self.to_string()),
        }
    }
}

/// The type of a setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ValueType {
    Text,
    Secret,
    /// The place of the store: a path, or an address with a scheme.
    Store,
    /// The name of an environment variable.
    Variable,
    /// An address with one of these schemes.
    Url(&'static [&'static str]),
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A number above the first and at most the second.
    Real(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words, separated by commas, or `none`.
    List(&'static [&'static str]),
    Boolean,
    Duration,
    /// A duration, or `off`, which is read as zero.
    OptionalDuration,
    /// A number of days or years, or `off`, which is read as zero.
    Age,
    /// A number from 0 to this, with a percent sign.
    Percent(f64),
}

/// The word for a duration that never ends.
const OFF: &str = "off";

/// The word for an empty list.
const NOTHING: &str = "none";

/// The seconds of a day.
const DAY_SECONDS: u64 = 86400;
const DAYS_OF_YEAR: u64 = 365;
/// The longest duration, in seconds: a longer one is more likely a slip, and could overflow a clock.
const YEAR_SECONDS: f64 = (DAYS_OF_YEAR * DAY_SECONDS) as f64;
/// The greatest age, in years.
const MAX_YEARS: u64 = 100;

impl ValueType {
    /// Reads a value from the environment, a flag or `rsv-config set`. Fails if the text is of another type.
    pub(super) fn read(self, text: &str) -> Result<Value> {
        self.parse(text).ok_or_else(|| self.expected(&quote(text)))
    }

    /// Reads a value from the file. Fails if the item has another type or is out of range.
    pub(super) fn read_item(self, item: &Item) -> Result<Value> {
        let Some(value) = item.as_value() else {
            return Err(self.expected("a table"));
        };
        let text = match (self, value) {
            (ValueType::Boolean, Toml::Boolean(yes)) => Some(yes.value().to_string()),
            (ValueType::Boolean | ValueType::Integer(..) | ValueType::Real(..), Toml::String(_)) => None,
            (_, Toml::String(text)) => Some(text.value().clone()),
            (
                ValueType::Integer(..)
                | ValueType::Real(..)
                | ValueType::Duration
                | ValueType::OptionalDuration,
                Toml::Integer(number),
            ) => Some(number.value().to_string()),
            (
                ValueType::Real(..) | ValueType::Duration | ValueType::OptionalDuration,
                Toml::Float(number),
            ) => Some(number.value().to_string()),
            _ => None,
        };
        let parsed = text.and_then(|text| self.parse(&text));
        parsed.ok_or_else(|| self.expected(value.to_string().trim()))
    }

    fn parse(self, text: &str) -> Option<Value> {
        let word = text.trim();
        match self {
            ValueType::Text => is_line(text).then(|| Value::Text(text.to_owned())),
            ValueType::Secret => is_line(text).then(|| Value::Secret(Secret::new(text))),
            ValueType::Store => (is_line(text) && !is_in_memory(text)).then(|| Value::Text(text.to_owned())),
            ValueType::Variable => is_variable(word).then(|| Value::Text(word.to_owned())),
            ValueType::Url(schemes) => is_url(word, schemes).then(|| Value::Text(word.to_owned())),
            ValueType::Integer(min, max) => {
                word.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Integer)
            }
            ValueType::Real(above, most) => {
                word.parse().ok().filter(|number: &f64| *number > above && *number <= most).map(Value::Real)
            }
            ValueType::Choice(words) => words.contains(&word).then(|| Value::Text(word.to_owned())),
            ValueType::List(words) => {
                let is_listed = |part: &str| words.contains(&part);
                let listed = word == NOTHING || word.split(',').all(is_listed);
                listed.then(|| Value::Text(word.to_owned()))
            }
            ValueType::Boolean => boolean(word).map(Value::Boolean),
            ValueType::Duration => duration(word).map(Value::Duration),
            ValueType::OptionalDuration | ValueType::Age if [OFF, "0"].contains(&word) => {
                Some(Value::Duration(Duration::ZERO))
            }
            ValueType::OptionalDuration => duration(word).map(Value::Duration),
            ValueType::Age => age(word).map(Value::Duration),
            ValueType::Percent(most) => percent(word, most).map(Value::Share),
        }
    }

    /// `expected true or false, found "maybe"`; a value that may be a misplaced secret is not shown.
    fn expected(self, found: &str) -> Error {
        let address = |schemes: &[&str]| format!("an address that begins with {}", schemes.join(" or "));
        let expected = match self {
            ValueType::Text => "one line of text".to_owned(),
            ValueType::Secret => {
                return ConfigError::Expected { expected: "one line of text".to_owned() }.into();
            }
            // SQLite takes an empty path for memory too.
            ValueType::Store
                if found.contains("memory") || ["", "sqlite:"].contains(&found.trim_matches('"')) =>
            {
                return ConfigError::InMemory { found: excerpt(found, 60) }.into();
            }
            ValueType::Store => "the path of a file, sqlite:PATH, or the address of a server".to_owned(),
            ValueType::Variable => {
                return ConfigError::Expected { expected: "the name of an environment variable".to_owned() }
                    .into();
            }
            // An address may hold a password: neo4j://user:password@host.
            ValueType::Url(schemes) if found.contains('@') => {
                return ConfigError::Expected { expected: address(schemes) }.into();
            }
            ValueType::Url(schemes) => address(schemes),
            ValueType::Integer(min, max) => format!("a whole number from {min} to {max}"),
            ValueType::Real(above, most) => format!("a number above {above} and at most {most}"),
            ValueType::Choice(words) => words.join(" or "),
            ValueType::List(words) => {
                format!("some of {}, separated by commas, or {NOTHING}", words.join(", "))
            }
            ValueType::Boolean => "true or false".to_owned(),
            ValueType::Duration => "a duration such as 500ms, 30s, 2m, 12h or 30d".to_owned(),
            ValueType::OptionalDuration => {
                format!("a duration such as 500ms, 30s, 2m, 12h or 30d, or {OFF}")
            }
            ValueType::Age => format!("an age such as 90d or 2y, at most {MAX_YEARS}y, or {OFF}"),
            ValueType::Percent(most) => format!("a share from 0% to {most}%, such as 5%"),
        };
        ConfigError::Found { expected, found: excerpt(found, 60) }.into()
    }
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

/// Whether a place is one by which SQLite's programs and libraries name a database in memory. No tool would
/// find another's records there.
fn is_in_memory(place: &str) -> bool {
    let path = place.strip_prefix("sqlite:").unwrap_or(place).trim_start_matches('/');
    let options = path.split_once('?').map_or("", |(_, options)| options);
    (path.is_empty() && place.starts_with("sqlite:"))
        || [":memory:", "file::memory:"].iter().any(|name| path.starts_with(name))
        || options.split('&').any(|option| ["mode=memory", "vfs=memdb"].contains(&option))
}

fn is_variable(word: &str) -> bool {
    let first = word.bytes().next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic());
    first && word.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

fn is_url(word: &str, schemes: &[&str]) -> bool {
    let rest = schemes.iter().find_map(|scheme| word.strip_prefix(scheme));
    rest.is_some_and(|rest| is_line(rest) && !rest.contains(' '))
}

fn boolean(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Reads a duration of a flag. Fails if the text is none.
pub fn parse_duration(text: &str) -> Result<Duration> {
    duration(text.trim()).ok_or_else(|| ValueType::Duration.expected(&quote(text)))
}

/// Reads `30s`, `500ms`, `2m`, `12h`, `30d` or a bare number of seconds; zero would let nothing succeed.
fn duration(word: &str) -> Option<Duration> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match word[digits.len()..].trim() {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => DAY_SECONDS as f64,
        _ => return None,
    };
    let seconds = digits.trim().parse::<f64>().ok()? * unit;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (seconds <= YEAR_SECONDS && time >= Duration::from_millis(1)).then_some(time)
}

/// Reads `5%` as 0.05.
fn percent(word: &str, most: f64) -> Option<f64> {
    let number = word.strip_suffix('%')?.trim_end();
    let is_plain = number.starts_with(|c: char| c.is_ascii_digit());
    let number = number.parse::<f64>().ok().filter(|number| is_plain && *number <= most)?;
    Some(number / 100.0)
}

/// Reads `90d` or `2y`.
fn age(word: &str) -> Option<Duration> {
    let days_of_one = match word.chars().last()? {
        'd' => 1,
        'y' => DAYS_OF_YEAR,
        _ => return None,
    };
    let days = word[..word.len() - 1].trim().parse::<u64>().ok()?.checked_mul(days_of_one)?;
    let is_in_range = (1..=MAX_YEARS * DAYS_OF_YEAR).contains(&days);
    is_in_range.then(|| Duration::from_secs(days * DAY_SECONDS))
}

#[cfg(test)]
mod tests;
