//! The page of rsv-proxy's chat backend, in a real browser.

use crate::browser::{browser, dump};
use crate::chat::{GARDEN, now, provider, say};
use crate::docs::read;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, asked};
use crate::support::{Home, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

#[test]
fn the_page_is_served_only_if_it_is_asked_for_and_runs_nothing_else() {
    let home = now(&crate::fake::dead());
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
    assert_eq!(page, read("examples/chat.html"));
}

/// Uses the page as a person does, and shows what it then has.
const VISITOR: &str = r#"
(async () => {
    const until = async (holds) => { while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20)); };
    const file = new File(["FILE"], "garden.md");
    await upload(file);
    at("message").value = "Where do the <b>tomatoes</b> stand?";
    at("ask").requestSubmit();
    await until(() => at("send").disabled === false && at("sessions").children.length > 0);
    await commit();
    const seen = {
        turns: [...at("turns").children].map((turn) => turn.textContent), context: at("context").textContent,
        steps: [...at("steps").children].map((step) => step.textContent), sessions: at("sessions").textContent, state: at("state").textContent,
        documents: at("document").textContent,
    };
    at("new").onclick();
    seen.dropped = session === null && at("turns").children.length === 0;
    at("sessions").children[0].onclick();
    await until(() => at("turns").children.length === 2);
    seen.reopened = session !== null;
    document.body.textContent = "seen " + JSON.stringify(seen) + " end";
})();
"#;

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
        text(&seen["state"]).starts_with("committed") && text(&seen["documents"]).contains("garden.md"),
        "{seen}"
    );
    assert_eq!((&seen["dropped"], &seen["reopened"]), (&true.into(), &true.into()));
}

/// A home, a site that has the page with its visitor, and a proxy that the page uses.
fn site(provider: &Fake, visitor: &'static str) -> (Home, Fake, Proxy) {
    let home = now(&provider.url()).env("RSV_SESSION_COMMIT_TURNS", "0");
    let port = Arc::new(AtomicU16::new(0));
    let known = port.clone();
    let site = Fake::answering(move |_| {
        let page = page_with(visitor, known.load(Ordering::SeqCst));
        Answer::new(200, page).header("Content-Type", "text/html")
    });
    let home = home.env("RSV_PROXY_ORIGINS", &site.url());
    home.run("rsv-config", &["set", "model", "llama3.1"], "").ok();
    let proxy = Proxy::start(&home);
    port.store(proxy.port(), Ordering::SeqCst);
    (home, site, proxy)
}

/// The page, for the proxy at a port, with its visitor.
fn page_with(visitor: &str, port: u16) -> String {
    let named = format!("<meta name=\"rsv-proxy\" content=\"http://127.0.0.1:{port}\">");
    let script = format!("<script>{}</script></body>", visitor.replace("FILE", &GARDEN.replace('\n', "\\n")));
    read("examples/chat.html")
        .replace("<meta name=\"rsv-proxy\" content=\"\">", &named)
        .replace("</body>", &script)
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
