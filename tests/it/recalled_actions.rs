//! Actions that are recalled for a question about work on files.

use crate::support::{Home, lines_of, on_each_store};
use serde_json::{Value, json};

/// Two sessions: one mended a webhook, after a test had failed, the other a page.
fn sessions() -> String {
    let mut lines = Vec::new();
    let mut turn = |instance: &str, trace: &str, at: i64, said: [&str; 2], actions: &[Value]| {
        let line = json!({"trace_id": trace, "partition": "shop", "instance": instance});
        let mut add = |members: Value, at: i64| {
            let mut line = line.clone();
            line["timestamp"] = json!(at);
            line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            lines.push(format!("{line}\n"));
        };
        add(json!({"role": "user", "content": said[0]}), at);
        for (action, n) in actions.iter().zip(1..) {
            let mut action = action.clone();
            action["kind"] = json!("action");
            action["call"] = json!(format!("toolu_{trace}_{n}_0123456789"));
            add(action, at + n);
        }
        add(json!({"role": "assistant", "content": said[1]}), at + 100);
    };
    let cargo = |failed: bool| {
        let mut test = json!({"tool": "Bash", "command": "cargo test webhook"});
        if failed {
            test["failed"] = json!(true);
            test["error"] = json!("error[E0425]: cannot find value `charge_card`");
        }
        test
    };
    turn(
        "s1",
        "t1",
        1_000_000,
        ["Why does the webhook answer twice when a customer pays?", "The key was missing; it is mended."],
        &[
            json!({"tool": "Read", "paths": ["/home/ann/shop/src/pay.rs"]}),
            cargo(true),
            json!({"tool": "Edit", "paths": ["/home/ann/shop/src/keys.rs"], "lines": 7}),
            cargo(false),
        ],
    );
    turn(
        "s2",
        "t2",
        2_000_000,
        ["Make the footer of the page blue", "The footer is blue."],
        &[
            json!({"tool": "Edit", "paths": ["/home/ann/shop/web/footer.css"], "lines": 2}),
            json!({"tool": "Bash", "command": "npm run lint"}),
        ],
    );
    lines.concat()
}

