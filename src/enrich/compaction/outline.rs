//! The text that carries over the part of a session before a compaction, within a number of tokens: each
//! action on a line if all fit; else failures and what fixed them, the last state of files, and the newest of
//! the rest. Decisions and open points come first. It leaves out the points of the client's own summary.

use super::points::{Point, PointKind, points};
use super::work::{Work, WorkLine};
use crate::record::Action;
use std::collections::BTreeMap;

/// A text, and the number of the actions in it.
pub(super) struct Outline {
    pub(super) text: String,
    pub(super) shown: usize,
}

/// The part of a session before a compaction.
pub(super) struct Past<'a> {
    /// Oldest first, like what was said.
    pub(super) actions: &'a [Action],
    pub(super) said: &'a [String],
    /// The summary of the client's program.
    pub(super) summary: &'a str,
}

/// The greatest length of a command or an error, in characters: the first that lets all fit holds.
const CHARS: [usize; 2] = [300, 160];
/// The same where not all actions fit: the first by which failures fit into their part holds, else the last.
const SHORT_CHARS: [usize; 3] = [140, 90, 64];

/// No line has fewer tokens.
const MIN_LINE_TOKENS: usize = 3;

/// The part of the text for decisions and open points that actions leave free, in hundredths.
const POINTS_SHARE: usize = 30;

/// The sections where not all actions fit, each with the part of the text that it has before others may take
/// more, in hundredths.
const DECISIONS: (&str, usize) = ("Decisions:", 22);
const OPEN: (&str, usize) = ("Open points:", 15);
const FAILURES: (&str, usize) = ("Failures -> what fixed them:", 35);
const FILES: (&str, usize) = ("Files, last state:", 28);
const REST: (&str, usize) = ("Newest of the rest:", 0);
/// The heading of all actions.
const ALL: &str = "Done, oldest first:";

/// The most files on one line.
const FILES_A_LINE: usize = 4;

/// A line that may be in the text.
struct Item {
    text: String,
    facts: Vec<String>,
    actions: usize,
    /// Its place in its section.
    order: usize,
    /// Whether it is in the text.
    is_taken: bool,
}

/// Items under a heading, those first that matter most.
struct Section {
    heading: &'static str,
    share: usize,
    items: Vec<Item>,
}

/// Composes the text; `tokens` counts those of a line of it. Empty if there is nothing to tell.
pub(super) fn outline(past: &Past, most: usize, tokens: &dyn Fn(&str) -> usize) -> Outline {
    let points = points(past.said.iter().map(String::as_str));
    let said = Said::new(past.summary);
    let kinds = [(DECISIONS, PointKind::Decision), (OPEN, PointKind::Open)];
    let sections_of_points =
        || kinds.map(|(heading, kind)| Section::new(heading, said.unsaid(point_items(&points, kind))));
    let own = Work::new(past.actions);
    let below = Work::new(past.actions).below_root();
    for (work, chars) in [(&own, CHARS[0]), (&below, CHARS[0]), (&below, CHARS[1])] {
        let lines = work.lines(chars);
        if lines.len() * MIN_LINE_TOKENS > most {
            break;
        }
        let items = said.unsaid(in_order(lines));
        let all = Section::new((ALL, 100), items);
        let points: usize = sections_of_points().iter().map(|section| section.tokens(tokens)).sum();
        let free = points.min(most * POINTS_SHARE / 100);
        if all.tokens(tokens) + tokens(&head(&work.root)) + free <= most {
            let [decisions, open] = sections_of_points();
            let mut sections = vec![all, decisions, open];
            take_all(&mut sections, most, tokens, &work.root);
            // Decisions come first.
            sections.rotate_left(1);
            return finish(sections, &work.root);
        }
    }
    let failures = |chars| Section::new(FAILURES, newest_first(said.unsaid(in_order(below.failures(chars)))));
    let fits = |section: &Section| section.tokens(tokens) <= most * section.share / 100;
    let [long, middle, short] = SHORT_CHARS;
    let failures = [long, middle].into_iter().map(failures).find(fits).unwrap_or_else(|| failures(short));
    let rest = below.lines(short).into_iter().filter(|line| !line.is_told).collect();
    let [decisions, open] = sections_of_points();
    let mut files = Section::new(FILES, said.unsaid(file_items(below.files())));
    if !fits(&files) {
        files = Section::new(FILES, grouped(below.files()));
    }
    let rest = Section::new(REST, newest_first(said.unsaid(in_order(rest))));
    let mut sections = vec![failures, files, decisions, open, rest];
    take_all(&mut sections, most, tokens, &below.root);
    // Decisions and open points come first.
    sections[..4].rotate_left(2);
    finish(sections, &below.root)
}

