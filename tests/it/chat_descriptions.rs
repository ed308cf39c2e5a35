//! rsv-proxy has a model describe uploaded documents, if the settings say so, within a bound of tokens a day.

use crate::chat_uploads::{settled, upload};
use crate::distill_model::{fenced, said};
use crate::fake::{Answer, Fake, Wire};
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, on_each_store, text, wait_for};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that is long enough to become a document with two sections.
pub(crate) fn almanac() -> Vec<u8> {
    let lines =
        |work: &str| (1..100).map(|row| format!("{work} row {row} by the north fence. ")).collect::<String>();
    format!("# Almanac\n\n## Spring\n\n{}\n\n## Autumn\n\n{}\n", lines("Sow peas in"), lines("Dig up"))
        .into_bytes()
}

const NOW: &str = "2026-11-21T07:03:00Z";

/// The tokens that a provider says a description took.
const TOKENS: u64 = 5000;

/// The subject of a request to describe.
pub(crate) fn title(body: &str) -> String {
    text(&fenced(&serde_json::from_str(body).unwrap(), "document").remove(0)["title"])
}

fn description(title: &str) -> Answer {
    let described =
        json!({"abstract": format!("About {title}."), "overview": format!("# {title}\n\nAll of it.")});
    let mut answer = said(&described.to_string());
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
    body["usage"] = json!({"prompt_tokens": TOKENS - 100, "completion_tokens": 100, "total_tokens": TOKENS});
    answer.body = body.to_string().into_bytes();
    answer
}

