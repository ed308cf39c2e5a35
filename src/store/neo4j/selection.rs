//! A selection as the parameters of a statement.

use super::values::Params;
use crate::record::{RecordKind, Scope, Scopes};
use crate::store::select::{Below, Select};
use neo4rs::{BoltMap, BoltNull, BoltType};

/// A count as the server takes it.
pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The conditions of a selection except its kinds, as parameters.
pub(super) fn select_params(which: &Select) -> Params {
    let until = [which.until, which.before.as_ref().map(|position| position.timestamp)];
    let until = until.into_iter().flatten().min().unwrap_or(i64::MAX);
    let before = which.before.as_ref().map(|position| {
        let position = Params::new()
            .with("timestamp", position.timestamp)
            .with("seq", i64::from(position.seq))
            .with("id", position.id.as_str());
        BoltType::Map(BoltMap::from(position))
    });
    let roles = which.roles.iter().map(|role| role.name()).collect::<BoltType>();
    let params = scopes_params(&which.scopes)
        .with("trace_id", which.trace_id.clone())
        .with("key", which.key.clone())
        .with("below", which.below.as_ref().and_then(Below::only_prefix))
        .with("slashes", which.below.as_ref().and_then(Below::max_slashes).map_or(i64::MAX, number))
        .with("roles", if which.roles.is_empty() { BoltType::Null(BoltNull) } else { roles })
        .with("since", which.since.unwrap_or(i64::MIN))
        .with("until", until)
        .with("before", before.unwrap_or(BoltType::Null(BoltNull)));
    params
        .with_texts("prefixes", which.below.iter().flat_map(|below| &below.prefixes).map(String::as_str))
        .with_texts("roots", which.below.iter().flat_map(|below| &below.roots).map(String::as_str))
        .with_texts("only", which.only.iter().flatten().map(String::as_str))
        .with_texts("traces", which.except.traces.iter().map(String::as_str))
        .with_texts("ids", which.except.ids.iter().map(String::as_str))
}

/// The names of scopes as parameters.
pub(super) fn scopes_params(scopes: &Scopes) -> Params {
    match scopes {
        Scopes::All => Params::new(),
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
