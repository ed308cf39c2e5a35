//! Instances by the first letters of their names.

use super::api::Store;
use super::error::StoreFault;
use crate::error::Result;
use crate::record::Scope;

/// The fewest letters that stand for an instance.
const MIN_LETTERS: usize = 4;

/// The number of candidates that an error names.
const MAX_CANDIDATES: usize = 8;

/// The scope that a person named: itself, if it has records or no other begins so, else the only one of its
/// partition whose instance begins with these letters. Errors if there are several, and names them.
pub fn full_scope(store: &mut dyn Store, given: Scope) -> Result<Scope> {
    let exists = store.scopes(Some(&given.instance))?.iter().any(|(scope, _)| *scope == given);
    if exists || given.instance.chars().count() < MIN_LETTERS {
        return Ok(given);
    }
    let mut begun: Vec<Scope> = store.scopes(None)?.into_iter().map(|(scope, _)| scope).collect();
    begun.retain(|scope| scope.partition == given.partition && scope.instance.starts_with(&given.instance));
    match &begun[..] {
        [] => Ok(given),
        [_] => Ok(begun.remove(0)),
        _ => {
            let mut names: Vec<String> =
                begun.iter().take(MAX_CANDIDATES).map(|scope| scope.instance.clone()).collect();
            if begun.len() > names.len() {
                names.push(format!("and {} more", begun.len() - names.len()));
            }
            let (count, candidates) = (begun.len(), names.join("; "));
            Err(StoreFault::AmbiguousInstance { scope: given, count, candidates }.into())
        }
    }
}
