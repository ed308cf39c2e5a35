//! OpenAI's chat completions: the body of a request, the answer in a response, and the member `rsv` with
//! which a turn travels from tool to tool. Members that rsv does not know are kept unchanged.

mod control_tokens;
pub mod fence;
mod growing_text;

pub use growing_text::GrowingText;

use crate::error::{Error, Result};
use crate::record::{
    ACCOUNT, Content, DraftDefaults, Object, Reach, RequestScope, Role, StoredRecord, empty, missing,
    unexpected,
};

/// A hint: the smallest valid request.
const REQUEST_HINT: &str = r#"a request has {"messages": [{"role": "user", "content": "..."}]}"#;

/// A request body and its messages.
#[derive(Clone, Debug)]
pub struct Request {
    /// Without its messages.
    body: Object,
    /// The approximate tokens outside of the messages.
    unread_tokens: usize,
    pub messages: Vec<Object>,
}

impl Request {
    /// Reads a body. Errors unless it has messages, each with a role and a valid content.
    pub fn parse(mut body: Object) -> Result<Request> {
        let messages = match body.objects("messages")? {
            Some(messages) if !messages.is_empty() => messages,
            Some(_) => return Err(empty("messages").hint(REQUEST_HINT)),
            None => return Err(missing("messages").hint(REQUEST_HINT)),
        };
        for (at, message) in messages.iter().enumerate() {
            let place = |e: Error| e.at(format_args!("messages[{at}]"));
            message.text("role").map_err(place)?.ok_or_else(|| place(missing("role")))?;
            Content::from_message(message).map_err(place)?;
        }
        // They are long, and need not be there twice.
        body.set("messages", "[]");
        Ok(Request { body, unread_tokens: 0, messages })
    }

    /// A request of these turns, and of this many tokens beside them; `body` has the other members.
    pub fn of_turns(mut body: Object, turns: Vec<Object>, unread_tokens: usize) -> Request {
        body.set("messages", "[]");
        Request { body, unread_tokens, messages: turns }
    }

    /// The requested model, if the request names one. Fails if `model` is no string.
    pub fn model(&self) -> Result<Option<String>> {
        self.body.text("model")
    }

    /// The tokens that the caller keeps free for the answer, if it sets them. Fails if the member is no whole
    /// number from 0.
    pub fn max_tokens(&self) -> Result<Option<usize>> {
        // The last is that of Responses.
        for member in ["max_completion_tokens", "max_tokens", "max_output_tokens"] {
            if let Some(tokens) = self.body.integer(member)? {
                let tokens = usize::try_from(tokens);
                return tokens.map(Some).map_err(|_| unexpected(member, "a number from 0", "a negative one"));
            }
        }
        Ok(None)
    }

    /// The approximate tokens outside of the messages.
    pub fn unread_tokens(&self) -> usize {
        self.unread_tokens
    }

    /// A member of the body other than the messages, as JSON text.
    pub fn member(&self, name: &str) -> Option<&str> {
        self.body.get(name)
    }

    /// The last message, if a user wrote it.
    pub fn user(&mut self) -> Option<&mut Object> {
        self.messages.last_mut().filter(|message| message.get("role") == Some("\"user\""))
    }

    /// The tool results since the model last spoke: the tool messages at the end.
    pub fn tools(&self) -> &[Object] {
        let others = self.messages.iter().rposition(|message| message.get("role") != Some("\"tool\""));
        &self.messages[others.map_or(0, |at| at + 1)..]
    }

    /// The position of the last user's message.
    pub fn last_user(&self) -> Option<usize> {
        self.messages.iter().rposition(is_user)
    }

    /// The first message of the user.
    pub fn first_user(&self) -> Option<&Object> {
        self.messages.iter().find(|message| is_user(message))
    }

    /// The scope that the request's own `rsv` names, if it names one. Fails if `rsv` is invalid.
    pub fn scope(&self) -> Result<Option<RequestScope>> {
        let rsv = self.body.get("rsv").map_or(Ok(Rsv::default()), Rsv::parse)?;
        if rsv.partition.is_none() && rsv.instance.is_none() {
            return Ok(None);
        }
        let named = RequestScope::named(rsv.partition.as_deref(), rsv.instance.as_deref())?;
        Ok(Some(RequestScope { reach: rsv.reach.unwrap_or(named.reach), ..named }))
    }

    /// Takes the member `rsv` off. Fails if its value is invalid.
    pub fn take_rsv(&mut self) -> Result<Rsv> {
        self.body.take("rsv").map_or(Ok(Rsv::default()), |json| Rsv::parse(&json))
    }

    /// The body with its messages and `rsv`.
    pub fn into_object(mut self, rsv: &Rsv) -> Object {
        self.body.set("messages", array(&self.messages));
        self.body.set("rsv", rsv.to_object().to_json());
        self.body
    }
}

/// Objects as a JSON array.
pub fn array(objects: &[Object]) -> String {
    let mut json = vec![b'['];
    for (at, object) in objects.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        object.write(&mut json);
    }
    json.push(b']');
    String::from_utf8(json).expect("all of it was text")
}

