//! Consolidation: similar memories become one that takes their place.

mod answer;
mod by_model;
mod by_rule;
mod cluster;
mod decide;
mod decide_by_model;
mod decision;
mod merge_run;
mod prior;
mod sentences;

pub use by_model::{by_model, requests};
pub use by_rule::by_rule;
pub use cluster::{Cluster, ConsolidationType};
pub use decide::decide;
pub use decide_by_model::decision_requests;
pub use merge_run::MergeRun;
pub use prior::consolidated_prior;
