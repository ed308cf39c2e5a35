//! How much was said each day, and what recall cost, as text and as a picture.

use crate::support::{Home, lines_of, on_each_store};
use serde_json::{Value, json};

/// Milliseconds of a day and of an hour.
const DAY: i64 = 24 * HOUR;
const HOUR: i64 = 3_600_000;

/// Monday, 5 January 2026, 00:00 UTC.
const MONDAY: i64 = 1_767_571_200_000;

fn message(partition: &str, instance: &str, time: i64) -> Value {
    json!({"kind": "message", "id": format!("{partition}-{time}"), "trace_id": "t", "partition": partition,
        "instance": instance, "role": "user", "content": "An owl.", "timestamp": time})
}

/// A request that got so many tokens of recall.
fn account(partition: &str, time: i64, tokens: u64) -> Value {
    json!({"kind": "account", "id": format!("account-{partition}-{time}"), "trace_id": "t", "partition": partition,
        "instance": partition, "timestamp": time, "window": 128_000, "reserve": 4000, "counted": 500 + tokens,
        "counter": "estimate", "request": 500, "fence": 20, "recalled": [{"id": "m", "score": 1.0, "tokens": tokens - 50}],
        "recent": [{"id": "n", "tokens": 30}], "left_out": [], "dropped": []})
}

fn import(home: &Home, lines: &[Value]) {
    let lines: String = lines.iter().map(|line| line.to_string() + "\n").collect();
    home.run("rsv-import", &["--quiet"], lines).ok();
}

/// Half a year in three scopes, with recall in one of them, told in UTC some time later.
fn furnished(home: Home) -> Home {
    let home = home.env("TZ", "UTC").at("2026-11-24T12:00:00Z");
    let mut lines = Vec::new();
    for day in 0..180 {
        let start = MONDAY + day * DAY;
        lines.extend((0..day % 7 * (day / 30)).map(|at| message("work", "work", start + at * HOUR)));
        if day % 3 == 0 {
            lines.push(message("garden", "bench", start + HOUR));
        }
        if day % 5 == 0 {
            lines.push(account("work", start, 100 + day as u64));
        }
    }
    lines.push(message("日本語の庭のとても長い名前", "e\u{301}", MONDAY + 40 * DAY));
    import(&home, &lines);
    home
}

fn drawn(home: &Home, format: &str, words: &[&str]) -> String {
    home.run("rsv-config", &[&["status", "--format", format], words].concat(), "").ok()
}

#[test]
fn activity_looks_as_it_did() {
    let home = furnished(Home::new());
    for columns in ["40", "80", "200"] {
        let text = drawn(&home.env("COLUMNS", columns), "text", &[]);
        let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{widest} of {columns}:\n{text}");
        insta::assert_snapshot!(format!("{columns}.text"), text);
    }
    insta::assert_snapshot!("calendar.svg", drawn(&home, "svg", &[]));
    let garden = drawn(&home, "text", &["-p", "garden"]);
    assert!(garden.starts_with("60 messages · ") && !garden.contains("recall"), "{garden}");
}

on_each_store!(every_store_has_the_same_activity);
/// Keeps: Every store has the same activity.
fn every_store_has_the_same_activity(home: Home) {
    let picture = |home: &Home| ["text", "svg"].map(|format| drawn(home, format, &[]));
    assert_eq!(picture(&furnished(home)), picture(&furnished(Home::new())));
}

#[test]
fn a_day_begins_at_midnight_of_the_user() {
    let home = Home::new().at("2026-11-24T12:00:00Z");
    import(&home, &[message("p", "p", MONDAY - HOUR), message("p", "p", MONDAY)]);
    let svg = |zone: &str| drawn(&home.env("TZ", zone), "svg", &[]);
    let utc = svg("UTC");
    assert!(utc.contains(">4 Jan 2026: 1 message<") && utc.contains(">5 Jan 2026: 1 message<"), "{utc}");
    assert!(svg("Europe/Berlin").contains(">5 Jan 2026: 2 messages<"));
    assert!(svg("America/New_York").contains(">4 Jan 2026: 2 messages<"));
}

