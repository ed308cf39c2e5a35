//! Attacks and accidents that rsv-proxy must survive, and clients that it must refuse.

use crate::fake::{Answer, Fake, dead};
use crate::proxy::{Proxy, REPLY, answer, asked, asking, home, limited, post};
use crate::support::{Home, lines_of, text};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::Duration;

const CHAT: &str = "/v1/chat/completions";

#[test]
fn absurd_requests_are_refused_and_the_proxy_lives() {
    let provider = Fake::new([]);
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let (status, body) = proxy.raw(format!("{head}Content-Length: 100000000000000\r\n\r\n").as_bytes());
    assert_eq!((status, body.contains("limit of 32 MiB")), (413, true), "{body}");
    for (wanted, bad) in [
        (400, format!("{head}Content-Length: -1\r\n\r\n")),
        (400, format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx")),
        (400, format!("{head}Content-Length: x\r\n\r\n")),
        (431, format!("{head}X: {}\r\n\r\n", "y".repeat(8 << 20))),
        (431, format!("{head}{}\r\n", "X: y\r\n".repeat(1000))),
        (414, format!("GET /{} HTTP/1.1\r\n\r\n", "y".repeat(65534))),
        (400, "nonsense\r\n\r\n".to_owned()),
        (400, "\u{16}\u{3}\u{1}\u{2}".to_owned()),
    ] {
        let (status, body) = proxy.raw(bad.as_bytes());
        assert!(status == wanted && body.starts_with("{\"error\":{\"message\":"), "{status} {body}");
    }
    assert_eq!(proxy.whole(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "");
    let after_another = proxy.whole(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n");
    assert!(
        after_another.starts_with("HTTP/1.1 200")
            && after_another.ends_with("\"code\":\"invalid_request\"}}\n")
    );
    assert_eq!(proxy.get("/health").0, 200);
}

#[test]
fn many_connect_at_once_and_all_are_answered() {
    let provider = Fake::new([]);
    let proxy = Proxy::start(&home(&provider));
    std::thread::scope(|scope| {
        for _ in 0..256 {
            scope.spawn(|| assert_eq!(proxy.get("/health").0, 200));
        }
    });
}

#[test]
fn the_proxy_listens_on_loopback_only() {
    let ran = Home::new().run("rsv-proxy", &["--listen", "0.0.0.0", "--port", "0"], "");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("0.0.0.0:0 is not a loopback address"), "{}", ran.stderr);
}

/// Keeps: Other machines need the token.
#[test]
fn other_machines_need_the_token() {
    let openai = Fake::new(vec![Answer::new(200, REPLY); 2]);
    let home = Home::new()
        .env("RSV_OPENAI_BASE_URL", &openai.url())
        .env("OPENAI_API_KEY", "own")
        .env("RSV_PROXY_TOKEN", "canary-token");
    let mut proxy = Proxy::start_with(&home, &["--listen", "0.0.0.0", "-v"]);
    let body = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}"#;
    for headers in ["", "Authorization: Bearer wrong\r\n", "x-rsv-token: canary-toke\r\n"] {
        let (status, body) = proxy.raw(&post(CHAT, headers, body));
        assert!(status == 401 && body.contains("invalid_token"), "{headers}: {body}");
        let (status, body) = proxy.raw(&asked("GET", "/api/tags", headers));
        assert!(status == 401 && body.starts_with("{\"error\":\""), "{body}");
    }
    let token = "Authorization: Bearer canary-token\r\n";
    assert_eq!(proxy.raw(&post(CHAT, token, body)).0, 200);
    assert_eq!(openai.seen()[0].header("authorization"), Some("Bearer own"));
    let both = "x-rsv-token: canary-token\r\nAuthorization: Bearer sk-callers\r\n";
    assert_eq!(proxy.raw(&post(CHAT, both, body)).0, 200);
    assert_eq!(openai.seen()[1].header("authorization"), Some("Bearer sk-callers"));
    assert_eq!(openai.seen()[1].header("x-rsv-token"), None);
    let health = proxy.raw(&asked("GET", "/health", token)).1;
    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(0));
    for secret in ["canary-token", "sk-callers", "Bearer own"] {
        assert!(!said.contains(secret) && !health.contains(secret), "{said}{health}");
    }
}

