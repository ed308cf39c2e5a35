//! rsv-mcp with several projects: a call chooses among those that are allowed, and reaches no other.

use crate::mcp::Client;
use crate::mcp_scope::{SECRET, ids, in_partition};
use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

/// A home with a project that the tests serve, one that they allow, and one that nobody may reach.
fn three_projects(home: &Home) {
    for (partition, word) in [("own", "plain"), ("allowed", "open"), ("hidden", SECRET)] {
        in_partition(home, partition, word);
    }
}

/// A call of every tool that needs no more than names and ids, with the words that it is found by.
fn calls(id: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("recall", json!({"query": "owl", "by": "keyword"})),
        ("remember", json!({"text": "An owl."})),
        ("recall_when", json!({"id": id, "when": "auto"})),
        ("memory_search", json!({"query": "owl", "by": "keyword"})),
        ("memory_record", json!({"title": "Owls", "content": "Watch them.", "outcome": "success"})),
        ("memory_feedback", json!({"memory_id": id, "helpful": true})),
        ("memory_outcome", json!({"memory_id": id, "succeeded": true})),
        ("memory_consolidate", json!({"dry_run": true, "force_all": true})),
        (
            "session_end",
            json!({"session_id": "s", "task": "t", "approach": "a", "outcome": "success", "tags": ["x"]}),
        ),
        ("context_search", json!({"query": "owl"})),
        ("context_read", json!({"uri": "viking://resources/owl"})),
        ("context_list", json!({})),
        ("forget", json!({"ids": [id]})),
    ]
}

/// The lines of an export that belong to a partition.
fn of_partition(home: &Home, partition: &str) -> Vec<String> {
    let own = format!("\"partition\":\"{partition}\"");
    home.export().lines().filter(|line| line.contains(&own)).map(str::to_owned).collect()
}

on_each_store!(a_project_that_is_not_allowed_is_as_one_that_is_not_there);
/// Keeps: No project that a server does not allow is reached, or distinguished from a missing one.
fn a_project_that_is_not_allowed_is_as_one_that_is_not_there(home: Home) {
    three_projects(&home);
    let (hidden, before) = (ids(&home, "hidden"), of_partition(&home, "hidden"));
    for words in
        [&["-p", "own", "--allow-forget"][..], &["-p", "own", "--allow-forget", "--projects", "allowed"]]
    {
        let mut client = Client::start(&home, words);
        for id in &hidden {
            for (tool, mut arguments) in calls(id) {
                let mut tell = |project: &str| {
                    arguments["project_id"] = json!(project);
                    let answer = client.try_call(tool, arguments.clone());
                    assert_eq!(answer["isError"], true, "{tool} {arguments}: {answer}");
                    assert!(!answer.to_string().contains(SECRET), "{tool} {arguments}: {answer}");
                    answer.to_string().replace(project, "PROJECT")
                };
                assert_eq!(tell("hidden"), tell("missing"));
                for project in ["hidden/s", "Hidden", " hidden", "own/s", "*", "", "allowed,hidden"] {
                    tell(project);
                }
            }
        }
        // Where the project may be named, ids of another one are none's.
        for project in ["own", "allowed"].into_iter().take(words.len() - 3) {
            for id in &hidden {
                for tool in ["recall_when", "memory_feedback", "memory_outcome", "forget"] {
                    let mut arguments = calls(id).into_iter().find(|(name, _)| *name == tool).unwrap().1;
                    arguments["project_id"] = json!(project);
                    client.refused(tool, arguments.clone());
                    arguments.as_object_mut().unwrap().remove("project_id");
                    client.refused(tool, arguments);
                }
            }
        }
    }
    assert_eq!(of_partition(&home, "hidden"), before);
    home.check();
}

