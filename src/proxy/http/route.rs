//! Parses the path of a request, in the shapes that Reservoir's documents and its program have. Every route
//! may follow a scope's prefix, since clients keep the path of their base address.
//!
//! By hand rather than by axum's table of routes: a relayed path keeps its escapes, a path with dot segments
//! reaches no provider, and the right that a request needs, its row in the audit and the shape of its errors
//! follow from its route before it is answered, even if it is refused.

use super::error::unexpected;
use super::page_route::Page;
use super::query_parameters::decoded;
use crate::error::Result;
use crate::record::RequestScope;

/// The number of messages that a command returns by default.
const DEFAULT_COUNT: usize = 5;

/// The segments by which one path means another.
const DOT_SEGMENTS: [&str; 6] = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"];

/// The first segments of the chat backend's routes, after `api`.
const BACKEND_PARTS: [&str; 3] = ["ai", "sessions", "documents"];

/// A command of Reservoir's program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::proxy) enum Command {
    Search,
    View,
}

impl Command {
    /// The command of a name in a path.
    fn named(name: &str) -> Option<Command> {
        match name {
            "search" => Some(Command::Search),
            "view" => Some(Command::View),
            _ => None,
        }
    }
}

/// The route of a path.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::proxy) enum Route {
    /// A chat completion.
    Chat,
    /// A message in Anthropic's API, or a response in OpenAI's newer one.
    Messages,
    Responses,
    /// A command, and the greatest number of messages that it returns.
    Command(Command, usize),
    /// Vectors, which are the same in every scope.
    Embeddings,
    /// The models of all providers.
    Models,
    /// Any other route of OpenAI's: the path after `/v1/`.
    Other(String),
    /// A conversation in Ollama's format.
    OllamaChat,
    /// A prompt in Ollama's format.
    OllamaGenerate,
    /// Any other route of Ollama's: the path after `/api/`.
    Ollama(String),
    /// A turn of the chat backend, streamed or whole.
    AiChat {
        streams: bool,
    },
    /// The sessions of a user, one of them, or its commit.
    Sessions,
    Session(String),
    Commit(String),
    /// The documents of a user, one of them, or the upload of a file.
    Documents,
    Document(String),
    Upload,
    /// The page for the chat backend.
    ChatPage,
    /// A page of the memory, which people look at.
    Page(Page),
    /// The Model Context Protocol.
    Mcp,
    Health,
    Metrics,
    /// The root, which clients probe.
    Root,
    Unknown,
}

impl Route {
    /// Parses a path into the scope that it names, if it names one, and its route. Errors if a name in it is
    /// empty or is not UTF-8, or a count is not a number.
    pub(in crate::proxy) fn parse(path: &str) -> Result<(Option<RequestScope>, Route)> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let parts = if parts == [""] { &[][..] } else { &parts[..] };
        // A provider would take a path with `.`, `..` or `\` in it for another path.
        let is_ambiguous = |part: &&str| {
            part.contains('\\') || DOT_SEGMENTS.iter().any(|dots| part.eq_ignore_ascii_case(dots))
        };
        if parts.iter().any(is_ambiguous) {
            return Ok((None, Route::Unknown));
        }
        let (before, rest) = without_version(parts);
        let (scope, rest) = scope(rest)?;
        // Some clients append another `v1` to the address that they were given.
        let is_repeated = before && scope.is_none();
        let (after, rest) = if is_repeated { (false, rest) } else { without_version(rest) };
        let rest_of = |parts: &[&str]| parts.join("/");
        let route = match (before || after, rest) {
            (_, []) => Route::Root,
            (_, ["command", name, count @ ..]) if count.len() < 2 => command(name, count.first())?,
            (true, ["chat", "completions"]) => Route::Chat,
            (true, ["chat", "completions", partition, instance]) if scope.is_none() => {
                return Ok((Some(named(partition, Some(instance))?), Route::Chat));
            }
            (true, ["chat", "completions", ..]) => Route::Unknown,
            (true, ["messages"]) => Route::Messages,
            (true, ["responses"]) => Route::Responses,
            (true, ["embeddings"]) => Route::Embeddings,
            (true, ["models"]) => Route::Models,
            (true, ["v1" | "partition" | "command", ..]) => Route::Unknown,
            (true, other) => Route::Other(rest_of(other)),
            (false, ["health"]) => Route::Health,
            (false, ["metrics"]) => Route::Metrics,
            (false, ["mcp"]) => Route::Mcp,
            (false, ["chat"]) => Route::ChatPage,
            (false, ["memory", page @ ..]) => Page::parse(page).map_or(Route::Unknown, Route::Page),
            (false, ["api", part, ..]) if BACKEND_PARTS.contains(part) => backend(&rest[1..])?,
            (false, ["api", "chat"]) => Route::OllamaChat,
            (false, ["api", "generate"]) => Route::OllamaGenerate,
            (false, ["api", other @ ..]) if !other.is_empty() => Route::Ollama(rest_of(other)),
            (false, _) => Route::Unknown,
        };
        Ok((scope, route))
    }

    /// Whether this is a route of the chat backend, which is for a user.
    pub(in crate::proxy) fn is_backend(&self) -> bool {
        matches!(self, Route::AiChat { .. } | Route::Sessions | Route::Session(_) | Route::Commit(_))
            || matches!(self, Route::Documents | Route::Document(_) | Route::Upload)
    }

    /// Whether this is a route of Anthropic's.
    pub(in crate::proxy) fn is_anthropic(&self) -> bool {
        match self {
            Route::Messages => true,
            Route::Other(name) => name.starts_with("messages/"),
            _ => false,
        }
    }

    /// Whether this is a route of Ollama's, whose errors are texts.
    pub(in crate::proxy) fn is_ollama(&self) -> bool {
        matches!(self, Route::OllamaChat | Route::OllamaGenerate | Route::Ollama(_))
    }

    /// Whether a path is in Ollama's part of the proxy, even if it is no route.
    pub(in crate::proxy) fn is_ollama_path(path: &str) -> bool {
        let mut parts = path.split('/').skip_while(|part| !["api", "v1"].contains(part));
        let is_api = parts.next() == Some("api");
        let is_backend = parts.clone().next().is_some_and(|part| BACKEND_PARTS.contains(&part));
        is_api && !is_backend && !parts.any(|part| ["api", "v1"].contains(&part))
    }
}

