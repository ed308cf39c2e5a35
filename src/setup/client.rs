//! The clients of the Model Context Protocol: where each keeps its settings, and what it needs to start
//! rsv-mcp.

use super::client_file::{self, Servers, Syntax};
use crate::config::EnvironmentPaths;
use crate::error::Result;
use crate::record::quote;
use std::path::PathBuf;

/// A client that people use.
pub(super) struct Client {
    pub(super) name: &'static str,
    /// The directory that it makes in the home directory when it is first used.
    folder: &'static str,
    /// The file of its settings, in the home directory.
    file: &'static str,
    pub(super) servers: Servers,
    /// The member of an entry that says how the server is reached, as JSON text.
    transport: &'static str,
}

const MAC: bool = cfg!(target_os = "macos");

/// The names of the clients.
pub const NAMES: [&str; 4] = ["claude", "codex", "zed", "vscode"];

const CLIENTS: [Client; 4] = [
    Client {
        name: NAMES[0],
        folder: ".claude",
        file: ".claude.json",
        servers: Servers { syntax: Syntax::Json, key: "mcpServers" },
        transport: r#""type": "stdio", "#,
    },
    Client {
        name: NAMES[1],
        folder: ".codex",
        file: ".codex/config.toml",
        servers: Servers { syntax: Syntax::Toml, key: "mcp_servers" },
        transport: "",
    },
    Client {
        name: NAMES[2],
        folder: ".config/zed",
        file: ".config/zed/settings.json",
        servers: Servers { syntax: Syntax::Json, key: "context_servers" },
        transport: r#""source": "custom", "#,
    },
    Client {
        name: NAMES[3],
        folder: if MAC { "Library/Application Support/Code" } else { ".config/Code" },
        file: if MAC {
            "Library/Application Support/Code/User/mcp.json"
        } else {
            ".config/Code/User/mcp.json"
        },
        servers: Servers { syntax: Syntax::Json, key: "servers" },
        transport: r#""type": "stdio", "#,
    },
];

/// A client on this machine.
pub(super) struct FoundClient {
    pub(super) client: &'static Client,
    pub(super) file: PathBuf,
    pub(super) is_installed: bool,
    /// Whether its settings have a server named rsv; an error if they cannot be read or changed.
    pub(super) has_entry: Result<bool>,
}

impl FoundClient {
    pub(super) fn name(&self) -> &'static str {
        self.client.name
    }

    /// Whether it is installed, and starts rsv-mcp once its settings say so, which they do not yet.
    pub(super) fn can_get_entry(&self) -> bool {
        self.is_installed && matches!(self.has_entry, Ok(false))
    }
}

impl Client {
    /// The entry of rsv, as the value of a member of JSON or the lines of a table of TOML.
    pub(super) fn entry(&self, command: &str, args: &[String]) -> String {
        let args: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
        let (command, args) = (quote(command), args.join(", "));
        match self.servers.syntax {
            Syntax::Json => format!("{{{}\"command\": {command}, \"args\": [{args}]}}", self.transport),
            Syntax::Toml => format!("command = {command}\nargs = [{args}]\n"),
        }
    }
}

/// The clients that are known, with those that are not installed.
pub(super) fn find(paths: &EnvironmentPaths) -> Vec<FoundClient> {
    let found = |client: &'static Client| {
        let file = file(client, paths)?;
        let is_installed = file.exists() || place(paths, client.folder)?.is_dir();
        let has_entry = client_file::without_entry(&file, &client.servers).map(|text| text.is_none());
        Some(FoundClient { client, file, is_installed, has_entry })
    };
    CLIENTS.iter().filter_map(found).collect()
}

/// The file of a client's settings. That of Claude Code is beside its directory, or, if that was moved, in
/// it.
fn file(client: &Client, paths: &EnvironmentPaths) -> Option<PathBuf> {
    let moved = paths.moved.iter().find(|(usual, _)| *usual == client.folder);
    match moved.filter(|_| !client.file.starts_with(&format!("{}/", client.folder))) {
        Some((_, moved)) => Some(moved.join(client.file)),
        None => place(paths, client.file),
    }
}

/// A place in the home directory, or where it was moved to. On macOS the directories of XDG do not count for
/// clients.
fn place(paths: &EnvironmentPaths, usual: &str) -> Option<PathBuf> {
    let moved =
        paths.moved.iter().filter(|(root, _)| !(MAC && *root == ".config")).find_map(|(root, moved)| {
            let rest = usual.strip_prefix(root)?;
            if rest.is_empty() { Some(moved.clone()) } else { Some(moved.join(rest.strip_prefix('/')?)) }
        });
    moved.or_else(|| Some(paths.home.as_ref()?.join(usual)))
}
