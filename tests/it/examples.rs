//! The commands in the documentation run: the blocks of commands, and the examples of the manual.

use crate::docs::{is_installed, names, read, report_unchecked, root, section};
use crate::fake::{Answer, Fake, dead};
use crate::hub::Hub;
use crate::install::executable;
use crate::models::with_library;
use crate::support::{Home, model_files, programs};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// Commands that this test does not run, most of them because they run it.
const LEFT_OUT: [&str; 7] = [
    "cargo build --locked",
    "cargo test --locked --test it search::",
    // Of a release: see packages.
    "npm install --global ./rsv-*.tgz",
    "pipx install ./rsv-*.whl",
    // It asks on a terminal: see first_half_hour.
    "rsv-config init",
    "scripts/test",
    "scripts/test --all",
];

/// Fakes of programs that would leave this machine, change it, ask its user, or never end.
const STAND_INS: [(&str, &str); 17] = [
    ("age-keygen", "echo age1"),
    ("aider", r#"test -n "$OPENAI_BASE_URL""#),
    ("cargo", r#"case $1 in build | rustc) ;; *) exit 1 ;; esac"#),
    ("cgip", "cat"),
    ("curl", r#"PATH=${PATH#*:}; exec curl --fail --retry 60 --retry-connrefused --retry-delay 1 "$@""#),
    ("dot", "grep -Eq '^(di)?graph '"),
    ("fzf", "head -n 1"),
    ("git", "echo 'a change'"),
    ("npm", r#"test "$2" = --global"#),
    ("ollama", "cat"),
    ("pipx", "test $# = 2"),
    ("rsv-sync", "test $# -gt 0"),
    ("some-client", r#"exec curl --silent "${OPENAI_BASE_URL%/v1}/health""#),
    ("ssh", r#"shift; exec sh -c "$*""#),
    ("sudo", r#"DESTDIR=$HOME/root exec "$@""#),
    ("systemctl", r#"case "$1 $2" in '--user enable' | '--user edit') ;; *) exit 1 ;; esac"#),
    ("tail", r#"exec cat "$2""#),
];

/// A provider of everything: it answers chat completions, streamed or not, and embeds.
pub(crate) fn provider() -> Fake {
    let chunk =
        r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"By the wall."}}]}"#;
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"By the wall."}}]}"#;
    Fake::answering(move |asked| match asked.path.as_str() {
        "/api/embed" => Answer::new(200, r#"{"embeddings":[[0.6,0.8,0]]}"#),
        _ if asked.text().contains("\"stream\":true") || asked.text().contains("\"stream\": true") => {
            let events = format!("data: {chunk}\n\ndata: [DONE]\n\n");
            Answer::new(200, events).header("Content-Type", "text/event-stream")
        }
        _ => Answer::new(200, whole),
    })
}

/// A home with what the examples expect around them: a model, what the sources have, and files that they name.
fn home(document: &str) -> Home {
    // One fetches a model, and so must not have that of others.
    let home = if document == "rsv-embed.1" { with_library() } else { Home::with_model() };
    for name in ["scripts", "man", "completions", "services", "LICENSE"] {
        symlink(root().join(name), home.path(name)).unwrap();
    }
    let request = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Where are my tomatoes?"}]}"#;
    home.write("request.json", request);
    home.write("chat.jsonl", r#"{"role":"user","content":"A line of a log."}"#);
    for (name, body) in STAND_INS {
        executable(&home.write(&format!("stand-ins/{name}"), &format!("#!/bin/sh\n{body}\n")));
    }
    // These installed programs do nothing; the examples run the built tools.
    for tool in programs() {
        executable(&home.write(&format!("bin/{tool}"), "#!/bin/sh\n"));
    }
    let built = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    std::fs::create_dir_all(home.path("target/release")).unwrap();
    for program in [programs(), vec!["rsv-multicall".to_owned()]].concat() {
        symlink(built.join(&program), home.path("target/release").join(&program)).unwrap();
    }
    home
}

/// Runs the examples of one document in a home of their own, one after the other; what they start in the background
/// ends with them.
fn run_examples(document: &str, script: &str) {
    let (home, provider, hub) = (home(document), provider(), Hub::new(model_files(), &[]));
    let [port, ollamas] = [dead(), dead()].map(|address| address.rsplit(':').next().unwrap().to_owned());
    let end = "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n";
    let script = script.replace("3017", &port).replace("--ollama", &format!("--ollama --port {ollamas}"));
    let script = end.to_owned() + &script;
    let places = [home.path("stand-ins"), home.path("target/release")].map(|path| path.display().to_string());
    let path = format!("{}:{}", places.join(":"), std::env::var("PATH").unwrap_or_default());
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &script]).env_clear().env("PATH", path);
    bash.env("OPENAI_API_KEY", "sk-example").env("RSV_OPENAI_BASE_URL", provider.url());
    bash.env("RSV_OLLAMA_BASE_URL", provider.url())
        .env("RESERVOIR_PORT", &port)
        .env("HF_ENDPOINT", hub.url());
    bash.env("CARGO_TARGET_DIR", home.path("target"));
    bash.env("HOME", home.path("")).current_dir(home.path("")).stdin(Stdio::null());
    let ran = bash.output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && !stderr.contains("error"), "{document}: {stderr}\n{script}");
}

