//! Books: epub, whose chapters are pages of XHTML.

use super::container::Container;
use super::decode;
use super::html;
use super::outline::{Breaks, Extract};
use super::package;
use super::xml::{attribute, first_text, tags};
use percent_encoding::percent_decode_str;
use std::collections::HashMap;

/// Reads a book, in the order of its spine. Fails if the archive or its package is damaged.
pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut container = Container::open(bytes)?;
    let index = container.member("META-INF/container.xml")?;
    let mut package_path = None;
    tags(&index, |tag| {
        if tag.local_name().as_ref() == "rootfile" {
            package_path = package_path.take().or_else(|| attribute(tag, "full-path"));
        }
    })?;
    let package_path = package_path.ok_or("the book names no package")?;
    let package = container.member(&package_path)?;
    let mut extract = Extract { markdown: true, breaks: Breaks::BlankLines, ..Extract::default() };
    for href in spine(&package)? {
        let path = resolve(&package_path, &href);
        // A chapter that is missing leaves the others readable.
        let Some(page) = container.optional(&path)? else { continue };
        if let Some(page) = decode::decode_html(page) {
            extract.push_extract(html::extract_xhtml(&page));
        }
    }
    extract.title = first_text(&package, "title");
    Ok(extract)
}

/// The paths of the chapters, in order.
fn spine(package: &[u8]) -> Result<Vec<String>, String> {
    let mut items: HashMap<String, String> = HashMap::new();
    let mut order = Vec::new();
    tags(package, |tag| match tag.local_name().as_ref() {
        "item" => {
            let is_page = attribute(tag, "media-type").is_some_and(|mime| mime.contains("html"));
            if let (Some(id), Some(href), true) = (attribute(tag, "id"), attribute(tag, "href"), is_page) {
                items.insert(id, href);
            }
        }
        "itemref" => order.extend(attribute(tag, "idref")),
        _ => {}
    })?;
    Ok(order.iter().filter_map(|id| items.remove(id)).collect())
}

/// The path of a reference in the archive, from the file that has it.
fn resolve(from: &str, href: &str) -> String {
    let href = href.split('#').next().unwrap_or(href);
    package::resolve(from, &percent_decode_str(href).decode_utf8_lossy())
}
