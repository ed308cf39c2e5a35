//! The audit of rsv-proxy: which request read and changed what, and no text of it.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, asked, asking, post};
use crate::support::{Home, lines_of, on_each_store, text, wait_for};
use crate::terminal::{Terminal, plain};
use serde_json::{Value, json};

const SAME_ORIGIN: &str = "Sec-Fetch-Site: same-origin\r\n";

/// The same home with an audit, whose model is a provider's.
fn audited(home: &Home, provider: &Fake) -> Home {
    home.env("RSV_PROXY_AUDIT", "true")
        .env("RSV_OLLAMA_BASE_URL", &provider.url())
        .env("RSV_ENRICH_TIMEOUT", "60s")
}

/// The rows that `rsv-config audit` prints.
fn rows(home: &Home, words: &[&str]) -> Vec<Value> {
    lines_of(&home.run("rsv-config", &[&["audit"], words].concat(), "").ok())
}

/// The action, the route, the scope and the status of each row.
fn summaries(rows: &[Value]) -> Vec<String> {
    let summary = |row: &Value| {
        let [action, route, partition, instance] =
            ["action", "route", "partition", "instance"].map(|member| text(&row[member]));
        format!("{action} {route} {partition}/{instance} {} {}", row["status"], row["count"])
    };
    rows.iter().map(summary).collect()
}

/// The ids of the messages in a scope.
fn ids(home: &Home, words: &[&str]) -> Vec<Value> {
    lines_of(&home.run("rsv-view", words, "").ok()).iter().map(|line| line["id"].clone()).collect()
}

on_each_store!(rows_say_what_was_read_and_changed);
/// Keeps: The audit says which request read and changed what, and has no text of it.
fn rows_say_what_was_read_and_changed(home: Home) {
    let fake = Fake::answering(|_| Answer::new(200, REPLY));
    let home = audited(&home, &fake);
    let mut proxy = Proxy::start(&home);
    for path in ["/health", "/metrics", "/v1/models", "/", "/memory/login"] {
        proxy.get(path);
    }
    let turn = |headers: &str, words: &str| {
        let answered = proxy.post("/partition/garden/v1/chat/completions", headers, &asking(words));
        assert_eq!(answered.0, 200, "{answered:?}");
    };
    turn("", "The canary sings in the barn");
    turn("x-rsv-memory: off\r\n", "The canary passes by");
    let messages = ids(&home, &["-p", "garden"]);
    for (path, wanted) in [
        ("/partition/garden/command/view/5", 200),
        ("/partition/garden/command/search/5?term=canary", 200),
        ("/command/search?term=canary", 200),
        ("/memory/search?q=canary", 200),
        ("/memory/conversation?p=garden&i=garden", 200),
        ("/memory/conversation?p=garden&i=nowhere", 404),
        ("/api/sessions/garden?user_id=garden", 200),
    ] {
        assert_eq!(proxy.get(path).0, wanted, "{path}");
    }
    let answer = text(&messages[1]);
    let forget = format!("/memory/forget?p=garden&i=garden&id={answer}");
    assert_eq!(proxy.raw(&post(&forget, SAME_ORIGIN, "")).0, 303);
    let deleted = proxy.raw(&asked("DELETE", "/api/sessions/garden?user_id=garden", ""));
    assert_eq!(deleted.0, 200, "{deleted:?}");
    assert_eq!(proxy.end(), Some(0));

    let rows = rows(&home, &[]);
    assert_eq!(
        summaries(&rows),
        [
            "write POST /partition/garden/v1/chat/completions garden/garden 200 0",
            "read GET /partition/garden/command/view/5 garden/garden 200 2",
            "read GET /partition/garden/command/search/5 garden/garden 200 1",
            "read GET /command/search default/default 200 0",
            "read GET /memory/search / 200 1",
            "read GET /memory/conversation garden/garden 200 2",
            "read GET /memory/conversation garden/nowhere 404 0",
            "read GET /api/sessions/garden garden/garden 200 2",
            "forget POST /memory/forget garden/garden 303 1",
            "forget DELETE /api/sessions/garden garden/garden 200 2",
        ]
    );
    assert!(ids(&home, &["-p", "garden"]).is_empty());
    assert!(rows[0]["trace_id"].is_string() && rows[1]["trace_id"].is_null(), "{rows:?}");
    assert_eq!(rows[1]["records"], json!(messages));
    assert_eq!((&rows[2]["records"], &rows[4]["records"]), (&json!([messages[0]]), &json!([messages[0]])));
    assert_eq!(rows[8]["records"], json!([messages[1]]));
    for row in &rows {
        assert_eq!((&row["kind"], &row["token"]), (&json!("audit"), &json!("")), "{row}");
        assert_eq!(row["address"], "127.0.0.1", "{row}");
        for word in ["canary", "sings", "Évora"] {
            assert!(!row.to_string().contains(word), "{row}");
        }
    }
    assert!(!home.export().contains("\"audit\""));
    home.check();
}

