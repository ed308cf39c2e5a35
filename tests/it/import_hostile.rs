//! Hostile and damaged files: an error names the place, and nothing is half done.

use crate::import_formats::{fixture, messages};
use crate::support::{Home, text};
use serde_json::json;
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A conversation of ChatGPT: the messages (id, parent, time) and the current one.
fn conversation(id: &str, messages: &[(&str, Option<&str>, f64)], current: &str) -> String {
    let node = |(id, parent, time): &(&str, Option<&str>, f64)| {
        let message = json!({"author": {"role": "user"}, "create_time": time,
            "content": {"content_type": "text", "parts": [format!("says {id}")]}});
        ((*id).to_owned(), json!({"id": id, "parent": parent, "children": [], "message": message}))
    };
    let mapping: serde_json::Map<String, serde_json::Value> = messages.iter().map(node).collect();
    json!({"title": "t", "mapping": mapping, "current_node": current, "conversation_id": id}).to_string()
}

/// Keeps: Messages whose parents form a circle are imported, with those that follow them.
#[test]
fn trees_that_are_no_trees() {
    let circle = |current: &str| {
        conversation("c1", &[("a", Some("b"), 1.0), ("b", Some("a"), 2.0), ("c", Some("c"), 3.0)], current)
    };
    let lost = conversation("c2", &[("a", Some("nowhere"), 4.0)], "a");
    let said = |home: &Home| messages(home).iter().map(|m| text(&m["content"])).collect::<Vec<_>>();
    for (current, words, wanted) in [
        ("b", &[][..], &["says a", "says b", "says a"][..]),
        ("c", &[], &["says c", "says a"]),
        // The export names no last message.
        ("", &[], &["says c", "says a"]),
        ("b", &["--branches"], &["says a", "says b", "says c", "says a"]),
    ] {
        let home = Home::new();
        let export = format!("[{},\n{lost}]", circle(current));
        home.run("rsv-import", words, &export).ok();
        assert_eq!(said(&home), wanted, "{current} {words:?}");
    }
    // The only message that no other follows has no words.
    let node = |parent: &str| {
        json!({"parent": parent, "message": {"author": {"role": "user"}, "create_time": 1.0,
            "content": {"content_type": "text", "parts": [format!("says after {parent}")]}}})
    };
    let chatgpt = json!({"title": "t", "conversation_id": "c",
        "mapping": {"root": {"message": null, "parent": null}, "a": node("c"), "b": node("a"), "c": node("b")}});
    let message = |parent: &str, content: String| json!({"parentId": parent, "role": "user", "content": content, "timestamp": 1_756_000_000});
    let of_parent = |parent: &str| message(parent, format!("says after {parent}"));
    let open_webui = json!({"id": "w", "title": "t", "chat": {"history": {"currentId": null, "messages":
        {"a": of_parent("b"), "b": of_parent("a"), "c": message("nowhere", String::new())}}}});
    for (export, wanted) in [
        (chatgpt, &["says after a", "says after b", "says after c"][..]),
        (open_webui, &["says after a", "says after b"]),
    ] {
        let home = Home::new();
        home.run("rsv-import", &[], json!([export]).to_string()).ok();
        assert_eq!(said(&home), wanted, "{export}");
    }
    // A message that is missing ends nothing; those that lack the same one are branches.
    let gap = conversation(
        "c",
        &[
            ("a", Some("root"), 1.0),
            ("other", Some("root"), 2.0),
            ("b", Some("other"), 3.0),
            ("d", Some("gone"), 4.0),
            ("e", Some("d"), 5.0),
        ],
        "e",
    );
    let home = Home::new();
    home.run("rsv-import", &[], format!("[{gap}]")).ok();
    assert_eq!(said(&home), ["says other", "says b", "says d", "says e"]);
    // The same of Claude's, and of LibreChat's.
    let time = |id: &str| format!("2026-11-01T10:00:0{}Z", u8::from(id == "b"));
    let message = |id: &str, parent: &str| {
        json!({"uuid": id, "parent_message_uuid": parent, "sender": "human", "text": format!("says {id}"), "content": [],
            "created_at": time(id)})
    };
    let claude = json!({"uuid": "c", "name": "t", "created_at": "2026-11-01T10:00:00Z",
        "chat_messages": [message("a", "b"), message("b", "a")]});
    let message = |id: &str, parent: &str| {
        json!({"messageId": id, "parentMessageId": parent, "isCreatedByUser": true, "text": format!("says {id}"),
            "createdAt": time(id)})
    };
    let librechat =
        json!({"conversationId": "c", "title": "t", "messages": [message("a", "b"), message("b", "a")]});
    for export in [claude, librechat] {
        for words in [&[][..], &["--branches"]] {
            let home = Home::new();
            home.run("rsv-import", words, json!([export]).to_string()).ok();
            assert_eq!(said(&home), ["says a", "says b"], "{export}");
        }
    }
}

