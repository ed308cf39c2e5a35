//! The export of a Slack workspace: a file of messages for each day in the folder of each channel, which the zip
//! archive has beside lists of channels and users.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{DOWNLOADS, ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::PathBuf;

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
        let users = origin.path.and_then(|path| Some(path.parent()?.parent()?.join(USERS)));
        Box::new(SlackChannel { options: options.clone(), about, users, names: OnceCell::new() })
    }),
};

struct SlackChannel {
    options: ImportOptions,
    /// A channel has the name of its folder.
    about: Conversation,
    /// The path of the list of users.
    users: Option<PathBuf>,
    /// The names of the users by their ids, read when a message has none.
    names: OnceCell<HashMap<String, String>>,
}

/// The list of users, beside the folders of the channels.
const USERS: &str = "users.json";

/// The name in a user, or in the profile of one.
fn name(of: &Object) -> Option<String> {
    let member = |name: &&str| of.text(name).ok().flatten().filter(|text| !text.is_empty());
    ["real_name", "display_name", "name"].iter().find_map(member)
}

impl SlackChannel {
    /// The name that the list of users gives a user; none if there is no list.
    fn name_of(&self, user: &str) -> Option<String> {
        let read = || {
            let list = std::fs::read_to_string(self.users.as_ref()?).ok()?;
            let users = Object::parse(&format!("{{\"users\":{list}}}")).ok()?.objects("users").ok()??;
            let named = |user: Object| {
                let profile = user.object("profile").ok().flatten().unwrap_or_default();
                Some((user.text("id").ok()??, name(&profile).or_else(|| name(&user))?))
            };
            Some(users.into_iter().filter_map(named).collect())
        };
        self.names.get_or_init(|| read().unwrap_or_default()).get(user).cloned()
    }
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
        let said = text(&message, "text", &[])?;
        if said.trim().is_empty() {
            return Ok(());
        }
        let profile = message.object("user_profile").ok().flatten().unwrap_or_default();
        let member = |of: &Object, name: &str| of.text(name).ok().flatten().filter(|text| !text.is_empty());
        let user = member(&message, "user");
        let name = name(&profile).or_else(|| member(&message, "username"));
        let name = name.or_else(|| self.name_of(user.as_deref()?)).or(user);
        let said = unescaped(&said);
        let said = name.map_or(said.clone(), |name| format!("{name}: {said}"));
        // Answers in a thread belong to its first message.
        let (time, id) = (times::member(&message, "ts")?, message.text("ts")?);
        let trace_id = message.text("thread_ts")?.or(id.clone());
        let said = ImportedMessage { time, id, trace_id, ..ImportedMessage::new(Role::User, said) };
        self.options.add(NAME, &self.about, said, lines)
    }
}

/// The text with the characters that Slack escapes.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
