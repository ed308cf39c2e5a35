//! A search in the tree of contexts: the part of the tree that it visited, with the scores, and what became a hit.

use super::dot::quoted;
use super::markup::{FONTS, beginning, escaped};
use crate::record::Address;
use crate::search::tree::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The columns of a name.
const NAME_COLUMNS: usize = 60;
/// The colours of hits, of directories on the way, and of all others.
const HIT_COLOUR: &str = "#54a24b";
const VISITED_COLOUR: &str = "#4c78a8";
const OTHER_COLOUR: &str = "#9aa3ae";

/// The margin of a picture, the height of its heading and of a row, and the width of a level of the tree.
const MARGIN: f64 = 20.0;
const HEADING_HEIGHT: f64 = 50.0;
const ROW_HEIGHT: f64 = 24.0;
const INDENT: f64 = 26.0;
/// The width of a name and its scores, and of the longest bar.
const ROW_WIDTH: f64 = 620.0;
const BAR_WIDTH: f64 = 160.0;

/// The visited part of a tree.
pub struct SearchedTree {
    title: String,
    nodes: BTreeMap<Address, SearchedNode>,
}

/// A node as it is drawn.
#[derive(Clone, Default)]
struct SearchedNode {
    /// Its own score, if it is a candidate.
    own: Option<f64>,
    score: Option<f64>,
    is_visited: bool,
    /// Why it is no hit.
    exclusion: Option<&'static str>,
}

impl SearchedNode {
    fn is_hit(&self) -> bool {
        self.own.is_some() && self.exclusion.is_none()
    }

