//! Several proxies on one store: what they do in the background is done once, and what one leaves another does.

use crate::chat::{provider, say};
use crate::chat_descriptions::{almanac, are_made_by, by_model, describing, title};
use crate::chat_sessions::{archives, ask, coverage};
use crate::chat_uploads::{settled, upload};
use crate::distill_model::said;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, post};
use crate::several_proxies::storing_first;
use crate::support::{Dice, Home, lines_of, on_each_store, text, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time after which a session is idle.
const IDLE_MS: u64 = 1000;

fn idle(home: &Home) -> Home {
    home.env("RSV_SESSION_COMMIT_IDLE", "1s").env("RSV_SESSION_COMMIT_TURNS", "0")
}

/// Has a session committed at both proxies at once; the number of memories that were made.
fn commit_at_both(proxies: &[Proxy; 2], session: &str) -> i64 {
    let path = format!("/api/sessions/{session}/commit");
    std::thread::scope(|scope| {
        let commit = |proxy| {
            let path = &path;
            scope.spawn(move || ask(proxy, "POST", path, ""))
        };
        let commits = proxies.each_ref().map(commit).map(|commit| commit.join().unwrap());
        for (status, body) in &commits {
            assert_eq!(*status, 200, "{body}");
        }
        assert!(commits.iter().any(|(_, body)| body["status"] == "committed"), "{commits:?}");
        commits.iter().map(|(_, body)| body["memories_created"].as_i64().unwrap()).max().unwrap()
    })
}

on_each_store!(a_session_that_is_committed_at_two_proxies_has_one_archive);
/// Keeps: A commit that two proxies make at once is made once.
fn a_session_that_is_committed_at_two_proxies_has_one_archive(home: Home) {
    let fake = provider();
    let home = storing_first(&home, &fake).env("RSV_SESSION_COMMIT_TURNS", "0");
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for round in 0..8 {
        for (at, proxy) in proxies.iter().enumerate() {
            say(proxy, "s1", &format!("Remember that I planted {round} rows of kind {at}."));
        }
        assert_eq!(commit_at_both(&proxies, "s1"), 2);
        assert_eq!(archives(&home).len(), round + 1);
    }
    let (messages, covered) = coverage(&home);
    assert_eq!((messages.len(), &messages), (32, &covered));
    assert_eq!(lines_of(&home.run("rsv-view", &["100", "--kind", "memory"], "").ok()).len(), 16);
    home.check();
}

on_each_store!(a_model_is_asked_once_for_a_commit_that_two_proxies_make);
/// Keeps: A model is asked once for a commit that two proxies make at once.
fn a_model_is_asked_once_for_a_commit_that_two_proxies_make(home: Home) {
    let archive = json!({"abstract": "Tea: which | green | answered", "overview": "# Tea", "memories": []});
    let fake = Fake::answering(move |seen| {
        let is_archive = seen.text().contains("\"json_schema\"");
        if is_archive { said(&archive.to_string()) } else { said("Green.") }
    });
    let home = storing_first(&home, &fake);
    let home = home.env("RSV_SESSION_MODEL", "llama3.2").env("RSV_SESSION_COMMIT_TURNS", "0");
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for round in 0..4 {
        say(&proxies[round % 2], "s1", &format!("Question {round}?"));
        commit_at_both(&proxies, "s1");
        let asked = fake.seen().iter().filter(|seen| seen.text().contains("\"json_schema\"")).count();
        assert_eq!((asked, archives(&home).len()), (round + 1, round + 1));
    }
    home.check();
}

on_each_store!(a_session_is_committed_when_it_is_idle_at_all_proxies);
/// Keeps: A session is idle when it is idle at every proxy.
fn a_session_is_committed_when_it_is_idle_at_all_proxies(home: Home) {
    let fake = provider();
    let home = idle(&storing_first(&home, &fake));
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    let mut dice = Dice(7);
    for turn in 0..10 {
        // Of one proxy, the session is idle now and then.
        say(&proxies[usize::from(turn % 4 == 0)], "s1", &format!("Question {turn}?"));
        std::thread::sleep(Duration::from_millis(dice.below(IDLE_MS as usize / 2) as u64));
    }
    wait_for("the last commit", || {
        let (messages, covered) = coverage(&home);
        messages == covered
    });
    let lines = lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok());
    let messages = lines.iter().filter(|line| line["kind"] == "message");
    let times: BTreeMap<String, u64> =
        messages.map(|line| (text(&line["id"]), line["timestamp"].as_u64().unwrap())).collect();
    for archive in archives(&home) {
        let last = archive["covers"].as_array().unwrap().iter().map(|id| times[&text(id)]).max().unwrap();
        // A turn that is stored while the commit is made may go with it.
        assert!(archive["timestamp"].as_u64().unwrap() >= last + IDLE_MS / 4, "{archive} {last}");
    }
    home.check();
}

on_each_store!(the_sessions_of_a_killed_proxy_are_committed_by_another);
/// Keeps: Another proxy commits the sessions of one that is killed.
fn the_sessions_of_a_killed_proxy_are_committed_by_another(home: Home) {
    let fake = provider();
    let home = idle(&storing_first(&home, &fake));
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for session in ["s1", "s2", "s3"] {
        say(&proxies[0], session, "Where are my tomatoes?");
    }
    proxies[0].kill();
    wait_for("commits", || {
        let (messages, covered) = coverage(&home);
        messages.len() == 6 && messages == covered
    });
    assert_eq!(archives(&home).len(), 3);
    home.check();
}

