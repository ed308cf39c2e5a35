//! Several people share a server: each token reads, changes and forgets in its own partitions, and learns nothing of
//! others.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, asked, asking, home, post};
use crate::support::{Dice, Home, lines_of, number_from, tries};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const CHAT: &str = "chat/completions";

/// The same home, whose models are OpenAI's.
fn of_openai(provider: &Fake) -> Home {
    home(provider).env("RSV_OPENAI_BASE_URL", &provider.url()).env("OPENAI_API_KEY", "sk-own")
}

fn asking_openai(text: &str) -> String {
    asking(text).replace("llama3.1", "gpt-4o")
}

/// A token of a name, with more words for `rsv-config token add`.
fn add(home: &Home, name: &str, words: &[&str]) -> String {
    let words = [&["-q", "token", "add", name], words].concat();
    home.run("rsv-config", &words, "").ok().trim_end().to_owned()
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// The answer to a request without a body.
fn get(proxy: &Proxy, token: &str, path: &str) -> (u16, String) {
    proxy.raw(&asked("GET", path, &bearer(token)))
}

/// A message in each of some partitions, with its name in it.
fn remember(home: &Home, partitions: &[&str]) {
    for name in partitions {
        let line = json!({"role": "user", "content": format!("The owl canary-{name} sleeps.")});
        home.run("rsv-ingest", &["-q", "-p", name], format!("{line}\n")).ok();
    }
}

/// Waits until the turns of a partition are stored, as a token sees them.
fn until_viewed(proxy: &Proxy, token: &str, partition: &str, text: &str) {
    let path = format!("/partition/{partition}/command/view/50");
    crate::support::wait_for(text, || get(proxy, token, &path).1.contains(text));
}

/// Keeps: A token reads and writes its partitions, and learns nothing of others.
#[test]
fn a_token_reads_and_writes_its_own_partitions_and_learns_nothing_of_others() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = home(&provider);
    remember(&home, &["team-a", "team-b", "zebra"]);
    let token = add(&home, "anna", &["--partition", "team*"]);
    assert!(token.starts_with("rsv_") && token.len() == 68, "{token}");
    let mut proxy = Proxy::start_with(&home, &["--log", "json"]);
    assert_eq!(proxy.get("/partition/team-a/command/view/5").0, 401);
    assert!(get(&proxy, &token, "/partition/team-a/command/view/5").1.contains("canary-team-a"));
    // A partition that is not there and one of others look the same.
    let methods =
        ["/command/view/5", "/command/search/5?term=owl", "/health", "/memory", "/api/sessions", "/mcp"];
    for path in methods {
        let seen = |name: &str| {
            let (status, body) = get(&proxy, &token, &format!("/partition/{name}{path}"));
            (status, body.replace(name, "NAME"))
        };
        assert_eq!(seen("zebra"), seen("nobody"), "{path}");
        assert_eq!(seen("zebra").0, 404, "{path}");
    }
    let turn = |name: &str| {
        let path = format!("/partition/{name}/v1/{CHAT}");
        proxy.raw(&post(&path, &bearer(&token), &asking("Where is the owl?"))).0
    };
    assert_eq!((turn("zebra"), turn("nobody"), turn("team-b")), (404, 404, 200));
    assert_eq!(provider.seen().len(), 1);
    assert!(
        provider.seen()[0].text().contains("canary-team-b") && !provider.seen()[0].text().contains("zebra")
    );
    until_viewed(&proxy, &token, "team-b", "Where is the owl?");
    let asked = post(&format!("/partition/team-new/v1/{CHAT}"), &bearer(&token), &asking("What is there?"));
    let answer = proxy.raw(&asked).1;
    assert!(answer.contains("\"beyond_reach\":0"), "how many messages others have: {answer}");
    let (status, health) = get(&proxy, &token, "/health");
    assert_eq!(status, 200);
    for member in ["queues", "pending", "last_store", "connections", "memory_bytes", "zebra"] {
        assert!(!health.contains(member), "{member}: {health}");
    }
    assert_eq!(get(&proxy, &token, "/metrics").0, 403);
    for page in ["/memory", "/memory/search?q=owl", "/memory/search?q=owl&part=1"] {
        let html = get(&proxy, &token, page).1;
        assert!(
            html.contains("team-a") && html.contains("team-b") && !html.contains("zebra"),
            "{page}: {html}"
        );
    }
    assert_eq!(get(&proxy, &token, "/memory/conversations?p=zebra").0, 404);
    let logged = proxy.last_words().0;
    let line = logged.lines().rev().find(|line| line.contains("p=zebra") || line.contains("/memory/conv"));
    let line: Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!((line["token"].as_str(), line["client"].as_str()), (Some("anna"), Some("127.0.0.1")));
    assert!(!logged.contains(&token) && !home.read(".config/rsv/tokens.jsonl").contains(&token));
}

