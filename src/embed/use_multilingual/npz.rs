//! Arrays in NumPy's archives: a zip with a `.npy` file for each, whose format is
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use crate::embed::error::EmbedError;
use crate::error::{Context, Result};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use zip::ZipArchive;

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// An archive.
pub(super) struct Npz(ZipArchive<BufReader<File>>);

impl Npz {
    /// Opens an archive of arrays. Fails if it cannot be read or is no zip archive.
    pub(super) fn open(path: &Path) -> Result<Npz> {
        let file = File::open(path).context(format_args!("cannot read {}", path.display()))?;
        let archive = ZipArchive::new(BufReader::new(file));
        archive.map(Npz).context(format_args!("cannot read {}", path.display()))
    }

    /// The bytes of an array whose numbers have a type in NumPy's notation, such as `<f4`, row after row.
    /// Fails if there is none, or it has another type or order.
    pub(super) fn array(&mut self, name: &str, number_type: &str) -> Result<Vec<u8>> {
        let damaged = || EmbedError::NotAnArray { name: name.to_owned(), of: number_type.to_owned() };
        let member = self.0.by_name(&format!("{name}.npy"));
        let mut member = member.context(format_args!("there is no array {name}"))?;
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).context(format_args!("cannot read the array {name}"))?;
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let (header, array) =
            rest.split_at_checked(u16::from_le_bytes(*length).into()).ok_or_else(damaged)?;
        let header = String::from_utf8_lossy(header);
        let is_expected = header.contains(&format!("'descr': '{number_type}'"))
            && header.contains("'fortran_order': False");
        if is_expected { Ok(array.to_vec()) } else { Err(damaged().into()) }
    }
}