/// The documents that a model was asked to describe, by title.
fn described(fake: &Fake) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for seen in fake.seen() {
        *count.entry(title(seen.text())).or_default() += 1;
    }
    count
}

fn notes(n: usize) -> Vec<u8> {
    format!("# Notes {n}\n\nThe beans of row {n} go up the north fence.\n").into_bytes()
}

on_each_store!(uploads_at_two_proxies_are_stored_and_described_once);
/// Keeps: An upload is parsed, stored and described once, however many proxies there are.
fn uploads_at_two_proxies_are_stored_and_described_once(home: Home) {
    let fake = describing(&Arc::default());
    let home = by_model(&home, &fake.url());
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    let ids: Vec<String> =
        (0..8).map(|n| text(&upload(&proxies[n % 2], "", &format!("{n}.md"), &notes(n))["doc_id"])).collect();
    for id in &ids {
        for proxy in &proxies {
            assert_eq!(settled(proxy, "", id)["state"], "ready");
        }
    }
    wait_for("descriptions", || are_made_by(&home, "default", "llama3.2"));
    assert_eq!(described(&fake), (0..8).map(|n| (format!("Notes {n}"), 1)).collect());
    let documents = lines_of(&home.run("rsv-export", &["--kind", "document"], "").ok());
    let mine = documents.iter().filter(|line| text(&line["title"]).starts_with("Notes"));
    assert_eq!(mine.count(), 8);
    home.check();
}

on_each_store!(the_descriptions_of_a_killed_proxy_are_made_by_another);
/// Keeps: Another proxy describes the uploads of one that is killed.
fn the_descriptions_of_a_killed_proxy_are_made_by_another(home: Home) {
    let [has_begun, is_killed] = [0; 2].map(|_| Arc::new(AtomicBool::new(false)));
    let (begun, killed) = (has_begun.clone(), is_killed.clone());
    let stuck = Fake::answering(move |_| {
        begun.store(true, Ordering::SeqCst);
        wait_for("the kill", || killed.load(Ordering::SeqCst));
        Answer::new(503, "{}")
    });
    let fake = describing(&Arc::default());
    let first = Proxy::start(&by_model(&home, &stuck.url()));
    let home = by_model(&home, &fake.url());
    let left = text(&upload(&first, "", "almanac.md", &almanac())["doc_id"]);
    assert_eq!(settled(&first, "", &left)["state"], "ready");
    wait_for("the first description", || has_begun.load(Ordering::SeqCst));
    // Started before, it might find what the first one was to describe.
    let mut second = Proxy::start_with(&home, &["-v"]);
    // The other proxy has something to describe, and finds that this one does it.
    let own = text(&upload(&second, "X-User-Id: ann\r\n", "notes.md", &notes(1))["doc_id"]);
    assert_eq!(settled(&second, "X-User-Id: ann\r\n", &own)["state"], "ready");
    second.hear_until("another process describes documents");
    first.kill();
    is_killed.store(true, Ordering::SeqCst);
    wait_for("its descriptions", || are_made_by(&home, "ann", "llama3.2"));
    wait_for("those of the other", || are_made_by(&home, "default", "llama3.2"));
    home.check();
}

/// A server of vectors, each of which follows from its text.
fn embedding() -> Fake {
    Fake::answering(|seen| {
        let request: Value = serde_json::from_str(seen.text()).unwrap();
        let texts = request["input"].as_array().unwrap().iter().enumerate();
        let vector = |text: &str| [text.len() as f64, text.bytes().map(f64::from).sum::<f64>(), 1.0];
        let data: Vec<Value> = texts
            .map(|(index, one)| json!({"index": index, "embedding": vector(one.as_str().unwrap())}))
            .collect();
        Answer::new(200, json!({"object": "list", "data": data}).to_string())
    })
}

on_each_store!(a_vector_is_made_once_by_two_proxies);
/// Keeps: A vector of a stored message is made by one proxy.
fn a_vector_is_made_once_by_two_proxies(home: Home) {
    let server = embedding();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let fake =
        Fake::answering(move |_| said(&format!("Answer number {}.", count.fetch_add(1, Ordering::SeqCst))));
    let home = storing_first(&home, &fake);
    let home = home.env("RSV_EMBED_VIA", &server.url()).env("RSV_EMBED_MODEL", "some-model");
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    std::thread::scope(|scope| {
        for (at, proxy) in proxies.iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..20 {
                    let body = json!({"model": "llama3.1", "messages": [
                        {"role": "user", "content": format!("Question {turn} at {at}?")}]});
                    let path = format!("/partition/default/instance/{at}/v1/chat/completions");
                    assert_eq!(proxy.raw(&post(&path, "", &body.to_string())).0, 200);
                }
            });
        }
    });
    let embedded = || {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for seen in server.seen() {
            let request: Value = serde_json::from_str(seen.text()).unwrap();
            for one in request["input"].as_array().unwrap().iter().map(text) {
                if let Some((_, number)) = one.split_once("Answer number ") {
                    *count.entry(number.to_owned()).or_default() += 1;
                }
            }
        }
        count
    };
    wait_for("all vectors", || embedded().len() == 40);
    assert!(embedded().values().all(|times| *times == 1), "{:?}", embedded());
    home.check();
}
