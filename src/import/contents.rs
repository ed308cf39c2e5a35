//! The contents of messages in the forms that several programs share: a text, or a list of typed parts.

use crate::error::Result;
use crate::record::{Object, RecordError, quote, unquote, without_halves};

/// The text of a member that is a string, or a list of strings and of parts with a type; of parts, those of
/// `types`. Other parts, such as thinking, are left out. Errors if the list cannot be read, as if it is too
/// deep.
pub(super) fn text(message: &Object, member: &str, types: &[&str]) -> Result<String> {
    let refused = |error| RecordError::Text { member: member.to_owned(), error };
    match message.get(member) {
        Some(json) if json.starts_with('"') => Ok(unquote(json).map_err(refused)?),
        Some(json) if json.starts_with('[') => {
            let parts: Vec<serde_json::Value> =
                serde_json::from_str(&without_halves(json)).map_err(refused)?;
            let texts = parts.iter().filter_map(|part| match part.as_str() {
                Some(text) => Some(text),
                None => {
                    let kind = part.get("type").and_then(|kind| kind.as_str());
                    part.get("text")?.as_str().filter(|_| kind.is_none_or(|kind| types.contains(&kind)))
                }
            });
            Ok(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => Ok(String::new()),
    }
}

/// The text of a member; empty if it is absent or no text.
pub(super) fn text_or_empty(of: &Object, member: &str) -> String {
    of.valid_text(member).unwrap_or_default()
}

/// One call of a tool, in the form of OpenAI. `arguments` is JSON text.
pub(super) fn tool_call(id: &str, name: &str, arguments: &str) -> String {
    let (id, name, arguments) = (quote(id), quote(name), quote(arguments));
    format!(
        "[{{\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}]"
    )
}

/// The text of a member that is a string, or a part or a list of parts as Gemini has them: those with a text,
/// but not the thoughts. Fails if the member has another type.
pub(super) fn said_text(message: &Object, member: &str) -> Result<String> {
    let Ok(parts) = message.objects(member) else { return text(message, member, &[]) };
    let mut texts = Vec::new();
    for part in parts.unwrap_or_default() {
        texts.extend(part.text("text")?.filter(|_| part.get("thought") != Some("true")));
    }
    Ok(texts.join("\n"))
}

/// The lines between which Gemini CLI, and Qwen Code after it, add the files that a message mentions.
const FILES_BEGIN: &str = "--- Content from referenced files ---";
const FILES_END: &str = "--- End of content ---";

/// The text without the files that it mentions.
pub(super) fn without_files(text: &str) -> String {
    let is_line = |(at, _): &(usize, &str)| *at == 0 || text[..*at].ends_with('\n');
    let Some((begin, _)) = text.match_indices(FILES_BEGIN).find(is_line) else { return text.to_owned() };
    let end = text[begin..].rfind(FILES_END).map_or(text.len(), |at| begin + at + FILES_END.len());
    format!("{}{}", text[..begin].trim_end(), &text[end..])
}