/// Keeps: A token that was revoked or has expired opens nothing, and no token is sent to a provider.
#[test]
fn a_token_that_was_revoked_or_has_expired_opens_nothing() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 4]);
    let home = of_openai(&provider);
    let token = add(&home, "anna", &["-p", "anna"]);
    let brief = add(&home, "guest", &["-p", "anna", "--expires", "2999-01-01"]);
    let proxy = Proxy::start(&home);
    let body = asking_openai("Hello");
    let ask = |headers: &str| proxy.raw(&post(&format!("/v1/{CHAT}"), headers, &body)).0;
    assert_eq!((ask(&bearer(&token)), ask(&bearer(&brief))), (200, 200));
    let other = format!("rsv_{}", "0".repeat(64));
    assert_eq!(ask(&format!("x-rsv-token: {token}\r\n{}x-session-id: {brief}\r\n", bearer(&other))), 200);
    for seen in provider.seen() {
        assert_eq!(seen.header("authorization"), Some("Bearer sk-own"));
        assert_eq!((seen.header("x-session-id"), seen.text().contains("rsv_")), (None, false));
    }
    home.run("rsv-config", &["token", "revoke", "guest"], "").ok();
    assert_eq!((ask(&bearer(&brief)), ask(&bearer(&token))), (401, 200));
    home.run("rsv-config", &["token", "revoke", "anna"], "").ok();
    assert_eq!((ask(&bearer(&token)), proxy.get("/health").0), (401, 401));
    let again = Proxy::start(&home);
    assert_eq!(again.get("/health").0, 401);
    std::fs::remove_file(home.path(".config/rsv/tokens.jsonl")).unwrap();
    assert_eq!(again.get("/health").0, 401);
    home.write(".config/rsv/tokens.jsonl", "{\"name\":\"half\n");
    assert_eq!(get(&again, &token, "/health").0, 503);
    let ran = home.run("rsv-proxy", &["--port", "0"], "");
    assert!(ran.status == 2 && ran.stderr.contains("tokens.jsonl:1: is no token"), "{}", ran.stderr);
    let home = home.at("2026-11-29T10:00:00Z");
    std::fs::remove_file(home.path(".config/rsv/tokens.jsonl")).unwrap();
    let brief = add(&home, "guest", &["-p", "anna", "--expires", "1h"]);
    let late = Proxy::start(&home.at("2026-11-29T11:00:01Z"));
    assert_eq!(get(&late, &brief, "/v1/models").0, 401);
}

/// Keeps: A token does what its rights say.
#[test]
fn a_token_does_what_its_rights_say() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 4]);
    let home = home(&provider);
    remember(&home, &["team"]);
    let token = |name: &str, rights: &str| add(&home, name, &["-p", "team", "--rights", rights]);
    let (reader, writer, cleaner) =
        (token("reader", "read"), token("writer", "write"), token("all", "read,forget"));
    let admin = token("admin", "admin");
    let proxy = Proxy::start(&home);
    let ask = |token: &str, text: &str| {
        let response = proxy.whole(&post(&format!("/v1/{CHAT}"), &bearer(token), &asking(text)));
        let mode = response.lines().find_map(|line| line.strip_prefix("x-rsv-memory: ").map(str::to_owned));
        mode.unwrap_or_else(|| panic!("{response}"))
    };
    assert_eq!(ask(&reader, "Where is the owl canary of the reader?"), "readonly");
    assert!(provider.seen()[0].text().contains("canary-team"));
    assert_eq!(ask(&writer, "Where is the owl canary of the writer?"), "store");
    assert!(!provider.seen()[1].text().contains("canary-team"));
    assert_eq!(ask(&admin, "Where is the owl?"), "off");
    until_viewed(&proxy, &reader, "team", "canary of the writer");
    assert!(!get(&proxy, &reader, "/command/view/50").1.contains("canary of the reader"));
    assert_eq!(get(&proxy, &writer, "/command/view/5").0, 403);
    assert_eq!((get(&proxy, &admin, "/metrics").0, get(&proxy, &reader, "/v1/files").0), (200, 403));
    let delete = |token: &str| proxy.raw(&asked("DELETE", "/api/sessions/team", &bearer(token))).0;
    assert_eq!(delete(&reader), 403);
    assert!(delete(&cleaner) != 403);
    let upload = proxy.raw(&post("/api/documents/upload", &bearer(&reader), "x"));
    assert!(upload.0 == 403 && upload.1.contains("reader has no right"), "{}", upload.1);
}

