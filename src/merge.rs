//! Consolidation: similar memories become one that takes their place.

mod cluster;
mod prior;
mod rule;
mod sentences;

pub use cluster::{Cluster, ConsolidationType};
pub use prior::consolidated_prior;
pub use rule::by_rule;
