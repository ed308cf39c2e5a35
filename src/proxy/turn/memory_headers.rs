//! The headers by which the response to a turn reports the work of memory.

use super::memory_mode::{MEMORY_HEADER, MemoryMode};
use crate::enrich::Degraded;
use crate::proxy::http::response::{
    DEGRADED_HEADER, HttpResponse, RECALLED_HEADER, TOKENS_HEADER, set_header,
};
use crate::record::Account;

/// Sets the headers of a turn: the account of its enrichment, why memory is degraded, and its mode.
pub(super) fn set(
    response: &mut HttpResponse,
    account: Option<&Account>,
    degraded: Option<Degraded>,
    mode: MemoryMode,
) {
    if let Some(account) = account {
        set_account(response, account);
    }
    if let Some(reason) = degraded {
        set_header(response, DEGRADED_HEADER, &reason.to_string());
    }
    set_mode(response, mode);
}

/// Sets the header of the mode.
pub(super) fn set_mode(response: &mut HttpResponse, mode: MemoryMode) {
    set_header(response, MEMORY_HEADER, mode.name());
}

fn set_account(response: &mut HttpResponse, account: &Account) {
    let recalled = account.recalled.len() + account.recent.len();
    set_header(response, RECALLED_HEADER, &recalled.to_string());
    set_header(response, TOKENS_HEADER, &account.counted.to_string());
}
