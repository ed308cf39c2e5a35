//! Web pages in a real browser, headless Chromium, beside rsv-proxy.

use crate::docs::{is_installed, report_unchecked};
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY};
use crate::support::Home;
use serde_json::Value;
use std::process::Command;

/// The names of Chromium in Debian.
const BROWSERS: [&str; 3] = ["chromium-headless-shell", "chromium", "chromium-browser"];

/// A page that sends what a page can send to rsv-proxy, whose port is its fragment, and shows what it could read.
const PAGE: &str = r#"<!DOCTYPE html><body><script>
const port = location.hash.slice(1);
const url = `http://127.0.0.1:${port}`;
for (const host of ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"]) {
    document.write(`<img src="http://${host}:${port}/v1/responses/image">`);
}
document.write(`<script src="${url}/v1/responses/script"></` + "script>");
document.write(`<iframe src="${url}/command/view/7"></iframe>`);
const body = '{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}';
fetch(`${url}/v1/chat/completions`, { method: "POST", mode: "no-cors", body }).catch(() => 0);
fetch(`${url}/v1/responses/fetch`, { mode: "no-cors" }).catch(() => 0);
fetch(`${url}/command/view`).then(answer => answer.text()).catch(() => "nothing was read")
    .then(text => document.body.append(text));
</script>"#;

fn browser() -> Option<&'static str> {
    let found = BROWSERS.into_iter().find(|browser| is_installed(browser));
    if found.is_none() {
        report_unchecked("web pages in a browser, for want of Chromium");
    }
    found
}

/// The document of the page, served as one of page.example, after all that it loads has arrived or failed. A busy
/// machine may need several visits for that.
fn visit(browser: &str, home: &Home, site: &Fake, proxy: &Proxy) -> String {
    let visits = (0..10).map(|_| visit_once(browser, home, site, proxy));
    let is_complete = |shown: &String| shown.contains("nothing was read</body>") || shown.contains("canary");
    visits.into_iter().find(is_complete).expect("no visit was complete")
}

fn visit_once(browser: &str, home: &Home, site: &Fake, proxy: &Proxy) -> String {
    let mut command = Command::new(browser);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path(""));
    command.args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    command.args(["--host-resolver-rules=MAP page.example 127.0.0.1", "--virtual-time-budget=5000"]);
    command.arg(format!("--user-data-dir={}", home.path("browser").display()));
    command.arg(format!("{}/#{}", origin(site), proxy.port()));
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn site() -> Fake {
    Fake::answering(|_| Answer::new(200, PAGE).header("Content-Type", "text/html"))
}

fn origin(site: &Fake) -> String {
    site.url().replace("127.0.0.1", "page.example")
}

fn home(openai: &Fake) -> Home {
    let home = Home::new().env("RSV_OPENAI_BASE_URL", &openai.url()).env("OPENAI_API_KEY", "own");
    home.ingest(&[], "{\"role\":\"user\",\"content\":\"canary\"}\n");
    home
}

#[test]
fn a_page_that_is_not_listed_spends_no_key_and_reads_nothing() {
    let Some(browser) = browser() else { return };
    let openai = Fake::answering(|_| Answer::new(200, REPLY));
    let home = home(&openai);
    let mut proxy = Proxy::start_with(&home, &["--log", "json"]);
    let shown = visit(browser, &home, &site(), &proxy);
    assert!(shown.contains("nothing was read</body>") && !shown.contains("canary"), "{shown}");
    assert!(openai.seen().is_empty(), "{:?}", openai.seen());
    let (logged, _) = proxy.last_words();
    let requests: Vec<Value> = logged.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(requests.iter().all(|request| request["status"] == 403), "{logged}");
    for (path, least) in [
        ("/v1/responses/image", 3),
        ("/v1/responses/script", 1),
        ("/v1/responses/fetch", 1),
        ("/v1/chat/completions", 1),
        ("/command/view", 1),
        ("/command/view/7", 1),
    ] {
        let sent = requests.iter().filter(|request| request["path"] == path).count();
        assert!(sent >= least, "{path}: {logged}");
    }
}

#[test]
fn a_page_that_is_listed_reads_what_it_asks_for() {
    let Some(browser) = browser() else { return };
    let (openai, site) = (Fake::answering(|_| Answer::new(200, REPLY)), site());
    let home = home(&openai).env("RSV_PROXY_ORIGINS", &origin(&site));
    let proxy = Proxy::start(&home);
    let shown = visit(browser, &home, &site, &proxy);
    assert!(shown.contains("canary"), "{shown}");
    // An image and a script name no origin.
    assert!(openai.seen().iter().all(|request| request.method == "POST"), "{:?}", openai.seen());
}