/// A token of a name in some partitions.
fn token(home: &Home, name: &str, words: &[&str]) -> String {
    let ran = home.run("rsv-config", &[&["-q", "token", "add", name], words].concat(), "");
    format!("Authorization: Bearer {}\r\n", ran.ok().trim_end())
}

on_each_store!(rows_have_the_name_of_the_token);
/// Keeps: The audit says which token read and changed what, and which partition it was refused.
fn rows_have_the_name_of_the_token(home: Home) {
    let fake = Fake::answering(|_| Answer::new(200, REPLY));
    let home = audited(&home, &fake).env("RSV_PROXY_TOKEN", "of-the-owner");
    home.ingest(&["-p", "team-a"], "An owl.");
    home.ingest(&["-p", "zebra"], "A horse.");
    let ann = token(&home, "ann", &["-p", "team-a,ann", "--rights", "read,write,forget"]);
    let ben = token(&home, "ben", &["-p", "team*", "--rights", "read"]);
    let mut proxy = Proxy::start(&home);
    let get = |token: &str, path: &str| proxy.raw(&asked("GET", path, token)).0;
    let view = "/partition/team-a/command/view";
    assert_eq!(get("", view), 401);
    assert_eq!(get("x-rsv-token: of-the-owner\r\n", view), 200);
    assert_eq!((get(&ann, view), get(&ben, view)), (200, 200));
    assert_eq!(get(&ben, "/partition/zebra/command/view"), 404);
    assert_eq!(get(&ben, "/memory/conversations?p=zebra"), 404);
    assert_eq!(get(&ben, "/memory/search?q=owl"), 200);
    let turn = |token: &str, path: &str| proxy.post(path, token, &asking("Where is the owl?")).0;
    assert_eq!(turn(&ann, "/partition/team-a/instance/desk/v1/chat/completions"), 200);
    let chat = json!({"message": "Where is the owl?", "user_id": "ann", "model": "llama3.1"}).to_string();
    assert_eq!(proxy.post("/api/ai/chat", &ann, &chat).0, 200);
    let forgotten = proxy.raw(&asked("DELETE", "/api/sessions/desk?user_id=team-a", &ben));
    assert_eq!(forgotten.0, 403, "{forgotten:?}");
    let forgotten = proxy.raw(&asked("DELETE", "/api/sessions/desk?user_id=team-a", &ann));
    assert_eq!(forgotten.0, 200, "{forgotten:?}");
    let call = |token: &str, method: &str, parameters: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).to_string();
        let headers = format!("{token}Accept: application/json, text/event-stream\r\n");
        assert_eq!(proxy.post("/partition/team-a/mcp", &headers, &body).0, 200);
    };
    call(&ben, "tools/list", json!({}));
    call(&ben, "tools/call", json!({"name": "recall", "arguments": {"query": "owl"}}));
    let memory = json!({"title": "Owls", "content": "They sleep by day."});
    call(&ann, "tools/call", json!({"name": "memory_record", "arguments": memory}));
    assert_eq!(proxy.end(), Some(0));

    let rows = rows(&home, &[]);
    let seen: Vec<String> = rows
        .iter()
        .zip(summaries(&rows))
        .map(|(row, summary)| format!("{}: {summary}", text(&row["token"])))
        .collect();
    let wanted = [
        ": read GET /partition/team-a/command/view team-a/team-a 200 1",
        "ann: read GET /partition/team-a/command/view team-a/team-a 200 1",
        "ben: read GET /partition/team-a/command/view team-a/team-a 200 1",
        "ben: read GET /partition/zebra/command/view zebra/zebra 404 0",
        "ben: read GET /memory/conversations zebra/zebra 404 0",
        "ben: read GET /memory/search / 200 1",
        "ann: write POST /partition/team-a/instance/desk/v1/chat/completions team-a/desk 200 0",
        "ann: write POST /api/ai/chat ann/",
        "ben: forget DELETE /api/sessions/desk",
        "ann: forget DELETE /api/sessions/desk team-a/desk 200 ",
        "ben: read POST /partition/team-a/mcp recall team-a/team-a 200 0",
        "ann: write POST /partition/team-a/mcp memory_record team-a/team-a 200 0",
    ];
    assert_eq!(seen.len(), wanted.len(), "{seen:#?}");
    for (seen, wanted) in seen.iter().zip(wanted) {
        assert!(seen.starts_with(wanted), "{seen}: {wanted}");
    }
    assert_eq!(self::rows(&home, &["--token", "ben", "--action", "forget"]).len(), 1);
    assert_eq!(self::rows(&home, &["--token", "ben", "-p", "zebra"]).len(), 2);
    assert_eq!(self::rows(&home, &["--token", ""]).len(), 1);
}

