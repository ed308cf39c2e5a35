//! Decides what a caller may see of the proxy's state: in `GET /health`, in `GET /metrics`, and in every page that shows
//! the same.

use crate::record::RequestScope;

/// The part of the proxy's state that a caller may see.
#[derive(PartialEq, Debug)]
pub(super) enum Visibility {
    Everything,
    /// The state of the whole process, and of partitions this one alone.
    Partition(String),
}

/// The part that a caller may see whom the guard has admitted: whoever has the token, or whoever is on this machine if
/// there is none, sees everything, unless the request itself names a partition. `named` is the scope in its address or its
/// headers.
pub(super) fn visible_to(named: Option<&RequestScope>) -> Visibility {
    match named {
        None => Visibility::Everything,
        Some(named) => Visibility::Partition(named.scope.partition.clone()),
    }
}

impl Visibility {
    /// Whether it includes what is known of a partition: its name, its numbers, and reasons that name what is in it.
    pub(super) fn includes(&self, partition: &str) -> bool {
        match self {
            Visibility::Everything => true,
            Visibility::Partition(own) => own == partition,
        }
    }
}