fn enriched(home: &Home, question: &str) -> (String, Value) {
    let request = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": question}]});
    let line =
        lines_of(&home.run("rsv-enrich", &["-q", "-p", "shop"], format!("{request}\n")).ok()).remove(0);
    let sent = line["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    (sent, line["rsv"]["account"].clone())
}

on_each_store!(a_question_about_work_on_files_recalls_actions_in_a_line_each);
/// Keeps: A question about files, commands or errors finds what was done, within a tenth of the room for recalled text.
fn a_question_about_work_on_files_recalls_actions_in_a_line_each(home: Home) {
    home.run("rsv-import", &["-q"], sessions()).ok();
    for (question, wanted, unwanted) in [
        (
            "What did we change in keys.rs?",
            vec!["Edit: /home/ann/shop/src/keys.rs, 7 lines"],
            vec!["footer", "pay.rs"],
        ),
        (
            "I get E0425 again, what was it?",
            vec!["cargo test webhook; failed: error[E0425]", "Edit: /home/ann/shop/src/keys.rs, 7 lines"],
            vec!["footer"],
        ),
        ("Did `npm run lint` pass?", vec!["Bash: npm run lint"], vec!["cargo"]),
        ("Which cargo test failed?", vec!["cargo test webhook; failed"], vec!["npm"]),
        (
            "Which files did I touch for the webhook that answers twice, and which command failed?",
            vec!["cargo test webhook; failed", "keys.rs, 7 lines"],
            vec!["npm", "footer"],
        ),
    ] {
        let (sent, account) = enriched(&home, question);
        let block: Vec<&str> =
            sent.lines().filter(|line| line.starts_with("> ") && line.contains(": ")).collect();
        for wanted in wanted {
            assert!(block.iter().any(|line| line.contains(wanted)), "{question}: {wanted}\n{sent}");
        }
        for unwanted in unwanted {
            assert!(
                !sent.split(question).next().unwrap().contains(unwanted),
                "{question}: {unwanted}\n{sent}"
            );
        }
        let actions = account["actions"].as_array().unwrap();
        assert!(!actions.is_empty(), "{account}");
    }
    // The text of an action is data: it stands in the fence, and is not stored with the next turn.
    let (sent, _) = enriched(&home, "What did we change in keys.rs?");
    assert!(sent.starts_with("<rsv-memory>") && sent.ends_with("What did we change in keys.rs?"), "{sent}");
    // Others recall none.
    for question in ["What is the capital of France?", "Make the header green", "Thank you"] {
        let (sent, account) = enriched(&home, question);
        assert!(account.get("actions").is_none(), "{question}: {sent}");
    }
    let off = home.env("RSV_ENRICH_RECALL", "similar,recent,memories");
    let (_, account) = enriched(&off, "What did we change in keys.rs?");
    assert!(account.get("actions").is_none(), "{account}");
}

#[test]
fn recalled_actions_take_a_tenth_of_the_room_and_none_that_the_request_holds() {
    let home = Home::new();
    let actions = (0..40).map(|n| {
        json!({"kind": "action", "trace_id": "t", "partition": "shop", "instance": "s1", "timestamp": 1000 + n,
            "call": format!("toolu_{n:020}"), "tool": "Edit", "paths": [format!("src/{}/pay.rs", "x".repeat(200 + n))], "lines": n})
    });
    home.run("rsv-import", &["-q"], actions.map(|line| format!("{line}\n")).collect::<String>()).ok();
    let question = "What did we change in pay.rs?";
    let ask = |messages: Value, window: &str| {
        home.run("rsv-config", &["set", "models.gpt-4o.max_context_tokens", window], "").ok();
        let request = json!({"model": "gpt-4o", "messages": messages});
        let line =
            lines_of(&home.run("rsv-enrich", &["-q", "-p", "shop"], format!("{request}\n")).ok()).remove(0);
        line["rsv"]["account"].clone()
    };
    let account = ask(json!([{"role": "user", "content": question}]), "8192");
    let tokens: u64 =
        account["actions"].as_array().unwrap().iter().map(|one| one["tokens"].as_u64().unwrap()).sum();
    assert!(tokens > 0 && tokens <= 8192 / 40, "{account}");
    let newest = format!("toolu_{:020}", 39);
    let held = json!([
        {"role": "user", "content": "Edit it"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": newest, "type": "function", "function": {"name": "Edit", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": newest, "content": "done"},
        {"role": "assistant", "content": "It is done."},
        {"role": "user", "content": question}]);
    let first = |account: &Value| account["actions"][0]["id"].clone();
    assert_ne!(
        first(&ask(held, "128000")),
        first(&ask(json!([{"role": "user", "content": question}]), "128000"))
    );
}

on_each_store!(what_a_client_keeps_from_an_earlier_recall_is_not_recalled_again);
/// Keeps: Text that a hook or a tool recalled is not recalled again while the client keeps it.
fn what_a_client_keeps_from_an_earlier_recall_is_not_recalled_again(home: Home) {
    let said = ["The barn owls nest in the \"old mill\" of Évora.", "Barn owls hunt at dusk,\nby ear."];
    for (said, at) in said.iter().zip(1000..) {
        let line =
            json!({"role": "user", "content": said, "partition": "shop", "instance": "s1", "timestamp": at});
        home.run("rsv-import", &["-q"], format!("{line}\n")).ok();
    }
    let hook = home.run("rsv-search", &["-p", "shop", "--format", "block", "mill"], "").ok();
    assert!(hook.contains("old mill") && !hook.contains("dusk"), "{hook}");
    let reminder =
        json!({"type": "text", "text": format!("<system-reminder>\nhook: {hook}</system-reminder>")});
    let words = |text: &str| json!({"type": "text", "text": text});
    let question = words("Where do the barn owls nest, and when do barn owls hunt?");
    let answer = json!({"role": "assistant", "content": "At night."});
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": hook}]);
    let call =
        json!([{"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": {"query": "mill"}}]);
    let counts = |messages: Value| {
        let request = json!({"model": "claude", "max_tokens": 9, "system": "s", "messages": messages});
        let line =
            lines_of(&home.run("rsv-enrich", &["-q", "-p", "shop"], format!("{request}\n")).ok()).remove(0);
        let sent = line.to_string();
        (sent.matches("old mill").count(), sent.matches("dusk").count())
    };
    // As it is, with the hook's block in an earlier turn, beside the present words, and in the result of a tool.
    assert_eq!(counts(json!([{"role": "user", "content": [question]}])), (1, 1));
    let earlier = json!({"role": "user", "content": [reminder, words("Hello")]});
    assert_eq!(counts(json!([earlier, answer, {"role": "user", "content": [question]}])), (1, 1));
    assert_eq!(counts(json!([{"role": "user", "content": [reminder, question]}])), (1, 1));
    let asked = json!({"role": "user", "content": [words("Hello")]});
    let tool = [json!({"role": "assistant", "content": call}), json!({"role": "user", "content": result})];
    assert_eq!(
        counts(json!([asked, tool[0], tool[1], answer, {"role": "user", "content": [question]}])),
        (1, 1)
    );
    // A block of an earlier run gives way to the new one.
    let replaced = [words(&hook), question];
    assert_eq!(counts(json!([{"role": "user", "content": replaced}])), (1, 1));
}

/// The line of an action of the partition shop.
fn action(call: &str, timestamp: i64, members: Value) -> String {
    let mut line = json!({"kind": "action", "trace_id": format!("t{timestamp}"), "partition": "shop", "instance": "s1",
        "timestamp": timestamp, "call": call, "tool": "Bash"});
    line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    format!("{line}\n")
}

/// The account of a request.
fn account_of(home: &Home, request: &Value) -> Value {
    let line =
        lines_of(&home.run("rsv-enrich", &["-q", "-p", "shop"], format!("{request}\n")).ok()).remove(0);
    line["rsv"]["account"].clone()
}

/// Keeps: An action whose call the request holds is not recalled, in any API, and no short id hides that of another session.
#[test]
fn calls_that_a_request_holds_are_not_recalled_in_any_api() {
    let (long, short) = ("toolu_0123456789abcdef", "call_1");
    let lines = [long, short].map(|call| action(call, 1000, json!({"command": "cargo test webhook"})));
    let question = "Did `cargo test webhook` pass?";
    let arguments = |command: &str| json!({"command": command}).to_string();
    let requests = |call: &str, command: &str| {
        let function = json!({"name": "Bash", "arguments": arguments(command)});
        let called = json!([{"id": call, "type": "function", "function": function}]);
        let used = json!([{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}]);
        let result = json!([{"type": "tool_result", "tool_use_id": call, "content": "ok"}]);
        let item = json!({"type": "function_call", "call_id": call, "name": "Bash", "arguments": arguments(command)});
        let user = |text: &str| json!({"role": "user", "content": text});
        [
            json!({"model": "gpt-4o", "messages": [user("Go"), {"role": "assistant", "content": null, "tool_calls": called},
                {"role": "tool", "tool_call_id": call, "content": "ok"}, user(question)]}),
            json!({"model": "claude", "max_tokens": 9, "system": "s", "messages": [user("Go"),
                {"role": "assistant", "content": used}, {"role": "user", "content": result},
                {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
                {"role": "user", "content": [{"type": "text", "text": question}]}]}),
            json!({"model": "gpt-5", "input": [user("Go"), item,
                {"type": "function_call_output", "call_id": call, "output": "ok"}, user(question)]}),
        ]
    };
    for (call, line) in [long, short].into_iter().zip(lines) {
        let home = Home::new();
        home.run("rsv-import", &["-q"], line).ok();
        let recalls = |request: Value| account_of(&home, &request).get("actions").is_some();
        for request in requests("toolu_another_0123456789", "ls") {
            assert!(recalls(request.clone()), "{request}");
        }
        for request in requests(call, "cargo test webhook") {
            assert!(!recalls(request.clone()), "{request}");
        }
        for request in requests(call, "ls") {
            assert_eq!(recalls(request.clone()), call == short, "{request}");
        }
    }
}

on_each_store!(an_action_that_a_client_keeps_is_not_recalled_again);
/// Keeps: Actions that a hook recalled are not recalled again while the client keeps them, and the account says so.
fn an_action_that_a_client_keeps_is_not_recalled_again(home: Home) {
    home.run("rsv-import", &["-q"], sessions()).ok();
    let hook = home.run("rsv-search", &["-p", "shop", "--file", "keys.rs", "--format", "block"], "").ok();
    assert!(hook.contains("> 1970-01-01 00:16 Edit: /home/ann/shop/src/keys.rs, 7 lines\n"), "{hook}");
    let text = |text: &str| json!({"type": "text", "text": text});
    let request = |reminder: &str| {
        json!({"model": "claude", "max_tokens": 9, "system": "s", "messages": [
            {"role": "user", "content": [text(reminder), text("Hello")]},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": [text("What did we change in keys.rs?")]}]})
    };
    let account = account_of(&home, &request("<system-reminder>\nhook</system-reminder>"));
    let id = account["actions"][0]["id"].clone();
    assert!(id.is_string(), "{account}");
    let account = account_of(&home, &request(&format!("<system-reminder>\nhook: {hook}</system-reminder>")));
    assert!(account.get("actions").is_none(), "{account}");
    let left_out = json!({"id": id, "reason": "in_request"});
    assert!(account["left_out"].as_array().unwrap().contains(&left_out), "{account}");
}

/// Keeps: A word of a language recalls no commands; a program does in a question about work, a few of its commands.
#[test]
fn programs_with_the_names_of_words_are_recalled_only_for_work() {
    let home = Home::new();
    let commands = [
        "poetry install",
        "yarn build",
        "composer install",
        "sed -i s/a/b/ x",
        "jest",
        "bun install",
        "python a.py",
        "cargo build",
        "RUST_LOG=debug cargo run",
        "git push --force",
        "sudo make",
        "find . -name x",
    ];
    let dockers: Vec<String> = (0..12).map(|n| format!("docker pull image{n}")).collect();
    let all = commands.into_iter().chain(dockers.iter().map(String::as_str)).zip(1000..);
    let lines = all.map(|(command, at)| action(&format!("toolu_{at:020}"), at, json!({"command": command})));
    home.run("rsv-import", &["-q"], lines.collect::<String>()).ok();
    let recalled = |question: &str| -> Vec<String> {
        let (sent, _) = enriched(&home, question);
        let sent = sent.strip_suffix(question).unwrap();
        sent.lines().filter_map(|line| Some(line.split_once(" Bash: ")?.1.to_owned())).collect()
    };
    let none: [&str; 0] = [];
    for question in [
        "Write some poetry about the sea",
        "My yarn is blue",
        "Bach was a composer",
        "Tengo mucha sed hoy",
        "He said it in jest",
        "A bun with butter",
        "A python is a snake",
        "Which cargo ship is the biggest?",
        "Did the cargo ship crash?",
        "Find the git config",
        "Find the git config file",
        "Is docker better than a VM?",
        "Make me a list",
    ] {
        assert_eq!(recalled(question), none, "{question}");
    }
    for (question, wanted) in [
        ("Does `make` work?", "sudo make"),
        ("Did cargo run work?", "RUST_LOG=debug cargo run"),
        ("Which cargo command failed?", "cargo build"),
        ("Is there an error of poetry?", "poetry install"),
        ("What about `jest`?", "jest"),
        ("Did git push --force run?", "git push --force"),
    ] {
        assert!(recalled(question).iter().any(|line| line == wanted), "{question}: {:?}", recalled(question));
    }
    assert_eq!(recalled("Did cargo run work?").len(), 1);
    let newest: Vec<&String> = dockers.iter().rev().take(4).collect();
    let mut of_docker = recalled("Why does docker fail?");
    of_docker.sort_by_key(|line| dockers.iter().rev().position(|one| one == line));
    assert_eq!(of_docker.iter().collect::<Vec<_>>(), newest);
}
