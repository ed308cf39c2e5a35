//! The pages by which people look at the memory, as a person uses them in a real browser, and as a program that is none
//! sees them. `scripts/clients` installs what drives the browser; without it, these tests are left out.

use crate::browser::{HOSTILE, browser, use_pages};
use crate::clients::clients;
use crate::docs::{read, root};
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, asked, asking, post};
use crate::support::{Home, lines_of, on_each_store};
use serde_json::{Value, json};

const TOKEN: &str = "canary-token";

/// The things that a person does, in the order in which `clients/page.mjs` does it.
const THINGS: [&str; 29] = [
    "sees the partitions",
    "sees the conversations by day, newest first",
    "turns to earlier conversations",
    "reads Markdown",
    "copies code",
    "unfolds a long message",
    "turns the pages of a huge conversation",
    "searches while typing",
    "filters by kind",
    "filters by the program",
    "filters by the day",
    "opens a hit at its place",
    "moves by keys",
    "skips to the content",
    "reads memories and their confidence",
    "walks the tree of documents",
    "looks at the graph",
    "looks at the calendar",
    "sees what was recalled, and why",
    "undoes forgetting in time",
    "forgets a message and a turn",
    "forgets a conversation without a script",
    "searches without a script",
    "logs in and out",
    "sees no text of another partition in a named one",
    "runs no script of a message",
    "reads on a narrow screen",
    "meets the rules of accessibility in light and dark",
    "loads nothing from elsewhere, and no page complains",
];

const MARKDOWN: &str = "Here it is, <b>bold</b>:\n\n|bed|what|\n|---|---|\n|north|beans|\n\n```rust\nfn main() {\n\n    \
    grow();\n}\n```\n\nSee [the wall](https://wall.example/), ![a bean](https://wall.example/bean.png) and \
    [nothing](javascript:alert(1)).";

/// A message of an instance of the partition garden, some minutes after the beginning of the year.
fn message(instance: &str, minute: usize, role: &str, content: &str) -> Value {
    let at = 1_767_225_600_000_u64 + minute as u64 * 60_000;
    json!({"kind": "message", "partition": "garden", "instance": instance, "role": role, "content": content,
        "trace_id": format!("{instance}-{}", minute / 2), "timestamp": at})
}

fn lines() -> Vec<Value> {
    let mut lines = Vec::new();
    for at in 0..60 {
        lines.push(message(&format!("old-{at}"), at, "user", &format!("An old question {at} of compost")));
    }
    lines.extend((0..200).map(|at| message("huge", 1000 + at, "user", &format!("entry {at}"))));
    let long = format!("It begins. {} This is the end of it.", "A word of many. ".repeat(500));
    lines.push(message("long", 2000, "user", &long));
    for at in 0..6 {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        lines.push(message("gone", 3000 + at, role, &format!("To be forgotten, part {at}")));
    }
    lines.push(message("wall", 4000, "user", "The tomatoes stand by the warm wall, and the peas do not."));
    for (at, text) in HOSTILE.iter().enumerate() {
        let mut line = message("hostile", 5000 + at, "user", text);
        line["id"] = json!(format!("\"><script>hacked{at}"));
        lines.push(line);
    }
    let day = 24 * 60;
    lines.push(message("hoses", 31 * day + 600, "user", "hoses by hand"));
    let mut by_codex = message("hoses", 32 * day + 600, "user", "hoses by codex");
    by_codex["source"] = json!("codex");
    lines.push(by_codex);
    lines.push(message("markdown", 60 * day, "user", "# Beds and code"));
    lines.push(message("markdown", 60 * day + 1, "assistant", MARKDOWN));
    let mut other = message("secret", 0, "user", "elsewhere-canary, tomatoes and peas");
    other["partition"] = json!("other");
    lines.push(other);
    lines
}

