//! Web pages in a real browser, headless Chromium: beside rsv-proxy, and those of rsv-link.

use crate::docs::{is_installed, report_unchecked, root};
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY};
use crate::support::{Home, lines_of};
use serde_json::Value;
use std::path::Path;
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
document.write(`<iframe src="${url}/memory/conversation?p=default&i=default"></iframe>`);
fetch(`${url}/memory/forget?p=default&i=default&all=1`, { method: "POST", mode: "no-cors" }).catch(() => 0);
const body = '{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}';
fetch(`${url}/v1/chat/completions`, { method: "POST", mode: "no-cors", body }).catch(() => 0);
fetch(`${url}/v1/responses/fetch`, { mode: "no-cors" }).catch(() => 0);
fetch(`${url}/command/view`).then(answer => answer.text()).catch(() => "nothing was read")
    .then(text => document.body.append(text));
</script>"#;

pub(crate) fn browser() -> Option<&'static str> {
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
    dump(browser, home, &format!("{}/#{}", origin(site), proxy.port()))
}

/// The document at an address, after its scripts have run.
pub(crate) fn dump(browser: &str, home: &Home, address: &str) -> String {
    let mut command = Command::new(browser);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path(""));
    command.args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    command.args(["--host-resolver-rules=MAP page.example 127.0.0.1", "--virtual-time-budget=5000"]);
    command.arg(format!("--user-data-dir={}", home.path("browser").display()));
    command.arg(address);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// Runs a script of `clients/`, which drives a browser; what went wrong, by the name of each thing that it did, in their
/// order.
pub(crate) fn use_pages(clients: &Path, home: &Home, script: &str, words: &[&str]) -> Vec<(String, Value)> {
    // Node looks beside the script for the modules that it imports.
    for name in [script, "person.mjs"] {
        std::fs::copy(root().join("tests/it/clients").join(name), home.path(name)).unwrap();
    }
    std::os::unix::fs::symlink(clients.join("page/node_modules"), home.path("node_modules")).unwrap();
    let mut command = Command::new("node");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path(""));
    let ran = command.arg(home.path(script)).args(words).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let done = lines_of(&String::from_utf8(ran.stdout).unwrap());
    done.into_iter().map(|line| (line[0].as_str().unwrap().to_owned(), line[1].clone())).collect()
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

/// Keeps: A web page that is not listed spends no key and reads nothing.
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
        ("/memory/conversation", 1),
        ("/memory/forget", 1),
    ] {
        let sent = requests.iter().filter(|request| request["path"] == path).count();
        assert!(sent >= least, "{path}: {logged}");
    }
    assert_eq!(home.contents("rsv-view", &[]), ["canary"]);
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

/// Messages that try to run a script in the page of a graph.
pub(crate) const HOSTILE: [&str; 7] = [
    "<script>document.title = 'hacked'</script>",
    "</title></script><script>document.title = 'hacked'</script>",
    "<img src='/hacked' onerror=\"document.title = 'hacked'\">",
    "\"><svg onload=\"document.title = 'hacked'\"> & ]]> --> <!--",
    "' onmouseover='document.title = `hacked`' x='",
    "</style></svg><style>* { display: none }</style><link rel=stylesheet href=/hacked>",
    "<iframe srcdoc=\"<script>parent.document.title = 'hacked'</script>\"></iframe><base href=//hacked>",
];