#[test]
fn what_recall_cost_is_the_sum_of_the_accounts() {
    let home = Home::new();
    home.ingest(&["-p", "garden"], "The tomatoes stand by the warm wall.");
    for question in ["Where are the tomatoes?", "And by which wall do the tomatoes stand?"] {
        let request = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": question}]});
        let enriched = home.run("rsv-enrich", &["-p", "garden"], request.to_string()).ok();
        let line = json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "By the wall."}}],
            "rsv": lines_of(&enriched)[0]["rsv"],
        });
        home.run("rsv-ingest", &[], line.to_string()).ok();
    }
    let accounts = lines_of(&home.run("rsv-view", &["--accounts", "-p", "garden"], "").ok());
    let tokens = |account: &Value| {
        let parts = ["recalled", "recent"].into_iter().flat_map(|list| account[list].as_array().unwrap());
        account["fence"].as_u64().unwrap() + parts.map(|part| part["tokens"].as_u64().unwrap()).sum::<u64>()
    };
    let sum: u64 = accounts.iter().map(tokens).sum();
    assert!(accounts.len() == 2 && sum > 0, "{accounts:?}");
    let svg = drawn(&home, "svg", &[]);
    assert!(svg.contains(&format!(">{sum} tokens added to 2 requests, ")), "{sum}: {svg}");
    let text = drawn(&home, "text", &[]);
    assert!(text.contains(&format!("█  {sum}\n2 requests, ")), "{sum}: {text}");
}

#[test]
fn many_partitions_and_years_are_counted_and_the_picture_stays_small() {
    let home = Home::new().env("TZ", "UTC").at("2026-11-24T12:00:00Z");
    let mut lines: Vec<Value> = (0..30)
        .flat_map(|scope| (0..=scope).map(move |at| message(&format!("p{scope}"), "i", MONDAY + at)))
        .collect();
    // Years ago, in a year to come, and where no calendar goes.
    lines.extend([0, 4_000 * DAY + MONDAY, 253_402_300_799_000].map(|time| message("p29", "i", time)));
    import(&home, &lines);
    let (svg, text) = (drawn(&home, "svg", &[]), drawn(&home, "text", &[]));
    for picture in [&svg, &text] {
        assert!(picture.contains("22 further partitions with 253 messages not shown"), "{picture}");
        assert!(picture.contains("3 messages of other days not shown"), "{picture}");
        assert!(picture.contains("p22") && !picture.contains("p21"), "{picture}");
    }
    assert!(svg.len() < 100_000 && svg.contains("5 Jan 2026: 30 messages"), "{svg}");
    import(&home, &[message("p29", "i", MONDAY - 5000 * DAY), message("p29", "i", MONDAY - 1000 * DAY)]);
    let width =
        |svg: &str| svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse::<u32>().unwrap();
    let svg = drawn(&home, "svg", &[]);
    assert!(svg.contains("4 messages of other days not shown") && width(&svg) < 2200, "{svg}");
}

#[test]
fn a_partition_of_many_conversations_has_one_calendar() {
    let home = Home::new().env("TZ", "UTC").at("2026-11-24T12:00:00Z");
    let lines = (0..42).map(|at| message("chatgpt", &format!("conversation {at}"), MONDAY + at * DAY));
    import(&home, &lines.collect::<Vec<_>>());
    for (words, name) in [(&[][..], ">chatgpt<"), (&["-p", "chatgpt"], ">chatgpt<")] {
        let svg = drawn(&home, "svg", words);
        assert_eq!(svg.matches(name).count(), 1, "{svg}");
        assert!(!svg.contains("conversation") && !svg.contains("further"), "{svg}");
    }
    let one = drawn(&home, "svg", &["-p", "chatgpt", "-i", "conversation 3"]);
    assert!(one.contains(">chatgpt/conversation 3<"), "{one}");
}

#[test]
fn an_empty_store_has_no_activity_and_stays_missing() {
    let home = Home::new();
    let ran = home.run("rsv-config", &["status", "--format", "text"], "");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "0 messages\n"), "{ran}");
    let svg = drawn(&home, "svg", &[]);
    assert!(svg.contains(">0 messages<") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    assert!(!home.store().exists());
}

#[test]
fn the_name_of_a_scope_is_text() {
    let home = Home::new();
    import(&home, &[message("<b a='\"'>&\u{1b}[31m\u{202e}", "]]>\n</svg>", MONDAY)]);
    let svg = drawn(&home, "svg", &[]);
    assert!(svg.contains("&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{1b}[31"), "{svg}");
    for picture in [svg.as_str(), &drawn(&home, "text", &[])] {
        assert!(!picture.contains(['\u{1b}', '\u{202e}']), "{picture:?}");
    }
    assert_eq!(svg.matches("</svg>").count(), 1);
}
