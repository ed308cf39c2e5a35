//! The headers by which the response to a turn reports the work of memory.

use super::memory_mode::{MEMORY_HEADER, MemoryMode};
use crate::enrich::{Degraded, Enriched};
use crate::proxy::http::response::{
    DEGRADED_HEADER, HttpResponse, RECALLED_HEADER, TOKENS_HEADER, set_header, set_trace,
};
use crate::proxy::worker::{Precedence, degraded};
use crate::record::Account;

/// The account of a turn's enrichment, and its trace.
pub(super) struct TurnReport {
    account: Account,
    trace_id: String,
}

impl TurnReport {
    /// The report of an enriched request, with its account.
    pub(super) fn take(enriched: &mut Enriched) -> TurnReport {
        let trace_id = enriched.account_record.trace_id.clone();
        TurnReport { account: std::mem::take(&mut enriched.account), trace_id }
    }
}

/// Sets the headers of a turn: the account of its enrichment, if it came so far, why memory is degraded, and
/// its mode. `storing` says why turns cannot be stored. The response remembers the trace.
pub(super) fn set(
    response: &mut HttpResponse,
    report: Option<&TurnReport>,
    storing: Option<Degraded>,
    precedence: Precedence,
    mode: MemoryMode,
) {
    if let Some(report) = report {
        set_account(response, &report.account);
        set_trace(response, &report.trace_id);
    }
    if let Some(reason) = degraded::judge_turn(report.map(|report| &report.account), storing, precedence) {
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
