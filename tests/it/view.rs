//! rsv-view.

use crate::support::{Home, Talk, lines_of, on_each_store, text};
use serde_json::json;

fn view(home: &Home, words: &[&str]) -> Vec<String> {
    home.contents("rsv-view", words)
}

/// Ten turns a minute apart, in trace t0 and t1 by turns, and two in other scopes.
fn conversation() -> Home {
    let home = Home::new();
    let mut lines = String::new();
    for n in 0..10 {
        let role = ["user", "assistant", "tool", "user", "assistant"][n % 5];
        let turn = json!({"role": role, "content": format!("turn {n}"), "trace_id": format!("t{}", n % 2),
            "timestamp": 60_000 * n});
        lines += &format!("{turn}\n");
    }
    for (partition, instance, at) in [("work", "desk", 90_000), ("work", "phone", 30_000)] {
        let turn = json!({"role": "user", "content": format!("at {instance}"), "partition": partition,
            "instance": instance, "timestamp": at});
        lines += &format!("{turn}\n");
    }
    home.ingest(&[], &lines);
    home
}

#[test]
fn the_last_ones_come_oldest_first() {
    let home = conversation();
    assert_eq!(view(&home, &["3"]), ["turn 7", "turn 8", "turn 9"]);
    assert_eq!(view(&home, &["1"]), ["turn 9"]);
    assert_eq!(view(&home, &[]).len(), 10);
    assert_eq!(view(&home, &["1000"]).len(), 10);
    assert_eq!(view(&home, &["0"]), [""; 0]);
    assert_eq!(view(&Home::new(), &[]), [""; 0]);
    assert!(home.run("rsv-view", &["-1"], "").trouble().contains("error: unexpected argument '-1' found"));
    assert!(home.run("rsv-view", &["ten"], "").trouble().contains("error: invalid value 'ten'"));
}

#[test]
fn seq_then_id_decide_within_one_time() {
    let home = Home::new();
    let lines: String = [("c", 2, "m1"), ("d", 2, "m2"), ("a", 0, "m4"), ("b", 1, "m3")]
        .iter()
        .map(|(said, seq, id)| {
            json!({"role": "user", "content": said, "seq": seq, "timestamp": 5, "id": id}).to_string() + "\n"
        })
        .collect();
    home.ingest(&["--trace", "t"], &lines);
    assert_eq!(view(&home, &[]), ["a", "b", "c", "d"]);
    assert_eq!(view(&home, &["2"]), ["c", "d"]);
}

#[test]
fn roles_traces_and_times_narrow() {
    let home = conversation();
    assert_eq!(view(&home, &["--role", "tool"]), ["turn 2", "turn 7"]);
    assert_eq!(view(&home, &["2", "--role", "tool", "--role", "user"]), ["turn 7", "turn 8"]);
    assert_eq!(view(&home, &["--trace", "t1"]), ["turn 1", "turn 3", "turn 5", "turn 7", "turn 9"]);
    assert_eq!(view(&home, &["2", "--trace", "t1"]), ["turn 7", "turn 9"]);
    assert_eq!(view(&home, &["--trace", "none"]), [""; 0]);
    // Both ends belong to it.
    assert_eq!(view(&home, &["--since", "420000"]), ["turn 7", "turn 8", "turn 9"]);
    assert_eq!(view(&home, &["--until", "1970-01-01T00:01:00Z"]), ["turn 0", "turn 1"]);
    let between = ["--since", "1970-01-01T01:01:00+01:00", "--until", "1970-01-01T00:02:00.000"];
    assert_eq!(view(&home, &between), ["turn 1", "turn 2"]);
    assert_eq!(view(&home, &["--since", "1970-01-02"]), [""; 0]);
    assert_eq!(view(&home, &["1", "--since", "-5", "--until", "60000", "--role", "user"]), ["turn 0"]);
    assert!(home.run("rsv-view", &["--since", "soon"], "").trouble().contains("expected a time such as"));
}

