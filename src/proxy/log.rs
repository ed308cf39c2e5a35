//! One line a request on standard error, of what it was and how it went, never of what was said in it.

use super::Proxy;
use super::answer::{Answer, DEGRADED};
use crate::error::{Error, Result};
use crate::record::{Object, Scope};
use hyper::http::request::Parts;
use std::time::Instant;

/// How requests are told of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Log {
    None,
    Json,
    Text,
}

impl std::str::FromStr for Log {
    type Err = Error;

    fn from_str(word: &str) -> Result<Log> {
        match word {
            "json" => Ok(Log::Json),
            "text" => Ok(Log::Text),
            _ => Err(Error::new("expected json or text")),
        }
    }
}

/// A request that is being answered.
pub(super) struct Line {
    begin: Instant,
    method: String,
    path: String,
}

impl Line {
    pub(super) fn of(head: &Parts) -> Line {
        let (method, path) = (head.method.to_string(), head.uri.path().to_owned());
        Line { begin: Instant::now(), method, path }
    }
}

impl Proxy {
    /// Tells of a request whose answer is about to leave.
    pub(super) fn tell_of(&self, line: &Line, scope: Option<&Scope>, answer: &Answer) {
        if self.log == Log::None {
            return;
        }
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let ms = line.begin.elapsed().as_millis();
        let status = answer.status().as_u16();
        let numbers = [("recalled", header("x-rsv-recalled")), ("tokens", header("x-rsv-tokens"))];
        let mut told = Object::default();
        told.set_text("method", &line.method);
        told.set_text("path", &line.path);
        told.set("status", status.to_string());
        told.set("ms", ms.to_string());
        if let Some(scope) = scope {
            told.set_text("partition", &scope.partition);
            told.set_text("instance", &scope.instance);
        }
        for (name, value) in numbers {
            value.into_iter().for_each(|value| told.set(name, value));
        }
        header(DEGRADED).into_iter().for_each(|why| told.set_text("degraded", why));
        if self.log == Log::Json {
            self.notes.record(&told.to_json());
            return;
        }
        let told: Vec<String> = told.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.notes.record(&told.join(" "));
    }
}