on_each_store!(rows_are_selected);
fn rows_are_selected(home: Home) {
    let fake = Fake::answering(|_| Answer::new(200, REPLY));
    let home = audited(&home, &fake).env("RSV_PROXY_AUDIT_DAYS", "30");
    for (time, partition) in [("2026-11-01T00:00:00Z", "garden"), ("2026-11-20T00:00:00Z", "desk")] {
        let mut proxy = Proxy::start(&home.at(time));
        let path = format!("/partition/{partition}/v1/chat/completions");
        assert_eq!(proxy.post(&path, "", &asking("Hello")).0, 200);
        proxy.get(&format!("/partition/{partition}/command/view"));
        assert_eq!(proxy.end(), Some(0));
    }
    let partitions = |words: &[&str]| -> Vec<String> {
        rows(&home, words).iter().map(|row| text(&row["partition"])).collect()
    };
    assert_eq!(partitions(&[]), ["garden", "garden", "desk", "desk"]);
    assert_eq!(partitions(&["-p", "desk"]), ["desk", "desk"]);
    assert_eq!(partitions(&["--action", "read"]), ["garden", "desk"]);
    assert_eq!(partitions(&["--since", "2026-11-02", "--action", "write"]), ["desk"]);
    assert_eq!(partitions(&["--until", "2026-11-02", "--token", ""]), ["garden", "garden"]);
    assert!(partitions(&["--token", "ann"]).is_empty());
    let refused = home.run("rsv-config", &["audit", "--action", "look"], "").trouble();
    assert!(refused.contains("expected read, write, forget or admin"), "{refused}");

    // Rows that are older than the setting says go with the next row.
    let mut proxy = Proxy::start(&home.at("2026-12-05T00:00:00Z"));
    proxy.get("/partition/attic/command/view");
    assert_eq!(proxy.end(), Some(0));
    assert_eq!(partitions(&[]), ["desk", "desk", "attic"]);
    // The rows follow no other name of their partition, and stay when all of it is forgotten.
    home.run("rsv-config", &["-q", "partition", "rename", "desk", "study"], "").ok();
    let all = home.run("rsv-export", &["-p", "study"], "").ok();
    home.run("rsv-forget", &["-q", "--all"], all).ok();
    assert_eq!(partitions(&[]), ["desk", "desk", "attic"]);
}

