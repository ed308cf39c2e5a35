//! A clock that leaves the range of valid times while rsv-proxy runs. A library that is loaded into it (`clock.c`) shows
//! the time that a file says.

use crate::disk::built_library;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, asking};
use crate::support::{Home, lines_of};
use serde_json::Value;

const CHAT: &str = "/v1/chat/completions";

/// Keeps: A clock that leaves the years 1970 to 9999 is reported once, and ends no task by a panic.
#[test]
fn a_clock_that_leaves_its_range_is_reported_once_and_stops_nothing_for_good() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 4]);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let set = |seconds: &str| drop(home.write("clock", seconds));
    set("");
    let mut command = home.command("rsv-proxy");
    command.env("LD_PRELOAD", built_library("clock")).env("RSV_CLOCK", home.path("clock"));
    let mut proxy = Proxy::spawn({
        command.args(["--port", "0"]);
        command
    });
    let clock = |proxy: &Proxy| {
        let health: Value = serde_json::from_str(&proxy.get("/health").1).unwrap();
        health["clock"].as_str().unwrap().to_owned()
    };
    // One connection for each event loop.
    for _ in 0..8 {
        assert_eq!(clock(&proxy), "ok");
    }
    assert_eq!(proxy.post(CHAT, "", &asking("in time")).0, 200);

    set("-86400");
    let early = "the clock is not between the years 1970 and 9999; 1970-01-01T00:00:00.000Z is used";
    for text in ["too early", "too early again"] {
        assert_eq!(proxy.post(CHAT, "", &asking(text)).0, 200);
        assert_eq!(clock(&proxy), early);
    }
    set("253402300799");
    assert_eq!(proxy.post(CHAT, "", &asking("in the last second")).0, 200);

    set("253402300800");
    let late = "the clock is not between the years 1970 and 9999; 9999-12-31T23:59:59.999Z is used";
    for _ in 0..8 {
        let (status, body) = proxy.get("/health");
        assert!(status == 503 && body.contains("so that no response can be dated"), "{status} {body}");
    }
    set("");
    assert_eq!(clock(&proxy), "ok");

    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(0), "{said}");
    let again = "the clock is between the years 1970 and 9999 again";
    assert!(!said.contains("panicked"), "{said}");
    for (text, count) in [(early, 1), (late, 1), (again, 2)] {
        assert_eq!(said.matches(text).count(), count, "{said}");
    }
    let lines = lines_of(&home.run("rsv-view", &["--all", "99"], "").ok());
    let time = |text: &str| lines.iter().find(|line| line["content"] == text).unwrap()["timestamp"].clone();
    assert_eq!((time("too early"), time("in the last second")), (0.into(), 253_402_300_799_000_i64.into()));
}
