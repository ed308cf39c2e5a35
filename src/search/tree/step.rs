//! The steps of a search in the tree, from which a reader can tell how its hits came about.

use crate::ranking::weights::{OWN_SHARE, STABLE_ROUNDS, START_DIRECTORIES};
use crate::record::{Address, Object, Query, quote};
use crate::search::request::Method;

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// The search begins.
    SearchStart {
        questions: Vec<String>,
        targets: Vec<Address>,
        method: Method,
        limit: usize,
        min_score: Option<f64>,
        /// Whether of those that say the same only the best is a hit.
        deduplicate: bool,
        /// Whether the words of a session count beside the questions.
        has_context: bool,
    },
    /// A directory with this score is visited; this many of its children are candidates, or lead to some.
    Directory { uri: Address, score: f64, children: usize },
    /// A node has a score: its own, or, below a directory scored `parent`, `OWN_SHARE` of it and the rest of
    /// that.
    Candidate { uri: Address, own: f64, parent: Option<f64>, score: f64 },
    /// Something is no hit. The score is known if it was visited, its own score if it was found at all, and
    /// of a duplicate the better one that says the same.
    Excluded {
        uri: Address,
        reason: Exclusion,
        own: Option<f64>,
        score: Option<f64>,
        same_as: Option<Address>,
    },
    /// The first hits stayed the same, so that no more directories were visited.
    Converged { rounds: usize },
    /// The search ended.
    Summary { candidates: usize, hits: usize, ms: f64 },
}

/// Why something is no hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exclusion {
    /// Nothing is stored at or below the target.
    Missing,
    /// It is a target, with hits below it.
    Target,
    /// The search ended before its directory was visited.
    Unvisited,
    MinScore,
    /// Another condition of the search.
    Filter,
    Duplicate,
    /// There are enough better ones.
    Limit,
}

impl Exclusion {
    /// Its name in a line.
    pub fn name(self) -> &'static str {
        match self {
            Exclusion::Missing => "missing",
            Exclusion::Target => "target",
            Exclusion::Unvisited => "unvisited",
            Exclusion::MinScore => "min_score",
            Exclusion::Filter => "filter",
            Exclusion::Duplicate => "duplicate",
            Exclusion::Limit => "limit",
        }
    }
}

impl Step {
    /// The exclusion of something that has no score.
    pub(super) fn excluded(uri: Address, reason: Exclusion) -> Step {
        Step::Excluded { uri, reason, own: None, score: None, same_as: None }
    }

    /// The step as a line, without its end.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("kind", "step");
        match self {
            Step::SearchStart { questions, targets, method, limit, min_score, deduplicate, has_context } => {
                line.set_text("event", "search_start");
                line.set("questions", array(questions.iter().map(String::as_str)));
                line.set("targets", array(targets.iter().map(Address::as_str)));
                line.set_text("method", method.name());
                if *method == Method::Recursive {
                    number(&mut line, "own_share", Some(OWN_SHARE));
                    line.set("start_directories", START_DIRECTORIES.to_string());
                    line.set("stable_rounds", STABLE_ROUNDS.to_string());
                }
                line.set("limit", limit.to_string());
                number(&mut line, "min_score", *min_score);
                for (name, is_set) in [("deduplicate", deduplicate), ("session_context", has_context)] {
                    if *is_set {
                        line.set(name, "true");
                    }
                }
            }
            Step::Directory { uri, score, children } => {
                line.set_text("event", "directory");
                line.set_text("uri", uri.as_str());
                number(&mut line, "score", Some(*score));
                line.set("children", children.to_string());
            }
            Step::Candidate { uri, own, parent, score } => {
                line.set_text("event", "candidate");
                line.set_text("uri", uri.as_str());
                number(&mut line, "own", Some(*own));
                number(&mut line, "parent", *parent);
                number(&mut line, "score", Some(*score));
            }
            Step::Excluded { uri, reason, own, score, same_as } => {
                line.set_text("event", "excluded");
                line.set_text("uri", uri.as_str());
                line.set_text("reason", reason.name());
                number(&mut line, "own", *own);
                number(&mut line, "score", *score);
                if let Some(other) = same_as {
                    line.set_text("same_as", other.as_str());
                }
            }
            Step::Converged { rounds } => {
                line.set_text("event", "converged");
                line.set("rounds", rounds.to_string());
            }
            Step::Summary { candidates, hits, ms } => {
                line.set_text("event", "summary");
                line.set("candidates", candidates.to_string());
                line.set("hits", hits.to_string());
                line.set("ms", format!("{ms:.1}"));
            }
        }
        line
    }

    /// Appends the step as a line; of many questions, `query` names the one.
    pub fn write_line(&self, query: Option<&Query>, out: &mut Vec<u8>) {
        let mut line = self.to_object();
        if let Some(query) = query {
            line.set("query", &query.name);
        }
        line.write(out);
        out.push(b'\n');
    }

    /// The step for people, without a line end.
    pub fn to_text(&self) -> String {
        match self {
            Step::SearchStart { questions, targets, method, has_context, .. } => {
                let targets: Vec<&str> = targets.iter().map(Address::as_str).collect();
                let questions: Vec<String> = questions.iter().map(|question| quote(question)).collect();
                let with = if *has_context { " with the words of the session" } else { "" };
                let (questions, targets) = (questions.join(", "), targets.join(", "));
                format!("{} search for {questions}{with} below {targets}", method.name())
            }
            Step::Directory { uri, score, children } => format!("visited    {score:.3} {uri} ({children})"),
            Step::Candidate { uri, own, score, .. } => format!("candidate  {score:.3} {uri} (own {own:.3})"),
            Step::Excluded { uri, reason, score, .. } => {
                let score = score.map_or("     ".to_owned(), |score| format!("{score:.3}"));
                format!("excluded   {score} {uri} ({})", reason.name())
            }
            Step::Converged { rounds } => format!("converged after {rounds} directories"),
            Step::Summary { candidates, hits, ms } => {
                format!("{hits} of {candidates} candidates are hits, in {ms:.1} ms")
            }
        }
    }
}

fn number(line: &mut Object, name: &str, number: Option<f64>) {
    if let Some(number) = number {
        line.set(name, number.to_string());
    }
}

fn array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(quote).collect::<Vec<_>>().join(","))
}
