//! The sessions of aichat, `~/.config/aichat/sessions/NAME.yaml`: YAML with messages without times, as
//! `Session` of version 0.30.0 writes it.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{Bytes, ImportFormat, ReadFormat, TextInput};
use crate::error::{Context, Result};
use crate::lines::{LocatedObject, ObjectSource, SourceLocation, too_long};
use crate::record::{Object, Role, invalid_utf8};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;

const NAME: &str = "aichat-session";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of aichat: ~/.config/aichat/sessions",
    places: &[".config/aichat/sessions"],
    timeless: true,
    recognize: |sample| {
        let mut lines = sample.text().lines();
        lines.next().is_some_and(|line| line.starts_with("model: "))
            && lines.any(|line| ["messages:", "compressed_messages:"].contains(&line))
    },
    read: ReadFormat::Text(|input| Box::new(Session::new(input))),
};

/// The name of standard input.
const STDIN: &str = "<stdin>";

/// The members of a session that are read.
#[derive(Deserialize)]
struct SessionFile {
    model: Option<String>,
    /// The messages that a summary stands for, before the others.
    #[serde(default)]
    compressed_messages: Vec<serde_json::Value>,
    #[serde(default)]
    messages: Vec<serde_json::Value>,
}

/// The lines of a session, which is read as a whole.
struct Session {
    name: String,
    options: ImportOptions,
    /// The bytes, before they are read.
    bytes: Option<Bytes>,
    lines: VecDeque<LocatedObject>,
    read: u64,
}

impl Session {
    fn new(input: TextInput) -> Session {
        let (name, options) = (input.name.to_owned(), input.options.clone());
        Session { name, options, bytes: Some(input.bytes), lines: VecDeque::new(), read: 0 }
    }

    fn read(&mut self, bytes: Bytes) -> Result<()> {
        let (limit, mut yaml) = (self.options.max_line, Vec::new());
        let read = bytes.take(limit as u64 + 1).read_to_end(&mut yaml);
        self.read = read.context(format_args!("cannot read {}", self.name))? as u64;
        if yaml.len() > limit {
            return Err(too_long(limit).at(&self.name));
        }
        let yaml = String::from_utf8(yaml).map_err(|_| invalid_utf8("").at(&self.name))?;
        let session: SessionFile = serde_saphyr::from_str(&yaml).context(&self.name)?;
        let lines = self.convert(session).map_err(|error| error.at(&self.name))?;
        let location = SourceLocation::new(self.name.as_str().into(), 1);
        self.lines
            .extend(lines.into_iter().map(|object| LocatedObject { location: location.clone(), object }));
        Ok(())
    }

    /// The lines of the messages of the user and the model; each gets a millisecond of its own.
    fn convert(&self, session: SessionFile) -> Result<Vec<Object>> {
        let path = Path::new(&self.name).file_stem().filter(|_| self.name != STDIN);
        let id = path.map(|stem| stem.to_string_lossy().into_owned());
        let about = Conversation { id, ..Conversation::default() };
        let mut lines = Vec::new();
        for (at, message) in (0..).zip(session.compressed_messages.iter().chain(&session.messages)) {
            let message = Object::parse(&message.to_string())?;
            let role = match message.text("role")?.as_deref() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => continue,
            };
            let said = ImportedMessage::new(role, text(&message, "content", &["text"])?);
            let time = self.options.at.map(|time| time + at);
            let model = session.model.clone().filter(|_| role == Role::Assistant);
            self.options.add(NAME, &about, ImportedMessage { time, model, ..said }, &mut lines)?;
        }
        Ok(lines)
    }
}

impl ObjectSource for Session {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        if let Some(bytes) = self.bytes.take()
            && let Err(error) = self.read(bytes)
        {
            return Some(Err(error));
        }
        self.lines.pop_front().map(Ok)
    }

    fn drained(&self) -> bool {
        false
    }

    fn consumed(&self) -> u64 {
        self.read
    }
}
