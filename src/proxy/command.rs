//! `GET …/command/search/{n}` and `GET …/command/view/{n}`: the output of rsv-search and rsv-view for a scope, as one
//! JSON array.

use super::blocking_pool::BlockingPool;
use super::embedder::SharedEmbedder;
use super::foreground::Foreground;
use super::proxy_config::ProxyConfig;
use super::response::{self, HttpResponse};
use super::route::Command;
use super::store_pool::StorePool;
use super::user_scope::parameter;
use crate::backfill;
use crate::error::{Error, Result};
use crate::record::{Object, Role, Scope, Scopes, StoredRecord};
use crate::search::{self, By, CatchUp, LinkNewest, Options};
use crate::store::{Select, Term};
use hyper::StatusCode;
use std::sync::Arc;

/// The query of a search.
struct SearchQuery {
    term: String,
    semantic: bool,
    hybrid: bool,
    options: Options<'static>,
}

impl SearchQuery {
    /// Parses the part of an address after the question mark. Errors begin with the parameter at fault.
    fn parse(query: &str, limit: usize) -> Result<SearchQuery> {
        let flag = |name| match parameter(query, name)?.as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Error::new(format!("{name}: expected true or false"))),
        };
        let term = parameter(query, "term")?.ok_or_else(|| Error::new("Missing 'term' query parameter"))?;
        let (semantic, hybrid) = (flag("semantic")?, flag("hybrid")?);
        if semantic && hybrid {
            return Err(Error::new("semantic: cannot be used with hybrid"));
        }
        if Term::parse(&term).is_empty() {
            return Err(Error::new("term: is empty"));
        }
        let (deduplicate, link) = (flag("deduplicate")?, flag("link")?);
        let options = Options {
            limit,
            min_score: None,
            deduplicate,
            link,
            link_newest: None,
            admits: &|_| true,
            max_fetched: usize::MAX,
        };
        Ok(SearchQuery { term, semantic, hybrid, options })
    }
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
        scope: Scope,
        command: Command,
        count: usize,
        query: &str,
    ) -> HttpResponse {
        let (api, query) = (self.clone(), query.to_owned());
        let work = move || api.run_blocking(scope, command, count, &query);
        self.blocking.spawn(work).await.unwrap_or_else(|_| response::cut_short())
    }

    fn run_blocking(&self, scope: Scope, command: Command, count: usize, query: &str) -> HttpResponse {
        let _active = self.foreground.enter();
        let which = Select::messages(Scopes::One(scope));
        let found = match command {
            Command::View => self.view(&which, count),
            Command::Search => match SearchQuery::parse(query, count) {
                Ok(query) => self.search(&which, &query),
                Err(error) => return response::bad_request(&error),
            },
        };
        match found {
            Ok(messages) => response::json(StatusCode::OK, format!("[{}]\n", messages.join(","))),
            Err(error) => response::unavailable("unavailable", &error),
        }
    }

    /// The last messages, oldest first, as JSON.
    fn view(&self, which: &Select, count: usize) -> Result<Vec<String>> {
        let messages = self.stores.open_to_read()?.last_of(which, count)?;
        Ok(messages.iter().map(|message| entry(message).to_json()).collect())
    }

    /// The hits, best first, as JSON.
    fn search(&self, which: &Select, query: &SearchQuery) -> Result<Vec<String>> {
        let mut store = self.stores.open_to_read()?;
        let ProxyConfig { settings, diagnostics, .. } = &*self.config;
        let link_newest = Some(LinkNewest { settings, diagnostics });
        let options = Options { link_newest, ..query.options.clone() };
        let hits = if query.semantic || query.hybrid {
            self.embedder.follow(&mut *store)?;
            let mut embedder = self.embedder.get()?;
            let catch_up = Some(CatchUp { limit: backfill::catch_up_limit(settings), diagnostics });
            let by = if query.hybrid {
                By::Both(&mut embedder, catch_up)
            } else {
                By::Meaning(&mut embedder, catch_up)
            };
            search::run(&mut *store, by, &query.term, which, &options)?
        } else {
            search::run(&mut *store, By::Words, &query.term, which, &options)?
        };
        let entries = hits.iter().map(|hit| {
            let mut entry = entry(&hit.record);
            entry.set("score", hit.score.to_string());
            entry.to_json()
        });
        Ok(entries.collect())
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
        let query =
            SearchQuery::parse("x=1&term=green+tea%3D%C3%A9%2B&hybrid=1&deduplicate=true", 3).unwrap();
        assert_eq!((query.term.as_str(), query.semantic, query.hybrid), ("green tea=é+", false, true));
        assert_eq!((query.options.limit, query.options.deduplicate), (3, true));
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
            assert_eq!(SearchQuery::parse(query, 5).err().unwrap().to_string(), error, "{query}");
        }
    }
}
