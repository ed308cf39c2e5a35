//! Messages in the formats of other programs, as they are printed.

use super::{FineTuning, Format, Transcripts};
use crate::cli::{Io, Outcome};
use crate::error::Result;
use crate::record::Record;
use crate::store::{Damage, Select, Store, Walk};
use std::path::Path;

/// Prints the messages of a selection in a format, or writes them to a new directory, a file for each
/// conversation.
pub fn messages(
    format: Format,
    directory: Option<&Path>,
    which: Select,
    store: &mut dyn Store,
    io: &mut Io,
) -> Result<Outcome> {
    let what = Walk { vectors: format.is_reservoirs(), recover: true, ..Walk::records(which) };
    let mut transcripts = directory.map(Transcripts::create).transpose()?;
    let out = &mut io.out;
    let mut count = 0;
    out.write(format.begin().as_bytes())?;
    let damage = store.walk(&what, &mut |record| {
        let Record::Stored(message) = record else { return Ok(()) };
        if !format.holds(&message) {
            return Ok(());
        }
        let mut text = Vec::new();
        format.message(count, &message, &mut text)?;
        count += 1;
        match &mut transcripts {
            Some(transcripts) => transcripts.add(&message.scope, &text),
            None => out.write(&text),
        }
    })?;
    transcripts.map_or(Ok(()), Transcripts::finish)?;
    out.write(format.end(count).as_bytes())?;
    Ok(end(damage, io))
}

/// Prints the pairs of questions and answers of a selection, for fine-tuning.
pub fn pairs(which: Select, store: &mut dyn Store, io: &mut Io) -> Result<Outcome> {
    let (mut pairs, out) = (FineTuning::default(), &mut io.out);
    let damage = store.walk(&Walk { recover: true, ..Walk::records(which) }, &mut |record| {
        let Record::Stored(message) = record else { return Ok(()) };
        out.with(|out| pairs.message(&message, out))
    })?;
    Ok(end(damage, io))
}

/// Reports what could not be read.
pub(super) fn end(damage: Option<Damage>, io: &mut Io) -> Outcome {
    if let Some(damage) = damage {
        io.fault(&damage.into());
    }
    Outcome::Yes
}
