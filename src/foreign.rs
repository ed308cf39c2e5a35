//! Messages in the shapes of other programs: Reservoir's JSON array, CSV for spreadsheets, Markdown.

use crate::error::{Context, Result};
use crate::record::{Message, Vector, Vectors, quote, reservoir_model, time, write_vector};

/// The format of a whole export.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Format {
    /// Reservoir's: an array of objects with id, trace_id, partition, instance, content, role, embedding,
    /// url and timestamp (milliseconds).
    Reservoir,
    Csv,
    Markdown,
}

impl Format {
    /// What stands before the first message.
    pub fn begin(self) -> &'static str {
        match self {
            Format::Reservoir => "[",
            Format::Csv => "created_at,partition,instance,trace_id,role,content,id\n",
            Format::Markdown => "",
        }
    }

    /// What stands after the last message, of `count`.
    pub fn end(self, count: usize) -> &'static str {
        match (self, count) {
            (Format::Reservoir, 0) => "]\n",
            (Format::Reservoir, _) => "\n]\n",
            _ => "",
        }
    }

    /// Whether the format can say what a message is. Reservoir knows no message without words.
    pub fn holds(self, message: &Message) -> bool {
        self != Format::Reservoir || !message.content.text().is_empty()
    }

    /// Appends one message, the `at`-th from 0.
    pub fn message(self, at: usize, message: &Message, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Format::Reservoir => reservoir(at, message, out),
            Format::Csv => return csv_row(message, out),
            Format::Markdown => markdown(message, out),
        }
        Ok(())
    }
}

fn reservoir(at: usize, message: &Message, out: &mut Vec<u8>) {
    out.extend_from_slice(if at == 0 { b"\n  {" } else { b",\n  {" });
    let content = message.content.text();
    let members = [
        ("id", &message.id),
        ("trace_id", &message.trace_id),
        ("partition", &message.scope.partition),
        ("instance", &message.scope.instance),
        ("content", &content),
    ];
    for (name, value) in members {
        out.extend_from_slice(format!("\"{name}\":{},", quote(value)).as_bytes());
    }
    out.extend_from_slice(format!("\"role\":\"{}\",\"embedding\":", message.role).as_bytes());
    // Whoever reads this takes a vector for that of the model that it knows with so many numbers, and makes one where
    // there is none.
    let known =
        |vector: &&Vector| reservoir_model(vector.numbers.len()).is_ok_and(|model| model == vector.model);
    match message.vector.as_ref().filter(known) {
        Some(vector) => write_vector(&vector.numbers, Vectors::Numbers, out),
        None => out.extend_from_slice(b"[]"),
    }
    let url = message.extra.get("url").unwrap_or("null");
    out.extend_from_slice(format!(",\"url\":{url},\"timestamp\":{}}}", message.timestamp).as_bytes());
}

fn csv_row(message: &Message, out: &mut Vec<u8>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let (created, content) = (time::rfc3339(message.timestamp), message.content.text());
    let scope = &message.scope;
    let row = [
        &*created,
        &*scope.partition,
        &*scope.instance,
        &*message.trace_id,
        message.role.name(),
        &*content,
        &*message.id,
    ];
    writer.write_record(row).context("cannot write CSV")?;
    writer.flush().context("cannot write CSV")
}

fn markdown(message: &Message, out: &mut Vec<u8>) {
    let created = time::rfc3339(message.timestamp);
    let (scope, text) = (&message.scope, message.content.text());
    let head = format!("**{}** · {created} · {}/{}\n\n", message.role, scope.partition, scope.instance);
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(text.trim_end().as_bytes());
    out.extend_from_slice(b"\n\n");
}
