//! Processes that forget are killed, or work beside others: a message is whole or gone, and nothing of it is left.

use crate::support::{Dice, Home, lines_of, number_from, on_each_store};
use rsv::record::Scopes;
use rsv::store::{Derived, Select, Store};
use rsv::text::{Occur, Term};
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const MESSAGES: usize = 300;

/// A message with words that no other has, of various lengths.
fn line(n: usize) -> String {
    let text =
        format!("{} secret{n}secret zażółć{n}gęślą {}", "before ".repeat(n % 50), "after ".repeat(n % 9));
    let vector: Vec<f32> =
        (0..8).map(|at| ((n * 31 + at * 17) % 101) as f32 - 50.0 + n as f32 / 1024.0).collect();
    let message = json!({"id": format!("m{n}"), "trace_id": format!("t{n}"), "role": "user", "content": text,
        "timestamp": 1000 + n, "embedding": vector, "embedding_model": "m"});
    format!("{message}\n")
}

/// The word that one message alone has.
fn secret(n: usize) -> String {
    format!("secret{n}secret")
}

/// The traces of a message in the files of a store: its text, its folded words, its vector.
fn leftovers(home: &Home, n: usize) -> Vec<String> {
    let directory = home.store().parent().unwrap().to_owned();
    let message = &lines_of(&line(n))[0];
    let vector: Vec<f32> = serde_json::from_value(message["embedding"].clone()).unwrap();
    let needles = [
        secret(n).into_bytes(),
        format!("zażółć{n}gęślą").into_bytes(),
        format!("zazolc{n}gesla").into_bytes(),
        format!("zazołc{n}gesla").into_bytes(),
        vector.iter().flat_map(|x| x.to_le_bytes()).collect(),
    ];
    let mut found = Vec::new();
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let holds = |needle: &Vec<u8>| memchr::memmem::find(&bytes, needle).is_some();
        for needle in needles.iter().filter(|needle| holds(needle)) {
            found.push(format!("{}: {}", path.display(), String::from_utf8_lossy(needle)));
        }
    }
    found
}

fn is_found(store: &mut dyn Store, n: usize) -> bool {
    let all = Select::messages(Scopes::All);
    let hits = store.find(&Term::parse(&secret(n)), Occur::All, &all, 10).unwrap();
    assert!(hits.len() < 2, "{hits:?}");
    !hits.is_empty()
}

on_each_store!(a_kill_leaves_a_message_whole_or_forgotten);
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_kill_leaves_a_message_whole_or_forgotten(home: Home) {
    let kills = home.kills();
    let seed = number_from("RSV_TEST_SEED").unwrap_or(47);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let lines: String = (0..MESSAGES).map(line).collect();
    home.ingest(&[], &lines);
    let begin = Instant::now();
    home.run("rsv-forget", &["m0"], "").ok();
    let whole = begin.elapsed();
    let mut gone = BTreeSet::from([0]);
    for _ in 0..kills {
        let n = dice.below(MESSAGES);
        let mut command = home.command("rsv-forget");
        command.arg(format!("m{n}")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        // Any moment will do.
        std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 800.0));
        let _ = process.kill();
        process.wait().unwrap();
        let mut store = home.open();
        let is_gone = !is_found(&mut *store, n);
        assert!(is_gone || !gone.contains(&n), "{n} is back");
        if is_gone {
            gone.insert(n);
        }
        // A message that is gone stays so, and one that is there is there already.
        home.run(
            "rsv-import",
            &["--quiet", "-p", "default"],
            line(n).replace("\"id\"", "\"partition\":\"default\",\"id\""),
        )
        .ok();
        assert_eq!(is_found(&mut *store, n), !is_gone, "{n}");
        assert_eq!(store.examine(10).unwrap().errors, [""; 0]);
        drop(store);
        if !home.is_at_server() {
            for n in &gone {
                assert_eq!(leftovers(&home, *n), [""; 0]);
            }
        }
    }
    let mut store = home.open();
    for n in 0..MESSAGES {
        assert_eq!(is_found(&mut *store, n), !gone.contains(&n), "{n}");
    }
    assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0]);
    home.check();
}