/// A page that uses the page of a graph as a person does, and then shows its title, what its tooltip and its search say,
/// and which messages are listed.
const VISITOR: &str = r#"<!DOCTYPE html><body><iframe src="/graph" style="width: 1200px; height: 800px"></iframe><script>
document.querySelector("iframe").onload = ({ target }) => {
    const page = target.contentDocument;
    const seen = { title: page.title, scripts: page.scripts.length, images: page.images.length };
    const circle = page.querySelector("circle[data-node='0']");
    circle.dispatchEvent(new MouseEvent("mousemove", { clientX: 5, clientY: 5, bubbles: true }));
    seen.tip = page.getElementById("tip").hidden ? null : page.getElementById("tip").textContent;
    circle.dispatchEvent(new MouseEvent("mouseleave"));
    seen.gone = page.getElementById("tip").hidden;
    const search = page.getElementById("search");
    search.value = "\u00d6NLOAD svg";
    search.dispatchEvent(new Event("input"));
    seen.found = page.getElementById("found").textContent;
    const listed = [...page.querySelectorAll("li")].filter((item) => item.offsetHeight > 0);
    seen.listed = listed.map((item) => item.querySelector("span").textContent);
    seen.faint = page.querySelectorAll("circle.faint").length;
    seen.title_at_the_end = page.title;
    document.body.textContent = "seen " + JSON.stringify(seen) + " end";
};
</script>"#;

/// The page of a graph of hostile messages.
fn hostile_graph(home: &Home) -> String {
    let lines = HOSTILE.iter().enumerate().map(|(at, text)| {
        let line = serde_json::json!({
            "kind": "message", "id": format!("<m{at}>"), "trace_id": format!("t{at}"), "partition": "<b onclick=x>'",
            "instance": "i", "role": "user", "content": text, "timestamp": 1000 * at, "embedding_model": "m",
            "embedding": [1.0, 0.1 * at as f32, 0.3],
        });
        line.to_string() + "\n"
    });
    home.run("rsv-import", &["--quiet"], lines.collect::<String>()).ok();
    home.run("rsv-link", &["-p", "<b onclick=x>'", "--format", "html", "--about", "hacked"], "").ok()
}

/// Keeps: No message runs a script in the page of a picture, which loads nothing.
#[test]
fn the_page_of_a_graph_is_searched_and_runs_no_script_of_a_message() {
    let Some(browser) = browser() else { return };
    let home = Home::new();
    let page = hostile_graph(&home);
    let site = Fake::answering(move |request| {
        let body = if request.path == "/graph" { page.clone() } else { VISITOR.to_owned() };
        Answer::new(200, body).header("Content-Type", "text/html")
    });
    let shown = { (0..10).map(|_| dump(browser, &home, &site.url())) }
        .find(|shown| shown.contains("<body>seen ") || shown.contains(">seen {"))
        .expect("no visit was complete");
    let seen = shown.split("seen {").nth(1).unwrap().split(" end").next().unwrap();
    let seen = format!("{{{seen}").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(
        (&seen["title"], &seen["title_at_the_end"]),
        (&seen["title_at_the_end"], &"<b onclick=x>': hacked".into())
    );
    assert_eq!((&seen["scripts"], &seen["images"]), (&1.into(), &0.into()), "{seen}");
    assert!(seen["tip"].as_str().unwrap().ends_with(HOSTILE[0]) && seen["gone"] == true, "{seen}");
    assert_eq!(seen["found"], "1 found");
    assert_eq!(seen["listed"], serde_json::json!([HOSTILE[3]]));
    assert_eq!(seen["faint"], HOSTILE.len() - 1);
    let asked: Vec<String> = site.seen().into_iter().map(|request| request.path).collect();
    assert!(asked.iter().all(|path| ["/", "/graph", "/favicon.ico"].contains(&path.as_str())), "{asked:?}");
}

#[test]
fn a_link_to_the_page_of_a_graph_may_search_it() {
    let Some(browser) = browser() else { return };
    let home = Home::new();
    home.write("graph.html", &hostile_graph(&home));
    let place = format!("file://{}#iframe", home.path("graph.html").display());
    let shown = dump(browser, &home, &place);
    assert!(shown.contains(">1 found</output>"), "{shown}");
    assert_eq!(shown.matches("<li data-node").count(), HOSTILE.len());
    // Their circles, and their entries in the list.
    assert_eq!(shown.matches("class=\"faint\"").count(), 2 * (HOSTILE.len() - 1));
}