#[test]
fn times_that_are_none() {
    let home = Home::new();
    for (seconds, millis) in [
        (-62_167_219_200.0, "-62167219200000"),
        (8_640_000_000_000.0, "8640000000000000"),
        (1e300, "9223372036854775807"),
    ] {
        // The other message of the conversation is not imported either.
        let export = conversation("c", &[("a", None, 1.0), ("b", Some("a"), seconds)], "b");
        let said = home.run("rsv-import", &[], format!("[{export}]")).trouble();
        let wanted = format!(
            "rsv-import: error: <stdin>:1: create_time: expected milliseconds between the years 1 and 9999, found {millis}\n"
        );
        assert_eq!(said, wanted);
    }
    // As text, in the formats of lines.
    let session = |time: &str| {
        json!({"type": "user", "sessionId": "s", "cwd": "/nowhere/owls", "uuid": "u", "timestamp": time,
            "message": {"role": "user", "content": "Hu"}})
    };
    let line = |time: &str| json!({"role": "user", "partition": "p", "content": "Hu", "timestamp": time});
    for time in ["0000-01-01T00:00:00Z", "+275760-09-13T00:00:00Z", "yesterday", "2026-02-30T00:00:00Z"] {
        for text in [session(time).to_string(), line(time).to_string()] {
            let said = home.run("rsv-import", &[], text + "\n").trouble();
            assert!(said.starts_with("rsv-import: error: <stdin>:1: timestamp: "), "{time}: {said}");
        }
    }
    assert_eq!(messages(&home).len(), 0);
}

#[test]
fn a_million_nested_arrays() {
    let home = Home::new();
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    for member in ["mapping", "chat_messages", "messages", "content"] {
        let said = home.run("rsv-import", &[], format!("{{\"{member}\": {deep}}}")).trouble();
        assert!(said.starts_with("rsv-import: error: <stdin>:"), "{member}: {said}");
    }
    let said = home.run("rsv-import", &[], &deep).trouble();
    assert!(said.starts_with("rsv-import: error: <stdin>: has no known format"), "{said}");
    assert_eq!(messages(&home).len(), 0);
}

#[test]
fn encodings_and_line_ends() {
    let session = std::fs::read_to_string(fixture("claude-code.jsonl")).unwrap();
    let home = Home::new();
    home.run("rsv-import", &[], format!("\u{feff}{}", session.replace('\n', "\r\n"))).ok();
    assert_eq!(messages(&home).len(), 5);
    for (mark, encode) in
        [(b"\xff\xfe", u16::to_le_bytes as fn(u16) -> [u8; 2]), (b"\xfe\xff", u16::to_be_bytes)]
    {
        let utf16: Vec<u8> = mark.iter().copied().chain(session.encode_utf16().flat_map(encode)).collect();
        let said = home.run("rsv-import", &[], utf16).trouble();
        assert_eq!(
            said,
            "rsv-import: error: <stdin>: is UTF-16\n\
             rsv-import: hint: pipe in the output of: iconv -f utf-16 -t utf-8 FILE\n"
        );
    }
}

#[test]
fn archives_that_are_not_what_they_say() {
    let home = Home::new();
    let session = std::fs::read(fixture("claude-code.jsonl")).unwrap();
    let compressed = gzip(&session);
    std::fs::write(home.path("cut.gz"), &compressed[..compressed.len() / 2]).unwrap();
    let said = home.run("rsv-import", &["cut.gz"], "").trouble();
    assert!(said.starts_with("rsv-import: error: cannot read cut.gz: "), "{said}");
    let zstd = zstd::encode_all(&*session, 0).unwrap();
    std::fs::write(home.path("cut.zst"), &zstd[..zstd.len() / 2]).unwrap();
    let said = home.run("rsv-import", &["cut.zst"], "").trouble();
    assert!(said.starts_with("rsv-import: error: cannot read cut.zst: "), "{said}");
    // Whole lines before the end may have come; with the whole file, there is what it has alone.
    std::fs::write(home.path("whole.gz"), &compressed).unwrap();
    home.run("rsv-import", &["whole.gz"], "").ok();
    let alone = Home::new();
    alone.run("rsv-import", &[], &session).ok();
    assert_eq!(home.export(), alone.export());

    let mut archive = zip::ZipWriter::new(std::fs::File::create(home.path("export.zip")).unwrap());
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("conversations.json", stored).unwrap();
    archive.write_all(&std::fs::read(fixture("chatgpt.json")).unwrap()).unwrap();
    archive.finish().unwrap();
    let whole = std::fs::read(home.path("export.zip")).unwrap();
    std::fs::write(home.path("cut.zip"), &whole[..whole.len() / 2]).unwrap();
    let said = home.run("rsv-import", &["cut.zip"], "").trouble();
    assert!(said.starts_with("rsv-import: error: cannot read cut.zip: "), "{said}");
    // A changed byte is found by its checksum.
    let mut changed = whole.clone();
    let at = changed.windows(5).position(|bytes| bytes == b"Owls\"").unwrap();
    changed[at] = b'A';
    std::fs::write(home.path("changed.zip"), changed).unwrap();
    let said = home.run("rsv-import", &["changed.zip"], "").trouble();
    assert!(said.contains("changed.zip/conversations.json: is not what the archive says"), "{said}");
    // A pipe cannot be read from its end.
    let said = home.run("rsv-import", &[], whole).trouble();
    assert!(said.starts_with("rsv-import: error: <stdin>: is a zip archive\n"), "{said}");
}

