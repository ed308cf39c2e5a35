//! Why a file is not read.

/// Why a PDF of pictures is not read.
pub(super) const NO_WORDS: &str = "no words on its pages, which are pictures or scanned";
/// Why an encrypted PDF is not read.
pub(super) const PASSWORD: &str = "encrypted with a password";

/// Why a file is not read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Reason {
    /// Files of this kind are not, whatever is in them.
    #[error("{1}")]
    Kind(UnreadKind, String),
    /// This one cannot be.
    #[error("{0}")]
    Failed(String),
}

/// A kind of files that are not read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UnreadKind {
    Picture,
    Sound,
    Video,
    Scan,
    /// A PDF that only its password opens.
    Locked,
    Archive,
    /// A document that may have words.
    Document,
    Binary,
}

impl UnreadKind {
    /// The kind of a media type.
    pub(super) fn of_mime(mime: &str) -> UnreadKind {
        const DOCUMENTS: [&str; 8] = [
            "msword",
            "ms-excel",
            "ms-powerpoint",
            "officedocument",
            "opendocument",
            "rtf",
            "postscript",
            "mobipocket",
        ];
        const ARCHIVES: [&str; 9] =
            ["compress", "zip", "x-tar", "x-7z", "x-xz", "zstd", "vnd.rar", "x-lz", "x-archive"];
        let has = |words: &[&str]| words.iter().any(|word| mime.contains(word));
        match mime.split('/').next() {
            Some("image") => UnreadKind::Picture,
            Some("audio") => UnreadKind::Sound,
            Some("video") => UnreadKind::Video,
            _ if has(&DOCUMENTS) => UnreadKind::Document,
            _ if has(&ARCHIVES) => UnreadKind::Archive,
            _ => UnreadKind::Binary,
        }
    }

    /// So many of them, such as `3 pictures`.
    pub fn count(self, count: usize) -> String {
        let (one, many) = match self {
            UnreadKind::Picture => ("picture", "pictures"),
            UnreadKind::Sound => ("sound file", "sound files"),
            UnreadKind::Video => ("video", "videos"),
            UnreadKind::Scan => ("scanned PDF", "scanned PDFs"),
            UnreadKind::Locked => ("PDF with a password", "PDFs with a password"),
            UnreadKind::Archive => (
                "archive (--archives opens zip, tar and gzip)",
                "archives (--archives opens zip, tar and gzip)",
            ),
            UnreadKind::Document => ("document of another format", "documents of other formats"),
            UnreadKind::Binary => ("binary file", "binary files"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

impl Reason {
    /// Why a PDF is not read. The process that reads it is `rsv-parse --text`, which says the reason in the
    /// words that people see; a kind beside them would be one more line on their screens. Both processes are
    /// one executable, so that their constants are the same.
    pub(super) fn of_pdf(reason: String) -> Reason {
        match &*reason {
            NO_WORDS => Reason::Kind(UnreadKind::Scan, reason),
            PASSWORD => Reason::Kind(UnreadKind::Locked, reason),
            _ => Reason::Failed(reason),
        }
    }
}

impl From<String> for Reason {
    fn from(reason: String) -> Reason {
        Reason::Failed(reason)
    }
}