/// Stores all that the pages show in a home, a turn of it through the proxy.
fn fill(home: &Home) {
    let provider = Fake::new(vec![Answer::new(200, REPLY)]);
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).at("2026-06-01T08:00:00Z");
    let lines: String = lines().iter().map(|line| format!("{line}\n")).collect();
    home.run("rsv-import", &["--quiet"], lines).ok();
    let memory = json!({"kind": "memory", "title": "Soak the peas", "content": "Soak **peas** before they are sown.",
        "category": "strategy", "outcome": "success"});
    let memory = home.ingest(&["-p", "garden"], &format!("{memory}\n"));
    let id = memory[0]["id"].as_str().unwrap();
    home.run("rsv-signal", &["-p", "garden", "--helpful", id], "").ok();
    home.write("notes/peas.md", "# Peas\n\nSow them in March.\n");
    home.write("notes/tools/hoe.md", "# The hoe\n\nIt hangs in the shed.\n");
    let parsed = home.run("rsv-parse", &["notes", "-p", "garden"], "").ok();
    home.run("rsv-ingest", &["--mirror"], parsed).ok();
    let mut proxy = Proxy::start(&home);
    let asked = asking("What did I say of the tomatoes?");
    assert_eq!(proxy.post("/partition/garden/v1/chat/completions", "", &asked).0, 200);
    assert_eq!(proxy.end(), Some(0));
}

fn address(proxy: &Proxy) -> String {
    format!("http://127.0.0.1:{}", proxy.port())
}

/// Keeps: A person reads, searches and forgets in the page, by mouse, by keys, and without a script.
#[test]
fn a_person_looks_at_the_memory_in_a_browser() {
    let (Some(browser), Some(clients)) = (browser(), clients("page")) else { return };
    let home = Home::new();
    fill(&home);
    let (proxy, guarded) = (Proxy::start(&home), Proxy::start(&home.env("RSV_PROXY_TOKEN", TOKEN)));
    let words = [browser, &address(&proxy), &address(&guarded), TOKEN];
    let done = use_pages(&clients, &home, "page.mjs", &words);
    let wrong: Vec<_> = done.iter().filter(|(_, why)| !why.is_null()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let done: Vec<&str> = done.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(done, THINGS);
    home.check();
}

/// Draws the picture of a page for README, of the messages of `scripts/demo`, if `RSV_TEST_RECORD` names a directory for
/// it.
#[test]
fn the_picture_of_the_page_is_drawn() {
    let Some(directory) = std::env::var_os("RSV_TEST_RECORD") else { return };
    let (Some(browser), Some(clients)) = (browser(), clients("page")) else { return };
    let home = Home::new();
    let messages = read("scripts/demo.jsonl");
    let lines = messages.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let trace = line["trace_id"].as_str().unwrap().to_owned();
        (line["partition"], line["instance"]) = (json!("home"), json!(trace));
        format!("{line}\n")
    });
    home.run("rsv-import", &["--quiet"], lines.collect::<String>()).ok();
    let (proxy, picture) = (Proxy::start(&home), root().join(directory).join("page.png"));
    let words = [browser, &address(&proxy), "", "", picture.to_str().unwrap()];
    assert!(use_pages(&clients, &home, "page.mjs", &words).is_empty());
    assert!(std::fs::metadata(picture).unwrap().len() <= 150_000);
}

const HTML: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

/// The status and the body of a page, as a browser asks for it.
fn page(proxy: &Proxy, path: &str) -> (u16, String) {
    proxy.raw(&asked("GET", path, HTML))
}

/// A form that is posted to a page.
fn form(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let form = post(path, headers, body);
    let form = String::from_utf8(form).unwrap();
    form.replace("Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded")
        .into_bytes()
}

const SAME_ORIGIN: &str = "Sec-Fetch-Site: same-origin\r\n";

