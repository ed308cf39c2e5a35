//! Messages in the shapes of other programs: Reservoir's JSON array, CSV for spreadsheets, Markdown.

use crate::error::{Context, Result};
use crate::record::{Role, StoredRecord, VectorFormat, quote, reservoir_model, time, write_vector};
use crate::view::escape_controls;

/// The format of a whole export.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Format {
    /// Reservoir's: an array of objects with id, trace_id, partition, instance, content, role, embedding,
    /// url and timestamp, which is in milliseconds or, of the older exports, in RFC 3339.
    Reservoir {
        rfc3339: bool,
    },
    Csv {
        /// Whether cells that a spreadsheet would take for formulas begin with an apostrophe.
        safe: bool,
    },
    Markdown,
}

impl Format {
    /// Whether it is one of Reservoir's, which has embeddings in it.
    pub fn is_reservoirs(self) -> bool {
        matches!(self, Format::Reservoir { .. })
    }

    /// The text before the first message.
    pub fn begin(self) -> &'static str {
        match self {
            Format::Reservoir { .. } => "[",
            Format::Csv { .. } => "created_at,partition,instance,trace_id,role,content,id\n",
            Format::Markdown => "",
        }
    }

    /// The text after the last message, of `count`.
    pub fn end(self, count: usize) -> &'static str {
        match (self, count) {
            (Format::Reservoir { .. }, 0) => "]\n",
            (Format::Reservoir { .. }, _) => "\n]\n",
            _ => "",
        }
    }

    /// Whether the format can represent a message. Reservoir has no messages without text.
    pub fn holds(self, message: &StoredRecord) -> bool {
        !self.is_reservoirs() || !message.text.is_empty()
    }

    /// Appends one message, the `at`-th from 0.
    pub fn message(self, at: usize, message: &StoredRecord, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Format::Reservoir { rfc3339 } => reservoir(at, message, rfc3339, out),
            Format::Csv { safe } => return csv_row(message, safe, out),
            Format::Markdown => markdown(message, out),
        }
        Ok(())
    }
}

fn role(message: &StoredRecord) -> &'static str {
    message.role.map_or("", Role::name)
}

fn reservoir(at: usize, message: &StoredRecord, rfc3339: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if at == 0 { b"\n  {" } else { b",\n  {" });
    let members = [
        ("id", &message.id),
        ("trace_id", &message.trace_id),
        ("partition", &message.scope.partition),
        ("instance", &message.scope.instance),
        ("content", &message.text),
    ];
    for (name, value) in members {
        out.extend_from_slice(format!("\"{name}\":{},", quote(value)).as_bytes());
    }
    out.extend_from_slice(format!("\"role\":\"{}\",\"embedding\":", role(message)).as_bytes());
    match &message.vector {
        Some(vector) => {
            write_vector(&vector.numbers, VectorFormat::Numbers, out);
            // Reservoir never names the model; without its name ours could not be read back.
            if reservoir_model(vector.numbers.len()).ok() != Some(&vector.model) {
                out.extend_from_slice(format!(",\"embedding_model\":{}", quote(&vector.model)).as_bytes());
            }
        }
        None => out.extend_from_slice(b"null"),
    }
    let url = message.members.get("url").unwrap_or("null");
    let timestamp =
        if rfc3339 { quote(&time::rfc3339(message.timestamp)) } else { message.timestamp.to_string() };
    out.extend_from_slice(format!(",\"url\":{url},\"timestamp\":{timestamp}}}").as_bytes());
}

fn csv_row(message: &StoredRecord, safe: bool, out: &mut Vec<u8>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let created = time::rfc3339(message.timestamp);
    let scope = &message.scope;
    let row = [
        &*created,
        &*scope.partition,
        &*scope.instance,
        &*message.trace_id,
        role(message),
        &*message.text,
        &*message.id,
    ];
    let is_formula = |cell: &str| safe && cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cells = row.map(|cell| if is_formula(cell) { format!("'{cell}") } else { cell.to_owned() });
    writer.write_record(cells).context("cannot write CSV")?;
    writer.flush().context("cannot write CSV")
}

fn markdown(message: &StoredRecord, out: &mut Vec<u8>) {
    let created = time::rfc3339(message.timestamp);
    let scope = &message.scope;
    let scope = escape_controls(&scope.to_string()).replace('\n', " ");
    let head = format!("**{}** · {created} · {scope}\n\n", role(message));
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(escape_controls(message.text.trim_end()).as_bytes());
    out.extend_from_slice(b"\n\n");
}
