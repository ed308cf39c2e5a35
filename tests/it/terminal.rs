//! The tools on a real terminal: keys, width, and the state in which they leave it.

use crate::fake::Wire;
use crate::support::{Home, PATIENCE, readers};
use serde_json::json;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A terminal that runs a line of shell (made by util-linux' script), and its output so far.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    screen: vt100::Parser,
}

impl Terminal {
    /// Runs a line of shell on a terminal of some columns, in a home, with the tools in the path; `None` where
    /// there is no `script`.
    pub(crate) fn run(home: &Home, columns: usize, line: &str) -> Option<Terminal> {
        let tool = home.command("rsv-view");
        let bin = std::path::Path::new(tool.get_program()).parent().unwrap().to_owned();
        let mut command = Command::new("script");
        command.args(["-qec", &format!("stty cols {columns} rows 10; {line}"), "/dev/null"]).env_clear();
        command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display())).env("TERM", "xterm").env("PAGER", "cat");
        command.env("SHELL", "/bin/sh").current_dir(home.path(""));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = {
            let [rows, columns] = [24, columns].map(|size| NonZero::try_from(size as u16).unwrap());
            vt100::Parser::new(rows, columns, 0)
        };
        Some(Terminal { child, keys, pieces, seen: Vec::new(), screen })
    }

    /// Starts a tool on a terminal of 80 columns.
    pub(crate) fn start(home: &Home, tool: &str, words: &str) -> Option<Terminal> {
        Terminal::run(home, 80, &format!("exec {tool} {words}"))
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a text is seen that was not waited for before; what was seen up to there.
    pub(crate) fn see(&mut self, text: &str) -> String {
        self.see_all([text])
    }

    /// Waits until each of some texts is seen, in any order; what was seen up to the end of the last one, without that.
    pub(crate) fn see_all<const N: usize>(&mut self, texts: [&str; N]) -> String {
        loop {
            let seen = self.text();
            let places = texts.map(|text| seen.find(text).map(|at| (at + text.len(), at)));
            if places.iter().all(Option::is_some) {
                let (end, begin) = places.into_iter().flatten().max().unwrap();
                self.seen = seen.as_bytes()[end..].to_vec();
                return seen[..begin].to_owned();
            }
            let piece = self.pieces.recv_timeout(PATIENCE);
            let piece = piece.unwrap_or_else(|_| panic!("{texts:?} is not seen: {seen:?}"));
            self.screen.process(&piece);
            self.seen.extend(piece);
        }
    }

    /// The screen of 24 rows, as of what was waited for, with its colours.
    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// Waits for the end: what was seen since the last text that was waited for, and the exit status.
    pub(crate) fn end(mut self) -> (String, i32) {
        for piece in &self.pieces {
            self.seen.extend(piece);
        }
        (self.text(), self.child.wait().unwrap().code().unwrap())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).replace('\r', "")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text as it looks: without the sequences that move the cursor and change colours.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let sequence = sequence.trim_start_matches('[');
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    plain + rest
}

fn talkative() -> Home {
    let home = Home::new();
    let said = "An owl is a bird that hunts at night and turns its head further than most. ".repeat(4);
    home.ingest(&[], &json!({"role": "user", "content": said}).to_string());
    home
}

#[test]
fn text_follows_the_terminals_width() {
    let home = talkative();
    for columns in [40, 80, 120, 200] {
        let Some(terminal) = Terminal::run(&home, columns, "rsv-view && rsv-search -p default owl") else {
            return;
        };
        let (seen, status) = terminal.end();
        assert!(status == 0 && seen.contains('\u{1b}'), "{seen}");
        let longest = plain(&seen).lines().map(|line| line.chars().count()).max().unwrap();
        assert!((columns * 3 / 4..=columns).contains(&longest), "{longest} of {columns}: {seen}");
        let help = Terminal::run(&home, columns, "rsv-search --help").unwrap().end().0;
        let longest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= columns.min(80), "{longest} of {columns}: {help}");
    }
    let resized = Terminal::run(&home, 200, "rsv-view; stty cols 40; rsv-view").unwrap().end().0;
    let lengths: Vec<usize> = plain(&resized).lines().map(|line| line.chars().count()).collect();
    assert!(lengths.iter().any(|length| *length > 150), "{resized}");
    assert!(lengths.last().is_some_and(|length| *length <= 40), "{resized}");
}

