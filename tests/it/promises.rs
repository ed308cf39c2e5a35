//! The promises of other systems' documents to their users, each in our own words with commands and what they
//! print. A file of `promises/` has those of one system, as rows:
//!
//!     ## Text says what is promised.
//!     ```console
//!     $ rsv-view -p work |
//!     >   jq -c .title
//!     "A title"
//!     ```
//!
//! A line after `$ ` is a command, those after `> ` continue it, and all others are what the commands of the row print,
//! standard error included. The rows of a file run in one bash, one after the other, as a user would type them.

use crate::examples::can_run_examples;
use crate::support::Home;
use std::path::Path;
use std::process::Stdio;

/// A promise.
#[derive(Default)]
struct Promise {
    text: String,
    commands: String,
    output: String,
}

/// The rows of a file. Fails if one has no command.
fn promises(file: &str) -> Vec<Promise> {
    let rows = file.split("\n## ").skip(1).map(|row| {
        let (text, rest) = row.split_once('\n').unwrap();
        let block = rest.split("```console\n").nth(1).and_then(|block| block.split("```").next());
        let mut promise = Promise { text: text.to_owned(), ..Promise::default() };
        for line in block.unwrap_or_else(|| panic!("{text}: there is no block")).lines() {
            match line.strip_prefix("$ ").or(line.strip_prefix("> ")) {
                Some(command) => promise.commands += &format!("{command}\n"),
                None => promise.output += &format!("{line}\n"),
            }
        }
        assert!(!promise.commands.is_empty(), "{text}: there is no command");
        promise
    });
    rows.collect()
}

/// Ends what a row prints.
const END_OF_ROW: char = '\u{1e}';

/// Runs the rows of a file in a home. Fails with the first that prints something else.
pub(crate) fn keep(home: &Home, file: &str) {
    if !can_run_examples() {
        return;
    }
    let promises = promises(file);
    let rows = promises.iter().map(|promise| format!("{}printf '{END_OF_ROW}'\n", promise.commands));
    let script = format!("exec 2>&1\n{}", rows.collect::<String>());
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").display().to_string();
    let mut bash = home.command("/bin/bash");
    bash.args(["-uo", "pipefail", "-c", &script]).stdin(Stdio::null());
    bash.env("PATH", format!("{tools}:{scripts}:{}", std::env::var("PATH").unwrap()));
    let ran = home.ran(bash.output().unwrap());
    let mut printed = ran.stdout.split(END_OF_ROW);
    for Promise { text, commands, output } in &promises {
        assert_eq!(printed.next(), Some(&**output), "{text}:\n{commands}");
    }
    assert_eq!((printed.next(), printed.next()), (Some(""), None), "{ran}");
}
