//! The reports of rsv-proxy on its own state: `GET /metrics`, `GET /health`, and the log.

use crate::chat::{now, provider, say, saying, says};
use crate::chat_uploads::upload;
use crate::docs::{read, section};
use crate::fake::{Answer, Fake, Wire, dead};
use crate::proxy::{Proxy, REPLY, asked, asking, home, post};
use crate::support::{Home, lines_of, text, wait_for};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics of a proxy: the value of each series, as it is written.
struct Scrape {
    samples: BTreeMap<String, f64>,
    types: BTreeMap<String, String>,
}

impl Scrape {
    fn of(proxy: &Proxy, path: &str) -> Scrape {
        let (status, body) = proxy.get(path);
        assert_eq!(status, 200, "{body}");
        Scrape::parse(&body)
    }

    /// Reads Prometheus' text format 0.0.4, and fails where its rules are broken.
    fn parse(body: &str) -> Scrape {
        assert!(body.ends_with('\n'), "the last line has no end");
        let mut scrape = Scrape { samples: BTreeMap::new(), types: BTreeMap::new() };
        let (mut family, mut helped) = (String::new(), BTreeSet::new());
        for line in body.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(helped.contains(name), "{name} has no help");
                let before = scrape.types.insert(name.to_owned(), kind.to_owned());
                assert!(before.is_none(), "{name} has two types");
                family = name.to_owned();
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let name = series.split('{').next().unwrap();
                let suffix = name.strip_prefix(family.as_str()).unwrap_or_else(|| panic!("{line}"));
                let is_histogram = scrape.types[&family] == "histogram";
                assert!(
                    suffix.is_empty() || is_histogram && ["_bucket", "_sum", "_count"].contains(&suffix),
                    "{line}"
                );
                assert!(
                    name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                    "{line}"
                );
                labels(series);
                let value = value.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
                assert!(scrape.samples.insert(series.to_owned(), value).is_none(), "{series} is there twice");
            }
        }
        scrape.check_histograms();
        scrape
    }

    /// The buckets of a histogram only rise, and the last has all.
    fn check_histograms(&self) {
        let mut last: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for (series, value) in self.samples.iter().filter(|(series, _)| series.contains("_bucket{")) {
            let (name, _) = series.split_once("_bucket{").unwrap();
            let mut labels = labels(series);
            let at = labels.iter().position(|(label, _)| label == "le").unwrap();
            let le = labels.remove(at).1.parse().unwrap();
            last.entry(named(&format!("{name}_count"), &labels)).or_default().push((le, *value));
        }
        assert!(!last.is_empty());
        for (count, mut buckets) in last {
            buckets.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            assert!(buckets.is_sorted_by(|(_, a), (_, b)| a <= b), "{count}: {buckets:?}");
            assert_eq!(buckets.last().unwrap(), &(f64::INFINITY, self.samples[&count]), "{count}");
        }
    }

    fn get(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("{series} is not in {:?}", self.samples.keys()))
    }
}

fn named(name: &str, labels: &[(String, String)]) -> String {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    if labels.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", labels.join(",")) }
}

/// The labels of a series; no value here needs an escape.
fn labels(series: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = series.split_once('{') else { return Vec::new() };
    let inner = rest.strip_suffix('}').unwrap();
    let label = |pair: &str| {
        let (label, value) = pair.split_once('=').unwrap();
        (
            label.to_owned(),
            value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap().to_owned(),
        )
    };
    inner.split(',').map(label).collect()
}

