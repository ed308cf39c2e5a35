//! rsv-ask as a conversation: one that continues, and one at a prompt.

use crate::fake::{Answer, Fake, Seen, Wire};
use crate::support::{Home, lines_of, on_each_store, text};
use crate::terminal::{Terminal, plain};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// A streamed answer with a text.
fn answer(text: &str) -> Answer {
    let chunk = json!({"object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
    Answer::new(200, format!("data: {chunk}\n\ndata: [DONE]\n\n")).header("Content-Type", "text/event-stream")
}

/// The messages of a request.
fn messages(seen: &Seen) -> Vec<Value> {
    let request: Value = serde_json::from_str(seen.text()).unwrap();
    request["messages"].as_array().unwrap().clone()
}

/// The question of a request, without what was recalled for it.
fn question(seen: &Seen) -> String {
    let said = text(&messages(seen).last().unwrap()["content"]);
    said.rsplit("\n\n").next().unwrap().to_owned()
}

/// A provider that answers each question by what it is.
fn provider() -> Fake {
    Fake::answering(|seen| answer(&format!("So {} it is.", question(seen).trim_end_matches('?'))))
}

fn with_provider(home: &Home, url: &str) -> Home {
    let home = home.env("RSV_OLLAMA_BASE_URL", url).env("RSV_RETRIES", "0");
    home.run("rsv-config", &["set", "model", "llama3.1"], "").ok();
    home
}

/// A prompt in the partition p, which is waited for.
fn prompt(home: &Home, words: &str) -> Option<Terminal> {
    let mut terminal = Terminal::start(home, "rsv-ask", &format!("-p p {words}"))?;
    terminal.see("/help lists the commands");
    terminal.see("p> ");
    Some(terminal)
}

/// Types a line at the prompt, and waits for the next prompt: what was seen in between, as it looks.
fn say(terminal: &mut Terminal, line: &str) -> String {
    terminal.press(&format!("{line}\r"));
    // The line is drawn again with each key: only the next prompt comes without any of it.
    let mut seen = terminal.see("\n") + "\n";
    seen += &terminal.see("\u{1b}[?2004h");
    terminal.see("p> ");
    plain(&seen)
}

/// Keeps: An answer is in the request of the turn that continues it, and nothing is in it twice.
fn a_continued_conversation_has_the_turns_before_it(home: Home) {
    let provider = provider();
    let home = with_provider(&home, &provider.url());
    // Days apart, so that no pause tells what belongs together.
    for (day, words) in [
        (1, &["An heirloom?"][..]),
        (2, &["A walnut?"]),
        (5, &["-c", "A pear?"]),
        (9, &["--continue", "A quince?"]),
    ] {
        let home = home.at(&format!("2026-03-{day:02}T09:00:00Z"));
        home.run("rsv-ask", &[&["-p", "p"], words].concat(), "").ok();
    }
    let seen = provider.seen();
    let turns = |seen: &Seen| messages(seen).iter().map(|one| text(&one["role"])).collect::<Vec<_>>();
    assert_eq!(turns(&seen[1]), ["user"]);
    assert_eq!(turns(&seen[2]), ["user", "assistant", "user"]);
    assert_eq!(turns(&seen[3]), ["user", "assistant", "user", "assistant", "user"]);
    let said: Vec<String> = messages(&seen[3]).iter().map(|one| text(&one["content"])).collect();
    assert_eq!(said[..4], ["A walnut?", "So A walnut it is.", "A pear?", "So A pear it is."]);
    for said in ["A walnut?", "So A walnut", "A pear?", "So A pear", "A quince?"] {
        assert_eq!(seen[3].text().matches(said).count(), 1, "{said}: {}", seen[3].text());
    }
    assert_eq!(home.contents("rsv-view", &["-p", "p", "20"]).len(), 8);
    // A turn that is asked once more does not continue itself.
    for _ in 0..2 {
        home.run("rsv-ask", &["-p", "p", "-c", "--trace", "t", "A fig?"], "").ok();
        assert_eq!(messages(provider.seen().last().unwrap()).len(), 7);
    }
}

on_each_store!(a_continued_conversation_has_the_turns_before_it);

#[test]
fn a_conversation_of_another_program_continues_by_its_pauses() {
    let provider = provider();
    let home = with_provider(&Home::new(), &provider.url()).at("2026-03-09T09:00:00Z");
    let line = |minute: u32, role: &str, content: &str| {
        json!({"role": role, "content": content, "trace_id": format!("t{}", minute / 2),
            "timestamp": format!("2026-03-01T{:02}:{:02}:00Z", 8 + minute / 60, minute % 60)})
        .to_string()
            + "\n"
    };
    let lines = [
        line(0, "user", "Plums, long ago?"),
        line(1, "assistant", "Yes."),
        line(90, "user", "Where is the ladder?"),
        line(91, "assistant", "In the shed."),
        line(110, "user", "And the saw?"),
        line(111, "assistant", "Beside it."),
    ];
    home.ingest(&["-p", "p", "-i", "chat"], &lines.concat());
    home.run("rsv-ask", &["-p", "p", "-i", "chat", "-c", "Both?"], "").ok();
    let said: Vec<String> =
        messages(&provider.one()).iter().map(|message| text(&message["content"])).collect();
    assert_eq!(said[..4], ["Where is the ladder?", "In the shed.", "And the saw?", "Beside it."]);
    assert!(said.len() == 5 && said[4].ends_with("Both?"), "{said:?}");
}

#[test]
fn what_does_not_fit_of_a_conversation_is_left_out() {
    let provider = Fake::answering(|seen| answer(&"many words ".repeat(100 + question(seen).len())));
    let home = with_provider(&Home::new(), &provider.url());
    for (key, tokens) in [("max_context_tokens", "1600"), ("reserve_tokens", "200")] {
        home.run("rsv-config", &["set", &format!("models.'llama3.1'.{key}"), tokens], "").ok();
    }
    for words in ["One?", "Two?", "Three?", "Four?", "Five?", "Six?", "Seven?", "Eight?"] {
        let asked = home.run("rsv-ask", &["-p", "p", "-c", "--sources", words], "");
        assert_eq!(asked.status, 0, "{asked}");
        if words == "Eight?" {
            assert!(asked.stderr.contains("no room for "), "{asked}");
        }
    }
    let last = messages(provider.seen().last().unwrap());
    assert!((3..15).contains(&last.len()), "{last:?}");
}

#[test]
fn a_dry_run_is_what_rsv_enrich_gives() {
    let home = Home::new().at("2026-03-09T09:00:00Z");
    home.run("rsv-ingest", &["-p", "p", "--trace", "1", "The bones chapel is in Évora"], "").ok();
    let before = home.export();
    let request = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Where is the chapel?"}]}"#;
    let scope = ["-p", "p", "--trace", "t"];
    let wanted = home.run("rsv-enrich", &scope, request).ok();
    // Neither a key nor a provider is needed.
    let words = ["--dry-run", "--model", "gpt-4o", "Where is the chapel?"];
    let ran = home.run("rsv-ask", &[&scope[..], &words].concat(), "");
    assert_eq!((ran.stdout.as_str(), ran.status), (wanted.as_str(), 0), "{ran}");
    let request: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tokens = &request["rsv"]["account"]["counted"];
    let told = format!(
        "rsv-ask: would send {tokens} of 128000 tokens, reaching the partition p; recalled 1 message ("
    );
    assert!(ran.stderr.starts_with(&told), "{ran}");
    assert_eq!(home.export(), before);
}

/// The short id of the message of a scope that has a text.
fn short_id(home: &Home, words: &str) -> String {
    let Some(terminal) = Terminal::run(home, 200, "rsv-view -p p 20 --no-pager") else {
        return String::new();
    };
    let seen = plain(&terminal.end().0);
    let line = seen.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {seen}"));
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn sources_are_named_with_their_dates_places_and_ids() {
    let provider = provider();
    let home = with_provider(&Home::new(), &provider.url());
    let old = home.at("2025-05-03T14:02:00Z");
    old.run("rsv-ingest", &["-p", "p", "-i", "desk", "--trace", "1", "The bones chapel is in Évora."], "")
        .ok();
    let line = json!({"role": "user", "content": "The chapel opens at nine.", "source": "codex"});
    home.at("2026-01-02T08:00:00Z").ingest(&["-p", "p", "-i", "c"], &line.to_string());
    let home = home.at("2026-03-09T09:00:00Z");
    let (one, other) = (short_id(&home, "Évora"), short_id(&home, "nine"));

    let asked = home.run("rsv-ask", &["-p", "p", "--sources", "When does the bones chapel open?"], "");
    assert_eq!((asked.stdout.as_str(), asked.status), ("So When does the bones chapel open it is.\n", 0));
    let lines: Vec<&str> = asked.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{asked}");
    for place in ["recalled 2 messages (", "1 from May 2025: p/desk", "1 from January: codex", "), "] {
        assert!(lines[0].contains(place) && lines[0].ends_with(" tokens"), "{asked}");
    }
    for line in [
        format!("{one} 2025-05-03 14:02 p/desk user: “The bones chapel is in Évora.”"),
        format!("{other} 2026-01-02 08:00 codex user: “The chapel opens at nine.”"),
    ] {
        assert!(lines.contains(&line.as_str()), "{line}: {asked}");
    }

    // At a terminal, a line says it without being asked: dim, unless there is no colour.
    let line = "rsv-ask -p p 'When does the bones chapel open?'";
    let Some(terminal) = Terminal::run(&home, 200, line) else { return };
    let seen = terminal.end().0;
    assert!(seen.contains("it is.\n\u{1b}[2mrecalled ") && seen.ends_with(" tokens\u{1b}[0m\n"), "{seen}");
    for line in [format!("NO_COLOR=1 {line}"), format!("{line} --color never")] {
        let seen = Terminal::run(&home, 200, &line).unwrap().end().0;
        assert!(seen.contains("it is.\nrecalled ") && !seen.contains('\u{1b}'), "{seen}");
    }
    for line in [format!("{line} | cat"), format!("{line} 2> /dev/null"), format!("{line} -q")] {
        let seen = Terminal::run(&home, 200, &line).unwrap().end().0;
        assert!(seen.ends_with("it is.\n"), "{line}: {seen}");
    }
    // -q leaves out no more than nobody asked for.
    let quiet = home.run("rsv-ask", &["-p", "p", "-q", "--sources", "A walnut?"], "");
    assert!(quiet.status == 0 && quiet.stderr.starts_with("recalled "), "{quiet}");
}

#[test]
fn a_prompt_asks_one_question_after_the_other() {
    let provider = provider();
    let home = with_provider(&Home::new(), &provider.url());
    let Some(mut terminal) = prompt(&home, "") else { return };
    assert!(say(&mut terminal, "A walnut?").contains("\nSo A walnut it is.\n"));
    // The line before, with two letters more.
    assert!(say(&mut terminal, "\u{1b}[A\u{1b}[D trees").contains("\nSo A walnut trees it is.\n"));
    let help = say(&mut terminal, "/help");
    assert!(["/sources", "/forget", "/new", "/help", "/quit"].iter().all(|one| help.contains(one)), "{help}");
    let seen = say(&mut terminal, "/fnord now");
    assert!(seen.contains("rsv-ask: error: there is no command “/fnord”\nrsv-ask: hint: /help "), "{seen}");
    let seen = say(&mut terminal, "/quit now");
    assert!(seen.contains("rsv-ask: error: /quit takes no words\n"), "{seen}");
    assert!(say(&mut terminal, " /fnord?").contains("\nSo /fnord it is.\n"));
    let pasted = "\u{1b}[200~first line\rsecond line\u{1b}[201~";
    assert!(say(&mut terminal, pasted).contains("\nSo first line\nsecond line it is.\n"));
    // Ctrl-C takes a line away, and Ctrl-D ends.
    terminal.press("never said\u{3}");
    terminal.see("\u{1b}[?2004h");
    terminal.see("p> ");
    assert!(say(&mut terminal, "/new").contains("another conversation"));
    assert!(say(&mut terminal, "A pear?").contains("\nSo A pear it is.\n"));
    terminal.press("\u{4}");
    assert_eq!(terminal.end().1, 0);

    let seen = provider.seen();
    let questions: Vec<String> = seen.iter().map(question).collect();
    assert_eq!(questions, ["A walnut?", "A walnut trees?", "/fnord?", "first line\nsecond line", "A pear?"]);
    assert_eq!(seen.iter().map(|seen| messages(seen).len()).collect::<Vec<_>>(), [1, 3, 5, 7, 1]);
    let stored = home.contents("rsv-view", &["-p", "p", "20"]);
    assert_eq!(stored.len(), 10);
    assert_eq!(
        stored[6..],
        ["first line\nsecond line", "So first line\nsecond line it is.", "A pear?", "So A pear it is."]
    );

    // The next prompt continues the last conversation, and knows the lines of this one.
    let mut terminal = Terminal::start(&home, "rsv-ask", "-p p -c").unwrap();
    terminal.see("continues p: 2 messages up to ");
    terminal.see(", last asked “A pear?”");
    terminal.see("p> ");
    assert!(say(&mut terminal, "\u{1b}[A\u{1b}[D tree").contains("\nSo A pear tree it is.\n"));
    terminal.press("/quit\r");
    assert_eq!(terminal.end().1, 0);
    assert_eq!(messages(provider.seen().last().unwrap()).len(), 3);
}

#[test]
fn standard_output_gets_the_answers_alone() {
    let provider = provider();
    let home = with_provider(&Home::new(), &provider.url());
    let Some(mut terminal) = Terminal::run(&home, 80, "rsv-ask -p p > answers; echo ended $?") else {
        return;
    };
    terminal.see("p> ");
    say(&mut terminal, "A walnut?");
    say(&mut terminal, "/help");
    say(&mut terminal, "A pear?");
    terminal.press("/quit\r");
    terminal.see("ended 0");
    terminal.end();
    assert_eq!(home.read("answers"), "So A walnut it is.\nSo A pear it is.\n");
}

#[test]
fn ctrl_c_stops_an_answer_of_which_the_beginning_is_stored() {
    let provider = Wire::new();
    let home = with_provider(&Home::new(), &provider.url());
    let Some(mut terminal) = prompt(&home, "") else { return };
    terminal.press("A walnut?\r");
    let mut call = provider.accept();
    call.begin("");
    let chunk = json!({"object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "It is a"}}]});
    call.piece(format!("data: {chunk}\n\n"));
    terminal.see("It is a");
    terminal.press("\u{3}");
    terminal.see("stopped; the part that arrived is stored");
    call.hung_up();
    terminal.see("p> ");
    let stored = lines_of(&home.run("rsv-view", &["-p", "p"], "").ok());
    assert_eq!(stored.iter().map(|one| text(&one["content"])).collect::<Vec<_>>(), ["A walnut?", "It is a"]);
    assert_eq!(stored[1]["partial"], true);

    // Before there is any of it, nothing is stored.
    terminal.press("A pear?\r");
    let call = provider.accept();
    assert!(call.request.contains("It is a"), "{}", call.request);
    terminal.press("\u{3}");
    terminal.see("nothing is stored");
    call.hung_up();
    terminal.see("p> ");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().1, 0);
    assert_eq!(home.contents("rsv-view", &["-p", "p"]).len(), 2);
}

#[test]
fn an_error_leads_back_to_the_prompt() {
    let mut answers = [Answer::new(400, r#"{"error":{"message":"I will not"}}"#), answer("Yes.")].into_iter();
    let provider = Fake::answering(move |_| answers.next().unwrap());
    let home = with_provider(&Home::new(), &provider.url());
    let Some(mut terminal) = prompt(&home, "") else { return };
    assert!(say(&mut terminal, "A walnut?").contains("rsv-ask: error: "));
    assert!(say(&mut terminal, "A pear?").contains("\nYes.\n"));
    terminal.press("\u{4}");
    assert_eq!(terminal.end().1, 2);
    assert_eq!(messages(&provider.seen()[1]).len(), 1);
}

/// Keeps: A turn that is forgotten at the prompt is gone from the store, the conversation and the history.
fn a_turn_is_forgotten_at_the_prompt(home: Home) {
    let provider = provider();
    let home = with_provider(&home, &provider.url());
    let Some(mut terminal) = prompt(&home, "") else { return };
    say(&mut terminal, "A pear?");
    say(&mut terminal, "Tell hunter2?");
    let sources = say(&mut terminal, "/sources");
    assert!(sources.contains("recalled "), "{sources}");
    for (answer, told) in [("n", "nothing was removed"), ("y", "records removed")] {
        terminal.press("/forget\r");
        terminal.see("Forget “Tell hunter2?” and its answer? [y/N] ");
        assert!(say(&mut terminal, answer).contains(told));
    }
    say(&mut terminal, "A quince?");
    terminal.press("/quit\r");
    assert_eq!(terminal.end().1, 0);
    let stored = home.contents("rsv-view", &["-p", "p", "20"]);
    assert_eq!(stored, ["A pear?", "So A pear it is.", "A quince?", "So A quince it is."]);
    let last = provider.seen().last().unwrap().text().to_owned();
    assert!(last.contains("A pear?") && !last.contains("hunter2"), "{last}");
    assert!(!home.export().contains("hunter2"));
    let history = home.read(".local/state/rsv/ask_history");
    assert_eq!(history.lines().next(), Some("\"A pear?\""));
    assert!(!history.contains("hunter2"), "{history}");
}

on_each_store!(a_turn_is_forgotten_at_the_prompt);

#[test]
fn of_a_conversation_with_one_trace_only_the_last_turn_is_forgotten() {
    let home = with_provider(&Home::new(), "http://127.0.0.1:9");
    let said = ["Where is the saw?", "In the shed.", "And the ladder?", "Beside it."];
    let line = |(at, content): (usize, &&str)| {
        let role = ["user", "assistant"][at % 2];
        json!({"role": role, "content": content, "trace_id": "t", "timestamp": 1_772_352_000_000_u64 + at as u64})
            .to_string()
            + "\n"
    };
    home.ingest(&["-p", "p"], &said.iter().enumerate().map(line).collect::<String>());
    let Some(mut terminal) = prompt(&home, "-c") else { return };
    terminal.press("/forget\r");
    terminal.see("Forget “And the ladder?” and its answer? [y/N] ");
    assert!(say(&mut terminal, "y").contains("2 records removed"));
    terminal.press("\u{4}");
    assert_eq!(terminal.end().1, 0);
    assert_eq!(home.contents("rsv-view", &["-p", "p"]), said[..2]);
}

#[test]
fn the_history_is_private_short_and_without_secrets() {
    let provider = provider();
    let home = with_provider(&Home::new(), &provider.url());
    let file = ".local/state/rsv/ask_history";
    let ask = |home: &Home, lines: &[&str]| {
        let mut terminal = prompt(home, "")?;
        for line in lines {
            say(&mut terminal, line);
        }
        terminal.press("\u{4}");
        Some(terminal.end().1)
    };
    let none = home.env("RSV_ASK_HISTORY", "0");
    if ask(&none, &["One?"]).is_none() {
        return;
    }
    assert!(!home.path(".local/state").exists());

    let home = home.env("RSV_ASK_HISTORY", "3").env("RSV_INGEST_REDACT", "true");
    let key = format!("sk-proj-{}", "Q7xZ2mVb".repeat(6));
    ask(&home, &["Two?", "Three?", &format!("Is {key} a key?"), "Four?", "Five?"]);
    let mode = home.path(file).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let lines = home.read(file);
    assert!(!lines.contains(&key) && lines.contains("[redacted:"), "{lines}");
    ask(&home, &[]);
    assert_eq!(home.read(file).lines().count(), 3);
    // A file of the user's, without an end of the last line, behind a link, stays one; it goes if none is to be kept.
    let real = home.write("dotfiles/history", "\"Old?\"\n\"Older?\"");
    std::fs::remove_file(home.path(file)).unwrap();
    std::os::unix::fs::symlink(&real, home.path(file)).unwrap();
    ask(&home, &["Seven?", "Eight?"]);
    assert_eq!(home.read(file), "\"Old?\"\n\"Older?\"\n\"Seven?\"\n\"Eight?\"\n");
    ask(&home, &[]);
    assert_eq!(home.read("dotfiles/history"), "\"Older?\"\n\"Seven?\"\n\"Eight?\"\n");
    assert!(home.path(file).is_symlink());
    ask(&home.env("RSV_ASK_HISTORY", "0"), &["Nine?"]);
    assert!(!home.path(file).is_symlink() && !real.exists());

    // Where it cannot be kept, the prompt says so once, and continues.
    let home = home.env("XDG_STATE_HOME", home.write("no-directory", "").to_str().unwrap());
    let mut terminal = Terminal::start(&home, "rsv-ask", "-p p").unwrap();
    terminal.see("the lines of this prompt are not kept");
    terminal.see("p> ");
    let seen = say(&mut terminal, "Six?");
    assert!(seen.contains("So Six it is.") && !seen.contains("not kept"), "{seen}");
}
