//! Ranking: the order of records by their words (`bm25.rs`, and `window.rs` by their passages), and every weight and
//! threshold (`weights.rs`).

pub(crate) mod bm25;
pub(crate) mod weights;
pub(crate) mod window;
