//! rsv: lists the tools, and becomes the one that is named. It does without the library, so that it starts at
//! once.

#[path = "../cli/hidden.rs"]
mod hidden;

use hidden::on_one_line;
use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// A word after `rsv`, with the tool and the first arguments that it stands for.
struct Row {
    word: &'static str,
    tool: &'static str,
    arguments: &'static [&'static str],
    about: &'static str,
}

/// The row of a tool, whose word is its name.
const fn tool(word: &'static str, tool: &'static str, about: &'static str) -> Row {
    Row { word, tool, arguments: &[], about }
}

static ROWS: [Row; 20] = [
    tool("ask", "rsv-ask", "Ask a model with memory, and print its answer"),
    tool("ingest", "rsv-ingest", "Store messages"),
    tool("view", "rsv-view", "Print the last messages of a scope"),
    tool("search", "rsv-search", "Find messages by words, by meaning, or both"),
    tool("distill", "rsv-distill", "Make memories of sessions"),
    tool("enrich", "rsv-enrich", "Add related and recent messages to chat requests"),
    tool("forward", "rsv-forward", "Send chat requests to the providers of their models"),
    tool("proxy", "rsv-proxy", "Serve chat completions with memory to any client"),
    tool("mcp", "rsv-mcp", "Serve the memory to a client of the Model Context Protocol"),
    tool("export", "rsv-export", "Write everything in a store"),
    tool("import", "rsv-import", "Read exports and the files of other programs into a store"),
    tool("forget", "rsv-forget", "Remove messages, and keep them from coming back"),
    tool("signal", "rsv-signal", "Record whether memories helped"),
    tool("link", "rsv-link", "Link related messages, and draw the graph"),
    tool("merge", "rsv-merge", "Merge similar memories into one"),
    tool("embed", "rsv-embed", "Download embedding models, and add vectors"),
    tool("parse", "rsv-parse", "Turn files into a tree of documents"),
    tool("config", "rsv-config", "Show, change and check the settings"),
    tool("start", "rsv-proxy", "Serve chat completions with memory, as 'rsv proxy'"),
    Row {
        word: "status",
        tool: "rsv-config",
        arguments: &["status"],
        about: "Show a summary of the setup, and what to do next",
    },
];

/// An error, and what helps.
struct Failure {
    text: String,
    hint: String,
}

impl Failure {
    fn new(text: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { text: text.into(), hint: hint.into() }
    }
}

pub(crate) fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let shell = env::var("RSV_COMPLETIONS").ok().filter(|shell| !shell.is_empty());
    let ended = match shell {
        Some(shell) => complete(&shell, words),
        None => run(words),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { text, hint }) => {
            // A closed standard error is no failure.
            let (text, hint) = (on_one_line(&text), on_one_line(&hint));
            let _ = writeln!(io::stderr(), "rsv: error: {text}\nrsv: hint: {hint}");
            ExitCode::from(2)
        }
    }
}

