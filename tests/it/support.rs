//! Runs the tools: in a home of their own, with nothing else in the environment.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use tempfile::TempDir;

/// A home directory, and the environment of the tools that are run in it.
#[derive(Clone)]
pub(crate) struct Home {
    directory: Rc<TempDir>,
    environment: Vec<(String, String)>,
}

impl Home {
    /// Makes an empty home.
    pub(crate) fn new() -> Home {
        Home { directory: Rc::new(tempfile::tempdir().unwrap()), environment: Vec::new() }
    }

    /// The same home with one more variable; `HOME` may be set to nothing.
    pub(crate) fn env(&self, name: &str, value: &str) -> Home {
        let mut home = self.clone();
        home.environment.push((name.to_owned(), value.to_owned()));
        home
    }

    /// A path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file in the home, and the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The text of a file in the home.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command that is ready to run; its working directory is the home.
    pub(crate) fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name(tool));
        command.env_clear().env("HOME", self.directory.path()).env("TZ", "UTC");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.directory.path());
        command
    }

    /// Runs a tool to its end.
    pub(crate) fn run(&self, tool: &str, words: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(tool);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let stdin = stdin.as_ref();
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // A tool need not read what it does not want.
            scope.spawn(move || input.write_all(stdin).ok());
            child.wait_with_output().unwrap()
        });
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            status: output.status.code().unwrap(),
            home: self.directory.path().display().to_string(),
        }
    }
}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: i32,
    home: String,
}

impl Ran {
    /// Standard output of a run that met no trouble.
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }
}

/// All that a person sees, as one text for a snapshot; the home is `~`.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}{}[{}]", self.stdout, self.stderr, self.status);
        f.write_str(&text.replace(&self.home, "~"))
    }
}
