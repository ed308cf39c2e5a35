//! The lines of pages into text: running heads and page numbers left out, words joined that line ends part.

use super::layout::{Line, median};
use rustc_hash::FxHashSet;

/// How many lines at the top and at the bottom of a page may be running heads and numbers.
const EDGE_LINES: usize = 3;
/// Among how many pages before and after a page its running heads are looked for, and on how many they must
/// be: those of left pages may differ from those of right ones.
const NEIGHBOURS: usize = 4;
const LEAST_REPEATS: usize = 2;
/// How far from each other the same places of two pages are, in points.
const SAME_PLACE: f64 = 3.0;
/// How many letters the words around the number of a page have at most.
const MAX_NUMBER_LETTERS: usize = 9;
/// How high the margins are in which they stand, in parts of the height of the page, and how far the text is
/// from them, from baseline to baseline, in parts of the size of its letters.
const MARGIN: f64 = 0.18;
const GAP: f64 = 1.5;
const SOFT_HYPHEN: char = '\u{ad}';

/// The lines of a page in the order in which they are read.
pub(super) struct TextPage {
    pub(super) lines: Vec<Line>,
    /// In points.
    pub(super) height: f64,
}

/// The text of pages; a form feed follows each.
pub(super) fn text(mut pages: Vec<TextPage>) -> String {
    leave_out_running_heads(&mut pages);
    let vocabulary = vocabulary(&pages);
    let mut text = String::new();
    for page in &pages {
        let start = text.len();
        // How many bytes of a line are on the line before it already.
        let mut taken = 0;
        for (at, line) in page.lines.iter().enumerate() {
            if line.begins && text.len() > start {
                text.push('\n');
            }
            let words = line.text[taken..].trim();
            let next = page.lines.get(at + 1).filter(|next| !next.begins);
            let joined = next.and_then(|next| joined(words, &next.text, &vocabulary));
            let (words, rest) = joined.as_ref().map_or((words, ""), |(words, rest)| (words, *rest));
            text.extend(words.chars().chain(rest.chars()).filter(|c| *c != SOFT_HYPHEN));
            if !words.is_empty() {
                text.push('\n');
            }
            taken = rest.len();
        }
        text.push('\u{c}');
    }
    text
}

/// The words with hyphens in them, and all others without them, as far as lines do not end in them.
fn vocabulary(pages: &[TextPage]) -> FxHashSet<String> {
    let lines = pages.iter().flat_map(|page| &page.lines);
    let words = lines.flat_map(|line| line.text.split(|c: char| !c.is_alphanumeric() && c != '-'));
    let words = words.filter(|word| word.len() > 3 && !word.ends_with('-'));
    words.map(str::to_lowercase).collect()
}

/// A line whose last word continues in the next line, up to where it does, and the rest of that word.
fn joined<'a>(line: &'a str, next: &'a str, vocabulary: &FxHashSet<String>) -> Option<(&'a str, &'a str)> {
    let next = next.trim_start();
    let hyphen = line.chars().next_back().filter(|c| ['-', '\u{2010}', SOFT_HYPHEN].contains(c))?;
    let stem = &line[..line.len() - hyphen.len_utf8()];
    let first = stem.rsplit(|c: char| !c.is_alphanumeric() && c != '-').next()?;
    if !first.chars().next_back()?.is_alphabetic() || !next.chars().next()?.is_lowercase() {
        return None;
    }
    let rest = &next[..next.find(' ').unwrap_or(next.len())];
    let second = rest.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
    let is_known = |between: &str| vocabulary.contains(&format!("{first}{between}{second}").to_lowercase());
    // A compound that has its hyphen elsewhere, or another hyphen, keeps it; so does one that begins with a
    // single letter, after which no word is parted.
    let is_compound = first.contains('-') || first.chars().count() == 1 || is_known("-");
    let keeps = hyphen != SOFT_HYPHEN && is_compound && !is_known("");
    Some((if keeps { line } else { stem }, rest))
}

