//! `GET …/command/search/{n}` and `GET …/command/view/{n}`: the output of rsv-search and rsv-view for a scope, as one
//! JSON array.

use super::config::ProxyConfig;
use super::http::{Command, HttpResponse, parameter, parameters, response};
use super::worker::{BlockingPool, Foreground, SharedEmbedder, StorePool};
use crate::backfill;
use crate::error::{Error, Result};
use crate::memory::PriorRule;
use crate::record::{Address, Hit, Object, Role, Scope, Scopes, StoredRecord};
use crate::search::tree::{self, TreeQuery};
use crate::search::{self, By, CatchUp, LinkNewest, MemoryRule, Options};
use crate::store::{Select, Store};
use crate::text::Term;
use hyper::StatusCode;
use std::sync::Arc;

/// The query of a search.
struct SearchQuery {
    term: String,
    semantic: bool,
    hybrid: bool,
    /// The addresses at and below which documents and memories are searched instead of messages.
    targets: Vec<Address>,
    options: Options<'static>,
}

impl SearchQuery {
    /// Parses the part of an address after the question mark, for a partition. Errors begin with the parameter at fault.
    fn parse(query: &str, limit: usize, partition: &str) -> Result<SearchQuery> {
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
        let targets = parameters(query, "target").map(|target| Address::locate(&target?, partition));
        let targets: Result<Vec<Address>> = targets.collect();
        let targets = targets.map_err(|error| error.at("target"))?;
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
        Ok(SearchQuery { term, semantic, hybrid, targets, options })
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
        let which = Select::messages(Scopes::One(scope.clone()));
        let found = match command {
            Command::View => self.view(&which, count),
            Command::Search => match SearchQuery::parse(query, count, &scope.partition) {
                Ok(query) if query.targets.is_empty() => self.search(&which, &query),
                Ok(query) => self.search_tree(&scope.partition, &which, &query),
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

    /// The documents and memories below the targets, best first, as JSON: by meaning where that is asked for or a model is
    /// there, else by any word.
    fn search_tree(&self, partition: &str, which: &Select, query: &SearchQuery) -> Result<Vec<String>> {
        let mut store = self.stores.open_to_read()?;
        let ProxyConfig { settings, diagnostics, .. } = &*self.config;
        let asked = TreeQuery {
            partition,
            targets: &query.targets,
            kinds: &[],
            filter: which,
            questions: std::slice::from_ref(&query.term),
            context: None,
            method: tree::Method::default(),
            memories: MemoryRule { prior: PriorRule::from_settings(settings), min_confidence: None },
        };
        self.embedder.follow(&mut *store)?;
        let mut hits = match self.embedder.get() {
            Ok(mut embedder) => {
                let catch_up = Some(CatchUp { limit: backfill::catch_up_limit(settings), diagnostics });
                let mut by = if query.semantic {
                    By::Meaning(&mut embedder, catch_up)
                } else {
                    By::Both(&mut embedder, catch_up)
                };
                tree::run(&mut *store, &mut by, &asked, &query.options)?.hits
            }
            Err(error) if query.semantic || query.hybrid => return Err(error),
            Err(_) => tree::run(&mut *store, &mut By::Any, &asked, &query.options)?.hits,
        };
        if query.options.link {
            hits = tree::with_linked(&mut *store, hits, partition, &query.options)?;
        }
        tree_entries(&mut *store, asked.questions, hits)
    }
}

/// Hits in the tree with all of their members, and after them their score.
fn tree_entries(store: &mut dyn Store, questions: &[String], mut hits: Vec<Hit>) -> Result<Vec<String>> {
    tree::describe(store, questions, &mut hits)?;
    let entry = |hit: Hit| {
        let mut json = Vec::new();
        tree::at_level(hit.record, None, false).write(&mut json);
        let mut entry = Object::parse_bytes(&json)?;
        entry.set("score", hit.score.to_string());
        Ok(entry.to_json())
    };
    hits.into_iter().map(entry).collect()
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
            SearchQuery::parse("x=1&term=green+tea%3D%C3%A9%2B&hybrid=1&deduplicate=true", 3, "p").unwrap();
        assert_eq!((query.term.as_str(), query.semantic, query.hybrid), ("green tea=é+", false, true));
        assert_eq!((query.options.limit, query.options.deduplicate), (3, true));
        let query = SearchQuery::parse("term=x&target=viking://~/memories&target=viking%3A%2F%2Fa", 3, "p");
        let targets = query.unwrap().targets;
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
            assert_eq!(SearchQuery::parse(query, 5, "p").err().unwrap().to_string(), error, "{query}");
        }
    }
}
