//! A search as its callers ask for it: the command line, the proxy and rsv-mcp fill in one request each.

use super::options::Options;
use crate::cli::RANKING_NAMES;
use crate::record::Address;
use crate::store::Select;
use crate::text::Occur;

/// The ranking of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ranking {
    /// By words, all of which a hit has.
    Keyword,
    /// By any of the content words.
    Any,
    Semantic,
    Hybrid,
    /// `Hybrid` if an embedding model is installed, else by words.
    Auto,
}

impl Ranking {
    /// The names in `--by`.
    pub const NAMES: [&str; 5] = RANKING_NAMES;

    /// The ranking of a name in `--by`.
    pub fn named(name: &str) -> Option<Ranking> {
        let all = [Ranking::Keyword, Ranking::Any, Ranking::Semantic, Ranking::Hybrid, Ranking::Auto];
        Ranking::NAMES.into_iter().zip(all).find_map(|(known, ranking)| (known == name).then_some(ranking))
    }

    /// Whether it wants a model.
    pub fn is_by_meaning(self) -> bool {
        !matches!(self, Ranking::Keyword | Ranking::Any)
    }
}

/// The way through the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// All nodes below the targets at once, by their own scores.
    #[default]
    Flat,
    /// From the targets and the best directories down.
    Recursive,
}

impl Method {
    /// Its name in a line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Flat => "flat",
            Method::Recursive => "recursive",
        }
    }
}

/// The questions, the records to search, and the ranking.
#[derive(Clone)]
pub struct Request<'a> {
    /// One question; in the tree any number, of whose scores a node has the best.
    pub questions: Vec<String>,
    /// The records that are searched. In the tree its instance and its subtrees do not count, and its kinds
    /// are documents or memories; if it has none, documents, and memories for a target at or below those of
    /// the partition.
    pub which: Select,
    /// Without one, by all words; in the tree `Auto`, since a question rarely has all of its words in one
    /// document.
    pub ranking: Option<Ranking>,
    /// The words that will do where no model can be used: without it, none for a search by meaning, and for
    /// `Auto` all. In the tree any will do.
    pub fallback: Option<Occur>,
    pub options: Options<'a>,
    /// The least confidence of memories; `None` for the floor of the memory's origin.
    pub min_confidence: Option<f64>,
    /// Whether messages that others supersede are left out.
    pub current: bool,
    /// If there are any, the tree of contexts is searched: the addresses at and below which hits lie. One
    /// that belongs to another partition has none.
    pub targets: Vec<Address>,
    /// The way through the tree.
    pub method: Method,
    /// In the tree, words that count less than those of the questions; empty if there are none.
    pub context: String,
}

impl<'a> Request<'a> {
    /// A request for at most `limit` records of a selection, by the default ranking.
    pub fn new(question: impl Into<String>, which: Select, limit: usize) -> Request<'a> {
        Request {
            questions: vec![question.into()],
            which,
            ranking: None,
            fallback: None,
            options: Options::new(limit),
            min_confidence: None,
            current: false,
            targets: Vec::new(),
            method: Method::default(),
            context: String::new(),
        }
    }

    /// Whether the tree of contexts is searched.
    pub fn is_in_tree(&self) -> bool {
        !self.targets.is_empty()
    }

    /// The partition whose tree is searched.
    pub(super) fn partition(&self) -> &str {
        // A search in the tree is of one partition; no address is below that of an empty name.
        self.which.scopes.partition().unwrap_or_default()
    }

    /// Whether it goes by meaning, if there is a model.
    pub fn is_by_meaning(&self) -> bool {
        self.ranking().is_by_meaning()
    }

    pub(super) fn ranking(&self) -> Ranking {
        self.ranking.unwrap_or(if self.is_in_tree() { Ranking::Auto } else { Ranking::Keyword })
    }

    /// The question of a search outside the tree.
    pub(super) fn question(&self) -> &str {
        self.questions.first().map_or("", String::as_str)
    }

    /// The words that a hit must have where words alone decide.
    pub(super) fn occur(&self) -> Occur {
        let any = if self.is_in_tree() {
            self.ranking() != Ranking::Keyword
        } else {
            self.ranking() == Ranking::Any || self.fallback == Some(Occur::Any)
        };
        if any { Occur::Any } else { Occur::All }
    }
}
