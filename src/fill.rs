//! Vectors for the records that have none, and the one model that a store keeps to.
//!
//! The store remembers the model as a fact. While vectors of another model are being made, all is searched by
//! the old ones; the change is made when no record lacks a new one.

mod backfill;
mod claim;
mod model;
mod replay;

pub use backfill::{Filled, all, catch_up, catch_up_limit, embeddable, some};
pub use claim::claim;
pub use model::{embedder, is_wanted, model_of, optional, settle};
pub use replay::{Replayed, replay};