/// Whether this machine has what the examples use.
pub(crate) fn can_run_examples() -> bool {
    let needed = ["bash", "jq", "gzip", "curl", "tar"];
    let missing: Vec<&str> = needed.into_iter().filter(|tool| !is_installed(tool)).collect();
    let tell = |tool| report_unchecked(&format!("the examples of readme and manual, for want of {tool}"));
    for tool in &missing {
        tell(tool);
    }
    missing.is_empty()
}

/// The commands of a document's blocks, those for a shell and those after a prompt, but for what is left out.
fn commands(document: &str) -> String {
    commands_in(&read(document)).filter(|command| !LEFT_OUT.contains(&bare(command))).collect()
}

/// A command without its comment.
pub(crate) fn bare(command: &str) -> &str {
    command.split('#').next().unwrap().trim()
}

/// The lines of the commands in a text's blocks.
pub(crate) fn commands_in(text: &str) -> impl Iterator<Item = String> {
    let mut commands = Vec::new();
    // Every other part is between fences, and begins with the name of its language.
    for block in text.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        assert!(["", "sh", "console"].contains(&language), "what is {language}?");
        let mut continues = false;
        for line in text.lines().filter(|_| !language.is_empty()) {
            let is_command = language != "console" || continues || line.starts_with("$ ");
            continues = is_command && line.ends_with('\\');
            if is_command {
                commands.push(line.strip_prefix("$ ").unwrap_or(line).to_owned() + "\n");
            }
        }
    }
    commands.into_iter()
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn the_commands_of_the_readme_and_other_documents_run() {
    let readme = commands("README.md");
    assert!(readme.matches("rsv-").count() > 15 && readme.contains("\nrsv-import --find"), "{readme}");
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        if can_run_examples() {
            run_examples(document, &commands(document));
        }
    }
    let docs = read("README.md") + &read("CONTRIBUTING.md");
    for command in LEFT_OUT {
        assert!(docs.contains(&format!("$ {command}")), "{command}");
    }
}

#[test]
fn flags_and_commands_named_in_the_docs_exist() {
    let mut seen = 0;
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        for named in read(document).split('`').filter(|span| span.starts_with("rsv-") && span.contains(' ')) {
            let words: Vec<&str> = named.split_whitespace().collect();
            let mut help = Home::new().run(words[0], &["--help"], "").ok();
            if words[0] == "rsv-config" && !words[1].starts_with('-') {
                help += &Home::new().run(words[0], &[words[1], "--help"], "").ok();
            }
            let is_placeholder = |word: &str| word.chars().all(char::is_uppercase);
            let is_checked =
                |word: &&&str| word.starts_with("--") || words[0] == "rsv-config" && !is_placeholder(word);
            for word in words[1..].iter().filter(is_checked) {
                assert!(help.split_whitespace().any(|known| known.trim_end_matches(',') == *word), "{named}");
                seen += 1;
            }
        }
    }
    assert!(seen > 4, "{seen}");
}

/// The blocks of a part of a page, but for those for cron.
pub(crate) fn blocks(part: &str) -> String {
    let blocks = part.split(".Bd -literal").skip(1).map(|block| {
        let (_, block) = block.split_once('\n').unwrap();
        unescaped(block.split("\n.Ed").next().unwrap()) + "\n"
    });
    blocks.filter(|block| crontab_commands(block).next().is_none()).collect()
}

/// A literal text of a page as it is shown.
pub(crate) fn unescaped(text: &str) -> String {
    let escapes = [
        ("\\-", "-"),
        ("\\&", ""),
        ("\\(aq", "'"),
        ("\\(ga", "`"),
        ("\\(ha", "^"),
        ("\\(ti", "~"),
        ("\\e", "\\"),
    ];
    escapes.iter().fold(text.to_owned(), |text, (escape, sign)| text.replace(escape, sign))
}

