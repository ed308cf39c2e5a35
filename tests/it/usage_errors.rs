//! Errors of new users: each message has a hint that says what to do next.

use crate::support::{Home, lines_of};

/// A command line, its standard input, a part of the error, and a part of the hint.
type UsageError = (&'static str, &'static [&'static str], &'static str, &'static str, &'static str);

const ASK: &str = "{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n";

#[rustfmt::skip]
const USAGE_ERRORS: [UsageError; 102] = [
    // Flags and operands.
    ("rsv-search", &["--limits", "3", "owl"], "", "unexpected argument '--limits'", "did you mean '--limit'?"),
    ("rsv-search", &["--limit", "three", "owl"], "", "expected a whole number", "see 'rsv-search --help'"),
    ("rsv-search", &["--limit", "-1", "owl"], "", "unexpected argument '-1'", "negative numbers are not allowed"),
    ("rsv-search", &["--hybrid", "--semantic", "owl"], "", "'--hybrid' cannot be used with '--semantic'", "--help"),
    ("rsv-search", &["--format", "csv", "owl"], "", "[possible values: jsonl, json, text, reservoir, block]", "--help"),
    ("rsv-search", &["--since", "soon", "owl"], "", "expected a time such as yesterday, 2d, 2026-11-21", "--help"),
    ("rsv-search", &["--role", "bot", "owl"], "", "expected user, assistant, system or tool", "--help"),
    ("rsv-search", &[], "", "there is nothing to search for", "give a word"),
    ("rsv-view", &["-5"], "", "unexpected argument '-5'", "negative numbers are not allowed"),
    ("rsv-view", &["--partiton", "x"], "", "unexpected argument '--partiton'", "did you mean '--partition'?"),
    // A flag of another tool.
    ("rsv-view", &["--limt", "3"], "", "unexpected argument '--limt'", "did you mean '--limit'?"),
    ("rsv-forward", &["--model", "gpt-4o"], "", "unexpected argument '--model'", "see 'rsv-forward --help'"),
    ("rsv-ingest", &["two", "words"], "", "unexpected argument 'words'", "put quotes around an argument with spaces"),
    ("rsv-ingest", &[], "\n", "there is no text", "as an argument or on standard input"),
    ("rsv-embed", &["--field"], "", "a value is required for '--field <NAME>'", "--help"),
    ("rsv-proxy", &["start"], "", "start: command not found", "without a command"),
    ("rsv-proxy", &["--token", "x"], "", "unexpected argument '--token'", "other users can see a command line"),
    ("rsv-ask", &["--api-key", "x"], "", "unexpected argument '--api-key'", "other users can see a command line"),
    ("rsv-search", &["--keyword", "owl"], "", "unexpected argument '--keyword'", "did you mean '--by keyword'?"),
    ("rsv-view", &["--json"], "", "unexpected argument '--json'", "did you mean '--format json'?"),
    ("rsv-mcp", &["--tokens", "500"], "", "unexpected argument '--tokens'", "did you mean '--max-tokens'?"),
    ("rsv-ask", &[], "\n", "there is no question", "as in rsv-ask"),
    ("rsv-proxy", &["--listen", "localhost:3017"], "", "cannot find localhost:3017", "and the port with --port"),
    ("rsv-search", &["-tomato"], "", "unexpected argument '-t'", "put '--' before an argument"),
    ("rsv-search", &["owl", "--partition"], "", "a value is required for '--partition <NAME>'", "--help"),
    ("rsv-search", &["-p", "", "owl"], "", "partition: is empty", "give it a name, or leave it out"),
    ("rsv-view", &["last"], "", "invalid value 'last'", "--help"),
    ("rsv-view", &["--format", "csv"], "", "[possible values: jsonl, json, text, reservoir, block]", "--help"),
    ("rsv-view", &["--format", "block", "--sessions"], "", "--format: a block is of the last records of a scope", "--format text"),
    ("rsv-mcp", &["--max-tokens", "5"], "", "5 is not in 100..=1000000", "--help"),
    ("rsv-export", &["out.jsonl"], "", "unexpected argument 'out.jsonl'", "to write one: rsv-export > FILE"),
    ("rsv-export", &["--since", "2026-13-01"], "", "a time such as yesterday, 2d, 2026-11-21", "--help"),
    ("rsv-export", &["--safe"], "", "--safe is for --format csv", "or use --format csv"),
    ("rsv-import", &["missing.jsonl"], "", "cannot open missing.jsonl: no such file", "check the directory, and the name"),
    ("rsv-import", &["brokn.toml"], "", "cannot open brokn.toml: no such file", "did you mean 'broken.toml'?"),
    ("rsv-import", &["nowhere/x.json"], "", "cannot open nowhere/x.json", "there is no directory 'nowhere'"),
    ("rsv-export", &["--format", "sqlite"], "", "--format sqlite needs a file", "--to FILE"),
    ("rsv-export", &["--to", "x"], "", "--to is for --format sqlite and md", "rsv-export > FILE"),
    ("rsv-export", &["--format", "sqlite", "--to", "x", "-p", "y"], "", "copies the whole store", "rsv-import --store"),
    ("rsv-import", &["--from", "owl"], "", "--from: unknown format \"owl\"", "one of: rsv, claude-code, "),
    ("rsv-import", &["--map", "role"], "", "expected MEMBER=SOURCE", "--help"),
    ("rsv-forward", &["directory"], "", "cannot read directory: is a directory", "name the files in it"),
    ("rsv-forward", &["Where are my tomatoes?"], "", "cannot open Where are my tomatoes?", "pipe text in"),
    ("rsv-forget", &["--everything", "m1"], "", "'--everything' cannot be used with '[ID]...'", "--help"),
    ("rsv-forget", &["--all", "-p", "x"], "", "'--all' cannot be used with '--partition <NAME>'", "--help"),
    ("rsv-forget", &[], "{\"kind\":\"query\",\"id\":\"q\"}\n", "<stdin>:1: kind: a query cannot be forgotten", "the lines of rsv-search"),
    ("rsv-link", &["--threshold", "2"], "", "expected a cosine above 0, at most 1, found 2", ""),
    ("rsv-link", &["--format", "png"], "", "[possible values: svg, html, dot, json]", "--help"),
    ("rsv-link", &["--format", "svg", "--nodes", "0"], "", "expected a number from 1 to 3000, or all", "--help"),
    ("rsv-link", &["--format", "svg", "--nodes", "all"], "", "--nodes all needs --format json", "--nodes 3000"),
    ("rsv-embed", &["--pending", "now"], "", "'--pending' cannot be used with '[FILE]...'", "--help"),
    ("rsv-parse", &[], "text", "standard input has no name for an address", "--to viking://resources/notes"),
    ("rsv-parse", &["--to", "notes", "directory"], "", "--to: expected an address such as viking://", ""),
    ("rsv-parse", &["--to", "viking://user/a/memories", "-p", "a"], "", "is no address of documents", "below viking://resources"),
    ("rsv-parse", &["--to", "viking://resources/users/b", "-p", "a"], "", "belongs to the partition b", "give -p b"),
    ("rsv-parse", &["--to", "viking://resources/x", "missing.md"], "", "cannot read missing.md: no such file", "check the directory, and the name"),
    ("rsv-parse", &["directory/X1"], "", "cannot read directory/X1: no such file", "did you mean 'directory/x'?"),
    // Settings.
    ("rsv-config", &["set", "retries=3"], "", "not provided: <VALUE>", "rsv-config set <KEY> <VALUE>"),
    ("rsv-config", &["get"], "", "not provided: <KEY>", "rsv-config get <KEY>"),
    ("rsv-config", &["model", "gpt-4o"], "", "unrecognized subcommand 'model'", "--help"),
    ("rsv-config", &["set", "retries", "many"], "", "expected a whole number from 0 to 10, found \"many\"", ""),
    ("rsv-config", &["set", "request_timeout", "soon"], "", "a duration such as 500ms, 30s, 2m", ""),
    ("rsv-config", &["partition"], "", "requires a subcommand but one was not provided [subcommands: rename]", "--help"),
    ("rsv-config", &["ge", "model"], "", "unrecognized subcommand 'ge'", "did you mean 'get'?"),
    ("rsv-config", &["--get", "model"], "", "unexpected argument '--get'", "without dashes: rsv-config get"),
    ("rsv-config", &["get", "modle"], "", "unknown key: modle", "did you mean 'model'?"),
    ("rsv-config", &["get", "models.gpt-3.5-turbo.reserve_tokens"], "", "unknown key", "models.\"gpt-3.5-turbo\".reserve_tokens"),
    ("rsv-config", &["set", "openai_api_key", "sk-x"], "", "other users can see a command line", "rsv-config set openai_api_key -"),
    ("rsv-config", &["set", "model", ""], "", "model: is empty", "rsv-config unset 'model'"),
    ("rsv-config", &["--config", "/proc/x/y.toml", "set", "model", "m"], "", "cannot create /proc/x", "--config"),
    ("rsv-config", &["--config", "broken.toml", "list"], "", "broken.toml:1: invalid TOML", "rsv-config edit"),
    ("rsv-view", &["--config", "nowhere.toml"], "", "cannot open nowhere.toml", "set KEY VALUE"),
    // Stores.
    ("rsv-search", &["--store", "directory", "owl"], "", "sqlite:directory: is a directory", "--store DIRECTORY/store.db"),
    ("rsv-search", &["--store", "broken.toml", "owl"], "", "is not an rsv store", "another store with --store"),
    ("rsv-ingest", &["--store", "/proc/x/y.db", "hi"], "", "cannot create /proc/x", "another store with --store"),
    ("rsv-ingest", &["--store", ":memory:", "hi"], "", "--store: expected the path of a file, sqlite:PATH, or the address of a server, found \":memory:\"", "no store is in memory"),
    ("rsv-view", &["--store", "sqlite::memory:?cache=shared"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-search", &["--store", "sqlite:///:memory:", "owl"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-export", &["--store", "file::memory:"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-ingest", &["--store", "file:x?mode=memory&cache=shared", "hi"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-ingest", &["--store", "sqlite:", "hi"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-ingest", &["--store", "", "hi"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-proxy", &["--store", ":memory:", "--port", "0"], "", "expected the path of a file", "mktemp -d"),
    ("rsv-config", &["set", "store", ":memory:"], "", "store: expected the path of a file", "mktemp -d"),
    ("rsv-ingest", &["--store", "postgres://x", "hi"], "", "postgres://x: not an address", "sqlite:PATH or bolt://HOST"),
    ("rsv-ingest", &["--store", "bolt://127.0.0.1:1", "hi"], "", "connection refused", "is Neo4j running there?"),
    // Models.
    ("rsv-search", &["--semantic", "owl"], "", "no embedding model is installed", "rsv-embed --fetch"),
    ("rsv-embed", &["--fetch", "bge-m4"], "", "unknown embedding model: bge-m4", "rsv-embed --models"),
    ("rsv-embed", &["--replay", "nonsense"], "", "nonsense is not installed", "rsv-embed --models"),
    ("rsv-embed", &["--replay", "bge-m3"], "", "bge-m3 is not installed", "rsv-embed --fetch bge-m3"),
    ("rsv-forward", &[], "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n", "model: is missing", "rsv-config set model MODEL"),
    ("rsv-forward", &[], "{\"model\":\"custom/m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n", "custom provider has no address", "RSV_CUSTOM_BASE_URL"),
    ("rsv-forward", &[], ASK, "no key for OpenAI: OPENAI_API_KEY is not set", "set OPENAI_API_KEY"),
    // Lines.
    ("rsv-enrich", &[], "hello\n", "<stdin>:1: expected a JSON object, found 'h'", "man 5 rsv-record"),
    ("rsv-import", &[], "\u{1}\u{2}\n", "<stdin>: has no known format", "name its format with --from"),
    ("rsv-enrich", &[], "{\"messages\":[]}\n", "<stdin>:1: messages: is empty", "a request has {"),
    ("rsv-forward", &[], "{\"model\":\"gpt-4o\"}\n", "kind: is missing", "a request messages"),
    ("rsv-enrich", &[], "{\"prompt\":\"hi\"}\n", "<stdin>:1: messages: is missing", "a request has {"),
    ("rsv-ingest", &["--trace", "t"], "{\"role\":\"User\",\"content\":\"x\"}\n", "expected user, assistant, system or tool, found", ""),
    // The network.
    ("rsv-proxy", &["--listen", "0.0.0.0"], "", "other machines could use the proxy", "RSV_PROXY_TOKEN"),
    ("rsv-proxy", &["--listen", "nobody.invalid"], "", "cannot find nobody.invalid", "such as 127.0.0.1"),
    ("rsv-proxy", &["--port", "99999"], "", "99999 is not in 0..=65535", "--help"),
];

/// Command lines with a flag that the rest of the line makes useless, and a part of the error.
#[rustfmt::skip]
const USELESS_FLAGS: [(&str, &str); 63] = [
    // Flags that need another one, whatever else is given.
    ("rsv-view 5 --turn", "not provided: --id <ID>"),
    ("rsv-view --role user --conversation", "not provided: --id <ID>"),
    ("rsv-view --scopes --turn", "not provided: --id <ID>"),
    ("rsv-view --sessions -C 1", "not provided: --id <ID>"),
    ("rsv-view --accounts --turn", "not provided: --id <ID>"),
    ("rsv-view --state all", "not provided: --kind <KIND,...>"),
    ("rsv-ingest --trace t --outcome success", "not provided: --title <TITLE>"),
    ("rsv-ingest --replace txt", "not provided: --mirror"),
    ("rsv-link --stats --around x", "not provided: --format <FORMAT>"),
    ("rsv-link --contradictions --around x", "not provided: --format <FORMAT>"),
    ("rsv-link --clusters --around x", "not provided: --format <FORMAT>"),
    ("rsv-link --path a b --around x", "not provided: --format <FORMAT>"),
    ("rsv-link --near --around x", "not provided: --format <FORMAT>"),
    ("rsv-link --rebuild --max 2", "not provided: --clusters"),
    ("rsv-link --dry-run --totals", "not provided: --clusters"),
    ("rsv-link --stats --window 1h", "not provided: --clusters"),
    ("rsv-link --format json --force", "not provided: --clusters"),
    ("rsv-embed --text --keep", "not provided: --replay"),
    ("rsv-embed --models --from d", "not provided: --fetch"),
    ("rsv-embed --query --into d", "not provided: --fetch"),
    ("rsv-search --secrets --fallback any", "not provided: <"),
    ("rsv-search --by any --flat owl", "--flat is for a search in the tree of contexts"),
    // Flags of another format or mode.
    ("rsv-export --format csv --kind memory", "--kind is for --format jsonl"),
    ("rsv-export --format openai --kind memory", "--kind is for --format jsonl"),
    ("rsv-export --format json --vectors", "--vectors is for --format jsonl"),
    ("rsv-export --format md --vectors base64", "--vectors is for --format jsonl"),
    ("rsv-export --time iso", "--time is for --format json"),
    ("rsv-export --format csv --time iso", "--time is for --format json"),
    ("rsv-export --format csv --without x", "--without is for --format jsonl"),
    ("rsv-export --format sqlite --to x --recover", "--recover is for --format jsonl, json, csv, md, openai"),
    ("rsv-view viking://resources --until 2000-01-01", "'--until <TIME>' cannot be used with an address"),
    ("rsv-view viking://resources --role user", "'--role <ROLE>' cannot be used with an address"),
    ("rsv-view viking://resources --trace t", "'--trace <ID>' cannot be used with an address"),
    ("rsv-view viking://resources --kind memory", "'--kind <KIND,...>' cannot be used with an address"),
    ("rsv-view viking://resources --accounts", "'--accounts' cannot be used with an address"),
    ("rsv-view viking://resources --of m", "'--of <ID>' cannot be used with an address"),
    ("rsv-view viking://resources --offset 1", "'--offset <COUNT>' cannot be used with an address"),
    ("rsv-view viking://resources --follow", "'--follow' cannot be used with an address"),
    ("rsv-view viking://resources --all", "'--all' cannot be used with an address"),
    ("rsv-view viking://resources --turn", "not provided: --id <ID>"),
    ("rsv-view --kind message --state all", "--state: only memories have one"),
    ("rsv-view --kind memory --stale --follow", "cannot be used with"),
    ("rsv-view --kind memory --id x", "cannot be used with"),
    ("rsv-view --offset 1 --id x", "cannot be used with"),
    ("rsv-view --follow --offset 1", "cannot be used with"),
    ("rsv-view --scopes --offset 1", "cannot be used with"),
    ("rsv-view --sessions --role user", "cannot be used with"),
    ("rsv-view --sessions --trace t", "cannot be used with"),
    ("rsv-view --uncommitted --role user", "cannot be used with"),
    ("rsv-view --uncommitted --since 1d", "cannot be used with"),
    ("rsv-import --find --watch", "cannot be used with"),
    ("rsv-import --find --report f", "'--report <FILE>' cannot be used with --find without --import"),
    ("rsv-import --find --dry-run", "'--dry-run' cannot be used with --find without --import"),
    ("rsv-import --history --report f", "'--report <FILE>' cannot be used with --history"),
    ("rsv-import --history --watch", "'--watch' cannot be used with --history"),
    ("rsv-import --history file", "'[FILE]...' cannot be used with --history"),
    // Values and texts without anything in them.
    ("rsv-search --by any", "there is nothing to search for"),
    ("rsv-search --by keyword", "there is nothing to search for"),
    ("rsv-search --target viking://resources", "there is nothing to search for"),
    ("rsv-search --by any --flat", "there is nothing to search for"),
    ("rsv-view --id=", "a value is required for '--id <ID>'"),
    ("rsv-forget --trace=", "a value is required for '--trace <ID>'"),
    ("rsv-forget {\"kind\":\"error\",\"id\":\"e\"}", "kind: an error cannot be forgotten"),
];

#[test]
fn a_flag_that_would_do_nothing_is_refused() {
    let home = Home::new();
    for (line, error) in USELESS_FLAGS {
        let (tool, words) = line.split_once(' ').unwrap();
        // A line of JSON is the input.
        let (words, stdin): (Vec<&str>, _) =
            if words.starts_with('{') { (Vec::new(), words) } else { (words.split(' ').collect(), "") };
        let said = home.run(tool, &words, stdin).trouble();
        assert!(said.contains(error), "{line}: {said}");
    }
    // A value is named once.
    let said = home.run("rsv-view", &["--since", "nope"], "").trouble();
    assert_eq!(said.lines().next().unwrap().matches("nope").count(), 1, "{said}");
}

/// Keeps: Every usage error has a hint.
#[test]
fn every_usage_error_says_what_to_do_next() {
    let home = Home::new();
    home.write("broken.toml", "= = =\n");
    home.write("directory/x", "");
    for (tool, words, stdin, error, hint) in USAGE_ERRORS {
        let said = home.run(tool, words, stdin).trouble();
        let errors: Vec<&str> = said.lines().filter(|line| line.contains(": error: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains(error), "{tool} {words:?}: {said}");
        let hints: String = said.lines().filter(|line| line.contains(": hint: ")).collect();
        assert!(hints.contains(hint), "{tool} {words:?}: {said}");
    }
}

#[test]
fn a_misspelt_store_is_reported() {
    let home = Home::new();
    home.ingest(&[], "{\"role\":\"user\",\"content\":\"owl\"}\n");
    for (tool, words, status) in
        [("rsv-search", &["owl"][..], 1), ("rsv-view", &[], 0), ("rsv-export", &[], 0)]
    {
        let ran = home.run(tool, &[words, &["--store", "stroe.db"]].concat(), "");
        let wanted = format!("{tool}: there is no store at sqlite:stroe.db\n");
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr), (status, "", wanted));
    }
    assert!(!home.path("stroe.db").exists());
}

#[test]
fn an_invalid_variable_is_named_with_its_remedy() {
    let home = Home::new().env("RSV_ENRICH_RECALL", "everything");
    let remedy = "correct or unset RSV_ENRICH_RECALL; see 'man 5 rsv-config' for its values";
    let said = home.run("rsv-view", &[], "").trouble();
    assert!(said.contains("found \"everything\"") && said.ends_with(&format!("hint: {remedy}\n")), "{said}");
    // Each finding of the doctor has a remedy, too.
    for line in lines_of(&home.run("rsv-config", &["doctor"], "").stdout) {
        assert!(line["state"] == "ok" || line["remedy"].is_string(), "{line}");
        assert!(line["check"] != "settings" || line["remedy"] == remedy, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_in_use_is_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = Home::new().run("rsv-proxy", &["--port", &port], "").trouble();
    // The test itself has the port.
    let owner = format!("(process {})", std::process::id());
    assert!(said.contains("address already in use by ") && said.contains(&owner), "{said}");
    assert!(said.contains("choose another port with --port"), "{said}");
    let found = lines_of(&Home::new().run("rsv-proxy", &["--check", "--port", &port], "").stdout);
    let address = found.iter().find(|line| line["check"] == "address").unwrap();
    assert!(address["found"].as_str().unwrap().contains(&owner), "{address}");
}