/// Every store has the same pages, and forgets by them.
fn every_page_shows_what_is_stored(home: Home) {
    fill(&home);
    let proxy = Proxy::start(&home);
    for (path, shown) in [
        ("/", "href=\"/memory/conversations?p=garden\""),
        ("/memory", "in 68 conversations"),
        ("/memory/conversations?p=garden", "Earlier conversations"),
        ("/memory/conversation?p=garden&i=wall", "by the warm wall"),
        ("/memory/conversation?p=garden&i=huge&from=start", "<p>entry 0</p>"),
        ("/memory/conversation?p=garden&i=garden", "1 record recalled"),
        ("/memory/search?q=warm", "by the <mark>warm</mark> wall"),
        ("/memory/search?p=garden&q=hoses&source=codex", "1 hit"),
        ("/memory/memories?p=garden", "alpha 3.61, beta 0.80; 0 uses; explicit 1 for, 0 against"),
        ("/memory/documents?p=garden&uri=viking://resources/notes/peas.md", "Sow them in March."),
        ("/memory/graph?p=garden", "<circle"),
        ("/memory/calendar?p=garden", "calendar.svg?p=garden"),
        ("/memory/calendar.svg", "<title>1 Jun 2026: 2 messages</title>"),
    ] {
        let (status, body) = page(&proxy, path);
        assert!(status == 200 && body.contains(shown), "{path}: {status} {body}");
    }
    for (path, wanted) in [
        ("/memory/conversation?p=garden&i=nowhere", 404),
        ("/memory/conversation?p=garden&i=wall&at=nowhere", 404),
        ("/memory/documents?p=garden&uri=viking://user/other", 404),
        ("/memory/search?q=%FF", 400),
        ("/memory/memories?p=garden&skip=x", 400),
        ("/memory/nowhere", 404),
    ] {
        assert_eq!(page(&proxy, path).0, wanted, "{path}");
    }
    let forgotten = proxy.raw(&form("/memory/forget?p=garden&i=gone&trace=gone-1500", SAME_ORIGIN, ""));
    assert_eq!(forgotten.0, 303, "{forgotten:?}");
    assert_eq!(home.contents("rsv-view", &["-p", "garden", "-i", "gone"]).len(), 4);
    assert_eq!(proxy.raw(&form("/memory/forget?p=garden&i=gone&all=1", SAME_ORIGIN, "")).0, 303);
    assert!(home.contents("rsv-view", &["-p", "garden", "-i", "gone"]).is_empty());
    assert_eq!(page(&proxy, "/memory/conversation?p=garden&i=gone").0, 404);
    assert_eq!(home.contents("rsv-view", &["-p", "garden", "-i", "wall"]).len(), 1);
    drop(proxy);
    home.check();
}

on_each_store!(every_page_shows_what_is_stored);

#[test]
fn a_search_by_meaning_finds_other_words() {
    let home = Home::with_model();
    for text in ["The cat sleeps on the warm stove.", "The invoice is due in March."] {
        home.run("rsv-ingest", &["-q", "-p", "home", text], "").ok();
    }
    home.run("rsv-embed", &["--pending"], "").ok();
    let proxy = Proxy::start(&home);
    let by_words = page(&proxy, "/memory/search?q=kitten+asleep").1;
    assert!(by_words.contains("0 hits") && by_words.contains("Nothing has all of these words"), "{by_words}");
    let by_meaning = page(&proxy, "/memory/search?q=kitten+asleep&meaning=1").1;
    let (first, _) = by_meaning.split_once("</li>").unwrap();
    assert!(first.contains("The cat sleeps"), "{by_meaning}");
}

#[test]
fn programs_get_the_answer_at_the_root_that_they_know() {
    let proxy = Proxy::start(&Home::new());
    for accept in ["", "Accept: */*\r\n", "Accept: application/json\r\n", "Accept: text/*\r\n"] {
        for path in ["/", "/v1", "/partition/p/"] {
            let known = (200, "{\"name\":\"rsv-proxy\"}\n".to_owned());
            assert_eq!(proxy.raw(&asked("GET", path, accept)), known, "{path} {accept}");
        }
    }
    let head = proxy.whole(&asked("HEAD", "/", HTML));
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-type: application/json"), "{head}");
    let (status, empty) = page(&proxy, "/");
    assert!(status == 200 && empty.contains("<code>rsv-import --find</code>"), "{empty}");
    let off = Proxy::start(&Home::new().env("RSV_PROXY_PAGE", "false"));
    assert_eq!(page(&off, "/").1, "{\"name\":\"rsv-proxy\"}\n");
    assert_eq!(page(&off, "/memory").0, 404);
}

