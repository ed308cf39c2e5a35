//! A turn is stored once, whichever way brings it: two copies of a conversation, as a proxy and an import store them.

use crate::support::{Home, lines_of, on_each_store, text, tries};
use serde_json::{Value, json};

/// Role, text and time in seconds of the messages of a conversation in which the same is said twice.
const SAID: [(&str, &str, u64); 8] = [
    ("user", "Where do the Kestrel lamps ship from?", 0),
    ("assistant", "From the warehouse in Aarhus.", 9),
    ("user", "Yes", 20),
    ("assistant", "Shall I order twelve of them?", 31),
    ("user", "Yes", 40),
    ("assistant", "They are ordered: twelve lamps.", 52),
    ("user", "Thanks", 300),
    ("assistant", "You are welcome.", 302),
];

/// A line of an instance of the partition `shop`; two lines of a turn have one trace. A session is another program's.
fn line(instance: &str, at: usize, (role, content, seconds): (&str, &str, u64), late: u64) -> String {
    let time = 1_700_000_000_000 + (seconds + late) * 1000;
    let mut line = json!({"kind": "message", "id": format!("{instance}-{at}"), "trace_id": format!("{instance}-{}", at / 2),
        "partition": "shop", "instance": instance, "role": role, "content": content, "timestamp": time});
    if instance.ends_with("-session") {
        line["source"] = "claude-code".into();
        line["source_id"] = format!("{instance} {at}").into();
    }
    format!("{line}\n")
}

/// The conversation as an import has it, and as a proxy has it.
fn session() -> Vec<String> {
    SAID.iter().enumerate().map(|(at, one)| line("5744-session", at, *one, 0)).collect()
}

fn proxied() -> Vec<String> {
    SAID.iter().enumerate().map(|(at, one)| line("shop", at, *one, 3)).collect()
}

/// The messages of the partition, as instance and text.
fn messages(home: &Home) -> Vec<(String, String)> {
    let all = lines_of(&home.run("rsv-view", &["-p", "shop", "-n", "100"], "").ok());
    all.iter().map(|one: &Value| (text(&one["instance"]), text(&one["content"]))).collect()
}

fn session_alone() -> Vec<(String, String)> {
    SAID.iter().map(|(_, said, _)| ("5744-session".to_owned(), (*said).to_owned())).collect()
}

on_each_store!(a_turn_is_stored_once_whichever_way_brings_it);
/// Keeps: A turn is stored once, whichever way brings it.
fn a_turn_is_stored_once_whichever_way_brings_it(home: Home) {
    tries(3, |mut dice| {
        let home = home.emptied();
        // Each way brings its messages in their order, in whole turns, and in as many batches as it likes.
        let (mut ways, mut batches) = ([session(), proxied()], Vec::new());
        while ways.iter().any(|way| !way.is_empty()) {
            let way = &mut ways[dice.below(2)];
            let count = (2 + 2 * dice.below(4)).min(way.len());
            batches.push(way.drain(..count).collect::<String>());
        }
        for batch in &batches {
            let tool = ["rsv-ingest", "rsv-import"][dice.below(2)];
            home.run(tool, &[], batch).ok();
        }
        assert_eq!(messages(&home), session_alone(), "{batches:#?}");
        // Once more, nothing is new.
        home.run("rsv-import", &[], [proxied(), session()].concat().concat()).ok();
        assert_eq!(messages(&home), session_alone());
        home.check();
    });
}

#[test]
fn copies_are_found_among_more_messages_than_a_batch_has() {
    let home = Home::new();
    let filler = |at: usize| {
        let time = 1_600_000_000_000 + at * 1000;
        format!(
            r#"{{"kind":"message","id":"f{at}","trace_id":"f","partition":"filler","instance":"f","role":"user","content":"Filler {at}","timestamp":{time}}}"#
        ) + "\n"
    };
    let fillers: String = (0..21_000).map(filler).collect();
    let lines = [session().concat(), fillers, proxied().concat()].concat();
    home.run("rsv-import", &[], lines).ok();
    assert_eq!(messages(&home), session_alone());
    assert_eq!(home.run("rsv-view", &["-p", "filler", "-n", "30000"], "").ok().lines().count(), 21_000);
}

on_each_store!(stores_that_exchange_exports_agree_on_copies);
fn stores_that_exchange_exports_agree_on_copies(home: Home) {
    let other = Home::new();
    home.run("rsv-import", &[], session().concat()).ok();
    other.run("rsv-import", &[], proxied().concat()).ok();
    let exports = [home.run("rsv-export", &[], "").ok(), other.run("rsv-export", &[], "").ok()];
    home.run("rsv-import", &[], &exports[1]).ok();
    other.run("rsv-import", &[], &exports[0]).ok();
    for home in [&home, &other] {
        assert_eq!(messages(home), session_alone());
    }
    assert_eq!(home.run("rsv-export", &[], "").ok(), other.run("rsv-export", &[], "").ok());
}

