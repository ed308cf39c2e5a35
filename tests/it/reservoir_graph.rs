//! Reservoir's documents with a real graph: the quick start, and the queries in Cypher.

use crate::docs::{read, section};
use crate::examples::{can_run_examples, unescaped};
use crate::fake::{Answer, Fake};
use crate::neo4j::{READ_BY_RESERVOIR, RESERVOIRS};
use crate::proxy::Proxy;
use crate::reservoir::Desk;
use crate::support::{Home, MODEL, lines_of, on_graph};
use neo4rs::BoltType;
use serde::Deserialize;

/// A hit of the queries of the documents.
#[derive(Deserialize)]
struct Found {
    node: MessageNode,
    score: Option<f64>,
}

#[derive(Deserialize)]
struct MessageNode {
    content: String,
    partition: String,
}

/// The blocks of Cypher in rsv-reservoir(7): similar messages, the context, by another model, and the end.
fn queries() -> [String; 4] {
    let page = read("man/rsv-reservoir.7");
    let part = section(&page, "EXTENDED DESCRIPTION").split(".Ss Queries").nth(1).unwrap();
    let part = part.split("\n.Ss ").next().unwrap();
    let block = |block: &str| unescaped(block.split_once('\n').unwrap().1.split("\n.Ed").next().unwrap());
    let blocks: Vec<String> = part.split(".Bd -literal").skip(1).map(block).collect();
    blocks.try_into().unwrap()
}

/// The query of the chapter on the data model, as it is printed there.
const SIMILAR: &str = "CALL db.index.vector.queryNodes('messageEmbeddings', 10, $queryEmbedding)
YIELD node, score
WHERE node.partition = $partition AND node.instance = $instance
RETURN node, score
ORDER BY score DESC";

/// The other queries of that chapter.
const THREAD: &str = "// Reconstruct a conversation thread
MATCH (user:MessageNode {role: 'user'})-[:RESPONDED_WITH]->(assistant:MessageNode)
WHERE user.trace_id = $traceId
RETURN user, assistant
ORDER BY user.timestamp";
const HUBS: &str = "// Find highly connected messages (conversation hubs)
MATCH (m:MessageNode)-[s:SYNAPSE]-(related:MessageNode)
WHERE m.partition = $partition AND m.instance = $instance
WITH m, count(s) as connectionCount, avg(s.score) as avgScore
WHERE connectionCount > 3
RETURN m, connectionCount, avgScore
ORDER BY connectionCount DESC, avgScore DESC";

/// The scope of a query, and the vector of a question.
fn about(scope: (&str, &str), vector: &[f64]) -> Vec<(&'static str, BoltType)> {
    let numbers: BoltType = vector.iter().copied().collect();
    vec![("partition", scope.0.into()), ("instance", scope.1.into()), ("queryEmbedding", numbers)]
}

fn contents(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.node.content.as_str()).collect()
}

/// The vector of a question by the model of a home.
fn vector_of(home: &Home, question: &str) -> Vec<f64> {
    let line = lines_of(&home.run("rsv-embed", &["--text", "--query"], question).ok()).remove(0);
    serde_json::from_value(line["embedding"].clone()).unwrap()
}

