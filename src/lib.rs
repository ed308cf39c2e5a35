//! rsv: a long memory for language models.
//!
//! The modules, by level: each uses only those of lower levels.

pub mod error; // 0  errors, with causes and hints
pub mod file_name; // 0  safe file names, from untrusted ones

pub mod project; // 1  the partition of a project's directory
pub mod record; // 1  messages, links, ids, times
pub mod staging; // 1  files that replace others once they are complete
pub mod vector; // 1  cosines, codes, unit vectors

pub mod chat; // 2  request, reply, the fence around recalled text
pub mod lines; // 2  reading lines, in threads
pub mod text; // 2  words, stems, dates, topics
pub mod worktree; // 2  files and commits that texts name, as they are now

pub mod api; // 3  requests and answers of the three APIs, as turns
pub mod cli; // 3  arguments, streams, exit status
pub mod ranking; // 3  scores of search, and all their weights
pub mod tokens; // 3  token counts, and the windows of models

pub mod config; // 4  every setting as one row, from file, environment and flags
pub mod view; // 4  messages as text for people

pub mod access; // 5  access tokens, their partitions and rights
pub mod http; // 5  one client, its errors in words
pub mod redact; // 5  secrets in records to store

pub mod embed; // 6  text into vectors, on this machine or by a server
pub mod parse; // 6  files into a tree of documents
pub mod provider; // 6  the provider of a model, its address and key

pub mod import; // 7  the formats of other programs, as lines
pub mod store; // 7  storage of records

pub mod backfill; // 8  vectors for the messages that have none
pub mod complete; // 8  completions of a command line
pub mod forget; // 8  records to remove, with their dependents
pub mod ingest; // 8  records into the store
pub mod memory; // 8  confidence of memories, from signals
pub mod recall_rules; // 8  messages that are recalled always, or never
pub mod tree; // 8  documents by their addresses

pub mod export; // 9  records as lines, messages in other formats
pub mod import_run; // 9  an import from its first line to its report
pub mod link; // 9  links between related messages
pub mod statement; // 9  statements about memories and messages

pub mod search; // 10  search, by words, meaning and links

pub mod enrich; // 11  recall: its choice, size and wording
pub mod picture; // 11  pictures of stored records
pub mod setup; // 11  the first settings, by what is there

pub mod doctor; // 12  checks of an installation, with remedies
pub mod forward; // 12  a request to its provider, the answer back

pub mod ask; // 13  a conversation with a model, at a prompt
pub mod structured; // 13  a model's answer as JSON, by a schema

pub mod distill; // 14  sessions into memories
pub mod merge; // 14  similar memories into one
pub mod plan; // 14  the questions of a message, by a model

pub mod mcp; // 15  the tools of the suite for clients of the Model Context Protocol
pub mod show; // 15  stored records and hits as the tools print them

pub mod proxy; // 16  the same steps behind HTTP

mod tool; // 17  the head of every tool
