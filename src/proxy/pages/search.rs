//! A search, as one types: the form with its filters, and the hits with the words lit.

use super::conversations::name;
use super::message::beginning;
use super::page_request::PageRequest;
use super::shown::Shown;
use crate::error::Result;
use crate::import;
use crate::picture::{attribute, escaped};
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{Page, unexpected};
use crate::proxy::worker::SharedEmbedder;
use crate::record::{DOCUMENT, Hit, MEMORY, MESSAGE, RecordKind, Role, Scope, Scopes, StoredRecord, URI};
use crate::search::{self, Ranking, Request, Searcher};
use crate::store::{self, Select, Store};
use crate::text::{Occur, Term, counted, occurrences, quotation};
use jiff::ToSpan;
use jiff::civil::Date;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// The hits of a page, and the most that are asked for.
const LIMIT: usize = 30;
const MAX_LIMIT: usize = 300;

/// The bytes before the first word that matches, and in all of an excerpt.
const LEAD: usize = 80;
const EXCERPT: usize = 320;

/// The bytes of a text in which the words are looked for.
const SEARCHED: usize = 256 << 10;

/// The kinds of records that are found.
const KINDS: [&RecordKind; 3] = [&MESSAGE, &MEMORY, &DOCUMENT];

/// The parts of the proxy that a search needs beside the store.
pub(super) struct SearchParts {
    pub(super) config: Arc<ProxyConfig>,
    pub(super) embedder: Arc<SharedEmbedder>,
}

/// The fields of the form.
struct Filters {
    question: String,
    /// A name of `KINDS`; empty for all.
    kind: String,
    /// The program that messages were imported from; empty for any.
    source: String,
    /// Days, as they were typed; empty for none.
    from: String,
    to: String,
    by_meaning: bool,
    limit: usize,
}

/// The form, and the hits if there is a question; for the script of the page, the hits alone.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest, parts: &SearchParts) -> Result<Shown> {
    let filters = Filters::read(request);
    let scopes = request.each_scopes(store)?;
    let Results { count, list, hits } = match filters.selections(request, scopes) {
        Ok(_) if Term::parse(&filters.question).is_empty() => Results::default(),
        Ok(all) => results(store, request, &filters, &all, parts)?,
        Err(error) => {
            let list = format!("<p role=\"alert\">{}</p>\n", escaped(&error.to_string()));
            Results { list, ..Results::default() }
        }
    };
    let found = hits.iter().map(|hit| &hit.record);
    if request.parameter("part").is_some() {
        return Ok(Shown::Part(format!("<p>{count}</p>\n{list}")).of(found));
    }
    let body = format!(
        "<h1>Search</h1>\n{}<p class=\"meta\" id=\"count\" role=\"status\">{count}</p>\n\
         <section id=\"results\" aria-label=\"Results\">\n{list}</section>\n",
        filters.form(request)
    );
    let title = if filters.question.is_empty() { "Search" } else { &filters.question };
    Ok(Shown::page(title, body).of(found))
}

impl Filters {
    fn read(request: &PageRequest) -> Filters {
        let is_known = |name: &str| KINDS.iter().any(|kind| kind.name == name);
        let text = |name| request.parameter(name).unwrap_or_default().to_owned();
        Filters {
            question: text("q"),
            // A kind that there is not, as of another release, is all of them.
            kind: Some(text("kind")).filter(|kind| is_known(kind)).unwrap_or_default(),
            source: text("source").trim().to_lowercase(),
            from: text("from"),
            to: text("to"),
            by_meaning: request.parameter("meaning").is_some(),
            limit: request.number("n").clamp(LIMIT, MAX_LIMIT),
        }
    }

    /// The records to search, by their scopes. Errors if a day cannot be read.
    fn selections(&self, request: &PageRequest, scopes: Vec<Scopes>) -> Result<Vec<Select>> {
        let kinds: Vec<&RecordKind> =
            KINDS.into_iter().filter(|kind| self.kind.is_empty() || kind.name == self.kind).collect();
        let start = |name: &str, text: &str, days: i64| {
            let day: Option<Date> = text.parse().ok();
            let day = day.and_then(|day| day.checked_add(days.days()).ok());
            let day = day.and_then(|day| day.to_zoned(request.zone.clone()).ok());
            let none = || unexpected(name, "a day such as 2026-11-21", text);
            day.map(|day| day.timestamp().as_millisecond()).ok_or_else(none)
        };
        let when = |name, text: &str, days| {
            if text.is_empty() { Ok(None) } else { start(name, text, days).map(Some) }
        };
        let (since, until) = (when("from", &self.from, 0)?, when("to", &self.to, 1)?.map(|end| end - 1));
        let of = |scopes| Select { since, until, ..Select::records(kinds.clone(), scopes) };
        Ok(scopes.into_iter().map(of).collect())
    }

