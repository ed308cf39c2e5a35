//! A graph as an SVG picture: the groups in colour, and beside them what they are about.

use super::graph::{Graph, Group, Node};
use super::layout::{Layout, PADDING, by_groups, hull, radius};
use super::lines::Line;
use super::markup::{FONTS, beginning, colour, counted, days, escaped};
use crate::record::{RESPONDED_WITH, Role, time};
use jiff::tz::TimeZone;
use std::fmt::Write;

/// The greatest width of the title of a conversation, in columns.
const TITLE_COLUMNS: usize = 32;

/// The width of the list of groups, and the height of an entry.
const LEGEND_WIDTH: f64 = 360.0;
const ENTRY_HEIGHT: f64 = 58.0;

/// The characters of a text in a tooltip.
const TOOLTIP_COLUMNS: usize = 300;

/// The legend of the messages.
const ROLES: &str = "● user ○ others";

/// How far a line may bow, in pixels.
const MAX_BOW: f64 = 22.0;

/// The margin of the picture, and the height of its heading and of its last line.
const MARGIN: f64 = 20.0;
const HEADING_HEIGHT: f64 = 52.0;
const FOOT_HEIGHT: f64 = 30.0;

impl Graph {
    /// Returns an SVG picture. `title` says whose messages they are; days are those of `zone`.
    pub fn to_svg(&self, title: &str, zone: &TimeZone) -> String {
        let drawing = Drawing::new(self);
        let legend_height = self.groups.len() as f64 * ENTRY_HEIGHT;
        let width = 2.0 * MARGIN + drawing.width + LEGEND_WIDTH;
        let inner = drawing.height.max(legend_height);
        let height = HEADING_HEIGHT + inner + FOOT_HEIGHT + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"{FONTS}\" role=\"img\">\n\
             <title>{0}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{MARGIN}\" y=\"34\"><tspan class=\"heading\">{0}</tspan>\
             <tspan dx=\"14\" class=\"note\">{1}</tspan></text>\n",
            escaped(title),
            escaped(&self.summary(zone))
        );
        let top = HEADING_HEIGHT + ((inner - drawing.height) / 2.0).max(0.0);
        let _ = writeln!(svg, "<g transform=\"translate({MARGIN} {top:.1})\">\n{}</g>", drawing.body);
        let left = MARGIN + drawing.width;
        let top = HEADING_HEIGHT + ((inner - legend_height) / 2.0).max(0.0);
        let _ = writeln!(svg, "<g transform=\"translate({left:.1} {top:.1})\">\n{}</g>", self.legend(zone));
        let foot = height - MARGIN;
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{foot:.0}\" class=\"note\">{}</text>",
            escaped(&self.foot_line())
        );
        svg + "</svg>\n"
    }

    /// How many messages, of which days, in how many groups.
    pub(super) fn summary(&self, zone: &TimeZone) -> String {
        let named = self.groups.iter().filter(|group| !group.is_rest).count() + self.smaller.0;
        let mut parts = vec![counted(self.total, "message"), counted(named, "group")];
        let first = self.groups.iter().map(|group| group.first).min();
        let last = self.groups.iter().map(|group| group.last).max();
        if let (Some(first), Some(last)) = (first, last) {
            parts.push(days(first, last, zone));
        }
        parts.join(" · ")
    }

    /// Notes of what is shown and left out; empty if all is shown.
    pub(super) fn foot(&self) -> String {
        let mut parts = Vec::new();
        if self.nodes.len() < self.total {
            parts.push(format!("{} shown", counted(self.nodes.len(), "message")));
        }
        if self.isolated > 0 {
            parts.push(format!("{} near no other left out", counted(self.isolated, "message")));
        }
        let (groups, messages) = self.smaller;
        if groups > 0 {
            parts.push(format!(
                "{} of {} left out",
                counted(groups, "smaller group"),
                counted(messages, "message")
            ));
        }
        if self.sampled < self.total {
            parts.push(format!("groups found from an even sample of {}", counted(self.sampled, "message")));
        }
        parts.join(" · ")
    }

    /// The line below a picture.
    pub(super) fn foot_line(&self) -> String {
        let parts = [ROLES.to_owned(), self.foot()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    /// The groups, one below the other: their colours, words, sizes and days, and the most typical message of
    /// each.
    fn legend(&self, zone: &TimeZone) -> String {
        let mut out = String::new();
        for (at, group) in self.groups.iter().enumerate() {
            let (y, example) = (at as f64 * ENTRY_HEIGHT, &self.nodes[group.example].message);
            let columns = ((LEGEND_WIDTH - 30.0) / 12.0 / 0.54) as usize;
            let _ = writeln!(
                out,
                "<circle cx=\"16\" cy=\"{:.0}\" r=\"7\" fill=\"{}\"/>\
                 <text x=\"32\" y=\"{:.0}\" class=\"name\">{}</text>\
                 <text x=\"32\" y=\"{:.0}\" class=\"small\">{}</text>\
                 <text x=\"32\" y=\"{:.0}\" class=\"small said\">{}</text>",
                y + 11.0,
                group.colour(at),
                y + 16.0,
                escaped(&group.name(self)),
                y + 32.0,
                escaped(&group.details(self, zone)),
                y + 47.0,
                escaped(&beginning(&example.text, columns)),
            );
        }
        out
    }
}

/// The CSS of the elements of a picture.
const STYLE: &str = ".heading{font-size:20px;font-weight:600;fill:#1c2430}.note{font-size:13px;fill:#5b6675}\
    .name{font-size:15px;font-weight:600;fill:#1c2430}.small{font-size:12px;fill:#5b6675}.said{fill:#1c2430}\
    .label{font-size:15px;font-weight:600;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:4px;\
    stroke-opacity:.85;stroke-linejoin:round}\
    .line{fill:none;stroke-linecap:round}";

impl Group {
    /// Its words; if it has none, the beginning of the message that stands for it.
    pub(super) fn name(&self, graph: &Graph) -> String {
        if self.is_rest {
            "others".to_owned()
        } else if self.words.is_empty() {
            beginning(&graph.nodes[self.example].message.text, 24)
        } else {
            self.words.join(" · ")
        }
    }

    pub(super) fn colour(&self, at: usize) -> &'static str {
        colour(at, self.is_rest)
    }

    /// Its size and days; its conversation, if the groups are of several: by its title, else by its scope.
    pub(super) fn details(&self, graph: &Graph, zone: &TimeZone) -> String {
        let mut parts = vec![counted(self.messages, "message"), days(self.first, self.last, zone)];
        if let Some(scope) =
            self.scope.as_ref().filter(|_| graph.groups.iter().any(|other| other.scope != self.scope))
        {
            let name = || {
                if scope.partition == scope.instance { scope.partition.clone() } else { scope.to_string() }
            };
            parts.insert(0, self.title.as_ref().map_or_else(name, |title| beginning(title, TITLE_COLUMNS)));
        }
        parts.join(" · ")
    }
}