#[test]
fn after_some_turns_the_metrics_say_so() {
    let mut answers =
        [Answer::new(200, REPLY), Answer::new(200, REPLY), Answer::new(400, r#"{"error":{"message":"no"}}"#)]
            .into_iter();
    let fake = Fake::answering(move |_| answers.next().unwrap());
    let home = home(&fake).env("RSV_RETRIES", "0");
    let proxy = Proxy::start(&home);
    let before = Scrape::of(&proxy, "/metrics");
    // A series is there before its first event, and the time of the last write is not.
    for step in ["wait", "look_up", "embed", "search", "prepare", "provider", "store"] {
        assert_eq!(before.get(&format!("rsv_turn_step_seconds_count{{step=\"{step}\"}}")), 0.0);
    }
    assert_eq!(
        (before.get("rsv_turns_stored_total"), before.get("rsv_commits_total{outcome=\"failed\"}")),
        (0.0, 0.0)
    );
    assert!(!before.samples.contains_key("rsv_last_store_timestamp_seconds"));

    let path = "/partition/garden/v1/chat/completions";
    for (question, status) in
        [("Where are my tomatoes?", 200), ("And the beans?", 200), ("And the peas?", 400)]
    {
        assert_eq!(proxy.post(path, "", &asking(question)).0, status);
    }
    assert_eq!(proxy.get("/nothing").0, 404);
    let after = Scrape::of(&proxy, "/metrics");
    for (series, value) in [
        ("rsv_turns_total{partition=\"garden\",outcome=\"answered\"}", 2.0),
        ("rsv_turns_total{partition=\"garden\",outcome=\"failed\"}", 1.0),
        ("rsv_turn_seconds_count", 3.0),
        ("rsv_turn_step_seconds_count{step=\"provider\"}", 3.0),
        ("rsv_turn_step_seconds_count{step=\"prepare\"}", 3.0),
        ("rsv_turn_step_seconds_count{step=\"store\"}", 2.0),
        ("rsv_turns_stored_total", 2.0),
        ("rsv_turns_lost_total", 0.0),
        ("rsv_turns_degraded_total", 0.0),
        ("rsv_http_requests_total{status=\"404\"}", 1.0),
        ("rsv_http_requests_total{status=\"400\"}", 1.0),
        ("rsv_degraded{part=\"store\"}", 0.0),
        ("rsv_queue_length{queue=\"turns\"}", 0.0),
        ("rsv_queue_length{queue=\"active_turns\"}", 0.0),
        ("rsv_queue_turn_bytes", 0.0),
        ("rsv_provider_requests", 0.0),
        // The time of the test.
        ("rsv_last_store_timestamp_seconds", 1_795_244_580.0),
        ("process_start_time_seconds", 1_795_244_580.0),
    ] {
        assert_eq!(after.get(series), value, "{series}");
    }
    // The connection of the scrape itself; others end a moment after their answer.
    wait_for("no other connection", || Scrape::of(&proxy, "/metrics").get("rsv_connections") == 1.0);
    assert!(after.get("rsv_store_write_seconds_count") >= 1.0);
    assert!(after.get("rsv_turn_seconds_sum") > 0.0 && after.get("rsv_connections_limit") >= 1.0);
    assert_eq!(after.get(&format!("rsv_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1.0);
    if cfg!(target_os = "linux") {
        assert!(after.get("process_resident_memory_bytes") > 1e6 && after.get("process_open_fds") > 3.0);
    }
    let head = proxy.whole(&asked("GET", "/metrics", "")).to_lowercase();
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{head}");
    assert_eq!(proxy.raw(&asked("POST", "/metrics", "")).0, 405);
}

/// Keeps: Nobody calls the proxy without its token.
#[test]
fn the_metrics_need_the_token() {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &dead()).env("RSV_PROXY_TOKEN", "secret-token");
    let proxy = Proxy::start(&home);
    for (headers, status) in [
        ("", 401),
        ("Authorization: Bearer wrong\r\n", 401),
        ("Authorization: Bearer secret-token\r\n", 200),
        ("x-rsv-token: secret-token\r\n", 200),
        ("x-rsv-token: secret-token\r\nOrigin: http://page.example\r\n", 403),
        ("x-rsv-token: secret-token\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403),
    ] {
        for path in ["/metrics", "/partition/garden/metrics"] {
            let (found, body) = proxy.raw(&asked("GET", path, headers));
            assert_eq!(found, status, "{path} {headers}: {body}");
            assert_eq!(body.contains("rsv_turns_stored_total"), status == 200, "{body}");
            assert!(!body.contains("secret-token"), "{body}");
        }
    }
}

/// Keeps: Nothing crosses a scope, unless it was asked for.
#[test]
fn a_request_that_names_a_partition_sees_no_other_in_the_state() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "1");
    let file = home.path("patterns.txt");
    let home = home.env("RSV_SESSION_PATTERNS", file.to_str().unwrap());
    let proxy = Proxy::start(&home);
    for user in ["annabel", "roberto"] {
        let body = says("Where?", json!({"session_id": format!("of-{user}")}));
        assert_eq!(proxy.post("/api/ai/chat", &format!("X-User-Id: {user}\r\n"), &body).0, 200);
    }
    wait_for("commits that fail", || {
        let (_, body) = proxy.get("/partition/annabel/health");
        let (_, other) = proxy.get("/partition/roberto/health");
        body.contains("annabel/of-annabel") && other.contains("roberto/of-roberto")
    });
    for (path, headers, names, others) in [
        ("/partition/annabel", "", "annabel", Some("roberto")),
        ("/partition/roberto/instance/of-roberto", "", "roberto", Some("annabel")),
        ("", "x-rsv-partition: roberto\r\n", "roberto", Some("annabel")),
        ("", "", "roberto", None),
        ("", "", "annabel", None),
    ] {
        let (_, health) = proxy.raw(&asked("GET", &format!("{path}/health"), headers));
        let (_, metrics) = proxy.raw(&asked("GET", &format!("{path}/metrics"), headers));
        Scrape::parse(&metrics);
        let series = |name: &str| format!("rsv_turns_total{{partition=\"{name}\",outcome=\"answered\"}} 1\n");
        assert!(metrics.contains(&series(names)), "{path} {headers}: {metrics}");
        let health: Value = serde_json::from_str(&health).unwrap();
        assert!(text(&health["commits"]).contains("patterns.txt: cannot be read"), "{health}");
        if let Some(other) = others {
            assert!(!metrics.contains(other) && !health.to_string().contains(other), "{metrics} {health}");
        }
        assert!(metrics.contains("rsv_degraded{part=\"commits\"} 1\n"), "{metrics}");
    }
    let (_, of_none) = proxy.get("/partition/cem/health");
    let of_none: Value = serde_json::from_str(&of_none).unwrap();
    assert_eq!(of_none["commits"], "it fails in another partition");
    assert_eq!(of_none["degraded"], json!([{"part": "commits", "reason": "it fails in another partition"}]));
}

#[test]
fn health_says_what_waits_what_works_only_in_part_and_when_something_was_stored() {
    let fake = provider();
    let home = home(&fake);
    let proxy = Proxy::start(&home);
    let health = || -> Value { serde_json::from_str(&proxy.get("/health").1).unwrap() };
    let before = health();
    assert_eq!((&before["degraded"], &before["last_store"]), (&json!([]), &Value::Null), "{before}");
    say(&proxy, "s1", "Where are my tomatoes?");
    let after = health();
    assert_eq!(after["last_store"], "2026-11-21T07:03:00.000Z");
    let queues = json!({"active_turns": 0, "turns": 0, "reads": 0, "commits": 0, "uploads": 0, "descriptions": 0, "turn_bytes": 0});
    wait_for("the session to be looked at", || health()["queues"] == queues);
    assert_eq!(
        (&after["connections"]["clients"], &after["connections"]["providers"]),
        (&json!(1), &json!(0))
    );
    if cfg!(target_os = "linux") {
        assert!(after["memory_bytes"].as_u64().unwrap() > 1_000_000, "{after}");
        assert!(after["connections"]["descriptors"].as_u64().unwrap() > 3, "{after}");
    }
    // The store goes away.
    std::fs::remove_file(home.store()).unwrap();
    std::fs::create_dir(home.store()).unwrap();
    let (status, body) = proxy.get("/health");
    let broken: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &broken["degraded"][0]["part"]), (503, &json!("store")), "{broken}");
    assert_eq!(broken["degraded"][0]["reason"], broken["store"]);
    assert_eq!(Scrape::of(&proxy, "/metrics").get("rsv_degraded{part=\"store\"}"), 1.0);
}

#[test]
fn a_model_that_is_wanted_and_not_there_is_told() {
    let fake = provider();
    let home = home(&fake).env("RSV_EMBED_MODEL", "all-minilm-l6-v2-int8");
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Where are my tomatoes?");
    wait_for("the embedder in /health", || {
        let health: Value = serde_json::from_str(&proxy.get("/health").1).unwrap();
        let parts: Vec<String> =
            health["degraded"].as_array().unwrap().iter().map(|one| text(&one["part"])).collect();
        parts.contains(&"embedder".to_owned()) && text(&health["embedding"]).contains("all-minilm-l6-v2-int8")
    });
    assert_eq!(Scrape::of(&proxy, "/metrics").get("rsv_degraded{part=\"embedder\"}"), 1.0);
}

#[test]
fn an_upload_that_waits_for_the_store_is_counted_and_told() {
    let home = Home::new();
    std::fs::create_dir_all(home.store()).unwrap();
    let proxy = Proxy::start(&home);
    let doc_id = text(&upload(&proxy, "", "peas.md", b"# Peas\n\nSow them in March.\n")["doc_id"]);
    let waits = format!("the documents of {doc_id} wait to be stored");
    wait_for("the reason in /health", || proxy.get("/health").1.contains(&waits));
    let scrape = Scrape::of(&proxy, "/metrics");
    let (part, queue) = ("rsv_degraded{part=\"documents\"}", "rsv_queue_length{queue=\"uploads\"}");
    assert_eq!((scrape.get(part), scrape.get(queue)), (1.0, 1.0));
    // That of another user hides it from neither.
    let of_ann = text(&upload(&proxy, "X-User-Id: ann\r\n", "beans.md", b"# Beans\n\nIn May.\n")["doc_id"]);
    wait_for("the reason in /health", || proxy.get("/partition/ann/health").1.contains(&of_ann));
    assert!(proxy.get("/partition/default/health").1.contains(&waits));
    assert!(!proxy.get("/partition/other/health").1.contains(&doc_id));
    std::fs::remove_dir(home.store()).unwrap();
    wait_for("the uploads to be stored", || Scrape::of(&proxy, "/metrics").get(queue) == 0.0);
    let scrape = Scrape::of(&proxy, "/metrics");
    assert_eq!((scrape.get(part), scrape.get("rsv_uploads_total{outcome=\"done\"}")), (0.0, 2.0));
    assert!(proxy.get("/health").1.contains("\"degraded\":[]"));
    assert!(scrape.samples.contains_key("rsv_last_store_timestamp_seconds"));
}

#[test]
fn an_upload_that_is_removed_while_it_waits_is_not_counted_as_done() {
    let home = Home::new();
    home.ingest(&["-p", "ann"], r#"{"role":"user","content":"Where are the peas?"}"#);
    let proxy = Proxy::start(&home);
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let doc_id = text(&upload(&proxy, "", "peas.md", b"# Peas\n\nSow them in March.\n")["doc_id"]);
    let lines = home.path(".local/share/rsv/store.db.uploads").join(&doc_id).join("lines.jsonl");
    wait_for("the parser", || std::fs::read(&lines).is_ok_and(|lines| !lines.is_empty()));
    assert_eq!(proxy.raw(&asked("DELETE", &format!("/api/documents/{doc_id}"), "")).0, 200);
    store.execute_batch("COMMIT").unwrap();
    let queue = "rsv_queue_length{queue=\"uploads\"}";
    wait_for("the uploads to end", || Scrape::of(&proxy, "/metrics").get(queue) == 0.0);
    let scrape = Scrape::of(&proxy, "/metrics");
    let uploads =
        ["done", "failed"].map(|end| scrape.get(&format!("rsv_uploads_total{{outcome=\"{end}\"}}")));
    assert_eq!((uploads, scrape.get("rsv_degraded{part=\"documents\"}")), ([0.0, 0.0], 0.0));
}

#[test]
fn commits_that_a_client_asks_for_are_counted_by_outcome() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "0").env("RSV_SESSION_COMMIT_IDLE", "off");
    let file = home.path("patterns.txt");
    let home = home.env("RSV_SESSION_PATTERNS", file.to_str().unwrap());
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Where?");
    let commit = || proxy.raw(&asked("POST", "/api/sessions/s1/commit", "")).0;
    let counted = || {
        let scrape = Scrape::of(&proxy, "/metrics");
        ["done", "failed"].map(|end| scrape.get(&format!("rsv_commits_total{{outcome=\"{end}\"}}")))
    };
    assert_eq!((commit(), counted()), (503, [0.0, 1.0]));
    std::fs::write(&file, "").unwrap();
    assert_eq!((commit(), counted()), (200, [1.0, 1.0]));
    // There is nothing more to commit.
    assert_eq!((commit(), counted()), (200, [1.0, 1.0]));
}

