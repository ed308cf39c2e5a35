//! A graph in the language of Graphviz, for people's eyes: the messages from top to bottom in the order of time,
//! an arrow from each question to its answer, and synapses as curves, the stronger the thicker.

use super::Graph;
use crate::record::{Message, RESPONDED_WITH, Role, SYNAPSE, time};
use std::fmt::Write;

/// How much of a message stands in its box: lines, and characters in a line.
const LINES: usize = 3;
const WIDTH: usize = 44;

impl Graph {
    /// As a graph that `dot` draws.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from(
            "digraph memory {\n  \
             graph [bgcolor=\"white\", fontname=\"Helvetica\", nodesep=0.5, ranksep=0.28, splines=true]\n  \
             node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10, margin=\"0.14,0.08\", \
             color=\"#b8c0cc\", penwidth=0.8]\n  \
             edge [fontname=\"Helvetica\", fontsize=8, arrowsize=0.6]\n",
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
        // What follows in time is held together by a line that nobody needs to see where an arrow is.
        for place in 1..self.messages.len() {
            let (before, after) = (&self.messages[place - 1], &self.messages[place]);
            if before.scope != after.scope {
                continue;
            }
            let answered = self
                .links
                .iter()
                .any(|link| link.rel == RESPONDED_WITH && link.from == before.id && link.to == after.id);
            let style = if answered { "invis" } else { "dotted" };
            let _ = writeln!(
                dot,
                "  m{} -> m{place} [style={style}, color=\"#c4c9d1\", arrowhead=none, weight=8]",
                place - 1
            );
        }
        for link in &self.links {
            let (from, to) = (self.place(&link.from), self.place(&link.to));
            let line = match (link.rel.as_str(), link.score) {
                (RESPONDED_WITH, _) => "color=\"#4a5568\", weight=4".to_owned(),
                (SYNAPSE, Some(score)) => {
                    let strength = score.clamp(0.0, 1.0);
                    format!(
                        "dir=none, constraint=false, color=\"#2b6cb0{:02x}\", penwidth={:.2}, fontcolor=\"#2b6cb0\", \
                         label=\"{score:.2}\"",
                        (70.0 + 150.0 * strength) as u8,
                        0.6 + 3.0 * strength * strength
                    )
                }
                (rel, _) => format!("constraint=false, color=\"#975a16\", label={}", quoted(rel)),
            };
            let _ = writeln!(dot, "  m{from} -> m{to} [{line}]");
        }
        dot.push_str("}\n");
        dot
    }
}

fn colour(role: Role) -> &'static str {
    match role {
        Role::User => "#eef4fb",
        Role::Assistant => "#f3f8ee",
        Role::System => "#f7f3ea",
        Role::Tool => "#f4eef8",
    }
}

/// The day, the role and the beginning of a message, in lines of one width.
fn label(message: &Message) -> String {
    let text = message.content.text();
    let mut lines = vec![String::new()];
    let mut cut = false;
    for word in text.split_whitespace() {
        let room = lines.last().is_some_and(|line| line.chars().count() + word.chars().count() < WIDTH);
        if !room && lines.len() == LINES {
            cut = true;
            break;
        }
        if !room && lines.last().is_some_and(|line| !line.is_empty()) {
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
    let head = format!("{} · {}", day.get(..10).unwrap_or(&day), message.role.name());
    quoted(&format!("{head}\n{}{end}", lines.join("\n"))).replace("\\n", "\\l").replacen("\\l", "\\n", 1)
}

/// A text as Graphviz takes it.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
