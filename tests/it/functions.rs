//! The shell functions, in bash, zsh and fish: models that remember, and programs that are given a memory.

use crate::fake::{Answer, Fake};
use crate::proxy::REPLY;
use crate::support::{Home, Ran, lines_of, text};
use crate::terminal::Terminal;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A fake of cgip and ollama: records its input, and answers or fails as the variables say.
const STAND_IN: &str = r#"#!/bin/sh
given=$(cat; echo .)
{ echo "$0" "$@" | sed 's,.*/,,'; printf '%s\n' "${given%??}"; } > asked
case $given in
    *"say nothing"*) ;;
    *"break off"*) echo "half of it"; exit 3 ;;
    *"bit by bit"*) printf 'first '; cat more; echo 'last' ;;
    *) printf 'It stands by the wall.\n\n  Éh? "$x" \\n %%s\n' ;;
esac
"#;
const ANSWER: &str = "It stands by the wall.\n\n  Éh? \"$x\" \\n %s";

/// The shells that are there, with the flags that make them strict.
pub(crate) fn shells() -> Vec<(&'static str, &'static [&'static str])> {
    let all = [
        ("bash", &["-euC", "-o", "pipefail"][..]),
        ("zsh", &["-euC", "-o", "pipefail", "-o", "ksharrays", "-o", "shwordsplit"]),
        ("zsh", &["-o", "nomatch"]),
        ("fish", &[]),
    ];
    let there = |shell: &str| {
        let ran = Command::new(shell).args(["-c", "true"]).stdout(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    };
    all.into_iter().filter(|(shell, _)| there(shell) && there_is_jq()).collect()
}

fn there_is_jq() -> bool {
    Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_ok()
}

/// A home with the stand-ins, where no file for a moment can be made.
pub(crate) fn home() -> Home {
    let home = Home::new().env("TMPDIR", "/none/such");
    for name in ["bin/cgip", "bin/ollama"] {
        let path = home.write(name, STAND_IN);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    home
}

/// The functions of a shell, in a directory whose name wants quotes.
pub(crate) fn sourced(home: &Home, shell: &str) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let directory = "it's \"the\" $place";
    for name in ["rsv.bash", "rsv.zsh", "rsv.fish"] {
        home.write(&format!("{directory}/{name}"), &std::fs::read_to_string(scripts.join(name)).unwrap());
    }
    match shell {
        "fish" => "source 'it\\'s \"the\" $place/rsv.fish'\n".to_owned(),
        _ => format!("alias gpty='echo old' olm=false\n. './it'\\''s \"the\" $place/rsv.{shell}'\n"),
    }
}

/// A shell that has sourced the functions and runs a script.
fn command(home: &Home, (shell, flags): (&str, &[&str]), script: &str) -> Command {
    let tool = home.command("rsv-view");
    let bin = Path::new(tool.get_program()).parent().unwrap();
    let mut command = Command::new(shell);
    command.args(flags).args(["-c", &(sourced(home, shell) + script)]).env_clear();
    command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{}:{path}", home.path("bin").display(), bin.display()));
    command.current_dir(home.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(home: &Home, shell: (&str, &[&str]), script: &str, stdin: &str) -> Ran {
    let mut child = command(home, shell, script).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(stdin.as_bytes()).ok());
        child.wait_with_output().unwrap()
    });
    home.ran(output)
}

/// Scope and content of each message of the store, oldest first.
fn stored(home: &Home) -> Vec<(String, String)> {
    let lines = lines_of(&home.run("rsv-view", &["--all", "100"], "").ok());
    lines
        .iter()
        .map(|line| {
            (format!("{}/{}", text(&line["partition"]), text(&line["instance"])), text(&line["content"]))
        })
        .collect()
}

/// Keeps: A question does not find itself.
#[test]
fn a_turn_is_stored_once_and_its_question_does_not_find_itself() {
    for shell in shells() {
        let home = home();
        home.run("rsv-ingest", &["-p", "ada", "-i", "work", "The tomatoes stand by the warm wall."], "").ok();
        let reported = run(&home, shell, "export USER=ada; gpty_work 'Where are my tomatoes?'", "").ok();
        assert_eq!(reported, format!("{ANSWER}\n"), "{shell:?}");
        let asked = home.read("asked");
        let (block, question) = asked.split_once("</rsv-memory>").unwrap();
        assert!(block.starts_with("cgip\n<rsv-memory>") && block.contains("by the warm wall"), "{asked}");
        assert!(!block.contains("Where are") && question.trim() == "Where are my tomatoes?", "{asked}");
        let records = lines_of(&home.export());
        let turn: Vec<&Value> = records.iter().filter(|r| r["kind"] == "message").skip(1).collect();
        assert_eq!(
            (&turn[0]["content"], &turn[1]["content"]),
            (&"Where are my tomatoes?".into(), &ANSWER.into())
        );
        assert_eq!((turn.len(), &turn[0]["trace_id"]), (2, &turn[1]["trace_id"]));
        let link = records.iter().find(|r| r["rel"] == "RESPONDED_WITH").unwrap();
        assert_eq!((&link["from"], &link["to"]), (&turn[0]["id"], &turn[1]["id"]));
        let account = records.iter().find(|r| r["kind"] == "account").unwrap();
        assert_eq!(account["trace_id"], turn[0]["trace_id"]);
        // Recalled text is not stored again, and is recalled again.
        run(&home, shell, "olm -p ada -i work -m llama3.2 'And now?'", "").ok();
        let asked = home.read("asked");
        assert!(
            asked.starts_with("ollama run llama3.2\n") && asked.contains("> Where are my tomatoes?"),
            "{asked}"
        );
        assert_eq!(stored(&home).len(), 5);
        assert!(!home.export().contains("rsv-memory"));
    }
}

#[test]
fn a_question_is_words_or_what_is_piped_in_or_both() {
    for shell in shells() {
        let home = home();
        let odd = "it's \"odd\" $HOME `x` \\n *\n- two: [lines]";
        home.write("odd", odd);
        let long = "many words ".repeat(3000);
        for (script, stdin, wanted) in [
            ("gpty what is this", "", "what is this".to_owned()),
            ("gpty", "piped\n", "piped".to_owned()),
            ("gpty explain this", "a diff\n", "explain this\n\na diff".to_owned()),
            ("gpty -- -v", "", "-v".to_owned()),
            ("cat odd | gpty explain", "", format!("explain\n\n{odd}")),
            ("gpty -m gpt-4.1", &long, long.trim_end().to_owned() + " "),
        ] {
            run(&home, shell, script, stdin).ok();
            let question = stored(&home).into_iter().rev().nth(1).unwrap();
            assert_eq!(question, ("default/default".to_owned(), wanted), "{shell:?} {script}");
        }
        assert!(home.read("asked").starts_with("cgip -M gpt-4.1\n"));
    }
}

#[test]
fn scopes_are_named_by_the_function_or_by_flags() {
    for shell in shells() {
        let home = home();
        home.run("rsv-config", &["set", "model", "llama3.2"], "").ok();
        // fish sets USER itself.
        let script = "export USER=ada; gpty_work a; gpty_personal b; gpty_creative c; gpty -p 'my own' -i desk d; olm e; \
                      contextual_cgip_with_ingest f; contextual_ollama_with_ingest g; gpty_work -i phone h";
        run(&home, shell, script, "").ok();
        assert!(home.read("asked").starts_with("cgip\n"));
        let questions: Vec<String> =
            stored(&home).iter().step_by(2).map(|(scope, said)| format!("{scope} {said}")).collect();
        let wanted = [
            "ada/work a",
            "ada/personal b",
            "default/default c",
            "my own/desk d",
            "default/default e",
            "default/default f",
            "default/default g",
            "ada/phone h",
        ];
        assert_eq!(questions, wanted, "{shell:?}");
        // A cron job has no USER.
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        run(
            &home,
            shell,
            if shell.0 == "fish" { "set -e USER; gpty_work z" } else { "unset USER; gpty_work z" },
            "",
        )
        .ok();
        let (scope, said) = stored(&home).swap_remove(16);
        assert_eq!((scope, said), (format!("{}/work", user.trim()), "z".to_owned()), "{shell:?}");
    }
}

#[test]
fn nothing_is_stored_where_there_is_no_answer_and_the_status_is_the_models() {
    for shell in shells() {
        let home = home();
        let last = if shell.0 == "fish" { "echo \"[$status]\"" } else { "" };
        let status = |script: &str| {
            let script = if shell.0 == "fish" {
                format!("{script}; {last}")
            } else {
                format!("{script} || echo \"[$?]\"")
            };
            let ran = run(&home, shell, &script, "");
            assert_eq!(ran.status, 0, "{ran}");
            (ran.stdout, ran.stderr)
        };
        let (reported, why) = status("gpty say nothing");
        assert_eq!(
            (reported.as_str(), why.as_str()),
            ("[1]\n", "gpty: error: there is no answer, and nothing was stored\n")
        );
        assert_eq!(status("gpty break off"), ("half of it\n[3]\n".to_owned(), String::new()));
        for (script, code, wanted) in [
            ("gpty", 2, "gpty: error: there is no question"),
            ("olm hello", 2, "olm: error: no model is named"),
            ("gpty -x hello", 2, "gpty: usage: gpty [-p PARTITION]"),
            ("gpty -p", 2, "gpty: usage: "),
            ("gpty -p '' -i '' -m '' ' '", 2, "there is no question"),
            ("rsv-with", 2, "rsv-with: usage: "),
        ] {
            let (reported, why) = status(script);
            assert_eq!(reported, format!("[{code}]\n"), "{shell:?} {script}: {why}");
            assert!(why.contains(wanted), "{shell:?} {script}: {why}");
        }
        assert!(!home.store().exists(), "nothing was stored");
    }
}

#[test]
fn without_the_client_rsv_ask_asks() {
    if ["cgip", "ollama"].iter().any(|client| crate::docs::is_installed(client)) {
        return;
    }
    for shell in shells() {
        let provider = provider();
        let home = Home::new()
            .env("RSV_OPENAI_BASE_URL", &provider.url())
            .env("OPENAI_API_KEY", "k")
            .env("RSV_OLLAMA_BASE_URL", &provider.url());
        let ran = run(
            &home,
            shell,
            "gpty_work -m gpt-4o 'Where?'; echo more | olm -p work -m llama3.2 -- -v it",
            "",
        );
        assert_eq!(ran.ok(), "In Évora.\nIn Évora.\n", "{shell:?}");
        let said: Vec<String> = stored(&home).into_iter().map(|(_, said)| said).collect();
        assert_eq!(said, ["Where?", "In Évora.", "-v it\n\nmore", "In Évora."], "{shell:?}");
        let script = match shell.0 {
            "fish" => "gpty -m gpt-4o refuse; echo \"[$status]\"",
            _ => "gpty -m gpt-4o refuse || echo \"[$?]\"",
        };
        assert_eq!(run(&home, shell, script, "").stdout, "[2]\n", "{shell:?}");
        assert_eq!(stored(&home).len(), 4);
    }
}

#[test]
fn an_answer_is_shown_as_it_comes() {
    for shell in shells() {
        let home = home();
        assert!(Command::new("mkfifo").arg(home.path("more")).status().unwrap().success());
        let mut child = command(&home, shell, "olm -m m bit by bit").stdin(Stdio::null()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut first = [0; 6];
        out.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"first ");
        std::fs::write(home.path("more"), "middle ").unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("middle last\n", Some(0)));
        assert_eq!(stored(&home)[1].1, "first middle last");
    }
}

