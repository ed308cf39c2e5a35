//! Measures whether redaction takes linear time: for each rule, the beginnings of its secrets, and whole ones, repeated to
//! 1 MB and to 100 KB, and objects that have secrets for names. Prints the greatest ratio of each kind, and the time for
//! 1 MB in milliseconds; ends with 1 if a ratio exceeds 12. Run it by `cargo bench --bench redact`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use rsv::record::Object;
use rsv::redact::Redactor;
use std::process::ExitCode;
use std::time::Instant;

const RULES: &str = include_str!("../src/redact/rules.txt");
const SHORT_BYTES: usize = 100_000;
const LONG_BYTES: usize = 1_000_000;
const MAX_RATIO: f64 = 12.0;
/// The short text is searched so often, so that another process disturbs both alike.
const TIMES: usize = 10;
/// The least of so many times counts.
const RUNS: usize = 2;
/// How often a ratio that is too great is measured again.
const RETRIES: usize = 3;
/// The text between two openings.
const SEPARATORS: [&str; 4] = ["", "\n", "/", ":"];

fn main() -> ExitCode {
    let redactor = Redactor::with_patterns(None).unwrap();
    let mut is_linear = true;
    println!("{:<36} {:>6} {:>9}", "kind", "ratio", "ms a MB");
    for line in RULES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut parts = line.splitn(4, ' ');
        let (kind, keywords) = (parts.next().unwrap(), parts.next().unwrap());
        let pattern = parts.nth(1).unwrap();
        let (mut worst, mut slowest) = (0.0_f64, 0.0_f64);
        for text in openings(keywords, pattern) {
            for separator in SEPARATORS {
                let (short, long) =
                    (repeated(&text, separator, SHORT_BYTES), repeated(&text, separator, LONG_BYTES));
                let measure = || (time(&redactor, &short, TIMES) / TIMES as f64, time(&redactor, &long, 1));
                let times = settled(measure);
                (worst, slowest) = (worst.max(times.1 / times.0), slowest.max(times.1));
            }
        }
        let mark = if worst > MAX_RATIO { "  not linear" } else { "" };
        is_linear &= worst <= MAX_RATIO;
        println!("{kind:<36} {worst:>6.1} {:>9.1}{mark}", slowest * 1e3);
    }
    let parts: Vec<Object> = (0..TIMES).map(|part| with_secret_names(part, SHORT_BYTES)).collect();
    let whole = [with_secret_names(0, LONG_BYTES)];
    let (short, long) =
        settled(|| (redact_time(&redactor, &parts) / TIMES as f64, redact_time(&redactor, &whole)));
    println!("{:<36} {:>6.1} {:>9.1}", "names of members", long / short, long * 1e3);
    is_linear &= long / short <= MAX_RATIO;
    if is_linear { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Two times, measured again as long as another process may have run meanwhile.
fn settled(measure: impl Fn() -> (f64, f64)) -> (f64, f64) {
    let mut times = measure();
    for _ in 0..RETRIES {
        if times.1 / times.0 > MAX_RATIO {
            times = measure();
        }
    }
    times
}

/// A message with so many bytes of names that are secrets, and none of another part.
fn with_secret_names(part: usize, bytes: usize) -> Object {
    const MIX: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let names = (0..bytes / 40).map(|n| (part * LONG_BYTES + n + 1) as u128);
    let names = names.map(|n| format!("\"ghp_{:036x}\":1", n.wrapping_mul(MIX)));
    Object::parse(&format!("{{{}}}", names.collect::<Vec<_>>().join(","))).unwrap()
}

/// The seconds for messages, the least of `RUNS`.
fn redact_time(redactor: &Redactor, messages: &[Object]) -> f64 {
    let run = |_| {
        let mut copies = messages.to_vec();
        let begin = Instant::now();
        for copy in &mut copies {
            redactor.redact_message(copy);
        }
        begin.elapsed().as_secs_f64()
    };
    (0..RUNS).map(run).fold(f64::INFINITY, f64::min)
}

/// The keywords of a rule, as they stand and before a value, a shortest secret, and one that lacks its end.
fn openings(keywords: &str, pattern: &str) -> Vec<String> {
    let bare = keywords.split(',').map(|word| word.trim_start_matches(r"\b").to_owned());
    let mut openings: Vec<String> = bare.collect();
    openings.truncate(3);
    if pattern.starts_with('@') {
        openings.extend(openings.clone().iter().flat_map(|word| {
            [format!("{word}="), format!("{word}: \""), format!("{word}=k8Tz!{word}"), format!("{word}a:b")]
        }));
        return openings;
    }
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).unwrap();
    let mut secret = String::new();
    shortest(&hir, &mut secret);
    openings.push(secret[..secret.len() - 1].to_owned());
    openings.push(secret);
    openings
}

/// Appends a shortest text that a pattern matches.
fn shortest(pattern: &Hir, text: &mut String) {
    match pattern.kind() {
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).unwrap()),
        HirKind::Class(Class::Bytes(class)) => {
            let letter = |range: &regex_syntax::hir::ClassBytesRange| {
                (range.start()..=range.end()).find(u8::is_ascii_alphanumeric)
            };
            let ranges = class.ranges();
            let byte = ranges.iter().rev().find_map(letter).unwrap_or_else(|| ranges[0].start());
            text.push(char::from(byte));
        }
        HirKind::Class(Class::Unicode(class)) => text.push(class.ranges()[0].start()),
        HirKind::Repetition(repetition) => (0..repetition.min).for_each(|_| shortest(&repetition.sub, text)),
        HirKind::Capture(capture) => shortest(&capture.sub, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| shortest(part, text)),
        HirKind::Alternation(parts) => shortest(&parts[0], text),
        HirKind::Empty | HirKind::Look(_) => {}
    }
}

fn repeated(text: &str, separator: &str, bytes: usize) -> String {
    [text, separator].concat().repeat(bytes / (text.len() + separator.len()))
}

/// The least time in which the secrets of a text are found so many times, in seconds.
fn time(redactor: &Redactor, text: &str, times: usize) -> f64 {
    let run = || {
        let begun = Instant::now();
        for _ in 0..times {
            std::hint::black_box(redactor.find(text));
        }
        begun.elapsed().as_secs_f64()
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}
