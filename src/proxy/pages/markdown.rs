//! Markdown as markup: what CommonMark has, tables and strikethrough. Raw HTML is text, no image is loaded,
//! and a link leads to the web or to a mailbox alone.

use crate::picture::escaped;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::fmt::Write;

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH);

/// The schemes of addresses that are linked to.
const SCHEMES: [&str; 3] = ["http:", "https:", "mailto:"];

/// The most elements within each other: browsers draw no more than some hundred.
const MAX_DEPTH: usize = 40;

/// The headings of a page stand above those of a text in it.
const HEADING_OFFSET: u8 = 2;

/// The most bytes of markup for each byte of a text, beyond the first. More has only a table of mostly empty
/// cells.
const MAX_GROWTH: usize = 8;
const ALWAYS_ALLOWED: usize = 64 << 10;

/// Returns the markup of a text. Of one whose markup would be many times as long, it has the beginning.
pub(super) fn to_html(markdown: &str) -> String {
    let most = ALWAYS_ALLOWED + MAX_GROWTH * markdown.len();
    let mut writer = Writer::default();
    for event in Parser::new_ext(markdown, OPTIONS) {
        if writer.out.len() > most {
            writer.out.push('…');
            break;
        }
        writer.event(event);
    }
    writer.out.extend(writer.open.into_iter().rev());
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The end tags of the open elements.
    open: Vec<String>,
    /// The alignments of the columns of the table, and the column of the next cell.
    columns: (Vec<Alignment>, usize),
    is_table_head: bool,
    /// Whether a link is open, in which there can be no other.
    is_in_link: bool,
}

