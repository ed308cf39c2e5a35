//! The three APIs, and the signs by which they are known.

use super::completions::Completions;
use super::dialect::Dialect;
use super::messages::Messages;
use super::responses::Responses;
use crate::record::Object;

/// The member of `rsv` that names the API of a request and of its answer; chat completions have none.
pub const API_MEMBER: &str = "api";
/// The member of `rsv` of a request that its program makes for itself, such as for a title: nothing of it is
/// stored.
pub const UNSTORED_MEMBER: &str = "unstored";
/// The member of `rsv` by which the calls of tools in an answer are stored.
pub const KEEP_TOOLS_MEMBER: &str = "keep_tools";

/// An API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// `POST /v1/chat/completions`, which Ollama and most other servers have too.
    Chat,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/responses`.
    Responses,
}

impl Api {
    /// The names of the APIs, as options and `rsv` have them.
    pub const NAMES: [&str; 3] = ["chat", "messages", "responses"];

    const ALL: [Api; 3] = [Api::Chat, Api::Messages, Api::Responses];

    pub(super) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Api::Chat => &Completions,
            Api::Messages => &Messages,
            Api::Responses => &Responses,
        }
    }

    /// The API of a name.
    pub fn named(name: &str) -> Option<Api> {
        Api::ALL.into_iter().find(|api| api.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.dialect().names().name
    }

    /// Its path after `/v1/`.
    pub fn path(self) -> &'static str {
        self.dialect().names().path
    }

    /// The API of a request: the one that its member `rsv` names, else by its shape. A request that would do
    /// for both chat completions and Messages is one for chat completions.
    pub fn of_request(body: &Object) -> Api {
        let rsv = body.valid_object("rsv");
        let named = rsv.and_then(|rsv| rsv.valid_text(API_MEMBER));
        if let Some(api) = named.as_deref().and_then(Api::named) {
            return api;
        }
        let has = |member: &str, sign: &str| {
            body.get(member)
                .is_some_and(|json| memchr::memmem::find(json.as_bytes(), sign.as_bytes()).is_some())
        };
        if !body.has("messages") {
            return if body.has("input") { Api::Responses } else { Api::Chat };
        }
        let is_messages = body.has("system")
            || body.has("anthropic_version")
            || has("tools", "\"input_schema\":")
            || ["\"type\":\"tool_result\"", "\"type\":\"tool_use\"", "\"source\":{"]
                .iter()
                .any(|sign| has("messages", sign));
        if is_messages { Api::Messages } else { Api::Chat }
    }

    /// The API of a whole answer, by its shape.
    pub fn of_answer(answer: &Object) -> Api {
        Api::ALL.into_iter().find(|api| api.dialect().is_answer(answer)).unwrap_or(Api::Chat)
    }

    /// The member of an answer that has the message: an object without it is no answer.
    pub fn answer_member(self) -> &'static str {
        self.dialect().names().answer
    }

    /// An error in the shape of this API, as a line.
    pub fn error_body(self, kind: &str, code: &str, message: &str) -> String {
        self.dialect().error_body(kind, code, message)
    }

    /// Whether an event of a stream, by its name and its data, is the one by which this API reports an error:
    /// clients understand no other.
    pub fn is_error_event(self, name: &str, event: &Object) -> bool {
        self.dialect().is_error_event(name, event)
    }

    /// The event that tells the client of a stream that its provider broke off.
    pub fn error_event(self, code: &str, message: &str) -> String {
        self.dialect().error_event("api_error", code, message)
    }
}