    /// Whether a record is from the program that was named.
    fn admits(&self, record: &StoredRecord) -> bool {
        self.source.is_empty()
            || record.kind == &MESSAGE && record.member_text("source").to_lowercase() == self.source
    }

    fn form(&self, request: &PageRequest) -> String {
        let everywhere = if request.sees_others() && request.partition().is_some() {
            let address = request.link_in("", Page::Search, &[("q", &self.question)]);
            format!("<a href=\"{}\">Search all partitions</a>", escaped(&address))
        } else {
            String::new()
        };
        let kinds: String = [("", "all")]
            .into_iter()
            .chain(KINDS.map(|kind| (kind.name, kind.name)))
            .map(|(value, shown)| {
                let chosen = if value == self.kind { " selected" } else { "" };
                format!("<option value=\"{value}\"{chosen}>{shown}</option>")
            })
            .collect();
        let programs: String = import::formats()
            .iter()
            .map(|format| format!("<option value=\"{}\">", escaped(format.name)))
            .collect();
        let partition = match request.partition() {
            Some(name) => format!("<input type=\"hidden\" name=\"p\" value=\"{}\">", attribute(name)),
            None => String::new(),
        };
        let checked = if self.by_meaning { " checked" } else { "" };
        format!(
            "<form role=\"search\" id=\"search\" action=\"{}\">{partition}\n\
             <label class=\"words\">Words <input type=\"search\" name=\"q\" id=\"q\" value=\"{}\" autofocus></label>\n\
             <label>Kind <select name=\"kind\">{kinds}</select></label>\n\
             <label>Program <input name=\"source\" value=\"{}\" list=\"programs\" size=\"12\"></label>\n\
             <datalist id=\"programs\">{programs}</datalist>\n\
             <label>From <input type=\"date\" name=\"from\" value=\"{}\"></label>\n\
             <label>To <input type=\"date\" name=\"to\" value=\"{}\"></label>\n\
             <label class=\"check\"><input type=\"checkbox\" name=\"meaning\" value=\"1\"{checked}> by meaning too</label>\n\
             <button>Search</button> {everywhere}\n</form>\n",
            escaped(&request.path(Page::Search)),
            attribute(&self.question),
            attribute(&self.source),
            attribute(&self.from),
            attribute(&self.to),
        )
    }
}

/// The results of a search.
#[derive(Default)]
struct Results {
    /// How many hits there are, in words.
    count: String,
    /// The hits as a list, or a sentence where there is none.
    list: String,
    hits: Vec<Hit>,
}

/// Searches, and lists the hits.
fn results(
    store: &mut dyn Store,
    request: &PageRequest,
    filters: &Filters,
    all: &[Select],
    parts: &SearchParts,
) -> Result<Results> {
    let ProxyConfig { settings, diagnostics, clock, .. } = &*parts.config;
    let admits = |hit: &Hit| filters.admits(&hit.record);
    let embedder =
        filters.by_meaning.then(|| parts.embedder.follow(store).and_then(|()| parts.embedder.get()));
    let mut searcher = Searcher::new(settings, diagnostics).with_embedder(embedder).without_catch_up();
    let (mut hits, mut by_title) = (Vec::new(), Vec::new());
    let finds_titles = filters.source.is_empty() && filters.kind.is_empty();
    for which in all {
        let mut search = Request::new(&*filters.question, which.clone(), filters.limit);
        search.options.admits = &admits;
        search.options.clock = *clock;
        if filters.by_meaning {
            (search.ranking, search.fallback) = (Some(Ranking::Auto), Some(Occur::Any));
        }
        hits.extend(searcher.run(store, &search)?.hits);
        if finds_titles {
            by_title.extend(search::title_hits(store, &filters.question, which, &BTreeSet::new())?);
        }
    }
    if all.len() > 1 {
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(filters.limit);
    }
    let known: BTreeSet<Scope> = hits.iter().map(|hit| hit.record.scope.clone()).collect();
    let mut titles = store::titles(store, &known)?;
    titles
        .extend(by_title.iter().map(|hit| (hit.record.scope.clone(), hit.record.shown_text().into_owned())));
    let terms = Term::parse(&filters.question);
    let count = counted((hits.len() + by_title.len()) as u64, "hit");
    let or_more = if hits.len() == filters.limit { ", and there may be more" } else { "" };
    let count = format!("{count}{or_more}");
    if hits.is_empty() && by_title.is_empty() {
        let list = "<p>Nothing has all of these words. Try fewer of them, or by meaning too.</p>\n";
        return Ok(Results { count, list: list.to_owned(), hits });
    }
    let mut out = "<ol class=\"hits\">\n".to_owned();
    for hit in by_title.iter().chain(&hits) {
        out.push_str(&entry(request, hit, &terms, &titles));
    }
    out.push_str("</ol>\n");
    if hits.len() == filters.limit && filters.limit < MAX_LIMIT {
        out.push_str(&more(request, filters));
    }
    Ok(Results { count, list: out, hits: by_title.into_iter().chain(hits).collect() })
}

