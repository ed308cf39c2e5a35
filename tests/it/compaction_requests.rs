//! Requests after a compaction, and those that only look like one, as programs and people send them.

use crate::compaction::{Provider, SUMMARY, Session, bash, carried, texts, work};
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, wait_for};
use serde_json::{Value, json};

/// The words of the note of a block that is carried over.
const NOTE: &str = "was compacted since";

fn documents(home: &Home) -> Vec<Value> {
    lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "document").collect()
}

/// The text of a message of chat completions.
fn text(message: &Value) -> String {
    message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned)
}

#[test]
fn chat_completions_have_the_text_at_the_summary_wherever_recalled_text_goes() {
    for (placement, compress) in [("head", "true"), ("head", "false"), ("system", "false"), ("tail", "false")]
    {
        let provider = Provider::new();
        let home = provider.home().env("RSV_ENRICH_PLACEMENT", placement);
        let home = home.env("RSV_ENRICH_COMPRESS", compress);
        let proxy = Proxy::start(&home);
        work(&mut Session::new(&proxy, &provider, "/partition/shop", "s1"));
        proxy.settle();
        let user = |text: &str| json!({"role": "user", "content": text});
        let system = |text: &str| json!({"role": "system", "content": text});
        let summary = format!("{SUMMARY}The webhook and its cents.");
        for messages in [
            json!([user(&summary)]),
            json!([system("Be brief."), user("hi"), system("Mode: build"), user(&summary)]),
        ] {
            let body = json!({"model": "gpt-4o", "messages": messages}).to_string();
            let headers = "x-session-id: s1\r\n";
            let (status, answer) = proxy.post("/partition/shop/v1/chat/completions", headers, &body);
            assert_eq!(status, 200, "{placement}: {answer}");
            let sent = provider.last()["messages"].as_array().unwrap().clone();
            let (last, others) = sent.split_last().unwrap();
            let last = text(last);
            assert!(last.contains(NOTE) && last.contains(&summary), "{placement}: {sent:?}");
            assert!(last.find(&summary) < last.find(NOTE), "{placement}: {last}");
            assert!(!others.iter().any(|one| text(one).contains(NOTE)), "{placement}: {others:?}");
        }
    }
}

#[test]
fn the_text_stays_beside_recalled_text_and_in_valid_json() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let mut other = Session::new(&proxy, &provider, "/partition/shop", "s0");
    other.user("Where is the webhook with the cents as integers?");
    other.send("The webhook with its cents is in pay.rs.");
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    work(&mut session);
    proxy.settle();
    session.compact("The webhook and its cents.");
    let go_on = json!({"type": "text", "text": "Continue from where you left off."});
    session.messages[0]["content"].as_array_mut().unwrap().push(go_on);
    let sent = session.act(&[bash("ls", None)]);
    assert!(carried(&home).len() <= 1 && texts(&sent).matches(NOTE).count() == 1, "{sent}");
    // A block of an earlier run that stands last goes, with its comma.
    let block = "<rsv-memory>\nQuoted\n> x\n</rsv-memory>";
    let content = json!([{"type": "text", "text": "Which webhook?"}, {"type": "text", "text": block}]);
    other.messages = vec![json!({"role": "user", "content": content})];
    let sent = texts(&other.send("Fine."));
    assert!(sent.contains("Which webhook?") && !sent.contains("> x"), "{sent}");
}

#[test]
fn the_text_stays_while_other_sessions_are_busy() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let mut other = Session::new(&proxy, &provider, "/partition/shop", "s0");
    other.user("Water the garden.");
    other.send("It runs.");
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    work(&mut session);
    proxy.settle();
    let mut serial = 0;
    let mut be_busy = || {
        let lines = lines_of(&home.export());
        let accounts: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "account").collect();
        let mut account = (*accounts.iter().find(|one| one["client_session"] == "s0").unwrap()).clone();
        account.as_object_mut().unwrap().remove("created_at");
        account["timestamp"] = json!(accounts.iter().filter_map(|one| one["timestamp"].as_i64()).max());
        let lines: String = (0..1100)
            .map(|_| {
                serial += 1;
                account["id"] = json!(format!("01999999-0000-7000-8000-{serial:012x}"));
                account["trace_id"] = json!(format!("01999999-0000-7000-9000-{serial:012x}"));
                format!("{account}\n")
            })
            .collect();
        home.run("rsv-ingest", &[], &lines).ok();
    };
    be_busy();
    session.compact("Something.");
    let first = session.act(&[bash("ls", None)]);
    proxy.settle();
    be_busy();
    let second = session.send("Done.");
    assert!(texts(&first).contains("$ cargo test webhook, failed"), "{first}");
    assert_eq!(first["messages"][0], second["messages"][0]);
}

#[test]
fn an_archive_is_of_the_turns_since_the_last_one_and_goes_with_an_action() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    work(&mut session);
    session.compact("The first part.");
    session.user("And the refund?");
    session.act(&[bash("make refund", None)]);
    session.send("We decided to refund in cents.");
    wait_for("the first archive", || documents(&home).len() == 1);
    proxy.settle();
    session.compact("The second part.");
    session.user("What now?");
    session.send("Nothing.");
    wait_for("the second archive", || documents(&home).len() == 2);
    let has = |archive: &Value, text: &str| archive["content"].as_str().unwrap().contains(text);
    let archives = documents(&home);
    let second = archives.iter().find(|one| has(one, "make refund")).unwrap();
    assert!(!has(second, "cargo test webhook"), "{second}");
    let lines = lines_of(&home.export());
    let action =
        lines.iter().find(|line| line["kind"] == "action" && line["command"] == "cargo test webhook");
    let id = action.unwrap()["id"].as_str().unwrap();
    home.run("rsv-forget", &["--all", "--derived", id], "").ok();
    let left = documents(&home);
    assert!(left.len() == 1 && has(&left[0], "make refund"), "{left:?}");
    home.check();
}

#[test]
fn words_that_only_look_like_a_compaction_are_none() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let at = |id| Session::new(&proxy, &provider, "/partition/shop", id);
    let mut asks = at("s1");
    asks.user("What did we do so far?");
    let mut sent = vec![asks.act(&[bash("git log", None)]), asks.act(&[bash("git status", None)])];
    sent.push(asks.send("We fixed the webhook."));
    let mut pastes = at("s2");
    work(&mut pastes);
    pastes.user(&format!("{SUMMARY}the webhook"));
    sent.push(pastes.send("It is a summary."));
    let mut begins = at("s3");
    begins.user("What did we do so far?");
    begins.send("We fixed the webhook.");
    proxy.settle();
    begins.user("Now the shop.");
    sent.push(begins.send("Fine."));
    for sent in &sent {
        assert!(!texts(sent).contains(NOTE), "{sent}");
    }
    assert_eq!(documents(&home), Vec::<Value>::new());
    // An image alone is the next turn.
    let mut shows = at("s4");
    work(&mut shows);
    proxy.settle();
    shows.compact("Something.");
    assert!(texts(&shows.send("Fine.")).contains(NOTE));
    let image = json!({"type": "base64", "media_type": "image/png", "data": "aGk="});
    shows.messages.push(json!({"role": "user", "content": [{"type": "image", "source": image}]}));
    assert!(texts(&shows.send("An image.")).contains(NOTE));
    shows.user("And now?");
    assert!(!texts(&shows.send("Fine.")).contains(NOTE));
}