/// Keeps: A token spends at most its daily budget.
#[test]
fn a_token_spends_at_most_its_daily_budget() {
    let usage = REPLY
        .replace("\"total_tokens\":12345678901234567890", "\"prompt_tokens\":30,\"completion_tokens\":21");
    let provider = Fake::new(vec![Answer::new(200, usage); 4]);
    let home = home(&provider).at("2026-11-29T10:00:00Z");
    let token = add(&home, "anna", &["-p", "anna", "--daily-tokens", "100"]);
    let free = add(&home, "ben", &["-p", "anna"]);
    let ask = |proxy: &Proxy, token: &str, memory: &str| {
        let headers = format!("{}x-rsv-memory: {memory}\r\n", bearer(token));
        proxy.whole(&post(&format!("/v1/{CHAT}"), &headers, &asking("Hello")))
    };
    let mut proxy = Proxy::start(&home);
    assert!(ask(&proxy, &token, "full").starts_with("HTTP/1.1 200"));
    assert!(ask(&proxy, &token, "off").starts_with("HTTP/1.1 200"));
    let refused = ask(&proxy, &token, "full");
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("2026-11-30T00:00:00"), "{refused}");
    assert!(
        refused.contains("retry-after: 50401\r\n") && refused.contains("\"code\":\"budget_spent\""),
        "{refused}"
    );
    assert!(ask(&proxy, &free, "full").starts_with("HTTP/1.1 200"));
    for (path, wanted) in [("/api/chat", 429), ("/api/embed", 429), ("/v1/messages/count_tokens", 429)] {
        assert_eq!(proxy.raw(&post(path, &bearer(&token), &asking("Hello"))).0, wanted, "{path}");
    }
    assert_eq!(proxy.end(), Some(0));
    let again = Proxy::start(&home);
    assert!(ask(&again, &token, "full").starts_with("HTTP/1.1 429"));
    let tomorrow = Proxy::start(&home.at("2026-11-30T00:00:01Z"));
    assert!(ask(&tomorrow, &token, "full").starts_with("HTTP/1.1 200"));
}

/// Keeps: A token has keys of its own for providers.
#[test]
fn a_token_has_keys_of_its_own_for_providers() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 2]);
    let home = of_openai(&provider);
    let words = ["-q", "token", "add", "anna", "-p", "anna", "--provider-keys"];
    let token = home.run("rsv-config", &words, "openai=sk-annas\n").ok().trim_end().to_owned();
    let other = add(&home, "ben", &["-p", "ben"]);
    let proxy = Proxy::start(&home);
    for token in [&token, &other] {
        assert_eq!(proxy.raw(&post(&format!("/v1/{CHAT}"), &bearer(token), &asking_openai("Hello"))).0, 200);
    }
    let keys: Vec<Option<String>> =
        provider.seen().iter().map(|seen| seen.header("authorization").map(str::to_owned)).collect();
    assert_eq!(keys, [Some("Bearer sk-annas".to_owned()), Some("Bearer sk-own".to_owned())]);
    let listed = lines_of(&home.run("rsv-config", &["token", "list"], "").ok());
    assert_eq!((&listed[0]["provider_keys"], &listed[1]["state"]), (&json!(["openai"]), &json!("valid")));
    let ran =
        home.run("rsv-config", &[&words[..3], &["x", "-p", "x", "--provider-keys"]].concat(), "sk-bare\n");
    assert!(
        ran.status == 2 && !ran.stderr.contains("sk-bare") && ran.stderr.contains("line 1"),
        "{}",
        ran.stderr
    );
}

/// Keeps: A private partition is reached only by a token that names it.
#[test]
fn a_private_partition_is_reached_only_by_a_token_that_names_it() {
    let provider = Fake::new([]);
    let home = home(&provider);
    remember(&home, &["team-diary", "team-b"]);
    home.run("rsv-config", &["set", "partitions.team-diary.private", "true"], "").ok();
    let (all, own) = (add(&home, "all", &["-p", "*"]), add(&home, "own", &["-p", "team-diary"]));
    let proxy = Proxy::start(&home);
    let view = |token: &str, name: &str| get(&proxy, token, &format!("/partition/{name}/command/view/5")).0;
    assert_eq!((view(&all, "team-diary"), view(&all, "team-b")), (404, 200));
    assert_eq!((view(&own, "team-diary"), view(&own, "team-b")), (200, 404));
    assert!(!get(&proxy, &all, "/memory").1.contains("team-diary"));
}

