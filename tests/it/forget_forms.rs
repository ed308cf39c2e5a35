//! A forgotten message stays out in every form: in other Unicode forms, in other cases, with other white space.

use crate::import_watch::Watching;
use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use unicode_normalization::UnicodeNormalization;

/// A text that has every form below, and is longer than a title.
const SAID: &str = "Meet me at the kiosk in Straße № 5, Ångström: nai\u{308}ve ﬁsh, Ωmega ｶﾞ 각 ⅷ, İstanbul, ς; by the old oak, \
                    as always at eight.";

/// Other forms of a text, by name.
fn forms(said: &str) -> Vec<(String, String)> {
    let words = |change: fn(&str) -> String| said.split(' ').map(change).collect::<Vec<_>>().join(" ");
    let capital =
        |word: &str| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    let wide =
        |c: char| if c.is_ascii_graphic() { char::from_u32(u32::from(c) + 0xfee0).unwrap() } else { c };
    let mut forms: Vec<(String, String)> = [
        ("NFC", said.nfc().collect()),
        ("NFD", said.nfd().collect()),
        ("NFKC", said.nfkc().collect()),
        ("NFKD", said.nfkd().collect()),
        ("capitals", said.to_uppercase()),
        ("small letters", said.to_lowercase()),
        ("capitals in NFD", said.to_uppercase().nfd().collect()),
        ("capitals of words", words(capital)),
        ("capitals of ASCII", said.to_ascii_uppercase()),
        ("dotted capitals", said.replace('i', "İ")),
        ("dotless letters", said.to_uppercase().replace('I', "ı")),
        ("full width", said.chars().map(wide).collect()),
        ("two blanks", said.replace(' ', "  ")),
        ("blanks before", format!(" \t {said}")),
        ("line ends after", format!("{said}\n\n")),
        ("byte order mark", format!("\u{feff}{said}")),
    ]
    .map(|(name, form): (&str, String)| (name.to_owned(), form))
    .into();
    for (from, to) in [
        ("ß", "ẞ"),
        ("ß", "ss"),
        ("ﬁ", "fi"),
        ("s", "ſ"),
        ("k", "\u{212a}"),
        ("Å", "\u{212b}"),
        ("Ω", "\u{2126}"),
        ("ς", "σ"),
        ("ｶﾞ", "ガ"),
        ("ⅷ", "viii"),
        ("№", "No"),
        ("5", "⑤"),
        ("5", "⁵"),
        ("a", "𝐚"),
    ] {
        forms.push((format!("{from} as {to}"), said.replace(from, to)));
    }
    for blank in "\t\n\r\u{b}\u{c}\u{1f}\u{85}\u{a0}\u{1680}\u{2003}\u{2007}\u{2009}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}".chars() {
        forms.push((format!("{blank:?}"), said.replace(' ', &blank.to_string())));
    }
    forms.push(("lines".to_owned(), said.replace(", ", ",\r\n  ")));
    for unseen in "\u{ad}\u{34f}\u{200b}\u{200c}\u{200d}\u{200e}\u{2060}\u{2066}\u{fe0f}".chars() {
        forms.push((format!("{unseen:?} in words"), said.replace("oak", &format!("o{unseen}ak"))));
    }
    let texts: BTreeSet<&String> = forms.iter().map(|(_, form)| form).collect();
    assert!(texts.len() >= 40 && !texts.contains(&said.to_owned()), "{}", texts.len());
    assert_eq!(texts.len(), forms.len());
    forms
}

/// Texts that say something else.
fn others(said: &str) -> Vec<String> {
    let changed = [
        ("oak", "oaks"),
        ("at eight", "at nine"),
        ("5", "6"),
        ("nai\u{308}ve", "naive"),
        ("old oak", "oldoak"),
        ("Ω", "O"),
        (".", "!"),
        (",", ""),
    ];
    changed.iter().map(|(from, to)| said.replace(from, to)).chain([format!("{said} Or not.")]).collect()
}

