//! A graph in the language of Graphviz: a cluster for each group; the width of a line shows its strength
//! relative to the others.

use super::graph::{Graph, Group, Node};
use super::lines::Line;
use crate::record::{RESPONDED_WITH, Role, time};
use crate::view::visible;
use jiff::tz::TimeZone;
use std::fmt::Write;

/// The size of the excerpt in a message's box: lines, and characters in a line.
const LINES: usize = 2;
const WIDTH: usize = 30;

impl Graph {
    /// Returns a graph that `dot` draws; days are those of `zone`.
    pub fn to_dot(&self, title: &str, zone: &TimeZone) -> String {
        let label = format!("{title} · {}\n{}", self.summary(zone), self.foot());
        let mut dot = format!(
            "graph memory {{\n  graph [layout=fdp, overlap=false, K=0.6, maxiter=900, splines=true, \
             outputorder=edgesfirst, bgcolor=white, fontname=Helvetica, label={}, labelloc=t]\n  \
             node [shape=box, style=\"rounded,filled\", fontname=Helvetica, fontsize=9, margin=\"0.1,0.05\", \
             color=\"#b8c0cc\", penwidth=0.8]\n  edge [fontname=Helvetica, fontsize=8, arrowsize=0.6]\n",
            quoted(&label)
        );
        for (at, group) in self.groups.iter().enumerate() {
            dot.push_str(&self.cluster(at, group, zone));
        }
        dot.push_str(&self.edges());
        dot + "}\n"
    }

    /// A group with its messages.
    fn cluster(&self, at: usize, group: &Group, zone: &TimeZone) -> String {
        let colour = group.colour(at);
        let caption = quoted(&format!("{}\n{}", group.name(self), group.details(self, zone)));
        let mut dot = format!(
            "  subgraph cluster_{at} {{\n    label={caption}\n    style=\"rounded,filled\"\n    \
             fillcolor=\"{colour}18\"\n    color=\"{colour}\"\n    fontcolor=\"{colour}\"\n    fontsize=14\n"
        );
        for (place, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.group == at) {
            let fill = if node.message.role == Some(Role::User) {
                format!("{colour}55")
            } else {
                "white".to_owned()
            };
            let _ = writeln!(
                dot,
                "    m{place} [label={}, color=\"{colour}\", fillcolor=\"{fill}\", tooltip={}]",
                label(node),
                quoted(&node.message.id)
            );
        }
        dot + "  }\n"
    }

    fn edges(&self) -> String {
        let scores = || self.lines.iter().filter_map(Line::similarity);
        let least = scores().fold(f64::INFINITY, f64::min);
        let width = (scores().fold(f64::NEG_INFINITY, f64::max) - least).max(0.01);
        let mut dot = String::new();
        for line in &self.lines {
            let look = match (line.link.rel.as_str(), line.similarity()) {
                (RESPONDED_WITH, _) => "dir=forward, color=\"#4a5568\", len=0.6, weight=3".to_owned(),
                (_, Some(score)) => {
                    let strength = (score - least) / width;
                    format!(
                        "color=\"#5b6675{:02x}\", penwidth={:.2}, tooltip=\"{score:.2}\"",
                        (50.0 + 130.0 * strength) as u8,
                        0.4 + 2.6 * strength
                    )
                }
                (rel, None) => format!("dir=forward, color=\"#975a16\", label={}", quoted(rel)),
            };
            let _ = writeln!(dot, "  m{} -- m{} [{look}]", line.from, line.to);
        }
        dot
    }
}

fn day(ms: i64) -> String {
    let day = time::rfc3339(ms);
    day.get(..10).unwrap_or(&day).to_owned()
}

/// The day, the role and the beginning of a message, in lines of one width.
// By hand: textwrap breaks a long word, and wraps all of a text; here both are cut off.
fn label(node: &Node) -> String {
    let message = &node.message;
    let mut lines = vec![String::new()];
    let mut cut = false;
    for word in message.text.split_whitespace() {
        let fits = lines.last().is_some_and(|line| line.chars().count() + word.chars().count() < WIDTH);
        if !fits && lines.len() == LINES {
            cut = true;
            break;
        }
        if !fits && lines.last().is_some_and(|line| !line.is_empty()) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            let whole = word.chars().count() <= WIDTH;
            line.extend(word.chars().take(WIDTH));
            cut |= !whole;
        }
    }
    let end = if cut { "…" } else { "" };
    let head = format!("{} · {}", day(message.timestamp), message.heading);
    quoted(&format!("{head}\n{}{end}", lines.join("\n"))).replace("\\n", "\\l").replacen("\\l", "\\n", 1)
}

/// A text as Graphviz takes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
