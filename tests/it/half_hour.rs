//! The first half hour of a new user with a past: a wheel, their own words found again, and all that the README shows
//! after that. It prints the seconds and the number of commands of each step; RSV_TEST_WHEEL is the wheel to take, of a
//! release build, instead of one of the tested tools.

use crate::docs::{is_installed, report_unchecked};
use crate::examples::provider;
use crate::fake::dead;
use crate::init::{ASKED, with_past, with_pip};
use crate::install::{files, run, script};
use crate::packages::linked;
use crate::support::Home;
use crate::terminal::{Terminal, plain};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// A shell on a terminal of 80 columns, and what its user did in it.
struct User<'a> {
    home: &'a Home,
    path: String,
    commands: usize,
    report: String,
}

impl User<'_> {
    /// Types a command, answers every question of it with Enter, and returns what is seen.
    fn types(&mut self, step: &str, command: &str, questions: usize) -> String {
        let begin = Instant::now();
        let line = format!("PATH='{}'; {command}", self.path);
        let mut terminal = Terminal::run(self.home, 80, &line).unwrap();
        let mut seen = String::new();
        for _ in 0..questions {
            seen += &(terminal.see("? ") + "?");
            seen.push('\n');
            terminal.press("\n");
        }
        let (rest, status) = terminal.end();
        seen += &rest;
        assert_eq!(status, 0, "{command}: {seen}");
        self.did(step, begin);
        seen
    }

    fn did(&mut self, step: &str, begin: Instant) {
        self.commands += 1;
        self.report += &format!(
            "{:6.2} s  {:2} commands so far  {step}\n",
            begin.elapsed().as_secs_f64(),
            self.commands
        );
    }
}

/// The wheel of a release; `None` where none can be made.
fn wheel(home: &Home) -> Option<PathBuf> {
    if let Some(wheel) = std::env::var_os("RSV_TEST_WHEEL") {
        return Some(wheel.into());
    }
    if !cfg!(target_os = "linux") || !is_installed("objdump") || !is_installed("cc") {
        return None;
    }
    let from = linked(home);
    let made = run(home, script("release"), &["--from", from.to_str().unwrap(), "--out", "."]).ok();
    made.lines().find(|path| path.ends_with(".whl")).map(|path| home.path(path))
}

/// Keeps: A new user finds their own past with three commands, and no question is asked twice.
#[test]
fn a_new_user_finds_their_past_and_continues_to_the_end() {
    let made = crate::install::bare();
    let Some(wheel) = wheel(&made) else {
        return report_unchecked("the first half hour from a wheel, for want of objdump and a C compiler");
    };
    let provider = provider();
    let home = with_past(with_pip(Home::new())).env("RSV_OLLAMA_BASE_URL", &provider.url());
    let venv = home.path("venv");
    let python = Command::new("python3").args(["-m", "venv"]).arg(&venv).output();
    if !python.is_ok_and(|ran| ran.status.success()) || !is_installed("fzf") || !is_installed("jq") {
        return report_unchecked("the first half hour from a wheel, for want of python3's venv, fzf or jq");
    }
    let before: BTreeSet<String> = files(&venv);
    let path = format!("{}:{}:/usr/bin:/bin", venv.join("bin").display(), home.path("bin").display());
    let mut user = User { home: &home, path, commands: 0, report: String::new() };

    user.types("install", &format!("pip install --quiet --no-index '{}'", wheel.display()), 0);
    // Where there is no registry, there is no embedding model, and all else works.
    let said = user.types("init", "rsv-config init", QUESTIONS);
    let mut asked: Vec<&str> = said.lines().filter(|line| line.ends_with('?')).collect();
    asked.sort_unstable();
    assert!(asked.len() >= QUESTIONS && asked.windows(2).all(|pair| pair[0] != pair[1]), "{asked:?}");
    assert!(said.contains(&format!("you asked in May: \"{ASKED}\"")), "{said}");
    let search = said.split("this finds it again:\n").nth(1).unwrap().lines().next().unwrap();
    let search = search.split(": ").last().unwrap().trim();
    let found = user.types("the first hit", search, 0);
    assert!(words(&found).contains(ASKED), "{found}");
    assert!(user.commands <= 4);

    // rsv-browse, and Enter at the first hit.
    let begin = Instant::now();
    let functions = venv.join("lib/rsv/rsv.bash");
    home.write(
        "browse",
        &format!("source '{}'\nrsv-browse --all feed barn owls winter\n", functions.display()),
    );
    let mut terminal =
        Terminal::run(&home, 80, &format!("stty rows 24; PATH='{}'; bash browse", user.path)).unwrap();
    terminal.see("Twice a day.");
    terminal.press("\r");
    let (seen, status) = terminal.end();
    assert!(status == 0 && words(&seen).contains(ASKED), "{seen}");
    user.did("browse", begin);

    let answer = user.types(
        "ask",
        "rsv-ask -p owls --model llama3.2 'How often do the barn owls get food in winter?'",
        0,
    );
    assert!(answer.starts_with("By the wall.\n"), "{answer}");
    assert!(
        provider.one().text().contains("Twice a day."),
        "nothing was recalled: {}",
        provider.one().text()
    );

    let port = dead().rsplit(':').next().unwrap().to_owned();
    let curl = "curl -s --fail --retry 60 --retry-connrefused --retry-delay 1 -H 'Accept: text/html'";
    let page = format!(
        "rsv-proxy --quiet --port {port} & {curl} http://127.0.0.1:{port}/ http://127.0.0.1:{port}/memory/search?q=winter; \
         kill $!; wait $! || true"
    );
    let page = user.types("the page", &page, 0);
    assert!(page.contains(">owls<") && page.contains("barn owls in"), "{page}");

    user.types("forget", "rsv-search -p owls barn | rsv-forget -p owls > gone.jsonl", 0);
    assert_eq!(
        user.types("search in vain", "rsv-search --all barn || test $? = 1", 0)
            .matches("barn owls in")
            .count(),
        0
    );
    user.types("uninstall", "pip uninstall --quiet --yes rsv", 0);
    let left: Vec<String> =
        files(&venv).difference(&before).filter(|path| !path.ends_with(".pyc")).cloned().collect();
    assert!(left.is_empty() && home.path(".local/share/rsv/store.db").exists(), "{left:?}");
    std::io::stderr().write_all(user.report.as_bytes()).unwrap();
}

/// The questions of init for this past.
const QUESTIONS: usize = 8;

/// The words on a screen, without its colours and ends of lines.
fn words(seen: &str) -> String {
    plain(seen).split_whitespace().collect::<Vec<_>>().join(" ")
}
