//! The flags of the commands of rsv-config that are for a server with several users.

use crate::cli::flags::{time, time_ahead};
use crate::record::AuditAction;
use clap::Args;

// A doc comment would be the help of the subcommand.
#[derive(Args)]
pub struct TokenArgs {
    /// The name of the token, for people, the log and the audit
    pub name: String,
    /// Give these rights: read, write, forget, admin
    #[arg(long, value_name = "RIGHT,...", default_value = "read,write")]
    pub rights: String,
    /// Let it expire at this time: a date, RFC 3339, or a span of time from now such as 90d [default: never]
    #[arg(long, value_name = "TIME", value_parser = time_ahead)]
    pub expires: Option<i64>,
    /// Let it spend at most this many model tokens a day, in UTC
    #[arg(long, value_name = "COUNT")]
    pub daily_tokens: Option<u64>,
    /// Read the keys to send to providers for it from standard input, as lines PROVIDER=KEY
    #[arg(long)]
    pub provider_keys: bool,
}

// As above.
#[derive(Args)]
pub struct AuditArgs {
    /// Select requests with the token of this name; an empty name is the owner's
    #[arg(long, value_name = "NAME")]
    pub token: Option<String>,
    /// Select requests that did this: read, write, forget or admin
    #[arg(long, value_name = "WORD", value_parser = audit_action)]
    pub action: Option<AuditAction>,
    /// Select requests from this time on: yesterday, 2d, 'last monday', a date, RFC 3339, or milliseconds
    /// since 1970
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub since: Option<i64>,
    /// Select requests up to this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub until: Option<i64>,
}

/// Reads `--action`.
fn audit_action(word: &str) -> std::result::Result<AuditAction, String> {
    word.parse().map_err(|_| format!("expected {}", AuditAction::NAMES))
}
