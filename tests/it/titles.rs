//! Titles of conversations: from other programs, shown wherever an instance is, searched, and forgotten with it.

use crate::redact::secrets;
use crate::support::{Home, lines_of, on_each_store};
use rsv::record::id_digest;
use serde_json::{Value, json};

/// An export of Claude with a conversation of a name and the time of its last change.
fn export_of_claude(name: &str, changed: &str) -> String {
    let message = |uuid: &str, sender: &str, text: &str| {
        json!({"uuid": uuid, "text": text, "content": [{"type": "text", "text": text}], "sender": sender,
            "created_at": "2025-05-01T10:00:00.000000Z", "updated_at": "2025-05-01T10:00:00.000000Z"})
    };
    json!([{"uuid": "11111111-0000-4000-8000-000000000001", "name": name, "created_at": "2025-05-01T10:00:00Z",
        "updated_at": changed, "account": {"uuid": "9"}, "chat_messages": [
            message("m1", "human", "When do they hunt?"), message("m2", "assistant", "Most of them at night.")]}])
    .to_string()
}

const INSTANCE: &str = "11111111-0000-4000-8000-000000000001";

fn import(home: &Home, name: &str, changed: &str) {
    home.run("rsv-import", &["-q"], export_of_claude(name, changed)).ok();
}

/// The title in the table of sessions.
fn title(home: &Home) -> String {
    let sessions = lines_of(&home.run("rsv-view", &["--sessions", "-p", "claude"], "").ok());
    sessions[0]["title"].as_str().unwrap().to_owned()
}

fn of_kind(export: &str, kind: &str) -> Vec<Value> {
    lines_of(export).into_iter().filter(|line| line["kind"] == kind).collect()
}

on_each_store!(a_conversation_has_the_title_of_its_program_and_follows_it);
/// Keeps: A renamed conversation shows its new title after the next import.
fn a_conversation_has_the_title_of_its_program_and_follows_it(home: Home) {
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    assert_eq!(title(&home), "Owls of the wood");
    let first = home.export();
    let lines = of_kind(&first, "title");
    assert_eq!((lines.len(), &lines[0]["instance"]), (1, &json!(INSTANCE)));
    // The same again changes nothing.
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    assert_eq!(home.export(), first);
    // A new name, also where nothing else is newer, and an older export.
    import(&home, "Birds", "2025-05-01T10:05:00Z");
    assert_eq!(title(&home), "Birds");
    import(&home, "Aviary", "2025-05-02T10:05:00Z");
    assert_eq!(title(&home), "Aviary");
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    assert_eq!(title(&home), "Aviary");
    assert_eq!(of_kind(&home.export(), "message"), of_kind(&first, "message"));
    // An export has it, and comes back to the byte; the later version holds.
    let export = home.export();
    let other = home.emptied();
    other.run("rsv-import", &["-q"], &export).ok();
    assert_eq!(other.export(), export);
    other.run("rsv-import", &["-q"], &first).ok();
    assert_eq!(other.export(), export);
    other.check();
}

on_each_store!(a_title_is_shown_with_its_hits_and_found_by_its_words);
fn a_title_is_shown_with_its_hits_and_found_by_its_words(home: Home) {
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    home.ingest(
        &["-p", "garden"],
        "At night the beans sleep, as far as anybody in this garden can tell by looking",
    );
    let text = home.run("rsv-search", &["--all", "night", "--format", "text"], "").ok();
    // A first question does not stand in front of itself.
    assert!(text.contains("claude/11111111 “Owls") && text.contains("garden/garden user:"), "{text}");
    // The title has a word that no message has.
    let found = lines_of(&home.run("rsv-search", &["--all", "wood"], "").ok());
    let shape =
        |hit: &Value| [&hit["kind"], &hit["record"], &hit["title"], &hit["instance"]].map(Value::clone);
    let wanted = ["hit", "title", "Owls of the wood", INSTANCE].map(Value::from);
    assert_eq!((found.len(), shape(&found[0])), (1, wanted));
    assert_eq!(home.run("rsv-search", &["-p", "garden", "wood"], "").status, 1);
    assert_eq!(home.run("rsv-search", &["--all", "--kind", "message", "wood"], "").status, 1);
    assert_eq!(home.run("rsv-search", &["--all", "--kind", "title", "owls"], "").status, 0);
    // Titles take no place of messages.
    home.ingest(&["-p", "garden"], "Wood for the fence");
    let found = lines_of(&home.run("rsv-search", &["--all", "wood", "-n", "1"], "").ok());
    assert_eq!((found.len(), &found[0]["content"]), (1, &json!("Wood for the fence")));
    home.check();
}

