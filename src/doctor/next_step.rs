//! The one command that helps most, by what there is.

use super::store_summary::StoreSummary;
use crate::backfill;
use crate::config::Settings;
use crate::error::Result;
use crate::setup;

/// The state of the setup, besides that of the store.
pub(super) struct Situation<'a> {
    pub(super) settings: &'a Settings,
    pub(super) has_settings_file: bool,
    /// The command that sets up missing parts of the provider.
    pub(super) provider_remedy: Option<String>,
    pub(super) has_embedding_model: bool,
}

/// The command to run next, or several to choose from.
pub(super) fn next_step(situation: &Situation, summary: &Result<StoreSummary>) -> String {
    let Situation { settings, has_settings_file, provider_remedy, has_embedding_model } = situation;
    let Ok(store) = summary else { return "rsv-config doctor".to_owned() };
    if let Some(remedy) = provider_remedy {
        return remedy.clone();
    }
    let has_model = settings.text("model").is_some();
    let (is_empty, can_import) =
        (store.messages() == 0, !store.has_imports && setup::has_histories(settings));
    let step = if is_empty && can_import {
        if *has_settings_file { "rsv-import --find" } else { "rsv-config init" }
    } else if !has_embedding_model {
        if has_model { "rsv-embed --fetch" } else { "rsv-config init" }
    } else if is_empty {
        "rsv-ingest -p garden \"The tomatoes stand by the warm wall.\""
    } else if store.unembedded > backfill::catch_up_limit(settings) as u64 {
        "rsv-embed --pending"
    } else if can_import {
        "rsv-import --find"
    } else if setup::has_client_without_entry(settings) {
        "rsv-config init --mcp"
    } else if !has_model {
        // 'init' was answered without one.
        "rsv-config set model MODEL, or give --model MODEL to rsv-ask"
    } else {
        "rsv-ask, rsv-search, rsv-view; see 'rsv --help'"
    };
    step.to_owned()
}
