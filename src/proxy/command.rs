//! `GET …/command/search/{n}` and `GET …/command/view/{n}`: the output of rsv-search and rsv-view for a
//! scope, as one JSON array.

use super::config::ProxyConfig;
use super::http::{Command, HttpFault, HttpResponse, parameter, parameters, response};
use super::worker::{BlockingPool, Foreground, SharedEmbedder, StorePool};
use crate::error::Result;
use crate::record::{
    Address, Hit, MESSAGE, Object, RequestScope, Role, StoredRecord, TouchedRecords, empty, invalid,
};
use crate::search::{Ranking, Request, Searcher};
use crate::store::Select;
use crate::text::Term;
use hyper::StatusCode;
use std::sync::Arc;

/// The search that the part of an address after the question mark asks for, of at most `limit` messages of a
/// scope; with targets, of documents and memories. Errors begin with the parameter at fault.
fn parse(query: &str, named: &RequestScope, limit: usize) -> Result<Request<'static>> {
    let flag = |name| match parameter(query, name)?.as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => Err(invalid(name, "expected true or false")),
    };
    let term = parameter(query, "term")?.ok_or(HttpFault::NoParameter { name: "term" })?;
    let ranking = match (flag("semantic")?, flag("hybrid")?) {
        (true, true) => return Err(invalid("semantic", "cannot be used with hybrid")),
        (true, false) => Some(Ranking::Semantic),
        (false, true) => Some(Ranking::Hybrid),
        (false, false) => None,
    };
    if Term::parse(&term).is_empty() {
        return Err(empty("term"));
    }
    let targets = parameters(query, "target").map(|target| Address::locate(&target?, &named.scope.partition));
    let targets: Result<Vec<Address>> = targets.collect();
    let targets = targets.map_err(|error| error.at("target"))?;
    let kinds = if targets.is_empty() { vec![&MESSAGE] } else { Vec::new() };
    let which = Select::records(kinds, named.scopes());
    let mut request = Request { ranking, targets, ..Request::new(term, which, limit) };
    (request.options.deduplicate, request.options.link) = (flag("deduplicate")?, flag("link")?);
    Ok(request)
}

/// The records that a command found, each as JSON.
struct Found {
    entries: Vec<String>,
    records: TouchedRecords,
}

/// Answers commands.
pub(super) struct CommandApi {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    embedder: Arc<SharedEmbedder>,
}

impl CommandApi {
    /// Answers from the store, by meaning too.
    pub(super) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        stores: &Arc<StorePool>,
        embedder: &Arc<SharedEmbedder>,
    ) -> CommandApi {
        CommandApi {
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            embedder: embedder.clone(),
        }
    }

    /// Runs a command, which returns at most `count` messages of a scope, on a thread that may block.
    pub(super) async fn run(
        self: &Arc<CommandApi>,
        scope: RequestScope,
        command: Command,
        count: usize,
        query: &str,
    ) -> HttpResponse {
        let (api, query) = (self.clone(), query.to_owned());
        let work = move || api.run_blocking(scope, command, count, &query);
        self.blocking.spawn(work).await.unwrap_or_else(|_| response::cut_short())
    }

    fn run_blocking(&self, scope: RequestScope, command: Command, count: usize, query: &str) -> HttpResponse {
        let _active = self.foreground.enter();
        let found = match command {
            Command::View => self.view(&scope, count),
            Command::Search => match parse(query, &scope, count) {
                Ok(request) => self.search(&request),
                Err(error) => return response::bad_request(error),
            },
        };
        match found {
            Ok(Found { entries, records }) => {
                let answer = response::json(StatusCode::OK, format!("[{}]\n", entries.join(",")));
                response::touching(answer, records)
            }
            Err(error) => response::unavailable("unavailable", &error),
        }
    }

    /// The last messages, oldest first, as JSON.
    fn view(&self, scope: &RequestScope, count: usize) -> Result<Found> {
        let which = Select::messages(scope.scopes());
        let messages = self.stores.open_to_read()?.last_of(&which, count)?;
        Ok(Found {
            records: TouchedRecords::of(messages.iter().map(|message| message.id.as_str())),
            entries: messages.iter().map(|message| entry(message).to_json()).collect(),
        })
    }

    /// The hits, best first, as JSON: those in the tree with all of their members, and after them their
    /// score.
    fn search(&self, request: &Request) -> Result<Found> {
        let mut store = self.stores.open_to_read()?;
        let ProxyConfig { settings, diagnostics, .. } = &*self.config;
        let embedder = request
            .is_by_meaning()
            .then(|| self.embedder.follow(&mut *store).and_then(|()| self.embedder.get()));
        let mut searcher = Searcher::new(settings, diagnostics).with_embedder(embedder).without_catch_up();
        let mut hits = searcher.run(&mut *store, request)?.hits;
        request.describe(&mut *store, &mut hits, None, false)?;
        let records = TouchedRecords::of(hits.iter().map(|hit| hit.record.id.as_str()));
        let entry = |hit: Hit| {
            let mut entry = if request.is_in_tree() {
                let mut json = Vec::new();
                hit.record.write(&mut json);
                Object::parse_bytes(&json)?
            } else {
                entry(&hit.record)
            };
            entry.set("score", hit.score.to_string());
            Ok(entry.to_json())
        };
        Ok(Found { entries: hits.into_iter().map(entry).collect::<Result<_>>()?, records })
    }
}

/// A message with the members that clients of Reservoir know, and after them those that identify it.
fn entry(message: &StoredRecord) -> Object {
    let mut entry = Object::default();
    entry.set_text("role", message.role.map_or("", Role::name));
    entry.set("content", message.content_json());
    entry.set_text("id", &message.id);
    entry.set_text("trace_id", &message.trace_id);
    entry.set("timestamp", message.timestamp.to_string());
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_command_are_read() {
        let parse = |query: &str, limit| parse(query, &RequestScope::named(Some("p"), None).unwrap(), limit);
        let request = parse("x=1&term=green+tea%3D%C3%A9%2B&hybrid=1&deduplicate=true", 3).unwrap();
        assert_eq!(
            (&request.questions[..], request.ranking),
            (&["green tea=é+".to_owned()][..], Some(Ranking::Hybrid))
        );
        assert_eq!((request.options.limit, request.options.deduplicate), (3, true));
        let targets = parse("term=x&target=viking://~/memories&target=viking%3A%2F%2Fa", 3).unwrap().targets;
        let targets: Vec<&str> = targets.iter().map(Address::as_str).collect();
        assert_eq!(targets, ["viking://user/p/memories", "viking://a"]);
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
            ("term=x&target=a", "target: expected an address such as viking://resources/notes"),
        ] {
            assert_eq!(parse(query, 5).err().unwrap().to_string(), error, "{query}");
        }
    }
}
