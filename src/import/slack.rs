//! The export of a Slack workspace: a file of messages for each day in the folder of each channel, which the
//! zip archive has beside lists of channels and users.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage, UserNames};
use super::format::{DOWNLOADS, ImportFormat, Origin, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use serde_json::Value;
use std::path::Path;
use std::sync::PoisonError;

const NAME: &str = "slack";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the export of a Slack workspace: the zip archive, or the folder",
    places: &[DOWNLOADS],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["type", "ts"]) && object.get("type") == Some("\"message\"")
        })
    },
    read: ReadFormat::Objects(|options, origin| {
        let about = Conversation { id: origin.folder(), ..Conversation::default() };
        Box::new(SlackChannel { options: options.clone(), about, names: names(options, origin) })
    }),
};

struct SlackChannel {
    options: ImportOptions,
    /// A channel has the name of its folder.
    about: Conversation,
    names: UserNames,
}

/// The list of users, beside the folders of the channels.
const USERS: &str = "../users.json";

/// The name in a user, or in the profile of one.
fn name(of: &Object) -> Option<String> {
    let member = |name: &&str| of.valid_text(name).filter(|text| !text.is_empty());
    ["real_name", "display_name", "name"].iter().find_map(member)
}

/// The names that the list of users gives, which is read once for all channels; none if there is no list.
fn names(options: &ImportOptions, origin: &Origin) -> UserNames {
    let workspace = Path::new(origin.name).parent().and_then(Path::parent);
    let workspace = workspace.map(|path| path.display().to_string()).unwrap_or_default();
    // Held while the list is read, so that no other channel reads it too.
    let mut last = options.user_names.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, names)) = last.as_ref().filter(|(of, _)| *of == workspace) {
        return names.clone();
    }
    let read = || {
        let list = origin.text_of(USERS)?;
        let users = Object::parse(&format!("{{\"users\":{list}}}")).ok()?.objects("users").ok()??;
        let named = |user: Object| {
            let profile = user.valid_object("profile").unwrap_or_default();
            Some((user.text("id").ok()??, name(&profile).or_else(|| name(&user))?))
        };
        Some(users.into_iter().filter_map(named).collect())
    };
    let names = UserNames::new(read().unwrap_or_default());
    *last = Some((workspace, names.clone()));
    names
}

/// The subtypes of messages that people and programs wrote; others say what happened.
const SAID: [&str; 4] = ["bot_message", "file_share", "me_message", "thread_broadcast"];

impl Convert for SlackChannel {
    fn convert(&mut self, message: Object, lines: &mut Vec<Object>) -> Result<()> {
        let subtype = message.text("subtype")?;
        let is_said = subtype.as_deref().is_none_or(|subtype| SAID.contains(&subtype));
        if message.get("type") != Some("\"message\"") || !is_said {
            return Ok(());
        }
        let mut said = text(&message, "text", &[])?;
        if said.trim().is_empty() {
            said = text_of_blocks(&message);
        }
        if said.trim().is_empty() {
            return Ok(());
        }
        let profile = message.valid_object("user_profile").unwrap_or_default();
        let member = |of: &Object, name: &str| of.valid_text(name).filter(|text| !text.is_empty());
        let user = member(&message, "user");
        let name = name(&profile).or_else(|| member(&message, "username"));
        let name = name.or_else(|| self.names.get(user.as_deref()?).cloned()).or(user);
        let said = unescaped(&self.with_names(&said));
        let said = name.map_or(said.clone(), |name| format!("{name}: {said}"));
        // Answers in a thread belong to its first message.
        let (time, id) = (times::member(&message, "ts")?, message.text("ts")?);
        let trace_id = message.text("thread_ts")?.or(id.clone());
        let said = ImportedMessage { time, id, trace_id, ..ImportedMessage::new(Role::User, said) };
        self.options.add(NAME, &self.about, said, lines)
    }
}

impl SlackChannel {
    /// The text with the names of the users that it mentions as `<@U024BE7LH>`.
    fn with_names(&self, text: &str) -> String {
        let mut named = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("<@") {
            named.push_str(before);
            // A mention has no other in it, so each part of the text is read once.
            let end = after.find(['<', '>']).filter(|end| after[*end..].starts_with('>'));
            let user = end.and_then(|end| {
                let (id, rest) = (&after[..end], &after[end + 1..]);
                let (id, label) = id.split_once('|').map_or((id, None), |(id, label)| (id, Some(label)));
                Some((self.names.get(id).map(String::as_str).or(label)?, rest))
            });
            match user {
                Some((name, after)) => {
                    named.push('@');
                    named.push_str(name);
                    rest = after;
                }
                None => {
                    named.push_str("<@");
                    rest = after;
                }
            }
        }
        named + rest
    }
}

/// The words in the blocks of a message, which has no others, with mentions as texts have them.
fn text_of_blocks(message: &Object) -> String {
    let blocks = message.get("blocks").and_then(|blocks| serde_json::from_str(blocks).ok());
    let mut text = String::new();
    add_block(&blocks.unwrap_or_default(), &mut text);
    text.trim().to_owned()
}

/// Appends the words of a block, an element of one, or a list of them.
fn add_block(block: &Value, text: &mut String) {
    /// The members with the parts of a block.
    const PARTS: [&str; 4] = ["text", "fields", "elements", "title"];
    if let Some(list) = block.as_array() {
        for block in list {
            add_block(block, text);
        }
        return;
    }
    let member = |name: &str| block.get(name).and_then(Value::as_str);
    match member("type").unwrap_or_default() {
        "user" => *text += &member("user_id").map(|id| format!("<@{id}>")).unwrap_or_default(),
        "emoji" => *text += &member("name").map(|name| format!(":{name}:")).unwrap_or_default(),
        "link" => *text += member("text").or(member("url")).unwrap_or_default(),
        kind => {
            *text += member("text").unwrap_or_default();
            let parts = PARTS.iter().filter_map(|part| block.get(part)).filter(|part| !part.is_string());
            for part in parts {
                add_block(part, text);
            }
            // Only texts are parts of a line.
            if kind != "text" && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        }
    }
}

/// The text with the characters that Slack escapes.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
