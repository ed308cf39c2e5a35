//! A command that rsv-proxy runs and serves.

use crate::fake::{Answer, Fake};
use crate::functions::{home, provider, run, shells};
use crate::proxy::Proxy;
use crate::support::Home;
use crate::terminal::Terminal;
use std::io::Read;
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// The port in a reported address.
fn port_of(reported: &str) -> u16 {
    reported.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().trim().parse().unwrap()
}

/// Keeps: A command that rsv-proxy runs leaves no process behind.
#[test]
fn a_command_is_served_and_nothing_is_left_running() {
    // No proxy listens at the address in the settings.
    let nowhere = port_of(&crate::fake::dead()).to_string();
    for shell in shells() {
        let home = home().env("RESERVOIR_PORT", &nowhere);
        let script = "rsv-with -p 'my own' sh -c 'echo $OPENAI_BASE_URL; echo $OLLAMA_HOST; echo \"$0 $1\"; exit 7' \
                      'a  b' -x";
        let ran = run(&home, shell, script, "");
        assert_eq!((ran.status, ran.stderr.as_str()), (7, ""), "{shell:?}");
        let lines: Vec<&str> = ran.stdout.lines().collect();
        let port = port_of(lines[0]);
        let base = format!("http://127.0.0.1:{port}/partition/my%20own");
        assert_eq!(lines, [&format!("{base}/v1"), &base, "a  b -x"]);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it still listens");
        let input = run(&home, shell, "echo piped | rsv-with cat", "").ok();
        assert_eq!(input, "piped\n");
    }
}

#[test]
fn a_healthy_running_proxy_is_used() {
    let home = home();
    let proxy = Proxy::start(&home);
    let home = home.env("RESERVOIR_PORT", &proxy.port().to_string());
    let base = |words: &[&str]| -> String {
        let words = [words, &["sh", "-c", "echo $OPENAI_BASE_URL"]].concat();
        home.run("rsv-proxy", &[&["-q"], &words[..]].concat(), "").ok()
    };
    assert_eq!(base(&[]), format!("http://127.0.0.1:{}/v1\n", proxy.port()));
    assert_eq!(
        base(&["-i", "x"]),
        format!("http://127.0.0.1:{}/partition/default/instance/x/v1\n", proxy.port())
    );
    // A flag for the address or the settings requires a proxy of its own.
    for words in [&["--store", "other.db"][..], &["--port", "0"]] {
        assert_ne!(port_of(&base(words)), proxy.port(), "{words:?}");
    }
    let other = Fake::answering(|_| Answer::new(200, "{\"status\":\"ok\"}"));
    let port = port_of(&other.url()).to_string();
    let reported =
        home.env("RESERVOIR_PORT", &port).run("rsv-proxy", &["sh", "-c", "echo $OLLAMA_HOST"], "").ok();
    assert_ne!(port_of(&reported).to_string(), port, "that is another server");
}

#[test]
fn a_command_without_a_key_gets_a_placeholder() {
    let provider = provider();
    let key =
        |home: &Home| home.run("rsv-proxy", &["--port", "0", "sh", "-c", "echo $OPENAI_API_KEY"], "").ok();
    let home = home().env("RSV_OPENAI_BASE_URL", &provider.url());
    assert_eq!(key(&home), "rsv\n");
    assert_eq!(key(&home.env("OPENAI_API_KEY", "mine")), "mine\n");
    assert_eq!(key(&home.env("RSV_PROXY_TOKEN", "token").env("OPENAI_API_KEY", "mine")), "token\n");
    home.write("secret.toml", "openai_api_key = \"of the settings\"");
    let home = home.env("RSV_CONFIG", "secret.toml");
    let proxy = Proxy::start(&home);
    let body = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(proxy.post("/v1/chat/completions", "Authorization: Bearer rsv\r\n", body).0, 200);
    assert_eq!(provider.one().header("authorization"), Some("Bearer of the settings"));
}

#[test]
fn a_client_behind_a_proxy_of_its_network_asks_without_it() {
    let reported = |home: &Home| {
        home.run("rsv-proxy", &["--port", "0", "sh", "-c", "echo \"$no_proxy $NO_PROXY\""], "").ok()
    };
    let home = home().env("HTTP_PROXY", &crate::fake::dead()).env("http_proxy", &crate::fake::dead());
    assert_eq!(reported(&home), "127.0.0.1,localhost 127.0.0.1,localhost\n");
    let of_network = home.env("NO_PROXY", ".example, localhost");
    assert_eq!(reported(&of_network), ".example,localhost,127.0.0.1 .example,localhost,127.0.0.1\n");
    assert_eq!(reported(&of_network.env("no_proxy", "*")), "* *\n");
    if crate::docs::is_installed("curl") {
        let words = ["--port", "0", "sh", "-c", "curl -s ${OPENAI_BASE_URL%/v1}/health"];
        assert!(home.run("rsv-proxy", &words, "").ok().contains("\"upstreams\""));
    }
}

