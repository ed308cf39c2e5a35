//! rsv-config.

use crate::fake::dead;
use crate::support::{Home, Ran, tools};
use crate::terminal::Terminal;
use std::os::unix::fs::{PermissionsExt, symlink};

const FILE: &str = ".config/rsv/config.toml";

fn config(home: &Home, words: &[&str]) -> Ran {
    home.run("rsv-config", words, "")
}

fn get(home: &Home, key: &str) -> String {
    config(home, &["get", key]).ok()
}

#[test]
fn each_layer_overrules_the_one_before() {
    let home = Home::new();
    assert_eq!(get(&home, "neo4j_user"), "neo4j\n");
    home.write(FILE, "neo4j_user = 'file'\nstore = '/file.db'\n");
    assert_eq!(get(&home, "neo4j_user"), "file\n");
    let home = home.env("NEO4J_USER", "alias").env("RSV_STORE", "/env.db");
    assert_eq!(get(&home, "neo4j_user"), "alias\n");
    assert_eq!(get(&home.env("NEO4J_USERNAME", "name"), "neo4j_user"), "name\n");
    assert_eq!(get(&home.env("NEO4J_USERNAME", ""), "neo4j_user"), "alias\n");
    assert_eq!(get(&home, "store"), "/env.db\n");
    assert_eq!(config(&home, &["get", "store", "--store", "/flag.db"]).ok(), "/flag.db\n");
    let layers = config(&home, &["--store", "/flag.db", "list"]).ok();
    let layers: Vec<&str> = layers.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(layers[..5], ["flag", "default", "default", "default", "NEO4J_USER"]);
}

#[test]
fn getting_an_unset_key_exits_with_1() {
    assert_eq!(config(&Home::new(), &["get", "model"]).to_string(), "[1]");
    assert_eq!(config(&Home::new(), &["get", "models.x.reserve_tokens"]).to_string(), "[1]");
}

#[test]
fn the_list_has_every_key() {
    let home = Home::new().env("XDG_DATA_HOME", "/data").env("RESERVOIR_PORT", "4000");
    home.write(
        FILE,
        "colour = 'red'\nmodel = 'gpt-4o'\nopenai_api_key = 'sk-abc'\nmistral_api_key = ''\n\
         [models.'gpt-3.5-turbo']\nreserve_tokens = 1024\nreserve = 3\n[x.y]\nz = 1\n",
    );
    let list = config(&home, &["list"]);
    insta::assert_snapshot!("list", list);
    let quiet = config(&home, &["list", "-q"]);
    assert_eq!((quiet.stderr.as_str(), quiet.status), ("", 0));
}

#[test]
fn the_settings_file_is_found() {
    let home = Home::new();
    let path = |home: &Home, words: &[&str]| config(home, words).to_string();
    assert_eq!(path(&home, &["path"]), "~/.config/rsv/config.toml\n[0]");
    let home = home.env("XDG_CONFIG_HOME", "relative");
    assert_eq!(path(&home, &["path"]), "~/.config/rsv/config.toml\n[0]");
    let home = home.env("XDG_CONFIG_HOME", "/etc/xdg");
    assert_eq!(path(&home, &["path"]), "/etc/xdg/rsv/config.toml\n[0]");
    let home = home.env("RSV_CONFIG", "a.toml");
    assert_eq!(path(&home, &["path"]), "a.toml\n[0]");
    assert_eq!(path(&home, &["path", "--config", "b.toml"]), "b.toml\n[0]");
    let missing = "rsv-config: error: cannot open a.toml: no such file or directory\n\
                   rsv-config: hint: create it with: rsv-config --config FILE set KEY VALUE\n[2]";
    assert_eq!(config(&home, &["list"]).to_string(), missing);
    assert_eq!(config(&home, &["set", "model", "m"]).ok(), "");
    assert_eq!(home.read("a.toml"), "model = \"m\"\n");
    assert_eq!(get(&home, "model"), "m\n");
}

#[test]
fn without_a_home_there_are_still_defaults() {
    let home = Home::new().env("HOME", "");
    assert_eq!(get(&home, "reservoir_port"), "3017\n");
    assert_eq!(config(&home, &["get", "store"]).to_string(), "[1]");
    let nowhere = "rsv-config: error: cannot locate the settings file: HOME is not set\n\
                   rsv-config: hint: set HOME, XDG_CONFIG_HOME or RSV_CONFIG, or give --config FILE\n[2]";
    assert_eq!(config(&home, &["set", "model", "m"]).to_string(), nowhere);
}