/// The names of the forms of what is in a store, and what else is.
fn stored(home: &Home, kind: &str) -> Vec<String> {
    let exported = home.run("rsv-export", &["--kind", kind], "").ok();
    let names = forms(SAID);
    let name = |line: &Value| {
        let said = text(&line["content"]);
        names.iter().find(|(_, form)| said.contains(form)).map_or(said.clone(), |(name, _)| name.clone())
    };
    lines_of(&exported).iter().filter(|line| line["kind"] == kind).map(name).collect()
}

/// An export without its tombstones.
fn records_of(export: &str) -> String {
    export
        .lines()
        .filter(|line| !line.contains("\"kind\":\"tombstone\""))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// A question and its answer, without ids and a trace: these follow from the texts.
fn turn(said: &str) -> String {
    let line = |role: &str, content: &str, time: u64| json!({"role": role, "content": content, "timestamp": time, "partition": "default"});
    format!("{}\n{}\n", line("user", said, 1000), line("assistant", &format!("Noted: {said}"), 2000))
}

/// The same in a session of Claude Code.
fn session(said: &str) -> String {
    let entry = |role: &str, content: &str, time: usize| {
        json!({"type": role, "sessionId": "s", "cwd": "/nowhere/owls", "uuid": role,
            "timestamp": format!("2026-11-01T10:{time:02}:00.000Z"), "message": {"role": role, "content": content}})
    };
    format!("{}\n{}\n", entry("user", said, 1), entry("assistant", &format!("Noted: {said}"), 2))
}

on_each_store!(no_form_of_a_forgotten_message_is_imported);
/// Keeps: A forgotten message returns in no other form.
fn no_form_of_a_forgotten_message_is_imported(home: Home) {
    let forms = forms(SAID);
    home.run("rsv-import", &[], turn(SAID)).ok();
    let before = home.export();
    let gone = home.run("rsv-forget", &["--everything"], "").ok();
    let after = home.export();
    let lines: String = forms.iter().map(|(_, form)| turn(form)).collect();
    let ran = home.run("rsv-import", &[], &lines);
    assert_eq!((ran.status, stored(&home, "message")), (0, vec![]), "{ran}");
    let note = format!("{} records were forgotten and are kept out", 2 * forms.len());
    assert!(ran.stderr.contains(&note), "{ran}");
    assert_eq!(home.export(), after);
    // The output undoes it to the byte.
    home.run("rsv-import", &["--allow-return"], &gone).ok();
    assert_eq!(records_of(&home.export()), before);
    home.run("rsv-forget", &["--everything"], "").ok();
    // Other words, another time, another speaker or another place make another message.
    let more: String = others(SAID).iter().map(|other| turn(other)).collect();
    home.run("rsv-import", &[], &more).ok();
    assert_eq!(stored(&home, "message").len(), 2 * others(SAID).len());
    for (member, value) in [
        ("timestamp", json!(1001)),
        ("role", json!("assistant")),
        ("partition", json!("work")),
        ("trace_id", json!("t9")),
    ] {
        let mut line = lines_of(&turn(&SAID.to_uppercase())).remove(0);
        line[member] = value;
        home.run("rsv-import", &[], format!("{line}\n")).ok();
    }
    assert_eq!(stored(&home, "message").len(), 2 * others(SAID).len() + 4);
    // One of the forms may return.
    home.run("rsv-import", &["--allow-return"], turn(&forms[4].1)).ok();
    assert_eq!(stored(&home, "message").iter().filter(|said| **said == forms[4].0).count(), 6);
    home.check();
}

on_each_store!(no_form_comes_back_by_a_session_that_is_imported_or_watched);
fn no_form_comes_back_by_a_session_that_is_imported_or_watched(home: Home) {
    let forms = forms(SAID);
    home.write("first.jsonl", &session(SAID));
    home.run("rsv-import", &["first.jsonl"], "").ok();
    let gone = home.run("rsv-forget", &["-p", "owls", "--everything"], "").ok();
    assert_eq!(lines_of(&gone).iter().filter(|line| line["kind"] == "message").count(), 2);
    for (n, (_, form)) in forms.iter().enumerate() {
        home.write(&format!("sessions/{n:02}.jsonl"), &session(form));
    }
    home.run("rsv-import", &["-q", "sessions"], "").ok();
    assert_eq!(stored(&home, "message"), [""; 0]);
    // A watch reads the files by their names.
    home.write("sessions/last.jsonl", &session("An owl").replace("10:", "11:"));
    let mut watching = Watching::begin(&home, &["sessions"]);
    watching.until(&["An owl", "Noted: An owl"]);
    assert_eq!(watching.end().status, 0);
    assert_eq!(stored(&home, "message"), ["An owl", "Noted: An owl"]);
    home.check();
}

on_each_store!(no_form_comes_back_by_lines_that_are_stored_again);
fn no_form_comes_back_by_lines_that_are_stored_again(home: Home) {
    let forms = forms(SAID);
    let line = |id: &str, content: Value| json!({"kind": "message", "id": id, "trace_id": "t1", "role": "user", "content": content, "timestamp": 1000});
    let parts = |said: &str, picture: &str| json!([{"type": "text", "text": said}, {"type": "image_url", "image_url": {"url": picture}}]);
    home.ingest(&[], &format!("{}\n{}\n", line("m", json!(SAID)), line("p", parts(SAID, "data:a"))));
    home.run("rsv-forget", &["m", "p"], "").ok();
    let mut lines = String::new();
    for (n, (_, form)) in forms.iter().enumerate() {
        for (id, content) in
            [("m", json!(form)), ("p", parts(form, "data:a")), ("t", json!([{"type": "text", "text": form}]))]
        {
            lines += &format!("{}\n", line(&format!("{id}{n}"), content));
        }
    }
    let ran = home.run("rsv-ingest", &[], &lines);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran}");
    // Another picture is something else.
    assert_eq!(home.ingest(&[], &format!("{}\n", line("q", parts(SAID, "data:b")))).len(), 1);
    home.check();
}

