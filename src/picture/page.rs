//! A graph as one web page that needs no network: the picture, and a list of the messages that can be
//! searched.
//!
//! Messages are text in the page and never script: they are escaped, and the page's policy allows only the
//! script whose digest it names, and no request.

use super::graph::Graph;
use super::markup::{FONTS, escaped};
use super::svg::Drawing;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

impl Graph {
    /// Returns a web page. `title` says whose messages they are; times are those of `zone`.
    pub fn to_html(&self, title: &str, zone: &TimeZone) -> String {
        let drawing = Drawing::new(self);
        let policy = Graph::policy();
        let (title, summary, foot) =
            (escaped(title), escaped(&self.summary(zone)), escaped(&self.foot_line()));
        let (width, height, body) = (drawing.width, drawing.height, &drawing.body);
        format!(
            "<!DOCTYPE html>\n<html lang=\"und\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
             <style>body {{ font-family: {FONTS} }}\n{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>{title}</h1> <p>{summary}</p>\
             <input id=\"search\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\" autofocus> \
             <output id=\"found\"></output></header>\n\
             <main><figure><svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width: {0:.0}px\" role=\"img\" \
             aria-label=\"{summary}\">\n\
             {body}</svg><figcaption>{foot}</figcaption></figure>\n\
             <nav aria-label=\"Messages\" tabindex=\"0\">{1}</nav></main>\n<div id=\"tip\" hidden></div>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n",
            width * 1.5,
            self.list(zone)
        )
    }

    /// The content policy of the page: its own script, and no request.
    pub(crate) fn policy() -> String {
        let digest = STANDARD.encode(Sha256::digest(SCRIPT));
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'")
    }

    /// The groups with their messages, oldest first.
    fn list(&self, zone: &TimeZone) -> String {
        let mut out = String::new();
        for (at, group) in self.groups.iter().enumerate() {
            let _ = writeln!(
                out,
                "<section style=\"--colour: {}\"><h2>{}</h2><p>{}</p><ul>",
                group.colour(at),
                escaped(&group.name(self)),
                escaped(&group.details(self, zone))
            );
            for (node, shown) in self.nodes.iter().enumerate().filter(|(_, node)| node.group == at) {
                let message = &shown.message;
                let _ = writeln!(
                    out,
                    "<li data-node=\"{node}\"><b>{} {}</b> <span>{}</span></li>",
                    crate::view::date(message.timestamp, zone),
                    escaped(&message.heading),
                    escaped(&message.text)
                );
            }
            out.push_str("</ul></section>\n");
        }
        out
    }
}
