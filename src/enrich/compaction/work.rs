//! The work of a session from its actions: each on a line, failures with what fixed them, and the last state
//! of files.

use super::points::cut;
use crate::record::{Action, Purpose};
use std::collections::{HashMap, HashSet};

/// A line of text about actions.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct WorkLine {
    pub(super) text: String,
    /// The words that tell all of it.
    pub(super) facts: Vec<String>,
    /// The number of its actions.
    pub(super) actions: usize,
    /// Whether another section tells of it: it failed, or it changed a file.
    pub(super) is_told: bool,
}

/// The work of a session.
pub(super) struct Work<'a> {
    /// Oldest first.
    actions: &'a [Action],
    /// The tool of each, and what it was called with: of a command this alone.
    subjects: Vec<String>,
    /// The directory below which all absolute paths are told, with a slash at its end; empty if they are told
    /// whole.
    pub(super) root: String,
}

/// The most errors on a line.
const MAX_ERRORS: usize = 4;
/// The most files and commands that are named for a failure as its cure.
const MAX_CURES: usize = 3;
/// The shortest directory that is said once, in bytes.
const MIN_ROOT_BYTES: usize = 4;

impl<'a> Work<'a> {
    /// The work with whole paths.
    pub(super) fn new(actions: &'a [Action]) -> Work<'a> {
        Work::below(actions, String::new())
    }

    /// The same with paths below the directory that they have in common.
    pub(super) fn below_root(self) -> Work<'a> {
        Work::below(self.actions, root(self.actions.iter().flat_map(paths)))
    }

