//! A summary for people: the present state, and what to do next.

use super::files::with_check_timeout;
use crate::config::Settings;
use crate::embed;
use crate::error::Result;
use crate::provider::Providers;
use crate::record::Scope;
use crate::store::{self, OpenMode};
use crate::view::visible;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The number of partitions that are named, those with the most messages.
const MAX_PARTITIONS: usize = 5;

/// The lines of the summary: a name and a text each.
pub struct Status(Vec<(&'static str, String)>);

/// The store's part of the summary.
pub(super) struct StoreSummary {
    /// The scopes with their numbers of messages.
    scopes: Vec<(Scope, u64)>,
    /// The number of records that are indexed as by an earlier release.
    outdated: u64,
}

impl StoreSummary {
    pub(super) fn read(settings: &Settings) -> Result<StoreSummary> {
        let mut store = store::open(&with_check_timeout(settings.store()?), OpenMode::Existing)?;
        Ok(StoreSummary { scopes: store.scopes(None)?, outdated: store.outdated_words()? })
    }
}

impl Status {
    /// Summarizes the settings, and what was found of the store and the proxy.
    pub(super) fn new(
        settings: &Settings,
        settings_file: Result<PathBuf>,
        summary: Result<StoreSummary>,
        proxy: Result<String>,
    ) -> Status {
        let text = |found: Result<String>| found.unwrap_or_else(|error| error.to_string());
        let file = text(settings_file.map(|path| {
            let missing = if path.exists() { "" } else { ", which does not exist yet" };
            format!("{}{missing}", path.display())
        }));
        let (model, missing_provider) = model(settings);
        let embedding = embedding(settings);
        let has_model = settings.text("model").is_some();
        let next = match (&summary, missing_provider, &embedding) {
            (Err(_), ..) => "rsv-config doctor".to_owned(),
            (_, Some(command), _) => command,
            (_, None, None) if !has_model => "rsv-config init".to_owned(),
            (_, None, None) => "rsv-embed --fetch".to_owned(),
            (Ok(StoreSummary { scopes, .. }), ..) if count(scopes) == 0 => {
                "rsv-ingest -p garden \"The tomatoes stand by the warm wall.\"".to_owned()
            }
            // 'init' was answered without one.
            _ if !has_model => "rsv-config set model MODEL, or give --model MODEL to rsv-ask".to_owned(),
            _ => "rsv-ask, rsv-search, rsv-view; see 'rsv --help'".to_owned(),
        };
        let mut lines = vec![
            ("settings", file),
            ("store", text(settings.store().map(|place| place.address.to_string()))),
        ];
        match &summary {
            Ok(StoreSummary { scopes, outdated }) => {
                lines.push(("messages", count(scopes).to_string()));
                lines.push(("partitions", partitions(scopes)));
                if *outdated > 0 {
                    let text = format!("{}: {}", store::outdated_text(*outdated), store::UPDATE_WORDS);
                    lines.push(("words", text));
                }
            }
            Err(error) => lines.push(("messages", error.to_string())),
        }
        lines.push(("model", model));
        lines.push((
            "embedding",
            embedding.unwrap_or_else(|| "no model; messages are found by words".to_owned()),
        ));
        lines.push(("proxy", text(proxy)));
        lines.push(("next", next));
        Status(lines)
    }

    /// The summary in two columns.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|(name, text)| format!("{name:12}{}\n", visible(text).replace('\n', " "))).collect()
    }
}

fn count(scopes: &[(Scope, u64)]) -> u64 {
    scopes.iter().map(|(_, messages)| messages).sum()
}

/// The partitions with the most messages.
fn partitions(scopes: &[(Scope, u64)]) -> String {
    let mut partitions: BTreeMap<&str, u64> = BTreeMap::new();
    for (scope, messages) in scopes.iter().filter(|(_, messages)| *messages > 0) {
        *partitions.entry(&scope.partition).or_default() += messages;
    }
    let mut partitions: Vec<(&str, u64)> = partitions.into_iter().collect();
    partitions.sort_by_key(|(_, messages)| std::cmp::Reverse(*messages));
    let named = partitions.iter().take(MAX_PARTITIONS).map(|(name, messages)| format!("{name} ({messages})"));
    let named = named.collect::<Vec<_>>().join(", ");
    match partitions.len() {
        0 => "none".to_owned(),
        all if all > MAX_PARTITIONS => format!("{named}, and {} more", all - MAX_PARTITIONS),
        _ => named,
    }
}

/// The model that answers, with its provider; and the command that sets up missing parts.
fn model(settings: &Settings) -> (String, Option<String>) {
    let Some(model) = settings.text("model") else {
        return ("not set".to_owned(), None);
    };
    let target =
        Providers::new(settings).and_then(|all| all.target(&model).map_err(|refusal| refusal.into_error()));
    let target = match target {
        Ok(target) => target,
        Err(error) => return (format!("{model}: {error}"), Some("rsv-config doctor".to_owned())),
    };
    let name = format!("{model}, {} at {}", target.title(), target.address());
    match target.own_key() {
        Ok(_) => (name, None),
        Err(_) => (format!("{name}, whose key is missing"), Some("rsv-config init --force".to_owned())),
    }
}

/// The embedding model in use, if there is one.
pub(super) fn embedding(settings: &Settings) -> Option<String> {
    let via = settings.text("embed.via").filter(|via| via != "local");
    let used = || embed::models(settings).ok()?.into_iter().find(|model| model.in_use).map(|model| model.id);
    match via {
        Some(via) => Some(format!("via {via}")),
        None => used(),
    }
}