fn run(mut words: Vec<OsString>) -> Result<(), Failure> {
    let first = if words.is_empty() { "help".into() } else { words.remove(0) };
    match first.to_str() {
        Some("-h" | "--help" | "help") => match words.first().filter(|word| *word != "help") {
            None => print(&overview()),
            Some(word) => Err(become_tool(row(word)?, vec!["--help".into()])),
        },
        Some("-V" | "--version") => print(concat!("rsv ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => Err(become_tool(row(&first)?, words)),
    }
}

/// The row of a word, or the error that names the nearest.
fn row(word: &OsString) -> Result<&'static Row, Failure> {
    let word = word.to_string_lossy();
    if let Some(row) = ROWS.iter().find(|row| row.word == word || row.tool == word) {
        return Ok(row);
    }
    let near = ROWS.iter().map(|row| (strsim::osa_distance(&word, row.word), row.word)).min();
    let near = near.filter(|(edits, _)| *edits <= 1 + word.chars().count() / 5);
    Err(match (word.starts_with('-'), near) {
        (true, _) => Failure::new(format!("unexpected argument '{word}' found"), "see 'rsv --help'"),
        (false, Some((_, near))) => {
            Failure::new(unknown(&word), format!("did you mean '{near}'? see 'rsv --help'"))
        }
        (false, None) => Failure::new(unknown(&word), "see 'rsv --help'"),
    })
}

fn unknown(word: &str) -> String {
    format!("there is no command '{word}'")
}

/// Becomes the tool beside this program, else the one in PATH. Returns only if that fails.
fn become_tool(row: &Row, mut words: Vec<OsString>) -> Failure {
    // Reservoir's short form; rsv-proxy has none. A command that the proxy runs keeps its own.
    let options = words.iter().take_while(|word| word.as_encoded_bytes().starts_with(b"-")).count();
    for word in words[..options].iter_mut().filter(|word| row.word == "start" && *word == "-o") {
        *word = "--ollama".into();
    }
    let own = env::current_exe().ok();
    let beside = own.as_ref().map(|own| own.with_file_name(row.tool)).filter(|path| path.is_file());
    // A package without links to all tools has them in this program.
    let program = beside.or(own.filter(|_| env!("CARGO_BIN_NAME") == "rsv-multicall"));
    let program = program.unwrap_or_else(|| row.tool.into());
    let why = Command::new(&program).arg0(row.tool).args(row.arguments).args(words).exec();
    let hint = match why.kind() {
        ErrorKind::NotFound => "install the tools with scripts/install, or put their directory into PATH",
        _ => "check the permissions of the file",
    };
    Failure::new(format!("cannot run {}: {}", program.display(), cause(&why)), hint)
}

/// The text of `rsv --help`.
fn overview() -> String {
    let rows: String = ROWS.iter().map(|row| format!("  {:8} {}\n", row.word, row.about)).collect();
    format!(
        "\
Give language models a long memory

Usage: rsv COMMAND [ARGUMENT]...

Commands:
{rows}  help     Print this list, or the help of a command: rsv help search

Options:
  -h, --help     Print this list
  -V, --version  Print the version

To begin:
  rsv config init
  rsv ingest -p garden \"The tomatoes stand by the warm wall.\"
  rsv search -p garden tomato
  rsv ask -p garden \"Where are my tomatoes?\"

'rsv search' runs rsv-search, which has a manual page: man rsv-search.
"
    )
}

/// Prints to standard output. A closed one is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::new(
            format!("cannot write to standard output: {}", cause(&e)),
            "check the file or the disk that it goes to",
        )),
        _ => Ok(()),
    }
}

/// A cause in lower case, without the number of the operating system.
fn cause(why: impl Display) -> String {
    let text = why.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Answers a shell: prints its script, or completes the first word; the tool that it names completes the
/// others.
fn complete(shell: &str, mut words: Vec<OsString>) -> Result<(), Failure> {
    let script = match shell {
        "bash" => include_str!("../cli/completion/script.bash"),
        "zsh" => include_str!("../cli/completion/script.zsh"),
        "fish" => include_str!("../cli/completion/script.fish"),
        _ => {
            let text = format!("RSV_COMPLETIONS: expected bash, zsh or fish, found {shell}");
            return Err(Failure::new(text, "see 'man 7 rsv-shell'"));
        }
    };
    if words.is_empty() {
        return print(&script.replace("TOOL", "rsv"));
    }
    // After '--', bash gives the word that it replaces and the line so far; the others give the words.
    let line: Vec<String> = match &words[1..] {
        [_, line] if shell == "bash" => {
            let mut parts: Vec<String> =
                line.to_string_lossy().trim_start().splitn(3, ' ').map(str::to_owned).collect();
            parts[1..].iter_mut().for_each(|part| *part = part.trim_start().to_owned());
            parts
        }
        words => words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let Some(word) = line.get(1) else { return Ok(()) };
    if line.len() == 2 {
        let candidates = ROWS.iter().filter(|row| row.word.starts_with(word.as_str()));
        let written = |row: &Row| match shell {
            "bash" => format!("{}\n", row.word),
            "zsh" => format!("{}:{}\n", row.word, row.about),
            _ => format!("{}\t{}\n", row.word, row.about),
        };
        return print(&candidates.map(written).collect::<String>());
    }
    let Some(row) = ROWS.iter().find(|row| row.word == word) else { return Ok(()) };
    let named = [&[row.tool], row.arguments].concat();
    if shell == "bash" {
        words[2] = format!("{} {}", named.join(" "), line[2]).into();
    } else {
        words.splice(1..3, named.into_iter().map(OsString::from));
    }
    Err(become_tool(&Row { arguments: &[], ..*row }, words))
}