on_each_store!(forms_that_a_store_has_go_together_and_a_backup_of_the_rest_is_whole);
fn forms_that_a_store_has_go_together_and_a_backup_of_the_rest_is_whole(home: Home) {
    let form = &forms(SAID)[6].1;
    let line = |id: &str, said: &str| {
        json!({"kind": "message", "id": id, "trace_id": "t1", "partition": "p", "instance": "p", "role": "user",
            "content": said, "timestamp": 1000})
    };
    let memory = |id: &str, said: &str| {
        json!({"kind": "memory", "id": id, "partition": "p", "title": "Where", "content": said, "outcome": "success",
            "timestamp": 1000})
    };
    let all = [line("m1", SAID), line("m2", form), memory("y1", SAID), memory("y2", form)];
    home.run("rsv-import", &[], all.map(|line| format!("{line}\n")).concat()).ok();
    home.run("rsv-signal", &["-q", "-p", "p", "--helpful", "y2"], "").ok();
    let before = home.export();
    // Another store has one of the forms alone.
    let other = Home::new();
    other.run("rsv-import", &[], format!("{}\n", line("m3", &SAID.to_uppercase()))).ok();
    let dry = home.run("rsv-forget", &["-q", "-p", "p", "--dry-run", "m1"], "").ok();
    assert!(dry.contains("\"m1\"") && dry.contains("\"m2\"") && home.export() == before);
    let mut gone = String::new();
    for (id, others) in
        [("m1", "1 record says the same in another form, and goes too: m2"), ("y1", "2 records say the same")]
    {
        let ran = home.run("rsv-forget", &["-p", "p", id], "");
        assert!(ran.status == 0 && ran.stderr.contains(others), "{ran}");
        gone += &ran.stdout;
    }
    let backup = home.export();
    assert_eq!(records_of(&backup), "");
    let ran = other.run("rsv-import", &[], &backup);
    assert!(ran.stderr.contains("1 record was forgotten elsewhere and is removed"), "{ran}");
    assert_eq!(other.export(), backup);
    home.run("rsv-import", &["--allow-return"], &gone).ok();
    assert_eq!(records_of(&home.export()), before);
    home.check();
}

