//! Decides what a caller may see of the proxy's state: in `GET /health`, in `GET /metrics`, and in every page
//! that shows the same.

use crate::access::{Caller, Right};
use crate::record::RequestScope;

/// The part of the proxy's state that a caller may see.
pub(super) struct Visibility {
    caller: Caller,
    /// The partition that the request itself names.
    named: Option<String>,
}

/// The part that a caller may see whom the guard has admitted: of the partitions its own or, if the request
/// names one, that one alone. `named` is the scope in its address or its headers.
pub(super) fn visible_to(caller: &Caller, named: Option<&RequestScope>) -> Visibility {
    Visibility { caller: caller.clone(), named: named.map(|named| named.scope.partition.clone()) }
}

impl Visibility {
    /// Whether it includes every partition.
    pub(super) fn includes_all(&self) -> bool {
        self.named.is_none() && self.caller.sees_all()
    }

    /// Whether it includes what is known of a partition: its name, its numbers, and reasons that name what is
    /// in it.
    pub(super) fn includes(&self, partition: &str) -> bool {
        self.named.as_ref().is_none_or(|named| named == partition) && self.caller.sees(partition)
    }

    /// Whether it includes the numbers of the whole process, which tell what others do.
    pub(super) fn includes_process(&self) -> bool {
        self.caller.has(Right::Admin)
    }
}
