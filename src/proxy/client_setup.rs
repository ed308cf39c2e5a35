//! The settings that give programs the proxy's address, besides the variables that most of them read.

use crate::record::quote;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variables with their values.
type Variables = Vec<(&'static str, String)>;

/// A program with settings of its own.
struct ClientRow {
    name: &'static str,
    /// Its further arguments, which come first; `base` is the address of the proxy with the scope.
    arguments: fn(base: &str) -> Vec<String>,
    /// Its further variables; `token` is the proxy's.
    variables: fn(base: &str, token: Option<&str>) -> Variables,
}

const CLIENTS: [ClientRow; 4] = [
    ClientRow { name: "claude", arguments: |_| Vec::new(), variables: claude_variables },
    ClientRow { name: "codex", arguments: codex_arguments, variables: |_, _| Vec::new() },
    ClientRow { name: "aider", arguments: |_| Vec::new(), variables: |_, _| Vec::new() },
    ClientRow { name: "opencode", arguments: |_| Vec::new(), variables: opencode_variables },
];

fn row(program: &OsStr) -> Option<&'static ClientRow> {
    let name = Path::new(program).file_name()?;
    CLIENTS.iter().find(|row| name == row.name)
}

/// Whether a program works on the project in its directory, so that this names the partition.
pub fn is_for_projects(program: &OsStr) -> bool {
    row(program).is_some()
}

/// The further arguments of a program, before its own.
pub(super) fn arguments(program: &OsStr, base: &str) -> Vec<OsString> {
    row(program).map_or(Vec::new(), |row| (row.arguments)(base)).into_iter().map(OsString::from).collect()
}

/// The further variables of a program.
pub(super) fn variables(program: &OsStr, base: &str, token: Option<&str>) -> Variables {
    row(program).map_or(Vec::new(), |row| (row.variables)(base, token))
}

/// Claude Code sends its own key, or that of a subscription, so that the token has a header of its own.
fn claude_variables(_: &str, token: Option<&str>) -> Variables {
    token.map(|token| ("ANTHROPIC_CUSTOM_HEADERS", format!("x-rsv-token: {token}"))).into_iter().collect()
}

/// Codex reads no variable for an address; a provider of its own is not asked for WebSockets.
fn codex_arguments(base: &str) -> Vec<String> {
    let address = quote(&format!("{base}/v1"));
    let provider =
        format!("{{name=\"rsv\",base_url={address},wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}}");
    ["-c", "model_provider=\"rsv\"", "-c", &format!("model_providers.rsv={provider}")]
        .map(str::to_owned)
        .into()
}

/// opencode reads settings from a variable, which it merges over those in its files.
fn opencode_variables(base: &str, token: Option<&str>) -> Variables {
    let address = quote(&format!("{base}/v1"));
    let headers =
        token.map_or(String::new(), |token| format!(",\"headers\":{{\"x-rsv-token\":{}}}", quote(token)));
    let provider = |name: &str| format!("\"{name}\":{{\"options\":{{\"baseURL\":{address}{headers}}}}}");
    let providers = ["anthropic", "openai"].map(provider).join(",");
    vec![("OPENCODE_CONFIG_CONTENT", format!("{{\"provider\":{{{providers}}}}}"))]
}
