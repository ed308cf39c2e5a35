//! All tools in one executable, which is the tool by whose name it is called: scripts/release and
//! scripts/install give it the name of each by a link, since the tools share most of their code.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Makes the modules of the tools, and the table of their names.
macro_rules! tools {
    ($($module:ident $name:literal $path:literal)*) => {
        $(#[path = $path] mod $module;)*

        static TOOLS: &[(&str, fn() -> ExitCode)] = &[$(($name, $module::main)),*];
    };
}

tools! {
    rsv "rsv" "bin/rsv.rs"
    ask "rsv-ask" "bin/rsv-ask.rs"
    config "rsv-config" "bin/rsv-config.rs"
    distill "rsv-distill" "bin/rsv-distill.rs"
    embed "rsv-embed" "bin/rsv-embed.rs"
    enrich "rsv-enrich" "bin/rsv-enrich.rs"
    export "rsv-export" "bin/rsv-export.rs"
    forget "rsv-forget" "bin/rsv-forget.rs"
    forward "rsv-forward" "bin/rsv-forward.rs"
    import "rsv-import" "bin/rsv-import.rs"
    ingest "rsv-ingest" "bin/rsv-ingest.rs"
    link "rsv-link" "bin/rsv-link.rs"
    mcp "rsv-mcp" "bin/rsv-mcp.rs"
    merge "rsv-merge" "bin/rsv-merge.rs"
    parse "rsv-parse" "bin/rsv-parse.rs"
    proxy "rsv-proxy" "bin/rsv-proxy.rs"
    search "rsv-search" "bin/rsv-search.rs"
    signal "rsv-signal" "bin/rsv-signal.rs"
    view "rsv-view" "bin/rsv-view.rs"
}

fn main() -> ExitCode {
    let called = env::args_os().next().map(PathBuf::from);
    // A link of another name leads to one of ours.
    let tool = called.as_deref().and_then(tool).or_else(|| tool(&env::current_exe().ok()?));
    tool.unwrap_or(rsv::main)()
}

/// The tool whose name a path ends in.
fn tool(path: &Path) -> Option<fn() -> ExitCode> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, main)| *main)
}
