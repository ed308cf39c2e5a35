//! A selection as the parameters of a statement.

use super::record_node;
use super::values::Params;
use crate::record::{RecordKind, Scope, Scopes};
use crate::store::select::{Collection, Select};

/// A count as the server takes it.
pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The conditions of a selection except its kinds, as parameters.
pub(super) fn select_params(which: &Select) -> Params {
    record_node::with_conditions(scopes_params(&which.scopes), which)
}

/// The names of scopes as parameters.
pub(super) fn scopes_params(scopes: &Scopes) -> Params {
    match scopes {
        Scopes::All => Params::new(),
        Scopes::Matching(filter) => Params::new()
            .with_texts(
                "of_partitions",
                filter.regular_expressions().collect::<Vec<_>>().iter().map(String::as_str),
            )
            .with_texts("not_partitions", filter.except().iter().map(String::as_str)),
        Scopes::Partition(partition) => Params::new().with("partition", partition.as_str()),
        Scopes::One(scope) => scope_params(scope),
    }
}

/// The names of one scope as parameters.
pub(super) fn scope_params(scope: &Scope) -> Params {
    Params::new().with("partition", scope.partition.as_str()).with("instance", scope.instance.as_str())
}

/// The names of kinds as a parameter.
pub(super) fn with_kinds(params: Params, kinds: &[&RecordKind]) -> Params {
    params.with_texts("kinds", kinds.iter().map(|kind| kind.name))
}

/// The names of a collection as parameters.
pub(super) fn collection_params(kind: &str, scope: &Scope) -> Params {
    scope_params(scope).with("kind", kind)
}

/// The names of the partition and of the instances of some collections of one partition as parameters.
pub(super) fn instances_params(collections: &[Collection]) -> Params {
    let partition = collections.first().map(|collection| collection.scope.partition.as_str());
    let instances = collections.iter().map(|collection| collection.scope.instance.as_str());
    Params::new().with("partition", partition).with_texts("instances", instances)
}
