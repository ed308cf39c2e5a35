//! Short ids and the first letters of instances: what a person sees on a terminal is what every tool takes.

use crate::support::{Home, lines_of, on_each_store};
use crate::terminal::{Terminal, plain};
use rsv::record::id_digest;
use serde_json::json;
use std::collections::HashMap;

/// A message line with an id of its own.
fn message(id: &str, partition: &str, instance: &str, content: &str) -> String {
    let line = json!({"kind": "message", "id": id, "trace_id": "t", "partition": partition, "instance": instance,
        "role": "user", "content": content, "timestamp": 1_767_225_600_000_i64});
    format!("{line}\n")
}

/// Two ids whose digests begin with the same letters, as many as these at least.
fn ids_that_begin_alike(letters: usize) -> [String; 2] {
    let mut seen: HashMap<String, String> = HashMap::new();
    for number in 0.. {
        let id = format!("m{number}");
        let begin = id_digest(&id)[..letters].to_owned();
        if let Some(other) = seen.insert(begin, id.clone()) {
            return [other, id];
        }
    }
    unreachable!()
}

on_each_store!(a_short_id_names_its_record_for_every_tool);
/// Keeps: A short id names one record, and a full id goes before it.
fn a_short_id_names_its_record_for_every_tool(home: Home) {
    let memory = json!({"kind": "memory", "id": "y1", "partition": "garden", "title": "Walls", "content": "Warm.",
        "outcome": "success", "timestamp": 1_767_225_600_000_i64});
    let lines = message("m1", "garden", "garden", "The tomatoes stand by the wall")
        + &message("m2", "garden", "garden", "The beans climb")
        + &format!("{memory}\n");
    home.run("rsv-import", &[], lines).ok();
    let short = |id: &str| id_digest(id)[..7].to_owned();
    // It is shown.
    let shown = home.run("rsv-search", &["--all", "--format", "text", "tomatoes"], "").ok();
    assert!(shown.contains(&short("m1")), "{shown}");
    let shown = home.run("rsv-view", &["-p", "garden", "--format", "text"], "").ok();
    assert!(shown.contains(&short("m1")) && shown.contains(&short("m2")), "{shown}");
    // It is taken, also in part and in capitals, and what programs read has the full id.
    for given in [&short("m1")[..], &short("m1")[..4], &short("m1").to_uppercase(), &id_digest("m1"), "m1"] {
        let found = lines_of(&home.run("rsv-view", &["--id", given], "").ok());
        assert_eq!(found[0]["id"], "m1", "{given}");
    }
    let rated = home.run("rsv-signal", &["--helpful", "-p", "garden", &short("y1")], "").ok();
    assert_eq!(lines_of(&rated)[0]["id"], "y1");
    assert_eq!(lines_of(&home.run("rsv-view", &["--of", &short("y1")], "").ok()).len(), 1);
    let linked = home.run("rsv-link", &[&short("m1"), &short("y1")], "").ok();
    assert_eq!((&lines_of(&linked)[0]["from"], &lines_of(&linked)[0]["to"]), (&json!("m1"), &json!("y1")));
    assert!(home.run("rsv-search", &["--all", "--exclude", &short("m1"), "tomatoes"], "").stdout.is_empty());
    // Another partition has no such record.
    let missing = home.run("rsv-view", &["-p", "shop", "--id", &short("m1")], "").trouble();
    assert!(missing.contains(&format!("there is no record {}", short("m1"))), "{missing}");
    home.run("rsv-forget", &["--all", &short("m1")], "").ok();
    assert!(home.run("rsv-view", &["--id", &short("m1")], "").trouble().contains("there is no record"));
    assert_eq!(home.contents("rsv-view", &["-p", "garden", "--id", &short("m2")]), ["The beans climb"]);
    home.check();
}

on_each_store!(a_short_id_that_two_records_share_is_refused_with_both);
fn a_short_id_that_two_records_share_is_refused_with_both(home: Home) {
    let [one, other] = ids_that_begin_alike(7);
    let begin = id_digest(&one)[..7].to_owned();
    let lines = message(&one, "garden", "garden", "Owls in the wall")
        + &message(&other, "garden", "garden", "Moss on the wall")
        // A full id that looks like a short one.
        + &message(&begin[..5], "garden", "garden", "Rent is due");
    home.run("rsv-import", &[], lines).ok();
    let before = home.export();
    for (tool, words) in [
        ("rsv-view", &["--id", &begin][..]),
        ("rsv-forget", &["--all", &begin]),
        ("rsv-forget", &["-p", "garden", &begin]),
        ("rsv-link", &[&begin, &other]),
    ] {
        let refused = home.run(tool, words, "").trouble();
        assert!(
            refused.contains(&format!("the id {begin} is ambiguous: 2 records begin with it")),
            "{refused}"
        );
        assert!(refused.contains("Owls in the wall") && refused.contains("Moss on the wall"), "{refused}");
    }
    assert_eq!(home.export(), before);
    // The shown id is longer, and names one record.
    let shown = home.run("rsv-view", &["-p", "garden", "--format", "text"], "").ok();
    for (id, content) in [(&one, "Owls in the wall"), (&other, "Moss on the wall")] {
        let line = shown.lines().find(|line| line.contains(content)).unwrap();
        let short = line.split(' ').next().unwrap();
        assert!(short.len() > 7 && id_digest(id).starts_with(short), "{line}");
        assert_eq!(home.contents("rsv-view", &["--id", short]), [content]);
    }
    assert_eq!(home.contents("rsv-view", &["--id", &begin[..5]]), ["Rent is due"]);
    home.check();
}