on_each_store!(without_the_setting_there_is_no_row);
fn without_the_setting_there_is_no_row(home: Home) {
    let fake = Fake::answering(|_| Answer::new(200, REPLY));
    let home = audited(&home, &fake).without("RSV_PROXY_AUDIT");
    let mut proxy = Proxy::start(&home);
    assert_eq!(proxy.post("/v1/chat/completions", "", &asking("Hello")).0, 200);
    assert_eq!(proxy.get("/command/view").0, 200);
    assert_eq!(proxy.end(), Some(0));
    assert!(rows(&home, &[]).is_empty());
}

on_each_store!(every_answered_request_has_its_row_after_an_orderly_end);
/// Keeps: No row of the audit is lost at an orderly end.
fn every_answered_request_has_its_row_after_an_orderly_end(home: Home) {
    let home = audited(&home, &Fake::answering(|_| Answer::new(200, REPLY)));
    let lines: String = (0..150).map(|n| format!("{{\"role\":\"user\",\"content\":\"{n}\"}}\n")).collect();
    home.run("rsv-ingest", &["-q"], lines).ok();
    let mut proxy = Proxy::start(&home);
    for count in 1..=150 {
        assert_eq!(proxy.get(&format!("/command/view/{count}")).0, 200);
    }
    assert_eq!(proxy.end(), Some(0));
    let rows = rows(&home, &[]);
    let counts: Vec<u64> = rows.iter().map(|row| row["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, (1..=150).collect::<Vec<u64>>());
    for row in rows {
        let (named, count) = (row["records"].as_array().unwrap().len(), row["count"].as_u64().unwrap());
        assert_eq!(named as u64, count.min(100), "{row}");
    }
}

#[test]
fn rows_wait_for_a_store_that_fails() {
    let home = audited(&Home::new(), &Fake::answering(|_| Answer::new(200, REPLY)));
    home.ingest(&[], "Hello");
    let mut proxy = Proxy::start(&home);
    proxy.may_write(Some(1));
    // It may be that the store cannot be read either.
    proxy.get("/command/view");
    proxy.hear_until("rows of the audit wait to be written: ");
    let metric = |name: &str| {
        let (_, metrics) = proxy.get("/metrics");
        let line = metrics.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{name} is not in {metrics}")).trim().to_owned()
    };
    assert_eq!(metric("rsv_audit_rows_total"), "0");
    assert_ne!(metric("rsv_audit_write_failures_total"), "0");
    proxy.may_write(None);
    wait_for("the row to be written", || metric("rsv_audit_rows_total") == "1");
    assert_eq!(metric("rsv_audit_rows_lost_total"), "0");
    assert_eq!(proxy.end(), Some(0));
    assert_eq!(rows(&home, &[]).len(), 1);
}

#[test]
fn on_a_terminal_the_audit_is_a_table() {
    let home = audited(&Home::new(), &Fake::answering(|_| Answer::new(200, REPLY)));
    let home = home.at("2026-11-21T07:03:00Z");
    home.ingest(&["-p", "garden"], "Hello");
    let mut proxy = Proxy::start(&home);
    proxy.get("/partition/garden/command/view");
    proxy.get("/memory/search?q=hello");
    proxy.get("/memory/conversation?p=garden&i=x%1b");
    assert_eq!(proxy.end(), Some(0));
    for (width, wanted) in [
        (
            100,
            "2026-11-21 07:03  owner  read    200  garden/garden   1 record  GET /partition/garden/command/view\n\
             2026-11-21 07:03  owner  read    200  *               1 record  GET /memory/search\n\
             2026-11-21 07:03  owner  read    404  garden/x\\u{1b}            GET /memory/conversation\n",
        ),
        (
            60,
            "2026-11-21 07:03  owner  read    200  garden/garden  1 record\n    GET /partition/garden/command/view\n\
             2026-11-21 07:03  owner  read    200  *  1 record\n    GET /memory/search\n\
             2026-11-21 07:03  owner  read    404  garden/x\\u{1b}\n    GET /memory/conversation\n",
        ),
    ] {
        let Some(terminal) = Terminal::run(&home, width, "TZ=UTC rsv-config audit") else { return };
        let (seen, status) = terminal.end();
        assert_eq!((plain(&seen).as_str(), status), (wanted, 0), "{seen}");
    }
}
