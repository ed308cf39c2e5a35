//! The graph of rsv-link as it is.

use super::page_request::PageRequest;
use super::shown::Shown;
use crate::config::Settings;
use crate::error::Result;
use crate::link::synapse;
use crate::picture::{Graph, GraphOptions};
use crate::record::Reach;
use crate::store::{Select, Store};

/// The most messages that the graph shows, as rsv-link does.
const NODES: usize = 150;

/// The page of the graph, which is not of the others' kind.
pub(super) fn show(
    store: &mut dyn Store,
    request: &PageRequest,
    partition: &str,
    settings: &Settings,
) -> Result<Shown> {
    let reach = synapse::reach(settings).unwrap_or(Reach::Partition);
    let options = GraphOptions { nodes: NODES, keep_isolated: false, reach };
    let graph = Graph::read(store, &Select::messages(request.scopes()), &options)?;
    let html = graph.to_html(partition, &request.zone);
    let policy = format!("{}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'", Graph::policy());
    Ok(Shown::Whole { html, policy })
}
