//! rsv: a long memory for language models.
//!
//! The modules, by level: each uses only those of lower levels.

pub mod error; // 0  what went wrong, and what helps
pub mod file_name; // 0  names of files, from those that anybody may have given

pub mod project; // 1  which partition a project's directory has
pub mod record; // 1  what a message, a link, an id, a time is
pub mod staging; // 1  where what is not whole yet is written
pub mod vector; // 1  cosines, codes, unit vectors

pub mod chat; // 2  request, reply, the fence around what is recalled
pub mod lines; // 2  how lines are read, in threads
pub mod text; // 2  words, stems, dates, topics

pub mod api; // 3  requests and answers of the three APIs, as turns
pub mod cli; // 3  arguments, streams, exit status
pub mod ranking; // 3  the order of what is found, and every weight of it
pub mod tokens; // 3  counting, and what a model takes

pub mod config; // 4  every setting as one row, from file, environment and flags
pub mod view; // 4  messages as text for people

pub mod http; // 5  one client, its errors in words
pub mod redact; // 5  secrets in what is to be stored

pub mod embed; // 6  text into vectors, here or by somebody else's server
pub mod parse; // 6  files into a tree of documents
pub mod provider; // 6  who serves a model, where, and with which key

pub mod export; // 7  messages in the formats of other programs
pub mod import; // 7  the formats of other programs, as lines
pub mod store; // 7  where records are kept

pub mod backfill; // 8  vectors for the messages that have none
pub mod complete; // 8  what may stand at a place of a command line
pub mod forget; // 8  which records go, and what goes with them
pub mod ingest; // 8  records into the store
pub mod memory; // 8  what signals say of memories
pub mod tree; // 8  documents by their addresses

pub mod doctor; // 9  whether all is there, and what to do where it is not
pub mod link; // 9  which messages belong together

pub mod search; // 10  what is related to a question

pub mod enrich; // 11  what to recall, how much fits, how it is worded
pub mod picture; // 11  pictures of what is stored

pub mod forward; // 12  a request to its provider, the answer back

pub mod structured; // 13  a model's answer as JSON, by a schema

pub mod distill; // 14  sessions into memories
pub mod merge; // 14  similar memories into one
pub mod plan; // 14  the questions of a message, by a model

pub mod mcp; // 15  the tools of the suite for clients of the Model Context Protocol
pub mod proxy; // 15  the same steps chained behind HTTP