#[test]
fn output_to_a_file_stays_in_order() {
    for shell in shells().into_iter().filter(|(shell, _)| *shell != "fish") {
        let home = home();
        run(
            &home,
            shell,
            "echo zero > out; { echo one; gpty hi; echo two; gpty hi; echo three; } >> out",
            "",
        )
        .ok();
        assert_eq!(home.read("out"), format!("zero\none\n{ANSWER}\ntwo\n{ANSWER}\nthree\n"), "{shell:?}");
    }
}

#[test]
fn a_turn_an_hour_and_a_word_are_forgotten_and_printed() {
    for shell in shells() {
        let home = home().at("2020-11-21T07:00:00Z");
        for (trace, role, content) in [
            ("a", "user", "Which art?"),
            ("a", "assistant", "Start with the Évora."),
            ("b", "user", "c++ [x]"),
        ] {
            home.ingest(&["-p", "work", "--role", role, "--trace", trace], content);
        }
        let at_status = |script: &str| match shell.0 {
            "fish" => format!("{script}; echo \"[$status]\""),
            _ => format!("{script} && echo '[0]' || echo \"[$?]\""),
        };
        // Whole words as they stand, in one scope.
        for (script, gone, status) in [
            ("rsv-forget-word art", &[][..], 1),
            ("rsv-forget-word -p work star", &[], 1),
            ("rsv-forget-word -p work evora", &[], 1),
            ("rsv-forget-word -p work -i desk art", &[], 1),
            ("rsv-forget-word -p work ART", &["Which art?"], 0),
            ("rsv-forget-word -p work 'C++ [x]'", &["c++ [x]"], 0),
            ("rsv-forget-word -p work with the évora", &["Start with the Évora."], 0),
        ] {
            let ran = run(&home, shell, &at_status(script), "");
            let (printed, last) =
                ran.stdout.trim_end().rsplit_once('\n').unwrap_or(("", ran.stdout.trim_end()));
            assert_eq!(last, format!("[{status}]"), "{shell:?} {script}: {ran}");
            let printed: Vec<String> = lines_of(printed)
                .iter()
                .filter(|l| l["kind"] == "message")
                .map(|l| text(&l["content"]))
                .collect();
            assert_eq!(printed, gone, "{shell:?} {script}");
        }
        assert!(stored(&home).is_empty());
        // The last turn, with its account; then the hour. The turns of other scopes and times stay.
        home.ingest(&["-p", "other"], "elsewhere");
        home.at("2020-11-22T07:00:00Z").ingest(&["-p", "work"], "long ago");
        let now = home.without("RSV_TEST_NOW");
        for question in ["first", "second"] {
            run(&now, shell, &format!("gpty -p work {question}"), "").ok();
        }
        let gone = lines_of(&run(&now, shell, "rsv-forget-last -p work", "").ok());
        let kinds: Vec<&str> = gone.iter().map(|line| line["kind"].as_str().unwrap()).collect();
        assert_eq!(
            (kinds.len(), gone[0]["trace_id"] == gone[1]["trace_id"]),
            (4, true),
            "{shell:?} {gone:?}"
        );
        assert!(gone.iter().any(|line| line["kind"] == "account"), "{gone:?}");
        let left: Vec<String> = stored(&now).into_iter().map(|(_, said)| said).collect();
        assert_eq!(left, ["elsewhere", "long ago", "first", ANSWER], "{shell:?}");
        run(&now, shell, "rsv-forget-hour -p work -y", "").ok();
        let left: Vec<String> = stored(&now).into_iter().map(|(_, said)| said).collect();
        assert_eq!(left, ["elsewhere", "long ago"], "{shell:?}");
        for script in ["rsv-forget-last -p nobody", "rsv-forget-hour"] {
            assert_eq!(run(&now, shell, &at_status(script), "").stdout, "[1]\n", "{shell:?} {script}");
        }
        for script in
            ["rsv-forget-last x", "rsv-forget-hour -x", "rsv-forget-word", "rsv-forget-word -p work ' '"]
        {
            let ran = run(&now, shell, &at_status(script), "");
            assert!(
                ran.stdout == "[2]\n" && ran.stderr.contains(": usage: rsv-forget-"),
                "{shell:?} {script}: {ran}"
            );
        }
    }
}

