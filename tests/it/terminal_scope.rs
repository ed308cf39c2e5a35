//! The scope of a search that names none: on a terminal the partition of the project, else everything; in a pipe
//! default/default. The note that a person gets about it.

use crate::fake::{Answer, Fake};
use crate::support::{Home, lines_of, on_each_store, text};
use crate::terminal::{Terminal, plain};
use serde_json::{Value, json};
use std::sync::mpsc::channel;

/// A home with a project `shop`, and messages in its partition, in another and in the default one.
fn furnished(home: Home) -> Home {
    for directory in ["shop/.git", "shop/src"] {
        std::fs::create_dir_all(home.path(directory)).unwrap();
    }
    home.ingest(&["-p", "shop", "-i", "till"], "A barn owl.");
    home.ingest(&["-p", "garden"], "A snowy owl.");
    home.ingest(&[], "A tawny owl.");
    home
}

/// All that a line of shell in a directory prints on a terminal, as it looks, and its exit status.
fn shown(home: &Home, directory: &str, line: &str) -> Option<(String, i32)> {
    let (seen, status) = Terminal::run(home, 200, &format!("cd ./{directory} && {line}"))?.end();
    Some((plain(&seen), status))
}

on_each_store!(on_a_terminal_the_project_is_searched_else_everything);
fn on_a_terminal_the_project_is_searched_else_everything(home: Home) {
    let home = furnished(home);
    let others = "; for all others: rsv-search --all";
    let project = format!("rsv-search: searched the partition shop{others} owl\n");
    let unnamed = format!("rsv-search: searched default/default{others} owl\n");
    let everything = "rsv-search: searched all 3 partitions\n";
    for (directory, line, told, found) in [
        ("shop/src", "rsv-search owl", &*project, &["barn"][..]),
        ("shop", "rsv-search owl", &project, &["barn"]),
        ("", "rsv-search owl", everything, &["barn", "snowy", "tawny"]),
        // Standard output decides.
        ("shop", "rsv-search owl | cat", &unnamed, &["tawny"]),
        ("shop", "rsv-search --here owl | cat", &project, &["barn"]),
        ("", "rsv-search --here owl | cat", everything, &["barn", "snowy", "tawny"]),
        ("shop", "rsv-search --format jsonl owl", &project.replace("owl", "--format jsonl owl"), &["barn"]),
        // A named scope holds, and no note repeats it.
        ("shop", "rsv-search -p garden owl", "", &["snowy"]),
        ("shop", "rsv-search -i default owl", "", &["tawny"]),
        ("shop", "rsv-search --scope default owl", "", &["tawny"]),
        ("shop", "rsv-search --all owl", "", &["barn", "snowy", "tawny"]),
        ("shop", "RSV_SCOPE=default rsv-search owl", &unnamed, &["tawny"]),
        ("", "rsv-search -q owl", "", &["barn", "snowy", "tawny"]),
        ("shop", "echo owl | rsv-search", &project, &["barn"]),
        (
            "shop",
            r#"echo '{"query":"owl"}' | rsv-search"#,
            &project.replace("rsv-search --all owl", "--all"),
            &["barn"],
        ),
        ("shop", r#"echo '{"query":"owl","partition":"garden"}' | rsv-search"#, "", &["snowy"]),
        ("shop", "rsv-view --here | cat", "", &["barn"]),
        ("", "rsv-view --here | cat", "", &["barn", "snowy", "tawny"]),
    ] {
        let Some((seen, status)) = shown(&home, directory, line) else { return };
        assert_eq!(status, 0, "{line}: {seen}");
        let owls = ["barn", "snowy", "tawny"].into_iter().filter(|owl| seen.contains(owl));
        assert_eq!(owls.collect::<Vec<_>>(), found, "{directory} {line}: {seen}");
        let notes: String =
            seen.lines().filter(|line| line.starts_with("rsv-")).map(|line| line.to_owned() + "\n").collect();
        assert_eq!(notes, told, "{directory} {line}: {seen}");
        // The scopes of the hits of everything are told.
        let is_of_all = found.len() == 3 && !line.contains("cat");
        assert_eq!(seen.contains("garden/garden"), is_of_all, "{line}: {seen}");
    }
    // A search makes no project known, and where no person reads, nothing is told.
    assert!(!home.path(".local/share/rsv/projects.json").exists());
    assert_eq!(home.contents("rsv-search", &["owl"]), ["A tawny owl."]);
    let verbose = home.run("rsv-search", &["-v", "owl"], "");
    assert!(
        verbose.stderr.contains("searched default/default; for all others: rsv-search --all -v owl"),
        "{verbose}"
    );
}

#[test]
fn a_note_has_the_command_that_finds_the_rest() {
    let home = furnished(Home::new());
    for (line, count, owl) in [
        ("rsv-search --no-pager -p shop -n 3 'snowy owl' \"A\"", "1 in 1 other scope", "snowy"),
        ("rsv-search -pshop --instance=till -d \"snowy\"", "1 in 1 other scope", "snowy"),
        ("rsv-search tawny", "1 in 1 other scope", "tawny"),
        ("echo '\"tawny owl\"' | rsv-search -p shop", "1 in 1 other scope", "tawny"),
        ("rsv-view -p nothing 2", "3 in 3 other scopes", "tawny"),
    ] {
        let Some((seen, _)) = shown(&home, "shop", line) else { return };
        let note = seen
            .lines()
            .find(|line| line.contains("nothing in "))
            .unwrap_or_else(|| panic!("{line}: {seen}"));
        assert!(note.contains(count), "{line}: {note}");
        let command = note.split_once(&format!("{count}: ")).unwrap().1;
        let (seen, status) = shown(&home, "shop", command).unwrap();
        assert!(status == 0 && seen.contains(&format!("A {owl} owl.")), "{line}: {command}: {seen}");
    }
    // In a pipe, a person is told too.
    let (seen, status) = shown(&home, "shop", "rsv-search barn | cat").unwrap();
    let wanted = "rsv-search: nothing in default/default; 1 in 1 other scope: rsv-search --all barn\n";
    assert_eq!((&*seen, status), (wanted, 0));
}

#[test]
fn what_is_asked_on_a_terminal_stays_in_the_project() {
    let answer = json!({"model": "m", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "In the barn."}}]});
    let provider = Fake::answering(move |_| Answer::new(200, answer.to_string()));
    let home = furnished(Home::new()).env("RSV_OLLAMA_BASE_URL", &provider.url());
    let scopes = |home: &Home| {
        let lines = lines_of(&home.run("rsv-search", &["--all", "--format", "jsonl", "Where"], "").stdout);
        lines.iter().map(|line| text(&line["partition"])).collect::<Vec<_>>()
    };
    let ask = "rsv-ask --model llama3.2 'Where is the owl?'";
    let Some((seen, status)) = shown(&home, "shop", ask) else { return };
    // Under the answer, a line says what was recalled from there.
    let told = "rsv-ask: recalls from the partition shop, and stores there\nIn the barn.\n\
                recalled nothing from the partition shop\n";
    assert_eq!((seen.as_str(), status), (told, 0));
    assert_eq!(scopes(&home), ["shop"]);
    // Elsewhere, and in a pipe, it is default/default: recall crosses no partition.
    let told = "rsv-ask: recalls from default/default, and stores there\nIn the barn.\n";
    let (seen, status) = shown(&home, "", ask).unwrap();
    assert!(status == 0 && seen.starts_with(&format!("{told}recalled 1 message (")), "{seen}");
    assert_eq!(shown(&home, "shop", &format!("{ask} | cat")).unwrap(), (told.to_owned(), 0));
    let mut all = scopes(&home);
    all.sort();
    assert_eq!(all, ["default", "default", "shop"]);

    home.write("request", &json!({"messages": [{"role": "user", "content": "owl"}]}).to_string());
    for (directory, line, place) in [
        ("shop", "rsv-enrich ../request", "the partition shop"),
        ("shop", "rsv-enrich ../request | cat", "default/default"),
        ("", "rsv-enrich request", "default/default"),
    ] {
        let (seen, _) = shown(&home, directory, line).unwrap();
        let (told, line) = seen.split_once('\n').unwrap();
        assert_eq!(told, format!("rsv-enrich: recalls from {place}"));
        let partition = if place.contains("shop") { "shop" } else { "default" };
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["rsv"]["partition"], partition, "{seen}");
    }
}