#[test]
fn colours_are_reset() {
    let home = Home::new();
    let lines: String =
        (0..300).map(|n| json!({"role": "user", "content": format!("owl {n}")}).to_string() + "\n").collect();
    home.ingest(&[], &lines);
    for line in ["rsv-view 300", "rsv-search owl --limit 300", "rsv-config list", "rsv-search --help"] {
        // No key is pressed.
        let Some(terminal) = Terminal::run(&home, 100, line) else { return };
        let (seen, status) = terminal.end();
        assert_eq!(status, 0, "{seen}");
        let coloured = seen.matches("\u{1b}[").count();
        assert_eq!(seen.matches("\u{1b}[0m").count() * 2, coloured, "what begins ends: {seen:?}");
        // Neither another screen nor a hidden cursor.
        assert!(!seen.contains("\u{1b}[?"), "{seen:?}");
    }
    let plain = Terminal::run(&home, 100, "NO_COLOR=1 rsv-view 300").unwrap().end().0;
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn a_stored_text_is_confirmed_in_one_line() {
    let home = Home::new();
    for (line, wanted) in [
        ("rsv-ingest -p garden 'An owl.'", "stored in garden/garden as user, id "),
        ("echo typed | rsv-ingest", "stored in default/default as user, id "),
        ("echo typed | rsv-ingest --role tool -i x", "stored in default/x as tool, id "),
        ("rsv-ingest --format jsonl 'Another.'", "{\"kind\":\"message\",\"id\":\""),
        (r#"echo '{"role":"user","content":"c"}' | rsv-ingest"#, "stored in default/default as user, id "),
    ] {
        let Some(terminal) = Terminal::run(&home, 400, line) else { return };
        let (seen, status) = terminal.end();
        assert!(status == 0 && seen.lines().count() == 1 && seen.starts_with(wanted), "{line}: {seen}");
        let id = home.run("rsv-view", &["1", "--all"], "").ok();
        let id = id.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(seen.contains(id), "{line}: {seen}");
    }
    let lines = "{\"role\":\"system\",\"content\":\"s\"}\n{\"role\":\"assistant\",\"content\":\"a\"}\n";
    let seen = home.run("rsv-ingest", &["--format", "text"], lines).ok();
    assert!(
        seen.lines().count() == 1 && seen.starts_with("stored in default/default as assistant, id "),
        "{seen}"
    );
}

#[test]
fn typed_text_is_read_up_to_ctrl_d() {
    let home = Home::new();
    let Some(mut terminal) = Terminal::run(&home, 80, "echo ready; cat | rsv-ingest > /dev/null") else {
        return;
    };
    terminal.see("ready");
    terminal.press("typed by hand\n\u{4}");
    assert_eq!(terminal.end().1, 0);
    assert_eq!(home.contents("rsv-view", &[]), ["typed by hand"]);
    // A tool that would read the terminal itself says so instead of waiting.
    for tool in readers() {
        let (seen, status) = Terminal::run(&home, 80, &tool).unwrap().end();
        assert!(status == 2 && seen.contains("standard input is a terminal"), "{seen}");
    }
}

#[test]
fn ctrl_c_stops_a_waiting_tool_and_restores_the_terminal() {
    let provider = Wire::new();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).to_string();
    home.write("request", &request);
    let line =
        "stty -g > before; sh -c 'exec rsv-forward --text request'; echo \"ended $?\"; stty -g > after";
    // The shell that waits for it outlives Ctrl-C.
    let Some(mut terminal) = Terminal::run(&home, 80, &format!("trap : INT; {line}")) else { return };
    let call = provider.accept();
    terminal.press("\u{3}");
    terminal.see("ended 130");
    call.hung_up();
    assert_eq!(terminal.end().1, 0);
    assert_eq!(home.read("before"), home.read("after"));

    let mut proxy = Terminal::run(&home, 80, "exec rsv-proxy --port 0").unwrap();
    proxy.see("listening on http://");
    proxy.press("\u{3}");
    assert_eq!(proxy.end().1, 0, "a server that is asked to end has done its work");
}

/// A home with so many messages that wait for their vectors.
fn waiting(count: usize) -> Home {
    let home = Home::with_model();
    let said = "said ".repeat(60);
    let line = |n| json!({"role": "user", "content": format!("owl number {n} {said}")}).to_string() + "\n";
    home.ingest(&[], &(0..count).map(line).collect::<String>());
    home
}

#[test]
fn a_progress_bar_is_cleared_at_the_end() {
    let home = waiting(400);
    let Some(mut terminal) = Terminal::run(&home, 100, "rsv-embed --pending; echo done; rsv-view 1") else {
        return;
    };
    terminal.see("/400");
    let (seen, status) = terminal.end();
    assert_eq!(status, 0, "{seen}");
    let seen = seen.split_once("done").unwrap().0;
    // The line of the bar is cleared, and nothing is drawn after that.
    let last = seen.rsplit("\u{1b}[2K").next().unwrap();
    assert!(seen.contains("\u{1b}[2K") && !last.contains("left"), "{seen:?}");
}

#[test]
fn a_progress_bar_follows_the_terminals_width() {
    let home = waiting(600);
    // The terminal gets another width while the tool works, each time that something is typed.
    let line = "stty -echo; rsv-embed --pending & \
                for cols in 40 200 60; do read x; stty cols $cols; echo now $cols; done; wait; echo done";
    let Some(mut terminal) = Terminal::run(&home, 100, line) else { return };
    let widest = |seen: &str| {
        // The first may have been drawn before the width changed.
        let drawn: Vec<usize> =
            seen.split("\u{1b}[2K").skip(2).map(|d| plain(d).trim().chars().count()).collect();
        drawn.into_iter().max().unwrap()
    };
    terminal.see("embedding ");
    for (columns, least) in [(40, 20), (200, 150), (60, 20)] {
        terminal.press("\n");
        terminal.see(&format!("now {columns}"));
        let seen: String = (0..3).map(|_| terminal.see(" left") + " left").collect();
        assert!((least..=columns).contains(&widest(&seen)), "{columns}: {seen:?}");
    }
    // Long before the end: nothing of this waits for it.
    let (seen, status) = terminal.end();
    let last = seen.split_once("done").unwrap().0.rsplit("\u{1b}[2K").next().unwrap();
    assert!(status == 0 && !last.contains("left"), "{seen:?}");
}

#[test]
fn ctrl_c_during_a_progress_bar_keeps_committed_work() {
    let home = waiting(400);
    let line = "stty -g > before; sh -c 'exec rsv-embed --pending'; echo \"ended $?\"; stty -g > after";
    let Some(mut terminal) = Terminal::run(&home, 100, &format!("trap : INT; {line}")) else { return };
    terminal.see(" left");
    terminal.press("\u{3}");
    let seen = terminal.see("ended 130");
    assert!(!seen.contains("\u{1b}[?25l"), "the cursor is hidden: {seen:?}");
    terminal.end();
    assert_eq!(home.read("before"), home.read("after"));
    home.check();
    home.run("rsv-embed", &["--pending"], "").ok();
    assert_eq!(home.export().matches("\"kind\":\"embedding\"").count(), 400);
}
