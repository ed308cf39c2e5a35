//! A request for a page: who looks, at which part of the memory, and the addresses of what is linked to.

use crate::cli;
use crate::error::{Error, Result};
use crate::proxy::http::{Page, all_parameters};
use crate::proxy::visibility::{Visibility, visible_to};
use crate::record::{Reach, RequestScope, Scope, Scopes, time};
use crate::view;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that stay as they are in an address.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The parameters that are numbers.
const NUMBERS: [&str; 2] = ["n", "skip"];

/// A request for a page.
pub(in crate::proxy) struct PageRequest {
    /// The path before that of a page: that of the scope in the address.
    prefix: String,
    /// The scope that the request names, in its address or its headers.
    named: Option<RequestScope>,
    /// The parameters of the query that are not empty.
    parameters: Vec<(String, String)>,
    pub(super) zone: TimeZone,
    /// Milliseconds since 1970, UTC.
    pub(super) now: i64,
    /// Whether the server has a token, so that one can log out.
    pub(super) has_token: bool,
}

impl PageRequest {
    /// Reads the query. `in_path` is the scope in the address, `named` that of the address or the headers. Errors if a
    /// parameter is not UTF-8, or is no number where it must be one.
    pub(in crate::proxy) fn new(
        in_path: Option<&RequestScope>,
        named: Option<RequestScope>,
        query: &str,
        now: i64,
    ) -> Result<PageRequest> {
        let all = all_parameters(query)?.into_iter().filter(|(_, value)| !value.is_empty());
        let parameters: Vec<(String, String)> = all.map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some((name, value)) = parameters
            .iter()
            .find(|(name, value)| NUMBERS.contains(&name.as_str()) && value.parse::<u32>().is_err())
        {
            return Err(Error::new(format!("{name}: expected a number, found {value}")));
        }
        let prefix = in_path.map(prefix).unwrap_or_default();
        Ok(PageRequest { prefix, named, parameters, zone: cli::zone(), now, has_token: false })
    }

    /// The same at a server that has a token or none.
    pub(super) fn with_token(self, has_token: bool) -> PageRequest {
        PageRequest { has_token, ..self }
    }

    /// Whether its query names a partition that the caller may not see.
    pub(super) fn is_foreign(&self) -> bool {
        self.parameter("p").is_some_and(|name| !visible_to(self.named.as_ref()).includes(name))
    }

    /// Whether the caller may see every partition.
    pub(super) fn sees_all(&self) -> bool {
        visible_to(self.named.as_ref()) == Visibility::Everything
    }

    /// The partition that is looked at: that of the query, else that of the scope of the request.
    pub(super) fn partition(&self) -> Option<&str> {
        let named = self.named.as_ref().map(|named| named.scope.partition.as_str());
        self.parameter("p").or(named)
    }

    /// All that the caller may see of the partition that is looked at, or of all of them.
    pub(super) fn scopes(&self) -> Scopes {
        match (&self.named, self.partition()) {
            (Some(named), _) => named.scopes(),
            (None, Some(partition)) => Scopes::Partition(partition.to_owned()),
            (None, None) => Scopes::All,
        }
    }

    /// The scope of the conversation that the query names, if the caller may see it.
    pub(super) fn conversation(&self) -> Option<Scope> {
        let instance = self.parameter("i")?.to_owned();
        let scope = Scope { partition: self.partition()?.to_owned(), instance };
        Some(scope).filter(|scope| !self.is_foreign() && self.scopes().contains(scope))
    }

    /// The scope that is looked at, with no names where it is every partition.
    pub(in crate::proxy) fn seen_scope(&self) -> Scope {
        let partition = self.partition().unwrap_or_default().to_owned();
        let named = self.named.as_ref().filter(|named| named.reach == Reach::Instance);
        let instance = self.parameter("i").or(named.map(|named| named.scope.instance.as_str()));
        Scope { instance: instance.unwrap_or(&partition).to_owned(), partition }
    }

    /// A parameter of the query that is not empty.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// One of `NUMBERS`; 0 without it.
    pub(super) fn number(&self, name: &str) -> usize {
        self.parameter(name).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// The path of the first page, below which all others are.
    pub(super) fn home(&self) -> String {
        self.path(Page::Home)
    }

    /// The path of a page, without its query.
    pub(super) fn path(&self, page: Page) -> String {
        format!("{}{}", self.prefix, page.path())
    }

    /// The path of the page of the chat backend.
    pub(super) fn chat(&self) -> String {
        format!("{}/chat", self.prefix)
    }

    /// The address of a page of the partition that is looked at; parameters without a value are left out.
    pub(super) fn link(&self, page: Page, parameters: &[(&str, &str)]) -> String {
        self.link_in(self.partition().unwrap_or_default(), page, parameters)
    }

    /// The same of another partition.
    pub(super) fn link_in(&self, partition: &str, page: Page, parameters: &[(&str, &str)]) -> String {
        let all = [("p", partition)].into_iter().chain(parameters.iter().copied());
        let pairs: Vec<String> = all
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path(page), pairs.join("&"))
    }

    /// The address of a message in its conversation.
    pub(super) fn place(&self, scope: &Scope, id: &str) -> String {
        let page = self.link_in(&scope.partition, Page::Conversation, &[("i", &scope.instance), ("at", id)]);
        format!("{page}#m-{}", encoded(id))
    }

    /// A time, in milliseconds since 1970, in the zone of the server: `2026-11-21 07:03`, as an element.
    pub(super) fn time(&self, ms: i64) -> String {
        format!("<time datetime=\"{}\">{}</time>", time::rfc3339(ms), view::date(ms, &self.zone))
    }

    /// The hour of a time: `07:03`, as an element.
    pub(super) fn hour(&self, ms: i64) -> String {
        let date = view::date(ms, &self.zone);
        let hour = date.split_once(' ').map_or(date.as_str(), |(_, hour)| hour);
        format!("<time datetime=\"{}\">{hour}</time>", time::rfc3339(ms))
    }

    /// The day of a time: `Saturday, 21 November 2026`.
    pub(super) fn day(&self, ms: i64) -> String {
        let time = Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(self.zone.clone());
        time.strftime("%A, %-d %B %Y").to_string()
    }
}

/// The path of a scope.
fn prefix(named: &RequestScope) -> String {
    let Scope { partition, instance } = &named.scope;
    let partition = format!("/partition/{}", encoded(partition));
    match named.reach {
        Reach::Partition => partition,
        Reach::Instance => format!("{partition}/instance/{}", encoded(instance)),
    }
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
