//! Measures how long counting a request of 100 000 tokens takes, compared with tiktoken for the same texts: prints the
//! medians in milliseconds and their ratio. Run it by `cargo bench --bench count`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use rsv::chat::Request;
use rsv::record::{Object, quote};
use rsv::tokens::Counter;
use std::time::{Duration, Instant};

const WORDS: &str =
    "the tide comes in at nine and the heron stands in the reeds where nobody sees it 4711 times";
const TOKENS: usize = 100_000;
const RUNS: usize = 15;

fn main() {
    let encoder = tiktoken_rs::o200k_base_singleton();
    let texts: Vec<String> = (0..TOKENS / 100).map(|n| format!("{n}: {}.", [WORDS; 5].join(", "))).collect();
    let messages: Vec<String> =
        texts.iter().map(|text| format!("{{\"role\":\"user\",\"content\":{}}}", quote(text))).collect();
    let body = format!("{{\"model\":\"gpt-4o\",\"messages\":[{}]}}", messages.join(","));
    let request = Request::parse(Object::parse(&body).unwrap()).unwrap();
    let counter = Counter::for_model("gpt-4o");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut counted, mut tokens) = (0, 0);
    for _ in 0..RUNS {
        ours.push(timed(|| counted = request.messages.iter().map(|message| counter.message(message)).sum()));
        theirs.push(timed(|| tokens = texts.iter().map(|text| encoder.encode_ordinary(text).len()).sum()));
    }
    // Each message counts a few tokens more, for its role and its ends.
    let more = (counted - tokens) / texts.len();
    assert!((1..=10).contains(&more) && counted - tokens == more * texts.len(), "{counted} {tokens}");
    assert!(tokens >= TOKENS / 2, "{tokens}");
    let (ours, theirs) = (median(ours), median(theirs));
    println!("{:.2} {:.2} {:.2}", ours * 1e3, theirs * 1e3, ours / theirs);
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// In seconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}
