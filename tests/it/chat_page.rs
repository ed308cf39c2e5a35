//! The page of rsv-proxy's chat backend, as a person uses it in a real browser. `scripts/clients` installs what drives the
//! browser; without it, the long one of these tests is left out.

use crate::browser::{browser, dump, use_pages};
use crate::chat::{GARDEN, now, provider, say};
use crate::clients::clients;
use crate::fake::{Answer, Fake, dead};
use crate::proxy::{Proxy, asked};
use crate::support::{Home, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// Keeps: A page runs no script but its own, and loads nothing from elsewhere.
#[test]
fn the_page_is_served_only_if_it_is_asked_for_and_runs_nothing_else() {
    let home = now(&dead());
    let proxy = Proxy::start(&home);
    assert_eq!(proxy.get("/chat").0, 404);
    let proxy = Proxy::start_with(&home, &["--chat"]);
    let answered = proxy.whole(&asked("GET", "/partition/ann/chat", ""));
    let (head, page) = answered.split_once("\r\n\r\n").unwrap();
    let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(page.len() <= 40_000, "{}", page.len());
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("@import"), "{page}");
    assert!(page.contains("<meta name=\"rsv-memory\" content=\"/memory\">"), "{page}");
    let bare = Proxy::start_with(&home.env("RSV_PROXY_PAGE", "false"), &["--chat"]);
    assert!(bare.get("/chat").1.contains("<meta name=\"rsv-memory\" content=\"\">"));
}

/// The things that a person does, in the order in which `clients/chat.mjs` does it.
const THINGS: [&str; 21] = [
    "lists more than 20 chats",
    "uploads a document",
    "begins a chat, which is listed at once",
    "sees what was recalled, and opens it",
    "reads Markdown when the answer is complete",
    "scrolls with the answer only at its end",
    "stops an answer",
    "sees why an answer failed, at its place",
    "opens another chat while an answer comes",
    "reopens a chat with its Markdown and what was recalled",
    "shows a source beside the chat where there are no pages",
    "commits a chat",
    "undoes forgetting in time",
    "forgets a chat",
    "sees why a chat cannot be opened",
    "sees another user's chats alone",
    "runs no script of a chat",
    "uses it by keys",
    "reads on a narrow screen",
    "meets the rules of accessibility in light and dark",
    "loads nothing from elsewhere, and does not complain",
];

/// A message of an instance, some minutes after the beginning of the year.
fn message(instance: &str, minute: usize, content: &str) -> String {
    let at = 1_767_225_600_000_u64 + minute as u64 * 60_000;
    let line = json!({"kind": "message", "partition": "default", "instance": instance, "role": "user",
        "content": content, "trace_id": format!("{instance}-{minute}"), "timestamp": at});
    format!("{line}\n")
}

/// Stores 46 sessions and a memory in a home.
fn fill(home: &Home) {
    let old = |at| message(&format!("old-{at}"), at, &format!("An old question {at} of compost"));
    let mut lines: String = (0..44).map(old).collect();
    lines.push_str(&message("wall", 100, "The tomatoes stand by the warm wall, says <b>Ann</b>."));
    let hostile = "<img src=/hacked onerror=\"document.title = 'hacked'\"> & <b>bold</b>";
    lines.push_str(&message("hostile", 101, hostile));
    home.run("rsv-import", &["--quiet"], lines).ok();
    let memory = json!({"kind": "memory", "title": "Tomatoes and warmth", "category": "strategy",
        "content": "Tomatoes like to be warm where they stand.", "outcome": "success"});
    home.ingest(&["-p", "default"], &format!("{memory}\n"));
    home.run("rsv-config", &["set", "model", "llama3.1"], "").ok();
}

/// Keeps: A person chats in the page, and sees what was recalled and where it is, by mouse and by keys.
#[test]
fn a_person_chats_in_a_browser() {
    let (Some(browser), Some(clients)) = (browser(), clients("page")) else { return };
    // The script answers as the provider.
    let provider = dead();
    let home = now(&provider).env("RSV_SESSION_COMMIT_TURNS", "0");
    fill(&home);
    let proxy = Proxy::start_with(&home, &["--chat"]);
    let bare = Proxy::start_with(&home.env("RSV_PROXY_PAGE", "false"), &["--chat"]);
    let address = |proxy: &Proxy| format!("http://127.0.0.1:{}", proxy.port());
    let files = home.path("files");
    std::fs::create_dir(&files).unwrap();
    let words = [browser, &address(&proxy), &address(&bare), &provider, files.to_str().unwrap()];
    let done = use_pages(&clients, &home, "chat.mjs", &words);
    let wrong: Vec<_> = done.iter().filter(|(_, why)| !why.is_null()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(done.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), THINGS);
}

