//! The faults of embedding models, of their files, and of servers that embed.

use crate::error::{Failure, Hint};
use crate::http::{Address, RequestError, reason_phrase};
use std::io;
use std::path::PathBuf;

/// The reason why there is no vector, or no model.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    #[error("no embedding model is installed")]
    NoModel,
    /// `fetch` is the model that can be fetched.
    #[error("the embedding model {id} is not installed")]
    NotInstalled { id: String, fetch: Option<String> },
    #[error("unknown embedding model: {name}")]
    UnknownModel { name: String, help: &'static str },
    #[error("{name}: {id:?} cannot be the name of a model")]
    ModelName { name: String, id: String },
    #[error("embed.model is not set, and the server needs the name of a model")]
    Unnamed,
    #[error("{id} is downloaded by pip, which is missing")]
    NoPip { id: String },
    #[error("{program} failed: see above")]
    Program { program: String },
    #[error("{}: there is no {name}", .directory.display())]
    NoFile { directory: PathBuf, name: String },
    #[error("{} is damaged", .0.display())]
    Damaged(PathBuf),
    #[error("{} is damaged", .path.display())]
    Invalid { path: PathBuf, source: tokenizers::Error },
    #[error("{} is damaged: it has {found} bytes instead of {expected}", .path.display())]
    Length { path: PathBuf, found: u64, expected: u64 },
    #[error("{name} has the wrong checksum: {found} instead of {expected}")]
    Checksum { name: String, found: String, expected: String },
    #[error("{}: {}", .path.display(), json_fault(.source, "has unexpected JSON", "is not valid JSON"))]
    Description { path: PathBuf, source: serde_json::Error },
    #[error("window: expected more than 2 tokens")]
    Window,
    #[error("{0} is not a vocabulary of SentencePiece")]
    NotAVocabulary(&'static str),
    #[error("{name} is not an array of {number_type}")]
    NotAnArray { name: String, number_type: String },
    #[error("cannot read it back")]
    NoForm,
    #[error("the fast form returns another vector")]
    OtherVector,
    #[error("ONNX Runtime's library is not installed: tried {0}")]
    NoLibrary(String),
    #[error("is not a library")]
    NotALibrary,
    #[error("is cut short: {found} of {expected} bytes")]
    CutShort { found: u64, expected: u64 },
    #[error("{0}")]
    Unopened(io::ErrorKind),
    /// The loader's words.
    #[error("{0}")]
    Loader(String),
    #[error("the tokenizer was not read: its thread panicked")]
    TokenizerPanicked,
    #[error("a thread that embeds panicked")]
    Panicked,
    #[error("the model returned no vector")]
    NoVector,
    #[error("the model returned too few vectors")]
    TooFewVectors,
    #[error("the model returned {found} numbers instead of {dim}")]
    Dimension { found: usize, dim: usize },
    #[error("{id} makes vectors of {dim} numbers, which is not their known length")]
    OtherDimension { id: String, dim: usize },
    #[error("the model returned a vector that is not finite or is zero")]
    NotAUnitVector,
    #[error("has no direction: all its numbers are 0")]
    NoDirection,
    #[error("embed.via: {0:?} is not a server")]
    NotAServer(String),
    #[error("no key for {address}: {variable} is not set")]
    NoKey { address: Address, variable: String },
    #[error("the key for {address} would be sent there in the clear")]
    Plaintext { address: Address, setting: &'static str },
    #[error("cannot embed with {address}")]
    Unanswered { address: Address, source: RequestError },
    #[error("cannot embed with {address}: answered {status} {}{message}", reason_phrase(*.status))]
    Refused { address: Address, status: u16, message: String },
    #[error("cannot embed with {address}: {fault}")]
    Answer { address: Address, fault: String },
    /// An earlier attempt failed, perhaps one of another process, and it is too early for the next.
    #[error("{cause}")]
    Outage { cause: String, help: Option<String> },
    #[error("{}", json_fault(.0, "unexpected JSON", "no JSON object"))]
    Json(#[source] serde_json::Error),
    #[error("index: belongs to no text, or occurs twice")]
    Index,
    #[error("{found} vectors for {expected} texts")]
    Count { found: usize, expected: usize },
}

impl Failure for EmbedError {
    fn hint(&self) -> Hint {
        Some(match self {
            EmbedError::NoModel => "rsv-embed --fetch".into(),
            EmbedError::NotInstalled { fetch: Some(id), .. } => format!("rsv-embed --fetch {id}").into(),
            EmbedError::NotInstalled { fetch: None, .. } => {
                "rsv-embed --models lists those that are known".into()
            }
            EmbedError::UnknownModel { help, .. } => (*help).into(),
            EmbedError::ModelName { .. } => "rename it".into(),
            EmbedError::Unnamed => "rsv-config set embed.model MODEL".into(),
            EmbedError::NoPip { .. } => {
                "install python3-pip; if you have the files, use --from DIRECTORY".into()
            }
            EmbedError::NotAServer(_) => {
                "set it to local, proxy, openai, ollama, or an address: http://HOST:PORT/v1".into()
            }
            EmbedError::NoKey { variable, .. } => format!("set {variable}").into(),
            EmbedError::Plaintext { setting, .. } => format!("give an https address: {setting}").into(),
            EmbedError::Outage { help, .. } => help.clone()?.into(),
            _ => return None,
        })
    }
}

fn json_fault(error: &serde_json::Error, data: &'static str, syntax: &'static str) -> &'static str {
    if error.is_data() { data } else { syntax }
}