on_each_store!(what_is_said_in_two_conversations_stays_in_both);
fn what_is_said_in_two_conversations_stays_in_both(home: Home) {
    let said = |instance, question, answer| {
        let said = [
            ("user", question, 0),
            ("assistant", "Shall I go on?", 9),
            ("user", "yes", 20),
            ("assistant", answer, 30),
        ];
        said.iter().enumerate().map(|(at, one)| line(instance, at, *one, 0)).collect::<String>()
    };
    home.run("rsv-import", &[], said("one-session", "Order the lamps.", "They are ordered.")).ok();
    home.run("rsv-import", &[], said("two", "Water the garden.", "It is wet.")).ok();
    home.run("rsv-import", &[], said("shop", "Mend the till.", "It is mended.")).ok();
    assert_eq!(messages(&home).len(), 12);
    // Nor is one a copy that is said in two conversations as they are held, or an hour later, or in another partition.
    for instance in ["held", "beside"] {
        let held: String = SAID.iter().enumerate().map(|(at, one)| line(instance, at, *one, 7200)).collect();
        home.run("rsv-ingest", &[], held).ok();
    }
    assert_eq!(messages(&home).len(), 12 + 16);
    let forgotten = home.run("rsv-forget", &["-q", "--everything", "-p", "shop", "-i", "held"], "");
    assert_eq!(forgotten.status, 0, "{forgotten}");
    let again: String = SAID.iter().enumerate().map(|(at, one)| line("again", at, *one, 7260)).collect();
    home.run("rsv-ingest", &[], again).ok();
    assert_eq!(messages(&home).len(), 12 + 16);
    home.run("rsv-forget", &["-q", "--everything", "-p", "shop", "-i", "again"], "").ok();
    home.run("rsv-forget", &["-q", "--everything", "-p", "shop", "-i", "beside"], "").ok();
    home.run("rsv-import", &[], session().concat()).ok();
    let later: String =
        SAID.iter().enumerate().map(|(at, one)| line("later-session", at, *one, 3600)).collect();
    home.run("rsv-import", &[], later).ok();
    let elsewhere = proxied()
        .concat()
        .replace("\"partition\":\"shop\"", "\"partition\":\"home\"")
        .replace("shop-", "home-");
    home.run("rsv-import", &[], elsewhere).ok();
    assert_eq!(messages(&home).len(), 12 + 8 + 8);
    assert_eq!(lines_of(&home.run("rsv-view", &["-p", "home", "-n", "100"], "").ok()).len(), 8);
}

on_each_store!(what_was_forgotten_in_one_form_stays_out_in_the_other);
/// Keeps: A turn that was forgotten stays out whichever way brings it again.
fn what_was_forgotten_in_one_form_stays_out_in_the_other(home: Home) {
    let forget = ["-q", "--yes", "--everything", "-p", "shop"];
    // Forgotten before the copy comes, in either form; and after it was taken for one.
    for (first, then) in [(session(), proxied()), (proxied(), session())] {
        for knows_copy in [false, true] {
            let home = home.emptied();
            home.run("rsv-import", &[], first.concat()).ok();
            if knows_copy {
                home.run("rsv-import", &[], then.concat()).ok();
            }
            home.run("rsv-forget", &forget, "").ok();
            let imported = home.run("rsv-import", &[], then.concat());
            assert_eq!(imported.status, 0, "{imported}");
            assert!(messages(&home).is_empty(), "{knows_copy}: {:?}", messages(&home));
            // Another store that has the copy alone is told.
            let other = Home::new();
            other.run("rsv-import", &[], then.concat()).ok();
            if knows_copy {
                other.run("rsv-import", &["-q"], home.run("rsv-export", &[], "").ok()).ok();
                assert!(messages(&other).is_empty(), "{:?}", messages(&other));
            }
            home.run("rsv-import", &["-q", "--allow-return"], then.concat()).ok();
            assert_eq!(messages(&home).len(), SAID.len());
        }
    }
}

on_each_store!(an_import_that_is_undone_leaves_what_the_proxy_stored);
fn an_import_that_is_undone_leaves_what_the_proxy_stored(home: Home) {
    for held_first in [true, false] {
        let home = home.emptied();
        if held_first {
            home.run("rsv-ingest", &[], proxied().concat()).ok();
        }
        let other = line("other-session", 0, ("user", "Who waters the garden?", 9000), 0);
        home.run("rsv-import", &["-q"], session().concat() + &other).ok();
        if !held_first {
            home.run("rsv-ingest", &[], proxied().concat()).ok();
        }
        assert_eq!(messages(&home).len(), SAID.len() + 1);
        let history = home.run("rsv-import", &["--history"], "").ok();
        let id = history.split_whitespace().skip_while(|word| *word != "--import").nth(1).unwrap();
        home.run("rsv-forget", &["-q", "--yes", "--import", id], "").ok();
        assert_eq!(messages(&home), session_alone());
    }
}