on_each_store!(no_form_of_a_forgotten_memory_is_distilled_or_imported_again);
fn no_form_of_a_forgotten_memory_is_distilled_or_imported_again(home: Home) {
    let forms = forms(SAID);
    let summary = |task: &str, at: &str| {
        let line = json!({"kind": "summary", "outcome": "success", "task": task, "session_id": "s", "completed_at": at});
        format!("{line}\n")
    };
    let of_mem0 = |said: &str| {
        json!({"id": "x", "memory": said, "user_id": "ada", "created_at": "2026-10-01T08:00:00Z"}).to_string()
            + "\n"
    };
    let distilled = |lines: &str| home.run("rsv-distill", &[], lines).ok();
    home.ingest(&[], &distilled(&summary(SAID, "2026-10-01T08:00:00Z")));
    home.run("rsv-import", &["--from", "mem0"], of_mem0(SAID)).ok();
    assert_eq!(stored(&home, "memory").len(), 2);
    let gone = home.run("rsv-forget", &["--all", "--everything"], "").ok();
    // Of a later session too: a machine says nothing anew.
    let mut summaries = summary(SAID, "2099-01-01T00:00:00Z");
    for (_, form) in &forms {
        summaries += &summary(form, "2026-10-01T08:00:00Z");
        home.run("rsv-import", &["-q", "--from", "mem0"], of_mem0(form)).ok();
    }
    home.ingest(&["-q"], &distilled(&summaries));
    assert_eq!(stored(&home, "memory"), [""; 0]);
    for other in others(SAID) {
        home.ingest(&[], &distilled(&summary(&other, "2026-10-01T08:00:00Z")));
        home.run("rsv-import", &["--from", "mem0"], of_mem0(&other)).ok();
    }
    assert_eq!(stored(&home, "memory").len(), 2 * others(SAID).len());
    // A person may say it again.
    let words = ["-p", "ada", "--title", "Where", "--outcome", "success", SAID];
    home.run("rsv-ingest", &words, "").ok();
    assert_eq!(stored(&home, "memory").len(), 2 * others(SAID).len() + 1);
    home.run("rsv-import", &["--allow-return"], gone).ok();
    assert_eq!(stored(&home, "memory").len(), 2 * others(SAID).len() + 3);
    home.check();
}

on_each_store!(what_was_forgotten_is_not_distilled_again_from_what_is_left);
/// Keeps: A forgotten message returns in no other form.
fn what_was_forgotten_is_not_distilled_again_from_what_is_left(home: Home) {
    let said = "My name is Ada Ångström.";
    let line = |n: usize, role: &str, content: &str| {
        json!({"kind": "message", "id": format!("m{n}"), "trace_id": format!("t{n}"), "partition": "ada", "instance": "s1",
            "role": role, "content": content, "timestamp": 1_795_000_000_000_u64 + n as u64})
    };
    let again = [
        said.nfd().collect(),
        said.to_lowercase(),
        said.replace(' ', "\u{a0}"),
        format!("{said}  Where is the tea?"),
    ];
    let mut messages = vec![line(0, "user", said), line(1, "assistant", "Hello.")];
    messages.extend(again.iter().zip(2..).map(|(form, n): (&String, usize)| line(n, "user", form)));
    home.ingest(&[], &messages.iter().map(|line| format!("{line}\n")).collect::<String>());
    let commit = || {
        let scope = ["-p", "ada", "-i", "s1"];
        let messages = home.run("rsv-view", &[&["--uncommitted"][..], &scope].concat(), "").ok();
        let line = home.run("rsv-distill", &["--commit"], messages).ok();
        let near = home.run("rsv-link", &["--near"], line).ok();
        home.run("rsv-ingest", &["-q"], home.run("rsv-merge", &[], near).ok()).ok();
    };
    let memories = || home.run("rsv-view", &["-p", "ada", "--kind", "memory", "99"], "").stdout;
    commit();
    assert!(memories().contains("profile"), "{}", memories());
    // The memories, whose words are the same, and the archive go too; the other messages are the user's to forget.
    home.run("rsv-forget", &["-q", "-p", "ada", "--derived", "m0"], "").ok();
    assert_eq!(memories(), "");
    commit();
    assert_eq!(memories(), "");
    // Other messages are remembered, and nothing is added to them.
    for (n, more) in [(8, "My name is Ada of Bern."), (9, &said.to_uppercase())] {
        home.ingest(&[], &format!("{}\n", line(n, "user", more)));
        commit();
    }
    let remembered = lines_of(&memories());
    assert_eq!(
        remembered.iter().map(|one| text(&one["content"])).collect::<Vec<_>>(),
        ["My name is Ada of Bern."]
    );
    home.check();
}