/// Keeps: The pages of a partition show nothing of another, and forget nothing there.
#[test]
fn a_named_partition_shows_and_forgets_nothing_of_another() {
    let home = Home::new();
    fill(&home);
    let secret = lines_of(&home.run("rsv-view", &["-p", "other"], "").ok());
    let id = secret[0]["id"].as_str().unwrap();
    let proxy = Proxy::start(&home);
    let of_other = |path: &str| format!("/partition/garden/memory{path}");
    for path in [
        "/conversations?p=other".to_owned(),
        "/conversation?p=other&i=secret".to_owned(),
        "/conversation?i=secret".to_owned(),
        "/search?p=other&q=canary".to_owned(),
        "/search?q=elsewhere".to_owned(),
        format!("/record?id={id}"),
        format!("/record?p=other&id={id}"),
        format!("/text?id={id}"),
        "/calendar?p=other".to_owned(),
        "/graph?p=other".to_owned(),
        String::new(),
    ] {
        for headers in [HTML, "x-rsv-partition: other\r\n"] {
            let (_, body) = proxy.raw(&asked("GET", &of_other(&path), headers));
            assert!(!body.contains("canary") && !body.contains("secret<"), "{path}: {body}");
        }
    }
    let instance = page(&proxy, "/partition/garden/instance/wall/memory").1;
    assert!(instance.contains("tomatoes") && !instance.contains("hoses"), "{instance}");
    let outside = "/partition/garden/instance/wall/memory/conversation?i=hoses";
    assert_eq!(page(&proxy, outside).0, 404);
    assert!(
        page(&proxy, "/memory/record?p=other&id=x").0 == 404 && page(&proxy, "/memory").1.contains("other")
    );
    for path in [
        of_other("/forget?p=other&i=secret&all=1"),
        of_other("/forget?i=secret&all=1"),
        of_other(&format!("/forget?i=garden&id={id}")),
        "/partition/garden/instance/wall/memory/forget?i=hoses&all=1".to_owned(),
    ] {
        assert_eq!(proxy.raw(&form(&path, SAME_ORIGIN, "")).0, 404, "{path}");
    }
    assert_eq!(home.contents("rsv-view", &["-p", "other"]).len(), 1);
    assert_eq!(home.contents("rsv-view", &["-p", "garden", "-i", "hoses"]).len(), 2);
}

/// Keeps: Nothing but a page of the proxy itself forgets by it.
#[test]
fn only_a_page_of_the_proxy_itself_may_forget() {
    let home = Home::new().env("RSV_PROXY_ORIGINS", "https://page.example");
    home.ingest(&["-p", "garden", "-i", "desk"], "{\"role\":\"user\",\"content\":\"canary\"}\n");
    let proxy = Proxy::start(&home);
    for headers in [
        "",
        "Sec-Fetch-Site: none\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: https://page.example\r\n",
        "Sec-Fetch-Site: same-origin\r\nOrigin: null\r\n",
        "Sec-Fetch-Site: same-origin\r\nOrigin: https://evil.example\r\n",
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: same-origin\r\n",
    ] {
        let (status, body) = proxy.raw(&form("/memory/forget?p=garden&i=desk&all=1", headers, ""));
        assert_eq!(status, 403, "{headers}: {body}");
    }
    assert_eq!(proxy.raw(&asked("GET", "/memory/forget?p=garden", SAME_ORIGIN)).0, 405);
    for (query, wanted) in [("", 404), ("i=desk", 400), ("i=desk&id=x&all=1", 400), ("i=desk&id=x", 404)] {
        let path = format!("/memory/forget?p=garden&{query}");
        assert_eq!(proxy.raw(&form(&path, SAME_ORIGIN, "")).0, wanted, "{query}");
    }
    assert_eq!(home.contents("rsv-view", &["-p", "garden"]), ["canary"]);
    assert_eq!(proxy.raw(&form("/memory/forget?p=garden&i=desk&all=1", SAME_ORIGIN, "")).0, 303);
    assert!(home.contents("rsv-view", &["-p", "garden"]).is_empty());
}

