//! Sessions of opencode before it had a database: `~/.local/share/opencode/storage`, in which the file of a
//! session is `session/PROJECT/SESSION.json`, that of a message `message/SESSION/MESSAGE.json`, and that of a
//! part `part/MESSAGE/PART.json`.

use super::conversation::ImportOptions;
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::opencode::Sessions;
use super::sample::has_all;
use crate::error::{Context, Result};
use crate::record::Object;
use std::path::{Path, PathBuf};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "opencode-storage",
    about: "sessions of earlier versions of opencode: ~/.local/share/opencode/storage",
    places: &[".local/share/opencode/storage"],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["id", "directory", "title", "time"]) && object.has("version")
                || is_piece(object)
        })
    },
    read: ReadFormat::Objects(|options, origin| {
        let file = origin.path.map(Path::to_owned);
        Box::new(StoredSession { options: options.clone(), file, is_piece: false })
    }),
};

/// Whether a file is that of a message, or of a part of one, which are read with their session.
fn is_piece(object: &Object) -> bool {
    let is_message = has_all(object, &["id", "sessionID", "role", "time"]);
    is_message || has_all(object, &["id", "sessionID", "messageID", "type"])
}

struct StoredSession {
    options: ImportOptions,
    file: Option<PathBuf>,
    is_piece: bool,
}

/// The objects in the files of a folder, by their names; none if there is no such folder.
fn objects(folder: &Path) -> Result<Vec<Object>> {
    let Ok(entries) = folder.read_dir() else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).context(format_args!("cannot read {}", file.display()))?;
        Object::parse(&text).map_err(|error| error.at(file.display()))
    };
    files.iter().map(read).collect()
}

impl Convert for StoredSession {
    fn convert(&mut self, session: Object, lines: &mut Vec<Object>) -> Result<()> {
        if is_piece(&session) {
            self.is_piece = true;
            return Ok(());
        }
        let storage = self.file.as_deref().and_then(|file| file.parent()?.parent()?.parent());
        let (Some(storage), Some(id)) = (storage, session.text("id")?) else { return Ok(()) };
        let mut messages = Vec::new();
        for info in objects(&storage.join("message").join(&id))? {
            let parts = objects(&storage.join("part").join(info.text("id")?.unwrap_or_default()))?;
            let parts: Vec<String> = parts.iter().map(Object::to_json).collect();
            messages.push(format!("{{\"info\":{},\"parts\":[{}]}}", info.to_json(), parts.join(",")));
        }
        let mut export = Object::default();
        export.set("info", session.to_json());
        export.set("messages", format!("[{}]", messages.join(",")));
        Sessions::new(&self.options, false).convert(export, lines)
    }

    fn reason(&self) -> Option<&'static str> {
        self.is_piece.then_some("they are parts of sessions, and were read with them")
    }
}
