//! A format of another program: how its inputs are recognized, and how they are read.

use super::conversation::ImportOptions;
use super::database::Database;
use super::file_log::FileLog;
use super::objects::Convert;
use super::sample::Sample;
use crate::error::Result;
use crate::lines::ObjectSource;
use crate::record::Object;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes of an input.
pub(super) type Bytes = Box<dyn Read + Send>;

/// The place of files that people download.
pub(super) const DOWNLOADS: &str = "~downloads";

/// A format of files with messages.
pub struct ImportFormat {
    /// Its name, for `--from`.
    pub name: &'static str,
    /// The files that have it, for people.
    pub about: &'static str,
    /// The places in a home directory where a program keeps such files; `*` is any one name, and
    /// [`DOWNLOADS`] the folder of downloads.
    pub places: &'static [&'static str],
    /// Whether its files have no times, so that `--from` and `--at` are needed.
    pub timeless: bool,
    /// Whether an input has it.
    pub(super) recognize: fn(&Sample) -> bool,
    pub(super) read: ReadFormat,
}

/// The way to read a format.
pub(super) enum ReadFormat {
    /// JSON objects that are lines of rsv already.
    Lines,
    /// JSON objects that become lines.
    Objects(fn(&ImportOptions, &Origin) -> Box<dyn Convert>),
    /// Text of another form than JSON.
    Text(fn(TextInput) -> Box<dyn ObjectSource>),
    /// An SQLite database.
    Database(DatabaseFormat),
}

/// The origin of an input.
pub(super) struct Origin<'a> {
    /// Its name for messages: that of a file in an archive, too.
    pub(super) name: &'a str,
    /// Its path, if it is a file, beside which others may be.
    pub(super) path: Option<&'a Path>,
    /// Opens another file; its path is relative to the folder of this one, in a file system or an archive.
    pub(super) other: &'a dyn Fn(&str) -> Option<Bytes>,
}

impl Origin<'_> {
    /// The name without its folder and its extensions; none of a stream.
    pub(super) fn stem(&self) -> Option<String> {
        stem(self.name)
    }

    /// The name of the folder.
    pub(super) fn folder(&self) -> Option<String> {
        Some(Path::new(self.name).parent()?.file_name()?.to_str()?.to_owned())
    }

    /// The text of another file, whose path is relative to the folder.
    pub(super) fn text_of(&self, path: &str) -> Option<String> {
        /// A longer text is cut, so that it is no object any more.
        const MOST_BYTES: u64 = 64 << 20;
        let mut text = String::new();
        (self.other)(path)?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// The beginning of the text of another file, whose path is relative to the folder.
    pub(super) fn beginning_of(&self, path: &str) -> Option<String> {
        const BYTES: u64 = 64 << 10;
        let mut bytes = Vec::new();
        (self.other)(path)?.take(BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The JSON object in another file, whose path is relative to the folder.
    pub(super) fn sibling(&self, path: &str) -> Option<Object> {
        Object::parse(&self.text_of(path)?).ok()
    }
}

/// Opens files by their paths relative to the folder of a file.
pub(super) fn beside(path: Option<&Path>) -> impl Fn(&str) -> Option<Bytes> {
    let folder = path.and_then(Path::parent).map(Path::to_owned);
    move |path| {
        let path = folder.as_ref()?.join(path);
        path.is_file().then(|| File::open(path).ok())?.map(|file| Box::new(file) as Bytes)
    }
}

/// The name of an input without its folder and its extensions; none of a stream.
pub(super) fn stem(name: &str) -> Option<String> {
    let name = Path::new(name).file_name()?.to_str()?;
    Some(name.split('.').next()?.to_owned()).filter(|stem| !stem.is_empty() && !stem.starts_with('<'))
}

/// An input of text.
pub(super) struct TextInput<'a> {
    pub(super) name: &'a str,
    pub(super) bytes: Bytes,
    pub(super) options: &'a ImportOptions,
    /// The outcome of the files so far.
    pub(super) files: &'a FileLog,
}

/// The way to read the databases of a program.
pub(super) struct DatabaseFormat {
    /// Whether a database is one of these.
    pub(super) recognize: fn(&Database) -> bool,
    pub(super) open: fn(&str, Database, &ImportOptions) -> Result<Box<dyn ObjectSource>>,
}
