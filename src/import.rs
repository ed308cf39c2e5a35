//! Reads the formats of other programs, as lines of rsv. `formats.rs` lists them; each has a file of its
//! name.
//!
//! `input.rs` opens folders, archives and compressed files one after the other, and `sample.rs` recognizes
//! each by its beginning. `watch.rs` waits for what programs write, of which `growing_file.rs` reads on as
//! far as it is whole. Names of files are only shown, and nothing is extracted. A member that is missing, or
//! of another form than in the versions that are known, counts as absent: the words around it are worth more.

mod account;
mod aichat;
mod aichat_session;
mod aider;
mod blocks;
mod calls;
mod cgip;
mod changed_files;
mod chat_backend;
mod chatgpt;
mod citations;
mod claude;
mod claude_code;
mod cline;
mod codex;
mod contents;
mod conversation;
mod copilot_chat;
mod copilot_cli;
mod cursor;
mod database;
mod error;
mod file_log;
mod find;
mod format;
mod formats;
mod gemini;
mod goose;
mod growing_file;
mod input;
mod librechat;
mod llm;
mod lm_studio;
mod markdown;
mod memory_lists;
mod objects;
mod ollama;
mod open_webui;
mod openai;
mod opencode;
mod opencode_tree;
mod own_lines;
mod qwen_code;
mod read_files;
mod sample;
mod slack;
mod table;
mod times;
mod watch;
mod whatsapp;
mod zed;
mod zip_archive;

pub use conversation::ImportOptions;
pub use error::ImportError;
pub use file_log::FileLog;
pub use find::{FoundFiles, HomePlaces, find, session_directories};
pub use format::ImportFormat;
pub use formats::{formats, named, resume_command};
pub use input::{Input, Sources, check_link, decompressed};
pub use read_files::ReadFiles;
pub use watch::{StopWatch, Watch};
