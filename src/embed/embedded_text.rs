//! The text of a line that is embedded, and the members that hold its vector.

use super::input_type::InputType;
use crate::api::{self, Api};
use crate::chat::{self, fence};
use crate::error::Result;
use crate::record::{Content, Object, VectorFormat, kind_named, missing, quote, shape, write_vector};

/// The text of a line and its type: the member `field` if one is named; else a query's question, the last
/// user's message of a request, the text of a document, a title with its content, or a message's text. `None`
/// for a line without text, such as a tool call or a link. Errors name the member.
pub fn text_of(line: &Object, field: Option<&str>) -> Result<Option<(String, InputType)>> {
    if let Some(field) = field {
        let text = line.text(field)?.ok_or_else(|| missing(field))?;
        return Ok(Some((text, InputType::Passage)));
    }
    if shape(line) == Some("request") {
        let request = api::Request::parse(Api::of_request(line), line.clone())?.turns;
        let mut turns = request.messages.iter().rev();
        let user = turns.find(|turn| chat::role(turn) == Some(crate::record::Role::User));
        let text = user.map(|user| fence::remove(&chat::text(user)));
        return Ok(text.map(|text| (text, InputType::Query)));
    }
    let kind = line.text("kind")?;
    if kind.as_deref() == Some("query") || kind.is_none() && line.has("query") && !line.has("content") {
        let text = line.text("query")?.ok_or_else(|| missing("query"))?;
        return Ok(Some((text, InputType::Query)));
    }
    // A directory has no content.
    if let Some(kind) = kind.as_deref().and_then(kind_named).filter(|kind| kind.versions.is_some()) {
        let text = (kind.read)(line.clone())?.embedded_text();
        return Ok(text.map(|text| (text, InputType::Passage)));
    }
    if !line.has("content") {
        if line.has("role") || kind.is_some_and(|kind| TEXTLESS_KINDS.contains(&kind.as_str())) {
            return Ok(None);
        }
        return Err(missing("content").hint("name another member with --field"));
    }
    let mut text = Content::from_message(line)?.text();
    // A message's title is a member that rsv does not know.
    if !line.has("role")
        && let Some(title) = line.text("title")?
    {
        text = format!("{title}\n{text}");
    }
    Ok(Some((text, InputType::Passage)).filter(|(text, _)| !text.trim().is_empty()))
}

/// The kinds of lines without a text to embed.
const TEXTLESS_KINDS: [&str; 6] = ["account", "chunk", "embedding", "error", "link", "tree"];

/// Sets a line's vector, of any dimension and length (norm), and the model that made it.
pub fn set_vector(line: &mut Object, vector: &[f32], model: &str) {
    let mut json = Vec::new();
    write_vector(vector, VectorFormat::Numbers, &mut json);
    line.set("embedding", String::from_utf8_lossy(&json));
    line.set("embedding_model", quote(model));
}
