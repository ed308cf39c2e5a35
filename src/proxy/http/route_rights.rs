//! The methods that routes have, and the rights that they need of a caller.

use super::page_route::Page;
use super::route::Route;
use crate::access::Right;
use hyper::Method;
use percent_encoding::percent_decode_str;

/// The routes of providers that keep nothing which another caller could see, beside those that the proxy
/// answers: the paths after `/v1/`.
const STATELESS: [&str; 13] = [
    "audio/speech",
    "audio/transcriptions",
    "audio/translations",
    "completions",
    "fim/completions",
    "images/edits",
    "images/generations",
    "images/variations",
    "messages/count_tokens",
    "moderations",
    "rerank",
    "responses/compact",
    "responses/input_tokens",
];

/// The same of Ollama's that are asked by GET, and by POST: the paths after `/api/`.
const OLLAMA_READS: [&str; 2] = ["tags", "version"];
const OLLAMA_CALLS: [&str; 3] = ["embed", "embeddings", "show"];

impl Route {
    /// The methods of the route, if this is none of them. The routes that are relayed, and pages, decide that
    /// themselves.
    pub(in crate::proxy) fn refuses(&self, method: &Method) -> Option<&'static str> {
        let allowed = match self {
            Route::Chat | Route::Messages | Route::Responses | Route::Embeddings => "POST",
            Route::OllamaChat | Route::OllamaGenerate => "POST",
            Route::AiChat { .. } | Route::Commit(_) | Route::Upload => "POST",
            Route::Session(_) | Route::Document(_) => "GET, HEAD, DELETE",
            Route::Sessions | Route::Documents | Route::Command(..) | Route::Models => "GET, HEAD",
            Route::ChatPage | Route::Health | Route::Metrics | Route::Root => "GET, HEAD",
            Route::Mcp | Route::Other(_) | Route::Ollama(_) | Route::Page(_) | Route::Unknown => return None,
        };
        allowed.split(", ").all(|name| name != method.as_str()).then_some(allowed)
    }

    /// The right that a caller needs, beside being admitted; `None` if that is enough. The mode of a turn
    /// limits its recall and its storing, and the tools that are offered limit the Model Context Protocol.
    pub(in crate::proxy) fn right(&self, method: &Method) -> Option<Right> {
        let reads = [Method::GET, Method::HEAD].contains(method);
        let needs = |right, is_free: bool| if is_free { None } else { Some(right) };
        match self {
            Route::Command(..) => Some(Right::Read),
            Route::Sessions | Route::Session(_) | Route::Documents | Route::Document(_) => {
                Some(if reads { Right::Read } else { Right::Forget })
            }
            Route::Upload | Route::Commit(_) | Route::AiChat { .. } => Some(Right::Write),
            Route::Page(Page::LogIn | Page::LogOut) => None,
            Route::Page(Page::Forget) => Some(Right::Forget),
            Route::Page(_) => Some(Right::Read),
            Route::Metrics => Some(Right::Admin),
            Route::Other(name) => needs(Right::Admin, is_stateless(name, method)),
            Route::Ollama(name) => {
                let free: &[&str] = if reads { &OLLAMA_READS } else { &OLLAMA_CALLS };
                needs(Right::Admin, (reads || method == Method::POST) && free.contains(&name.as_str()))
            }
            Route::Chat
            | Route::Messages
            | Route::Responses
            | Route::Embeddings
            | Route::Models
            | Route::OllamaChat
            | Route::OllamaGenerate
            | Route::ChatPage
            | Route::Mcp
            | Route::Health
            | Route::Root
            | Route::Unknown => None,
        }
    }
}

/// Whether a request to a provider reaches nothing that another caller may have left there.
fn is_stateless(name: &str, method: &Method) -> bool {
    // The name of a model may have slashes; none may lead elsewhere.
    let is_model = |model: &str| !percent_decode_str(model).decode_utf8_lossy().contains("..");
    match *method {
        Method::GET | Method::HEAD => name.strip_prefix("models/").is_some_and(is_model),
        Method::POST => STATELESS.contains(&name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_left_at_a_provider_needs_the_right_of_an_administrator() {
        let right = |method: Method, path: &str| Route::parse(path).unwrap().1.right(&method);
        for (method, path) in [
            (Method::GET, "/v1/files"),
            (Method::GET, "/v1/responses/resp_1"),
            (Method::POST, "/v1/batches"),
            (Method::DELETE, "/v1/models/ft:x"),
            (Method::GET, "/v1/models/..%2Ffiles"),
            (Method::GET, "/v1/chat/completions/p/i/x"),
            (Method::GET, "/api/ps"),
            (Method::POST, "/api/pull"),
            (Method::DELETE, "/api/delete"),
            (Method::GET, "/metrics"),
        ] {
            let unknown = path.contains("chat/completions");
            let wanted = if unknown { None } else { Some(Right::Admin) };
            assert_eq!(right(method, path), wanted, "{path}");
        }
        for (method, path) in [
            (Method::GET, "/v1/models/org%2Fname"),
            (Method::POST, "/v1/audio/speech"),
            (Method::POST, "/v1/messages/count_tokens"),
            (Method::GET, "/api/tags"),
            (Method::POST, "/api/show"),
        ] {
            assert_eq!(right(method, path), None, "{path}");
        }
    }
}