on_each_store!(a_call_is_for_the_project_that_it_names);
fn a_call_is_for_the_project_that_it_names(home: Home) {
    three_projects(&home);
    let mut client = Client::start(&home, &["-p", "own", "--projects", "allowed, own", "--allow-forget"]);
    let listed = client.request("tools/list", json!({}))["tools"].clone();
    for tool in listed.as_array().unwrap() {
        let project = &tool["inputSchema"]["properties"]["project_id"];
        assert_eq!(
            project["description"], "The project: that of this client, or one of allowed, own",
            "{tool}"
        );
    }
    for (project, word, other) in [("allowed", "open", "plain"), ("own", "plain", "open")] {
        for (tool, arguments) in [
            ("recall", json!({"query": "owl", "by": "keyword", "project_id": project})),
            ("memory_search", json!({"query": "owl", "by": "keyword", "project_id": project})),
            ("context_search", json!({"query": "owl", "project_id": project})),
            ("context_read", json!({"uri": "viking://resources/owl", "project_id": project})),
            ("context_read", json!({"uri": "viking://~/memories", "project_id": project})),
            ("context_list", json!({"uri": "viking://", "project_id": project})),
        ] {
            let answer = client.call(tool, arguments.clone());
            let told = answer.to_string();
            assert_eq!(answer["scope"]["partition"], project, "{tool}: {answer}");
            let are_shown = tool == "context_list" || told.contains(word);
            assert!(
                are_shown && !told.contains(other) && !told.contains(SECRET),
                "{tool} {arguments}: {told}"
            );
        }
        let stored =
            client.call("remember", json!({"text": format!("For {project}."), "project_id": project}));
        assert_eq!(stored["partition"], project);
        let titled = json!({"title": format!("Of {project}"), "content": "x", "outcome": "success", "project_id": project});
        let memory = client.call("memory_record", titled)["id"].clone();
        assert_eq!(home.contents("rsv-view", &["-p", project, "-n", "1"]), [format!("For {project}.")]);
        // By its id alone a memory is found in whichever of them it is.
        let told = client.call("memory_outcome", json!({"memory_id": memory, "succeeded": true}));
        assert_eq!(told["scope"]["partition"], project);
        let wrong = if project == "own" { "allowed" } else { "own" };
        client.refused("memory_feedback", json!({"memory_id": memory, "helpful": true, "project_id": wrong}));
        let removed = client.call("forget", json!({"ids": [memory], "project_id": project}));
        assert_eq!(removed["ids"][0], memory);
    }
    // Without a name, a call is for the client's own project, and so are resources and prompts.
    let answer = client.call("recall", json!({"query": "owl", "by": "keyword"}));
    assert!(answer["scope"]["partition"] == "own" && answer.to_string().contains("plain"), "{answer}");
    assert!(client.read("viking://resources/owl").contains("plain"));
    home.check();
}

#[test]
fn the_projects_come_from_the_flag_or_the_setting() {
    let home = Home::new();
    three_projects(&home);
    std::fs::create_dir_all(home.path("own/.git")).unwrap();
    let by_setting = home.env("RSV_MCP_PROJECTS", "allowed");
    let root = format!("file://{}", home.path("own").display());
    let found = |home: &Home, words: &[&str]| {
        let mut client = Client::with_roots(home, words, Some(vec![root.clone()]));
        let arguments = json!({"query": "owl", "by": "keyword", "project_id": "allowed"});
        client.try_call("memory_search", arguments)["isError"] == json!(false)
    };
    assert!(!found(&home, &[]) && found(&by_setting, &[]) && found(&home, &["--projects", "x,allowed"]));
    assert!(!found(&by_setting, &["--projects", ""]) && !found(&by_setting, &["--projects", "x"]));
    for (home, words, place) in [
        (&home, &["--projects", "a,,b"][..], "--projects: "),
        (&home.env("RSV_MCP_PROJECTS", "a,"), &[], "mcp.projects: "),
    ] {
        let ran = home.run("rsv-mcp", words, "");
        assert!(ran.status == 2 && ran.stderr.starts_with(&format!("rsv-mcp: error: {place}")), "{ran}");
    }
}

/// Keeps: Every instance but that of the flags is out of reach, in each project.
#[test]
fn an_instance_holds_in_each_project() {
    let home = Home::new();
    for (instance, word) in [("i", "open"), ("j", SECRET)] {
        let lines = json!({"title": format!("The {word} owl"), "content": "owl", "outcome": "success"});
        home.ingest(&["-p", "allowed", "-i", instance], &lines.to_string());
    }
    let found = lines_of(&home.run("rsv-view", &["-p", "allowed", "-i", "j", "--kind", "memory"], "").ok());
    let mut client = Client::start(&home, &["-p", "own", "-i", "i", "--projects", "allowed"]);
    let answer =
        client.call("memory_search", json!({"query": "owl", "by": "keyword", "project_id": "allowed"}));
    assert_eq!(
        (&answer["count"], &answer["scope"]),
        (&json!(1), &json!({"partition": "allowed", "instance": "i"}))
    );
    assert!(!answer.to_string().contains(SECRET), "{answer}");
    let signal = json!({"memory_id": text(&found[0]["id"]), "helpful": true});
    assert!(client.refused("memory_feedback", signal).starts_with("error: memory_id: memory not found"));
}