#[test]
fn a_page_of_the_web_is_let_in_only_if_it_is_listed() {
    let home =
        Home::new().env("RSV_PROXY_ORIGINS", "https://page.example").env("RSV_PROXY_HOSTS", "box.example");
    let proxy = Proxy::start(&home);
    let host = |host: &str| proxy.raw(format!("GET /health HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes());
    assert_eq!((host("box.example:3017").0, host("[::1]").0), (200, 200));
    let (status, body) = host("rebound.example");
    assert!(status == 403 && body.contains("proxy.hosts"), "{body}");
    assert_eq!(proxy.raw(b"GET /health HTTP/1.0\r\n\r\n").0, 200);
    let preflight = |origin: &str| {
        let headers = format!(
            "Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n"
        );
        proxy.whole(&asked("OPTIONS", CHAT, &headers)).to_lowercase()
    };
    let listed = preflight("https://page.example");
    assert!(listed.starts_with("http/1.1 204"), "{listed}");
    for reported in
        ["access-control-allow-origin: https://page.example", "access-control-allow-headers: authorization"]
    {
        assert!(listed.contains(reported), "{listed}");
    }
    let other = preflight("https://other.example");
    assert!(other.starts_with("http/1.1 403") && !other.contains("access-control"), "{other}");
    let (status, body) = proxy.post(CHAT, "Origin: null\r\n", &asking("x"));
    assert!(status == 403 && body.contains("proxy.origins"), "{body}");
    let health = proxy.whole(&asked("GET", "/health", "Origin: https://page.example\r\n")).to_lowercase();
    assert!(health.contains("access-control-expose-headers: x-rsv-memory"), "{health}");
    let plain = proxy.whole(&asked("OPTIONS", "/health", "")).to_lowercase();
    assert!(plain.starts_with("http/1.1 204") && plain.contains("allow: get, head, post"), "{plain}");
}

#[test]
fn a_page_of_another_site_neither_spends_a_key_nor_reads_a_message() {
    let openai = Fake::new(vec![Answer::new(200, REPLY).header("X-Content-Type-Options", "off"); 2]);
    let home = Home::new()
        .env("RSV_OPENAI_BASE_URL", &openai.url())
        .env("OPENAI_API_KEY", "own")
        .env("RSV_PROXY_ORIGINS", "https://page.example");
    let proxy = Proxy::start(&home);
    let cross = "Sec-Fetch-Site: cross-site\r\n";
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
    for headers in [cross, link, "Sec-Fetch-Site: same-site\r\n", "Origin: chrome-extension://abc\r\n"] {
        for path in ["/v1/responses/x", "/command/view", "/v1/models", "/api/tags", "/", "/memory/search?q=x"]
        {
            let (status, body) = proxy.raw(&asked("GET", path, headers));
            assert!(status == 403 && body.contains("add "), "{path} {headers}{status} {body}");
        }
    }
    assert!(openai.seen().is_empty());
    assert_eq!(proxy.raw(&asked("GET", "/health", cross)).0, 403);
    assert_eq!(proxy.raw(&asked("GET", "/health", link)).0, 200);
    let listed = format!("{cross}Origin: https://page.example\r\n");
    assert_eq!(proxy.raw(&asked("GET", "/command/view", &listed)).0, 200);
    assert_eq!(proxy.raw(&asked("GET", "/v1/responses/x", "Sec-Fetch-Site: none\r\n")).0, 200);
    for request in [
        asked("GET", "/health", ""),
        asked("GET", "/nowhere", ""),
        asked("GET", "/health", cross),
        asked("OPTIONS", "/health", ""),
        asked("GET", "/v1/responses/x", ""),
        b"nonsense\r\n\r\n".to_vec(),
    ] {
        let whole = proxy.whole(&request);
        for header in ["x-content-type-options: nosniff", "cross-origin-resource-policy: same-origin"] {
            let head = whole.split("\r\n\r\n").next().unwrap().to_lowercase();
            assert_eq!(head.lines().filter(|line| *line == header).count(), 1, "{header}: {whole}");
        }
        assert_eq!(whole.to_lowercase().matches("x-content-type-options").count(), 1, "{whole}");
    }
}

#[test]
fn two_hosts_or_two_origins_are_malformed() {
    let proxy = Proxy::start(&Home::new());
    for headers in ["Host: localhost\r\n", "Origin: app://a\r\nOrigin: app://a\r\n"] {
        let (status, body) = proxy.raw(&asked("GET", "/health", headers));
        assert!(status == 400 && body.contains("is sent twice"), "{headers}: {status} {body}");
    }
}

#[test]
fn a_connection_over_the_limit_waits() {
    let home = Home::new().env("RSV_PROXY_CONNECTIONS", "1");
    let proxy = Proxy::start(&home);
    let mut first = proxy.connect();
    first.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut head = [0; 12];
    first.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let mut second = proxy.connect();
    second.write_all(&asked("GET", "/health", "")).unwrap();
    second.set_nonblocking(true).unwrap();
    assert_eq!(second.peek(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    second.set_nonblocking(false).unwrap();
    drop(first);
    assert_eq!(answer(second).0, 200);
}

#[test]
fn slow_and_idle_clients_are_disconnected() {
    let home = Home::new().env("RSV_PROXY_IDLE_TIMEOUT", "200ms");
    let proxy = Proxy::start(&home);
    for begun in ["", "GET /health HT", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let mut stream = proxy.connect();
        stream.write_all(begun.as_bytes()).unwrap();
        // Else this would wait for the time of the test's own socket, and fail.
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let begun = format!("POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{{");
    let (status, body) = proxy.raw(begun.as_bytes());
    assert!(status == 408 && body.contains("did not come in time"), "{body}");
    // Byte by byte it is in time, and never there.
    let mut stream = proxy.connect();
    stream.write_all(begun.replace(": 9", ": 900000").as_bytes()).unwrap();
    let mut dribbling = stream.try_clone().unwrap();
    let dribbler = std::thread::spawn(move || {
        while dribbling.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!(answer(stream).0, 408);
    dribbler.join().unwrap();
}

#[test]
fn every_form_of_http_1_is_answered() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let proxy = Proxy::start(&home(&provider));
    let body = asking("hello");
    let length = body.len();
    for (what, request) in [
        ("1.0", format!("POST {CHAT} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}")),
        (
            "chunks",
            format!(
                "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
            ),
        ),
        (
            "non-ASCII",
            format!(
                "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Name: \u{e9}\r\nContent-Length: {length}\r\n\r\n{body}"
            ),
        ),
    ] {
        let (status, reported) = proxy.raw(request.as_bytes());
        assert!(status == 200 && reported.contains("vora"), "{what}: {reported}");
    }
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let pipelined = proxy.whole(
        format!("{get}{get}GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes(),
    );
    assert_eq!(pipelined.matches("HTTP/1.1 200").count(), 3, "{pipelined}");
    let expecting = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
    );
    let mut stream = proxy.connect();
    stream.write_all(expecting.as_bytes()).unwrap();
    let mut go_on = [0; 12];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100");
    let smuggled = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
    let (status, _) = proxy.raw(smuggled.as_bytes());
    assert!((400..=499).contains(&status), "{status}");
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let proxy = Proxy::start(&Home::new().env("RSV_MAX_LINE_BYTES", "1000"));
    for path in [CHAT, "/v1/embeddings", "/v1/responses", "/api/chat", "/api/tags"] {
        let (status, body) = proxy.raw(&post(path, "", &"x".repeat(1001)));
        assert!(status == 413 && body.contains("max_line_bytes"), "{path}: {body}");
    }
    let chunks = format!("3e8\r\n{}\r\n", "x".repeat(1000)).repeat(2);
    let head = "Host: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked";
    let (status, _) = proxy.raw(format!("POST {CHAT} HTTP/1.1\r\n{head}\r\n\r\n{chunks}").as_bytes());
    assert_eq!(status, 413);
}

#[test]
fn the_proxy_recovers_from_running_out_of_descriptors() {
    let proxy = Proxy::spawn(limited(&Home::new(), "-n 48", ""));
    let many: Vec<_> = (0..96).map(|_| proxy.connect()).collect();
    drop(many);
    assert_eq!(proxy.get("/health").0, 200);
}

#[test]
fn the_limits_that_follow_from_that_of_descriptors_are_reported() {
    for (limits, most, connections, requests) in
        [("-n 256", "", 64, 64), ("-n 1024", "RSV_PROXY_CONNECTIONS", 100, 448)]
    {
        let home = if most.is_empty() { Home::new() } else { Home::new().env(most, "100") };
        let mut proxy = Proxy::spawn(limited(&home, limits, "-v"));
        // The worker may be first with what it has to say.
        let line = std::iter::repeat_with(|| proxy.hear())
            .take(5)
            .find(|line| line.contains("descriptors:"))
            .unwrap();
        let told = format!(
            "descriptors: at most {connections} connections of clients, and {requests} requests to providers, at once; at most "
        );
        assert!(
            line.contains(&told) && line.ends_with(" idle connections to a provider, for 30 s\n"),
            "{line}"
        );
        let health: Value = serde_json::from_str(&proxy.get("/health").1).unwrap();
        let limits = &health["limits"];
        assert_eq!((&limits["connections"], &limits["requests"]), (&connections.into(), &requests.into()));
        let idle = limits["idle"].as_u64().unwrap();
        assert!((1..=requests).contains(&idle) && line.contains(&format!("at most {idle} idle")), "{line}");
        assert_eq!(limits["idle_seconds"], 30);
    }
}

#[test]
fn the_soft_limit_of_descriptors_is_raised_for_the_proxy_and_not_for_its_command() {
    let home = Home::new();
    let proxy = Proxy::spawn(limited(&home, "-Sn 48", ""));
    let connections = (0..96).map(|_| {
        let mut stream = proxy.connect();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        stream
    });
    assert_eq!(connections.collect::<Vec<_>>().len(), 96);
    let ran = limited(&home, "-Sn 48", "sh -c 'ulimit -Sn'").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "48\n");
}

#[test]
fn the_request_log_has_a_line_per_request_and_no_content() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 2]);
    let home = home(&provider);
    let mut proxy = Proxy::start_with(&home, &["--log", "json"]);
    assert!(proxy.hear().contains("rsv-proxy: store: "));
    proxy.raw(&post(
        "/partition/p/v1/chat/completions?key=canary",
        "Authorization: Bearer canary\r\n",
        &asking("secret words"),
    ));
    let line = proxy.hear();
    let reported: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&reported["method"], &reported["path"]),
        (&"POST".into(), &"/partition/p/v1/chat/completions".into())
    );
    assert_eq!(
        (&reported["status"], &reported["partition"], &reported["recalled"]),
        (&200.into(), &"p".into(), &0.into())
    );
    assert!(reported["ms"].is_u64() && reported["tokens"].is_u64(), "{line}");
    assert!(!line.contains("canary") && !line.contains("secret"), "{line}");
    let mut proxy = Proxy::start_with(&home, &["--log", "text"]);
    proxy.hear();
    proxy.get("/nowhere");
    let line = proxy.hear();
    assert!(line.contains("method=\"GET\" path=\"/nowhere\" status=404"), "{line}");
}

