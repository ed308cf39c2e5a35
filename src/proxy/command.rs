//! `GET …/command/search/{n}` and `GET …/command/view/{n}`: what rsv-search and rsv-view find in a scope, as one
//! JSON array.

use super::Proxy;
use super::answer::{self, Answer};
use crate::error::{Error, Result};
use crate::fill;
use crate::record::{Object, Role, Scope, Scopes, StoredRecord};
use crate::search::{self, By, CatchUp, Options};
use crate::store::{Select, Term};
use hyper::StatusCode;
use percent_encoding::percent_decode_str;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Command {
    Search,
    View,
}

impl Command {
    /// The command of a name in an address.
    pub(super) fn named(name: &str) -> Option<Command> {
        match name {
            "search" => Some(Command::Search),
            "view" => Some(Command::View),
            _ => None,
        }
    }
}

/// What is searched for, and by what.
struct Asked {
    term: String,
    semantic: bool,
    hybrid: bool,
    options: Options<'static>,
}

impl Asked {
    /// Reads what stands behind the question mark of an address. Errors begin with the parameter at fault.
    fn parse(query: &str, limit: usize) -> Result<Asked> {
        let yes = |name| match parameter(query, name)?.as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Error::new(format!("{name}: expected true or false"))),
        };
        let term = parameter(query, "term")?.ok_or_else(|| Error::new("Missing 'term' query parameter"))?;
        let (semantic, hybrid) = (yes("semantic")?, yes("hybrid")?);
        if semantic && hybrid {
            return Err(Error::new("semantic: cannot be used with hybrid"));
        }
        if Term::parse(&term).is_empty() {
            return Err(Error::new("term: is empty"));
        }
        let (deduplicate, link) = (yes("deduplicate")?, yes("link")?);
        let options =
            Options { limit, min_score: None, deduplicate, link, admits: &|_| true, among: usize::MAX };
        Ok(Asked { term, semantic, hybrid, options })
    }
}

/// The value of a parameter, if it is there.
fn parameter(query: &str, name: &str) -> Result<Option<String>> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let Some((_, value)) = { pairs }.find(|pair| pair.0 == name) else { return Ok(None) };
    let value = value.replace('+', " ");
    let decoded = percent_decode_str(&value).decode_utf8();
    decoded.map(|text| Some(text.into_owned())).map_err(|_| Error::new(format!("{name}: is not UTF-8")))
}

impl Proxy {
    /// Answers on a thread that may wait.
    pub(super) fn command(&self, scope: Scope, command: Command, count: usize, query: &str) -> Answer {
        let _at_work = self.embedder.at_work();
        let which = Select::of(Scopes::One(scope));
        let told = match command {
            Command::View => self.view(&which, count),
            Command::Search => match Asked::parse(query, count) {
                Ok(asked) => self.search(&which, &asked),
                Err(error) => {
                    return answer::error(StatusCode::BAD_REQUEST, "invalid_request", &error.to_string());
                }
            },
        };
        match told {
            Ok(told) => answer::json(StatusCode::OK, format!("[{}]\n", told.join(","))),
            Err(error) => answer::unavailable("unavailable", &error),
        }
    }

    /// The last messages, oldest first, as JSON.
    fn view(&self, which: &Select, count: usize) -> Result<Vec<String>> {
        let messages = self.to_read()?.last_of(which, count)?;
        Ok(messages.iter().map(|message| told(message).to_json()).collect())
    }

    /// The hits, best first, as JSON.
    fn search(&self, which: &Select, asked: &Asked) -> Result<Vec<String>> {
        let mut store = self.to_read()?;
        let hits = if asked.semantic || asked.hybrid {
            self.follow(&mut *store)?;
            let mut embedder = self.to_embed()?;
            let limit = fill::catch_up_limit(&self.settings);
            let behind = Some(CatchUp { limit, notes: &self.notes });
            let by = match asked.hybrid {
                true => By::Both(&mut embedder, behind),
                false => By::Meaning(&mut embedder, behind),
            };
            search::run(&mut *store, by, &asked.term, which, &asked.options)?
        } else {
            search::run(&mut *store, By::Words, &asked.term, which, &asked.options)?
        };
        let told = hits.iter().map(|hit| {
            let mut told = told(&hit.record);
            told.set("score", hit.score.to_string());
            told.to_json()
        });
        Ok(told.collect())
    }
}

/// A message as clients of Reservoir know it, and after that what tells which it is.
fn told(message: &StoredRecord) -> Object {
    let mut told = Object::default();
    told.set_text("role", message.role.map_or("", Role::name));
    told.set("content", message.content_json());
    told.set_text("id", &message.id);
    told.set_text("trace_id", &message.trace_id);
    told.set("timestamp", message.timestamp.to_string());
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read() {
        let asked = Asked::parse("x=1&term=green+tea%3D%C3%A9%2B&hybrid=1&deduplicate=true", 3).unwrap();
        assert_eq!((asked.term.as_str(), asked.semantic, asked.hybrid), ("green tea=é+", false, true));
        assert_eq!((asked.options.limit, asked.options.deduplicate), (3, true));
        for (query, error) in [
            ("", "Missing 'term' query parameter"),
            ("terms=x", "Missing 'term' query parameter"),
            ("term", "term: is empty"),
            ("term=%20+", "term: is empty"),
            ("term=%CC%81", "term: is empty"),
            ("term=%FF", "term: is not UTF-8"),
            ("term=x&semantic=yes", "semantic: expected true or false"),
            ("term=x&link=", "link: expected true or false"),
            ("term=x&semantic=1&hybrid=1", "semantic: cannot be used with hybrid"),
        ] {
            assert_eq!(Asked::parse(query, 5).err().unwrap().to_string(), error, "{query}");
        }
    }
}