#[test]
fn an_answer_that_is_too_long_to_be_stored_is_counted_as_lost() {
    // The record has more beside the text than the answer has.
    let fake = saying(&["Peas. ".repeat(3300).as_str()]);
    let home = now(&fake.url()).env("RSV_MAX_LINE_BYTES", "20000");
    let mut proxy = Proxy::start(&home);
    assert_eq!(proxy.post("/v1/chat/completions", "", &asking("Which?")).0, 200);
    assert_eq!(Scrape::of(&proxy, "/metrics").get("rsv_turns_lost_total"), 1.0);
    let (said, status) = proxy.last_words();
    assert_eq!((said.matches("is lost: ").count(), status), (1, Some(2)), "{said}");
}

#[test]
fn a_store_that_does_not_answer_delays_no_report_for_long() {
    let silent = Wire::new();
    let home = Home::new().env("RSV_STORE", &silent.url().replace("http", "bolt"));
    let proxy = Proxy::start(&home);
    // Each waits for the read of the first, not longer.
    std::thread::scope(|scope| {
        let scrapes = [(); 2].map(|()| scope.spawn(|| Scrape::of(&proxy, "/metrics")));
        let (status, health) = proxy.get("/health");
        assert!(status == 503 && health.contains("the store has not answered within 5 s"), "{health}");
        for scrape in scrapes {
            assert_eq!(scrape.join().unwrap().get("rsv_degraded{part=\"store\"}"), 1.0);
        }
    });
}

