//! Tools on a terminal: util-linux' script makes one, and the test sits before it.

use crate::support::Home;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A tool that runs on a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    screen: ChildStdout,
    seen: String,
}

impl Terminal {
    /// Starts a tool; `None` where there is no script.
    pub(crate) fn start(home: &Home, tool: &str, words: &str) -> Option<Terminal> {
        let tool = home.command(tool);
        let line = format!("{} {words}", tool.get_program().to_str().unwrap());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env_clear();
        command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(home.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let (keys, screen) = (child.stdin.take(), child.stdout.take().unwrap());
        Some(Terminal { child, keys, screen, seen: String::new() })
    }

    /// Waits until something is seen after all that was waited for before.
    pub(crate) fn see(&mut self, text: &str) {
        let mut byte = [0];
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(text) {
            let read = self.screen.read(&mut byte).unwrap();
            assert!(read > 0, "{text} does not come: {}{}", self.seen, String::from_utf8_lossy(&seen));
            seen.push(byte[0]);
        }
        self.seen.push_str(&String::from_utf8_lossy(&seen));
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end: all that was seen, without what only moves the cursor, and the status.
    pub(crate) fn end(mut self) -> (String, i32) {
        let mut rest = String::new();
        self.screen.read_to_string(&mut rest).unwrap();
        drop(self.keys.take());
        let status = self.child.wait().unwrap();
        ((self.seen + &rest).replace('\r', ""), status.code().unwrap())
    }
}