/// The commands in the lines of a text that are for cron: those after five fields of time.
pub(crate) fn crontab_commands(text: &str) -> impl Iterator<Item = &str> {
    let is_time = |field: &str| {
        field.contains(|c: char| c == '*' || c.is_ascii_digit())
            && field.chars().all(|c| c.is_ascii_digit() || "*/,-".contains(c))
    };
    text.lines().filter_map(move |line| {
        let mut fields = line.trim().splitn(6, ' ');
        fields.by_ref().take(5).all(is_time).then(|| fields.next()).flatten()
    })
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn crontab_lines_are_valid_and_fail_with_any_part() {
    let pages = names("man").into_iter().map(|name| unescaped(&read(&format!("man/{name}"))));
    let texts: Vec<String> = pages.chain([read("README.md")]).collect();
    let commands = texts.iter().flat_map(|text| crontab_commands(text));
    let commands: Vec<&str> = commands.filter(|command| command.contains("rsv-export")).collect();
    assert!(!commands.is_empty());
    for command in commands {
        // cron ends a command at a '%', unless a backslash is before it, which it takes away.
        assert!(!command.replace("\\%", "").contains('%'), "{command}");
        let home = Home::new();
        home.run("rsv-ingest", &["An owl."], "").ok();
        let built = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
        let path = format!("{}:/usr/bin:/bin", built.display());
        let run = || {
            let mut sh = home.env("PATH", &path).env("SHELL", "/bin/sh").command("/bin/sh");
            home.ran(sh.args(["-c", &command.replace("\\%", "%")]).stdin(Stdio::null()).output().unwrap())
        };
        run().ok();
        let backups = || -> Vec<_> {
            let files = home.path("").read_dir().unwrap().map(|file| file.unwrap().path());
            files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect()
        };
        let made = backups();
        let text = Command::new("gzip").arg("-dc").args(&made).output().unwrap();
        assert!(String::from_utf8(text.stdout).unwrap().contains("An owl."), "{command}");
        std::fs::remove_file(&made[0]).unwrap();
        home.write(".local/share/rsv/store.db", "no store");
        let failed = run();
        assert!(failed.status != 0 && failed.stderr.contains("rsv-export: error: "), "{command}: {failed}");
        assert!(backups().is_empty(), "{command}");
    }
}

#[test]
fn the_function_of_the_manual_returns_the_failure_of_the_provider() {
    if !can_run_examples() {
        return;
    }
    let page = read("man/rsv.7");
    let script = blocks(section(&page, "EXAMPLES"));
    let function =
        format!("ask() (\n{}\n)\n", script.split("ask() (\n").nth(1).unwrap().split("\n)\n").next().unwrap());
    let built = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap_or_default());
    for shell in ["bash", "zsh"].into_iter().filter(|shell| is_installed(shell)) {
        let ask = |provider: &str| {
            let home =
                Home::new().env("PATH", &path).env("RSV_RETRIES", "0").env("RSV_OLLAMA_BASE_URL", provider);
            home.run("/usr/bin/env", &[shell, "-c", &(function.clone() + "ask Where are they")], "")
        };
        assert_eq!(ask(&provider().url()).ok(), "By the wall.\n");
        let failed = ask(&dead());
        assert!(failed.status == 2 && failed.stdout.is_empty(), "{shell}: {failed}");
        assert!(failed.stderr.starts_with("rsv-forward: error: "), "{shell}: {failed}");
    }
}

/// The preparation that the examples of a page need.
fn preparation(name: &str, page: &str) -> String {
    match name {
        "rsv-shell.7" => {
            let install = "scripts/install > /dev/null\n".to_owned();
            // The functions are where the page says for each shell, and bash takes them from there.
            let sources = blocks(page.split("\n.Pp\n").next().unwrap());
            assert_eq!(sources.matches("source ~/").count(), 3, "{sources}");
            let there = sources.replace("source", "test -f") + sources.lines().next().unwrap();
            install + &there + "\nrsv-ingest --quiet -p work 'The last commit.'\n"
        }
        "rsv-tutorial.7" => "scripts/install > /dev/null\n".to_owned(),
        "rsv-install.7" => {
            let release = format!("rsv-{}-x86_64-linux", env!("CARGO_PKG_VERSION"));
            format!(
                "mkdir {release}; cp -RL scripts man completions services LICENSE bin {release}\n\
                 tar -czf {release}.tar.gz {release}; rm -r {release}\n"
            )
        }
        "rsv-import.1" => {
            let session = root().join("tests/it/import/claude-code.jsonl");
            format!("mkdir -p ~/.claude/projects; cp '{}' ~/.claude/projects\n", session.display())
        }
        "rsv-config.1" => "rsv-ingest --quiet -p shop 'An owl.'\n".to_owned(),
        _ => String::new(),
    }
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn the_examples_of_the_manual_run() {
    for name in names("man") {
        let page = read(&format!("man/{name}"));
        let script = blocks(section(&page, "EXAMPLES"));
        assert!(script.contains("rsv"), "{name} has no example that runs");
        if can_run_examples() {
            run_examples(&name, &(preparation(&name, &page) + &script));
        }
    }
}
