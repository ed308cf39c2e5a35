//! A graph as one JSON object.

use super::graph::{Graph, Group};
use super::lines::Line;
use crate::error::Result;
use crate::record::{Object, Record, StoredRecord, VectorFormat, quote};
use crate::store::{Select, Store};

impl Graph {
    /// Returns one object with the `nodes` of the graph, which are whole messages with their `group`; the
    /// `links` between them; the `groups`; and the number of all messages, of those that are left out, and
    /// why.
    pub fn to_json(&self, store: &mut dyn Store, which: &Select) -> Result<String> {
        let records = self.records(store, which)?;
        let nodes = records.into_iter().zip(&self.nodes).map(|(record, node)| json_node(record, node.group));
        let links = self.lines.iter().map(|Line { link, .. }| {
            let mut line = Vec::new();
            Record::Link(link.clone()).write_line(VectorFormat::Numbers, &mut line);
            String::from_utf8_lossy(&line).trim_end().to_owned()
        });
        let groups = self.groups.iter().enumerate().map(|(at, group)| self.json_group(at, group));
        let (groups_left_out, messages) = self.smaller;
        Ok(format!(
            "{{\"nodes\":[{}],\"links\":[{}],\"groups\":[{}],\"messages\":{},\"sampled\":{},\
             \"left_out\":{{\"isolated\":{},\"smaller_groups\":{groups_left_out},\"in_smaller_groups\":{messages}}}}}\n",
            nodes.collect::<Vec<_>>().join(","),
            links.collect::<Vec<_>>().join(","),
            groups.collect::<Vec<_>>().join(","),
            self.total,
            self.sampled,
            self.isolated
        ))
    }

    fn json_group(&self, at: usize, group: &Group) -> String {
        let words: Vec<String> = group.words.iter().map(|word| quote(word)).collect();
        let mut line = Object::default();
        line.set("group", at.to_string());
        line.set("words", format!("[{}]", words.join(",")));
        for (name, number) in [("messages", group.messages), ("shown", group.shown)] {
            line.set(name, number.to_string());
        }
        line.set("first", group.first.to_string());
        line.set("last", group.last.to_string());
        line.set_text("example", &self.nodes[group.example].message.id);
        if let Some(title) = &group.title {
            line.set_text("title", title);
        }
        line.to_json()
    }
}

fn json_node(mut record: StoredRecord, group: usize) -> String {
    record.members.set("group", group.to_string());
    let mut line = Vec::new();
    record.write(&mut line);
    String::from_utf8_lossy(&line).into_owned()
}
