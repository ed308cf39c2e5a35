//! The sessions of cgip, `~/.cache/cgip/NAME`: an array of messages without times, in the form of version
//! 0.5.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use crate::error::Result;
use crate::record::{Object, Role};

const NAME: &str = "cgip";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of cgip: ~/.cache/cgip",
    places: &[".cache/cgip"],
    timeless: true,
    recognize: |sample| {
        let is_message =
            |object: &Object| has_all(object, &["role", "content"]) && object.iter().count() == 2;
        sample.text().trim_start().starts_with('[') && sample.first().is_some_and(is_message)
    },
    read: ReadFormat::Objects(|options, origin| {
        let id = origin.path.and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
        let about = Conversation { id, ..Conversation::default() };
        Box::new(CgipSession { options: options.clone(), about, read: 0 })
    }),
};

struct CgipSession {
    options: ImportOptions,
    /// A session has the name of its file.
    about: Conversation,
    /// The number of messages so far: each gets a millisecond of its own.
    read: i64,
}

impl Convert for CgipSession {
    fn convert(&mut self, message: Object, lines: &mut Vec<Object>) -> Result<()> {
        let role = match message.text("role")?.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Ok(()),
        };
        let time = self.options.at.map(|at| at + self.read);
        self.read += 1;
        let said = ImportedMessage::new(role, text(&message, "content", &["text"])?);
        self.options.add(NAME, &self.about, ImportedMessage { time, ..said }, lines)
    }
}
