//! The first half hour of a new user, as the README has it: an empty home, and nothing but the system's programs.

use crate::docs::{read, root};
use crate::examples::{bare, can_run_examples, commands_in, provider};
use crate::fake::dead;
use crate::init::with_pip;
use crate::install::{executable, files};
use crate::packages::linked;
use crate::support::Home;
use crate::terminal::Terminal;
use std::process::{Command, Stdio};

/// The commands of a part of the README.
fn commands(heading: &str) -> Vec<String> {
    let readme = read("README.md");
    let part = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    commands_in(part.split("\n## ").next().unwrap()).collect()
}

/// Runs commands in bash; what they print.
fn run(home: &Home, commands: &str) -> String {
    let script = format!("trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n{commands}");
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &script]).current_dir(home.path("")).stdin(Stdio::null());
    bash.env_clear().envs(home.command("bash").get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = home.ran(bash.output().unwrap());
    assert_eq!(ran.status, 0, "{commands}: {ran}");
    ran.stdout
}

/// Keeps: The README leads a new user from nothing to an answer.
#[test]
fn the_readme_leads_from_nothing_to_an_answer_and_back() {
    if !can_run_examples() {
        return;
    }
    let (sources, provider) = (Home::new(), provider());
    // cargo would take minutes; what it makes is here already.
    let built = sources.path("target/release/rsv-multicall");
    std::fs::create_dir_all(built.parent().unwrap()).unwrap();
    std::fs::rename(linked(&sources).join("rsv"), built).unwrap();
    executable(&sources.write("bin/cargo", "#!/bin/sh\ntest \"$1\" = rustc\n"));
    // Any client that asks once will do.
    let body = r#"{"model":"llama3.2","messages":[{"role":"user","content":"And the beans?"}]}"#;
    let aider = format!(
        "#!/bin/sh\nexec curl -s --fail-with-body \"$OPENAI_BASE_URL/chat/completions\" -d '{body}'\n"
    );
    executable(&sources.write("bin/aider", &aider));

    let home = with_pip(Home::new());
    let port = dead().rsplit(':').next().unwrap().to_owned();
    let path =
        format!("{}:{}:/usr/bin:/bin", home.path(".local/bin").display(), sources.path("bin").display());
    let home = home.env("PATH", &path).env("CARGO_TARGET_DIR", sources.path("target").to_str().unwrap());
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RESERVOIR_PORT", &port);

    let install = commands("Install");
    let [first, init, status] = &install[..] else { panic!("{install:?}") };
    assert_eq!([bare(first), bare(init)], ["scripts/install", "rsv-config init"]);
    let said = run(&home, &format!("cd '{}'; {first}", root().display()));
    assert!(said.ends_with("Then run: rsv-config init\n"), "{said}");
    let installed = files(&home.path(".local"));

    // Enter at every question. Where there is no registry, there is no model, and all else works.
    let line = format!("PATH='{path}'; {}", bare(init));
    let Some(mut terminal) = Terminal::run(&home, 200, &line) else { return };
    for _ in 0..5 {
        terminal.see("? ");
        terminal.press("\n");
    }
    let (seen, ended) = terminal.end();
    assert_eq!(ended, 0, "{seen}");
    let has_model = seen.contains("all-minilm-l6-v2-int8 is installed");
    assert!(
        has_model || seen.contains("rsv-config: hint: ") && seen.contains("to try again, run: "),
        "{seen}"
    );
    let told = run(&home, status);
    let next = if has_model { "rsv-ingest" } else { "rsv-config init" };
    assert!(told.contains("messages    0\n") && told.contains(&format!("\nnext        {next}")), "{told}");

    let mut store = commands("Store and search");
    store.retain(|command| has_model || !command.contains("--hybrid"));
    let printed = run(&home, &store.concat());
    let found: Vec<&str> = printed.lines().skip(2).collect();
    assert!(found[0].contains("The tomatoes stand by the warm wall."), "{printed}");
    assert_eq!(found.len(), if has_model { 5 } else { 3 }, "{printed}");

    let ask = commands("Ask a model");
    assert_eq!(run(&home, &ask.concat()), "By the wall.\n");
    let sent = provider.one();
    assert!(sent.text().contains("The tomatoes stand by the warm wall."), "{}", sent.text());

    let serve = commands("Give other programs a memory").concat().replace("3017", &port);
    let serve =
        serve.replace("curl -s", "curl --fail-with-body --retry 60 --retry-connrefused --retry-delay 1 -s");
    let answered = run(&home, &serve);
    assert_eq!(answered.matches("\"content\":\"By the wall.\"").count(), 2, "{answered}");
    let kept = home.path(".local/share/rsv/store.db");
    assert_eq!(run(&home, "rsv-view -p garden --role assistant").lines().count(), 3);

    let uninstall = "~/.local/lib/rsv/uninstall";
    assert!(read("README.md").contains(&format!("`{uninstall}`")));
    let left = run(&home, uninstall);
    assert_eq!(left.lines().next(), Some(&*format!("left: {}", kept.parent().unwrap().display())));
    let there = files(&home.path(".local"));
    assert!(kept.exists() && installed.is_disjoint(&there), "{there:?}");
}
