//! Ranking: the order of records by the words of a question (`query_token.rs`,
//! `bm25.rs`, and `window.rs` by their passages), and every weight and
//! threshold (`weights.rs`).

pub(crate) mod bm25;
pub(crate) mod query_token;
pub(crate) mod weights;
pub(crate) mod window;