    fn colour(&self) -> &'static str {
        match self {
            node if node.is_hit() => HIT_COLOUR,
            node if node.is_visited => VISITED_COLOUR,
            _ => OTHER_COLOUR,
        }
    }

    /// Its scores, and why it is no hit.
    fn details(&self) -> String {
        let score = self.score.map(|score| format!("{score:.3}"));
        let own = self.own.filter(|own| Some(*own) != self.score).map(|own| format!("own {own:.3}"));
        let parts = [score, own, self.exclusion.map(str::to_owned)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

impl SearchedTree {
    /// Reads the steps of a search.
    pub fn new(steps: &[Step]) -> SearchedTree {
        let mut tree = SearchedTree { title: String::new(), nodes: BTreeMap::new() };
        for step in steps {
            match step {
                Step::SearchStart { questions, targets, method, .. } => {
                    tree.title = format!("{} · {}", questions.join(" · "), method.name());
                    for target in targets {
                        tree.node(target).is_visited = true;
                    }
                }
                Step::Directory { uri, score, .. } => {
                    let node = tree.node(uri);
                    node.is_visited = true;
                    node.score.get_or_insert(*score);
                }
                Step::Candidate { uri, own, score, .. } => {
                    let node = tree.node(uri);
                    (node.own, node.score) = (Some(*own), Some(*score));
                }
                Step::Excluded { uri, reason, .. } => tree.node(uri).exclusion = Some(reason.name()),
                Step::Converged { .. } | Step::Summary { .. } => {}
            }
        }
        tree
    }

    fn node(&mut self, address: &Address) -> &mut SearchedNode {
        self.nodes.entry(address.clone()).or_default()
    }

    /// The nearest node above one.
    fn parent(&self, address: &Address) -> Option<&Address> {
        let above = std::iter::successors(address.parent(), Address::parent);
        above.into_iter().find_map(|above| self.nodes.get_key_value(&above)).map(|(address, _)| address)
    }

    /// The address after that of the nearest node above, which is known.
    fn name<'a>(&self, address: &'a Address) -> &'a str {
        let whole = address.as_str();
        self.parent(address).map_or(whole, |above| whole.strip_prefix(&above.below()).unwrap_or(whole))
    }

    /// Returns a graph that `dot` draws.
    pub fn to_dot(&self) -> String {
        let mut dot = format!(
            "digraph search {{\n  graph [rankdir=LR, nodesep=0.12, bgcolor=white, fontname=Helvetica, labelloc=t, label={}]\n  \
             node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=Helvetica, fontsize=9, margin=\"0.1,0.05\"]\n  \
             edge [color=\"#b8c0cc\", arrowsize=0.5]\n",
            quoted(&self.title)
        );
        let numbers: BTreeMap<&Address, usize> = self.nodes.keys().zip(0..).collect();
        for (address, node) in &self.nodes {
            let name = beginning(self.name(address), NAME_COLUMNS);
            let fill = if node.is_hit() { format!(", fillcolor=\"{HIT_COLOUR}33\"") } else { String::new() };
            let _ = writeln!(
                dot,
                "  n{} [label={}, color=\"{}\", tooltip={}{fill}]",
                numbers[address],
                quoted(&format!("{name}\n{}", node.details())),
                node.colour(),
                quoted(address.as_str())
            );
            if let Some(parent) = self.parent(address) {
                let _ = writeln!(dot, "  n{} -> n{}", numbers[parent], numbers[address]);
            }
        }
        dot + "}\n"
    }

    /// Returns an SVG picture: a row for each node, below the one above it, with its score as a bar.
    pub fn to_svg(&self) -> String {
        let mut depths: BTreeMap<&Address, (usize, usize)> = BTreeMap::new();
        for (row, address) in self.nodes.keys().enumerate() {
            let depth = self.parent(address).map_or(0, |above| depths[above].1 + 1);
            depths.insert(address, (row, depth));
        }
        let deepest = depths.values().map(|(_, depth)| *depth).collect::<BTreeSet<_>>().last().copied();
        let width = 2.0 * MARGIN + INDENT * deepest.unwrap_or_default() as f64 + ROW_WIDTH + BAR_WIDTH;
        let height = HEADING_HEIGHT + ROW_HEIGHT * self.nodes.len() as f64 + MARGIN;
        let title = escaped(&beginning(&self.title, 2 * NAME_COLUMNS));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"{FONTS}\" font-size=\"13\" role=\"img\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{MARGIN}\" y=\"30\" font-size=\"17\" font-weight=\"600\" fill=\"#1f2933\">{title}</text>\n"
        );
        let best = self.nodes.values().filter_map(|node| node.score).fold(f64::MIN_POSITIVE, f64::max);
        let bars = width - MARGIN - BAR_WIDTH;
        for (address, node) in &self.nodes {
            let (row, depth) = depths[address];
            let (x, y) = (MARGIN + INDENT * depth as f64, HEADING_HEIGHT + ROW_HEIGHT * (row as f64 + 0.5));
            if let Some((above, _)) = self.parent(address).map(|parent| depths[parent]) {
                let (left, top) =
                    (x - INDENT + 5.0, HEADING_HEIGHT + ROW_HEIGHT * (above as f64 + 0.5) + 6.0);
                let _ = writeln!(
                    svg,
                    "<path d=\"M{left:.0} {top:.0}V{y:.0}H{:.0}\" fill=\"none\" stroke=\"#d3d9e0\"/>",
                    x - 2.0
                );
            }
            let colour = node.colour();
            let bar = BAR_WIDTH * (node.score.unwrap_or_default() / best).clamp(0.0, 1.0);
            let _ = writeln!(
                svg,
                "<g><title>{}</title><circle cx=\"{:.0}\" cy=\"{y:.0}\" r=\"4.5\" fill=\"{colour}\"/>\
                 <text x=\"{:.0}\" y=\"{:.0}\" fill=\"#1f2933\">{} <tspan fill=\"#66727f\">{}</tspan></text>\
                 <rect x=\"{bars:.0}\" y=\"{:.0}\" width=\"{bar:.1}\" height=\"8\" rx=\"2\" fill=\"{colour}\"/></g>",
                escaped(address.as_str()),
                x + 5.0,
                x + 15.0,
                y + 4.5,
                escaped(&beginning(self.name(address), NAME_COLUMNS)),
                escaped(&node.details()),
                y - 4.0
            );
        }
        svg + "</svg>\n"
    }
}
