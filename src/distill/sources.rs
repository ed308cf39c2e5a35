//! The messages that a memory was made of.

use super::session::Session;
use crate::error::Result;
use crate::record::{DraftDefaults, EXTRACTED_FROM, Link, MEMORY, Object, Record, VectorFormat};

/// The line of a memory, and after it a link to each message of its session that has an id. The memory gets
/// the id that it would have in a store, by which the links name it. Fails if the memory is invalid.
pub fn with_links(session: &Session, mut memory: Object) -> Result<Vec<Object>> {
    if session.messages.is_empty() {
        return Ok(vec![memory]);
    }
    // The line has its own time, and its scope if the session has one.
    let fill =
        DraftDefaults { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };
    let stored = (MEMORY.read)(memory.clone())?.complete(&fill)?;
    memory.set_text("id", &stored.id);
    let mut lines = vec![memory];
    for message in &session.messages {
        let link = Record::Link(Link::plain(EXTRACTED_FROM, &stored.id, message, stored.timestamp));
        let mut line = Vec::new();
        link.write_line(VectorFormat::Numbers, &mut line);
        lines.push(Object::parse_bytes(&line)?);
    }
    Ok(lines)
}
