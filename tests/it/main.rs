//! The tools as their users meet them: the real binaries, in an empty environment.
#![allow(clippy::unwrap_used)]

mod config;
mod door;
mod enrich;
mod ingest;
mod levels;
mod port;
mod robust;
mod scopes;
mod search;
mod store;
mod support;
mod view;
