//! The titles of instances: those that are stored, else the first questions.

use super::api::Store;
use super::error::StoreFault;
use super::select::{Select, Walk};
use crate::error::Result;
use crate::record::{Role, Scope, Scopes, TITLE, title_id, title_of_question};
use std::collections::{BTreeMap, BTreeSet};

/// The most instances whose first questions are looked for.
const MAX_DERIVED: usize = 50;

/// The titles of some instances; none for one without a title and a question. Fails if the store does.
pub fn titles(store: &mut dyn Store, scopes: &BTreeSet<Scope>) -> Result<BTreeMap<Scope, String>> {
    let ids: Vec<String> = scopes.iter().map(title_id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let stored = store.get(&ids, &Select::records(vec![&TITLE], Scopes::All))?;
    let mut titles: BTreeMap<Scope, String> =
        stored.into_iter().map(|title| (title.scope.clone(), title.shown_text().into_owned())).collect();
    // An instance that nobody named holds more than one conversation.
    let is_derived = |scope: &&Scope| !titles.contains_key(scope) && !scope.is_of_partition_alone();
    for scope in scopes.iter().filter(is_derived).take(MAX_DERIVED).collect::<Vec<_>>() {
        if let Some(question) = first_question(store, scope)? {
            titles.insert(scope.clone(), title_of_question(&question));
        }
    }
    Ok(titles)
}

/// The first message of a user in an instance that says something.
fn first_question(store: &mut dyn Store, scope: &Scope) -> Result<Option<String>> {
    let which = Select { roles: vec![Role::User], ..Select::messages(Scopes::One(scope.clone())) };
    let mut question = None;
    let walked = store.walk(&Walk::records(which), &mut |message| match message.stored() {
        Some(message) if !message.text.trim().is_empty() => {
            question = Some(message.text.clone());
            Err(StoreFault::Enough.into())
        }
        _ => Ok(()),
    });
    match question {
        Some(question) => Ok(Some(question)),
        None => {
            walked?;
            Ok(None)
        }
    }
}