on_each_store!(searches_beside_writers_never_find_what_was_forgotten);
fn searches_beside_writers_never_find_what_was_forgotten(home: Home) {
    let lines: String = (0..MESSAGES).map(line).collect();
    home.ingest(&[], &lines);
    let (gone, done) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (home, done) = (&home, &done);
            scope.spawn(move || {
                let mut n = MESSAGES + writer;
                while !done.load(Ordering::Relaxed) {
                    home.ingest(&[], &line(n));
                    n += 4;
                }
            });
        }
        for searcher in 0..2 {
            let (home, gone, done) = (&home, &gone, &done);
            scope.spawn(move || {
                let (mut store, mut dice) = (home.open(), Dice(searcher));
                while !done.load(Ordering::Relaxed) {
                    let n = dice.below(MESSAGES);
                    let was_gone = gone.lock().unwrap().contains(&n);
                    let found = is_found(&mut *store, n);
                    assert!(!(was_gone && found), "{n} is found again");
                    // Message 1 is never forgotten.
                    assert!(is_found(&mut *store, 1));
                }
            });
        }
        let forgotten: Vec<usize> = (2..42).step_by(2).collect();
        for n in &forgotten {
            let ran = home.run("rsv-forget", &[&format!("m{n}")], "");
            assert!(ran.status == 0 || ran.stderr.contains("still"), "{ran}");
            gone.lock().unwrap().insert(*n);
        }
        done.store(true, Ordering::Relaxed);
    });
    // The last one to write finishes what readers have put off.
    home.ingest(&[], &line(100_000));
    let mut store = home.open();
    for n in gone.lock().unwrap().iter() {
        assert!(!is_found(&mut *store, *n));
        if !home.is_at_server() {
            assert_eq!(leftovers(&home, *n), [""; 0]);
        }
    }
    assert_eq!(store.examine(10).unwrap().errors, [""; 0]);
    assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0]);
    home.check();
}

/// The number of bytes, other than 0, between the cell pointers and the cells of b-tree pages (SQLite's file format,
/// 1.6), where moved cells leave copies.
fn unused_bytes(file: &[u8]) -> usize {
    let number = |bytes: &[u8]| usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
    let page_size = number(&file[16..]);
    let mut count = 0;
    for (n, page) in file.chunks(page_size).enumerate() {
        let header = if n == 0 { 100 } else { 0 };
        let pointers = match page[header] {
            2 | 5 => header + 12,
            10 | 13 => header + 8,
            _ => continue,
        };
        let begin = pointers + 2 * number(&page[header + 3..]);
        count += page[begin..number(&page[header + 5..])].iter().filter(|byte| **byte != 0).count();
    }
    count
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn nothing_is_left_of_messages_whose_rows_were_moved() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(53);
    println!("RSV_TEST_SEED={seed}");
    let (home, mut dice) = (Home::new(), Dice(seed));
    // Rows of all lengths, some of several pages, which SQLite moves to others as these become empty.
    let long = |n: usize, dice: &mut Dice| {
        let padding = "padding ".repeat([4, 40, 400][dice.below(3)] + dice.below(99));
        line(n).replacen("secret", &format!("{padding} secret"), 1)
    };
    let mut order: Vec<usize> = (0..MESSAGES).collect();
    let lines: String = order.iter().map(|n| long(*n, &mut dice)).collect();
    home.ingest(&[], &lines);
    let mut gone = Vec::new();
    while order.len() > 20 {
        let count = 1 + dice.below(25);
        let some: Vec<usize> =
            (0..count.min(order.len())).map(|_| order.swap_remove(dice.below(order.len()))).collect();
        let ids: Vec<String> = some.iter().map(|n| format!("m{n}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        home.run("rsv-forget", &ids, "").ok();
        for n in &some {
            assert_eq!(leftovers(&home, *n), [""; 0], "{n} after {gone:?}");
        }
        gone.extend(some);
    }
    for n in gone {
        assert_eq!(leftovers(&home, n), [""; 0], "{n}");
    }
    // The fact that says what remains to be done is removed last.
    assert!(unused_bytes(&std::fs::read(home.store()).unwrap()) < 8);
}
