//! Reads the formats of other programs, as lines of rsv. `formats.rs` lists them; each has a file of its
//! name.
//!
//! `input.rs` opens folders, archives and compressed files one after the other, and `sample.rs` recognizes
//! each by its beginning. `watch.rs` waits for what programs write, of which `growing_file.rs` reads on as
//! far as it is whole. Names of files are only shown, and nothing is extracted.

mod account;
mod aichat;
mod aichat_session;
mod blocks;
mod cgip;
mod changed_files;
mod chatgpt;
mod citations;
mod claude;
mod claude_code;
mod codex;
mod contents;
mod conversation;
mod database;
mod file_log;
mod find;
mod format;
mod formats;
mod gemini;
mod growing_file;
mod input;
mod llm;
mod markdown;
mod memory_lists;
mod objects;
mod ollama;
mod openai;
mod opencode;
mod own_lines;
mod read_files;
mod sample;
mod table;
mod times;
mod watch;
mod zip_archive;

pub use conversation::ImportOptions;
pub use file_log::FileLog;
pub use find::{FoundFiles, find, session_directories};
pub use format::ImportFormat;
pub use formats::{formats, named};
pub use input::{Input, Sources, check_link};
pub use read_files::ReadFiles;
pub use watch::{StopWatch, Watch};
