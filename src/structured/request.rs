//! A request for an answer in JSON.

use super::recipient::Recipient;
use super::schema::Schema;
use crate::chat::{self, fence};
use crate::record::{Object, quote};

/// A request to a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The name of the schema: letters, digits, `_`.
    pub name: &'static str,
    pub schema: Schema,
    /// The instructions. They describe the answer too, for providers that ignore the schema.
    pub instructions: String,
    /// The name of the tags around the data.
    pub tag: &'static str,
    /// The data for it, one object a line.
    pub data: Vec<Object>,
    pub temperature: Option<f64>,
}

impl Request {
    /// The body of chat completions for a model. The data is one message: JSON strings, in which no text
    /// begins a line, between tags that no text can close.
    pub fn body(&self, recipient: &Recipient) -> Object {
        let data: Vec<String> = self.data.iter().map(Object::to_json).collect();
        let messages = [
            message("system", &self.instructions),
            message("user", &fence::delimit(self.tag, &data.join("\n"))),
        ];
        let mut body = Object::default();
        body.set_text("model", recipient.name());
        body.set("messages", chat::array(&messages));
        if let Some(temperature) = self.temperature {
            body.set("temperature", temperature.to_string());
        }
        let (name, schema) = (quote(self.name), self.schema.to_json(recipient.enforces_lengths()));
        let wanted = format!("{{\"name\":{name},\"strict\":true,\"schema\":{schema}}}");
        body.set("response_format", format!("{{\"type\":\"json_schema\",\"json_schema\":{wanted}}}"));
        body
    }
}

fn message(role: &str, content: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set_text("content", content);
    message
}