/// Keeps: The users of the chat backend are those of a token.
#[test]
fn the_users_of_the_chat_backend_are_those_of_a_token() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = home(&provider);
    remember(&home, &["anna", "ben"]);
    let token = add(&home, "anna", &["-p", "anna", "--rights", "read,write,forget"]);
    let proxy = Proxy::start(&home);
    let chat = |user: &str| {
        let body = json!({"message": "Hello", "user_id": user, "model": "llama3.1"}).to_string();
        proxy.raw(&post("/api/ai/chat", &bearer(&token), &body)).0
    };
    assert_eq!((chat("ben"), chat("nobody"), chat("anna"), chat("")), (404, 404, 200, 200));
    // A session of another user is none.
    let body = json!({"message": "Hello", "session_id": "ben", "model": "llama3.1"}).to_string();
    assert_eq!(proxy.raw(&post("/api/ai/chat", &bearer(&token), &body)).0, 200);
    for path in ["/api/sessions?user_id=ben", "/api/documents?user_id=ben"] {
        assert_eq!(get(&proxy, &token, path).0, 404, "{path}");
    }
    assert_eq!(proxy.raw(&asked("DELETE", "/api/sessions/ben?user_id=ben", &bearer(&token))).0, 404);
    let named = format!("{}x-user-id: ben\r\n", bearer(&token));
    assert_eq!(proxy.raw(&asked("GET", "/api/sessions", &named)).0, 404);
}

/// Keeps: Requests of two tokens are never one.
#[test]
fn requests_of_two_tokens_are_never_one() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 4]);
    let home = of_openai(&provider);
    let tokens = [add(&home, "anna", &["-p", "team"]), add(&home, "ben", &["-p", "team"])];
    let proxy = Proxy::start(&home);
    let headers = "idempotency-key: k\r\nopenai-organization: org\r\nx-rsv-instance: laptop\r\n";
    for token in &tokens {
        let request =
            post(&format!("/v1/{CHAT}"), &format!("{headers}{}", bearer(token)), &asking_openai("Hello"));
        assert_eq!(proxy.raw(&request).0, 200);
        let path = "/partition/team/instance/laptop/command/view/9";
        crate::support::wait_for("the turn", || get(&proxy, token, path).1.contains("Hello"));
    }
    let keys: Vec<Option<String>> =
        provider.seen().iter().map(|seen| seen.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys[0].is_some() && keys[0] != keys[1] && keys[0].as_deref() != Some("k"), "{keys:?}");
    assert!(provider.seen().iter().all(|seen| seen.header("openai-organization").is_none()));
}

/// Keeps: The file of the tokens is never taken for none.
#[test]
fn the_file_of_the_tokens_is_never_taken_for_none() {
    let home = home(&Fake::new([]));
    let token = add(&home, "anna", &["-p", "anna"]);
    let file = home.path(".config/rsv/tokens.jsonl");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let elsewhere = home.path("tokens");
    std::fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    add(&home, "ben", &["-p", "ben"]);
    let tokens = home.read("tokens");
    assert!(file.is_symlink() && tokens.lines().count() == 2, "{tokens}");
    home.write("tokens", &format!("{tokens}{tokens}"));
    let ran = home.run("rsv-config", &["token", "revoke", "anna"], "");
    assert!(ran.status == 2 && ran.stderr.contains("anna is there twice"), "{}", ran.stderr);
    home.write("tokens", &tokens);
    // A command gets the rights of whoever runs it, and its proxy is closed to others.
    let words = ["sh", "-c", "echo $OPENAI_API_KEY"];
    let given = home.run("rsv-proxy", &words, "").ok();
    assert!(given.starts_with("rsv_") && given.trim() != token, "{given}");
    std::fs::remove_file(&elsewhere).unwrap();
    let ran = home.run("rsv-proxy", &["--port", "0"], "");
    assert!(ran.status == 2 && ran.stderr.contains("tokens.jsonl"), "{}", ran.stderr);
    std::fs::remove_file(&file).unwrap();
    let public = home.env("RSV_PROXY_PUBLIC_URL", "https://memory.example.org");
    let ran = public.run("rsv-proxy", &["--port", "0"], "");
    assert!(ran.status == 2 && ran.stderr.contains("token"), "{}", ran.stderr);
    let ran = home.run("rsv-config", &["token", "add", "x", "-p", "x", "-i", "y"], "");
    assert!(ran.status == 2 && ran.stderr.contains("whole partitions"), "{}", ran.stderr);
}

