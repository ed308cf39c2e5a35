//! The steps of a search in the tree, from which a reader can tell how its hits came about.

use super::query::{Method, OWN_SHARE};
use crate::record::{Address, Object, Query, quote};

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
    },
    /// A directory with this score is visited; so many of its children are candidates, or lead to some.
    Directory { uri: Address, score: f64, children: usize },
    /// A node has a score: its own, or, below a directory with the score `parent`, `OWN_SHARE` of it and the rest of that.
    Candidate { uri: Address, own: f64, parent: Option<f64>, score: f64 },
    /// Something is no hit; the score is known if it was visited.
    Excluded { uri: Address, reason: Exclusion, score: Option<f64> },
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
    /// It is a target, whose hits lie below it.
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
    pub(super) fn excluded(uri: Address, reason: Exclusion, score: Option<f64>) -> Step {
        Step::Excluded { uri, reason, score }
    }

    /// The step as a line, without its end.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("kind", "step");
        let number = |line: &mut Object, name: &str, number: f64| line.set(name, number.to_string());
        match self {
            Step::SearchStart { questions, targets, method, limit, min_score } => {
                line.set_text("event", "search_start");
                line.set("questions", array(questions.iter().map(String::as_str)));
                line.set("targets", array(targets.iter().map(Address::as_str)));
                line.set_text("method", method.name());
                if *method == Method::Recursive {
                    number(&mut line, "own_share", OWN_SHARE);
                }
                line.set("limit", limit.to_string());
                if let Some(least) = min_score {
                    number(&mut line, "min_score", *least);
                }
            }
            Step::Directory { uri, score, children } => {
                line.set_text("event", "directory");
                line.set_text("uri", uri.as_str());
                number(&mut line, "score", *score);
                line.set("children", children.to_string());
            }
            Step::Candidate { uri, own, parent, score } => {
                line.set_text("event", "candidate");
                line.set_text("uri", uri.as_str());
                number(&mut line, "own", *own);
                if let Some(parent) = parent {
                    number(&mut line, "parent", *parent);
                }
                number(&mut line, "score", *score);
            }
            Step::Excluded { uri, reason, score } => {
                line.set_text("event", "excluded");
                line.set_text("uri", uri.as_str());
                line.set_text("reason", reason.name());
                if let Some(score) = score {
                    number(&mut line, "score", *score);
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
            Step::SearchStart { questions, targets, method, .. } => {
                let targets: Vec<&str> = targets.iter().map(Address::as_str).collect();
                let questions: Vec<String> = questions.iter().map(|question| quote(question)).collect();
                format!("{} search for {} below {}", method.name(), questions.join(", "), targets.join(", "))
            }
            Step::Directory { uri, score, children } => format!("visited    {score:.3} {uri} ({children})"),
            Step::Candidate { uri, own, score, .. } => format!("candidate  {score:.3} {uri} (own {own:.3})"),
            Step::Excluded { uri, reason, score } => {
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

fn array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(quote).collect::<Vec<_>>().join(","))
}
