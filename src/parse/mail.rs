//! Mail: messages (RFC 5322) and mailboxes of them (mbox, RFC 4155).

use super::html;
use super::outline::{Breaks, Extract, Heading};
use mail_parser::{Message, MessageParser, MimeHeaders, PartType};

/// The greatest number of messages in messages.
const MAX_DEPTH: usize = 3;

/// Reads a message. Fails if it is none.
pub(super) fn message(bytes: &[u8]) -> Result<Extract, String> {
    let message = MessageParser::default().parse(bytes).ok_or("not a mail message")?;
    let mut text = String::new();
    write_message(&message, &mut text, 0);
    Ok(Extract {
        title: message.subject().map(str::to_owned),
        text,
        breaks: Breaks::BlankLines,
        ..Extract::default()
    })
}

/// Reads a mailbox: each message is a section.
pub(super) fn mailbox(bytes: &[u8]) -> Extract {
    let mut extract = Extract { breaks: Breaks::BlankLines, ..Extract::default() };
    for raw in messages(bytes) {
        let Some(message) = MessageParser::default().parse(raw.as_slice()) else { continue };
        let start = extract.text.len();
        write_message(&message, &mut extract.text, 0);
        extract.text.push('\n');
        let title = message.subject().filter(|subject| !subject.trim().is_empty()).unwrap_or("message");
        extract.headings.push(Heading { level: 1, start, end: start, title: title.to_owned() });
    }
    extract
}

/// The messages of a mailbox: a line that begins with `From ` after an empty one begins the next; such lines
/// in a message are quoted by `>`.
fn messages(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    let mut after_empty = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if after_empty && line.starts_with(b"From ") {
            messages.push(Vec::new());
        } else if let Some(message) = messages.last_mut() {
            let quotes = line.iter().take_while(|byte| **byte == b'>').count();
            let is_quoted = quotes > 0 && line[quotes..].starts_with(b"From ");
            message.extend_from_slice(if is_quoted { &line[1..] } else { line });
        }
        after_empty = line.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
    }
    messages
}

fn write_message(message: &Message, text: &mut String, depth: usize) {
    let fields = [
        ("Subject", message.subject().map(str::to_owned)),
        ("From", message.from().map(addresses)),
        ("To", message.to().map(addresses)),
        ("Cc", message.cc().map(addresses)),
        ("Date", message.date().map(mail_parser::DateTime::to_rfc3339)),
    ];
    for (name, value) in fields {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    text.push('\n');
    for part in message.text_bodies() {
        let body = match &part.body {
            PartType::Html(page) => html::extract(page).text,
            _ => part.text_contents().unwrap_or_default().replace("\r\n", "\n"),
        };
        text.push_str(body.trim_end());
        text.push_str("\n\n");
    }
    for attachment in message.attachments() {
        match &attachment.body {
            PartType::Message(inner) if depth < MAX_DEPTH => write_message(inner, text, depth + 1),
            _ => {
                if let Some(name) = attachment.attachment_name() {
                    text.push_str(&format!("Attachment: {name}\n\n"));
                }
            }
        }
    }
}

/// Names and addresses: `Ann Lee <ann@example.org>, bob@example.org`.
fn addresses(address: &mail_parser::Address) -> String {
    let one = |addr: &mail_parser::Addr| match (addr.name(), addr.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    };
    address.iter().map(one).collect::<Vec<_>>().join(", ")
}
