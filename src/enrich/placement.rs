//! Where recalled text stands: in one fenced block inside the user's last message, before its text. All
//! that comes before stays as it was, so that the provider's prompt cache keeps working, and roles keep
//! alternating.

use crate::chat::{array, fence};
use crate::error::Result;
use crate::record::{Content, Message, Object, quote};

/// Places the messages, oldest first, before what `user` says; nothing where there are none.
pub(super) fn place(user: &mut Object, recalled: &[&Message]) -> Result<()> {
    if recalled.is_empty() {
        return Ok(());
    }
    let block = fence::enclose(recalled);
    match Content::of(user)? {
        Content::Text(text) => user.set("content", quote(&(block + &text))),
        Content::Null => user.set("content", quote(block.trim_end())),
        Content::Parts(_) => {
            let mut part = Object::default();
            part.set_text("type", "text");
            part.set_text("text", &block);
            let mut parts = vec![part];
            parts.extend(user.objects("content")?.unwrap_or_default());
            user.set("content", array(&parts));
        }
    }
    Ok(())
}