/// Leaves out lines that stand at the same place of several pages, after the first page that has them;
/// numbers of pages there, too. A page that has nothing else keeps them.
fn leave_out_running_heads(pages: &mut [TextPage]) {
    let edges: Vec<Vec<Edge>> = pages.iter().map(edges).collect();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for (at, page) in pages.iter_mut().enumerate() {
        let from = at.saturating_sub(NEIGHBOURS);
        let neighbours = (from..(at + NEIGHBOURS + 1).min(edges.len())).filter(|other| *other != at);
        let repeats = |edge: &Edge| {
            let is_on =
                |other: &usize| edges[*other].iter().any(|line| edge.is_repeated(line, other.abs_diff(at)));
            neighbours.clone().filter(is_on).count()
        };
        let repeated: Vec<&Edge> = edges[at].iter().filter(|edge| repeats(edge) >= LEAST_REPEATS).collect();
        if repeated.len() == page.lines.len() {
            continue;
        }
        let mut out = FxHashSet::default();
        for edge in repeated {
            if !seen.insert(&edge.pattern) || edge.is_number() {
                out.insert(edge.line);
            }
        }
        let mut line = 0..;
        page.lines.retain(|_| line.next().is_none_or(|line| !out.contains(&line)));
    }
}

/// A line at the top or at the bottom of a page.
struct Edge {
    line: usize,
    baseline: f64,
    /// Its text with `#` in place of each number.
    pattern: String,
    numbers: Vec<usize>,
}

impl Edge {
    /// Whether it is on another page too, this many pages away: its numbers are the same or count the pages.
    fn is_repeated(&self, other: &Edge, pages: usize) -> bool {
        let counts = |(a, b): (&usize, &usize)| a == b || a.abs_diff(*b) == pages;
        (self.baseline - other.baseline).abs() < SAME_PLACE
            && self.pattern == other.pattern
            && self.numbers.iter().zip(&other.numbers).all(counts)
    }

    /// Whether it says no more than the number of a page, as "Page 3 of 7" does.
    fn is_number(&self) -> bool {
        self.pattern.contains('#')
            && self.pattern.chars().filter(|c| c.is_alphabetic()).count() <= MAX_NUMBER_LETTERS
    }
}

/// The lines in the margins of a page.
fn edges(page: &TextPage) -> Vec<Edge> {
    let lines = &page.lines;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|a, b| lines[*a].baseline.total_cmp(&lines[*b].baseline));
    let size = median(lines.iter().map(|line| line.size).collect());
    let margin = MARGIN * page.height;
    let top = in_margin(&order, |line| lines[line].baseline, margin, size);
    order.reverse();
    let bottom = in_margin(&order, |line| page.height - lines[line].baseline, margin, size);
    // Headings are larger than other lines; running heads are not.
    let edges = top.iter().chain(&bottom).filter(|line| lines[**line].size < 1.2 * size);
    edges.map(|line| Edge::new(*line, &lines[*line])).collect()
}

/// The lines with which an order begins, up to a gap, if they are few and in the margin.
fn in_margin(order: &[usize], distance: impl Fn(usize) -> f64, margin: f64, size: f64) -> Vec<usize> {
    let is_close = |pair: &[usize]| distance(pair[1]) < distance(pair[0]) + GAP * size;
    let count = 1 + order.windows(2).take_while(|pair| is_close(pair)).count();
    let lines = order.get(..count).unwrap_or_default();
    let is_margin = lines.len() <= EDGE_LINES && lines.iter().all(|line| distance(*line) < margin);
    if is_margin { lines.to_vec() } else { Vec::new() }
}

impl Edge {
    fn new(at: usize, line: &Line) -> Edge {
        let mut edge =
            Edge { line: at, baseline: line.baseline, pattern: String::new(), numbers: Vec::new() };
        for part in line.text.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
            if !digits.is_empty() {
                edge.numbers.push(digits.parse().unwrap_or(usize::MAX));
                edge.pattern.push('#');
            }
            edge.pattern.push_str(&part[digits.len()..]);
        }
        edge
    }
}