#[test]
fn times_are_in_words_and_in_the_users_zone() {
    // A Saturday; in Auckland it is eight in the evening, in Berlin eight in the morning.
    let now = "2026-11-21T07:03:00Z";
    let home = Home::new().at(now).env("TZ", "Pacific/Auckland");
    let times = [
        "2026-11-21T07:00:00Z",
        "2026-11-20T11:00:00Z",
        "2026-11-20T10:59:00Z",
        "2026-11-15T11:00:00Z",
        "2026-11-15T10:59:00Z",
        "2026-10-31T10:59:00Z",
    ];
    let line = |time: &str| json!({"role": "user", "content": time, "timestamp": time}).to_string() + "\n";
    home.ingest(&[], &times.map(line).concat());
    for (since, count) in [
        ("yesterday", 3),
        ("today", 2),
        ("1h", 1),
        ("2d", 3),
        ("last monday", 4),
        ("monday", 4),
        ("last sunday", 5),
        ("2026-11-01", 5),
        ("2026-10-31T10:59:00Z", 6),
        ("2026-11-20 23:59", 3),
        ("yesterday 23:59", 3),
        ("20:00", 1),
    ] {
        assert_eq!(view(&home, &["--since", since]).len(), count, "{since}");
        let found = home.contents("rsv-search", &["2026", "--since", since, "--until", "now"]);
        assert_eq!(found.len(), count, "{since}");
    }
    let home = home.env("TZ", "Europe/Berlin");
    assert_eq!(view(&home, &["--since", "today"]).len(), 1);
    assert_eq!(view(&home, &["--until", "yesterday"]).len(), 3);
    assert_eq!(lines_of(&home.run("rsv-export", &["--since", "2026-11-16"], "").ok()).len(), 3);
    let gone = home.run("rsv-forget", &["--since", "3 days ago", "--dry-run"], "").ok();
    assert_eq!(lines_of(&gone).len(), 3);
    // The lines of a pipe are read as before: a date in one begins at midnight UTC.
    let query = json!({"query": "2026", "since": "2026-11-21"}).to_string();
    assert_eq!(lines_of(&home.run("rsv-search", &[], query).ok()).len(), 1);
}

#[test]
fn scopes_are_one_a_partition_or_all() {
    let home = conversation();
    assert_eq!(view(&home, &["-p", "work"]), ["at phone", "at desk"]);
    assert_eq!(view(&home, &["1", "-p", "work"]), ["at desk"]);
    assert_eq!(view(&home, &["-p", "work", "-i", "phone"]), ["at phone"]);
    assert_eq!(view(&home, &["-i", "default"]).len(), 10);
    assert_eq!(view(&home, &["-i", "desk"]), [""; 0]);
    assert_eq!(
        view(&home, &["4", "--all", "--until", "100000"]),
        ["turn 0", "at phone", "turn 1", "at desk"]
    );
    assert!(home.run("rsv-view", &["--all", "-p", "work"], "").trouble().contains("cannot be used with"));
}