/// The directory with the real clients, if this machine has them.
fn clients() -> Option<PathBuf> {
    std::env::var_os("RSV_TEST_CLIENTS").map(PathBuf::from)
}

/// An answer with all that the strictest client wants.
fn whole() -> String {
    let usage = r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#;
    REPLY.replace(r#"{"total_tokens":12345678901234567890}"#, usage).replace("1.0", "1")
}

/// A provider that speaks OpenAI's words and Ollama's.
pub(crate) fn provider() -> Fake {
    Fake::answering(|asked| match (asked.method.as_str(), asked.path.as_str()) {
        (_, "/api/generate") => Answer::new(
            200,
            r#"{"model":"m","created_at":"2026-11-21T00:00:00Z","response":"In Évora.","done":true,"done_reason":"stop"}"#,
        ),
        (_, "/api/show") => {
            Answer::new(200, r#"{"details":{},"model_info":{},"capabilities":["completion"]}"#)
        }
        ("POST", _) if asked.text().contains("refuse") => {
            Answer::new(400, r#"{"error":{"message":"I will not"}}"#)
        }
        ("POST", _) => Answer::new(200, whole()),
        _ => Answer::new(200, "{}"),
    })
}

#[test]
fn the_real_clients_answer_in_every_shell() {
    let Some(clients) = clients() else { return };
    for shell in shells() {
        let provider = provider();
        let home =
            Home::new().env("OPENAI_BASE_URL", &format!("{}/v1", provider.url())).env("OPENAI_API_KEY", "k");
        let home = home.env("OLLAMA_HOST", &provider.url());
        std::os::unix::fs::symlink(clients.join("bin"), home.path("bin")).unwrap();
        let ran = run(&home, shell, "gpty -m gpt-4o -p work 'Where?'", "");
        assert!(ran.status == 0 && ran.stdout.contains("In Évora."), "{shell:?}: {ran}");
        let ran = run(&home, shell, "olm -p work -m llama3.2", "And again?\n");
        assert!(ran.status == 0 && ran.stdout.contains("In Évora."), "{ran}");
        let asked =
            provider.seen().iter().find(|seen| seen.path == "/api/generate").unwrap().text().to_owned();
        assert!(
            asked.contains("rsv-memory") && asked.contains("Where?") && asked.contains("And again?"),
            "{asked}"
        );
        assert_ne!(run(&home, shell, "gpty refuse", "").status, 0);
        let said: Vec<String> = stored(&home).into_iter().map(|(_, said)| said).collect();
        assert_eq!(said, ["Where?", "In Évora.", "And again?", "In Évora."], "{shell:?}");
        // Through the proxy too, which stores what they ask.
        let through =
            home.env("RSV_OPENAI_BASE_URL", &provider.url()).env("RSV_OLLAMA_BASE_URL", &provider.url());
        let script =
            "rsv-with -p with cgip -M gpt-4o 'Through?'; rsv-with -p with ollama run llama3.2 'And through?'";
        let ran = run(&through, shell, script, "");
        assert!(ran.status == 0 && ran.stdout.matches("In Évora.").count() == 2, "{ran}");
        assert_eq!(
            home.contents("rsv-view", &["-p", "with", "--role", "user"]),
            ["Through?", "And through?"]
        );
    }
}

#[test]
fn at_a_prompt_stdin_is_not_read_and_ctrl_c_stores_nothing() {
    for (shell, start) in [("bash", "exec bash --rcfile rc -i"), ("zsh", "exec zsh -i")] {
        if !shells().iter().any(|(there, _)| *there == shell) {
            continue;
        }
        let home = home();
        let rc = format!("PATH=$HOME/bin:$PATH\n{}PS1='READY> '\n", sourced(&home, shell));
        home.write("rc", &rc);
        home.write(".zshrc", &format!("{rc}unsetopt prompt_sp\n"));
        assert!(Command::new("mkfifo").arg(home.path("more")).status().unwrap().success());
        let Some(mut terminal) = Terminal::run(&home, 200, start) else { return };
        terminal.see("READY> ");
        terminal.press("gpty hello\n");
        terminal.see("It stands by the wall.");
        terminal.see("READY> ");
        terminal.press("olm -m m bit by bit; echo not reached\n");
        terminal.see("first ");
        // Opened when the client opens it too, and so has begun to wait.
        let more = std::fs::OpenOptions::new().write(true).open(home.path("more")).unwrap();
        terminal.press("\u{3}");
        terminal.see("READY> ");
        drop(more);
        terminal.press("exit\n");
        terminal.end();
        assert_eq!(
            stored(&home).iter().map(|(_, said)| said.as_str()).collect::<Vec<_>>(),
            ["hello", ANSWER]
        );
    }
}
