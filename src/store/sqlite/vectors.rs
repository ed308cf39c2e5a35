//! Vectors, and the index that finds the nearest: pages of codes (`code_page.rs`), which a process that
//! searches often keeps (`code_cache.rs`); those of small collections are in pools (`code_pool.rs`).
//! `unembedded.rs` and `unlinked.rs` have the marks of what waits for a vector or for links.

mod checksum;
pub(super) mod code_cache;
pub(super) mod code_page;
pub(super) mod code_pool;
pub(super) mod code_scope;
pub(super) mod embedding;
pub(super) mod measure;
pub(super) mod nearest;
pub(super) mod unembedded;
pub(super) mod unlinked;
