//! A summary for people: the present state, and what to do next.

use super::next_step::{Situation, next_step};
use super::store_summary::{StoreSummary, embedding};
use crate::config::Settings;
use crate::error::Result;
use crate::provider::Providers;
use crate::record::Scope;
use crate::store;
use crate::view::visible;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The number of partitions that are named, those with the most messages.
const MAX_PARTITIONS: usize = 5;

/// The summary.
pub struct Status {
    /// A name and a text each.
    lines: Vec<(&'static str, String)>,
    /// The turns with and without recall.
    table: Option<String>,
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
        let has_settings_file = settings_file.as_ref().is_ok_and(|path| path.exists());
        let file = text(settings_file.map(|path| {
            let missing = if has_settings_file { "" } else { ", which does not exist yet" };
            format!("{}{missing}", path.display())
        }));
        let (model, provider_remedy) = model(settings);
        let embedding = embedding(settings);
        let has_embedding_model = embedding.is_some();
        let situation = Situation { settings, has_settings_file, provider_remedy, has_embedding_model };
        let next = next_step(&situation, &summary);
        let mut lines = vec![
            ("settings", file),
            ("store", text(settings.store().map(|place| place.address.to_string()))),
        ];
        match &summary {
            Ok(summary) => {
                lines.push(("messages", summary.messages().to_string()));
                lines.push(("partitions", partitions(&summary.scopes)));
                if summary.outdated > 0 {
                    let text = format!("{}: {}", store::outdated_text(summary.outdated), store::UPDATE_WORDS);
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
        // Its error is the text of `messages` above.
        let table = summary.ok().and_then(|summary| Some(summary.comparison?.to_text()));
        Status { lines, table }
    }

    /// The summary in two columns, and the comparison below it.
    pub fn to_text(&self) -> String {
        let line = |(name, text): &(&str, String)| format!("{name:12}{}\n", visible(text).replace('\n', " "));
        let table = self.table.iter().map(|table| format!("\n{table}"));
        self.lines.iter().map(line).chain(table).collect()
    }
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
    let target = match Providers::new(settings).and_then(|all| Ok(all.target(&model)?)) {
        Ok(target) => target,
        Err(error) => return (format!("{model}: {error}"), Some("rsv-config doctor".to_owned())),
    };
    let name = format!("{model}, {} at {}", target.title(), target.address());
    match target.own_key() {
        Ok(_) => (name, None),
        Err(_) => (format!("{name}, whose key is missing"), Some("rsv-config init --force".to_owned())),
    }
}
