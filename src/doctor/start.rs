//! The notes about its settings that a proxy prints at the start.

use super::files::reservoir_text;
use super::store_summary::embedding;
use crate::config::{Layer, Settings};

/// Lines for people: the store and the models; a graph that is configured but not used; Reservoir's settings
/// file.
pub fn start_notes(settings: &Settings) -> Vec<String> {
    let store = settings.store().map_or_else(|error| error.to_string(), |place| place.address);
    let model = settings.text("model").unwrap_or_else(|| "that of each request".to_owned());
    let embedding = embedding(settings).unwrap_or_else(|| "none, messages are found by words".to_owned());
    let mut notes = vec![format!("store: {store}; model: {model}; embedding model: {embedding}")];
    notes.extend(unused_graph(settings, &store));
    notes.extend(
        settings.reservoir_file().map(|file| format!("settings: {}", reservoir_text(settings, file))),
    );
    notes
}

/// A note if the address of a graph is set, and the store is a file.
fn unused_graph(settings: &Settings, store: &str) -> Option<String> {
    let is_file = settings.store().is_ok_and(|place| place.path().is_some());
    let source = match settings.layer("neo4j_uri")? {
        Layer::Default => return None,
        Layer::Environment(variable) => variable,
        _ => "neo4j_uri",
    };
    is_file.then(|| {
        format!(
            "{source} is set, but the store is {store}; to store in the graph: rsv-config set store neo4j"
        )
    })
}
