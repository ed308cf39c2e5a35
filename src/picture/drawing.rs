//! A picture of some of the messages of a store, or all of them as JSON.

use super::about::about;
use super::graph::{Graph, GraphOptions};
use crate::cli::{Common, Io};
use crate::config::Settings;
use crate::error::{Result, failures};
use crate::link::{self, synapse};
use crate::record::{Reach, Scopes};
use crate::store::{Select, Store};

/// The greatest number of messages of a picture: more make none, and take minutes to place.
pub const MAX_NODES: usize = 3000;

// The reason why some messages cannot be drawn.
failures! { enum DrawingError {
    AllNodes { format: String } ("--nodes all needs --format json, not {format}")
        => "--nodes {MAX_NODES} shows the most that a picture can",
    AllAbout ("--nodes all shows every message, not those about something") => "leave --nodes or --about out",
} }

/// Which messages are drawn, and how.
#[derive(Clone, Debug)]
pub struct GraphDrawing {
    /// The format: svg, html, dot or json.
    pub format: String,
    /// The greatest number of messages; `None` for all, as json.
    pub nodes: Option<usize>,
    /// Only messages about this.
    pub about: Option<String>,
    /// Only the part of the graph near this message, at most `hops` links away.
    pub around: Option<String>,
    pub hops: usize,
}

impl GraphDrawing {
    /// The picture as text in its format. Errors if all messages are wanted in another format than json.
    pub fn draw(
        &self,
        store: &mut dyn Store,
        settings: &Settings,
        scopes: &Scopes,
        io: &Io,
    ) -> Result<String> {
        let format = self.format.as_str();
        let nodes = match self.nodes {
            Some(nodes) => nodes,
            None if format == "json" => return self.whole(store, scopes),
            None => {
                return Err(DrawingError::AllNodes { format: self.format.clone() }.into());
            }
        };
        let which = self.selection(store, settings, scopes, io)?;
        let reach = synapse::reach(settings).unwrap_or(Reach::Partition);
        let options = GraphOptions { nodes, keep_isolated: which.only.is_some(), reach };
        let graph = Graph::read(store, &which, &options)?;
        let (title, zone) = (self.title(&io.common), io.layout().zone);
        Ok(match format {
            "dot" => graph.to_dot(&title, &zone),
            "svg" => graph.to_svg(&title, &zone),
            "html" => graph.to_html(&title, &zone),
            _ => graph.to_json(store, &which)?,
        })
    }

    /// All messages and links, as they are stored.
    fn whole(&self, store: &mut dyn Store, scopes: &Scopes) -> Result<String> {
        if self.about.is_some() {
            return Err(DrawingError::AllAbout.into());
        }
        let graph = match &self.around {
            Some(id) => link::Graph::around(store, scopes, id, self.hops)?,
            None => link::Graph::read(store, scopes)?,
        };
        Ok(graph.to_json())
    }

    /// The messages that the picture shows some of.
    fn selection(
        &self,
        store: &mut dyn Store,
        settings: &Settings,
        scopes: &Scopes,
        io: &Io,
    ) -> Result<Select> {
        let which = Select::messages(scopes.clone());
        let only = match (&self.around, &self.about) {
            (Some(id), _) => Some(link::Graph::around(store, scopes, id, self.hops)?.ids()),
            (_, Some(text)) => Some(about(store, settings, &which, text, &io.diagnostics())?),
            _ => None,
        };
        Ok(Select { only, ..which })
    }

    /// The scope of the messages that the picture shows.
    fn title(&self, common: &Common) -> String {
        let scope = match (&common.partition, &common.instance) {
            (None, None) => "All messages".to_owned(),
            (Some(partition), None) => partition.clone(),
            (partition, Some(instance)) => {
                format!("{}/{instance}", partition.as_deref().unwrap_or("default"))
            }
        };
        match (&self.about, &self.around) {
            (Some(text), _) => format!("{scope}: {text}"),
            (_, Some(id)) => format!("{scope}: near {id}"),
            _ => scope,
        }
    }
}
