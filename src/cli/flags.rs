//! The flags that several tools share.

use super::clock::now;
use crate::error::Result;
use crate::record::{RecordKind, RequestScope, Role, Scope, Scopes, kind_named, kinds, when};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The flags that every tool has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Use this partition, such as a project or a person
    #[arg(short, long, value_name = "NAME")]
    pub partition: Option<String>,
    /// All partitions that are given, for a tool that takes several.
    #[arg(skip)]
    pub partitions: Vec<String>,
    /// Use this instance of the partition, such as a conversation or a task
    #[arg(short, long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Use the partition of the project that the working directory belongs to (auto), or default without -p
    /// (default)
    #[arg(long, value_name = "HOW", value_parser = ["auto", "default"], hide_possible_values = true, conflicts_with = "partition")]
    pub scope: Option<String>,
    /// The partition of the project, if the settings say that it is used where none is given.
    #[arg(skip)]
    pub project: Option<String>,
    /// Use this store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]
    #[arg(long, value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub store: Option<String>,
    /// Read this settings file [default: RSV_CONFIG, else the XDG config directory]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Colour standard output: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"], hide_default_value = true, hide_possible_values = true)]
    pub color: String,
    /// Print only errors on standard error
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print details on standard error
    #[arg(short, long)]
    pub verbose: bool,
}

impl Common {
    /// The partition to read and write; none for that without a name.
    pub fn partition(&self) -> Option<&str> {
        self.partition.as_deref().or(self.project.as_deref())
    }

    /// Whether a flag names the scope, or says how it is chosen.
    pub fn names_scope(&self) -> bool {
        self.partition.is_some() || self.instance.is_some() || self.scope.is_some()
    }

    /// The scope to write to.
    pub fn scope(&self) -> Result<Scope> {
        Scope::new(self.partition(), self.instance.as_deref())
    }

    /// The scope of requests that name none, and the reach of recall for them.
    pub fn request_scope(&self) -> Result<RequestScope> {
        RequestScope::named(self.partition(), self.instance.as_deref())
    }

    /// The scopes that rsv-search and rsv-view read.
    pub fn to_read(&self, all: bool) -> Result<Scopes> {
        if all { Ok(Scopes::All) } else { Scopes::to_read(self.partition(), self.instance.as_deref()) }
    }

    /// The scopes that a tool for the whole store covers, if it takes several partitions.
    pub fn each_to_cover(&self) -> Result<Vec<Scopes>> {
        if self.partitions.is_empty() {
            return self.to_cover().map(|scopes| vec![scopes]);
        }
        let scopes = |partition: &String| Scopes::to_cover(Some(partition), self.instance.as_deref());
        self.partitions.iter().map(scopes).collect()
    }

    /// The scopes that a tool for the whole store covers: only a flag narrows it.
    pub fn to_cover(&self) -> Result<Scopes> {
        Scopes::to_cover(self.partition.as_deref(), self.instance.as_deref())
    }

    pub(super) fn colour(&self, terminal: bool) -> bool {
        match self.color.as_str() {
            "always" => true,
            "never" => false,
            _ => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        }
    }
}

/// The group of a tool's own flags with which the partition may be given several times.
pub const SEVERAL_PARTITIONS: &str = "several-partitions";

/// The flag of the tools by which machines exchange what they have.
#[derive(Args, Clone, Debug, Default)]
#[group(id = SEVERAL_PARTITIONS)]
pub struct Sharing {
    /// Leave out private partitions (partitions.NAME.private); -p is then a pattern, in which * matches any
    /// text, and may be repeated
    #[arg(long, conflicts_with_all = ["instance", "scope"])]
    pub shared: bool,
}

/// The flags that choose among messages.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// Select messages of this role: user, assistant, system or tool; may be repeated
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub role: Vec<Role>,
    /// Select messages from this time on: yesterday, 2d, 'last monday', a date, RFC 3339, or milliseconds
    /// since 1970
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub since: Option<i64>,
    /// Select messages up to this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub until: Option<i64>,
}

/// The flags of the tools that print messages for people too.
#[derive(Args, Clone, Debug, Default)]
pub struct Printing {
    /// Print in this format: jsonl, json (one array), text, reservoir, or block (fenced for a model)
    /// [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "json", "text", "reservoir", "block"], hide_possible_values = true)]
    pub format: Option<String>,
    /// Print to a terminal without a pager
    #[arg(long)]
    pub no_pager: bool,
}

/// Reads `--role`.
pub fn role(text: &str) -> std::result::Result<Role, String> {
    text.parse().map_err(|_| format!("expected {}", Role::NAMES))
}

/// Reads a kind of `--kind`.
pub fn kind(text: &str) -> std::result::Result<&'static RecordKind, String> {
    kind_named(text).ok_or_else(|| {
        let names: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
        format!("expected {}", names.join(", "))
    })
}

/// Reads a time of an option that is yet to come.
pub fn time_ahead(text: &str) -> std::result::Result<i64, String> {
    now().and_then(|now| when::parse_ahead(text, &now)).map_err(|e| e.to_string())
}

/// Reads a time of an option.
pub fn time(text: &str) -> std::result::Result<i64, String> {
    now().and_then(|now| when::parse(text, &now)).map_err(|e| e.to_string())
}
