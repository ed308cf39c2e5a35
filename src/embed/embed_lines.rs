//! Adds vectors to lines.

use super::error::EmbedError;
use super::{BatchSizer, Embedder, InputType, Workload, set_vector, text_of};
use crate::cli::Io;
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::lines::{Feed, FeedEvent, LocatedObject, SourceLocation};
use crate::record::Object;
use std::time::Instant;

/// A line that waits for its vector.
struct Waiting {
    place: SourceLocation,
    line: Object,
    text: Option<(String, InputType)>,
}

impl Waiting {
    fn from_value(value: LocatedObject, field: Option<&str>, question: bool) -> Result<Waiting> {
        let text = text_of(&value.object, field).map_err(|e| e.at(&value.location))?;
        let text = text.map(|(text, side)| (text, if question { InputType::Query } else { side }));
        Ok(Waiting { place: value.location, line: value.object, text })
    }
}

/// The greatest size of a batch of waiting lines, in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Adds vectors to lines, in their order; a pause in the input flushes the batch.
///
/// The text of each is its member `field`, if one is named, and a question if `are_questions`. With `raw`,
/// vectors alone are printed, as 32-bit floats, little-endian.
pub fn embed_lines(
    mut feed: Feed,
    field: Option<&str>,
    are_questions: bool,
    raw: bool,
    settings: &Settings,
    io: &mut Io,
) -> Result<()> {
    let (mut waiting, mut bytes, mut pace) = (Vec::new(), 0, BatchSizer::default());
    let mut embedder = None;
    loop {
        let next = feed.next();
        let (pause, end) = (!matches!(next, FeedEvent::Object(_)), matches!(next, FeedEvent::End));
        if let FeedEvent::Object(value) = next {
            match value.and_then(|value| Waiting::from_value(value, field, are_questions)) {
                // Bare vectors have no way to show that one is missing.
                Ok(line) if raw && line.text.is_none() => {
                    io.fault(&Error::from(EmbedError::NoText).at(line.place));
                }
                Ok(line) => {
                    bytes += line.text.as_ref().map_or(0, |(text, _)| text.len());
                    waiting.push(line);
                }
                Err(error) => io.fault(&error),
            }
        }
        let full = waiting.len() >= pace.size() || bytes > BATCH_BYTES;
        if (pause || full) && !waiting.is_empty() {
            let embedder = match &mut embedder {
                Some(embedder) => embedder,
                None => {
                    let work = if full { Workload::Many } else { Workload::Few };
                    embedder.insert(Embedder::from_settings(settings, work, &io.diagnostics())?)
                }
            };
            let started = Instant::now();
            pass_on(std::mem::take(&mut waiting), embedder, raw, io)?;
            if full {
                pace.record_duration(started.elapsed());
            }
            bytes = 0;
        }
        if end {
            return Ok(());
        }
    }
}

/// Embeds and writes lines; one of which the embedder makes no vector is named.
fn pass_on(waiting: Vec<Waiting>, embedder: &mut Embedder, raw: bool, io: &mut Io) -> Result<()> {
    let mut made = Vec::new();
    for side in [InputType::Passage, InputType::Query] {
        let of_side = waiting.iter().filter_map(|w| w.text.as_ref().filter(|(_, s)| *s == side));
        let texts: Vec<&str> = of_side.map(|(text, _)| text.as_str()).collect();
        made.push(embedder.embed_each(&texts, side)?.into_iter());
    }
    for Waiting { place, mut line, text } in waiting {
        let vector =
            text.and_then(|(_, side)| made[usize::from(side == InputType::Query)].next()).transpose();
        match vector.map_err(|e: Error| e.at(place)) {
            Ok(vector) => io.out.with(|out| {
                if raw {
                    return out.extend(vector.iter().flatten().flat_map(|x| x.to_le_bytes()));
                }
                if let Some(vector) = &vector {
                    set_vector(&mut line, vector, embedder.model());
                }
                line.write(out);
                out.push(b'\n');
            })?,
            Err(error) => io.fault(&error),
        }
    }
    io.out.flush()
}