/// A graph without its heading: an SVG fragment and its size.
pub(super) struct Drawing {
    pub(super) body: String,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Drawing {
    pub(super) fn new(graph: &Graph) -> Drawing {
        let layout = by_groups(graph);
        let (mut body, front) = hulls(graph, &layout);
        body.push_str(&lines(graph, &layout));
        for (at, node) in graph.nodes.iter().enumerate() {
            body.push_str(&circle(graph, node, at, layout.places[at]));
        }
        body.push_str(&front);
        Drawing { body, width: layout.width, height: layout.height }
    }
}

/// The areas of the groups, and their names.
fn hulls(graph: &Graph, layout: &Layout) -> (String, String) {
    let (mut back, mut front) = (String::new(), String::new());
    for (at, group) in graph.groups.iter().enumerate() {
        let places = graph.nodes.iter().zip(&layout.places).filter(|(node, _)| node.group == at);
        let places: Vec<[f64; 2]> = places.map(|(_, place)| *place).collect();
        let top = places.iter().map(|[_, y]| *y).fold(f64::INFINITY, f64::min);
        let (left, right) =
            places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, r), [x, _]| (l.min(*x), r.max(*x)));
        let corners: Vec<String> = hull(places).iter().map(|[x, y]| format!("{x:.1} {y:.1}")).collect();
        let (width, colour) = (2.0 * PADDING + 6.0, group.colour(at));
        let _ = writeln!(
            back,
            "<path d=\"M{}Z\" fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\" opacity=\".13\"/>",
            corners.join("L")
        );
        let _ = writeln!(
            front,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"label\" fill=\"{colour}\">{}</text>",
            (left + right) / 2.0,
            top - PADDING - 8.0,
            escaped(&group.name(graph))
        );
    }
    (back, front)
}

/// The lines, the weaker ones first and thinner.
fn lines(graph: &Graph, layout: &Layout) -> String {
    let scores = || graph.lines.iter().filter_map(Line::similarity);
    let least = scores().fold(f64::INFINITY, f64::min);
    let range = (scores().fold(f64::NEG_INFINITY, f64::max) - least).max(0.01);
    let mut out = String::new();
    for line in &graph.lines {
        let ([x, y], [to_x, to_y]) = (layout.places[line.from], layout.places[line.to]);
        let groups = [line.from, line.to].map(|node| graph.nodes[node].group);
        let colour =
            if groups[0] == groups[1] { graph.groups[groups[0]].colour(groups[0]) } else { "#8b95a3" };
        let (width, opacity) = match line.similarity() {
            Some(score) => {
                let strength = (score - least) / range;
                (0.8 + 2.6 * strength, 0.25 + 0.4 * strength)
            }
            None => (1.2, 0.75),
        };
        let dashes = if line.similarity().is_none() && line.link.rel != RESPONDED_WITH {
            " stroke-dasharray=\"5 3\""
        } else {
            ""
        };
        // A slight bow tells lines apart that would cover each other.
        let length = (to_x - x).hypot(to_y - y).max(1.0);
        let bow = if line.similarity().is_some() { (MAX_BOW / length).min(0.12) } else { 0.0 };
        let middle = [(x + to_x) / 2.0 - (to_y - y) * bow, (y + to_y) / 2.0 + (to_x - x) * bow];
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {y:.1}Q{:.1} {:.1} {to_x:.1} {to_y:.1}\" class=\"line\" stroke=\"{colour}\" \
             stroke-width=\"{width:.2}\" stroke-opacity=\"{opacity:.2}\" data-ends=\"{} {}\"{dashes}/>",
            middle[0], middle[1], line.from, line.to
        );
    }
    out
}

/// A message: full for a user's, empty for an answer; the text is its tooltip.
fn circle(graph: &Graph, node: &Node, at: usize, [x, y]: [f64; 2]) -> String {
    let colour = graph.groups[node.group].colour(node.group);
    let fill = if node.message.role == Some(Role::User) { colour } else { "#fff" };
    let day = time::rfc3339(node.message.timestamp);
    let tooltip = format!(
        "{} {}: {}",
        day.get(..10).unwrap_or(&day),
        node.message.heading,
        beginning(&node.message.text, TOOLTIP_COLUMNS)
    );
    format!(
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.8\" \
         data-node=\"{at}\"><title>{}</title></circle>\n",
        radius(node.degree),
        escaped(&tooltip)
    )
}