/// Takes as many items as fit: of each section its share, then of all, in their order.
fn take_all(sections: &mut [Section], most: usize, tokens: &dyn Fn(&str) -> usize, root: &str) {
    let mut left = most.saturating_sub(tokens(&head(root)));
    for section in &mut *sections {
        let share = (most * section.share / 100).min(left);
        left -= section.take(share, tokens);
    }
    for section in sections {
        left -= section.take(left, tokens);
    }
}

impl Section {
    fn new((heading, share): (&'static str, usize), items: Vec<Item>) -> Section {
        Section { heading, share, items }
    }

    /// The tokens of all of it.
    fn tokens(&self, tokens: &dyn Fn(&str) -> usize) -> usize {
        let heading = if self.items.is_empty() { 0 } else { tokens(self.heading) };
        heading + self.items.iter().map(|item| tokens(&item.text)).sum::<usize>()
    }

    /// Takes those of its items that fit into a number of tokens; returns the tokens that it took.
    fn take(&mut self, most: usize, tokens: &dyn Fn(&str) -> usize) -> usize {
        let mut heading = if self.items.iter().any(|item| item.is_taken) { 0 } else { tokens(self.heading) };
        let mut used = 0;
        for item in self.items.iter_mut().filter(|item| !item.is_taken) {
            let more = tokens(&item.text) + heading;
            if used + more <= most {
                item.is_taken = true;
                used += more;
                heading = 0;
            }
        }
        used
    }
}

/// The text of the items that were taken.
fn finish(sections: Vec<Section>, root: &str) -> Outline {
    let (mut text, mut shown) = (String::new(), 0);
    for mut section in sections {
        section.items.retain(|item| item.is_taken);
        section.items.sort_by_key(|item| item.order);
        if !section.items.is_empty() {
            text += section.heading;
            text.push('\n');
        }
        for item in section.items {
            shown += item.actions;
            text += &item.text;
            text.push('\n');
        }
    }
    if !text.is_empty() {
        text.insert_str(0, &head(root));
    }
    Outline { text: text.trim_end().to_owned(), shown }
}

/// The line about the directory that paths do not name.
fn head(root: &str) -> String {
    if root.is_empty() { String::new() } else { format!("Paths are below {root}\n") }
}

fn in_order(lines: Vec<WorkLine>) -> Vec<Item> {
    let item = |(order, WorkLine { text, facts, actions, .. }): (usize, WorkLine)| Item {
        text,
        facts,
        actions,
        order,
        is_taken: false,
    };
    lines.into_iter().enumerate().map(item).collect()
}

fn newest_first(mut items: Vec<Item>) -> Vec<Item> {
    items.reverse();
    items
}

/// The points of a kind: first those that are plain, the newest first.
fn point_items(points: &[Point], kind: PointKind) -> Vec<Item> {
    let mut own: Vec<(usize, &Point)> =
        points.iter().enumerate().filter(|(_, one)| one.kind == kind).collect();
    own.sort_by_key(|(at, point)| (!point.is_plain, usize::MAX - at));
    let item = |(order, point): (usize, &Point)| Item {
        text: format!("- {}", point.text),
        facts: vec![point.text.clone()],
        actions: 0,
        order,
        is_taken: false,
    };
    own.into_iter().map(item).collect()
}

/// A line for each file.
fn file_items(files: Vec<(String, WorkLine)>) -> Vec<Item> {
    let line =
        |(path, state): (String, WorkLine)| WorkLine { text: format!("{path}: {}", state.text), ..state };
    in_order(files.into_iter().map(line).collect())
}

/// A line for some files of each directory, which it names once; the one with the newest change first.
fn grouped(files: Vec<(String, WorkLine)>) -> Vec<Item> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines: Vec<(WorkLine, usize)> = Vec::new();
    for (path, state) in files {
        let (directory, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
        let known = places.get(directory).copied().filter(|at| lines[*at].1 < FILES_A_LINE);
        let one = format!("{name} {}", state.text);
        match known {
            Some(at) => {
                let (line, files) = &mut lines[at];
                line.text += &format!("; {one}");
                line.facts.extend(state.facts);
                (line.actions, *files) = (line.actions + state.actions, *files + 1);
            }
            None => {
                places.insert(directory.to_owned(), lines.len());
                lines.push((WorkLine { text: format!("{directory}: {one}"), ..state }, 1));
            }
        }
    }
    in_order(lines.into_iter().map(|(line, _)| line).collect())
}

/// The words of a summary.
struct Said(String);

impl Said {
    fn new(summary: &str) -> Said {
        Said(folded(summary))
    }

    /// The items of which the summary does not say everything.
    fn unsaid(&self, mut items: Vec<Item>) -> Vec<Item> {
        let is_said = |fact: &String| self.0.contains(&folded(fact));
        items.retain(|item| item.facts.is_empty() || !item.facts.iter().all(is_said));
        items
    }
}

/// A text in lower case with single spaces.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