#[test]
fn verbose_logs_requests_and_answers() {
    for (words, reported) in [(&["-v"][..], true), (&[], false)] {
        let provider = Fake::new(vec![Answer::new(200, REPLY); 2]);
        let mut proxy = Proxy::start_with(&home(&provider), words);
        assert_eq!(proxy.post(CHAT, "", &asking("Where is the chapel?")).0, 200);
        let (said, _) = proxy.last_words();
        let told_of =
            |what: &str, text: &str| said.lines().any(|line| line.contains(what) && line.contains(text));
        assert_eq!(told_of("the request to Ollama: {", "Where is the chapel?"), reported, "{said}");
        assert_eq!(told_of("the answer of Ollama: {", "In \\u00c9vora."), reported, "{said}");
    }
}

#[test]
fn check_says_what_is_missing_and_what_to_do() {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &dead());
    let check = |home: &Home, port: &str| {
        let ran = home.run("rsv-proxy", &["--check", "--port", port], "");
        assert_eq!(ran.stderr, "", "{ran}");
        let found = lines_of(&ran.stdout).into_iter();
        let state = |line: Value| (text(&line["check"]), text(&line["state"]));
        (found.map(state).collect::<std::collections::BTreeMap<_, _>>(), ran)
    };
    let (found, ran) = check(&home, "0");
    assert_eq!(ran.status, 1, "{ran}");
    for (name, state) in [("settings", "ok"), ("store", "ok"), ("model", "advice"), ("ollama", "trouble")] {
        assert_eq!(found[name], state, "{name}: {ran}");
    }
    assert!(!found.contains_key("openai"), "nobody configured it: {ran}");
    home.write("asks-openai.toml", "model = 'gpt-4o'\n");
    let (found, ran) = check(&home.env("RSV_CONFIG", "asks-openai.toml"), "0");
    assert!(found["openai"] == "trouble" && ran.stdout.contains("set OPENAI_API_KEY"), "{ran}");
    let ollama = Fake::answering(|_| Answer::new(200, "{}"));
    let (found, ran) = check(&home.env("RSV_OLLAMA_BASE_URL", &ollama.url()), "0");
    assert_eq!((ran.status, &*found["ollama"]), (0, "ok"), "{ran}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let home = Home::new().env("RSV_STORE", "sqlite:.").env("RSV_OLLAMA_BASE_URL", &ollama.url());
    let (found, ran) = check(&home, &port);
    assert_eq!((ran.status, &*found["address"], &*found["store"]), (1, "trouble", "trouble"), "{ran}");
}