#[test]
fn a_person_is_told_of_vectors_that_are_added() {
    // The server answers for the messages once the line is seen.
    let (release, released) = channel::<()>();
    let server = Fake::answering(move |seen| {
        let asked: Value = serde_json::from_str(seen.text()).unwrap();
        let count = asked["input"].as_array().unwrap().len();
        if count > 1 {
            released.recv().ok();
        }
        let data: Vec<Value> = (0..count).map(|index| json!({"index": index, "embedding": [1, 0]})).collect();
        Answer::new(200, json!({"object": "list", "data": data}).to_string())
    });
    let home = Home::new().env("RSV_EMBED_VIA", &server.url()).env("RSV_EMBED_MODEL", "some-model");
    let line = |n| json!({"role": "user", "content": format!("owl {n}")}).to_string() + "\n";
    home.ingest(&[], &(0..9).map(line).collect::<String>());
    let Some(mut terminal) = Terminal::start(&home, "rsv-search", "--no-pager --hybrid owl") else { return };
    terminal.see("rsv-search: adding vectors to 9 records\n");
    drop(release);
    let (seen, status) = terminal.end();
    let seen = plain(&seen);
    assert!(status == 0 && seen.contains("owl 8") && !seen.contains("adding"), "{seen}");
}

#[test]
fn a_person_is_told_of_another_program_that_has_the_store() {
    let home = furnished(Home::new());
    let other = rusqlite::Connection::open(home.store()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let Some(mut terminal) = Terminal::start(&home, "rsv-ingest", "'An eagle owl.'") else { return };
    terminal.see("rsv-ingest: waiting for another program that has the store\n");
    other.execute_batch("ROLLBACK").unwrap();
    let (seen, status) = terminal.end();
    assert!(status == 0 && seen.contains("stored in default/default") && !seen.contains("waiting"), "{seen}");
}