/// A provider that describes each document by its title, unless it is on strike.
pub(crate) fn describing(is_on_strike: &Arc<AtomicBool>) -> Fake {
    let is_on_strike = is_on_strike.clone();
    Fake::answering(move |seen| {
        if is_on_strike.load(Ordering::SeqCst) {
            return Answer::new(503, r#"{"error":{"message":"the model is on strike"}}"#);
        }
        description(&title(seen.text()))
    })
}

pub(crate) fn by_model(home: &Home, url: &str) -> Home {
    let home = home.env("RSV_OLLAMA_BASE_URL", url).env("RSV_RETRIES", "0");
    home.env("RSV_DOCUMENTS_DESCRIBE", "model").env("RSV_DOCUMENTS_MODEL", "llama3.2")
}

/// The titles of the documents of a partition, and who made their abstracts.
fn made_by(home: &Home, partition: &str) -> Vec<(String, String)> {
    let tree = home.run("rsv-view", &["-p", partition, "viking://resources", "--tree"], "");
    lines_of(&tree.stdout).iter().map(|node| (text(&node["title"]), text(&node["made_by"]))).collect()
}

pub(crate) fn are_made_by(home: &Home, partition: &str, maker: &str) -> bool {
    let found = made_by(home, partition);
    !found.is_empty() && found.iter().all(|(_, made_by)| made_by == maker)
}

fn health(proxy: &Proxy) -> Value {
    serde_json::from_str(&proxy.get("/health").1).unwrap()
}

fn spent(proxy: &Proxy) -> String {
    let metrics = proxy.get("/metrics").1;
    metrics.lines().find_map(|line| line.strip_prefix("rsv_description_tokens_total ")).unwrap().to_owned()
}

on_each_store!(an_upload_is_described_by_the_model_each_document_after_its_sections);
fn an_upload_is_described_by_the_model_each_document_after_its_sections(home: Home) {
    let fake = describing(&Arc::default());
    let home = by_model(&home, &fake.url());
    let proxy = Proxy::start(&home);
    let ann = "X-User-Id: ann\r\n";
    let doc_id = text(&upload(&proxy, ann, "almanac.md", &almanac())["doc_id"]);
    assert_eq!(settled(&proxy, ann, &doc_id)["state"], "ready");
    wait_for("descriptions", || are_made_by(&home, "ann", "llama3.2"));
    let shown = settled(&proxy, ann, &doc_id);
    assert_eq!((&shown["abstract"], &shown["sections"]), (&json!("About Almanac."), &json!(2)), "{shown}");
    let asked: Vec<String> = fake.seen().iter().map(|seen| title(seen.text())).collect();
    assert_eq!((asked.len(), asked.last().unwrap().as_str()), (3, "Almanac"));
    let last = fenced(&serde_json::from_str(fake.seen()[2].text()).unwrap(), "document").remove(0);
    assert_eq!(text(&last["contains"][0]["abstract"]), "About Spring.", "{last}");
    wait_for("the count", || spent(&proxy) == (3 * TOKENS).to_string());
    // Documents that came in another way are their owner's to describe.
    home.ingest(&["-p", "ann"], r#"{"kind":"document","uri":"viking://resources/mine","content":"Beans."}"#);
    upload(&proxy, ann, "peas.md", b"# Peas\n\nSow them.\n");
    wait_for("another description", || made_by(&home, "ann").contains(&("Peas".into(), "llama3.2".into())));
    assert_eq!(fake.seen().len(), 4);
    home.check();
}

#[test]
fn without_the_setting_no_model_is_asked() {
    let fake = describing(&Arc::default());
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_DOCUMENTS_MODEL", "llama3.2");
    let mut proxy = Proxy::start(&home);
    let doc_id = text(&upload(&proxy, "", "almanac.md", &almanac())["doc_id"]);
    settled(&proxy, "", &doc_id);
    assert_eq!(proxy.end(), Some(0));
    assert!(fake.seen().is_empty() && are_made_by(&home, "default", "rule"));
    let home = by_model(&home, &fake.url());
    let _proxy = Proxy::start(&home);
    wait_for("descriptions", || are_made_by(&home, "default", "llama3.2"));
    assert_eq!(fake.seen().len(), 3);
}

#[test]
fn an_upload_stays_as_it_is_where_the_provider_fails_and_is_described_later() {
    let is_on_strike = Arc::new(AtomicBool::new(true));
    let fake = describing(&is_on_strike);
    let home = by_model(&Home::new(), &fake.url());
    let proxy = Proxy::start(&home);
    let doc_id = text(&upload(&proxy, "", "almanac.md", &almanac())["doc_id"]);
    assert_eq!(settled(&proxy, "", &doc_id)["state"], "ready");
    wait_for("the reason in /health", || {
        let degraded = health(&proxy)["degraded"].clone();
        degraded[0]["part"] == "descriptions"
            && text(&degraded[0]["reason"]).contains("the model is on strike")
    });
    assert!(are_made_by(&home, "default", "rule"));
    assert_eq!(home.run("rsv-search", &["-p", "default", "--kind", "document", "peas"], "").status, 0);
    is_on_strike.store(false, Ordering::SeqCst);
    wait_for("descriptions", || are_made_by(&home, "default", "llama3.2"));
    wait_for("no failure", || health(&proxy)["degraded"] == json!([]));
    home.check();
}

#[test]
fn a_document_that_fails_is_tried_three_times_and_holds_up_no_other() {
    let refusal = Answer::new(400, r#"{"error":{"message":"that is too long"}}"#);
    for useless in [said("I cannot help with that."), refusal] {
        let fake = Fake::answering(move |seen| match title(seen.text()).as_str() {
            "Spring" => useless.clone(),
            other => description(other),
        });
        let home = by_model(&Home::new(), &fake.url());
        let proxy = Proxy::start(&home);
        let doc_id = text(&upload(&proxy, "", "almanac.md", &almanac())["doc_id"]);
        settled(&proxy, "", &doc_id);
        let about_spring = || fake.seen().iter().filter(|seen| title(seen.text()) == "Spring").count();
        wait_for("three attempts, and no more reason", || {
            about_spring() == 3 && health(&proxy)["degraded"] == json!([])
        });
        let made = made_by(&home, "default");
        assert!(
            made.contains(&("Spring".into(), "rule".into()))
                && made.contains(&("Autumn".into(), "llama3.2".into()))
        );
        assert_eq!(about_spring(), 3);
    }
}

/// A provider that describes each document, and does not say how many tokens that took.
fn without_usage() -> Fake {
    Fake::answering(|seen| {
        let mut answer = description(&title(seen.text()));
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
        body["usage"] = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
        answer.body = body.to_string().into_bytes();
        answer
    })
}

#[test]
fn a_document_that_takes_more_tokens_than_a_day_has_holds_up_no_other() {
    let fake = without_usage();
    let home = by_model(&Home::new(), &fake.url()).at(NOW).env("RSV_DOCUMENTS_TOKENS_PER_DAY", "1900");
    let mut proxy = Proxy::start(&home);
    upload(&proxy, "", "almanac.md", &almanac());
    wait_for("the directory", || made_by(&home, "default").contains(&("Almanac".into(), "llama3.2".into())));
    upload(&proxy, "", "peas.md", b"# Peas\n\nSow them.\n");
    wait_for("another document", || made_by(&home, "default").contains(&("Peas".into(), "llama3.2".into())));
    assert_eq!((fake.seen().len(), &health(&proxy)["degraded"]), (2, &json!([])));
    // They are estimated where the provider says that there were none.
    wait_for("the tokens", || spent(&proxy).parse::<u64>().unwrap() > 500);
    let (said, status) = proxy.last_words();
    assert_eq!((said.matches("documents.tokens_per_day is 1900").count(), status), (2, Some(0)), "{said}");
}

#[test]
fn what_an_answer_may_have_cost_that_never_came_counts() {
    let wire = Wire::new();
    let home = by_model(&Home::new(), &wire.url()).at(NOW).env("RSV_DOCUMENTS_TOKENS_PER_DAY", "1900");
    let proxy = Proxy::start(&home);
    upload(&proxy, "", "peas.md", b"# Peas\n\nSow them.\n");
    let call = wire.accept();
    proxy.kill();
    call.hung_up();
    let proxy = Proxy::start(&home);
    wait_for("the reason", || health(&proxy)["degraded"].to_string().contains("tokens of the day are spent"));
}

#[test]
fn a_description_that_is_being_made_when_the_proxy_ends_is_stored() {
    let wire = Wire::new();
    let home = by_model(&Home::new(), &wire.url());
    let mut proxy = Proxy::start(&home);
    upload(&proxy, "", "peas.md", b"# Peas\n\nSow them.\n");
    let mut call = wire.accept();
    proxy.terminate();
    let body = description("Peas").body;
    let head = format!("Content-Type: application/json\r\nContent-Length: {}", body.len());
    call.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{}", String::from_utf8(body).unwrap()));
    assert_eq!(proxy.wait(), Some(0));
    assert!(are_made_by(&home, "default", "llama3.2"));
}

#[test]
fn the_tokens_of_a_day_bound_the_descriptions_also_of_the_next_proxy() {
    let fake = describing(&Arc::default());
    let limit = (2 * TOKENS + 100).to_string();
    let home = by_model(&Home::new(), &fake.url()).at(NOW).env("RSV_DOCUMENTS_TOKENS_PER_DAY", &limit);
    let is_spent = |proxy: &Proxy| {
        // All partitions share them.
        for path in ["/health", "/partition/other/health"] {
            wait_for("the reason in /health", || {
                let health: Value = serde_json::from_str(&proxy.get(path).1).unwrap();
                health["degraded"][0]["reason"] == json!(format!("the {limit} tokens of the day are spent"))
            });
        }
    };
    let mut proxy = Proxy::start(&home);
    let doc_id = text(&upload(&proxy, "", "almanac.md", &almanac())["doc_id"]);
    assert_eq!(settled(&proxy, "", &doc_id)["state"], "ready");
    is_spent(&proxy);
    assert_eq!((fake.seen().len(), spent(&proxy)), (2, (2 * TOKENS).to_string()));
    assert_eq!(proxy.end(), Some(0));
    // Another proxy on the same day, and one on the next.
    let proxy = Proxy::start(&home);
    is_spent(&proxy);
    assert_eq!(fake.seen().len(), 2);
    drop(proxy);
    let _proxy = Proxy::start(&home.at("2026-11-22T00:00:00Z"));
    wait_for("the rest", || are_made_by(&home, "default", "llama3.2"));
    assert_eq!(fake.seen().len(), 3);
}

#[test]
fn without_a_model_the_reason_names_the_setting() {
    let home = Home::new().env("RSV_DOCUMENTS_DESCRIBE", "model");
    let proxy = Proxy::start(&home);
    let doc_id = text(&upload(&proxy, "", "almanac.md", &almanac())["doc_id"]);
    assert_eq!(settled(&proxy, "", &doc_id)["state"], "ready");
    wait_for("the reason in /health", || {
        health(&proxy)["degraded"].to_string().contains("there is no model to describe documents")
    });
}
