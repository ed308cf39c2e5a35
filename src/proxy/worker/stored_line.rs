//! Lines that work in the background stores, as rsv-ingest would, and the lines of stored records.

use crate::error::Result;
use crate::ingest::{Gathered, Options};
use crate::lines::Feed;
use crate::proxy::config::ProxyConfig;
use crate::record::{Object, Record, StoredRecord, VectorFormat};
use crate::store::Store;
use std::io::Cursor;
use std::ops::ControlFlow;

/// Stores a line whole; errors call it by a name. Errors if it is not valid or is refused, or if the store
/// fails.
pub(super) fn store_line(
    config: &ProxyConfig,
    store: &mut dyn Store,
    name: &str,
    line: Object,
) -> Result<()> {
    let mut line = line.to_json().into_bytes();
    line.push(b'\n');
    let mut ingest = config.new_batch(Options::default());
    let sources = vec![(name.to_owned(), Cursor::new(line))];
    let mut feed = Feed::lines(sources, config.settings.max_line(), ingest.redaction())?;
    let mut refused = None;
    while ingest.gather(&mut feed, &mut |line| {
        refused = refused.take().or(line.err());
        ControlFlow::Continue(())
    }) == Gathered::More
    {}
    config.note_redaction(&ingest);
    let stored = ingest.commit(store)?;
    if let Some(refused) = refused.or(stored.into_iter().find_map(|line| line.line.err())) {
        return Err(refused);
    }
    config.metrics.mark_stored(config.clock.now());
    Ok(())
}

/// The line of a record.
pub(super) fn line_of(record: StoredRecord) -> Result<Object> {
    let mut line = Vec::new();
    Record::Stored(record).write_line(VectorFormat::Numbers, &mut line);
    Object::parse_bytes(&line)
}
