//! rsv-distill describes documents by a model.

use crate::distill_model::{fenced, home, hostile, said, useless};
use crate::documents::{NOTES, mirror, notes};
use crate::fake::{Answer, Fake, Wire};
use crate::support::{Home, lines_of, on_each_store, text, tries};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tiny_http::{Response, Server};

const MODEL: [&str; 2] = ["--model", "llama3.2"];

/// The subject of a request.
fn asked(body: &str) -> Value {
    fenced(&serde_json::from_str(body).unwrap(), "document").remove(0)
}

fn answer(abstract_: &str, overview: &str) -> Answer {
    said(&json!({"abstract": abstract_, "overview": overview}).to_string())
}

/// A provider that describes each document by its title.
fn describing() -> Fake {
    Fake::answering(|seen| {
        let title = text(&asked(seen.text())["title"]);
        answer(&format!("About {title}."), &format!("# {title}\n\nIt is about {title}."))
    })
}

fn stale(home: &Home) -> String {
    home.run("rsv-view", &["-p", "p", NOTES, "--stale"], "").stdout
}

/// Describes what is stale, and stores it; the titles of the documents that were described, in order.
fn distil(home: &Home) -> Vec<String> {
    let made = home.run("rsv-distill", &MODEL, stale(home)).ok();
    home.ingest(&[], &made);
    lines_of(&made).iter().map(|line| text(&line["title"])).collect()
}

on_each_store!(directories_get_the_new_abstracts_of_what_is_in_them);
/// Keeps: A directory is described after what is in it.
fn directories_get_the_new_abstracts_of_what_is_in_them(store: Home) {
    let fake = describing();
    let home = store.env("RSV_OLLAMA_BASE_URL", &fake.url());
    mirror(&home, &notes(&[("a", "One"), ("b", "Two")]));
    assert_eq!(distil(&home), ["b", "a", "garden", "notes"]);
    let requests: Vec<Value> = fake.seen().iter().map(|seen| asked(seen.text())).collect();
    assert_eq!(requests[0], json!({"title": "b", "content": "Two"}));
    let children = json!([{"name": "a", "abstract": "About a."}, {"name": "b", "abstract": "About b."}]);
    assert_eq!(requests[2], json!({"title": "garden", "contains": children}));
    assert_eq!(requests[3]["contains"], json!([{"name": "garden", "abstract": "About garden."}]));
    let tree = lines_of(&home.run("rsv-view", &["-p", "p", NOTES, "--tree"], "").ok());
    for node in &tree {
        let title = text(&node["title"]);
        assert_eq!(
            (&node["made_by"], text(&node["abstract"]), &node["child_abstracts"]),
            (&json!("llama3.2"), format!("About {title}."), &Value::Null)
        );
    }
    assert_eq!(tree[2]["content"], "One");
    // A model's description stays until its source changes; then all directories above it are described again.
    mirror(&home, &notes(&[("a", "One"), ("b", "Two")]));
    assert!(distil(&home).is_empty());
    mirror(&home, &notes(&[("a", "One, changed"), ("b", "Two")]));
    assert_eq!(distil(&home), ["a", "garden", "notes"]);
    // A directory whose children changed without it is described once.
    let gone = format!("{NOTES}/garden/b");
    home.run("rsv-forget", &["-p", "p", &gone], "").ok();
    assert_eq!(distil(&home), ["garden", "notes"]);
    assert!(distil(&home).is_empty());
    home.check();
}

/// A provider that counts how many requests it has at once, and answers the first two together.
fn counting() -> (String, Arc<AtomicUsize>, Arc<Mutex<Vec<String>>>) {
    let server = Arc::new(Server::http("127.0.0.1:0").unwrap());
    let url = format!("http://{}", server.server_addr().to_ip().unwrap());
    let (most, events) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let active = Arc::new((Mutex::new(0_usize), Condvar::new()));
    std::thread::spawn({
        let (most, events) = (most.clone(), events.clone());
        move || {
            for mut request in server.incoming_requests() {
                let (most, events, active) = (most.clone(), events.clone(), active.clone());
                std::thread::spawn(move || {
                    let mut body = String::new();
                    request.as_reader().read_to_string(&mut body).unwrap();
                    let title = text(&asked(&body)["title"]);
                    events.lock().unwrap().push(format!("begin {title}"));
                    let (count, changed) = &*active;
                    let mut now = count.lock().unwrap();
                    *now += 1;
                    most.fetch_max(*now, Ordering::SeqCst);
                    changed.notify_all();
                    // Directories come alone.
                    let wait = if title.starts_with('f') { Duration::from_secs(20) } else { Duration::ZERO };
                    let is_alone = |_: &mut usize| most.load(Ordering::SeqCst) < 2;
                    let (mut now, _) = changed.wait_timeout_while(now, wait, is_alone).unwrap();
                    events.lock().unwrap().push(format!("end {title}"));
                    *now -= 1;
                    drop(now);
                    request.respond(Response::from_data(answer("About it.", "It is about it.").body)).ok();
                });
            }
        }
    });
    (url, most, events)
}

#[test]
fn as_many_as_asked_for_are_described_at_once_and_directories_wait() {
    let (url, most, events) = counting();
    let home = home(&url);
    let files: Vec<(String, String)> = (0..9).map(|n| (format!("f{n}"), format!("Text {n}"))).collect();
    mirror(&home, &notes(&files.iter().map(|(name, text)| (&**name, &**text)).collect::<Vec<_>>()));
    let lines = stale(&home);
    let made = home.run("rsv-distill", &[&MODEL[..], &["-j", "2"]].concat(), &lines).ok();
    assert_eq!(most.load(Ordering::SeqCst), 2);
    // The output is in the order of the input.
    let uris = |lines: &str| lines_of(lines).iter().map(|line| text(&line["uri"])).collect::<Vec<_>>();
    assert_eq!(uris(&made), uris(&lines));
    let events = events.lock().unwrap();
    let at = |event: &str| events.iter().position(|one| one == event).unwrap();
    assert!((0..9).all(|n| at(&format!("end f{n}")) < at("begin garden")), "{events:?}");
    assert!(at("end garden") < at("begin notes"));
}