on_each_store!(the_first_letters_of_an_instance_stand_for_it_where_it_is_read);
fn the_first_letters_of_an_instance_stand_for_it_where_it_is_read(home: Home) {
    let lines = message("m1", "chat", "57440b5c-0000-4000-8000-000000000001", "Tomatoes")
        + &message("m2", "chat", "57449999-0000-4000-8000-000000000002", "Beans")
        + &message("m3", "chat", "desk", "Owls")
        + &message("m4", "chat", "desktop", "Moss");
    home.run("rsv-import", &[], lines).ok();
    let read = |instance: &str| home.contents("rsv-view", &["-p", "chat", "-i", instance]);
    assert_eq!(read("57440"), ["Tomatoes"]);
    assert_eq!(read("desk"), ["Owls"]);
    assert_eq!(read("deskt"), ["Moss"]);
    assert_eq!(read("574"), [""; 0]);
    assert_eq!(home.contents("rsv-search", &["-p", "chat", "-i", "57440", "tomatoes"]), ["Tomatoes"]);
    let export = home.run("rsv-export", &["-p", "chat", "-i", "57440"], "").ok();
    assert_eq!(lines_of(&export).len(), 1);
    let refused = home.run("rsv-view", &["-p", "chat", "-i", "5744"], "").trouble();
    assert!(
        refused.contains("the instance 5744 is ambiguous: 2 of the partition chat begin with it"),
        "{refused}"
    );
    assert!(refused.contains("57440b5c-0000-4000-8000-000000000001; 57449999"), "{refused}");
    // Records go to the scope that is named, and no script removes an instance that it does not name.
    home.ingest(&["-p", "chat", "-i", "57440"], "Radishes");
    assert_eq!(read("57440"), ["Radishes"]);
    let forgotten = home.run("rsv-forget", &["-p", "chat", "-i", "5744999", "--everything", "--yes"], "");
    assert_eq!((forgotten.status, forgotten.stdout.as_str()), (1, ""));
    home.check();
}

#[test]
fn a_person_is_told_which_instance_the_letters_stand_for() {
    let home = Home::new();
    home.run("rsv-import", &[], message("m1", "chat", "57440b5c-with-more", "Tomatoes")).ok();
    let Some(terminal) = Terminal::start(&home, "rsv-view", "-p chat -i 57440") else { return };
    let (seen, status) = terminal.end();
    assert!(status == 0 && seen.contains("57440 is the instance 57440b5c-with-more"), "{seen}");
    assert!(seen.contains("Tomatoes"), "{seen}");
}

on_each_store!(a_hit_opens_the_conversation_around_it);
fn a_hit_opens_the_conversation_around_it(home: Home) {
    let lines = message("m1", "chat", "one", "Where do the tomatoes stand?")
        + &message("m2", "chat", "one", "By the wall")
        + &message("m3", "chat", "two", "Owls");
    home.run("rsv-import", &[], lines).ok();
    let short = id_digest("m2")[..7].to_owned();
    let whole = home.contents("rsv-view", &["--id", &short, "--conversation"]);
    assert_eq!(whole, ["Where do the tomatoes stand?", "By the wall"]);
    let text = home.run("rsv-view", &["--id", &short, "--conversation", "--format", "text"], "").ok();
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with("> ")).collect();
    assert!(marked.len() == 1 && marked[0].contains("By the wall"), "{text}");
}

#[test]
fn the_heads_of_hits_fit_on_terminals_of_80_and_40_columns() {
    let home = Home::new();
    let lines = message("m1", "chatgpt", "6740e0b6-1c2d-8000-9000-123456789abc", "Tomatoes by the wall")
        + &message("m2", "a-partition-with-a-long-name", "an-instance-with-a-long-name", "Tomatoes in May");
    home.run("rsv-import", &[], lines).ok();
    for columns in [80, 40] {
        let line = "rsv-search --all tomatoes; rsv-search --all -C 1 tomatoes";
        let Some(terminal) = Terminal::run(&home, columns, line) else { return };
        let seen = plain(&terminal.end().0);
        for id in ["m1", "m2"] {
            let short = &id_digest(id)[..7];
            let heads: Vec<&str> = seen.lines().filter(|line| line.contains(short)).collect();
            assert_eq!(heads.len(), 2, "{seen}");
        }
        let longest = seen.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(longest <= columns, "{longest} of {columns}: {seen}");
    }
}