#[test]
fn a_line_of_the_log_has_the_trace_of_its_turn() {
    let fake = provider();
    let home = now(&fake.url());
    let mut proxy = Proxy::start_with(&home, &["--log", "json"]);
    let whole = asking("Where are my tomatoes?");
    let streamed = whole.replacen('{', "{\"stream\":true,", 1);
    let message = says("Where are the beans?", json!({}));
    for (path, body) in [
        ("/v1/chat/completions", whole.as_str()),
        ("/v1/chat/completions", &streamed),
        ("/v1/messages", &whole.replacen('{', "{\"max_tokens\":9,", 1)),
        ("/api/ai/chat", &message),
        ("/api/ai/chat/stream", &message),
    ] {
        let (status, answer) = proxy.raw(&post(path, "", body));
        assert_eq!(status, 200, "{path}: {answer}");
        proxy.settle();
        let mut line = Value::Null;
        while line["path"] != path {
            line = serde_json::from_str(&proxy.hear()).unwrap_or_default();
        }
        let trace = text(&line["trace_id"]);
        let stored = home.run("rsv-export", &["--kind", "message"], "").ok();
        let turn = lines_of(&stored).into_iter().filter(|one| one["trace_id"] == trace.as_str()).count();
        assert_eq!(turn, 2, "{path}: {line}");
    }
    proxy.get("/command/view");
    let mut line = Value::Null;
    while line["path"] != "/command/view" {
        line = serde_json::from_str(&proxy.hear()).unwrap_or_default();
    }
    assert_eq!(line["trace_id"], Value::Null);
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn the_manual_has_every_metric_and_no_other() {
    let fake = provider();
    let home = home(&fake);
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Where are my tomatoes?");
    let scrape = Scrape::of(&proxy, "/metrics");
    let page = read("man/rsv-http.7");
    let metrics = section(&page, "EXTENDED DESCRIPTION").split("\n.Ss Metrics\n").nth(1).unwrap();
    let metrics = metrics.split("\n.Ss ").next().unwrap();
    let terms = metrics.lines().filter_map(|line| line.strip_prefix(".It "));
    let named: BTreeSet<String> = terms.flat_map(|term| term.split(" , ").map(str::to_owned)).collect();
    let mut found: BTreeSet<String> = scrape.types.keys().cloned().collect();
    if !cfg!(target_os = "linux") {
        found.extend(["process_resident_memory_bytes", "process_open_fds"].map(str::to_owned));
    }
    assert_eq!(named, found);
    // The values of the labels too.
    for series in scrape.samples.keys() {
        for (label, value) in labels(series) {
            let is_fixed = ["step", "part", "queue", "outcome"].contains(&label.as_str());
            assert!(!is_fixed || metrics.split_whitespace().any(|word| word == value), "{series}");
        }
    }
}
