//! The formats of other programs: those that are read (`formats.rs` lists them, each has a file of its name), and those
//! that are written (`export.rs`).

mod account;
mod aichat;
mod aichat_session;
mod blocks;
mod cgip;
mod changed_files;
mod chatgpt;
mod claude;
mod claude_code;
mod codex;
mod contents;
mod conversation;
mod database;
mod export;
mod find;
mod fine_tuning;
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
mod read_files;
mod sample;
mod table;
mod transcripts;
mod watch;
mod zip_archive;

pub use conversation::ImportOptions;
pub use export::Format;
pub use find::{FoundFiles, find, session_directories};
pub use fine_tuning::FineTuning;
pub use format::ImportFormat;
pub use formats::{formats, named};
pub use input::{Input, Sources};
pub use read_files::ReadFiles;
pub use transcripts::Transcripts;
pub use watch::{StopWatch, Watch};
