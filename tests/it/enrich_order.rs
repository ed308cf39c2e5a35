//! The order in which messages are left out when the window is too small.

use crate::support::{Home, lines_of, text};
use serde_json::{Value, json};

/// A home that remembers: much small talk, in the midst of it the heron, to which something is linked.
fn home() -> Home {
    let home = Home::new().at("2026-11-21T07:03:00Z").env("RSV_ENRICH_SHARE", "1");
    let said = |n: usize| match n {
        10 | 14 => format!("Number {n}: a heron in the reeds"),
        _ => format!("Number {n}: nothing of any weight"),
    };
    let line = |n: usize| {
        json!({"id": format!("m{n:03}"), "role": "user", "content": said(n), "timestamp": 60_000 * n,
            "trace_id": format!("t{n:03}")})
        .to_string()
    };
    let link = |from: &str, to: &str| json!({"kind": "link", "rel": "SYNAPSE", "from": from, "to": to, "score": 0.9});
    let mut lines: Vec<String> = (0..60).map(line).collect();
    lines.extend([link("m010", "m030"), link("m014", "m035")].map(|link| link.to_string()));
    home.ingest(&["-p", "default"], &lines.join("\n"));
    home
}

/// A request with a system message, four turns, one of which calls a tool, and a question.
fn request() -> Value {
    let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
    for n in 0..3 {
        messages.push(json!({"role": "user", "content": format!("My question {n} was about the weather.")}));
        messages.push(json!({"role": "assistant", "content": format!("My answer {n} was that it rains.")}));
    }
    messages.extend([
        json!({"role": "user", "content": "Look it up then."}),
        json!({"role": "assistant", "content": null,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "c", "content": "It rains indeed."}),
        json!({"role": "assistant", "content": "So it does."}),
        json!({"role": "user", "content": "Where does the heron stand in the reeds?"}),
    ]);
    json!({"messages": messages})
}

/// The enriched requests for windows of these sizes in tokens; one run, since building the encoder's table takes time.
fn within(home: &Home, windows: &[usize]) -> Vec<Value> {
    let mut settings =
        "semantic_context_size = 12\nrecent_context_size = 4\n[enrich]\nselective = false\n".to_owned();
    let mut requests = String::new();
    for window in windows {
        let model = format!("gpt-4o-{window}");
        settings += &format!("[models.'{model}']\nmax_context_tokens = {window}\nreserve_tokens = 1\n");
        let mut request = request();
        request["model"] = json!(model);
        requests += &format!("{request}\n");
    }
    home.write(".config/rsv/config.toml", &settings);
    lines_of(&home.run("rsv-enrich", &["-p", "default"], requests).ok())
}

/// The ids of what is recalled, by their worth.
fn by_worth(line: &Value) -> Vec<String> {
    let list = |name: &str| line["rsv"]["account"][name].as_array().unwrap().clone();
    let (related, linked): (Vec<Value>, Vec<Value>) =
        list("recalled").into_iter().partition(|entry| entry["hop"].is_null());
    [list("recent"), related, linked].concat().iter().map(|entry| text(&entry["id"])).collect()
}

#[test]
fn linked_messages_come_before_similar_ones_and_those_before_recent_ones() {
    let home = home();
    let line = within(&home, &[100_000]).remove(0);
    let all = by_worth(&line);
    assert_eq!(all[..4], ["m059", "m058", "m057", "m056"]);
    assert!(all[4..6].iter().all(|id| ["m010", "m014"].contains(&id.as_str())), "{all:?}");
    let linked =
        line["rsv"]["account"]["recalled"].as_array().unwrap().iter().filter(|entry| !entry["hop"].is_null());
    assert!(all.len() == 16 && linked.count() >= 3, "{line}");
    // The number of messages that are recalled, and of the request's own that leave, in ever smaller windows.
    let mut steps: Vec<(usize, usize)> = Vec::new();
    let windows: Vec<usize> = (20..=1100).rev().step_by(10).collect();
    for (line, window) in within(&home, &windows).iter().zip(windows) {
        let account = &line["rsv"]["account"];
        let kept = by_worth(line);
        assert_eq!(kept, all[..kept.len()], "in {window}: the least worthy go first");
        let left_out = account["left_out"].as_array().unwrap();
        assert!(
            left_out.iter().filter(|left| left["reason"] == "budget").count() == all.len() - kept.len(),
            "{account}"
        );
        let dropped: Vec<u64> = account["dropped"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["at"].as_u64().unwrap())
            .collect();
        // The oldest turns leave whole, and only where nothing is recalled any more.
        assert!(
            [0, 2, 4, 6, 10].contains(&dropped.len()) && dropped.iter().copied().eq(1..=dropped.len() as u64),
            "{dropped:?}"
        );
        assert!(dropped.is_empty() || kept.is_empty(), "{account}");
        assert_eq!(line["choices"].is_null(), account["counted"].as_u64().unwrap() < window as u64);
        steps.push((kept.len(), dropped.len()));
    }
    assert!(steps.is_sorted_by(|a, b| a.0 >= b.0 && a.1 <= b.1), "{steps:?}");
    steps.dedup();
    assert!(steps.len() >= 18 && steps[0] == (16, 0) && steps.last() == Some(&(0, 10)), "{steps:?}");
}