#[test]
fn standard_error_is_that_of_the_command() {
    let home = home();
    home.write(".config/rsv/config.toml", "modle = 'x'\n");
    let line = |flags: &str| format!("rsv-proxy {flags} --port 0 sh -c 'echo its own >&2'");
    let Some(terminal) = Terminal::run(&home, 200, &line("")) else { return };
    assert_eq!(terminal.end(), ("its own\n".to_owned(), 0));
    let (seen, status) = Terminal::run(&home, 200, &line("-v")).unwrap().end();
    assert!(status == 0 && seen.contains("rsv-proxy: ") && seen.contains("unknown key: modle"), "{seen}");
    let failed = Terminal::run(&home, 200, "rsv-proxy --port 0 no-such-command").unwrap().end().0;
    assert!(failed.contains("rsv-proxy: error: no-such-command"), "{failed}");
}

#[test]
fn a_command_that_cannot_be_run_is_named() {
    let home = home();
    let said = home.run("rsv-proxy", &["--port", "0", "no-such-command"], "").trouble();
    assert_eq!(
        said,
        "rsv-proxy: error: no-such-command: command not found\n\
         rsv-proxy: hint: without a command, rsv-proxy serves until it is stopped\n"
    );
    home.write("plain", "no program");
    assert!(
        home.run("rsv-proxy", &["--port", "0", "./plain"], "")
            .trouble()
            .contains("cannot run ./plain: permission denied")
    );
    assert_eq!(home.run("rsv-proxy", &["--port", "0", "sh", "-c", "kill -KILL $$"], "").status, 137);
}

#[test]
fn ctrl_c_reaches_the_command_and_what_it_leaves_ends() {
    let home = home();
    let line =
        "rsv-proxy -q --port 0 sh -c 'echo \"at $OLLAMA_HOST now\"; exec sleep 600'; echo \"ended $?\"";
    let Some(mut terminal) = Terminal::run(&home, 200, &format!("trap : INT; {line}")) else { return };
    let port = port_of(&terminal.see(" now"));
    terminal.press("\u{3}");
    terminal.see("ended 130");
    terminal.end();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it still listens");
    // A command that minds Ctrl-C itself continues, and is served.
    let line =
        "rsv-proxy -q --port 0 sh -c 'trap \"echo minded\" INT; echo ready; read x; read y; echo \"$y\"'";
    let mut terminal = Terminal::run(&home, 200, &format!("trap : INT; {line}; echo \"ended $?\"")).unwrap();
    terminal.see("ready");
    terminal.press("\u{3}one\ntwo\nthree\n");
    terminal.see("minded");
    terminal.see("ended 0");
}

#[test]
fn what_ends_the_proxy_is_passed_on_to_the_command() {
    for signal in ["TERM", "HUP"] {
        is_passed_on(signal);
    }
}

fn is_passed_on(signal: &str) {
    let home = home();
    let mut command = home.command("rsv-proxy");
    let script = format!("trap 'echo got it; exit 5' {signal}; echo ready; while :; do read x; done");
    command.args(["-q", "--port", "0", "sh", "-c", &script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    out.read_exact(&mut ready).unwrap();
    Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
    let mut rest = String::new();
    // The shell acts on the signal when its read returns.
    let _ = child.stdin.take();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("got it\n", Some(5)));
}

/// A program of the name of an agent that prints its arguments and what it was told.
fn agent(home: &Home, name: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" \"$ANTHROPIC_BASE_URL\" \"$OPENAI_BASE_URL\" \"$ANTHROPIC_CUSTOM_HEADERS\" \"$OPENCODE_CONFIG_CONTENT\"\n";
    let program = home.write(&format!("bin/{name}"), script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

#[test]
fn agents_get_all_that_they_need_and_the_partition_of_their_project() {
    let home = home();
    std::fs::create_dir_all(home.path("garden/.git")).unwrap();
    let told = |home: &Home, words: &[&str]| -> Vec<String> {
        let mut command = home.command("rsv-proxy");
        command.args(["--port", "0"]).args(words).current_dir(home.path("garden"));
        home.ran(command.output().unwrap()).ok().lines().map(str::to_owned).collect()
    };
    let (claude, codex, opencode) = (agent(&home, "claude"), agent(&home, "codex"), agent(&home, "opencode"));
    let lines = told(&home, &[&claude, "-p", "hello"]);
    let base = format!("http://127.0.0.1:{}/partition/garden", port_of(&lines[2]));
    assert_eq!(lines, ["-p", "hello", &base, &format!("{base}/v1"), "", ""]);
    let lines = told(&home, &["-p", "other", &codex, "exec"]);
    let base = format!("http://127.0.0.1:{}/partition/other", port_of(&lines[5]));
    let provider = format!(
        "model_providers.rsv={{name=\"rsv\",base_url=\"{base}/v1\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}}"
    );
    assert_eq!(lines[..5], ["-c", "model_provider=\"rsv\"", "-c", &provider, "exec"]);
    let secured = home.env("RSV_PROXY_TOKEN", "token");
    let lines = told(&secured, &["--scope", "default", &claude]);
    assert_eq!((lines[0].contains("/partition/"), lines[2].as_str()), (false, "x-rsv-token: token"));
    let lines = told(&secured, &[&opencode]);
    let content: serde_json::Value = serde_json::from_str(&lines[3]).unwrap();
    for name in ["anthropic", "openai"] {
        let options = &content["provider"][name]["options"];
        assert_eq!(options["baseURL"], format!("{}/v1", lines[0]));
        assert_eq!(options["headers"]["x-rsv-token"], "token");
    }
}