#[test]
fn a_change_leaves_all_else_as_it_was() {
    let home = Home::new();
    home.write(
        FILE,
        "# mine\nreservoir_port = 1 # one\n\n# the rest\n[partitions.work]\ntoken_multiplier = 2\n",
    );
    config(&home, &["set", "reservoir_port", "4000"]).ok();
    config(&home, &["set", "request_timeout", "2m"]).ok();
    config(&home, &["set", "web_search_enabled", "off"]).ok();
    config(&home, &["set", "partitions.work.token_multiplier", "1.5"]).ok();
    config(&home, &["set", "models.\"gpt-3.5-turbo\".reserve_tokens", "1024"]).ok();
    assert_eq!(
        home.read(FILE),
        "# mine\nreservoir_port = 4000 # one\nrequest_timeout = \"120s\"\nweb_search_enabled = false\n\n\
         # the rest\n[partitions.work]\ntoken_multiplier = 1.5\n\n[models.\"gpt-3.5-turbo\"]\n\
         reserve_tokens = 1024\n"
    );
    assert_eq!(get(&home, "models.\"gpt-3.5-turbo\".reserve_tokens"), "1024\n");
    config(&home, &["unset", "reservoir_port"]).ok();
    config(&home, &["unset", "reservoir_port"]).ok();
    assert!(home.read(FILE).starts_with("# mine\nrequest_timeout"));
}

#[test]
fn the_settings_file_is_private() {
    let home = Home::new();
    let mode = |name: &str| home.path(name).metadata().unwrap().permissions().mode() & 0o777;
    config(&home, &["set", "model", "m"]).ok();
    assert_eq!((mode(".config/rsv"), mode(FILE)), (0o700, 0o600));
    std::fs::set_permissions(home.path(FILE), PermissionsExt::from_mode(0o640)).unwrap();
    config(&home, &["set", "model", "n"]).ok();
    assert_eq!(mode(FILE), 0o640);
    let names: Vec<_> =
        home.path(".config/rsv").read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["config.toml"]);
}

#[test]
fn a_symbolic_link_stays_one() {
    let home = Home::new();
    home.write("dotfiles/rsv.toml", "# mine\n");
    std::fs::create_dir_all(home.path(".config/rsv")).unwrap();
    symlink("../../dotfiles/rsv.toml", home.path(FILE)).unwrap();
    config(&home, &["set", "model", "m"]).ok();
    assert!(home.path(FILE).is_symlink());
    assert_eq!(home.read("dotfiles/rsv.toml"), "# mine\nmodel = \"m\"\n");
}

#[test]
fn concurrent_changes_do_not_undo_each_other() {
    let home = Home::new();
    let keys = ["model", "log", "neo4j_user", "neo4j_database", "reservoir_host", "enrich.note"];
    let started: Vec<_> =
        keys.iter().map(|key| home.command("rsv-config").args(["set", key, "x"]).spawn().unwrap()).collect();
    assert!(started.into_iter().all(|mut child| child.wait().unwrap().success()));
    for key in &keys {
        assert_eq!(get(&home, key), "x\n");
    }
}

/// Keeps: A key is never shown, logged or stored.
#[test]
fn a_secret_is_neither_taken_from_nor_shown_at_the_command_line() {
    let home = Home::new();
    let refused = "rsv-config: error: openai_api_key: is a secret, and other users can see a command line\n\
                   rsv-config: hint: 'rsv-config set openai_api_key -' reads it from standard input\n[2]";
    assert_eq!(config(&home, &["set", "openai_api_key", "sk-abc"]).to_string(), refused);
    home.run("rsv-config", &["set", "openai_api_key", "-"], "sk-abc\n").ok();
    assert_eq!(home.read(FILE), "openai_api_key = \"sk-abc\"\n");
    assert_eq!(get(&home, "openai_api_key"), "****\n");
    assert!(!config(&home, &["list"]).to_string().contains("sk-abc"));
    for broken in
        ["openai_api_key = ['sk-abc']", "openai_api_key = 'sk-abc", "openai_api_key = \"sk-abc\\n\""]
    {
        home.write(FILE, broken);
        let ran = config(&home, &["list"]);
        assert!(ran.status == 2 && !ran.to_string().contains("sk-abc"), "{ran}");
    }
}