/// A route of the chat backend, without `api`.
fn backend(parts: &[&str]) -> Result<Route> {
    Ok(match parts {
        ["ai", "chat"] => Route::AiChat { streams: false },
        ["ai", "chat", "stream"] => Route::AiChat { streams: true },
        ["sessions"] => Route::Sessions,
        ["sessions", session] => Route::Session(decoded("session", session)?),
        ["sessions", session, "commit"] => Route::Commit(decoded("session", session)?),
        ["documents"] => Route::Documents,
        ["documents", "upload"] => Route::Upload,
        ["documents", document] => Route::Document(decoded("document", document)?),
        _ => Route::Unknown,
    })
}

/// The route of a command, with the count that may follow its name.
fn command(name: &str, count: Option<&&str>) -> Result<Route> {
    let Some(command) = Command::named(name) else { return Ok(Route::Unknown) };
    let count = count
        .map_or(Ok(DEFAULT_COUNT), |count| count.parse().map_err(|_| unexpected(name, "a count", count)));
    Ok(Route::Command(command, count?))
}

/// Whether the first segment is `v1`, and the segments after it.
fn without_version<'a, 'b>(parts: &'a [&'b str]) -> (bool, &'a [&'b str]) {
    match parts {
        ["v1", rest @ ..] => (true, rest),
        _ => (false, parts),
    }
}

/// The scope that the first segments name, if they do, and the segments after it.
fn scope<'a, 'b>(parts: &'a [&'b str]) -> Result<(Option<RequestScope>, &'a [&'b str])> {
    Ok(match parts {
        ["partition", partition, "instance", instance, rest @ ..] => {
            (Some(named(partition, Some(instance))?), rest)
        }
        ["partition", partition, rest @ ..] => (Some(named(partition, None)?), rest),
        _ => (None, parts),
    })
}