on_each_store!(a_title_goes_with_the_last_message_of_its_conversation);
/// Keeps: A title is forgotten with its conversation.
fn a_title_goes_with_the_last_message_of_its_conversation(home: Home) {
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    let ids: Vec<String> = of_kind(&home.export(), "message")
        .iter()
        .map(|message| id_digest(message["id"].as_str().unwrap())[..12].to_owned())
        .collect();
    let forgotten = home.run("rsv-forget", &["--all", &ids[0]], "").ok();
    assert!(of_kind(&forgotten, "title").is_empty(), "{forgotten}");
    let forgotten = home.run("rsv-forget", &["--all", &ids[1]], "").ok();
    assert_eq!(of_kind(&forgotten, "title").len(), 1, "{forgotten}");
    assert!(!home.export().contains("Owls of the wood"));
    // It stays out.
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    import(&home, "Owls of the forest", "2025-05-09T10:05:00Z");
    assert!(!home.export().contains("Owls of"), "{}", home.export());
    home.run("rsv-import", &["-q", "--allow-return"], export_of_claude("Owls", "2025-05-09T10:05:00Z")).ok();
    assert_eq!(title(&home), "Owls");
    home.run("rsv-forget", &["-p", "claude", "-i", INSTANCE, "--everything", "--yes"], "").ok();
    assert!(of_kind(&home.export(), "title").is_empty());
    home.check();
}

#[test]
fn a_conversation_without_a_title_shows_its_first_question() {
    let home = Home::new();
    let question = "Where do the tomatoes stand when the spring is cold and the wall has no sun at all?";
    home.ingest(&["-p", "garden"], question);
    let sessions = lines_of(&home.run("rsv-view", &["--sessions"], "").ok());
    assert_eq!(sessions[0]["title"], "Where do the tomatoes stand when the spring is cold and the…");
    assert!(of_kind(&home.export(), "title").is_empty());
}

#[test]
fn a_title_may_be_written_and_its_secrets_are_redacted() {
    let home = Home::new();
    home.ingest(&["-p", "garden"], "Hello");
    let line = |title: &str| json!({"kind": "title", "partition": "garden", "title": title}).to_string();
    let (_, token) = secrets().into_iter().find(|(kind, _)| *kind == "github-token").unwrap();
    let redacting = home.env("RSV_INGEST_REDACT", "true");
    redacting.run("rsv-ingest", &["-q"], line(&format!("Keys: {token}"))).ok();
    import(&redacting, &format!("Keys: {token}"), "2025-05-01T10:05:00Z");
    let titles = of_kind(&home.export(), "title");
    assert_eq!(
        titles.iter().map(|title| &title["title"]).collect::<Vec<_>>(),
        ["Keys: [redacted:github-token]"; 2]
    );
    home.run("rsv-ingest", &[], line("Greetings")).ok();
    let sessions = lines_of(&home.run("rsv-view", &["--sessions", "-p", "garden"], "").ok());
    assert_eq!(sessions[0]["title"], "Greetings");
    let refused = home.run("rsv-ingest", &[], line(" ")).trouble();
    assert!(refused.contains("title: is missing"), "{refused}");
}

#[test]
fn titles_describe_the_instances_that_are_completed() {
    let home = Home::new();
    import(&home, "Owls of the wood", "2025-05-01T10:05:00Z");
    let words = ["--", "rsv-view", "-p", "claude", "-i", ""];
    let offered = home.env("RSV_COMPLETIONS", "fish").run("rsv-view", &words, "").stdout;
    assert_eq!(offered, format!("{INSTANCE}\tOwls of the wood\n"));
}

#[test]
fn tables_of_sessions_fit_on_terminals_of_80_and_40_columns() {
    let home = Home::new();
    import(&home, "Owls of the wood, and what they eat when the nights are short", "2025-05-01T10:05:00Z");
    home.ingest(&["-p", "garden"], "Where do the tomatoes stand when the spring is cold?");
    for columns in ["80", "40"] {
        let table =
            home.env("COLUMNS", columns).run("rsv-view", &["--sessions", "--format", "text"], "").ok();
        let longest = table.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(longest <= columns.parse().unwrap(), "{table}");
        assert!(table.contains("Owls of") && table.contains("Where do"), "{table}");
    }
}
