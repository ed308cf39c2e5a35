//! Writes one line a request to standard error: its method, its path and its outcome, never its content.

use super::error::HttpFault;
use super::response::{self, DEGRADED_HEADER, HttpResponse, RECALLED_HEADER, TOKENS_HEADER};
use crate::cli::Diagnostics;
use crate::error::{Error, Result};
use crate::record::{Object, Scope};
use hyper::http::request::Parts;
use std::net::IpAddr;
use std::time::Instant;

/// The format of the log.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LogFormat {
    None,
    Json,
    Text,
}

impl std::str::FromStr for LogFormat {
    type Err = Error;

    fn from_str(word: &str) -> Result<LogFormat> {
        match word {
            "json" => Ok(LogFormat::Json),
            "text" => Ok(LogFormat::Text),
            _ => Err(HttpFault::LogFormat.into()),
        }
    }
}

/// Logs requests in one format.
pub(in crate::proxy) struct RequestLog {
    format: LogFormat,
    diagnostics: Diagnostics,
}

/// A request that is being answered.
pub(in crate::proxy) struct LoggedRequest {
    started: Instant,
    method: String,
    path: String,
}

/// The sender of a request.
pub(in crate::proxy) struct LoggedSender<'a> {
    pub(in crate::proxy) address: Option<IpAddr>,
    /// The name of its token.
    pub(in crate::proxy) token: Option<&'a str>,
}

impl LoggedRequest {
    /// A request that begins now.
    pub(in crate::proxy) fn begin(head: &Parts) -> LoggedRequest {
        let (method, path) = (head.method.to_string(), head.uri.path().to_owned());
        LoggedRequest { started: Instant::now(), method, path }
    }
}

impl RequestLog {
    /// A log in `format`, which is written to `diagnostics`.
    pub(in crate::proxy) fn new(format: LogFormat, diagnostics: Diagnostics) -> RequestLog {
        RequestLog { format, diagnostics }
    }

    /// Logs a request whose response is about to leave.
    pub(in crate::proxy) fn write(
        &self,
        request: &LoggedRequest,
        sender: &LoggedSender,
        scope: Option<&Scope>,
        response: &HttpResponse,
    ) {
        if self.format == LogFormat::None {
            return;
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let ms = request.started.elapsed().as_millis();
        let status = response.status().as_u16();
        let mut line = Object::default();
        line.set_text("method", &request.method);
        line.set_text("path", &request.path);
        line.set("status", status.to_string());
        line.set("ms", ms.to_string());
        if let Some(address) = sender.address {
            line.set_text("client", &address.to_string());
        }
        if let Some(token) = sender.token {
            line.set_text("token", token);
        }
        if let Some(scope) = scope {
            line.set_text("partition", &scope.partition);
            line.set_text("instance", &scope.instance);
        }
        if let Some(trace_id) = response::trace(response) {
            line.set_text("trace_id", trace_id);
        }
        for (member, name) in [("recalled", RECALLED_HEADER), ("tokens", TOKENS_HEADER)] {
            if let Some(value) = header(name) {
                line.set(member, value);
            }
        }
        if let Some(reason) = header(DEGRADED_HEADER) {
            line.set_text("degraded", reason);
        }
        if self.format == LogFormat::Json {
            self.diagnostics.record(&line.to_json());
            return;
        }
        let words: Vec<String> = line.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.diagnostics.record(&words.join(" "));
    }
}