impl Writer {
    fn event(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.out.push_str(&escaped(&text));
            }
            Event::Code(code) => {
                let _ = write!(self.out, "<code>{}</code>", escaped(&code));
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(_)
            | Event::FootnoteReference(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag) {
        let (begin, end) = match tag {
            Tag::Paragraph => ("<p>".to_owned(), "</p>\n".to_owned()),
            Tag::Heading { level, .. } => {
                let level = (level as u8 + HEADING_OFFSET).min(6);
                (format!("<h{level}>"), format!("</h{level}>\n"))
            }
            Tag::BlockQuote(_) => pair("blockquote"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                let label = if language.is_empty() {
                    String::new()
                } else {
                    format!("<span class=\"language\">{}</span>", escaped(language))
                };
                (
                    format!("<div class=\"code\">{label}<pre tabindex=\"0\"><code>"),
                    "</code></pre></div>\n".to_owned(),
                )
            }
            Tag::HtmlBlock => ("<p class=\"raw\">".to_owned(), "</p>\n".to_owned()),
            Tag::List(Some(first)) => (format!("<ol start=\"{first}\">\n"), "</ol>\n".to_owned()),
            Tag::List(None) => pair("ul"),
            Tag::Item => pair("li"),
            Tag::Table(alignments) => {
                self.columns = (alignments, 0);
                ("<div class=\"wide\" tabindex=\"0\"><table>\n".to_owned(), "</table></div>\n".to_owned())
            }
            Tag::TableHead => {
                (self.is_table_head, self.columns.1) = (true, 0);
                ("<thead><tr>".to_owned(), "</tr></thead>\n".to_owned())
            }
            Tag::TableRow => {
                self.columns.1 = 0;
                pair("tr")
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => ("<em>".to_owned(), "</em>".to_owned()),
            Tag::Strong => ("<strong>".to_owned(), "</strong>".to_owned()),
            Tag::Strikethrough => ("<del>".to_owned(), "</del>".to_owned()),
            Tag::Link { dest_url, .. } => self.link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.link(&dest_url, "image: "),
            _ => Default::default(),
        };
        if self.open.len() < MAX_DEPTH {
            self.out.push_str(&begin);
            self.open.push(end);
        } else {
            self.open.push(String::new());
        }
    }

    fn end(&mut self, tag: TagEnd) {
        // The parser closes what it has opened.
        let end = self.open.pop().unwrap_or_default();
        self.out.push_str(&end);
        match tag {
            TagEnd::TableHead => self.is_table_head = false,
            TagEnd::TableCell => self.columns.1 += 1,
            TagEnd::Link | TagEnd::Image if end == "</a>" => self.is_in_link = false,
            _ => {}
        }
    }

    fn cell(&self) -> (String, String) {
        let name = if self.is_table_head { "th" } else { "td" };
        let alignment = match self.columns.0.get(self.columns.1) {
            Some(Alignment::Center) => " class=\"center\"",
            Some(Alignment::Right) => " class=\"right\"",
            _ => "",
        };
        (format!("<{name}{alignment}>"), format!("</{name}>"))
    }

    /// The link to an address, with words before its text; of any other address its text alone.
    fn link(&mut self, address: &str, words: &str) -> (String, String) {
        let lower = address.trim_start().to_ascii_lowercase();
        let is_linked = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
        if !is_linked || self.is_in_link || self.open.len() >= MAX_DEPTH {
            return (words.to_owned(), String::new());
        }
        self.is_in_link = true;
        let begin = format!("<a href=\"{}\" rel=\"noopener noreferrer\">{words}", escaped(address));
        (begin, "</a>".to_owned())
    }
}

fn pair(name: &str) -> (String, String) {
    (format!("<{name}>\n"), format!("</{name}>\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_markup_of_which_nothing_is_its_own() {
        for (markdown, html) in [
            ("Hello *you* and **me**", "<p>Hello <em>you</em> and <strong>me</strong></p>\n"),
            ("# A\n\n- b\n- c", "<h3>A</h3>\n<ul>\n<li>\nb</li>\n<li>\nc</li>\n</ul>\n"),
            ("<b onclick=x>y</b>", "<p>&lt;b onclick=x&gt;y&lt;/b&gt;</p>\n"),
            ("<script>\nx()\n</script>", "<p class=\"raw\">&lt;script&gt;\nx()\n&lt;/script&gt;</p>\n"),
            ("[x](javascript:y) [z]( JAVAscript:y)", "<p>x z</p>\n"),
            ("[x](data:text/html,y) [z](//evil)", "<p>x z</p>\n"),
            (
                "[x](https://a.example/?b=\"c)",
                "<p><a href=\"https://a.example/?b=&quot;c\" rel=\"noopener noreferrer\">x</a></p>\n",
            ),
            (
                "![a cat](https://a.example/c.png)",
                "<p><a href=\"https://a.example/c.png\" rel=\"noopener noreferrer\">image: a cat</a></p>\n",
            ),
            ("![a cat](c.png)", "<p>image: a cat</p>\n"),
            (
                "[![a](https://b/c.png)](https://b)",
                "<p><a href=\"https://b\" rel=\"noopener noreferrer\">image: a</a></p>\n",
            ),
            (
                "```rust\nlet a = 1;\n\n  b();\n```",
                "<div class=\"code\"><span class=\"language\">rust</span><pre tabindex=\"0\"><code>let a = 1;\n\n  b();\n</code></pre></div>\n",
            ),
            (
                "a|b\n-|-:\nc|d",
                "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th>a</th><th class=\"right\">b</th></tr></thead>\n<tr>\n<td>c</td><td class=\"right\">d</td></tr>\n</table></div>\n",
            ),
        ] {
            assert_eq!(to_html(markdown), html, "{markdown}");
        }
    }

    #[test]
    fn deep_nesting_is_balanced_and_bounded() {
        let html = to_html(&(">".repeat(10_000) + " x"));
        assert_eq!(html.matches("<blockquote>").count(), MAX_DEPTH);
        assert_eq!(html.matches("</blockquote>").count(), MAX_DEPTH);
        assert!(html.contains('x'));
    }

    #[test]
    fn a_table_of_empty_cells_has_a_beginning_alone() {
        let columns = 5000;
        let head = format!("|{}\n|{}\n", "a|".repeat(columns), "-|".repeat(columns));
        let markdown = head + &"x\n".repeat(6000);
        let html = to_html(&markdown);
        assert!(
            html.len() < 10 * markdown.len() + ALWAYS_ALLOWED && html.ends_with("</table></div>\n"),
            "{}",
            html.len()
        );
        assert_eq!(html.matches("<tr>").count(), html.matches("</tr>").count());
    }
}
