//! The parts of a package of Office Open XML (docx, pptx, xlsx), which relationships name.

use super::container::Container;
use super::xml::{self, attribute};
use std::collections::HashMap;

/// The path of the main part, if the package names one. Fails if its relations are damaged.
pub(super) fn main_part(container: &mut Container) -> Result<Option<String>, String> {
    let Some(relations) = container.optional("_rels/.rels")? else { return Ok(None) };
    let relations = relations_of("", &relations)?;
    Ok(relations.into_iter().find(|relation| relation.kind == "officeDocument").map(|main| main.target))
}

/// The media type of the main part, if the package names it.
pub(super) fn main_type(container: &mut Container) -> Option<String> {
    let main = format!("/{}", main_part(container).ok()??);
    let types = container.optional("[Content_Types].xml").ok()??;
    let (mut named, mut by_default) = (None, None);
    let extension = main.rsplit('.').next().unwrap_or_default();
    xml::tags(&types, |tag| {
        let is =
            |name: &str, value: &str| attribute(tag, name).is_some_and(|own| own.eq_ignore_ascii_case(value));
        match tag.local_name().as_ref() {
            "Override" if is("PartName", &main) => named = attribute(tag, "ContentType"),
            "Default" if is("Extension", extension) => by_default = attribute(tag, "ContentType"),
            _ => {}
        }
    })
    .ok()?;
    named.or(by_default)
}

/// A part with the parts that it names.
pub(super) struct Part {
    path: String,
    content: Vec<u8>,
    relations: Vec<Relation>,
}

struct Relation {
    id: String,
    /// The last segment of its type.
    kind: String,
    /// The path in the archive.
    target: String,
}

impl Part {
    /// Opens the part at a path. Fails if it is missing or its relations are damaged.
    pub(super) fn open(container: &mut Container, path: &str) -> Result<Part, String> {
        let content = container.member(path)?;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let relations = format!("{folder}/_rels/{name}.rels");
        let relations = match container.optional(relations.trim_start_matches('/'))? {
            Some(relations) => relations_of(path, &relations)?,
            None => Vec::new(),
        };
        Ok(Part { path: path.to_owned(), content, relations })
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    /// The content of the part of a kind, or of the usual name beside this one. Fails if it is damaged.
    pub(super) fn related(&self, container: &mut Container, kind: &str) -> Result<Option<Vec<u8>>, String> {
        let named = self.relations.iter().find(|relation| relation.kind == kind);
        let usual = || resolve(&self.path, &format!("{kind}.xml"));
        container.optional(&named.map_or_else(usual, |relation| relation.target.clone()))
    }

    /// The paths of parts by the ids of their relationships.
    pub(super) fn targets(&self) -> HashMap<&str, &str> {
        self.relations.iter().map(|relation| (relation.id.as_str(), relation.target.as_str())).collect()
    }

    /// The paths of the parts of a kind.
    pub(super) fn of_kind(&self, kind: &str) -> Vec<&str> {
        let of_kind = self.relations.iter().filter(|relation| relation.kind == kind);
        of_kind.map(|relation| relation.target.as_str()).collect()
    }
}

fn relations_of(path: &str, xml: &[u8]) -> Result<Vec<Relation>, String> {
    let mut relations = Vec::new();
    xml::tags(xml, |tag| {
        let is_external = attribute(tag, "TargetMode").is_some_and(|mode| mode == "External");
        if tag.local_name().as_ref() != "Relationship" || is_external {
            return;
        }
        let kind = attribute(tag, "Type").unwrap_or_default();
        let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
        let target = resolve(path, &attribute(tag, "Target").unwrap_or_default());
        relations.push(Relation { id: attribute(tag, "Id").unwrap_or_default(), kind, target });
    })?;
    Ok(relations)
}

/// The path of a reference in the archive, from the part that has it.
pub(super) fn resolve(from: &str, target: &str) -> String {
    let mut segments: Vec<&str> = from.split('/').collect();
    segments.pop();
    if target.starts_with('/') {
        segments.clear();
    }
    for segment in target.split('/') {
        match segment {
            ".." => {
                segments.pop();
            }
            "." | "" => {}
            segment => segments.push(segment),
        }
    }
    segments.join("/")
}