#[test]
fn errors_have_the_shape_of_the_clients_interface() {
    let home = Home::new().env("RSV_MAX_LINE_BYTES", "1000").env("RSV_OLLAMA_BASE_URL", &dead());
    let proxy = Proxy::start(&home.env("RSV_RETRIES", "0").env("RSV_ENRICH_TIMEOUT", "60s"));
    let long = "x".repeat(1001);
    let cases = |openais: &str, ollamas: &str, wanted: u16, headers: &str, body: &str| {
        for (path, is_ollamas) in [(openais, false), (ollamas, true)] {
            for prefix in ["", "/partition/p", "/partition/p/instance/i"] {
                let path = format!("{prefix}{path}");
                let request =
                    if body.is_empty() { asked("PUT", &path, headers) } else { post(&path, headers, body) };
                let (status, reported) = proxy.raw(&request);
                let reported: Value =
                    serde_json::from_str(&reported).unwrap_or_else(|_| panic!("{path}: {reported}"));
                let error = &reported["error"];
                let shaped = if is_ollamas {
                    error.is_string()
                } else {
                    ["message", "type", "code"].iter().all(|name| error[name].is_string())
                };
                assert!(status == wanted && shaped, "{path}: {status} {reported}");
            }
        }
    };
    let (chat, api) = ("/v1/chat/completions", "/api/chat");
    cases(chat, api, 405, "", "");
    cases("/v1/embeddings", "/api/generate", 405, "", "");
    cases("/v1/chat/completions/x", "/api/../x", 404, "", "{}");
    cases("/v2/chat", "/api", 404, "", "{}");
    cases(chat, api, 413, "", &long);
    cases("/v1/responses", "/api/tags", 413, "", &long);
    cases(chat, api, 400, "", "{\"model\":\n nonsense");
    cases(chat, api, 400, "", "{\"model\":\"m\",\"messages\":7}");
    cases(chat, api, 400, "x-rsv-memory: some\r\n", &asking("x"));
    cases(chat, api, 400, "x-rsv-recall: some\r\n", &asking("x"));
    cases(chat, api, 403, "Origin: https://evil.example\r\n", &asking("x"));
    cases(chat, api, 400, "Content-Length: -1\r\n", "");
    cases(chat, api, 431, &format!("X: {}\r\n", "y".repeat(1 << 18)), "");
    cases(chat, api, 502, "", &asking("x"));
    cases(chat, api, 502, "x-rsv-memory: off\r\n", &asking("x"));
    cases("/v1/responses", "/api/show", 502, "", r#"{"model":"llama3.1"}"#);
    for (path, shape) in
        [("/partition/%FF/v1/models", "{\"error\":{"), ("/partition/%FF/api/tags", "{\"error\":\"")]
    {
        let (status, reported) = proxy.get(path);
        assert!(status == 400 && reported.starts_with(shape), "{path}: {reported}");
    }
    let rebound =
        b"POST /api/chat HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    let (status, reported) = proxy.raw(rebound);
    assert!(status == 403 && reported.contains("{\"error\":\"evil.example is not a name"), "{reported}");
}

/// Keeps: A key is never shown, logged or stored.
#[test]
fn a_key_is_sent_to_its_provider_and_nowhere_else() {
    let openai = Fake::answering(|seen| {
        let key = seen.header("authorization").unwrap_or_default();
        if seen.text().contains("refused?") {
            // Some providers repeat the key.
            Answer::new(401, json!({"error": {"message": format!("{key} is no key")}}).to_string())
        } else {
            Answer::new(200, REPLY)
        }
    });
    let secret = |url: &str| url.replace("http://", "http://me:canary-url@") + "/v1?key=canary-query";
    let home = Home::new()
        .env("RSV_OPENAI_BASE_URL", &secret(&openai.url()))
        .env("OPENAI_API_KEY", "canary-variable")
        .env("RSV_MISTRAL_BASE_URL", &secret(&dead()))
        .env("MISTRAL_API_KEY", "canary-other")
        .env("RSV_OLLAMA_BASE_URL", &secret(&dead()))
        .env("RSV_RETRIES", "0");
    let mut proxy = Proxy::start_with(&home, &["-v", "--log", "json"]);
    let mut reported = String::new();
    let bearer = "Authorization: Bearer sk-canary-bearer\r\nx-api-key: canary-header\r\n";
    for headers in ["", bearer] {
        for (model, question, stream) in [
            ("gpt-4o", "well?", false),
            ("gpt-4o", "well?", true),
            ("gpt-4o", "refused?", false),
            ("gpt-4o", "refused?", true),
            ("mistral-small", "well?", false),
            ("llama3.1", "well?", true),
        ] {
            let messages = json!([{"role": "user", "content": question}]);
            let body = json!({"model": model, "stream": stream, "messages": messages}).to_string();
            for path in [CHAT, "/v1/responses", "/api/chat"] {
                // The contents of an unchanged answer are the provider's responsibility.
                if path == CHAT || question != "refused?" {
                    reported += &proxy.whole(&post(&format!("{path}?api_key=canary-asked"), headers, &body));
                }
            }
        }
    }
    proxy.settle();
    reported += &["/health", "/v1/models", "/v1/command/view/99"].map(|path| proxy.get(path).1).concat();
    let keys: Vec<String> =
        openai.seen().iter().filter_map(|seen| seen.header("authorization").map(str::to_owned)).collect();
    assert!(
        ["canary-variable", "sk-canary-bearer"].iter().all(|key| keys.contains(&format!("Bearer {key}"))),
        "{keys:?}"
    );
    let (words, status) = proxy.last_words();
    assert!(status == Some(0) && words.lines().count() > 40, "{words}");
    for (what, text) in [("told", reported), ("said", words), ("stored", home.export())] {
        assert!(!text.contains("canary"), "{what}: {text}");
    }
}