#[test]
fn text_is_wrapped_and_control_characters_are_visible() {
    let home = Home::new().at("2026-11-21T07:03:00Z").env("COLUMNS", "60").env("TZ", "Europe/Berlin");
    let said = "An owl is a bird that hunts at night, and that turns its head further than most.\n\n\
                Bell \u{7}, escape \u{1b}[2J, bidi \u{202e}live\u{202c}, zero\u{200b}width, tag \u{e0041}, nul \0.\n\
                漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 👩\u{200d}💻 supercalifragilisticexpialidocious-and-so-on";
    home.run("rsv-ingest", &["--role", "assistant"], said).ok();
    let ran = home.run("rsv-view", &["--format", "text"], "");
    insta::assert_snapshot!(ran, @r"
    3fbd8f5 2026-11-21 08:03 assistant: An owl is a bird that
        hunts at night, and that turns its head further than
        most.

        Bell \u{7}, escape \u{1b}[2J, bidi \u{202e}live\u{202c},
        zero\u{200b}width, tag \u{e0041}, nul \u{0}.
        漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 👩‍💻
        supercalifragilisticexpialidocious-and-so-on
    [0]
    ");
    assert!(ran.stdout.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 60));
}

#[test]
fn json_lines_are_whole_records() {
    let home = conversation();
    let view = home.run("rsv-view", &["--all", "100"], "").ok();
    assert_eq!(
        view,
        home.export()
            .lines()
            .filter(|l| !l.contains("\"link\""))
            .fold(String::new(), |all, line| { all + line + "\n" })
    );
    assert_eq!(lines_of(&view).len(), 12);
}

on_each_store!(one_message_is_shown_with_those_around_it);
fn one_message_is_shown_with_those_around_it(home: Home) {
    let line = |n: usize, partition: &str| {
        json!({"id": format!("{partition}{n}"), "role": "user", "content": format!("turn {n}\n  of {partition}"),
            "partition": partition, "timestamp": 60_000 * n})
    };
    let lines = (0..5).flat_map(|n| [line(n, "a"), line(n, "b")]).map(|line| format!("{line}\n"));
    home.ingest(&[], &lines.collect::<String>());
    let said = |words: &[&str]| view(&home, words);
    assert_eq!(said(&["--id", "a2"]), ["turn 2\n  of a"]);
    assert_eq!(said(&["--id", "b4", "-C", "1"]), ["turn 3\n  of b", "turn 4\n  of b"]);
    assert_eq!(said(&["--id", "a1", "-C", "9", "-p", "a"]).len(), 5);
    assert_eq!(said(&["-n", "3", "-p", "b"]), said(&["3", "-p", "b"]));
    assert_eq!(said(&["-p", "b", "--limit", "1"]), ["turn 4\n  of b"]);
    let why = home.run("rsv-view", &["--id", "a2", "-p", "b"], "").trouble();
    assert!(why.contains("error: there is no record a2"), "{why}");
    let text = home.run("rsv-view", &["--id", "a2", "-C", "1", "--format", "text"], "").ok();
    insta::allow_duplicates! { insta::assert_snapshot!(text, @r"
      f55ff16 1970-01-01 00:01 a/a user: turn 1
                                           of a
    > 2c3a424 1970-01-01 00:02 a/a user: turn 2
                                           of a
      f46dd28 1970-01-01 00:03 a/a user: turn 3
                                           of a
    ") };
    let hits = home.run("rsv-search", &["-p", "a", "-n", "1", "-C", "1", "turn"], "").ok();
    assert_eq!(hits, home.run("rsv-search", &["-p", "a", "--limit", "1", "--context", "1", "turn"], "").ok());
    assert_eq!(lines_of(&hits).len(), 2);
}

on_each_store!(following_prints_what_is_stored_from_now_on);
fn following_prints_what_is_stored_from_now_on(home: Home) {
    let say = |id: &str, minute: u64, partition: &str| {
        let line = json!({"id": id, "role": "user", "content": id, "timestamp": 60_000 * minute,
            "partition": partition});
        home.ingest(&[], &line.to_string());
    };
    // Before there is a store in a file.
    let mut early = home.talk("rsv-view", &["--follow", "-p", "a"]);
    say("one", 1, "a");
    say("two", 20, "a");
    let heard = |talk: &mut Talk| text(&lines_of(&talk.hear().unwrap())[0]["content"]);
    let mut late = home.talk("rsv-view", &["-f", "1", "-p", "a", "--since", "0"]);
    assert_eq!(heard(&mut late), "two");
    say("elsewhere", 21, "b");
    say("three", 30, "a");
    assert_eq!([(); 3].map(|()| heard(&mut early)), ["one", "two", "three"]);
    assert_eq!(heard(&mut late), "three");
    // It was begun before the last one, and ended after it.
    say("slow", 25, "a");
    home.run("rsv-forget", &["one", "--all"], "").ok();
    say("four", 31, "a");
    for talk in [&mut early, &mut late] {
        assert_eq!([heard(talk), heard(talk)], ["slow", "four"]);
    }
    for mut talk in [early, late] {
        talk.child.kill().unwrap();
        talk.end();
    }
}

#[test]
fn following_has_no_end_and_no_format_with_one() {
    let home = Home::new();
    for words in [&["--follow", "--format", "json"][..], &["--follow", "--until", "now"]] {
        home.run("rsv-view", words, "").trouble();
    }
}

#[test]
fn following_ends_if_the_store_is_removed() {
    let home = conversation();
    let mut talk = home.talk("rsv-view", &["--follow", "-n", "1"]);
    assert!(talk.hear().unwrap().contains("turn 9"));
    std::fs::remove_file(home.store()).unwrap();
    let (status, why) = talk.end();
    assert!(status.code() == Some(2) && why.starts_with("rsv-view: error: "), "{why}");
}

on_each_store!(the_scopes_are_listed_with_their_messages);
fn the_scopes_are_listed_with_their_messages(home: Home) {
    let line = |partition: &str, instance: &str, minute: u64, said: &str| {
        json!({"role": "user", "content": said, "partition": partition, "instance": instance,
            "timestamp": 60_000 * minute})
        .to_string()
            + "\n"
    };
    let lines = [
        line("work", "desk", 5, "Évora"),
        line("work", "desk", 2, "a"),
        line("work", "phone", 7, "b"),
        line("庭", "庭", 9, &"long ".repeat(300)),
    ];
    home.ingest(&[], &lines.concat());
    let listed = |words: &[&str]| home.run("rsv-view", &[&["--scopes"], words].concat(), "").ok();
    let desk = json!({"partition": "work", "instance": "desk", "messages": 2, "first": "1970-01-01T00:02:00.000Z",
        "last": "1970-01-01T00:05:00.000Z", "bytes": 7});
    assert_eq!(lines_of(&listed(&[]))[0], desk);
    assert_eq!(lines_of(&listed(&[])).len(), 3);
    assert_eq!(listed(&["--all"]), listed(&[]));
    assert_eq!(lines_of(&listed(&["-p", "work", "-i", "desk"])), [desk]);
    assert_eq!(lines_of(&listed(&["--since", "1970-01-01 00:06"])).len(), 2);
    // Sessions have the time of their last messages.
    for (words, count) in [(["--since", "1970-01-01 00:06"], 2), (["--until", "1970-01-01 00:06"], 1)] {
        let sessions = home.run("rsv-view", &[&["--sessions"], &words[..]].concat(), "").ok();
        assert_eq!(lines_of(&sessions).len(), count);
    }
    assert_eq!(listed(&["-p", "none"]), "");
    assert_eq!(listed(&["-p", "none", "--format", "json"]), "[]\n");
    insta::allow_duplicates! { insta::assert_snapshot!(listed(&["--format", "text"]), @r"
    work/desk   2 messages     7 B  1970-01-01 00:02 to 1970-01-01 00:05
    work/phone  1 message      1 B  1970-01-01 00:07 to 1970-01-01 00:07
    庭/庭       1 message   1.5 KB  1970-01-01 00:09 to 1970-01-01 00:09
    ") };
}

#[test]
fn an_array_has_the_lines_as_elements() {
    let home = conversation().and_model();
    let line = |id: &str, text: &str| {
        json!({"id": id, "role": "user", "content": text, "timestamp": 5, "seq": 0}).to_string() + "\n"
    };
    let lines = &(line("a", "a turn\nof two lines") + &line("b", "b turn"));
    let questions = "{\"query\":\"desk\"}\n{\"query\":\"nothing\"}\n{\"query\":\"turn\"}\n";
    for (tool, words, stdin) in [
        ("rsv-view", &["--all"][..], ""),
        ("rsv-view", &["-p", "nobody"], ""),
        ("rsv-view", &["--accounts"], ""),
        ("rsv-search", &["turn", "--context", "1"], ""),
        ("rsv-search", &["-p", "work"], questions),
        ("rsv-search", &["nothing", "at", "all"], ""),
        ("rsv-ingest", &["--trace", "t"], lines),
        ("rsv-embed", &[], lines),
    ] {
        let all = |format: &str| {
            let ran = home.run(tool, &[words, &["--format", format]].concat(), stdin);
            assert!(ran.status < 2 && ran.stderr.is_empty(), "{ran}");
            (ran.stdout, ran.status)
        };
        let (array, status) = all("json");
        let elements: Vec<serde_json::Value> = serde_json::from_str(&array).unwrap();
        let (lines, same) = all("jsonl");
        assert_eq!((elements, status), (lines_of(&lines), same), "{tool} {words:?}");
        assert_eq!(array.lines().count(), if lines.is_empty() { 1 } else { lines.lines().count() + 2 });
    }
    // The text of an error is not in it.
    let ran = home.run("rsv-ingest", &["--format", "json"], "{\"role\":\"user\",\"content\":\"c\"}\nbad\n");
    let elements: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((elements.len(), ran.status), (1, 2));
}

#[test]
fn accounts_show_what_was_recalled() {
    let home = Home::new().at("2026-11-21T07:03:00Z");
    home.ingest(&["-p", "w"], &json!({"role": "user", "content": "Owls hunt."}).to_string());
    let ask = |words: &[&str], text: &str| {
        let request = json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string();
        let mut line: serde_json::Value =
            serde_json::from_str(&home.run("rsv-enrich", words, request).ok()).unwrap();
        line["choices"] = json!([{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]);
        line["messages"].take();
        line["kind"] = json!("response");
        home.run("rsv-ingest", &[], line.to_string()).ok();
        line["rsv"]["account"].clone()
    };
    let reported = [ask(&["-p", "w"], "Do owls hunt?"), ask(&["-p", "other"], "Do bats hunt?")];
    let seen = lines_of(&home.run("rsv-view", &["--accounts", "-p", "w"], "").ok());
    assert_eq!(seen, reported[..1]);
    assert_eq!(lines_of(&home.run("rsv-view", &["--accounts", "--all"], "").ok()).len(), 2);
    let trace = reported[1]["trace_id"].as_str().unwrap();
    let by_trace = home.run("rsv-view", &["--accounts", "--all", "--trace", trace], "").ok();
    assert_eq!(lines_of(&by_trace), reported[1..]);
    let wide = home.env("COLUMNS", "200");
    let text = wide.run("rsv-view", &["--accounts", "-p", "w", "--format", "text"], "").ok();
    let account = &reported[0];
    let (counted, tokens) = (&account["counted"], &account["recalled"][0]["tokens"]);
    let wanted = format!(
        "2026-11-21 07:03 “Do owls hunt?” was sent with 1 related message: about {counted} of 8192 tokens.\n    \
         related: “Owls hunt.” ({tokens} tokens)\n"
    );
    assert_eq!(text, wanted);
    let before =
        wide.run("rsv-view", &["--accounts", "-p", "w", "--offset", "1", "--format", "text"], "").ok();
    assert_eq!(before, "");
}

/// An account as it may have been stored: each reason in words, the beginnings of what is there, the ids of the rest.
#[test]
fn accounts_give_the_reasons_in_words() {
    let home = Home::new().at("2026-11-21T07:03:00Z");
    let long =
        "The tomatoes stand by the warm wall, and the beans go up the north fence this year, as they did.";
    let hostile = "one\u{1b}[2J\ntwo";
    for (id, said) in [("a", long), ("b", hostile)] {
        let line = json!({"id": id, "role": "user", "content": said, "trace_id": "old", "timestamp": 5});
        home.ingest(&["-p", "w"], &line.to_string());
    }
    let part = |id: &str, hop: u64| json!({"id": id, "score": 1.5, "hop": hop, "tokens": 21});
    let left: Vec<serde_json::Value> =
        (0..5).map(|n| json!({"id": format!("gone{n}"), "reason": "threshold"})).collect();
    let account = json!({"kind": "account", "id": "x", "trace_id": "t", "partition": "w", "instance": "w",
        "timestamp": 1_795_244_580_000_u64, "window": 4096, "reserve": 1024, "counted": 812, "counter": "o200k_base",
        "request": 700, "fence": 70, "recalled": [part("a", 0), part("b", 1)], "recent": [{"id": "c", "tokens": 7}],
        "left_out": left, "dropped": [{"at": 0, "role": "user", "tokens": 90}], "degraded": "no model: words only",
        "prompt_tokens": 12, "cut": true});
    home.run("rsv-import", &["--quiet"], account.to_string()).ok();
    let wide = home.env("COLUMNS", "200");
    let text = wide.run("rsv-view", &["--accounts", "-p", "w", "--format", "text"], "").ok();
    insta::assert_snapshot!(text, @r"
    2026-11-21 07:03 A request was sent with 2 related messages and 1 recent: 812 of 4096 tokens (o200k_base).
        related: “The tomatoes stand by the warm wall, and the beans go up th…” (21 tokens)
        linked: “one\u{1b}[2J two” (21 tokens)
        recent: c (7 tokens)
        left out, since too little would help: gone0, gone1, gone2 and 2 more
        dropped from the request, which was too long: 1 message (90 tokens)
        memory worked only in part: no model: words only
        the provider read only 12 tokens
    ");
}