/// The answer of the Model Context Protocol to a request.
fn mcp(proxy: &Proxy, token: &str, path: &str, method: &str, parameters: &Value) -> (u16, String) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).to_string();
    let headers = format!("{}Accept: application/json, text/event-stream\r\n", bearer(token));
    proxy.raw(&post(path, &headers, &body))
}

/// Keeps: rsv-mcp's tools are there over HTTP, within the rights of a token.
#[test]
fn the_tools_of_rsv_mcp_are_there_over_http_within_the_rights_of_a_token() {
    let home = home(&Fake::new([]));
    remember(&home, &["team", "zebra"]);
    let (reader, writer) =
        (add(&home, "reader", &["-p", "team", "--rights", "read"]), add(&home, "writer", &["-p", "team"]));
    let proxy = Proxy::start(&home);
    let tools = |token: &str| {
        let (status, listed) = mcp(&proxy, token, "/mcp", "tools/list", &json!({}));
        assert_eq!(status, 200, "{listed}");
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let names = listed["result"]["tools"].as_array().unwrap().clone();
        names.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(
        tools(&reader).contains(&"recall".to_owned())
            && !tools(&reader).contains(&"memory_record".to_owned())
    );
    assert!(
        tools(&writer).contains(&"memory_record".to_owned())
            && !tools(&writer).contains(&"forget".to_owned())
    );
    let call = |token: &str, arguments: Value| {
        mcp(&proxy, token, "/mcp", "tools/call", &json!({"name": "recall", "arguments": arguments})).1
    };
    let found = call(&writer, json!({"query": "owl"}));
    assert!(found.contains("canary-team") && !found.contains("zebra"), "{found}");
    let foreign = call(&writer, json!({"query": "owl", "project_id": "zebra"}));
    assert!(!foreign.contains("canary-zebra"), "{foreign}");
    let record =
        json!({"name": "memory_record", "arguments": {"title": "Owls", "content": "They sleep by day."}});
    let recorded = mcp(&proxy, &writer, "/mcp", "tools/call", &record).1;
    assert!(recorded.contains("result") && !recorded.contains("isError\":true"), "{recorded}");
    assert_eq!(mcp(&proxy, &writer, "/partition/zebra/mcp", "tools/list", &json!({})).0, 404);
    assert_eq!(home.contents("rsv-view", &["-p", "team", "--kind", "memory"]).len(), 1);
}

/// Keeps: Behind a server with TLS, pages are those of the public address.
#[test]
fn behind_another_server_pages_are_those_of_the_public_address() {
    let home = home(&Fake::new([])).env("RSV_PROXY_PUBLIC_URL", "https://Memory.example.org/");
    let token = add(&home, "anna", &["-p", "anna"]);
    let proxy = Proxy::start(&home);
    let status = |host: &str, origin: &str, more: &str| {
        let request = format!(
            "GET /v1/models HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n{}{more}Connection: close\r\n\r\n",
            bearer(&token)
        );
        proxy.raw(request.as_bytes()).0
    };
    let public = "memory.example.org";
    assert!(status(public, "https://memory.example.org", "") != 403);
    assert_eq!(status(public, "https://evil.example", ""), 403);
    assert_eq!(
        status("evil.example", "https://evil.example", "X-Forwarded-Host: memory.example.org\r\n"),
        403
    );
    assert_eq!(status(public, "https://other.example", "X-Forwarded-Host: other.example\r\n"), 403);
    let form = format!("token={token}&to=");
    let login = |host: &str| {
        let request = format!(
            "POST /memory/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{form}",
            form.len()
        );
        let response = proxy.whole(request.as_bytes());
        response.lines().find(|line| line.starts_with("set-cookie")).unwrap_or_default().to_owned()
    };
    assert!(login(public).ends_with("; Secure"), "{}", login(public));
    assert!(login("localhost").contains("rsv-page=") && !login("localhost").contains("Secure"));
    let ran =
        home.env("RSV_PROXY_PUBLIC_URL", "https://x.example/rsv").run("rsv-proxy", &["--port", "0"], "");
    assert!(ran.status == 2 && ran.stderr.contains("without a path"), "{}", ran.stderr);
}

/// Keeps: Of many tokens, none learns of another's partition by any request.
#[test]
fn of_many_tokens_none_learns_of_anothers_partition_by_any_request() {
    const TOKENS: usize = 20;
    let provider = Fake::answering(|_| Answer::new(200, REPLY));
    let home = home(&provider);
    let names: Vec<String> = (0..TOKENS).map(|at| format!("zone{at:02}x")).collect();
    remember(&home, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let tokens: Vec<String> = names
        .iter()
        .map(|name| add(&home, name, &["-p", &format!("{name}*"), "--rights", "read,write,forget"]))
        .collect();
    let proxy = Proxy::start(&home);
    tries(number_from("RSV_TEST_REQUESTS").unwrap_or(200), |mut dice| {
        let own = dice.below(TOKENS);
        let named = match dice.below(4) {
            0 => "nowhere".to_owned(),
            1 => names[own].clone(),
            _ => names[dice.below(TOKENS)].clone(),
        };
        let request = random_request(&mut dice, &tokens[own], &named);
        let answer = proxy.whole(&request);
        let shown = String::from_utf8_lossy(&request).into_owned();
        for other in names.iter().filter(|name| **name != names[own]) {
            assert!(!answer.contains(&format!("canary-{other}")), "{shown}\n{answer}");
            assert!(*other == named || !answer.contains(other.as_str()), "{shown}\n{answer}");
        }
        if named != names[own] && shown.starts_with("GET") {
            // Whether or not there is such a partition.
            let unnamed = |answer: &str, name: &str| {
                let kept = answer.lines().filter(|line| !line.to_lowercase().starts_with("date:"));
                let kept: Vec<&str> = kept.filter(|line| !line.starts_with("content-length")).collect();
                kept.join("\n").replace(name, "NAME")
            };
            let nowhere = shown.replace(&named, "nowhere");
            let other = proxy.whole(nowhere.as_bytes());
            assert_eq!(unnamed(&answer, &named), unnamed(&other, "nowhere"), "{shown}");
        }
    });
    for seen in provider.seen() {
        let spoken = names.iter().filter(|name| seen.text().contains(&format!("canary-{name}"))).count();
        assert!(spoken <= 1, "{}", seen.text());
    }
}

/// A request to any of the endpoints, which names a partition in one of the ways to do so.
fn random_request(dice: &mut Dice, token: &str, named: &str) -> Vec<u8> {
    let headers = match dice.below(3) {
        0 => bearer(token),
        1 => format!("x-rsv-token: {token}\r\n"),
        _ => format!("x-api-key: {token}\r\n"),
    };
    let reads = [
        "/command/view/50",
        "/command/search/50?term=owl",
        "/command/search/50?term=canary&hybrid=1",
        "/health",
        "/metrics",
        "/memory",
        "/memory/conversations",
        "/memory/search?q=owl",
        "/memory/calendar",
        "/memory/calendar.svg",
        "/memory/memories",
        "/memory/documents",
        "/api/sessions",
        "/api/documents",
        "/v1/files",
        "/v1/models/gpt-4o",
        "/",
    ];
    let path = reads[dice.below(reads.len())];
    let joint = if path.contains('?') { '&' } else { '?' };
    let by_header = format!("{headers}x-rsv-partition: {named}\r\n");
    let message = asking("Where does the owl canary sleep?");
    match dice.below(9) {
        0 | 1 => asked("GET", &format!("/partition/{named}{path}"), &headers),
        2 => asked("GET", path, &by_header),
        3 => asked("GET", &format!("{path}{joint}p={named}&user_id={named}&i={named}"), &headers),
        4 => post(&format!("/v1/{CHAT}/{named}/{named}"), &headers, &message),
        5 => post(&format!("/v1/{CHAT}"), &by_header, &message),
        6 => {
            let body = json!({"message": "Where does the owl sleep?", "user_id": named, "model": "llama3.1"});
            post("/api/ai/chat", &headers, &body.to_string())
        }
        7 => asked("DELETE", &format!("/api/sessions/{named}?user_id={named}"), &headers),
        _ => {
            let headers = format!("{by_header}Accept: application/json, text/event-stream\r\n");
            let arguments = json!({"query": "owl canary", "project_id": named});
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "recall", "arguments": arguments}});
            post("/mcp", &headers, &call.to_string())
        }
    }
}