/// The role of a message of any client; `None` for one that rsv does not know.
pub fn role(message: &Object) -> Option<Role> {
    message.valid_text("role")?.parse().ok()
}

/// Whether a message of any client is a system message, by its old name or its new one.
pub fn is_system(message: &Object) -> bool {
    matches!(message.get("role"), Some("\"system\"" | "\"developer\""))
}

/// Whether a message of any client is the user's.
pub fn is_user(message: &Object) -> bool {
    message.get("role") == Some("\"user\"")
}

/// The text of a message of any client; empty where a provider will refuse its content.
pub fn text(message: &Object) -> String {
    Content::from_message(message).map(Content::into_text).unwrap_or_default()
}

/// The message in the first choice of a response. Errors if there is none.
pub fn answer(response: &Object) -> Result<Object> {
    let choices = response.objects("choices")?.unwrap_or_default();
    let first = choices.into_iter().next().ok_or_else(|| empty("choices"))?;
    let message = first.object("message").map_err(|e| e.at("choices[0]"))?;
    message.ok_or_else(|| missing("choices[0].message"))
}

/// Reads an account in the member `rsv`. It must be complete: nothing is filled in.
fn account(members: Object) -> Result<StoredRecord> {
    let nothing =
        DraftDefaults { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };
    (ACCOUNT.read)(members)?.complete(&nothing)
}

/// Reads a reach in the member `rsv`.
fn reach(name: &str) -> Result<Reach> {
    Reach::named(name).ok_or_else(|| unexpected("reach", "instance or partition", name))
}

/// The name in `rsv.provider` of an answer that rsv itself gives.
const OWN_PROVIDER: &str = "rsv";

/// The member that rsv adds to request and answer bodies. It never leaves the machine.
#[derive(Clone, Default, Debug)]
pub struct Rsv {
    pub partition: Option<String>,
    pub instance: Option<String>,
    /// The reach of recall, if it is not that of the names.
    pub reach: Option<Reach>,
    pub trace_id: Option<String>,
    /// The last message as the client wrote it, if it is a user's.
    pub user: Option<Object>,
    /// The tool results since the model last spoke, if they are to be stored.
    pub tools: Vec<Object>,
    /// The lines of the actions whose results came with the request, without a scope, a trace and a time.
    pub actions: Vec<Object>,
    /// The account with all its members, including unknown ones.
    pub account: Option<StoredRecord>,
    /// provider, status, latency_ms and partial, on a response.
    pub more: Object,
}

impl Rsv {
    /// Reads the member's value. Fails if it is no object, or a member has an unexpected type.
    pub fn parse(json: &str) -> Result<Rsv> {
        Rsv::read(json).map_err(|e| e.at("rsv"))
    }

    fn read(json: &str) -> Result<Rsv> {
        let mut members = Object::parse(json).map_err(|_| unexpected("value", "an object", json))?;
        let rsv = Rsv {
            partition: members.text("partition")?,
            instance: members.text("instance")?,
            reach: members.text("reach")?.map(|name| reach(&name)).transpose()?,
            trace_id: members.text("trace_id")?,
            user: members.object("user")?,
            tools: members.objects("tools")?.unwrap_or_default(),
            actions: members.objects("actions")?.unwrap_or_default(),
            account: members.object("account")?.map(account).transpose().map_err(|e| e.at("account"))?,
            more: Object::default(),
        };
        members.retain(|name| {
            !["partition", "instance", "reach", "trace_id", "user", "tools", "actions", "account"]
                .contains(&name)
        });
        Ok(Rsv { more: members, ..rsv })
    }

    /// The value as an object, members in a fixed order.
    pub fn to_object(&self) -> Object {
        let mut object = Object::default();
        let names = [
            ("partition", self.partition.as_deref()),
            ("instance", self.instance.as_deref()),
            ("reach", self.reach.map(Reach::name)),
            ("trace_id", self.trace_id.as_deref()),
        ];
        for (name, value) in names {
            if let Some(value) = value {
                object.set_text(name, value);
            }
        }
        object.set("user", self.user.as_ref().map_or("null".into(), Object::to_json));
        if !self.tools.is_empty() {
            object.set("tools", array(&self.tools));
        }
        if !self.actions.is_empty() {
            object.set("actions", array(&self.actions));
        }
        if let Some(account) = &self.account {
            let mut json = Vec::new();
            account.write(&mut json);
            object.set("account", String::from_utf8_lossy(&json));
        }
        for (name, json) in self.more.iter() {
            object.set(name, json);
        }
        object
    }

    /// The member for an answer of rsv's own: only the account of the turn is to be stored.
    pub fn answered_here(mut self) -> Rsv {
        self.user = None;
        self.tools.clear();
        self.actions.clear();
        self.more.set_text("provider", OWN_PROVIDER);
        self.more.set("status", "200");
        self.more.set("latency_ms", "0");
        self
    }

    /// Whether rsv itself gave the answer, and no model.
    pub fn is_answered_here(&self) -> bool {
        self.more.valid_text("provider").as_deref() == Some(OWN_PROVIDER)
    }
}