fn named(partition: &str, instance: Option<&str>) -> Result<RequestScope> {
    let partition = decoded("partition", partition)?;
    let instance = instance.map(|name| decoded("instance", name)).transpose()?;
    RequestScope::named(Some(&partition), instance.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Reach, Scope};

    fn scope(partition: &str, instance: &str) -> Option<RequestScope> {
        let scope = Scope { partition: partition.into(), instance: instance.into() };
        let reach = if instance == partition { Reach::Partition } else { Reach::Instance };
        Some(RequestScope { scope, reach })
    }

    #[test]
    fn every_shape_of_the_documents_is_known() {
        for (path, named) in [
            ("/v1/chat/completions", None),
            ("/v1/chat/completions/", None),
            ("/v1/chat/completions/p/i", scope("p", "i")),
            ("/v1/chat/completions/command/view", scope("command", "view")),
            ("/v1/partition/p/chat/completions", scope("p", "p")),
            ("/v1/partition/p/instance/i/chat/completions", scope("p", "i")),
            ("/v1/partition/command/instance/view/chat/completions", scope("command", "view")),
            ("/partition/p/v1/chat/completions", scope("p", "p")),
            ("/partition/p/instance/i/v1/chat/completions", scope("p", "i")),
            ("/v1/partition/p/instance/i/v1/chat/completions", scope("p", "i")),
            ("/partition/a%2Fb%27/instance/%C3%A9%20x/v1/chat/completions", scope("a/b'", "é x")),
        ] {
            assert_eq!(Route::parse(path).unwrap(), (named, Route::Chat), "{path}");
        }
        for path in ["/v1/chat/completions/p", "/v1/partition/p/chat/completions/p/i", "/chat/completions"] {
            assert_eq!(Route::parse(path).unwrap().1, Route::Unknown, "{path}");
        }
    }

    #[test]
    fn every_route_stands_under_a_scope_too() {
        let prefixes =
            [("", None), ("/partition/p", scope("p", "p")), ("/partition/p/instance/i", scope("p", "i"))];
        let other = |name: &str| Route::Other(name.into());
        for (path, route) in [
            ("/", Route::Root),
            ("/v1", Route::Root),
            ("/health", Route::Health),
            ("/metrics", Route::Metrics),
            ("/v1/metrics", other("metrics")),
            ("/v1/embeddings", Route::Embeddings),
            ("/v1/models", Route::Models),
            ("/v1/models/gpt-4o", other("models/gpt-4o")),
            ("/v1/messages", Route::Messages),
            ("/v1/messages/count_tokens", other("messages/count_tokens")),
            ("/v1/responses", Route::Responses),
            ("/v1/responses/resp_1", other("responses/resp_1")),
            ("/v1/completions", other("completions")),
            ("/v1/files/a%2Fb/content", other("files/a%2Fb/content")),
            ("/api/chat", Route::OllamaChat),
            ("/api/generate", Route::OllamaGenerate),
            ("/api/tags", Route::Ollama("tags".into())),
            ("/api/ai/chat", Route::AiChat { streams: false }),
            ("/api/ai/chat/stream", Route::AiChat { streams: true }),
            ("/api/ai", Route::Unknown),
            ("/api/sessions", Route::Sessions),
            ("/api/sessions/a%2Fb", Route::Session("a/b".into())),
            ("/api/sessions/s/commit", Route::Commit("s".into())),
            ("/api/sessions/s/forget", Route::Unknown),
            ("/api/sessions/%2e%2e", Route::Unknown),
            ("/api/documents", Route::Documents),
            ("/api/documents/upload", Route::Upload),
            ("/api/documents/d", Route::Document("d".into())),
            ("/api/documents/../d", Route::Unknown),
            ("/mcp", Route::Mcp),
            ("/chat", Route::ChatPage),
            ("/memory", Route::Page(Page::Home)),
            ("/memory/search", Route::Page(Page::Search)),
            ("/memory/forget", Route::Page(Page::Forget)),
            ("/memory/nowhere", Route::Unknown),
            ("/memory/search/x", Route::Unknown),
            ("/v1/memory", other("memory")),
            ("/command/view", Route::Command(Command::View, DEFAULT_COUNT)),
            ("/v1/command/search/7", Route::Command(Command::Search, 7)),
            ("/v1/command/forget/3", Route::Unknown),
            ("/v1/files/../secret", Route::Unknown),
            ("/v1/files/%2E%2e/secret", Route::Unknown),
            ("/v1/files\\..\\..\\secret", Route::Unknown),
            ("/api/x\\..\\secret", Route::Unknown),
            ("/v1/v1/command/view", Route::Unknown),
            ("/embeddings", Route::Unknown),
            ("/api", Route::Unknown),
            ("/x", Route::Unknown),
        ] {
            for (prefix, named) in &prefixes {
                let (found, seen) = Route::parse(&format!("{prefix}{path}")).unwrap();
                assert_eq!(seen, route, "{prefix}{path}");
                assert!(seen == Route::Unknown || found == *named, "{prefix}{path}");
            }
        }
        for (path, named) in [
            ("/partition/v1/command/view", scope("v1", "v1")),
            ("/v1/partition/p/command/view", scope("p", "p")),
            ("/v1/partition/command/instance/view/command/view", scope("command", "view")),
        ] {
            assert_eq!(
                Route::parse(path).unwrap(),
                (named, Route::Command(Command::View, DEFAULT_COUNT)),
                "{path}"
            );
        }
        for path in ["/v1/command/view/-1", "/partition/%FF/v1/models", "/partition//v1/models"] {
            assert!(Route::parse(path).is_err(), "{path}");
        }
    }
}
