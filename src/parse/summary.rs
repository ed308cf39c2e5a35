//! Abstracts and overviews by rule: first sentences, headings, and the abstracts of a directory's children.

use super::markdown;
use super::outline::Extract;
use std::fmt::Write;
use std::ops::Range;

/// The greatest lengths of an abstract and an overview, in characters.
const ABSTRACT_CHARS: usize = 256;
const OVERVIEW_CHARS: usize = 4000;
/// The greatest length of the description in an overview, in characters and in words. So the overviews of
/// hits have about a third of the tokens of their contents (`scripts/bench tree`), and as many hits are
/// right.
const DESCRIPTION_CHARS: usize = 500;
const DESCRIPTION_WORDS: usize = 80;
/// The text, in bytes, that is read for a description.
const READ_BYTES: usize = 8 * 1024;
/// The greatest length of a title in a list.
const LISTED_TITLE_CHARS: usize = 120;

/// A child of a directory.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) abstract_: String,
}

/// An abstract and an overview.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Summary {
    pub(super) abstract_: String,
    pub(super) overview: String,
}

/// The summary of a part of a text.
pub(super) fn of_leaf(
    title: &str,
    extract: &Extract,
    range: Range<usize>,
    description: Option<&str>,
) -> Summary {
    let paragraphs = paragraphs(extract, range.clone());
    let described = description.map(str::to_owned).into_iter().chain(paragraphs);
    let (abstract_, words) = describe(title, &described.collect::<Vec<_>>());
    let mut overview = format!("# {title}\n");
    push_block(&mut overview, &words);
    let lines = extract.headings_in(&range).iter().filter(|heading| heading.title != title).map(|heading| {
        let indent = "  ".repeat(usize::from(heading.level.saturating_sub(1)));
        format!("{indent}- {}", cut(&heading.title, LISTED_TITLE_CHARS))
    });
    push_list(&mut overview, lines);
    Summary { abstract_, overview: overview.trim_end().to_owned() }
}

/// The summary of a directory; `own` is text about the whole, if there is any.
pub(super) fn of_directory(title: &str, own: &[String], children: &[Child]) -> Summary {
    let listed = children.iter().map(|child| child.title.as_str()).collect::<Vec<_>>().join(", ");
    let first = children.iter().map(|child| &child.abstract_).find(|text| !text.is_empty());
    let (mut abstract_, mut words) = describe(title, own);
    if own.is_empty() {
        abstract_ = cut(&listed, ABSTRACT_CHARS);
        words = first.cloned().unwrap_or_default();
    }
    let mut overview = format!("# {title}\n");
    push_block(&mut overview, &words);
    push_list(
        &mut overview,
        children.iter().map(|child| {
            let title = cut(&child.title, LISTED_TITLE_CHARS);
            if title == child.name { format!("- {title}") } else { format!("- {}: {title}", child.name) }
        }),
    );
    for child in children.iter().filter(|child| !child.abstract_.is_empty()) {
        let detail = format!("\n## {}\n\n{}\n", cut(&child.title, LISTED_TITLE_CHARS), child.abstract_);
        if overview.chars().count() + detail.chars().count() > OVERVIEW_CHARS {
            break;
        }
        overview.push_str(&detail);
    }
    Summary { abstract_, overview: overview.trim_end().to_owned() }
}

/// The first paragraphs of a part of a text.
pub(super) fn paragraphs(extract: &Extract, range: Range<usize>) -> Vec<String> {
    let text = &extract.text[range];
    let text = &text[..text.floor_char_boundary(READ_BYTES)];
    if extract.markdown {
        let prose = markdown::prose(text, 2 * DESCRIPTION_CHARS);
        // A part that is all code or table is described by its lines.
        if !prose.is_empty() {
            return prose;
        }
    }
    let lines = text.lines().filter(|line| line.chars().any(char::is_alphanumeric) && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The abstract and the description that paragraphs make.
fn describe(title: &str, paragraphs: &[String]) -> (String, String) {
    let text = paragraphs.join(" ");
    let abstract_ = sentences(&text, ABSTRACT_CHARS);
    let abstract_ = if abstract_.is_empty() { cut(title, ABSTRACT_CHARS) } else { abstract_ };
    let words = text.split(' ').take(DESCRIPTION_WORDS).collect::<Vec<_>>().join(" ");
    (abstract_, sentences(&words, DESCRIPTION_CHARS))
}

/// As many whole sentences as fit, at least the beginning of one.
fn sentences(text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let mut chars = text[..end].char_indices().peekable();
    let mut last = None;
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '.' | '!' | '?' => chars.peek().is_some_and(|(_, next)| next.is_whitespace()),
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            last = Some(at + c.len_utf8());
        }
    }
    // A very short first sentence says too little.
    match last.filter(|last| *last > end / 4) {
        Some(last) => text[..last].to_owned(),
        None => cut(text, limit),
    }
}

/// A text of at most `limit` characters, which ends at a word and with an ellipsis if it was cut.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let kept: String = text[..end].chars().take(limit - 1).collect();
    let word_end = kept.rfind(char::is_whitespace).filter(|at| *at > kept.len() / 2);
    format!("{}…", kept[..word_end.unwrap_or(kept.len())].trim_end())
}

fn push_block(overview: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = write!(overview, "\n{text}\n");
    }
}

/// Appends as many lines as fit, and says how many do not.
fn push_list(overview: &mut String, lines: impl Iterator<Item = String>) {
    let mut remaining = (OVERVIEW_CHARS - 40).saturating_sub(overview.chars().count());
    let (mut list, mut left_out) = (String::new(), 0);
    for line in lines {
        let length = line.chars().count() + 1;
        if left_out > 0 || length > remaining {
            left_out += 1;
            continue;
        }
        remaining -= length;
        list.push_str(&line);
        list.push('\n');
    }
    if left_out > 0 {
        let _ = writeln!(list, "- and {left_out} more");
    }
    if !list.is_empty() {
        let _ = write!(overview, "\n{list}");
    }
}