#[test]
fn names_in_an_archive_name_no_place_outside() {
    let home = Home::new();
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut archive = zip::ZipWriter::new(std::fs::File::create(home.path("export.zip")).unwrap());
    let export = std::fs::read(fixture("chatgpt.json")).unwrap();
    let outside = home.path("outside/conversations.json").display().to_string();
    for name in ["../../outside/conversations.json", &outside, "a/../../b\n.json"] {
        archive.start_file(name, stored).unwrap();
        archive.write_all(&export).unwrap();
    }
    // A link in it is no file of it, and is not followed.
    home.write("secret.jsonl", &json!({"role": "user", "partition": "p", "content": "Secret"}).to_string());
    archive.add_symlink("link.jsonl", home.path("secret.jsonl").to_str().unwrap(), stored).unwrap();
    archive.finish().unwrap();
    std::fs::create_dir(home.path("inside")).unwrap();
    std::fs::rename(home.path("export.zip"), home.path("inside/export.zip")).unwrap();
    home.run("rsv-import", &["inside/export.zip"], "").ok();
    let alone = Home::new();
    alone.run("rsv-import", &[], export).ok();
    // A title has the time of its import.
    let messages = |home: &Home| home.run("rsv-export", &["--kind", "message"], "").ok();
    assert_eq!(messages(&home), messages(&alone), "three times the same conversations");
    assert!(!home.path("outside").exists());
    let inside = home.path("inside").read_dir().unwrap().count();
    assert_eq!(inside, 1, "nothing is extracted");
    // Nor is one in a folder.
    std::os::unix::fs::symlink(home.path("secret.jsonl"), home.path("inside/link.jsonl")).unwrap();
    home.run("rsv-import", &["inside"], "").ok();
    assert_eq!(messages(&home), messages(&alone));
}

#[test]
fn a_bomb_is_read_in_little_memory() {
    let home = Home::new().env("RSV_MAX_LINE_BYTES", "1000000");
    // 200 MB of one line in 200 KB.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"[{\"mapping\": \"").unwrap();
    for _ in 0..200 {
        gzip.write_all(&vec![b'x'; 1_000_000]).unwrap();
    }
    std::fs::write(home.path("bomb.gz"), gzip.finish().unwrap()).unwrap();
    let ran = home.run("rsv-import", &["bomb.gz"], "");
    assert!(ran.stderr.contains("bomb.gz:1: is longer than the limit of 1000000 bytes"), "{ran}");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(home.path("bomb.zip")).unwrap());
    let deflated =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("conversations.json", deflated).unwrap();
    archive.write_all(b"[{\"mapping\": \"").unwrap();
    for _ in 0..200 {
        archive.write_all(&vec![b'x'; 1_000_000]).unwrap();
    }
    archive.finish().unwrap();
    let ran = home.run("rsv-import", &["bomb.zip"], "");
    let wanted = "bomb.zip/conversations.json:1: is longer than the limit of 1000000 bytes";
    assert!(ran.stderr.contains(wanted), "{ran}");
}

#[test]
fn documents_of_yaml_that_are_bombs_or_no_sessions() {
    let home = Home::new();
    let mut bomb = "model: m\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let all = format!("*a{}, ", n - 1).repeat(10);
        bomb += &format!("a{n}: &a{n} [{}]\n", all.trim_end_matches(", "));
    }
    bomb += "messages:\n- role: user\n  content: *a11\n";
    let deep = format!("model: m\nmessages:\n- {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for session in
        [&bomb, &deep, "model: m\nmessages:\n- role: user\n  content: 'half", "model: m\nmessages:\n7\n"]
    {
        let said = home.run("rsv-import", &["--at", "2026-11-01"], session).trouble();
        assert!(said.starts_with("rsv-import: error: <stdin>: "), "{said}");
    }
    assert_eq!(messages(&home).len(), 0);
}

#[test]
fn the_same_id_with_another_content_is_another_message() {
    let home = Home::new();
    let session = std::fs::read_to_string(fixture("claude-code.jsonl")).unwrap();
    home.run("rsv-import", &[], &session).ok();
    home.run("rsv-import", &[], session.replace("Owls hunt at night.", "Owls sleep by day.")).ok();
    assert_eq!(messages(&home).len(), 6);
}
