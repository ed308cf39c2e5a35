//! Reads a file whole, or says why that cannot be done.

use crate::record::time::rfc3339;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// The greatest size of a file, in bytes.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// How often a file is read that changes meanwhile.
const ATTEMPTS: usize = 3;

/// Twice the step of the clock by which kernels stamp files, at its coarsest.
const FRESH: Duration = Duration::from_millis(20);

/// The size of a file and when it was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    /// RFC 3339, to the millisecond.
    pub(super) time: String,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Stamp {
        let ms = metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000);
        Stamp { bytes: metadata.len(), time: rfc3339(ms) }
    }
}

/// Reads a regular file of at most `MAX_BYTES`. One that changes while it is read is read again. Fails if it
/// is another kind of file, larger, or always changes.
pub(super) fn read(path: &Path) -> Result<(Vec<u8>, Stamp), String> {
    for _ in 0..ATTEMPTS {
        // A FIFO must not block.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let file = file.map_err(|error| reason(&error))?;
        let before = file.metadata().map_err(|error| reason(&error))?;
        if !before.is_file() {
            return Err("not a regular file".to_owned());
        }
        let is_fresh = is_fresh(&before);
        let bytes = read_bounded(&file, before.len())?;
        if is_fresh {
            (&file).rewind().map_err(|error| reason(&error))?;
            if read_bounded(&file, before.len())? != bytes {
                continue;
            }
        }
        let after = file.metadata().map_err(|error| reason(&error))?;
        let unchanged = (before.len(), before.mtime(), before.mtime_nsec(), before.ctime_nsec())
            == (after.len(), after.mtime(), after.mtime_nsec(), after.ctime_nsec());
        if unchanged && bytes.len() as u64 == before.len() {
            return Ok((bytes, Stamp::of(&before)));
        }
    }
    Err("it changes while it is read".to_owned())
}

/// Whether a file was changed so lately that another change may leave its time as it is.
fn is_fresh(metadata: &Metadata) -> bool {
    metadata.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age < FRESH)
}

/// Reads at most `MAX_BYTES`; `expected` is how many there may be. Fails if there are more, or `input` does.
pub(super) fn read_bounded(input: impl Read, expected: u64) -> Result<Vec<u8>, String> {
    if expected > MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if bytes.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> String {
    format!("larger than {} MiB", MAX_BYTES >> 20)
}

pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
