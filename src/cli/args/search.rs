//! The command line of rsv-search.

use crate::cli::error::CliError;
use crate::cli::flags::{Filter, kind, time};
use crate::error::Result;
use crate::record::{self, ACTION, ActionFilter, Address, DOCUMENT, MEMORY, MESSAGE, RecordKind};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueHint};

/// The rankings of a search.
pub const RANKING_NAMES: [&str; 5] = ["keyword", "any", "semantic", "hybrid", "auto"];

/// Find messages by words or by meaning, best first
///
/// By words, the default, a message must contain every term; up to 3 conversations follow whose titles do. A
/// term matches inside longer words too; case and accents are ignored. Words between double quotes form a
/// phrase ('"green tea" kettle'), with any white space between them. With a partition alone, all of its
/// instances are searched; with neither, default/default is searched in a pipe, and on a terminal the
/// partition of the project, else everything. The exit status is 1 if nothing was found.
#[derive(Args)]
pub struct SearchArgs {
    /// The words to find; without any, read standard input, as query lines if it begins with '{'
    #[arg(value_name = "TERM")]
    pub terms: Vec<String>,
    #[command(flatten)]
    pub by: Kind,
    /// Do this if no embedding model can be used: keyword, to search by words, or any, by any of them
    #[arg(long, value_name = "HOW", requires = "Kind", value_parser = ["keyword", "any"], hide_possible_values = true)]
    pub fallback: Option<String>,
    /// Print at most this many hits; with --link, this many hits and linked messages together [default: 10;
    /// with --secrets, all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub limit: Option<usize>,
    /// Drop hits with a lower score
    #[arg(long, value_name = "SCORE", value_parser = score, allow_negative_numbers = true)]
    pub min_score: Option<f64>,
    /// Print only the best of the hits that have the same role and text
    #[arg(short, long)]
    pub deduplicate: bool,
    /// After the hits, print messages linked to them, up to half of the output, none twice; see rsv-link
    #[arg(short, long)]
    pub link: bool,
    /// Print the parts that make up the score of each hit
    #[arg(long)]
    pub explain: bool,
    /// Print this many messages before and after each hit as well
    #[arg(short = 'C', long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    pub context: usize,
    #[command(flatten)]
    pub filter: Filter,
    #[command(flatten)]
    pub actions: Actions,
    /// Leave out messages that later ones correct or, by the rule, supersede
    #[arg(long, conflicts_with = "Tree")]
    pub current: bool,
    /// Answer as of this time: use only messages written by then, and leave out those corrected by then
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true, conflicts_with_all = ["until", "Tree"])]
    pub as_of: Option<i64>,
    /// Leave out messages of this trace; may be repeated
    #[arg(long, value_name = "TRACE")]
    pub exclude_trace: Vec<String>,
    /// Leave out the message with this id; may be repeated
    #[arg(long, value_name = "ID")]
    pub exclude: Vec<String>,
    /// Find records of these kinds: message, memory, document, title, action [default: message; on a
    /// terminal, message, memory and document; with --target, the kinds of records there]
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = kind)]
    pub kind: Vec<&'static RecordKind>,
    #[command(flatten)]
    pub tree: Tree,
    /// Find memories with at least this confidence [default: 0.7 for those written by hand, 0.5 for others]
    #[arg(long, value_name = "CONFIDENCE", value_parser = score)]
    pub min_confidence: Option<f64>,
    /// Find the records that hold secrets, such as keys and tokens, and print them without the secrets
    #[arg(long, conflicts_with_all = ["terms", "Kind", "Tree", "link", "context", "min_score", "deduplicate"])]
    pub secrets: bool,
    /// Search all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    pub all: bool,
    /// Even in a pipe, search as on a terminal: the partition of the project, if it has records, else all
    /// scopes
    #[arg(long, conflicts_with_all = ["partition", "instance", "scope", "all"])]
    pub here: bool,
    /// Print in this format: jsonl, json (one array), text, reservoir, or block (fenced for a model)
    /// [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "json", "text", "reservoir", "block"], hide_possible_values = true)]
    pub format: Option<String>,
    /// Print to a terminal without a pager
    #[arg(long)]
    pub no_pager: bool,
}