/// The cookie that an answer sets.
fn cookie(answer: &str) -> String {
    let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    format!("Cookie: {}\r\n", set.split(';').next().unwrap())
}

/// Keeps: The cookie of a page opens only the pages.
#[test]
fn the_cookie_of_a_login_opens_the_pages_alone() {
    let provider = Fake::new([]);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_PROXY_TOKEN", TOKEN);
    home.ingest(&["-p", "garden"], "{\"role\":\"user\",\"content\":\"canary\"}\n");
    let proxy = Proxy::start(&home);
    let root = proxy.whole(&asked("GET", "/", HTML));
    assert!(root.starts_with("HTTP/1.1 303") && root.contains("location: /memory\r\n"), "{root}");
    let long = format!("token={}", "x".repeat(70_000));
    assert_eq!(proxy.raw(&form("/memory/login", SAME_ORIGIN, &long)).0, 413);
    for path in ["/memory", "/memory/conversation?p=garden&i=garden", "/partition/garden/memory"] {
        let (status, body) = page(&proxy, path);
        assert!(
            status == 401 && body.contains("name=\"token\"") && !body.contains("canary"),
            "{path}: {body}"
        );
    }
    assert_eq!(proxy.raw(&form("/memory/forget?p=garden&i=garden&all=1", SAME_ORIGIN, "")).0, 401);
    let wrong = proxy.whole(&form("/memory/login", SAME_ORIGIN, "token=canary-toke"));
    assert!(wrong.starts_with("HTTP/1.1 401") && !wrong.contains("set-cookie"), "{wrong}");
    let elsewhere = proxy.whole(&form("/memory/login", "", &format!("token={TOKEN}&to=//evil.example")));
    assert!(elsewhere.contains("location: /memory\r\n"), "{elsewhere}");
    for to in ["/memory/..//evil.example", "/memory?%0a", "/memory/%5Cevil.example", "/memoryx"] {
        let kept = proxy.whole(&form("/memory/login", SAME_ORIGIN, &format!("token={TOKEN}&to={to}")));
        assert!(kept.contains("location: /memory\r\n"), "{to}: {kept}");
    }
    // A post without a login leads to a page that can be opened.
    let lost = proxy.whole(&form("/memory/logout", SAME_ORIGIN, ""));
    assert!(lost.starts_with("HTTP/1.1 401") && lost.contains("name=\"to\" value=\"\""), "{lost}");
    let again = proxy.whole(&asked("GET", "/memory/login", HTML));
    assert!(again.starts_with("HTTP/1.1 303") && again.contains("location: /memory\r\n"), "{again}");
    let login =
        proxy.whole(&form("/memory/login", SAME_ORIGIN, &format!("token={TOKEN}&to=/memory/search?q=x")));
    assert!(
        login.starts_with("HTTP/1.1 303") && login.contains("location: /memory/search?q=x\r\n"),
        "{login}"
    );
    assert!(
        login.contains("; Path=/memory; HttpOnly; SameSite=Strict\r\n") && !login.contains(TOKEN),
        "{login}"
    );
    let cookie = cookie(&login);
    let with = |method: &str, path: &str| proxy.raw(&asked(method, path, &format!("{cookie}{HTML}")));
    assert!(with("GET", "/memory/conversation?p=garden&i=garden").1.contains("canary"));
    for path in
        ["/command/view", "/health", "/metrics", "/v1/models", "/api/sessions", "/chat", "/v1/responses/x"]
    {
        assert_eq!(with("GET", path).0, 401, "{path}");
    }
    assert_eq!(with("DELETE", "/api/sessions/garden").0, 401);
    assert_eq!(proxy.post("/v1/chat/completions", &cookie, &asking("x")).0, 401);
    let forged = cookie.replace("=", "=0");
    assert_eq!(proxy.raw(&asked("GET", "/memory", &forged)).0, 401);
    let out = proxy.whole(&form("/memory/logout", &format!("{SAME_ORIGIN}{cookie}"), ""));
    assert!(out.starts_with("HTTP/1.1 303") && out.contains("Max-Age=0"), "{out}");
    assert_eq!(with("GET", "/memory").0, 401);
    let bearer = format!("{HTML}Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(proxy.raw(&asked("GET", "/", &bearer)).0, 200);
    assert!(provider.seen().is_empty());
}

/// Keeps: A page runs no script but its own, and loads nothing from elsewhere.
#[test]
fn pages_are_strict_and_small() {
    let home = Home::new();
    fill(&home);
    let proxy = Proxy::start(&home);
    for path in
        ["/", "/memory/conversation?p=garden&i=hostile", "/memory/search?q=hacked", "/memory/nowhere?p=x"]
    {
        let answer = proxy.whole(&asked("GET", path, HTML));
        if answer.starts_with("HTTP/1.1 404") {
            continue;
        }
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        for header in
            ["cache-control: no-store", "referrer-policy: same-origin", "x-content-type-options: nosniff"]
        {
            assert!(head.lines().any(|line| line == header), "{header}: {head}");
        }
        let inner = |name: &str| {
            let rest = body.split_once(&format!("<{name}>")).unwrap().1;
            rest.split_once(&format!("</{name}>")).unwrap().0.len()
        };
        assert!(inner("script") + inner("style") <= 40_000);
        assert_eq!(body.matches("<script").count(), 1, "{body}");
        assert!(!body.contains("src=\"http") && !body.contains("<link") && !body.contains("<img"), "{body}");
    }
    let text = proxy.whole(&asked("GET", "/memory/text?p=garden&id=%22%3E%3Cscript%3Ehacked0", HTML));
    assert!(text.contains("content-type: text/plain") && text.contains("sandbox"), "{text}");
    assert!(text.ends_with(HOSTILE[0]), "{text}");
}

/// The first address in a page that begins like this.
fn linked(body: &str, beginning: &str) -> String {
    let (_, rest) =
        body.split_once(&format!("\"{beginning}")).unwrap_or_else(|| panic!("{beginning}: {body}"));
    format!("{beginning}{}", rest.split('"').next().unwrap().replace("&amp;", "&"))
}

#[test]
fn names_of_any_kind_are_linked_shown_and_forgotten() {
    for (partition, instance, id) in
        [("..", ".", "a/../b"), ("a/b \u{fc}\u{200c}<&\"'", "x\n\u{202e}y\tz?#%", "\u{200b}<m> 1\r\n&amp;")]
    {
        let home = Home::new();
        let mut line = message(instance, 0, "user", "canary");
        (line["partition"], line["id"]) = (json!(partition), json!(id));
        home.run("rsv-import", &["--quiet"], format!("{line}\n")).ok();
        let proxy = Proxy::start(&home);
        let conversations = linked(&page(&proxy, "/").1, "/memory/conversations?p=");
        let conversation = linked(&page(&proxy, &conversations).1, "/memory/conversation?");
        let shown = page(&proxy, &conversation).1;
        assert!(shown.contains("<p>canary</p>"), "{shown}");
        let found = page(&proxy, "/memory/search?q=canary").1;
        let place = linked(&found, "/memory/conversation?");
        assert!(page(&proxy, place.split('#').next().unwrap()).1.contains("<p>canary</p>"), "{place}");
        let action = linked(&shown, "/memory/forget?");
        assert_eq!(proxy.raw(&form(&action, SAME_ORIGIN, "")).0, 303, "{action}");
        assert!(home.contents("rsv-view", &["--all"]).is_empty());
    }
}
