//! The pictures of the memory as they are: the calendar of rsv-config status, and the graph of rsv-link.

use super::page_request::PageRequest;
use super::shown::Shown;
use crate::config::Settings;
use crate::error::Result;
use crate::link::synapse;
use crate::picture::{Activity, Graph, GraphOptions, escaped};
use crate::proxy::http::Page;
use crate::record::Reach;
use crate::store::{Select, Store};

/// The most messages that the graph shows, as rsv-link does.
const NODES: usize = 150;

/// The page of the calendar.
pub(super) fn calendar(store: &mut dyn Store, request: &PageRequest) -> Result<Shown> {
    let activity = Activity::read(store, &request.scopes(), request.now, &request.zone)?;
    let address = escaped(&request.link(Page::CalendarPicture, &[]));
    let summary = escaped(&activity.summary().join(", "));
    let body = format!(
        "<h1>Calendar</h1>\n<p>{summary}</p>\n<div class=\"wide\" tabindex=\"0\"><a href=\"{address}\">\
         <img src=\"{address}\" alt=\"A calendar of the messages of each day: {summary}\"></a></div>\n"
    );
    Ok(Shown::page("Calendar", body))
}

/// The picture of the calendar.
pub(super) fn calendar_picture(store: &mut dyn Store, request: &PageRequest) -> Result<Shown> {
    let activity = Activity::read(store, &request.scopes(), request.now, &request.zone)?;
    Ok(Shown::Svg(activity.to_svg()))
}

/// The page of the graph, which is not of the others' kind.
pub(super) fn graph(
    store: &mut dyn Store,
    request: &PageRequest,
    partition: &str,
    settings: &Settings,
) -> Result<Shown> {
    // Where the partition decides, the farther reach: the picture must lack no link.
    let reach = synapse::reach(settings).unwrap_or(Reach::Partition);
    let options = GraphOptions { nodes: NODES, keep_isolated: false, reach };
    let graph = Graph::read(store, &Select::messages(request.scopes()), &options)?;
    let html = graph.to_html(partition, &request.zone);
    let policy = format!("{}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'", Graph::policy());
    Ok(Shown::Whole { html, policy })
}