#[test]
fn a_wrong_value_is_named_with_its_place() {
    for (text, fault) in [
        (
            "\n\nreservoir_port = \"abc\"",
            ":3: reservoir_port: expected a whole number from 1 to 65535, found \"abc\"",
        ),
        ("[reservoir_port]", ":1: reservoir_port: expected a whole number from 1 to 65535, found a table"),
        (
            "[models.x]\nreserve_tokens = -1",
            ":2: models.x.reserve_tokens: expected a whole number from 0 to 1000000000, found -1",
        ),
        (
            "[partitions.p]\ntoken_multiplier = 0.0",
            ":2: partitions.p.token_multiplier: expected a number above 0 and at most 100, found 0.0",
        ),
        (
            "connect_timeout = 'soon'",
            ":1: connect_timeout: expected a duration such as 500ms, 30s, 2m, 12h or 30d, found \"soon\"",
        ),
        ("model = 'a'\nmodel = 'b'", ":2: invalid TOML: duplicate key"),
        ("# a\nmodel = ", ":2: invalid TOML: string values must be quoted, expected literal string"),
        ("[routes.'q*']\nkey_variable = 'Q'", ": routes.\"q*\": has no base_url"),
    ] {
        let home = Home::new();
        home.write(FILE, text);
        let stderr = config(&home, &["list"]).to_string();
        let first = stderr.lines().next().unwrap();
        assert_eq!(first, format!("rsv-config: error: ~/{FILE}{fault}"));
    }
    let home = Home::new().env("RESERVOIR_PORT", "abc");
    let fault = "rsv-config: error: RESERVOIR_PORT: expected a whole number from 1 to 65535, found \"abc\"\n\
         rsv-config: hint: correct or unset RESERVOIR_PORT; see 'man 5 rsv-config' for its values\n[2]";
    assert_eq!(config(&home, &["list"]).to_string(), fault);
}

#[test]
fn a_wrong_value_can_be_set_right() {
    let home = Home::new();
    home.write(FILE, "reservoir_port = 0\nconnect_timeout = 0\n");
    config(&home, &["set", "reservoir_port", "1"]).ok();
    config(&home, &["unset", "connect_timeout"]).ok();
    assert_eq!(home.read(FILE), "reservoir_port = 1\n");
    let wrong = config(&home, &["set", "reservoir_port", "70000"]).to_string();
    let fault =
        "rsv-config: error: reservoir_port: expected a whole number from 1 to 65535, found \"70000\"\n[2]";
    assert_eq!(wrong, fault);
    assert_eq!(home.read(FILE), "reservoir_port = 1\n");
}

#[test]
fn an_unknown_key_gets_a_suggestion() {
    for words in [&["get", "reservoir_prt"][..], &["set", "reservoir_prt", "1"], &["unset", "reservoir_prt"]]
    {
        let fault = "rsv-config: error: unknown key: reservoir_prt\n\
                     rsv-config: hint: did you mean 'reservoir_port'? see 'rsv-config list'\n[2]";
        assert_eq!(config(&Home::new(), words).to_string(), fault);
    }
}

