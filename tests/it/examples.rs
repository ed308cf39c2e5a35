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

/// Commands that run this test, and that it therefore does not run.
const LEFT_OUT: [&str; 3] =
    ["cargo build --locked", "cargo test --locked --test it search::", "scripts/test"];

/// Fakes of programs that would leave this machine, change it, ask its user, or never end.
const STAND_INS: [(&str, &str); 14] = [
    // The hours of a line for cron come first.
    ("0", r#"while [ "$1" != rsv-export ]; do shift; done; exec "$@""#),
    ("aider", r#"test -n "$OPENAI_BASE_URL""#),
    ("cargo", r#"test "$1" = build"#),
    ("cgip", "cat"),
    ("curl", r#"PATH=${PATH#*:}; exec curl --fail --retry 60 --retry-connrefused --retry-delay 1 "$@""#),
    ("dot", "grep -Eq '^(di)?graph '"),
    ("fzf", "head -n 1"),
    ("git", "echo 'a change'"),
    ("ollama", "cat"),
    ("some-client", r#"exec curl --silent "${OPENAI_BASE_URL%/v1}/health""#),
    ("ssh", r#"shift; exec sh -c "$*""#),
    ("sudo", r#"DESTDIR=$HOME/root exec "$@""#),
    ("systemctl", r#"test "$1 $2" = '--user enable'"#),
    ("tail", r#"exec cat "$2""#),
];

/// A provider of everything: it answers chat completions, streamed or not, and embeds.
fn provider() -> Fake {
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
    std::fs::create_dir(home.path("target")).unwrap();
    symlink(built, home.path("target/release")).unwrap();
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
    let mut commands = String::new();
    // Every other part is between fences, and begins with the name of its language.
    for block in read(document).split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        assert!(["", "sh", "console"].contains(&language), "{document}: what is {language}?");
        let mut goes_on = false;
        for line in text.lines() {
            let command =
                if language == "console" && !goes_on { line.strip_prefix("$ ") } else { Some(line) };
            let bare = command.map(|command| command.split('#').next().unwrap().trim());
            if let Some(command) =
                command.filter(|_| !language.is_empty() && !LEFT_OUT.contains(&bare.unwrap()))
            {
                commands += &format!("{command}\n");
            }
            goes_on = command.is_some_and(|command| command.ends_with('\\'));
        }
    }
    commands
}

#[test]
fn the_commands_of_the_readme_and_other_documents_run() {
    let readme = commands("README.md");
    assert!(readme.matches("rsv-").count() > 15 && readme.contains("\nrsv-embed --fetch"), "{readme}");
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
            let help = Home::new().run(words[0], &["--help"], "").ok();
            let is_checked = |word: &&&str| word.starts_with("--") || words[0] == "rsv-config";
            for word in words[1..].iter().filter(is_checked) {
                assert!(help.split_whitespace().any(|known| known.trim_end_matches(',') == *word), "{named}");
                seen += 1;
            }
        }
    }
    assert!(seen > 4, "{seen}");
}

/// The blocks of a part of a page.
fn blocks(part: &str) -> String {
    let (mut script, mut inside) = (String::new(), false);
    for line in part.lines() {
        if line == ".Ed" {
            inside = false;
        } else if inside {
            script.push_str(line);
            script.push('\n');
        }
        inside |= line.starts_with(".Bd -literal");
    }
    let escapes = [
        ("\\-", "-"),
        ("\\&", ""),
        ("\\(aq", "'"),
        ("\\(ga", "`"),
        ("\\(ha", "^"),
        ("\\(ti", "~"),
        ("\\e", "\\"),
    ];
    escapes.iter().fold(script, |script, (escape, sign)| script.replace(escape, sign))
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
            install + &there + "\n"
        }
        "rsv-install.7" => {
            let release = format!("rsv-{}-x86_64-linux", env!("CARGO_PKG_VERSION"));
            format!(
                "mkdir {release}; cp -RL scripts man completions services LICENSE bin {release}\n\
                 tar -czf {release}.tar.gz {release}; rm -r {release}\n"
            )
        }
        _ => String::new(),
    }
}

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
