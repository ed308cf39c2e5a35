//! Memories: their confidence, uses and state, which follow from signals and links.

mod archived;
mod confidence;
mod derived;
mod listing;
mod signals;
mod stats;

pub use archived::link_archived;
pub use confidence::{Beta, Evidence, PriorRule, Weights};
pub use derived::{
    confidence_of, decimal, derive, derive_for_export, derive_times, derive_untimed, is_active, is_trusted,
    weights_of,
};
pub use listing::{State, entry, evidence, last, row};
pub use signals::{NewSignal, store_signals};
pub use stats::{Stats, stats};