    fn below(actions: &'a [Action], root: String) -> Work<'a> {
        let mut work = Work { actions, subjects: Vec::new(), root };
        work.subjects = actions.iter().map(|action| work.subject(action)).collect();
        work
    }

    /// A line for each action, oldest first; the same ones after each other share one. Texts are cut after
    /// this many characters.
    pub(super) fn lines(&self, chars: usize) -> Vec<WorkLine> {
        let mut lines: Vec<WorkLine> = Vec::new();
        let mut last = String::new();
        for (at, action) in self.actions.iter().enumerate() {
            let (text, facts) = (self.line(at, chars), self.facts(action));
            match lines.last_mut().filter(|_| last == text) {
                Some(same) => {
                    same.actions += 1;
                    same.text = format!("{text} ({}x)", same.actions);
                }
                None => {
                    let is_told = action.error.is_some() || action.lines.is_some();
                    lines.push(WorkLine { text: text.clone(), facts, actions: 1, is_told });
                }
            }
            last = text;
        }
        lines
    }

    /// `Edit src/pay.rs, 3 lines`, `$ cargo test, failed: error: no such test`.
    fn line(&self, at: usize, chars: usize) -> String {
        let action = &self.actions[at];
        let mut text = cut(&self.subjects[at], chars);
        if let Some(lines) = action.lines {
            text += &format!(", {}", counted(lines));
        }
        match &action.error {
            Some(error) if error.is_empty() => text += ", failed",
            Some(error) => text += &format!(", failed: {}", cut(error, chars)),
            None => {}
        }
        text
    }

    fn subject(&self, action: &Action) -> String {
        match &action.purpose {
            Some(Purpose::Command(command)) => format!("$ {command}"),
            Some(Purpose::Paths(paths)) => format!("{} {}", action.tool, self.names(paths)),
            Some(Purpose::Pattern(text) | Purpose::Query(text)) => format!("{} {text}", action.tool),
            None => action.tool.clone(),
        }
    }

    fn facts(&self, action: &Action) -> Vec<String> {
        let mut facts = match &action.purpose {
            Some(Purpose::Command(text) | Purpose::Pattern(text) | Purpose::Query(text)) => {
                vec![text.clone()]
            }
            Some(Purpose::Paths(paths)) => paths.iter().map(|path| self.name(path).to_owned()).collect(),
            None => vec![action.tool.clone()],
        };
        facts.extend(action.error.clone().filter(|error| !error.is_empty()));
        facts.extend(action.lines.map(counted));
        facts
    }

    fn names(&self, paths: &[String]) -> String {
        paths.iter().map(|path| self.name(path)).collect::<Vec<_>>().join(", ")
    }

    /// A path, below the root if it is there.
    fn name<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// The failures with what fixed them, oldest first: those of one command on a line, `$ cargo test: ERROR
    /// -> FILES; ERROR -> FILES`, within `chars` characters; the same error once, as it ended.
    pub(super) fn failures(&self, chars: usize) -> Vec<WorkLine> {
        let mut found: Vec<(WorkLine, Vec<String>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut seen: HashSet<(&str, &str)> = HashSet::new();
        // The last one tells how it ended.
        for (at, action) in self.actions.iter().enumerate().rev() {
            let Some(error) = &action.error else { continue };
            let subject = self.subjects[at].as_str();
            if !seen.insert((subject, error)) {
                continue;
            }
            let (cure, mut cures) = self.cure(at, error);
            let mut facts = self.facts(action);
            facts.append(&mut cures);
            let told = format!("{} -> {cure}", cut(error, chars));
            let known = places.get(subject).copied().filter(|known| found[*known].1.len() < MAX_ERRORS);
            match known {
                Some(known) => {
                    let (line, errors) = &mut found[known];
                    line.facts.append(&mut facts);
                    line.actions += 1;
                    errors.push(told);
                }
                None => {
                    places.insert(subject, found.len());
                    let text = format!("{}: ", cut(subject, chars));
                    found.push((WorkLine { text, facts, actions: 1, is_told: true }, vec![told]));
                }
            }
        }
        let whole = |(line, mut errors): (WorkLine, Vec<String>)| {
            errors.reverse();
            WorkLine { text: line.text + &errors.join("; "), ..line }
        };
        found.into_iter().rev().map(whole).collect()
    }

    /// The cure of a failed action that succeeded then, or failed otherwise: the files that were changed
    /// before it was done again, else the commands.
    fn cure(&self, at: usize, error: &str) -> (String, Vec<String>) {
        let (subject, rest, later) = (&self.subjects[at], &self.actions[at + 1..], &self.subjects[at + 1..]);
        let is_part = |other: &String| is_command_within(other, subject) || is_command_within(subject, other);
        let again = later.iter().position(|other| other == subject);
        let Some(again) = again.or_else(|| later.iter().position(is_part)) else {
            return ("not tried again".to_owned(), Vec::new());
        };
        let outcome = match &rest[again].error {
            None => "",
            Some(other) if other == error => return ("failed again".to_owned(), Vec::new()),
            Some(_) => ", then another error",
        };
        let mut files: Vec<String> = Vec::new();
        let mut commands: Vec<String> = Vec::new();
        for action in rest[..again].iter().rev().filter(|action| action.error.is_none()) {
            match &action.purpose {
                Some(Purpose::Paths(paths)) if action.lines.is_some() => {
                    let named = self.names(paths);
                    if !files.contains(&named) {
                        files.push(named);
                    }
                }
                Some(Purpose::Command(command)) => commands.push(format!("$ {}", cut(command, 60))),
                _ => {}
            }
        }
        let mut cures = if files.is_empty() { commands } else { files };
        cures.truncate(MAX_CURES);
        let told = if cures.is_empty() { "done again".to_owned() } else { cures.join(", ") };
        (told + outcome, cures)
    }

    /// The last state of each changed file, the one that was changed last first.
    pub(super) fn files(&self) -> Vec<(String, WorkLine)> {
        let mut states: HashMap<&str, (usize, u64, usize)> = HashMap::new();
        for (at, action) in self.actions.iter().enumerate().filter(|(_, action)| action.error.is_none()) {
            let Some(lines) = action.lines else { continue };
            for path in paths(action) {
                let (times, sum, last) = states.entry(self.name(path)).or_default();
                (*times, *sum, *last) = (*times + 1, *sum + lines, at);
            }
        }
        let mut found: Vec<_> = states.into_iter().collect();
        found.sort_by_key(|(path, (.., last))| (std::cmp::Reverse(*last), *path));
        let line = |(path, (times, sum, last)): (&str, (usize, u64, usize))| {
            let last = &self.actions[last];
            let state = match times {
                1 => format!("{} {}", last.tool, counted(sum)),
                _ => {
                    let own = last.lines.unwrap_or_default();
                    format!("{times}x {}, last {} {own}", counted(sum), last.tool)
                }
            };
            let facts = vec![path.to_owned(), counted(sum)];
            (path.to_owned(), WorkLine { text: state, facts, actions: times, is_told: true })
        };
        found.into_iter().map(line).collect()
    }
}

/// `3 lines`.
fn counted(lines: u64) -> String {
    crate::text::counted(lines, "line")
}

/// Whether a command is the beginning of another, as that of all tests is of some.
fn is_command_within(one: &str, other: &str) -> bool {
    one.starts_with("$ ") && other.strip_prefix(one).is_some_and(|rest| rest.starts_with(' '))
}

fn paths(action: &Action) -> impl Iterator<Item = &String> {
    let paths = match &action.purpose {
        Some(Purpose::Paths(paths)) => paths.as_slice(),
        _ => &[],
    };
    paths.iter()
}

/// The directory above that in which all absolute paths lie: the name of this tells the project.
fn root<'a>(paths: impl Iterator<Item = &'a String>) -> String {
    let mut root: Option<String> = None;
    for path in paths.filter(|path| path.starts_with('/')) {
        let directory = &path[..=path.rfind('/').unwrap_or_default()];
        let common = match &root {
            None => directory,
            Some(known) => {
                let same = known.bytes().zip(directory.bytes()).take_while(|(a, b)| a == b).count();
                &known[..known[..known.floor_char_boundary(same)].rfind('/').map_or(0, |slash| slash + 1)]
            }
        };
        root = Some(common.to_owned());
    }
    // Without paths there is none, and nothing to shorten.
    let root = root.unwrap_or_default();
    let above = root.trim_end_matches('/').rfind('/').map_or("", |slash| &root[..=slash]);
    if above.len() < MIN_ROOT_BYTES { String::new() } else { above.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(command: &str, error: Option<&str>) -> Action {
        let purpose = Some(Purpose::Command(command.to_owned()));
        Action { tool: "Bash".to_owned(), purpose, error: error.map(str::to_owned), ..Action::default() }
    }

    fn edit(path: &str, lines: u64) -> Action {
        let purpose = Some(Purpose::Paths(vec![path.to_owned()]));
        Action { tool: "Edit".to_owned(), purpose, lines: Some(lines), ..Action::default() }
    }

    #[test]
    fn a_failure_names_what_was_changed_before_it_was_gone() {
        let actions = [
            command("cargo test pay", Some("E0425: no zebra")),
            edit("/home/ann/shop/src/a.rs", 1),
            command("cargo test pay", Some("E0425: no zebra")),
            edit("/home/ann/shop/src/pay.rs", 3),
            command("cargo test pay", Some("E0308: mismatched")),
            edit("/home/ann/shop/src/pay.rs", 4),
            command("cargo test", None),
            command("npm ci", Some("EACCES")),
        ];
        let work = Work::new(&actions).below_root();
        assert_eq!(work.root, "/home/ann/shop/");
        let failures: Vec<String> = work.failures(80).into_iter().map(|line| line.text).collect();
        assert_eq!(
            failures,
            [
                "$ cargo test pay: E0425: no zebra -> src/pay.rs, then another error; E0308: mismatched -> src/pay.rs",
                "$ npm ci: EACCES -> not tried again",
            ]
        );
        let files: Vec<(String, String)> =
            work.files().into_iter().map(|(path, line)| (path, line.text)).collect();
        let wanted = [("src/pay.rs", "2x 7 lines, last Edit 4"), ("src/a.rs", "Edit 1 line")];
        assert_eq!(files, wanted.map(|(path, state)| (path.to_owned(), state.to_owned())));
        assert_eq!(work.lines(80)[1].text, "Edit src/a.rs, 1 line");
    }
}