#[test]
fn every_tool_names_unknown_keys_once_on_a_terminal() {
    let home = Home::new();
    home.write(FILE, "modle = 'x'\n");
    home.write("request", r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#);
    home.write("message", r#"{"role":"user","content":"hi"}"#);
    let home = home.env("RSV_OLLAMA_BASE_URL", &dead()).env("RSV_RETRIES", "0");
    let lines = [
        "rsv-ask --model m hi",
        "rsv-config status",
        "rsv-config list",
        "rsv-config doctor",
        "rsv-embed --models",
        "rsv-enrich request",
        "rsv-export",
        "rsv-forget --all no such message",
        "rsv-forward request",
        "rsv-import request",
        "rsv-ingest < message",
        "rsv-link",
        "rsv-proxy --check",
        "rsv-proxy -v --port 0 true",
        "rsv-search owl",
        "rsv-signal --stats",
        "rsv-distill request",
        "rsv-mcp < message",
        "rsv-merge request",
        "rsv-parse request --to viking://resources/request",
        "rsv-view",
    ];
    for tool in tools() {
        assert!(lines.iter().any(|line| line.split(' ').next() == Some(&*tool)), "{tool}");
    }
    for line in lines {
        let Some(terminal) = Terminal::run(&home, 400, line) else { return };
        let seen = terminal.end().0;
        assert_eq!(seen.matches("unknown key: modle").count(), 1, "{line}: {seen}");
        assert!(line == "rsv-config list" || seen.contains("did you mean 'model'?"), "{line}: {seen}");
    }
    // A program that reads standard error is not bothered.
    assert_eq!(home.run("rsv-view", &[], "").ok(), home.run("rsv-view", &["-q"], "").ok());
}

#[test]
fn several_unknown_keys_are_one_line_on_a_terminal() {
    let home = Home::new();
    home.write(FILE, "modle = 'm'\n[routs]\n[routes]\n[models.any]\n[ingest]\nredct = true\n");
    let found = home.run("rsv-config", &["doctor"], "").stdout;
    assert_eq!(found.matches("unknown key: ").count(), 3, "{found}");
    assert!(found.contains("config.toml:2: unknown key: routs\""), "{found}");
    for line in ["rsv-view", "rsv-config set retries 3", "rsv-config unset retries"] {
        let Some(terminal) = Terminal::run(&home, 400, line) else { return };
        let (seen, status) = terminal.end();
        let told: Vec<&str> = seen.lines().filter(|line| line.contains("unknown key: ")).collect();
        let end = "config.toml:1: unknown key: modle; did you mean 'model'? see 'rsv-config list'; 2 more: rsv-config doctor";
        assert!(status == 0 && told.len() == 1 && told[0].ends_with(end), "{line}: {seen}");
    }
    assert_eq!(config(&home, &["set", "retries", "4"]).to_string(), "[0]");
}

#[test]
fn an_overruled_value_is_reported() {
    let home = Home::new().env("RESERVOIR_PORT", "4000");
    let reported = "rsv-config: RESERVOIR_PORT in the environment overrules the file\n[0]";
    assert_eq!(config(&home, &["set", "reservoir_port", "5000"]).to_string(), reported);
    assert_eq!(config(&home, &["-q", "set", "reservoir_port", "5001"]).ok(), "");
}

#[test]
fn without_a_subcommand_it_says_what_is_set_and_where() {
    let home = Home::new();
    let nothing = config(&home, &[]);
    assert_eq!((nothing.status, nothing.stdout.as_str()), (0, ""));
    assert!(nothing.stderr.contains("config.toml, which is not written yet"), "{nothing}");
    assert!(nothing.stderr.contains("run: rsv-config init"), "{nothing}");
    config(&home, &["set", "model", "gpt-4o"]).ok();
    let said = config(&home, &[]);
    assert_eq!(said.stdout, config(&home, &["list", "--set"]).ok());
    assert!(said.stdout.starts_with("model  gpt-4o  "), "{said}");
    let file = config(&home, &["path"]).ok();
    let stands = format!("rsv-config: the settings file is {}\n", file.trim_end());
    assert!(said.stderr.contains(&stands) && said.stderr.contains("rsv-config set KEY VALUE"), "{said}");
}

#[test]
fn an_invalid_variable_fails_only_the_tools_that_read_it() {
    let home = Home::new().env("NEO4J_URI", "db.example:7687").env("OLLAMA_BASE_URL", "h:11434");
    assert_eq!(home.run("rsv-view", &[], "").ok(), "");
    let listed = home.run("rsv-config", &["list"], "");
    assert_eq!(listed.status, 0);
    for variable in ["NEO4J_URI", "OLLAMA_BASE_URL"] {
        assert!(listed.stderr.contains(&format!("rsv-config: {variable}: expected ")), "{}", listed.stderr);
    }
    let request = r#"{"model":"llama3","messages":[{"role":"user","content":"x"}]}"#;
    let asked = home.run("rsv-forward", &[], request);
    assert_eq!((asked.status, asked.stdout.as_str()), (2, ""));
    assert!(asked.stderr.starts_with("rsv-forward: error: OLLAMA_BASE_URL: expected "), "{}", asked.stderr);
    let own = home.env("RESERVOIR_PORT", "none").run("rsv-view", &[], "");
    assert!(own.stderr.starts_with("rsv-view: error: RESERVOIR_PORT: expected "), "{}", own.stderr);
}

#[test]
fn the_file_is_checked_after_editing() {
    let home = Home::new().env("EDITOR", "cp own.toml");
    home.write("own.toml", "model = 'm'\n");
    assert_eq!(config(&home, &["edit"]).ok(), "");
    assert_eq!(home.read(FILE), "model = 'm'\n");
    home.write("own.toml", "modle = 'm'\n");
    let unknown = "rsv-config: error: ~/.config/rsv/config.toml:1: unknown key: modle\n\
                   rsv-config: hint: did you mean 'model'? see 'rsv-config list'\n[2]";
    assert_eq!(config(&home, &["edit"]).to_string(), unknown);
    home.write("own.toml", "reservoir_port = 0\n");
    let wrong = config(&home, &["edit"]).trouble();
    assert!(wrong.contains(":1: reservoir_port: expected") && wrong.contains("rsv-config edit"), "{wrong}");
    let failed = config(&home.env("VISUAL", "false"), &["edit"]).trouble();
    assert!(failed.contains("false: exit status: 1") && failed.contains("set VISUAL or EDITOR"), "{failed}");
    let mode = home.path(FILE).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn set_values_are_shown_with_their_origin() {
    let home = Home::new().env("RESERVOIR_PORT", "4000");
    config(&home, &["set", "model", "m"]).ok();
    let set = config(&home, &["list", "--set"]).ok();
    let keys: Vec<&str> = set.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(keys, ["reservoir_port", "model"]);
    let origin = |key: &str| config(&home, &["get", "--show-origin", key]).to_string();
    assert_eq!(origin("model"), "~/.config/rsv/config.toml\tm\n[0]");
    assert_eq!(origin("reservoir_port"), "RESERVOIR_PORT\t4000\n[0]");
    assert_eq!(origin("retries"), "default\t2\n[0]");
    assert_eq!(origin("token_reserve"), "[1]");
}
