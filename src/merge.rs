//! Consolidation: similar memories become one that takes their place.

mod answer;
mod by_model;
mod by_rule;
mod cluster;
mod prior;
mod sentences;

pub use by_model::{by_model, requests};
pub use by_rule::by_rule;
pub use cluster::{Cluster, ConsolidationType};
pub use prior::consolidated_prior;