on_each_store!(no_form_of_a_forgotten_document_is_mirrored_again);
fn no_form_of_a_forgotten_document_is_mirrored_again(home: Home) {
    let forms = forms(SAID);
    let line = |name: &str, said: &str| {
        let mut hasher = DefaultHasher::new();
        said.hash(&mut hasher);
        let sha256 = format!("{:064x}", hasher.finish());
        let line = json!({"kind": "document", "uri": format!("viking://resources/{name}"), "content": said, "source_sha256": sha256});
        format!("{line}\n")
    };
    let name = "notes/Ångström.md";
    home.ingest(&[], &line(name, SAID));
    let gone = home.run("rsv-forget", &["viking://resources/notes/Ångström.md"], "").ok();
    let mut lines = String::new();
    for (_, form) in &forms {
        lines += &line(name, form);
        lines += &line(&name.nfd().collect::<String>(), form);
        lines += &line(&name.to_lowercase(), form);
    }
    let ran = home.run("rsv-ingest", &[], &lines);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran}");
    for (n, other) in others(SAID).iter().enumerate() {
        home.ingest(&[], &line(name, other));
        assert_eq!(stored(&home, "document"), std::slice::from_ref(other), "{n}");
    }
    // It is somewhere else.
    home.ingest(&[], &line("notes/other.md", SAID));
    assert_eq!(stored(&home, "document").len(), 2);
    home.run("rsv-import", &["--allow-return"], gone).ok();
    home.check();
}

on_each_store!(each_version_that_was_forgotten_stays_out);
fn each_version_that_was_forgotten_stays_out(home: Home) {
    let line = |said: &str, sha256: char| {
        let uri = "viking://resources/notes/code.md";
        let sha256 = sha256.to_string().repeat(64);
        format!("{}\n", json!({"kind": "document", "uri": uri, "content": said, "source_sha256": sha256}))
    };
    let forget = |home: &Home| home.run("rsv-forget", &["viking://resources/notes/code.md"], "").ok();
    let [first, second, third] = [line(SAID, 'a'), line("A draft", 'b'), line("Another", 'c')];
    home.ingest(&[], &first);
    let gone = forget(&home);
    let before = home.export();
    home.ingest(&[], &second);
    forget(&home);
    home.ingest(&[], &third);
    forget(&home);
    let all = [first.clone(), second, third, line(&SAID.to_uppercase(), 'd')];
    for line in &all {
        home.run("rsv-ingest", &[], line);
        assert_eq!(stored(&home, "document"), Vec::<String>::new(), "{line}");
    }
    // So it is in another store, whichever of the tombstones comes first.
    let exports = [before, home.export()];
    for order in [[0, 1], [1, 0]] {
        let other = Home::new();
        for at in order {
            other.run("rsv-import", &[], &exports[at]).ok();
        }
        assert_eq!(other.export(), exports[1]);
        for line in &all {
            other.run("rsv-ingest", &[], line);
            assert_eq!(stored(&other, "document"), Vec::<String>::new(), "{line}");
        }
        other.check();
    }
    // The returned message is forgotten no more; the others are.
    home.run("rsv-import", &["--allow-return"], gone).ok();
    assert_eq!(stored(&home, "document"), [SAID]);
    home.check();
}

