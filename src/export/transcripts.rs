//! Texts of conversations in a directory: a folder for each partition, and a file for each instance.

use crate::error::{Context, Result, failures};
use crate::file_name::FileNames;
use crate::record::Scope;
use crate::staging::StagingDir;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A new directory of transcripts, which gets its name when it is whole.
pub struct Transcripts {
    directory: PathBuf,
    /// The directory in which the files are written.
    new: PathBuf,
    _staging: StagingDir,
    names: FileNames,
    /// The file that was written last; conversations seldom alternate.
    open: Option<(Scope, PathBuf, BufWriter<File>)>,
}

impl Transcripts {
    /// Begins to write. Errors if there is something in the directory, or it is another file.
    pub fn create(directory: &Path) -> Result<Transcripts> {
        make(directory)?;
        // One that cannot be read may have files that would be overwritten.
        let is_empty = directory.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            return Err(ExportError::NotEmpty { path: directory.to_owned() }.into());
        }
        let context = format!("cannot make {}", directory.display());
        let directory = directory.canonicalize().context(context)?;
        let staging = StagingDir::beside(&directory)?;
        let new = staging.path().join("transcripts");
        make(&new)?;
        Ok(Transcripts { directory, new, _staging: staging, names: FileNames::default(), open: None })
    }

    /// Adds a text to the file of its conversation. Fails if the file cannot be written.
    pub fn add(&mut self, scope: &Scope, text: &[u8]) -> Result<()> {
        if self.open.as_ref().is_none_or(|(open, ..)| open != scope) {
            self.close()?;
            let partition = self.names.make("", &scope.partition, "");
            let folder = self.new.join(&partition);
            make(&folder)?;
            let path = folder.join(self.names.make(&partition, &scope.instance, ".md"));
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
            let file = file.context(format_args!("cannot write {}", path.display()))?;
            self.open = Some((scope.clone(), path, BufWriter::new(file)));
        }
        let Some((_, path, file)) = &mut self.open else { return Ok(()) };
        file.write_all(text).context(format_args!("cannot write {}", path.display()))
    }

    /// Writes the rest, and gives the directory its name. Fails if a file cannot be written, or the
    /// directory's name is taken.
    pub fn finish(mut self) -> Result<()> {
        self.close()?;
        std::fs::rename(&self.new, &self.directory)
            .context(format_args!("cannot make {}", self.directory.display()))
    }

    fn close(&mut self) -> Result<()> {
        let Some((_, path, mut file)) = self.open.take() else { return Ok(()) };
        file.flush().context(format_args!("cannot write {}", path.display()))
    }
}

fn make(directory: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.context(format_args!("cannot make {}", directory.display()))
}

failures! { enum ExportError {
    NotEmpty { path: PathBuf } ("{path} is not empty") => "name a directory that is empty, or does not exist yet",
} }
