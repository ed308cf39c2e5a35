//! The table of kinds. A new kind is a row here and a file with its particulars.

use super::account::ACCOUNT;
use super::action::ACTION;
use super::document::DOCUMENT;
use super::memory::MEMORY;
use super::message::MESSAGE;
use super::recall_rule::RECALL;
use super::signal::SIGNAL;
use super::stored::RecordKind;
use super::title::TITLE;
use std::sync::RwLock;

/// Every kind of records that rsv stores.
const BUILT_IN_KINDS: [&RecordKind; 8] =
    [&MESSAGE, &ACCOUNT, &MEMORY, &DOCUMENT, &SIGNAL, &TITLE, &RECALL, &ACTION];

/// Kinds that a program which uses the library has added.
static REGISTERED_KINDS: RwLock<Vec<&RecordKind>> = RwLock::new(Vec::new());

/// Adds a kind of one's own for as long as the process runs. One whose name is known already stays as it is.
pub fn register(kind: &'static RecordKind) {
    if kind_named(kind.name).is_none() {
        REGISTERED_KINDS.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(kind);
    }
}

/// The kind of a name.
pub fn kind_named(name: &str) -> Option<&'static RecordKind> {
    let built_in = BUILT_IN_KINDS.into_iter().find(|kind| kind.name == name);
    built_in.or_else(|| registered().into_iter().find(|kind| kind.name == name))
}

/// All kinds, in the order of the table.
pub fn kinds() -> Vec<&'static RecordKind> {
    BUILT_IN_KINDS.into_iter().chain(registered()).collect()
}

fn registered() -> Vec<&'static RecordKind> {
    REGISTERED_KINDS.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}
