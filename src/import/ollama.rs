//! The history of Ollama's command line, `~/.ollama/history`: a prompt a line, without times and answers.

use super::blocks::{Block, BlockFormat, Blocks};
use super::conversation::{Conversation, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use crate::record::{Object, Role};

const NAME: &str = "ollama";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the history of Ollama's command line, with --from and --at: ~/.ollama/history",
    places: &[".ollama/history"],
    timeless: true,
    // Any text looks like it.
    recognize: |_| false,
    read: ReadFormat::Text(|input| Box::new(Blocks::new(PROMPTS, input))),
};

/// Every line is a message; a command begins with a slash.
const PROMPTS: BlockFormat = BlockFormat {
    heading: |line| {
        let mut heading = Object::default();
        heading.set_text("prompt", line);
        Some(heading)
    },
    lines: |options, Block { heading, .. }, lines| {
        let prompt = heading.text("prompt")?.unwrap_or_default();
        if prompt.starts_with('/') {
            return Ok(());
        }
        options.add(NAME, &Conversation::default(), ImportedMessage::new(Role::User, prompt), lines)
    },
};