/// The way to more hits of the same search.
fn more(request: &PageRequest, filters: &Filters) -> String {
    let limit = (filters.limit * 3).min(MAX_LIMIT).to_string();
    let meaning = if filters.by_meaning { "1" } else { "" };
    let address = request.link(
        Page::Search,
        &[
            ("q", &filters.question),
            ("kind", &filters.kind),
            ("source", &filters.source),
            ("from", &filters.from),
            ("to", &filters.to),
            ("meaning", meaning),
            ("n", &limit),
        ],
    );
    format!("<nav aria-label=\"More\" class=\"more\"><a href=\"{}\">More hits</a></nav>\n", escaped(&address))
}

/// A hit: where it is from, and its text around the words.
fn entry(request: &PageRequest, hit: &Hit, terms: &[Term], titles: &BTreeMap<Scope, String>) -> String {
    let record = &hit.record;
    let Scope { partition, instance } = &record.scope;
    let address = match record.kind {
        kind if kind == &MESSAGE => request.place(&record.scope, &record.id),
        kind if kind == &MEMORY => request.link_in(partition, Page::Record, &[("id", &record.id)]),
        kind if kind == &DOCUMENT => {
            request.link_in(partition, Page::Documents, &[("uri", &record.member_text(URI))])
        }
        _ => request.link_in(partition, Page::Conversation, &[("i", instance)]),
    };
    let title = match record.kind {
        kind if kind == &MEMORY => record.member_text("title"),
        kind if kind == &DOCUMENT => record.member_text(URI),
        _ => name(&record.scope, titles.get(&record.scope).map(String::as_str)),
    };
    let who = record.role.map_or(record.kind.name, Role::name);
    let newer = match hit.why.newer.first() {
        Some(newer) if newer.is_correction() => " · corrected",
        Some(_) => " · superseded",
        None => "",
    };
    let in_partition = if request.partition().is_none() {
        format!(" · <span dir=\"auto\">{}</span>", escaped(partition))
    } else {
        String::new()
    };
    let text = quoted(hit);
    format!(
        "<li><a class=\"hit\" href=\"{}\"><strong dir=\"auto\">{}</strong> \
         <span class=\"meta\">{who}{newer}{in_partition} {}</span>\
         <span class=\"excerpt\" dir=\"auto\">{}</span></a></li>\n",
        escaped(&address),
        lit(&title, terms),
        request.time(record.timestamp),
        excerpt(&text, terms),
    )
}

/// The text of a hit, of a long one what is quoted.
fn quoted(hit: &Hit) -> Cow<'_, str> {
    let ranges = hit.why.quoted.as_deref();
    let quoted = ranges.and_then(|ranges| quotation(&hit.record.text, ranges));
    quoted.map_or_else(|| hit.record.shown_text(), Cow::Owned)
}

/// The part of a text around the first word that matches, in which all that match are marked.
fn excerpt(text: &str, terms: &[Term]) -> String {
    let text = beginning(text, SEARCHED);
    let first = occurrences(terms, text).first().map_or(0, |found| found.start);
    let start = if first > LEAD { text.ceil_char_boundary(first - LEAD) } else { 0 };
    // It begins with a whole word, if there is one before the first that matches.
    let word = text[start..first].find(char::is_whitespace).filter(|_| start > 0);
    let start = start + word.unwrap_or_default();
    let part = &text[start..];
    let part = beginning(part, EXCERPT);
    let before = if start > 0 { "…" } else { "" };
    let after = if start + part.len() < text.len() { "…" } else { "" };
    format!("{before}{}{after}", lit(part, terms))
}

/// A text in markup, in which the words that match are marked.
fn lit(text: &str, terms: &[Term]) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for Range { start, end } in occurrences(terms, text) {
        let _ = write!(out, "{}<mark>{}</mark>", escaped(&text[done..start]), escaped(&text[start..end]));
        done = end;
    }
    out + &escaped(&text[done..])
}
