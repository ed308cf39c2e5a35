//! A request for a page: who looks, at which part of the memory, and the addresses of what is linked to.

use crate::access::{Caller, Right};
use crate::cli;
use crate::error::Result;
use crate::proxy::http::{Page, all_parameters, unexpected};
use crate::proxy::visibility::{Visibility, visible_to};
use crate::record::{Reach, RequestScope, Scope, Scopes, time};
use crate::store::Store;
use crate::view;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeSet;

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
    caller: Caller,
    /// The parameters of the query that are not empty.
    parameters: Vec<(String, String)>,
    pub(super) zone: TimeZone,
    /// Milliseconds since 1970, UTC.
    pub(super) now: i64,
    /// Whether the server has a token, so that one can log out.
    pub(super) has_token: bool,
}

impl PageRequest {
    /// Reads the query. `in_path` is the scope in the address, `named` that of the address or the headers.
    /// Errors if a parameter is not UTF-8, or is no number where it must be one.
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
            return Err(unexpected(name, "a number", value));
        }
        let prefix = in_path.map(prefix).unwrap_or_default();
        let (zone, caller) = (cli::zone(), Caller::Owner);
        Ok(PageRequest { prefix, named, caller, parameters, zone, now, has_token: false })
    }

    /// The same of a caller, at a server that has a token or none.
    pub(super) fn of(self, caller: Caller, has_token: bool) -> PageRequest {
        PageRequest { caller, has_token, ..self }
    }

    fn visibility(&self) -> Visibility {
        visible_to(&self.caller, self.named.as_ref())
    }

    /// Whether its query names a partition that the caller may not see.
    pub(super) fn is_foreign(&self) -> bool {
        self.parameter("p").is_some_and(|name| !self.sees(name))
    }

    /// Whether the caller may see a partition.
    pub(super) fn sees(&self, partition: &str) -> bool {
        self.visibility().includes(partition)
    }

    /// Whether the caller may see more than one partition.
    pub(super) fn sees_others(&self) -> bool {
        self.named.is_none() && self.caller.only_partition().is_none()
    }

    /// Whether the caller may see the whole store.
    pub(super) fn sees_all(&self) -> bool {
        self.visibility().includes_all()
    }

    /// Whether the caller may remove what it sees.
    pub(super) fn may_forget(&self) -> bool {
        self.caller.has(Right::Forget)
    }

    /// The partition that is looked at: that of the query, else that of the scope of the request, else the
    /// only one of the caller.
    pub(super) fn partition(&self) -> Option<&str> {
        let named = self.named.as_ref().map(|named| named.scope.partition.as_str());
        self.parameter("p").or(named).or(self.caller.only_partition())
    }

    /// All that the caller may see of the partition that is looked at; `None` where it is none in particular.
    fn scopes_of_partition(&self) -> Option<Scopes> {
        let of_partition = |partition: &str| Scopes::Partition(partition.to_owned());
        let named = self.named.as_ref().map(RequestScope::scopes);
        named.or(self.partition().map(of_partition))
    }

    /// All that the caller may see of the partition that is looked at, or of the whole store if it may see
    /// all of that.
    pub(super) fn scopes(&self) -> Scopes {
        // No partition has an empty name.
        let whole = if self.caller.sees_all() { Scopes::All } else { Scopes::Partition(String::new()) };
        self.scopes_of_partition().unwrap_or(whole)
    }

    /// The same, one by one where the caller sees some partitions of the store.
    pub(super) fn each_scopes(&self, store: &mut dyn Store) -> Result<Vec<Scopes>> {
        if self.caller.sees_all() || self.partition().is_some() {
            return Ok(vec![self.scopes()]);
        }
        let partitions: BTreeSet<String> =
            store.scopes(None)?.into_iter().map(|(scope, _)| scope.partition).collect();
        let own = partitions.into_iter().filter(|partition| self.caller.sees(partition));
        Ok(own.map(Scopes::Partition).collect())
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
        // The times of records are within its range.
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
