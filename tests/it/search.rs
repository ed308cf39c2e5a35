//! rsv-search by words.

use crate::support::{
    Dice, Home, Ran, lines_of, number_from, on_each_store, text, wait_for, without_short_ids,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

fn search(home: &Home, words: &[&str]) -> Vec<String> {
    home.contents("rsv-search", words)
}

/// A home whose store holds these texts, a second apart.
fn home_of(texts: &[&str]) -> Home {
    let home = Home::new();
    let line = |(n, text): (usize, &&str)| {
        json!({"role": "user", "content": text, "timestamp": 1000 * n, "id": format!("m{n:05}")}).to_string()
    };
    home.ingest(&["--trace", "t"], &texts.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    home
}

fn nothing(ran: Ran) {
    assert_eq!(ran.to_string(), "[1]");
}

#[test]
fn all_words_must_occur_even_as_parts() {
    let home = home_of(&["The owl hunts at night", "An owlet by day", "Night falls", "The day is bright"]);
    assert_eq!(search(&home, &["owl"]), ["The owl hunts at night", "An owlet by day"]);
    assert_eq!(search(&home, &["owl", "day"]), ["An owlet by day"]);
    assert_eq!(search(&home, &["night owl"]), ["The owl hunts at night"]);
    assert_eq!(search(&home, &["igh"]), ["Night falls", "The day is bright", "The owl hunts at night"]);
    assert_eq!(search(&home, &["OWL", "NiGhT"]), ["The owl hunts at night"]);
    nothing(home.run("rsv-search", &["owl", "falls"], ""));
    nothing(home.run("rsv-search", &["cat"], ""));
    nothing(Home::new().run("rsv-search", &["cat"], ""));
}

#[test]
fn the_words_may_come_on_standard_input() {
    let home = home_of(&["The owl hunts at night", "Night falls"]);
    let ran = home.run("rsv-search", &[], "night\n owl \n").ok();
    assert_eq!(lines_of(&ran)[0]["content"], "The owl hunts at night");
    for (words, stdin) in [(&[][..], ""), (&[], " \n"), (&["  "], "")] {
        let refused = "rsv-search: error: there is nothing to search for\nrsv-search: hint: give a word\n[2]";
        assert_eq!(home.run("rsv-search", words, stdin).to_string(), refused);
    }
}

#[test]
fn case_accents_and_width_do_not_matter() {
    let home = home_of(&[
        "Karel Čapek wrote R.U.R.",
        "STRASSE und Übermut",
        "Ёжик в тумане",
        "ΟΔΟΣ και δρόμος",
        "ＡＢＣ wide",
        "東京は日本の首都です",
        "서울은 대한민국의 수도",
        "ประเทศไทย",
        "cafe\u{301} au lait",
        "İstanbul",
        "the Gothic letter 𐌰",
    ]);
    for (asked, found) in [
        ("capek", "Karel Čapek wrote R.U.R."),
        ("ČAPEK", "Karel Čapek wrote R.U.R."),
        ("ubermut strasse", "STRASSE und Übermut"),
        ("ежик", "Ёжик в тумане"),
        ("ТУМАНЕ", "Ёжик в тумане"),
        ("οδος", "ΟΔΟΣ και δρόμος"),
        ("ΔΡΟΜΟΣ", "ΟΔΟΣ και δρόμος"),
        ("abc", "ＡＢＣ wide"),
        ("日本", "東京は日本の首都です"),
        ("首都です", "東京は日本の首都です"),
        ("대한", "서울은 대한민국의 수도"),
        ("ไทย", "ประเทศไทย"),
        ("café", "cafe\u{301} au lait"),
        ("CAFE", "cafe\u{301} au lait"),
        ("istanbul", "İstanbul"),
        ("𐌰", "the Gothic letter 𐌰"),
    ] {
        assert_eq!(search(&home, &[asked]), [found], "{asked}");
    }
}

#[test]
fn signs_are_looked_for_as_they_are() {
    let home = home_of(&[
        "C++ and C# differ",
        "plain C code",
        "foo-bar is one, foo bar are two",
        "foo bar only",
        "100% of a_b and a*b",
        "say \"hello\" to O'Brien",
        "an owl 🦉 and 👩\u{200d}💻",
        "path/to/file.rs:12",
        "just -- dashes",
    ]);
    for (asked, found) in [
        (&["C++"][..], &["C++ and C# differ"][..]),
        (&["c#"], &["C++ and C# differ"]),
        (&["++"], &["C++ and C# differ"]),
        (&["foo-bar"], &["foo-bar is one, foo bar are two"]),
        (&["100%"], &["100% of a_b and a*b"]),
        (&["a_b"], &["100% of a_b and a*b"]),
        (&["a*b"], &["100% of a_b and a*b"]),
        (&["\"hello\""], &["say \"hello\" to O'Brien"]),
        (&["O'Brien"], &["say \"hello\" to O'Brien"]),
        (&["🦉"], &["an owl 🦉 and 👩\u{200d}💻"]),
        (&["owl 🦉"], &["an owl 🦉 and 👩\u{200d}💻"]),
        (&["👩\u{200d}💻"], &["an owl 🦉 and 👩\u{200d}💻"]),
        (&["file.rs:12"], &["path/to/file.rs:12"]),
        (&["--", "--"], &["just -- dashes"]),
    ] {
        assert_eq!(search(&home, asked), found, "{asked:?}");
    }
    for harmless in
        ["'", "\"", "' OR 1=1 --", "\"owl", "owl*", "owl AND cat", "NEAR(owl)", "%", "_x_", "\\", "(", "^a"]
    {
        let ran = home.run("rsv-search", &["--", harmless], "");
        assert!(ran.status < 2 && ran.stderr.is_empty(), "{harmless}: {ran}");
    }
    nothing(home.run("rsv-search", &["' OR 1=1 --"], ""));
    nothing(home.run("rsv-search", &["o_l"], ""));
}

#[test]
fn words_between_quotes_stand_together() {
    let home = home_of(&[
        "The kettle is for green tea",
        "Green\u{a0}\n\tTEA, no kettle",
        "tea that is green",
        "evergreen teapot",
        "a \"green tea\" 5\" wide",
    ]);
    for (asked, found) in [
        ("\"green tea\"", &[4, 3, 0, 1][..]),
        ("\"Green  Tea\" kettle", &[0, 1]),
        ("kettle \"green tea\"", &[0, 1]),
        ("\"tea green\"", &[]),
        ("\"is green\" tea", &[2]),
        ("\"tea, no\"", &[1]),
        ("green tea", &[0, 1, 2, 3, 4]),
        ("\"green tea", &[4]),
        ("5\"", &[4]),
    ] {
        let words: BTreeSet<String> = search(&home, &[asked]).into_iter().collect();
        let all = home.contents("rsv-view", &[]);
        let wanted: BTreeSet<String> = found.iter().map(|n: &usize| all[*n].clone()).collect();
        assert_eq!(words, wanted, "{asked}");
    }
}

#[test]
fn odd_questions_are_answered() {
    let home = Home::with_model();
    let texts = ["an owl \u{0} hunts", "C++ -- \" OR *", "🦉🦉", "a\u{20dd} sign", "NEAR(the) river"];
    let lines: String =
        texts.map(|text| json!({"role": "user", "content": text}).to_string() + "\n").concat();
    home.ingest(&[], &lines);
    let long = |part: &str| part.repeat(100_000 / part.len());
    let different: String = (0..).map(|n: u32| format!("w{n:x} ")).take(15_000).collect();
    for (question, found) in [
        ("\" OR *", Some("C++ -- \" OR *")),
        ("NEAR(", Some("NEAR(the) river")),
        ("*", Some("C++ -- \" OR *")),
        ("🦉", Some("🦉🦉")),
        ("owl \u{0}", Some("an owl \u{0} hunts")),
        ("\u{0}", Some("an owl \u{0} hunts")),
        ("\u{20dd}", Some("a\u{20dd} sign")),
        (&long("owl "), Some("an owl \u{0} hunts")),
        (&long("owl"), None),
        (&long("\"owl "), None),
        (&long("\" "), Some("C++ -- \" OR *")),
        (&long("日本"), None),
        (&different, None),
    ] {
        let ran = home.run("rsv-search", &["--limit", "1"], question);
        let found: Vec<String> = found.iter().map(|text| text.to_string()).collect();
        let shown: String = question.chars().take(20).collect();
        assert_eq!((ran.stderr.as_str(), ran.status), ("", i32::from(found.is_empty())), "{shown}");
        let contents: Vec<String> = lines_of(&ran.stdout).iter().map(|hit| text(&hit["content"])).collect();
        assert_eq!(contents, found, "{shown}");
        let ran = home.run("rsv-search", &["--hybrid"], question);
        assert!(ran.stderr.is_empty() && ran.status < 2, "{shown}: {ran}");
    }
    for nothing in ["", " \n", "\u{301}", "\u{301}\u{308} "] {
        let refused = home.run("rsv-search", &[], nothing).trouble();
        assert!(refused.contains("there is nothing to search for"), "{refused}");
    }
}

#[test]
fn long_words_are_found_by_any_part() {
    let long: String = (0..40).map(|n| format!("{n:02}abcdefgh")).collect();
    let home = home_of(&[&long, "short"]);
    let (part, all) = (&long[150..210], &*long);
    for asked in ["17abcdefgh18", part, all, "39abcdefgh"] {
        assert_eq!(search(&home, &[asked]), [all], "{asked}");
    }
    nothing(home.run("rsv-search", &[&(part.to_owned() + "x")], ""));
}

#[test]
fn better_hits_come_first() {
    let filler = "and so it goes on about this and that for a while";
    let texts: Vec<String> = (0..50).map(|n| format!("common {n} {filler}")).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.extend([
        "common zebra and so it goes on about this and that",
        "common unzebraed and so it goes on about this and that",
        "zebra zebra zebra",
    ]);
    let home = home_of(&texts);
    let hits = search(&home, &["zebra"]);
    assert_eq!(hits[0], "zebra zebra zebra", "what says it more often, in fewer words");
    assert!(hits[2].starts_with("common unzebraed"), "a part of a word counts less than the whole: {hits:?}");
    assert_eq!(search(&home, &["common", "zebra"]).len(), 2);
    // Of equals the newest comes first.
    let last = search(&home, &["common", "while"]);
    assert!(last[0].starts_with("common 49 ") && last[1].starts_with("common 48 "), "{last:?}");
}

#[test]
fn a_hit_is_a_message_with_its_rank() {
    let home = home_of(&["The owl hunts", "An owl"]);
    let ran = home.run("rsv-search", &["owl"], "").ok();
    let hits = lines_of(&ran);
    let first = "{\"kind\":\"hit\",\"id\":\"m00001\",\"trace_id\":\"t\",\"partition\":\"default\",\
         \"instance\":\"default\",\"role\":\"user\",\"content\":\"An owl\",\"timestamp\":1000,\
         \"created_at\":\"1970-01-01T00:00:01.000Z\",\"rank\":1,\"score\":";
    assert!(ran.starts_with(first), "{ran}");
    assert_eq!((&hits[0]["rank"], &hits[1]["rank"]), (&json!(1), &json!(2)));
    assert!(hits[0]["score"].as_f64() > hits[1]["score"].as_f64());
    assert_eq!(hits[0]["score"], hits[0]["why"]["keyword"]);
    assert_eq!(home.run("rsv-search", &["owl"], "").ok(), ran, "the same for the same store");
    let text = home.run("rsv-search", &["owl", "--format", "text"], "").ok();
    assert_eq!(
        without_short_ids(&text),
        " 1. 0.19 1970-01-01 00:00 user: An owl\n 2. 0.18 1970-01-01 00:00 user: The owl hunts\n"
    );
}

#[test]
fn limits_roles_and_times_narrow() {
    let home = Home::new();
    let line = |n: usize| {
        let role = ["user", "assistant"][n % 2];
        json!({"role": role, "content": format!("owl {n}"), "timestamp": 1000 * n}).to_string()
    };
    home.ingest(&[], &(0..30).map(line).collect::<Vec<_>>().join("\n"));
    assert_eq!(search(&home, &["owl"]).len(), 10);
    assert_eq!(search(&home, &["owl", "--limit", "100"]).len(), 30);
    assert_eq!(search(&home, &["owl", "--limit", "2"]), ["owl 29", "owl 28"]);
    nothing(home.run("rsv-search", &["owl", "--limit", "0"], ""));
    assert_eq!(search(&home, &["owl", "--limit", "2", "--role", "user"]), ["owl 28", "owl 26"]);
    assert_eq!(search(&home, &["owl", "--since", "28000"]), ["owl 29", "owl 28"]);
    assert_eq!(search(&home, &["owl", "--until", "1000"]), ["owl 1", "owl 0"]);
    assert_eq!(search(&home, &["owl", "--until", "1000", "--role", "assistant"]), ["owl 1"]);
    nothing(home.run("rsv-search", &["owl", "--since", "30000"], ""));
}

#[test]
fn excluded_hits_leave_room_for_others() {
    let home = Home::new();
    let line = |n: usize| {
        let (id, trace) = (format!("m{n}"), format!("t{}", n / 2));
        json!({"role": "user", "content": format!("owl {n}"), "timestamp": n, "id": id, "trace_id": trace})
            .to_string()
    };
    home.ingest(&[], &(0..8).map(line).collect::<Vec<_>>().join("\n"));
    let found = |words: &[&str]| search(&home, &[&["owl", "--limit", "3"], words].concat());
    assert_eq!(found(&["--exclude", "m7", "--exclude", "m5"]), ["owl 6", "owl 4", "owl 3"]);
    assert_eq!(found(&["--exclude-trace", "t3", "--exclude", "m4"]), ["owl 5", "owl 3", "owl 2"]);
    let twice = ["--exclude-trace", "t3", "--exclude-trace", "t1", "--exclude-trace", "t0"];
    assert_eq!(found(&twice), ["owl 5", "owl 4"]);
    assert_eq!(found(&["--exclude", "", "--exclude", "'", "--exclude", "m"]), ["owl 7", "owl 6", "owl 5"]);
    let queries = r#"{"query":"owl","exclude":["m7","m6"],"exclude_trace":"t2"}
{"query":"owl","exclude":"m7"}
{"query":"owl","exclude":[1]}
"#;
    let ran = home.run("rsv-search", &["--limit", "1", "--exclude-trace", "t3"], queries);
    let ids: Vec<_> = lines_of(&ran.stdout).iter().map(|hit| hit["id"].clone()).collect();
    assert_eq!(ids, ["m3", "m5"]);
    let refused =
        "rsv-search: error: <stdin>:3: exclude: expected a string or an array of strings, found [1]\n";
    assert_eq!(ran.stderr, refused);
}

/// The ways to search, each with the flag that chooses it.
const WAYS: [&[&str]; 3] = [&[], &["--semantic"], &["--hybrid"]];

#[test]
fn duplicate_hits_are_collapsed_and_replaced_by_others() {
    let home = Home::with_model();
    let line = |n: usize| {
        let (role, said) = match n {
            7 => ("user", "\tThe owl hunts at night.".to_owned()),
            8 => ("assistant", "The owl hunts at night.".to_owned()),
            9 => ("user", "An owl at night".to_owned()),
            10 => ("user", "the owl hunts AT NIGHT.".to_owned()),
            _ => ("user", "The owl hunts at night.\n".repeat(1 + n % 2).trim_start().to_owned()),
        };
        json!({"role": role, "content": said, "timestamp": n, "id": format!("m{n}")}).to_string()
    };
    home.ingest(&[], &(0..150).map(line).collect::<Vec<_>>().join("\n"));
    home.run("rsv-embed", &["--pending", "-q"], "").ok();
    let found = |words: &[&str]| {
        let ran = home.run("rsv-search", &[&["The owl hunts at night"], words].concat(), "").ok();
        let hits = lines_of(&ran).into_iter();
        hits.map(|hit| format!("{}: {}", hit["role"], text(&hit["content"]).trim())).collect::<Vec<_>>()
    };
    for way in WAYS {
        let (once, short) =
            (found(&[way, &["-d"]].concat()), found(&[way, &["-d", "--limit", "3"]].concat()));
        // By words only what holds all of them is found. In capitals, the text is nearly the same.
        let wanted = if way.is_empty() { 3 } else { 4 };
        assert_eq!((once.len(), short.len()), (wanted, 3), "{way:?}: {once:?} {short:?}");
        assert_eq!(once.iter().collect::<BTreeSet<_>>().len(), wanted, "{way:?}: {once:?}");
        assert_eq!(found(way).len(), 10, "{way:?}: all are told unless it is asked for");
    }
}

#[test]
fn hits_below_a_score_are_left_out() {
    let home = Home::with_model();
    let texts =
        ["The owl hunts at night", "Night falls", "We ate sardines by the river", "My dog fears thunder"];
    let line = |text: &&str| json!({"role": "user", "content": text}).to_string();
    home.ingest(&[], &texts.iter().map(line).collect::<Vec<_>>().join("\n"));
    for way in WAYS {
        let found = |words: &[&str]| {
            let ran = home.run("rsv-search", &[&["night"], way, words].concat(), "").ok();
            lines_of(&ran).iter().map(|hit| hit["score"].as_f64().unwrap()).collect::<Vec<_>>()
        };
        let scores = found(&[]);
        assert!(scores.len() > 1 && scores[0] > scores[1], "{way:?}: {scores:?}");
        assert_eq!(found(&["--min-score", "-2"]), scores);
        assert_eq!(found(&["--min-score", &scores[1].to_string()]), scores[..2], "{way:?}");
        assert_eq!(found(&["--min-score", &scores[1].to_string(), "-d", "--limit", "9"]), scores[..2]);
        nothing(home.run("rsv-search", &[&["night", "--min-score", "1e9"], way].concat(), ""));
    }
    for refused in ["", "x", "nan", "inf"] {
        let ran = home.run("rsv-search", &["night", "--min-score", refused], "");
        assert!(ran.trouble().contains("expected a number"), "{refused}");
    }
}

/// Keeps: The parts of a score add up to it.
#[test]
fn the_parts_of_a_score_add_up() {
    let home = Home::with_model();
    let texts = [
        "My tomatoes grow by the wall",
        "They like the sun there",
        "A red tomato on the kitchen wall",
        "We painted the wall blue",
        "My dog fears thunder",
        "The train leaves at nine",
    ];
    let line = |(n, text): (usize, &&str)| {
        json!({"role": "user", "content": text, "timestamp": n, "id": format!("m{n}")}).to_string()
    };
    home.ingest(&[], &texts.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    let mut named = BTreeSet::new();
    for way in WAYS {
        let words = [&["tomato \"the  wall\"", "--limit", "9"], way].concat();
        let plain = home.run("rsv-search", &words, "").ok();
        let hits = lines_of(&home.run("rsv-search", &[&words[..], &["--explain"]].concat(), "").ok());
        for mut hit in hits.clone() {
            let parts = hit["why"].as_object_mut().unwrap().remove("parts").unwrap();
            let sum: f64 = parts.as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
            assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-9, "{way:?}: {hit} {parts}");
            named.extend(parts.as_object().unwrap().keys().cloned());
        }
        assert!(!plain.contains("parts") && plain.lines().count() == hits.len() && !hits.is_empty());
        let text =
            home.run("rsv-search", &[&words[..], &["--explain", "--format", "text"]].concat(), "").ok();
        assert_eq!(text.lines().count(), 2 * hits.len(), "{text}");
    }
    let wanted = ["tomato", "wall", "the", "similarity", "keyword", "around_1", "around_2"];
    assert_eq!(named, wanted.map(str::to_owned).into());
    let text = home.run("rsv-search", &["red wall", "--explain", "--format", "text"], "").ok();
    let wanted =
        " 1. 2.11 1970-01-01 00:00 user: A red tomato on the kitchen wall\n    1.45 red + 0.65 wall\n";
    assert_eq!(without_short_ids(&text), wanted);
}

#[test]
fn a_hit_is_shown_in_its_conversation() {
    let home = Home::new();
    let said = ["one owl", "two", "three", "four owl owl", "five", "six", "seven", "eight owl and more"];
    let line = |n: usize, instance: &str| {
        let (id, role) = (format!("{instance}{n}"), ["user", "assistant", "assistant"][n % 3]);
        json!({"role": role, "content": said[n], "timestamp": n, "id": id, "trace_id": (n / 4).to_string(),
            "partition": "p", "instance": instance})
        .to_string()
    };
    let lines: Vec<String> = (0..8).flat_map(|n| [line(n, "a"), line(n, "b")]).collect();
    home.ingest(&[], &lines.join("\n"));
    let found = |words: &[&str], stdin: &str| {
        let lines = lines_of(&home.run("rsv-search", &[&["-p", "p", "-i", "a"], words].concat(), stdin).ok());
        let reported = |line: &serde_json::Value| match &line["why"]["context"] {
            serde_json::Value::Null => format!("{} {}", text(&line["kind"]), text(&line["id"])),
            of => format!("{} {} of {}", text(&line["kind"]), text(&line["id"]), text(of)),
        };
        lines.iter().map(reported).collect::<Vec<_>>()
    };
    assert_eq!(found(&["owl"], ""), ["hit a3", "hit a0", "hit a7"]);
    let wanted = [
        "message a2 of a3",
        "hit a3",
        "message a4 of a3",
        "hit a0",
        "message a1 of a0",
        "message a6 of a7",
        "hit a7",
    ];
    assert_eq!(found(&["owl", "--context", "1"], ""), wanted);
    let narrowed = ["owl", "--context", "1", "--role", "user", "--exclude-trace", "1", "--exclude", "a1"];
    assert_eq!(found(&narrowed, ""), wanted[..5]);
    // Each neighbour is printed once per question, at the better hit.
    let wide = found(&["--context", "18446744073709551615"], "{\"query\":\"owl\"}\n{\"query\":\"seven\"}\n");
    assert_eq!((wide.len(), wide[8].as_str(), wide[14].as_str()), (16, "message a0 of a6", "hit a6"));
    let lines =
        home.run("rsv-search", &["--all", "--context", "1"], "{\"query\":\"seven\",\"id\":\"q\"}").ok();
    let last = lines.lines().nth(2).unwrap();
    assert!(last.ends_with(r#","why":{"context":"a6"},"query":"q"}"#), "{last}");
    let shown =
        home.run("rsv-search", &["-p", "p", "-i", "a", "owl", "--context", "1", "--format", "text"], "");
    let time = "1970-01-01 00:00";
    let wanted = [
        format!("{time} assistant: three"),
        format!(" 1. 1.14 {time} user: four owl owl"),
        format!("{time} assistant: five"),
        "--".into(),
        format!(" 2. 0.92 {time} user: one owl"),
        format!("{time} assistant: two"),
        "--".into(),
        format!("{time} user: seven"),
        format!(" 3. 0.76 {time} assistant: eight owl and more"),
    ];
    assert_eq!(without_short_ids(&shown.ok()), wanted.map(|line| line + "\n").concat());
}

#[test]
fn stored_hits_are_found_again() {
    let home = home_of(&["an owl", "a cat"]);
    let found = home.run("rsv-search", &["owl", "--context", "1"], "").ok();
    home.run("rsv-ingest", &["--store", "other"], &found).ok();
    let second = home.run("rsv-search", &["--store", "other"], "{\"query\":\"cat\",\"id\":\"q\"}").ok();
    let members =
        ["rank", "score", "why", "query"].map(|name| second.matches(&format!("\"{name}\":")).count());
    assert_eq!((second.lines().count(), members), (1, [1; 4]), "{second}");
}

#[test]
fn scopes_are_one_a_partition_or_all() {
    let home = Home::new();
    for (partition, instance) in
        [("work", "desk"), ("work", "phone"), ("home", "home"), ("default", "default")]
    {
        let said = format!("owl at {partition}/{instance}");
        home.run("rsv-ingest", &["-p", partition, "-i", instance, &said], "").ok();
    }
    let found = |words: &[&str]| search(&home, words).into_iter().collect::<BTreeSet<_>>().len();
    assert_eq!(search(&home, &["owl"]), ["owl at default/default"]);
    assert_eq!(search(&home, &["owl", "-p", "home"]), ["owl at home/home"]);
    assert_eq!(search(&home, &["owl", "-p", "work", "-i", "desk"]), ["owl at work/desk"]);
    assert_eq!((found(&["owl", "-p", "work"]), found(&["owl", "--all"])), (2, 4));
    nothing(home.run("rsv-search", &["owl", "-p", "work", "-i", "home"], ""));
    nothing(home.run("rsv-search", &["owl", "-p", "nowhere"], ""));
    assert!(home.run("rsv-search", &["owl", "--all", "-i", "x"], "").trouble().contains("cannot be used"));
}

/// Texts of random words: syllables, so that words hold each other; some with accents and signs.
fn random_text(dice: &mut Dice) -> String {
    let word = |dice: &mut Dice| -> String {
        let syllables = ["ka", "lo", "mi", "ne", "ru", "to", "é", "sh", "日", "x-", "C+"];
        let length = 1 + dice.below(3);
        // The lower a number the likelier: words have the frequencies of a language, roughly.
        (0..length).map(|_| syllables[dice.below(syllables.len()).min(dice.below(syllables.len()))]).collect()
    };
    let length = 3 + dice.below(12);
    (0..length).map(|_| word(dice)).collect::<Vec<_>>().join(" ")
}

/// The naive scan: ignoring case, every word of the question somewhere in the text.
fn scan<'a>(texts: &'a [(String, String)], question: &str) -> BTreeSet<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('é', "e");
    let words: Vec<String> = plain(question).split(' ').map(str::to_owned).collect();
    let held = texts.iter().filter(|(_, text)| {
        let text = plain(text);
        words.iter().all(|word| text.contains(word))
    });
    held.map(|(id, _)| id.as_str()).collect()
}

/// Imports random texts in runs of these sizes, and compares questions with a scan after some of them.
fn compare(seed: u64, runs: &[usize], questions: usize) {
    let mut dice = Dice(seed);
    let home = Home::new();
    let mut texts: Vec<(String, String)> = Vec::new();
    for (at, size) in runs.iter().enumerate() {
        let mut lines = String::new();
        for _ in 0..*size {
            let (id, text) = (format!("m{:05}", texts.len()), random_text(&mut dice));
            let line = json!({"id": id, "role": "user", "content": text, "trace_id": "t",
                "timestamp": texts.len(), "partition": "default"});
            lines += &format!("{line}\n");
            texts.push((id, text));
        }
        // An import is one batch, however its input arrives.
        home.run("rsv-import", &[], &lines).ok();
        if at % 3 != 2 && at + 1 < runs.len() {
            continue;
        }
        for _ in 0..questions {
            let words = random_text(&mut dice);
            let words: Vec<&str> = words.split(' ').take(1 + dice.below(2)).collect();
            let question = words.join(" ");
            let ran = home.run("rsv-search", &["--limit", "100000", "--", &question], "");
            let hits = lines_of(&ran.stdout);
            let found: BTreeSet<&str> = hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect();
            assert_eq!(found.len(), hits.len(), "{question}: a message is found twice");
            let wanted = scan(&texts, &question);
            let astray: Vec<_> = found.symmetric_difference(&wanted).take(5).collect();
            let astray: Vec<_> = astray.iter().map(|id| texts.iter().find(|t| t.0 == **id)).collect();
            let count = (found.len(), wanted.len(), texts.len());
            assert!(astray.is_empty(), "{question}: {astray:?}, found, there, in all: {count:?}");
            assert_eq!(ran.status, i32::from(found.is_empty()));
            let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
            assert!(scores.is_sorted_by(|a, b| a >= b), "{question}: {scores:?}");
        }
    }
    home.check();
}

/// Keeps: The word index finds the hits of a full scan.
#[test]
fn the_index_finds_what_a_scan_finds() {
    compare(1, &[10, 480, 20, 600, 1, 499, 700, 600, 2000], 12);
}

#[test]
fn segments_of_all_sizes_are_merged() {
    compare(2, &[500, 700, 500, 1100, 1100, 1100, 1100, 1100, 1100], 8);
    compare(3, &[1500, 500, 1400, 500, 1300, 500, 1200, 600, 1100, 500, 900, 501, 800, 499, 500], 8);
}

#[test]
fn a_small_scope_is_found_among_large_ones() {
    let mut dice = Dice(3);
    let home = Home::new();
    let mut lines = String::new();
    for n in 0..5003 {
        let partition = if n % 2000 == 500 { "small" } else { "large" };
        let text = format!("owl {n} {}", random_text(&mut dice));
        lines += &format!("{}\n", json!({"role": "user", "content": text, "partition": partition}));
    }
    home.ingest(&[], &lines);
    let found = search(&home, &["owl", "-p", "small"]);
    let mut numbers: Vec<&str> = found.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["2500", "4500", "500"]);
    nothing(home.run("rsv-search", &["owl", "501", "-p", "small"], ""));
    assert_eq!(search(&home, &["owl", "--all", "--limit", "9999"]).len(), 5003);
}

#[test]
fn many_questions_are_answered_in_one_run() {
    let home = Home::new();
    let lines = r#"{"role":"user","content":"the owl hunts","id":"m1","trace_id":"1","timestamp":1,"partition":"p"}
{"role":"assistant","content":"an owl sleeps","id":"m2","trace_id":"1","timestamp":2,"partition":"p"}
{"role":"user","content":"owls elsewhere","id":"m3","trace_id":"2","timestamp":3,"partition":"q"}
"#;
    home.run("rsv-ingest", &[], lines).ok();
    let queries = r#"{"query":"owl","id":"a"}
{"kind":"query","query":"owl","partition":"q","mood":1.0}
{"query":"nowhere", "id":7}
{"query":"owl","role":"assistant","until":"1970-01-01T00:00:00.002Z","limit":5}
"#;
    let ran = home.run("rsv-search", &["-p", "p", "--limit", "1"], queries);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |line: &serde_json::Value| format!("{} {}", line["query"], line["id"]);
    let found: Vec<String> = lines.iter().map(of).collect();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(found, [r#""a" "m2""#, r#"2 "m3""#, r#""nowhere" 7"#, r#"4 "m2""#]);
    assert_eq!(ran.stdout.lines().nth(2), Some(r#"{"kind":"query","query":"nowhere","id":7,"hits":0}"#));

    let misses = home.run("rsv-search", &["-p", "p"], "{\"query\":\"x1\"}\n{\"query\":\"x2\"}\n");
    assert_eq!((misses.status, misses.stdout.lines().count()), (1, 2));
    let bad = home.run(
        "rsv-search",
        &["-p", "p"],
        "{\"query\":\"owl\"}\n{\"limit\":1}\n{\"query\":\"owl\",\"limit\":-1}\n",
    );
    assert_eq!((bad.status, bad.stdout.lines().count()), (2, 2));
    assert_eq!(
        bad.stderr,
        "rsv-search: error: <stdin>:2: query: is missing\n\
         rsv-search: error: <stdin>:3: limit: expected a number from 0, found a negative one\n"
    );
}

/// A message with a vector by hand, and a user's turn unless another role is given.
fn line(id: &str, partition: &str, timestamp: i64, text: &str) -> String {
    json!({"kind": "message", "id": id, "trace_id": id, "partition": partition, "instance": "i", "role": "user",
        "content": text, "timestamp": timestamp})
    .to_string()
        + "\n"
}

on_each_store!(hits_and_linked_messages_share_the_limit_and_none_says_the_same_as_another);
fn hits_and_linked_messages_share_the_limit_and_none_says_the_same_as_another(home: Home) {
    // Six hits, of which the first two say the same, with two messages after each.
    let mut lines = String::new();
    for (n, text) in ["a fox", "a fox", "c fox", "d fox fox", "e fox", "f fox"].iter().enumerate() {
        let at = 1000 * n as i64;
        lines += &line(&format!("hit{n}"), "p", at, text);
        lines += &line(&format!("next{n}"), "p", at + 1, if n < 2 { "the same" } else { text_after(n) });
        lines += &line(&format!("last{n}"), "p", at + 2, &format!("  {text} "));
        lines += &line(&format!("q{n}"), "q", at, &format!("fox {n}"));
    }
    home.run("rsv-import", &["--quiet"], &lines).ok();
    let find = |words: &[&str]| {
        let words = [&["-p", "p", "fox", "--role", "user"], words].concat();
        lines_of(&home.run("rsv-search", &words, "").ok())
    };
    let distinct = ["d fox fox", "f fox", "e fox", "c fox", "a fox"];
    for limit in 1..=12_usize {
        let printed = find(&["--link", "--limit", &limit.to_string()]);
        assert!(printed.len() <= limit, "{limit}: {printed:?}");
        let texts: Vec<String> = printed.iter().map(|hit| text(&hit["content"]).trim().to_owned()).collect();
        let unique: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(unique.len(), texts.len(), "{limit}: {texts:?}");
        // Half are the best hits, in their order.
        let hits = printed.iter().take_while(|hit| hit["why"].get("hop").is_none()).count();
        assert_eq!(hits, limit.div_ceil(2).min(distinct.len()), "{limit}: {printed:?}");
        assert!(printed[hits..].iter().all(|hit| hit["why"].get("hop").is_some()), "{printed:?}");
        assert_eq!(texts[..hits], distinct[..hits], "{limit}: {printed:?}");
        assert_eq!(find(&["--link", "--deduplicate", "--limit", &limit.to_string()]), printed);
    }
    assert_eq!(find(&["--link", "--limit", "100"]).len(), distinct.len() + 5);
    // If no others are linked, more than half are hits.
    assert_eq!(lines_of(&home.run("rsv-search", &["-p", "q", "fox", "--link"], "").ok()).len(), 6);
}

/// The texts after the hits that differ.
fn text_after(n: usize) -> &'static str {
    ["", "", "then one", "then two", "then three", "then four"][n]
}

#[test]
fn linked_messages_come_after_the_hits_and_stay_in_the_scope() {
    let home = Home::new();
    let mut lines = String::new();
    for (id, text) in [
        ("a", "an owl"),
        ("b", "next to it"),
        ("c", "further on"),
        ("z", "resembles the owl"),
        ("y", "resembles z"),
    ] {
        lines += &line(id, "p", i64::from(id.as_bytes()[0]) * 1000, text);
    }
    lines += &line("o", "other", 98_500, "elsewhere");
    let synapse = |from: &str, to: &str, score: f64| {
        json!({"kind": "link", "rel": "SYNAPSE", "from": from, "to": to, "score": score, "model": "m"})
            .to_string()
            + "\n"
    };
    lines += &(synapse("a", "z", 0.9) + &synapse("y", "z", 0.8));
    home.run("rsv-import", &["--quiet"], &lines).ok();
    let find =
        |words: &[&str]| lines_of(&home.run("rsv-search", &[&["-p", "p", "owl"], words].concat(), "").ok());
    let ids = |hits: &[serde_json::Value]| {
        hits.iter().map(|hit| crate::support::text(&hit["id"])).collect::<Vec<_>>()
    };
    assert_eq!(ids(&find(&["an"])), ["a"]);
    let hits = find(&["an", "--link"]);
    assert_eq!(hits[0]["id"], "a");
    // Each hit of the words comes first, then one step, then two; weaker with each.
    let linked = find(&["an", "--link", "--limit", "10"]);
    assert_eq!(ids(&linked), ["a", "z", "b", "y", "c"]);
    let scores: Vec<f64> = linked.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(
        (scores[1] / scores[0] - 0.45).abs() < 1e-9 && (scores[2] / scores[0] - 0.25).abs() < 1e-9,
        "{scores:?}"
    );
    assert!((scores[3] / scores[1] - 0.4).abs() < 1e-9, "{scores:?}");
    assert_eq!((&linked[1]["why"]["hop"], &linked[1]["why"]["via"]), (&json!(1), &json!("a")));
    assert_eq!((&linked[3]["why"]["hop"], &linked[3]["why"]["via"]), (&json!(2), &json!("z")));
    assert_eq!(linked.iter().map(|hit| hit["rank"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    // The limit holds for all of them, and whatever was asked of the hits holds for what is linked to them.
    assert_eq!(ids(&find(&["an", "--link", "--limit", "1"])), ["a"]);
    assert_eq!(ids(&find(&["an", "--link", "--limit", "3"])), ["a", "z", "b"]);
    assert_eq!(ids(&find(&["an", "--link", "--exclude", "z"])), ["a", "b", "c", "y"]);
    assert_eq!(ids(&find(&["an", "--link", "--until", "1970-01-01T00:01:39Z"])), ["a", "b", "c"]);
    assert_eq!(ids(&find(&["an", "--link", "--min-score", &(scores[0] * 0.3).to_string()])), ["a", "z"]);
    assert_eq!(lines_of(&home.run("rsv-search", &["--all", "elsewhere", "--link"], "").ok()).len(), 1);
    assert_eq!(home.run("rsv-search", &["-p", "p", "nothing", "--link"], "").status, 1);
}

/// Keeps: A search during writes misses no stored message and sees no other scope.
#[test]
fn searches_during_writes_are_complete_and_stay_in_scope() {
    let home = Home::with_model();
    let searches = number_from("RSV_TEST_STEPS").unwrap_or(6);
    let text = |writer: usize, n: usize| format!("common words of writer{writer} and unique{writer}x{n}x");
    // The number of the acknowledged messages of each writer, and of the searchers at work.
    let acknowledged: [AtomicUsize; 2] = Default::default();
    let searchers = AtomicUsize::new(3);
    std::thread::scope(|threads| {
        for writer in 0..2 {
            let (home, acknowledged, searchers) = (home.clone(), &acknowledged, &searchers);
            threads.spawn(move || {
                let mut stream = home.talk("rsv-ingest", &["-p", &format!("p{writer}")]);
                while searchers.load(Ordering::Relaxed) > 0 {
                    let n = acknowledged[writer].load(Ordering::Relaxed);
                    stream.say(&json!({"role": "user", "content": text(writer, n)}).to_string());
                    stream.hear().unwrap();
                    acknowledged[writer].fetch_add(1, Ordering::Release);
                    // A conversation has pauses; without any, this would be about the speed of the disk.
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                assert!(stream.end().0.success());
            });
        }
        for searcher in 0..3 {
            let (home, acknowledged, searchers) = (home.clone(), &acknowledged, &searchers);
            threads.spawn(move || {
                // Also where one fails, the writers end.
                let _at_work = Leaving(searchers);
                let mut dice = Dice(searcher);
                for _ in 0..searches {
                    let writer = dice.below(2);
                    let there = || acknowledged[writer].load(Ordering::Acquire);
                    wait_for("a message", || there() > 0);
                    let count = there();
                    let (n, partition) = (dice.below(count), format!("p{writer}"));
                    let unique = format!("unique{writer}x{n}x");
                    let kind: &[&str] = [&[][..], &["--link"], &["--hybrid"]][searcher as usize];
                    let found =
                        home.run("rsv-search", &[&["-q", "-p", &partition, &unique], kind].concat(), "");
                    let hits = lines_of(&found.ok());
                    let wanted = |hit: &serde_json::Value| hit["content"] == json!(text(writer, n));
                    // A message without a vector may rank after one with a vector.
                    let first = if searcher == 2 { hits.len() } else { 1 };
                    assert!(hits[..first].iter().any(wanted), "{unique}: {hits:?}");
                    assert!(hits.iter().all(|hit| hit["partition"] == json!(partition)), "{hits:?}");
                    let all = home.run("rsv-search", &["-p", &partition, "common", "--limit", "100000"], "");
                    let all = lines_of(&all.ok());
                    assert!(all.len() >= count && all.iter().all(|hit| hit["partition"] == json!(partition)));
                }
            });
        }
    });
    home.check();
}

/// One of the many at work, until it is dropped.
struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
