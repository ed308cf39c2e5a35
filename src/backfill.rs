//! Vectors for the records that have none, and the one model that a store keeps to.
//!
//! The store remembers the model as a fact. While vectors of another model are being made, searches use the
//! old ones; the store changes its model when every record has a new one.

mod claim;
mod language;
mod model;
mod pending;
mod replay;

pub use claim::claim;
pub use language::suitable_model;
pub use model::{embedder, is_wanted, model_of, optional, settle};
pub use pending::{Backfilled, all, catch_up, catch_up_limit, catch_up_until, embeddable, newest};
pub use replay::{Replayed, replay};
