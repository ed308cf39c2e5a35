//! Transcripts in Markdown as rsv-export writes them: before each message a line such as
//! `**user** · 2026-11-21T07:03:00.000Z · work/laptop`.

use super::blocks::{Block, BlockFormat, Blocks};
use super::format::{ImportFormat, ReadFormat};
use crate::record::{Object, time};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "md",
    about: "Markdown as rsv-export --format md writes it",
    places: &[],
    timeless: false,
    recognize: |sample| sample.text().lines().next().is_some_and(|line| heading(line).is_some()),
    read: ReadFormat::Text(|input| Box::new(Blocks::new(MESSAGES, input))),
};

const MESSAGES: BlockFormat = BlockFormat {
    heading,
    lines: |options, Block { heading: mut message, text, .. }, lines| {
        for (member, value) in [("partition", &options.partition), ("instance", &options.instance)] {
            if let Some(value) = value {
                message.set_text(member, value);
            }
        }
        message.set_text("content", text.trim_matches(['\n', '\r']));
        lines.push(message);
        Ok(())
    },
};

/// The parts between the separators of a heading.
const SEPARATOR: &str = " · ";

/// The role, the time and the scope of a heading.
fn heading(line: &str) -> Option<Object> {
    let rest = line.trim_start_matches('\u{feff}').strip_prefix("**")?;
    let (role, rest) = rest.split_once("**")?;
    let (time, scope) = rest.strip_prefix(SEPARATOR)?.split_once(SEPARATOR)?;
    time::parse(time).ok()?;
    let (partition, instance) = scope.split_once('/')?;
    let mut heading = Object::default();
    for (name, value) in
        [("role", role), ("timestamp", time), ("partition", partition), ("instance", instance)]
    {
        heading.set_text(name, value);
    }
    Some(heading)
}
