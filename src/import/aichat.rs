//! The log of aichat, `~/.config/aichat/messages.md`, as `save_message` of version 0.30.0 writes it: a
//! heading with the beginning of the question and the time, the question, a line of hyphens, the answer, and
//! such a line.

use super::blocks::{Block, BlockFormat, Blocks};
use super::conversation::{Conversation, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use crate::api::without_elements;
use crate::record::{Object, Role, time};

const NAME: &str = "aichat";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the log of aichat: messages.md",
    places: &[".config/aichat/messages.md"],
    timeless: false,
    recognize: |sample| sample.text().lines().next().is_some_and(|line| heading(line).is_some()),
    read: ReadFormat::Text(|input| Box::new(Blocks::new(TURNS, input))),
};

/// The line between a question and its answer, and after that.
const RULE: &str = "--------";

const TURNS: BlockFormat = BlockFormat {
    heading,
    lines: |options, Block { heading: turn, text, .. }, lines| {
        let rule = format!("\n{RULE}\n");
        let text = text.replace("\r\n", "\n");
        let (question, answer) = text.split_once(&rule).unwrap_or((&text, ""));
        let answer = without_elements(answer.trim_end().trim_end_matches(RULE), &["tool_calls"]);
        let time = turn.integer("timestamp")?;
        let about = Conversation { title: turn.text("title")?, ..Conversation::default() };
        for (role, text) in [(Role::User, question.trim()), (Role::Assistant, answer.trim())] {
            options.add(NAME, &about, ImportedMessage { time, ..ImportedMessage::new(role, text) }, lines)?;
        }
        Ok(())
    },
};

/// The title and the time of a heading such as `# CHAT: When do owls hunt? [2026-11-24T22:00:00+01:00]`,
/// after which the name of a role or a session may stand.
fn heading(line: &str) -> Option<Object> {
    let rest = line.trim_start_matches('\u{feff}').strip_prefix("# CHAT: ")?;
    let (title, rest) = rest.rsplit_once(" [")?;
    let (time, _) = rest.split_once(']')?;
    let mut heading = Object::default();
    heading.set_text("title", title);
    heading.set("timestamp", time::parse(time).ok()?.to_string());
    Some(heading)
}