on_graph!(the_quick_start_of_reservoir_runs_with_a_graph);
/// Keeps: The quick start of Reservoir's documents runs with a graph, and their queries find what was said.
fn the_quick_start_of_reservoir_runs_with_a_graph(home: Home) {
    if !can_run_examples() {
        return;
    }
    let sparky = "Sparky, a toaster without fear, warmed the coldest night.";
    let tree = "A binary search tree keeps smaller keys on the left.";
    let provider = Fake::new([sparky, tree, sparky, "The brave toaster is Sparky."].map(|said| {
        let message = serde_json::json!({"role": "assistant", "content": said});
        Answer::new(200, serde_json::json!({"choices": [{"index": 0, "message": message}]}).to_string())
    }));
    // Connect to the graph, as the documents do by variables, and start.
    let address = home.graph().address().to_owned();
    let home = home.and_model().env("NEO4J_URI", &address).env("NEO4J_USERNAME", "neo4j");
    let home = home.without("RSV_STORE").env("USER", "alice").env("OPENAI_API_KEY", "sk-alice");
    let desk = Desk::in_home(home.env("RSV_OPENAI_BASE_URL", &provider.url()));
    desk.run("rsv-config set store neo4j").ok();
    let mut proxy = Proxy::spawn(desk.shell(&["-c", "exec reservoir start --port 0"]));
    let curl = |text: &str| {
        let request = serde_json::json!({"model": "gpt-4", "messages": [{"role": "user", "content": text}]});
        let line = format!(
            r#"curl -s "http://127.0.0.1:{}/partition/$USER/instance/reservoir/v1/chat/completions" \
                -H "Content-Type: application/json" -H "Authorization: Bearer $OPENAI_API_KEY" -d '{request}' |
                jq -r '.choices[0].message.content'"#,
            proxy.port()
        );
        let answer = desk.run(&line).ok();
        proxy.settle();
        answer
    };
    let story = "Write a one-sentence bedtime story about a brave little toaster.";
    assert_eq!(curl(story).trim_end(), sparky);
    assert_eq!(curl("How do I implement a binary search tree?").trim_end(), tree);
    curl("Tell me the bedtime story about the brave toaster again.");
    curl("What is the name of the brave toaster?");
    let requests = provider.seen();
    assert_eq!(requests.last().unwrap().header("Authorization"), Some("Bearer sk-alice"));
    assert!(requests.last().unwrap().text().contains("Sparky"), "what was said is recalled");
    assert_eq!(proxy.end(), Some(0));

    // Look at the memory, at the command line.
    let ran = desk.run(r#"reservoir search "binary search""#);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran}");
    assert_eq!(ran.stderr, "rsv-search: 2 hits in alice; to search there: -p alice\n");
    let found = desk.run(r#"reservoir search --partition $USER "binary search""#).ok();
    assert!(
        found.lines().count() == 2 && found.contains("[alice/reservoir] user: How do I implement"),
        "{found}"
    );
    assert_eq!(desk.run("reservoir view --partition $USER --instance reservoir 10").ok().lines().count(), 8);
    let semantic = desk.run(r#"reservoir search --partition $USER --semantic "kitchen appliances" "#).ok();
    assert!(semantic.lines().next().unwrap().contains("toaster"), "{semantic}");
    assert_eq!(
        desk.run("reservoir export | jq '[.[] | select(.embedding | length > 0)] | length'").ok(),
        "8\n"
    );

    // And in the graph.
    let (graph, home) = (desk.home.graph(), &desk.home);
    desk.run("rsv-link --adopt --rebuild --threshold 0.1").ok();
    let [similar, context, ..] = queries();
    assert_eq!(similar, SIMILAR, "the page has the query of the documents");
    let vector = vector_of(home, "a fairy tale for children");
    let params = about(("alice", "reservoir"), &vector);
    let nearest: Vec<Found> = graph.answer(SIMILAR, &params);
    let words = ["-p", "alice", "--semantic", "a fairy tale for children"];
    let hits = lines_of(&home.run("rsv-search", &words, "").ok());
    assert_eq!(nearest.len(), 8);
    for (found, hit) in nearest.iter().zip(&hits) {
        assert_eq!(hit["content"], found.node.content);
        // The index compares numbers of 8 bits.
        let near = (1.0 + hit["score"].as_f64().unwrap()) / 2.0;
        assert!((found.score.unwrap() - near).abs() < 0.01, "{:?} and {near}", found.score);
    }
    let vector = vector_of(home, story);
    let mut params = about(("alice", "reservoir"), &vector);
    params.push(("recentThreshold", 0.into()));
    let found: Vec<Found> = graph.answer(&context, &params);
    let (recent, near): (Vec<&Found>, Vec<&Found>) = found.iter().partition(|found| found.score.is_none());
    assert_eq!(recent.len(), 8);
    assert!(near.iter().any(|found| found.node.content == story), "{:?}", contents(&found));
    assert!(near.iter().all(|found| found.score > Some(0.85) && found.node.partition == "alice"));

    #[derive(Deserialize)]
    struct Thread {
        user: MessageNode,
        assistant: MessageNode,
    }
    let trace = lines_of(&home.run("rsv-search", &["-p", "alice", "implement binary"], "").ok()).remove(0);
    let trace: BoltType = trace["trace_id"].as_str().unwrap().into();
    let thread: Vec<Thread> = graph.answer(THREAD, &[("traceId", trace)]);
    assert_eq!(thread.len(), 1);
    assert_eq!(thread[0].user.content, "How do I implement a binary search tree?");
    assert_eq!(thread[0].assistant.content, tree);
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Hub {
        m: MessageNode,
        connection_count: u32,
    }
    let hubs: Vec<Hub> = graph.answer(HUBS, &about(("alice", "reservoir"), &[]));
    assert!(hubs.iter().any(|hub| hub.m.content.contains("toaster") && hub.connection_count > 3));
    home.check();
}

/// A message as a line, with its vector by a model.
fn line(partition: &str, n: usize, (model, vector): (&str, &[f64])) -> String {
    let line = serde_json::json!({"id": format!("{partition}{n}"), "partition": partition, "instance": partition,
        "trace_id": "t", "role": "user", "content": format!("{partition} {n}"), "timestamp": n,
        "embedding": vector, "embedding_model": model});
    format!("{line}\n")
}

/// The contents that the query of the documents finds.
fn similar(home: &Home, partition: &str, vector: &[f64]) -> Vec<String> {
    let found: Vec<Found> = home.graph().answer(SIMILAR, &about((partition, partition), vector));
    found.into_iter().map(|found| found.node.content).collect()
}

/// The length of the vector that each message holds.
fn lengths(home: &Home) -> Vec<String> {
    let statement = "MATCH (m:MessageNode) WITH m ORDER BY m.partition, m.timestamp
                     RETURN toString(size(m.embedding)) AS text";
    home.graph().texts(statement)
}

on_graph!(messages_hold_the_vectors_of_one_model_once_a_graph_is_taken_over);
fn messages_hold_the_vectors_of_one_model_once_a_graph_is_taken_over(home: Home) {
    home.graph().run("DROP INDEX messageEmbeddings IF EXISTS");
    let far = [0.0, 1.0, 0.0];
    let lines = line("p", 1, ("a", &[1.0, 0.0, 0.0])) + &line("p", 2, ("a", &[0.8, 0.6, 0.0]));
    home.run("rsv-import", &["-q"], &lines).ok();
    home.ingest(&["-p", "p"], r#"{"role":"user","content":"p 3","timestamp":3}"#);
    assert_eq!(lengths(&home), ["0", "0", "0"]);
    // Also in a graph of the release before, which would not keep them up to date.
    let version = || home.graph().texts("MATCH (s:RsvStore) RETURN toString(s.version) AS text");
    let present = version();
    home.graph().run("MATCH (s:RsvStore) SET s.version = s.version - 1");
    home.run("rsv-link", &["-q", "--adopt"], "").ok();
    assert_eq!(version(), present);
    assert_eq!(lengths(&home), ["3", "3", "0"]);
    assert_eq!(similar(&home, "p", &[1.0, 0.1, 0.0]), ["p 1", "p 2"]);
    home.check();
    // Later records have them at once: a message with its vector, a vector alone, another vector in place of one.
    home.run("rsv-import", &["-q"], line("p", 4, ("a", &[0.6, 0.8, 0.0]))).ok();
    let embedding = serde_json::json!({"kind": "embedding", "of": "p3", "model": "a", "vector": far});
    let third = lines_of(&home.run("rsv-view", &["-p", "p", "9"], "").ok())[2]["id"].clone();
    let embedding = embedding.to_string().replace("\"p3\"", &third.to_string());
    home.run("rsv-import", &["-q"], embedding).ok();
    assert_eq!(similar(&home, "p", &far), ["p 3", "p 4", "p 2", "p 1"]);
    home.check();

    // Ten others that are nearer are all that the index finds; the tool finds those of the scope.
    let others: String = (1..=12).map(|n| line("q", n, ("a", &[0.01 * n as f64, 1.0, 0.0]))).collect();
    home.run("rsv-import", &["-q"], others).ok();
    assert_eq!(similar(&home, "p", &far), ["p 3"]);
    assert_eq!(similar(&home, "q", &far).len(), 9);

    // A second model stands beside it, and is asked by its name.
    let lines = line("p", 5, ("b", &[0.0, 1.0])) + &line("q", 13, ("b", &[1.0, 0.0]));
    home.run("rsv-import", &["-q"], lines).ok();
    assert_eq!(lengths(&home)[4], "0");
    let [.., by_model, end] = queries();
    let mut params = about(("p", "p"), &[0.0, 1.0]);
    params.push(("model", "b".into()));
    let found: Vec<Found> = home.graph().answer(&by_model, &params);
    assert_eq!((contents(&found), found[0].score), (vec!["p 5"], Some(1.0)));
    home.check();
    // Nor does it become that of the messages when most vectors are of it.
    let many: String = (6..40).map(|n| line("r", n, ("b", &[0.0, 1.0]))).collect();
    home.run("rsv-import", &["-q"], many).ok();
    assert_eq!(lengths(&home)[..4], ["3"; 4]);
    home.run("rsv-forget", &["-q", "--everything", "-p", "r"], "").ok();

    // A forgotten message is found no more.
    home.run("rsv-forget", &["-q", "--all", "p4"], "").ok();
    assert_eq!(similar(&home, "p", &[0.6, 0.8, 0.0])[0], "p 2");

    // And it ends, if it is not wanted.
    for statement in end.split(";\n") {
        home.graph().run(statement.trim_end_matches(';'));
    }
    home.run("rsv-import", &["-q"], line("p", 6, ("a", &far))).ok();
    assert!(lengths(&home).iter().all(|length| length == "0"));
    home.check();
    home.run("rsv-link", &["-q", "--adopt"], "").ok();
    // Both have the same vector.
    let mut nearest = similar(&home, "p", &far);
    nearest.truncate(2);
    nearest.sort();
    assert_eq!(nearest, ["p 3", "p 6"]);
    home.check();
}

on_graph!(a_replay_changes_the_vectors_that_messages_hold);
fn a_replay_changes_the_vectors_that_messages_hold(home: Home) {
    for statement in &RESERVOIRS {
        home.graph().run(statement);
    }
    // As Reservoir's documents make it; theirs is of their own length.
    home.graph().run("DROP INDEX messageEmbeddings IF EXISTS");
    home.graph().run(
        "CREATE VECTOR INDEX messageEmbeddings FOR (m:MessageNode) ON (m.embedding)
         OPTIONS {indexConfig: {`vector.dimensions`: 1536, `vector.similarity_function`: 'cosine'}}",
    );
    let before = home.graph().texts(READ_BY_RESERVOIR);
    let home = home.and_model();
    home.run("rsv-link", &["-q", "--adopt"], "").ok();
    assert_eq!(home.graph().texts(READ_BY_RESERVOIR), before, "what Reservoir reads is as it was");
    let own: Vec<f64> = (0..1024).map(|i| f64::from(i * 4 % 7 - 3)).collect();
    assert_eq!(similar(&home, "work", &own)[0], "Owl number 3");
    home.ingest(&["-p", "work"], "A bird of the night");

    home.run("rsv-embed", &["-q", "--replay", MODEL], "").ok();
    assert_eq!(lengths(&home), ["384"; 7]);
    let own_nodes = "MATCH (m:MessageNode)-[:HAS_EMBEDDING]->(e:Embedding1024) WHERE NOT e:RsvVector
                     RETURN m.content + size(e.embedding) AS text";
    assert_eq!(home.graph().texts(own_nodes).len(), 6, "Reservoir's own vectors stay");
    let second = "MATCH (m:MessageNode)-[:HAS_EMBEDDING]->(e:Embedding384) RETURN m.content AS text";
    assert_eq!(
        home.graph().texts(second),
        ["A bird of the night"],
        "a message of Reservoir's has no second one"
    );
    assert_eq!(similar(&home, "work", &vector_of(&home, "nocturnal birds")).len(), 7);
    home.check();

    // One that was interrupted is completed.
    home.graph().run("MATCH (s:RsvStore) SET s.message_after = 0");
    home.graph().run("MATCH (m:RsvMessage) SET m.embedding = []");
    home.run("rsv-embed", &["-q", "--pending"], "").ok();
    assert_eq!(lengths(&home), ["384"; 7]);
    home.check();
    home.graph().run("MATCH (m:RsvMessage {content: 'Owl number 2'}) SET m.embedding = []");
    home.graph().run("DROP INDEX messageEmbeddings");
    home.run("rsv-config", &["doctor", "--repair"], "").ok();
    home.check();
    assert_eq!(similar(&home, "work", &vector_of(&home, "Owl number 2"))[0], "Owl number 2");

    // An index of another name on the same property is the user's.
    home.graph().run("DROP INDEX messageEmbeddings");
    home.graph().run(
        "CREATE VECTOR INDEX mine FOR (m:MessageNode) ON (m.embedding)
         OPTIONS {indexConfig: {`vector.dimensions`: 384, `vector.similarity_function`: 'cosine'}}",
    );
    home.run("rsv-config", &["doctor", "--repair"], "").ok();
    let said = home.run("rsv-link", &["-q", "--adopt"], "").trouble();
    home.graph().run("DROP INDEX mine");
    assert!(said.contains("DROP INDEX `mine`"), "{said}");
    // So is one of its name on something else.
    home.graph().run("CREATE INDEX messageEmbeddings FOR (n:Owl) ON (n.feathers)");
    let said = home.run("rsv-link", &["-q", "--adopt"], "").trouble();
    home.graph().run("DROP INDEX messageEmbeddings");
    assert!(said.contains("has the name") && said.contains("DROP INDEX `messageEmbeddings`"), "{said}");
    // And one for vectors of any length serves as it is, also while other models come.
    home.graph().run("CREATE VECTOR INDEX messageEmbeddings FOR (m:MessageNode) ON (m.embedding)");
    home.run("rsv-link", &["-q", "--adopt"], "").ok();
    home.run("rsv-import", &["-q"], line("work", 1, ("another", &[1.0, 0.0]))).ok();
    assert_eq!(similar(&home, "work", &vector_of(&home, "Owl number 2"))[0], "Owl number 2");
    home.graph().run("DROP INDEX messageEmbeddings");
}
