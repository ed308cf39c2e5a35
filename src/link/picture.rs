//! A graph in the language of Graphviz, in which linked messages are close: an arrow leads from each question to its
//! answer, a dotted line from each message to the next, and the width of a synapse shows its strength relative to the
//! others in the picture.

use super::graph::Graph;
use crate::record::{Link, RESPONDED_WITH, Role, SYNAPSE, StoredRecord, time};
use crate::view::visible;
use std::fmt::Write;

/// The size of the excerpt in a message's box: lines, and characters in a line.
const LINES: usize = 3;
const WIDTH: usize = 44;

impl Graph {
    /// As a graph that `dot` draws.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from(
            "graph memory {\n  \
             graph [layout=neato, overlap=false, sep=\"+12\", splines=true, outputorder=edgesfirst, \
             bgcolor=white, fontname=Helvetica]\n  \
             node [shape=box, style=\"rounded,filled\", fontname=Helvetica, fontsize=10, margin=\"0.12,0.07\", \
             color=\"#b8c0cc\", penwidth=0.8]\n  \
             edge [fontname=Helvetica, fontsize=8, arrowsize=0.6]\n",
        );
        for (place, message) in self.messages.iter().enumerate() {
            let _ = writeln!(
                dot,
                "  m{place} [label={}, fillcolor=\"{}\", tooltip={}]",
                label(message),
                colour(message.role),
                quoted(&message.id)
            );
        }
        for place in 1..self.messages.len() {
            let (before, after) = (&self.messages[place - 1], &self.messages[place]);
            let answered =
                |link: &Link| link.rel == RESPONDED_WITH && link.from == before.id && link.to == after.id;
            if before.scope != after.scope || self.links.iter().any(answered) {
                continue;
            }
            let _ = writeln!(dot, "  m{} -- m{place} [style=dotted, color=\"#a0a8b4\", len=7]", place - 1);
        }
        let scores = || self.links.iter().filter(|link| link.rel == SYNAPSE).filter_map(|link| link.score);
        let least = scores().fold(f64::INFINITY, f64::min);
        let width = (scores().fold(f64::NEG_INFINITY, f64::max) - least).max(0.01);
        for link in &self.links {
            let (from, to) = (self.place(&link.from), self.place(&link.to));
            let line = match (link.rel.as_str(), link.score) {
                (RESPONDED_WITH, _) => "dir=forward, color=\"#4a5568\", len=1.4, weight=3".to_owned(),
                (SYNAPSE, Some(score)) => {
                    let strength = (score - least) / width;
                    format!(
                        "color=\"#2b6cb0{:02x}\", penwidth={:.2}, len={:.2}, tooltip=\"{score:.2}\"",
                        (50.0 + 170.0 * strength) as u8,
                        0.4 + 3.0 * strength,
                        3.5 - 1.5 * strength
                    )
                }
                (rel, _) => format!("dir=forward, color=\"#975a16\", label={}", quoted(rel)),
            };
            let _ = writeln!(dot, "  m{from} -- m{to} [{line}]");
        }
        dot.push_str("}\n");
        dot
    }
}

fn colour(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::User) => "#eef4fb",
        Some(Role::Assistant) => "#f3f8ee",
        Some(Role::System) => "#f7f3ea",
        Some(Role::Tool) => "#f4eef8",
        None => "white",
    }
}

/// The day, the role and the beginning of a message, in lines of one width.
// By hand: textwrap breaks a long word, and wraps all of a text; here both are cut off.
fn label(message: &StoredRecord) -> String {
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
    let day = time::rfc3339(message.timestamp);
    let end = if cut { "…" } else { "" };
    let head = format!("{} · {}", day.get(..10).unwrap_or(&day), (message.kind.heading)(message));
    quoted(&format!("{head}\n{}{end}", lines.join("\n"))).replace("\\n", "\\l").replacen("\\l", "\\n", 1)
}

/// A text as Graphviz takes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