/// Keeps: A killed run that describes documents continues where it ended.
#[test]
fn a_killed_run_continues_where_it_was() {
    let provider = Wire::new();
    let home = home(&provider.url());
    mirror(&home, &notes(&[("a", "One"), ("b", "Two"), ("c", "Three")]));
    let mut command = home.command("rsv-distill");
    command.args(MODEL).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stale(&home).as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut printed = String::new();
    for _ in 0..2 {
        let body = answer("About it.", "It is about it.").body;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let mut call = provider.accept();
        call.send([head.as_bytes(), &body].concat());
        drop(call);
        // A document is printed as soon as it is described.
        output.read_line(&mut printed).unwrap();
    }
    let third = provider.accept();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(third);
    home.ingest(&[], &printed);
    let fake = describing();
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url());
    assert_eq!(distil(&home), ["a", "garden", "notes"]);
    let contains = asked(fake.seen()[1].text())["contains"].clone();
    let abstracts: Vec<String> =
        contains.as_array().unwrap().iter().map(|child| text(&child["abstract"])).collect();
    assert_eq!(abstracts, ["About a.", "About it.", "About it."]);
}

#[test]
fn after_any_other_answer_the_document_stays_as_it_is_and_that_is_told() {
    const GERMAN: &str = "Die Tomaten stehen an der warmen Mauer, weil sie die Hitze brauchen, die sie nachts speichert. \
        Im Frühjahr säen wir die Bohnen am Zaun, sobald der letzte Frost vorbei ist, und gießen sie jeden Morgen.";
    const ENGLISH: &str = "The tomatoes stand by the warm wall, because they need the heat that it keeps during the night. \
        In spring we sow the beans along the fence, as soon as the last frost is over, and water them every morning.";
    let leaf = json!({"kind": "document", "uri": format!("{NOTES}/a"), "title": "a", "content": GERMAN});
    let mut cases: Vec<(Answer, String)> =
        useless().into_iter().map(|(answer, why)| (answer, why.to_owned())).collect();
    let mut refused = |abstract_: &str, overview: &str, why: &str| {
        cases.push((answer(abstract_, overview), format!("the answer is invalid: {why}")));
    };
    refused(" ", "b", "abstract: is empty");
    refused("a", "\n", "overview: is empty");
    refused(&"é".repeat(257), "b", "abstract: has more than 256 characters");
    refused("a", &"é".repeat(4001), "overview: has more than 4000 characters");
    refused("a\nb", "c", "abstract: has more than one line");
    refused("```a```", "b", "abstract: has a code fence");
    refused("a", "```\nb\n```", "overview: has a code fence");
    refused("Tomatoes", ENGLISH, "it is in English, and the document is in German");
    cases.push((said("{\"abstract\": \"a\"}"), "missing field `overview`".to_owned()));
    for (answer, why) in cases {
        let fake = Fake::new([answer]);
        let ran = home(&fake.url()).run("rsv-distill", &MODEL, leaf.to_string());
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{why}: {ran}");
        let told = ran.stderr.strip_prefix(&format!("rsv-distill: {NOTES}/a: stays as it is: "));
        assert!(told.is_some_and(|told| told.contains(&why)), "{why}: {ran}");
    }
    // One document's answer is no other's, and what needs no description is passed on.
    let fake = Fake::new([said("no"), answer("Tomaten", GERMAN)]);
    let other =
        json!({"kind": "document", "uri": format!("{NOTES}/b"), "made_by": "a-model", "content": "B"});
    let lines = format!("{leaf}\n{leaf}\n{other}\n");
    let ran = home(&fake.url()).run("rsv-distill", &[&MODEL[..], &["-q"]].concat(), &lines).ok();
    let made = lines_of(&ran);
    assert_eq!(made.len(), 2);
    assert!(made.contains(&other) && made.iter().any(|line| line["abstract"] == "Tomaten"), "{ran}");
    // Without a model, all documents are passed on.
    assert_eq!(lines_of(&Home::new().run("rsv-distill", &[], &lines).ok()).len(), 3);
}

#[test]
fn no_words_of_a_document_leave_their_fence() {
    tries(40, |mut dice| {
        let long = if dice.below(4) == 0 { "long ".repeat(40_000) } else { String::new() };
        let mut words =
            || hostile(&mut dice).replace("session", "document").replace("ources", "ocument") + &long;
        let children: Vec<Value> = (0..300)
            .map(|n| json!({"name": format!("{n}"), "abstract": words()}))
            .take(if long.is_empty() { 300 } else { 3 })
            .collect();
        let document = json!({"kind": "document", "uri": format!("{NOTES}/a"), "title": format!("t{}", words()),
            "content": words(), "children": children.len(), "child_abstracts": children});
        let emitted =
            Home::new().run("rsv-distill", &["--model", "m", "--emit-request"], document.to_string()).ok();
        assert!(emitted.len() < 1_200_000, "{}", emitted.len());
        let data = fenced(&lines_of(&emitted)[0], "document");
        assert_eq!((data.len(), data[0]["contains"][1]["name"].clone()), (1, json!("1")));
    });
}
