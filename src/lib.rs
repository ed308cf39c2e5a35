//! rsv: a long memory for language models.
//!
//! The rooms, each using only those above it (kept by `tests/it/levels.rs`):

pub mod error; // 0  what went wrong, and what helps

pub mod cli; // 1  arguments, streams, exit status
pub mod record; // 1  what a message, a link, an id, a time is

pub mod config; // 2  every setting as one row, from file, environment and flags

pub mod http; // 3  one client, its errors in words

pub mod provider; // 4  who serves a model, where, and with which key

pub mod forward; // 8  a request to its provider, the answer back