on_each_store!(a_forgotten_directory_comes_back_with_something_in_it);
fn a_forgotten_directory_comes_back_with_something_in_it(home: Home) {
    let notes = "viking://resources/notes";
    let chapter = |title: &str| {
        format!("# {title}\n\n{}\n", "Die Äpfel müssen früh geerntet werden, große später. ".repeat(40))
    };
    let book = chapter("Äpfel im Süden") + &chapter("Öde Gärten");
    let write = |book: &str, more: &str| {
        home.write("notes/garden/book.md", book);
        home.write("notes/garden/more.md", more);
        let parsed = home.run("rsv-parse", &["notes", "--to", notes], "").ok();
        home.run("rsv-ingest", &["-q", "--mirror"], parsed).ok();
    };
    let names = || {
        let exported = home.run("rsv-export", &["--kind", "document"], "").ok();
        let documents = lines_of(&exported).into_iter().filter(|line| line["kind"] == "document");
        documents.map(|line| text(&line["uri"]).replace(notes, "")).collect::<BTreeSet<_>>()
    };
    write(&book, "One");
    let whole = names();
    assert_eq!(whole.len(), 6, "{whole:?}");
    let gone = home.run("rsv-forget", &[&format!("{notes}/garden")], "").ok();
    // Neither a section, nor the file, whose first sentences are cut elsewhere, nor the directory.
    for form in [book.nfd().collect(), book.to_uppercase(), book.replace("ß", "ss")] {
        write(&form, "one");
        assert_eq!(names(), [String::new()].into(), "{}", form.chars().take(20).collect::<String>());
    }
    write(&book, "Another");
    assert_eq!(names(), ["", "/garden", "/garden/more.md"].map(str::to_owned).into());
    home.run("rsv-import", &["--allow-return"], gone).ok();
    assert_eq!(names(), whole);
    home.check();
}

on_each_store!(tombstones_of_earlier_releases_hold_as_before_and_theirs_are_passed_on);
fn tombstones_of_earlier_releases_hold_as_before_and_theirs_are_passed_on(home: Home) {
    let line = |id: &str, said: &str| json!({"kind": "message", "id": id, "trace_id": "t1", "role": "user", "content": said, "timestamp": 1000, "partition": "default"});
    home.run("rsv-import", &[], format!("{}\n", line("m", SAID))).ok();
    home.run("rsv-forget", &["m"], "").ok();
    let export = home.export();
    let mut tombstone = lines_of(&export).remove(0);
    assert!(tombstone["folded"].as_str().is_some_and(|digest| digest.len() == 64), "{tombstone}");
    // A store that an earlier release made, which knows the digest as a member like any other.
    if home.is_at_server() {
        home.graph().run("MATCH (t:RsvTombstone) REMOVE t.folded");
        home.graph().run("MATCH (s:RsvStore) SET s.version = 6");
    } else {
        let store = rusqlite::Connection::open(home.store()).unwrap();
        let earlier = "DROP TABLE audit; DROP TABLE id_digest; DROP INDEX tombstone_folded; ALTER TABLE tombstone DROP COLUMN folded;
            DROP INDEX tombstone_fingerprint; ALTER TABLE tombstone DROP COLUMN fingerprint;
            DROP INDEX record_fingerprint; ALTER TABLE record DROP COLUMN fingerprint;
            DROP TRIGGER segment_folding; ALTER TABLE segment DROP COLUMN folding; ALTER TABLE segment DROP COLUMN refolded; PRAGMA user_version = 11;";
        store.execute_batch(earlier).unwrap();
    }
    let form = line("n", &SAID.to_uppercase());
    let ran = home.run("rsv-import", &[], format!("{form}\n"));
    assert!(ran.status == 0 && ran.stderr.contains("1 record was forgotten"), "{ran}");
    assert_eq!(home.export(), export);
    home.check();
    // Without the digest, only the same text is kept out.
    tombstone.as_object_mut().unwrap().remove("folded");
    let other = Home::new();
    other.run("rsv-import", &["-q"], format!("{tombstone}\n{}\n{form}\n", line("o", SAID))).ok();
    assert_eq!(stored(&other, "message"), ["capitals"]);
    assert_eq!(lines_of(&other.export())[0], tombstone);
}