impl SearchArgs {
    /// The kinds of records to search. People get those of all kinds, unless a flag asks for what messages
    /// alone have.
    pub fn kinds(&self, for_people: bool) -> Result<Vec<&'static RecordKind>> {
        let of_messages = !self.filter.role.is_empty()
            || self.link
            || self.context > 0
            || self.current
            || self.as_of.is_some()
            || !self.exclude_trace.is_empty();
        let finds_actions = !self.actions.filter().is_empty();
        if let Some(kind) = self.kind.iter().find(|kind| !kind.indexed.is_some()) {
            return Err(CliError::NotSearched { kind: kind.name }.into());
        }
        if finds_actions && !self.kind.is_empty() && self.kind != [&ACTION] {
            return Err(CliError::NotOfActions.into());
        }
        Ok(match (self.kind.is_empty(), self.secrets) {
            (false, _) => self.kind.clone(),
            _ if finds_actions => vec![&ACTION],
            (true, true) => record::kinds().into_iter().filter(|kind| kind.indexed.is_some()).collect(),
            _ if for_people && !of_messages => vec![&MESSAGE, &MEMORY, &DOCUMENT],
            _ => vec![&MESSAGE],
        })
    }

    /// The name of a flag that does nothing without a target, if it is given and there is none.
    pub fn flag_without_target(&self) -> Option<&'static str> {
        let Tree { target, flat, recursive, steps, level, with_session, plan } = &self.tree;
        let flags = [
            (*flat, "--flat"),
            (*recursive, "--recursive"),
            (*steps, "--steps"),
            (level.is_some(), "--level"),
            (with_session.is_some(), "--with-session"),
            (plan.is_some(), "--plan"),
        ];
        flags.into_iter().find(|(is_set, _)| target.is_empty() && *is_set).map(|(_, name)| name)
    }
}

/// The flags that choose among actions.
#[derive(Args)]
#[group(multiple = true, conflicts_with_all = ["Tree", "secrets"])]
pub struct Actions {
    /// Find actions on this file, or whose command names it: its path, or the last names of its path; without
    /// words, the newest
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new(), value_hint = ValueHint::FilePath)]
    pub file: Option<String>,
    /// Find actions whose command has these words in this order; without words to find, the newest
    #[arg(long, value_name = "WORDS", value_parser = NonEmptyStringValueParser::new())]
    pub command: Option<String>,
    /// Find actions that failed; without words, the newest
    #[arg(long)]
    pub failed: bool,
}

impl Actions {
    /// The chosen actions.
    pub fn filter(&self) -> ActionFilter {
        let Actions { file, command, failed } = self;
        ActionFilter { file: file.clone(), command: command.clone(), failed: *failed }
    }
}

/// The flags of a search in the tree of contexts.
#[derive(Args)]
pub struct Tree {
    /// Find documents, or memories, at and below this address (viking://...); may be repeated
    #[arg(long, value_name = "URI", value_parser = address, conflicts_with_all = ["all", "context"])]
    pub target: Vec<String>,
    /// Search all documents below the targets at once
    #[arg(long, conflicts_with = "recursive")]
    pub flat: bool,
    /// Search downwards from the targets and the best directories
    #[arg(long)]
    pub recursive: bool,
    /// Before the hits, print the steps of the search
    #[arg(long)]
    pub steps: bool,
    /// Print hits at this level of detail: 0, the abstract; 1, also the overview, and the passage for the
    /// question; 2, also the content [default: 1, or the content if there is neither]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub level: Option<u8>,
    /// Add the words of this session to the question, with less weight
    #[arg(long, value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub with_session: Option<String>,
    /// Let this model choose what to search for
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub plan: Option<String>,
}

/// Checks an address of `--target`.
fn address(text: &str) -> std::result::Result<String, String> {
    Address::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// The ranking of a search, if not by words alone.
#[derive(Args)]
#[group(multiple = false)]
pub struct Kind {
    /// Find the messages nearest in meaning, with an embedding model; see rsv-embed
    #[arg(long)]
    pub semantic: bool,
    /// Find messages by words and by meaning together
    #[arg(long)]
    pub hybrid: bool,
    /// Find messages by this: keyword, any (any of the words), semantic, hybrid or auto (hybrid where an
    /// embedding model is installed, else keyword) [default: keyword; on a terminal, the setting search.by;
    /// with --target, auto]
    #[arg(long, value_name = "WHAT", value_parser = RANKING_NAMES, hide_possible_values = true)]
    pub by: Option<String>,
}

fn score(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
}