/// Uses the page as a person does, and shows what it then has.
const VISITOR: &str = r##"
(async () => {
    const until = async (holds) => { while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20)); };
    const shown = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent.trim());
    const file = new File(["FILE"], "garden.md");
    await upload(file);
    at("message").value = "Where do the <b>tomatoes</b> stand?";
    at("ask").requestSubmit();
    await until(() => at("stop").hidden && shown("#sessions .row").length > 0);
    await commit();
    const seen = {
        turns: shown("#turns .text"), context: at("context").textContent, steps: shown("#steps li"),
        sessions: at("sessions").textContent, committed: at("committed").textContent, documents: at("document").textContent,
    };
    at("new").onclick();
    seen.dropped = chat.id === null && at("turns").children.length === 0;
    document.querySelector("#sessions .row").click();
    await until(() => shown("#turns .text").length === 2);
    seen.reopened = chat.id !== null;
    document.body.textContent = "seen " + JSON.stringify(seen) + " end";
})();
"##;

#[test]
fn the_page_chats_uploads_lists_and_commits_in_a_browser() {
    let Some(browser) = browser() else { return };
    let fake = provider();
    let (home, site, _proxy) = site(&fake, VISITOR);
    let shown = { (0..5).map(|_| dump(browser, &home, &site.url())) }
        .find(|shown| shown.contains(">seen {"))
        .expect("no visit was complete");
    let seen = shown.split("seen {").nth(1).unwrap().split(" end").next().unwrap();
    let seen = format!("{{{seen}").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["turns"], json!(["Where do the <b>tomatoes</b> stand?", "By the warm wall."]), "{seen}");
    assert!(text(&seen["context"]).contains("warm wall"), "{seen}");
    let steps = seen["steps"].as_array().unwrap();
    assert!(steps.len() > 1 && text(&steps[0]).starts_with("search_start {"), "{seen}");
    assert!(text(&seen["sessions"]).contains("<b>tomatoes</b>"), "{seen}");
    assert!(
        text(&seen["committed"]).starts_with("committed") && text(&seen["documents"]).contains("garden.md"),
        "{seen}"
    );
    assert_eq!((&seen["dropped"], &seen["reopened"]), (&true.into(), &true.into()));
}

/// A home, a site that has the page with its visitor, and a proxy that the page uses.
fn site(provider: &Fake, visitor: &'static str) -> (Home, Fake, Proxy) {
    let home = now(&provider.url()).env("RSV_SESSION_COMMIT_TURNS", "0");
    let port = Arc::new(AtomicU16::new(0));
    let known = port.clone();
    let page = Proxy::start_with(&home, &["--chat"]).get("/chat").1;
    let site = Fake::answering(move |_| {
        let page = page_with(&page, visitor, known.load(Ordering::SeqCst));
        Answer::new(200, page).header("Content-Type", "text/html")
    });
    let home = home.env("RSV_PROXY_ORIGINS", &site.url());
    home.run("rsv-config", &["set", "model", "llama3.1"], "").ok();
    let proxy = Proxy::start(&home);
    port.store(proxy.port(), Ordering::SeqCst);
    (home, site, proxy)
}

/// The page, for the proxy at a port, with its visitor.
fn page_with(page: &str, visitor: &str, port: u16) -> String {
    let named = format!("<meta name=\"rsv-proxy\" content=\"http://127.0.0.1:{port}\">");
    let script =
        format!("<script>{}</script>\n</body>", visitor.replace("FILE", &GARDEN.replace('\n', "\\n")));
    page.replace("<meta name=\"rsv-proxy\" content=\"\">", &named).replace("</body>", &script)
}

#[test]
fn the_page_of_the_proxy_runs_under_its_policy() {
    let Some(browser) = browser() else { return };
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start_with(&home, &["--chat"]);
    say(&proxy, "s1", "Where are the <img src=x onerror=alert(1)> tomatoes?");
    let address = format!("http://127.0.0.1:{}/chat", proxy.port());
    let shown =
        { (0..5).map(|_| dump(browser, &home, &address)) }.find(|shown| shown.contains("Where are the"));
    let shown = shown.expect("no visit was complete");
    assert!(shown.contains("Where are the &lt;img") && !shown.contains("<img"), "{shown}");
}
