//! The Neo4j servers of the tests, and the graph of each, which one test after the other has for itself. Where
//! `RSV_TEST_NEO4J` does not say where the servers are, these tests are left out; scripts/test starts two.

use crate::shared::{locked, locked_if_free};
use crate::support::{Dice, Home, lines_of, number_from, on_graph, text};
use neo4rs::{BoltType, ConfigBuilder, Graph as Driver, Txn, query};
use rsv::config::{Secret, ServerOptions, StoreLocation};
use rsv::record::{
    Content, Draft, DraftDefaults, Embedding, Hit, Object, Record, Role, Scope, Scopes, StoredRecord, Vector,
};
use rsv::store::{
    Candidate, Evidence, Plan, Question, QuestionVector, Select, Store, WriteOutcome, WriteRules,
};
use rsv::text::{Languages, Occur, Term};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use tokio::runtime::{Builder, Runtime};

/// The group of tests that need a graph, in `.config/nextest.toml`.
const GROUP: &str = "graph";

/// One of the servers, and the lock of whoever has it: the first that is free, or that whose turn comes first.
fn taken<'a>(addresses: &[&'a str]) -> (&'a str, File) {
    let lock = |address: &str| {
        let port = address.rsplit(':').next().unwrap();
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("neo4j-{port}.lock"))
    };
    let free = addresses.iter().find_map(|address| Some((*address, locked_if_free(&lock(address))?)));
    free.unwrap_or_else(|| {
        let address = addresses[std::process::id() as usize % addresses.len()];
        (address, locked(&lock(address)))
    })
}

/// The graph, empty at first, as long as this is kept.
pub(crate) struct Graph {
    address: String,
    password: String,
    driver: Driver,
    runtime: Runtime,
    _turn: Option<File>,
}

impl Graph {
    /// Takes a server that no other test has; `None` where there is none. Waits where all are taken, which
    /// cargo-nextest avoids: it runs as many tests of the group `graph` at once as there are servers.
    pub(crate) fn empty() -> Option<Graph> {
        let addresses = std::env::var("RSV_TEST_NEO4J").ok()?;
        let group = std::env::var("NEXTEST_TEST_GROUP").unwrap_or_else(|_| GROUP.into());
        assert_eq!(group, GROUP, "a test that needs a graph is made by on_each_store! or on_graph!");
        let password = std::env::var("RSV_TEST_NEO4J_PASSWORD").unwrap_or_default();
        let (address, turn) = taken(&addresses.split_whitespace().collect::<Vec<_>>());
        let graph = Graph { _turn: Some(turn), ..Graph::at(address.to_owned(), password) };
        graph.clear();
        Some(graph)
    }

    /// Takes away everything but the indexes: where one comes or goes, the server plans every statement anew.
    pub(crate) fn clear(&self) {
        self.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS");
    }

    /// The graph of a server that is the caller's alone.
    pub(crate) fn at(address: String, password: String) -> Graph {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let config = ConfigBuilder::default().uri(&address).user("neo4j").password(&password);
        let driver = runtime.block_on(async { Driver::connect(config.build().unwrap()).unwrap() });
        Graph { address, password, driver, runtime, _turn: None }
    }

    /// Runs a statement of the test's own.
    pub(crate) fn run(&self, statement: &str) {
        self.runtime.block_on(self.driver.run(query(statement))).unwrap();
    }

    /// The column `text` of the rows of a statement.
    pub(crate) fn texts(&self, statement: &str) -> Vec<String> {
        self.runtime.block_on(async {
            let mut rows = self.driver.execute(query(statement)).await.unwrap();
            let mut texts = Vec::new();
            while let Some(row) = rows.next().await.unwrap() {
                texts.push(row.get("text").unwrap());
            }
            texts
        })
    }

    /// The rows of a statement.
    pub(crate) fn rows<T: DeserializeOwned>(&self, statement: &str) -> Vec<T> {
        self.answer(statement, &[])
    }

    /// The rows of a statement with parameters.
    pub(crate) fn answer<T: DeserializeOwned>(&self, statement: &str, params: &[(&str, BoltType)]) -> Vec<T> {
        let query =
            params.iter().fold(query(statement), |query, (name, value)| query.param(name, value.clone()));
        self.runtime.block_on(async {
            let mut rows = self.driver.execute(query).await.unwrap();
            let mut all = Vec::new();
            while let Some(row) = rows.next().await.unwrap() {
                all.push(row.to().unwrap());
            }
            all
        })
    }

    /// Runs a statement with a parameter `row`.
    pub(crate) fn run_with(&self, statement: &str, row: BoltType) {
        self.runtime.block_on(self.driver.run(query(statement).param("row", row))).unwrap();
    }

    /// Fails unless Reservoir 0.2.4 can read each message, as it reads all: with a driver, into its own type.
    fn is_read_by_reservoir(&self) {
        #[derive(serde::Deserialize)]
        #[expect(dead_code, reason = "that it is there counts")]
        struct MessageNode {
            id: Option<i64>,
            trace_id: String,
            partition: String,
            instance: String,
            content: Option<String>,
            role: String,
            embedding: Vec<f32>,
            url: Option<String>,
            timestamp: i64,
        }
        self.runtime.block_on(async {
            let mut rows = self.driver.execute(query("MATCH (m:MessageNode) RETURN m")).await.unwrap();
            while let Some(row) = rows.next().await.unwrap() {
                row.get::<MessageNode>("m").unwrap();
            }
        });
    }

    /// Runs a statement in a transaction that stays open.
    pub(crate) fn hold(&self, statement: &str) -> Txn {
        self.runtime.block_on(async {
            let mut held = self.driver.start_txn().await.unwrap();
            held.run(query(statement)).await.unwrap();
            held
        })
    }

    /// Takes back what such a transaction did.
    pub(crate) fn release(&self, held: Txn) {
        self.runtime.block_on(held.rollback()).unwrap();
    }

    /// The address of its server.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Where it is.
    pub(crate) fn place(&self) -> StoreLocation {
        let server =
            ServerOptions { password: Secret::new(self.password.as_str()), ..ServerOptions::default() };
        StoreLocation { address: self.address.clone(), server }
    }

    /// The variables that make it the store of a tool.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 2] {
        [("RSV_STORE", &self.address), ("NEO4J_PASSWORD", &self.password)]
    }

    /// Fails unless what the graph counts is what there is.
    pub(crate) fn check(&self) {
        for (what, statement) in WRONG {
            assert_eq!(self.texts(statement), [""; 0], "{what}");
        }
    }
}

/// A graph as Reservoir 0.2.4 leaves it.
pub(crate) const RESERVOIRS: [&str; 4] = [
    "CREATE VECTOR INDEX embedding1024 IF NOT EXISTS FOR (e:Embedding1024) ON (e.embedding)
     OPTIONS {indexConfig: {`vector.dimensions`: 1024, `vector.similarity_function`: 'cosine'}}",
    "UNWIND range(0, 5) AS n WITH n, [i IN range(0, 1023) | toFloat((i * (n + 1)) % 7 - 3)] AS vector
     CREATE (m:MessageNode {trace_id: 't' + toString(n / 2), partition: 'work', instance: 'work',
       role: CASE n % 2 WHEN 0 THEN 'user' ELSE 'assistant' END, content: 'Owl number ' + toString(n),
       timestamp: 1700000000000 + n, embedding: vector})
     CREATE (m)-[:HAS_EMBEDDING]->(:Embedding1024 {model: 'bge-large-en-v15', partition: 'work',
       instance: 'work', embedding: vector})",
    "MATCH (a:MessageNode {role: 'user'}), (b:MessageNode {trace_id: a.trace_id, role: 'assistant'})
     CREATE (a)-[:RESPONDED_WITH]->(b)",
    "MATCH (a:MessageNode), (b:MessageNode) WHERE b.timestamp = a.timestamp + 1
     CREATE (a)-[:SYNAPSE {score: 0.9, model: 'embedding1536'}]->(b)",
];

/// The properties of messages that Reservoir reads.
pub(crate) const READ_BY_RESERVOIR: &str = "MATCH (m:MessageNode)-[:HAS_EMBEDDING]->(e:Embedding1024)
    RETURN m.trace_id + m.partition + m.instance + m.role + m.content + toString(m.timestamp)
      + toString(m.embedding[1]) + toString(size(m.embedding)) + toString(e.embedding[2]) AS text ORDER BY text";

on_graph!(the_graph_of_reservoir_is_read_searched_extended_and_taken_over);
/// Keeps: Reservoir's part of a graph is left unchanged.
fn the_graph_of_reservoir_is_read_searched_extended_and_taken_over(home: Home) {
    let graph = home.graph();
    for statement in &RESERVOIRS {
        graph.run(statement);
    }
    let before = graph.texts(READ_BY_RESERVOIR);
    assert_eq!(before.len(), 6);
    let of_all = "MATCH (n) WHERE NOT any(label IN labels(n) WHERE label STARTS WITH 'Rsv')
                  RETURN toString(count(n)) AS text";
    let nodes = graph.texts(of_all);

    assert_eq!(home.contents("rsv-view", &["-p", "work", "2"]), ["Owl number 4", "Owl number 5"]);
    assert_eq!(home.contents("rsv-search", &["-p", "work", "number 3"]), ["Owl number 3"]);
    assert_eq!(home.contents("rsv-search", &["-p", "work", "owl"]).len(), 6);
    let first = home.export();
    assert_eq!(lines_of(&first).len(), 6);
    assert_eq!(home.export(), first, "ids follow from what a message is");
    assert_eq!((graph.texts(READ_BY_RESERVOIR), graph.texts(of_all)), (before.clone(), nodes.clone()));

    home.ingest(&["-p", "work"], r#"{"role":"user","content":"An owl of rsv","timestamp":1700000000010}"#);
    assert_eq!(home.contents("rsv-view", &["-p", "work", "2"]), ["Owl number 5", "An owl of rsv"]);
    assert_eq!(home.contents("rsv-search", &["-p", "work", "owl rsv"]), ["An owl of rsv"]);
    assert_eq!(home.contents("rsv-search", &["-p", "work", "owl"]).len(), 7);
    assert_eq!(graph.texts("MATCH (m:RsvRecord) RETURN m.content AS text"), ["An owl of rsv"]);
    graph.is_read_by_reservoir();

    // As Reservoir doubles what it exported when it imports it.
    graph.run("MATCH (m:MessageNode {content: 'Owl number 3'}) CREATE (d:MessageNode) SET d = properties(m)");
    for taken_over in ["6 messages", "0 messages"] {
        let said = home.run("rsv-link", &["--adopt", "-v"], "").stderr;
        assert!(said.contains(&format!("took over {taken_over}")), "{said}");
    }
    let left = graph.texts("MATCH (m:MessageNode) WHERE m.rsv_id IS NULL RETURN m.content AS text");
    assert_eq!(left, ["Owl number 3"]);
    assert_eq!(graph.texts(READ_BY_RESERVOIR), before, "what Reservoir reads is as it was");
    graph.is_read_by_reservoir();
    let adopted = lines_of(&home.export());
    let messages: Vec<_> = adopted.iter().filter(|line| line["kind"] == "message").collect();
    assert_eq!(messages.iter().filter(|line| line["id"].is_string()).count(), 7);
    assert!(lines_of(&first).iter().all(|line| messages.contains(&line)));
    let models = home.open().models().unwrap();
    assert_eq!(
        models.iter().map(|model| (model.name.as_str(), model.vectors)).collect::<Vec<_>>(),
        [("bge-large-en-v1.5", 6)]
    );
    assert_eq!(home.contents("rsv-search", &["-p", "work", "owl"]).len(), 7);
    assert_eq!(home.contents("rsv-view", &["-p", "work", "99"]).len(), 7);
    let copy = Home::new();
    copy.run("rsv-import", &[], home.export()).ok();
    assert_eq!(copy.export(), home.export());
    home.check();
}

/// Messages as an earlier Reservoir and other programs leave them: their times are texts or the server's own; and some
/// that cannot be read, each with the reason.
const WITH_TIMES_AS_TEXTS: [(&str, &str); 5] = [
    ("user", "'2024-01-15T10:30:00Z'"),
    ("assistant", "'2024-01-15T12:30:15.250+02:00'"),
    ("user", "datetime('2024-01-15T10:31:00Z')"),
    ("assistant", "'1705314675000'"),
    ("user", "1705314690000"),
];
const UNREADABLE: [(&str, &str); 6] = [
    ("role: 'user', timestamp: 'yesterday'", "timestamp: expected a time such as"),
    ("role: 'bot', timestamp: 1705314700000", "role: expected user, assistant, system or tool"),
    ("timestamp: 1705314700000", "role: is missing"),
    ("role: 'user'", "timestamp: is missing"),
    ("role: 'user', timestamp: 1705314700000000000", "timestamp: expected milliseconds"),
    ("role: 'user', timestamp: '2024-01-15T10:30:00Z', instance: ['a', 'b']", "instance: is missing"),
];

on_graph!(messages_with_times_as_texts_are_read_and_taken_over_and_unreadable_ones_are_named);
fn messages_with_times_as_texts_are_read_and_taken_over_and_unreadable_ones_are_named(home: Home) {
    let graph = home.graph();
    graph.run(RESERVOIRS[0]);
    for (n, (role, time)) in WITH_TIMES_AS_TEXTS.iter().enumerate() {
        graph.run(&format!(
            "WITH [i IN range(0, 1023) | toFloat((i * ({n} + 1)) % 7 - 3)] AS vector
             CREATE (m:MessageNode {{trace_id: 't{}', partition: 'work', instance: 'work', role: '{role}',
               content: 'Owl number {n}', timestamp: {time}, embedding: vector}})-[:HAS_EMBEDDING]->
               (:Embedding1024 {{model: 'bge-large-en-v15', partition: 'work', instance: 'work', embedding: vector}})",
            n / 2
        ));
    }
    graph.run(
        "MATCH (a:MessageNode {role: 'user'}), (b:MessageNode {trace_id: a.trace_id, role: 'assistant'})
         CREATE (a)-[:RESPONDED_WITH]->(b)",
    );
    for (properties, _) in UNREADABLE {
        graph.run(&format!(
            "CREATE (m:MessageNode {{trace_id: 'bad', partition: 'work', instance: 'work', content: 'Owl'}})
             SET m += {{{properties}}}"
        ));
    }
    let nodes = "MATCH (m:MessageNode) RETURN elementId(m) + coalesce(toString(m.timestamp), '') AS text ORDER BY text";
    let before = graph.texts(nodes);
    let owls: Vec<String> = (0..5).map(|n| format!("Owl number {n}")).collect();
    let named = |said: &str| UNREADABLE.iter().filter(|(_, reason)| said.contains(reason)).count();

    for (tool, words) in [
        ("rsv-view", &["-p", "work", "9"][..]),
        ("rsv-view", &["-p", "work", "2"]),
        ("rsv-view", &["-p", "work", "--since", "2024-01-15T10:30:30Z", "9"]),
        ("rsv-search", &["-p", "work", "owl"]),
        ("rsv-search", &["-p", "work", "owl", "--until", "2024-01-15T10:30:30Z", "--role", "assistant"]),
        ("rsv-export", &[]),
        ("rsv-export", &["-p", "work", "--until", "2024-01-15T10:31:00Z"]),
    ] {
        let ran = home.run(tool, words, "");
        assert_eq!((ran.status, named(&ran.stderr)), (0, UNREADABLE.len()), "{tool} {words:?}: {ran}");
        let mut texts: Vec<String> =
            lines_of(&ran.stdout).iter().map(|line| text(&line["content"])).collect();
        texts.sort();
        let wanted = match words {
            ["-p", "work", "2"] => &owls[3..],
            ["-p", "work", "--since", ..] => &owls[2..],
            [.., "assistant"] => &owls[1..2],
            [.., "2024-01-15T10:31:00Z"] => &owls[..3],
            _ => &owls[..],
        };
        assert_eq!(texts, wanted, "{tool} {words:?}");
    }
    let first = home.run("rsv-export", &["-q"], "").ok();
    let times: Vec<String> = lines_of(&first).iter().map(|line| text(&line["created_at"])).collect();
    let wanted = ["10:30:00.000", "10:30:15.250", "10:31:00.000", "10:31:15.000", "10:31:30.000"];
    assert_eq!(times, wanted.map(|time| format!("2024-01-15T{time}Z")));
    let stats = home.run("rsv-link", &["-q", "--stats"], "").ok();
    assert_eq!(lines_of(&stats)[0]["messages"], 5, "{stats}");
    assert_eq!(graph.texts(nodes), before, "reading changes nothing");

    // Two nodes that say the same.
    graph.run("MATCH (m:MessageNode {content: 'Owl number 1'}) CREATE (d:MessageNode) SET d = properties(m)");
    for taken_over in ["5 messages", "0 messages"] {
        let ran = home.run("rsv-link", &["--adopt", "-v"], "");
        assert_eq!((ran.status, named(&ran.stderr)), (2, UNREADABLE.len()), "{ran}");
        assert!(ran.stderr.contains(&format!("took over {taken_over}")), "{ran}");
    }
    let of_adopted = "MATCH (m:RsvMessage) RETURN toString(m.timestamp) AS text ORDER BY text";
    let millis = [1705314600000_i64, 1705314615250, 1705314660000, 1705314675000, 1705314690000];
    assert_eq!(graph.texts(of_adopted), millis.map(|ms| ms.to_string()));
    let adopted = lines_of(&home.run("rsv-export", &["-q"], "").ok());
    let messages: Vec<_> = adopted.iter().filter(|line| line["kind"] == "message").collect();
    assert!(lines_of(&first).iter().all(|line| messages.contains(&line)) && messages.len() == 5);
    let answers = adopted.iter().filter(|line| line["rel"] == "RESPONDED_WITH").count();
    assert_eq!(answers, 2);
    let model = &home.open().models().unwrap()[0];
    assert_eq!((model.name.as_str(), model.vectors), ("bge-large-en-v1.5", 5));
    assert_eq!(home.run("rsv-view", &["-q", "-p", "work", "9"], "").ok().lines().count(), 5);
    graph.run("MATCH (m:MessageNode {trace_id: 'bad'}) DELETE m");
    assert_eq!(home.contents("rsv-search", &["-p", "work", "owl"]).len(), 5);
    graph.is_read_by_reservoir();
    home.check();
}

on_graph!(many_unreadable_messages_are_counted);
fn many_unreadable_messages_are_counted(home: Home) {
    home.ingest(&[], r#"{"role":"user","content":"A readable one"}"#);
    home.graph().run("UNWIND range(1, 13) AS n CREATE (:MessageNode {trace_id: 't' + n})");
    let request = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"What is readable?"}]}"#;
    for (tool, words) in [("rsv-view", &["9"]), ("rsv-enrich", &["-v"])] {
        let ran = home.run(tool, words, request);
        assert!(ran.status == 0 && ran.stdout.contains("A readable one"), "{ran}");
        assert_eq!(ran.stderr.matches("cannot read MessageNode ").count(), 10, "{ran}");
        assert!(ran.stderr.contains("cannot read 3 other nodes of the label MessageNode"), "{ran}");
    }
    let mut proxy = crate::proxy::Proxy::start(&home);
    let mut named = 0;
    loop {
        let line = proxy.hear();
        named += usize::from(line.contains("cannot read MessageNode "));
        if line.contains("cannot read 3 other nodes") {
            break;
        }
    }
    assert_eq!(named, 10);
    assert_eq!(proxy.end(), Some(0));
}

on_graph!(a_graph_recalls_what_a_file_does);
fn a_graph_recalls_what_a_file_does(graph: Home) {
    let file = Home::new();
    let mut dice = Dice(23);
    let mut vector = || (0..8).map(|_| dice.below(201) as f32 / 100.0 - 1.0).collect::<Vec<f32>>();
    let words = |n: usize| (0..6).map(|at| format!("word{} ", (n * (at + 7)) % 31)).collect::<String>();
    let line = |n: usize, vector: Vec<f32>| {
        let mut line = serde_json::json!({"id": format!("m{n}"), "trace_id": format!("t{}", n / 2), "partition": "p",
            "instance": if n.is_multiple_of(20) { "few" } else { "many" }, "timestamp": n / 3, "seq": n % 3,
            "role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "content": words(n)});
        if !n.is_multiple_of(7) {
            line["embedding"] = vector.into();
            line["embedding_model"] = "m".into();
        }
        format!("{line}\n")
    };
    let lines: String = (0..900).map(|n| line(n, vector())).collect();
    let homes = [&graph, &file];
    for home in homes {
        home.run("rsv-import", &["--quiet"], &lines).ok();
        home.run("rsv-link", &["--quiet", "--threshold", "0.8"], "").ok();
    }
    let [mut one, mut other] = homes.map(Home::open);
    let reported = |hits: &[Hit]| -> Vec<(String, f64)> {
        hits.iter().map(|hit| (hit.record.id.clone(), hit.score)).collect()
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let is_similar =
        |(one, other): (&(String, f64), &(String, f64))| one.0 == other.0 && near(one.1, other.1);
    let question = |text: &str, numbers: &[f32]| {
        let vector = QuestionVector { model: "m".into(), numbers: numbers.to_vec(), min_similarity: 0.2 };
        Question::parse(text, Languages::ENGLISH, Some(vector), jiff::Zoned::now)
    };
    for (round, instance) in ["many", "few", "none"].into_iter().cycle().take(9).enumerate() {
        let mut which =
            Select::messages(Scopes::One(Scope { partition: "p".into(), instance: instance.into() }));
        which.roles = if round < 6 { vec![Role::User, Role::Assistant] } else { vec![Role::User] };
        let vector = vector();
        let question = question(&words(round + 3), &vector);
        let plan = Plan { candidates: 60, reach: 2, links: 10 * round };
        let ask = |store: &mut Box<dyn Store>| {
            let last = store.last_of(&which, 5).unwrap();
            let worded = store.find(&question.terms, Occur::Any, &which, 60).unwrap();
            let nearest = store.nearest("m", &vector, &which, 60).unwrap();
            let evidence = store.retrieve(&question, &which, &plan, Evidence::default()).unwrap();
            let found: Vec<&StoredRecord> = worded.iter().chain(&nearest).map(|hit| &hit.record).collect();
            let ids: Vec<&str> = found.iter().map(|record| record.id.as_str()).collect();
            let around = store.around(&found, &which, 2).unwrap();
            let count = store.count(&Select::messages(which.scopes.clone()), 1000).unwrap();
            let links = store.links(&ids, None).unwrap();
            (last, [reported(&worded), reported(&nearest)], evidence, (around, count, links.len()))
        };
        let (found, wanted) = (ask(&mut one), ask(&mut other));
        assert_eq!(found.0, wanted.0, "{round}");
        for (found, wanted) in found.1.iter().zip(&wanted.1) {
            let same = found.len() == wanted.len() && found.iter().zip(wanted).all(is_similar);
            assert!(same, "{round}: {found:?} and {wanted:?}");
        }
        assert!(instance == "none" || found.1[0].len() > 5, "{round}");
        assert_eq!(found.3, wanted.3, "{round}");
        same_evidence(&found.2, &wanted.2, &format!("{round}"));
        // A greater plan, of which a part is known already, finds what it finds alone.
        let plan = Plan { candidates: 90, links: plan.links + 20, ..plan };
        let second = one.retrieve(&question, &which, &plan, found.2).unwrap();
        let wanted = other.retrieve(&question, &which, &plan, wanted.2).unwrap();
        same_evidence(&second, &wanted, &format!("{round}, once more"));
    }
    // A new vector or message is found at once.
    let which = Select::messages(Scopes::One(Scope { partition: "p".into(), instance: "few".into() }));
    let plan = Plan { candidates: 60, reach: 2, links: 0 };
    let vector = vector();
    let question = question("word1 owl", &vector);
    for at in 0..3 {
        let unembedded = one.unembedded("m", &which, 3).unwrap().newest;
        assert!(unembedded.len() >= 2);
        let id = &unembedded[0].id;
        let numbers = [&vector[..7], &[vector[7] + 0.01 * at as f32]].concat();
        let new = Embedding { of: id.clone(), model: "m".into(), vector: numbers, extra: Object::default() };
        assert_eq!(
            one.write(&[Record::Embedding(new.clone())], WriteRules::KEEP_OUT).unwrap(),
            [WriteOutcome::New]
        );
        other.write(&[Record::Embedding(new)], WriteRules::KEEP_OUT).unwrap();
        let [found, wanted] = [&mut one, &mut other].map(|store| {
            let nearest = reported(&store.nearest("m", &vector, &which, 60).unwrap());
            (nearest, store.retrieve(&question, &which, &plan, Evidence::default()).unwrap())
        });
        let same = found.0.len() == wanted.0.len() && found.0.iter().zip(&wanted.0).all(is_similar);
        assert!(same, "{:?} and {:?}", found.0, wanted.0);
        same_evidence(&found.1, &wanted.1, "with a new vector");
        assert!(found.0.iter().any(|(found, _)| found == id));
        assert!(found.1.position(id).is_some_and(|at| found.1.candidates[at].similarity.is_some()));
    }
    let draft = Draft {
        id: Some("new".into()),
        vector: Some(Vector { model: "m".into(), numbers: vector.clone() }),
        ..Draft::message(Role::User, Content::Text("owl word1".into()))
    };
    let (partition, instance) = (Some("p".into()), Some("few".into()));
    let fill = DraftDefaults { partition, instance, trace_id: "new".into(), timestamp: 1000, seq: 0 };
    one.write(&[Record::Stored(draft.complete(&fill).unwrap())], WriteRules::KEEP_OUT).unwrap();
    let evidence = one.retrieve(&question, &which, &plan, Evidence::default()).unwrap();
    let best = |score: &dyn Fn(&Candidate) -> f64| {
        let newer = |a: &Candidate, b: &Candidate| a.record.timestamp.cmp(&b.record.timestamp);
        let worse = |a: &&Candidate, b: &&Candidate| score(a).total_cmp(&score(b)).then(newer(a, b));
        evidence.candidates.iter().max_by(worse).unwrap().record.id.clone()
    };
    assert_eq!([best(&|one| one.keyword), best(&|one| one.similarity.unwrap_or(-1.0))], ["new"; 2]);
}

/// Fails unless two stores found the same, but for the seventh digit of a cosine.
fn same_evidence(found: &Evidence, wanted: &Evidence, reported: &str) {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let by_id = |evidence: &Evidence| -> BTreeMap<String, (f64, f64, Option<f64>)> {
        let one =
            |one: &rsv::store::Candidate| (one.record.id.clone(), (one.keyword, one.share, one.similarity));
        evidence.candidates.iter().map(one).collect()
    };
    let (one, other) = (by_id(found), by_id(wanted));
    assert!(one.keys().eq(other.keys()), "{reported}: {:?} and {:?}", one.keys(), other.keys());
    for (id, (keyword, share, similarity)) in &one {
        let wanted = &other[id];
        assert!(near(*keyword, wanted.0) && near(*share, wanted.1), "{reported}: {id}");
        // A store may also give the cosine of a message that was found by its words.
        let same = similarity.zip(wanted.2).is_none_or(|(one, other)| near(one, other));
        assert!(same && similarity.is_some() == wanted.2.is_some(), "{reported}: {id}");
    }
    let adjacent = |evidence: &Evidence| -> BTreeMap<String, [Option<String>; 2]> {
        let id = |at: usize| evidence.candidates[at].record.id.clone();
        evidence
            .adjacent()
            .into_iter()
            .enumerate()
            .map(|(at, beside)| (id(at), beside.map(|at| at.map(id))))
            .collect()
    };
    assert_eq!(adjacent(found), adjacent(wanted), "{reported}");
    let linked = |evidence: &Evidence| -> usize {
        let links = |one: &Candidate| Some(evidence.links_of(&one.record.id)?.count());
        evidence.candidates.iter().filter_map(links).sum()
    };
    assert_eq!(linked(found), linked(wanted), "{reported}");
}

on_graph!(names_and_contents_are_never_read_as_statements);
fn names_and_contents_are_never_read_as_statements(home: Home) {
    let odd = "'\"`{}$n //\\ MATCH (n) DETACH DELETE n \u{202e}🦉é";
    let content = format!("{odd}\0");
    let long = "long words ".repeat(100_000);
    let mut wanted = Vec::new();
    for (at, content) in [&content, &long].into_iter().enumerate() {
        let line = serde_json::json!({"id": format!("{odd}\0{at}"), "role": "user", "content": content,
            "timestamp": at, "partition": odd, "instance": odd, "trace_id": odd, odd: {odd: odd},
            "embedding": [1, at], "embedding_model": format!("{odd}\0")});
        home.ingest(&[], &line.to_string());
        wanted.push(content.to_owned());
    }
    assert_eq!(home.contents("rsv-view", &["-p", odd, "9"]), wanted);
    assert_eq!(home.contents("rsv-search", &["-p", odd, "MATCH (n) DETACH"]), [content.as_str()]);
    assert_eq!(home.contents("rsv-search", &["-p", odd, "--", "🦉"]), [content.as_str()]);
    assert_eq!(home.contents("rsv-search", &["-p", odd, "ong wor"]).len(), 1);
    let ends = [0, 1].map(|at| format!("{odd}\0{at}"));
    let link = |rel: &str| {
        let link = serde_json::json!({"rel": rel, "from": ends[0], "to": ends[1], "model": odd, "score": 0.5, odd: odd});
        home.run("rsv-import", &[], link.to_string())
    };
    link("ODD").ok();
    for rel in ["X]->() DETACH DELETE n //", "X`", "x", ""] {
        assert!(link(rel).trouble().contains("rel: "), "{rel}");
    }
    home.run("rsv-link", &["--quiet"], "").ok();
    let models = home.open().models().unwrap();
    assert_eq!((models[0].name.clone(), models[0].vectors), (format!("{odd}\0"), 2));
    let copy = Home::new();
    copy.run("rsv-import", &[], home.export()).ok();
    assert_eq!(copy.export(), home.export());
    let name = "n".repeat(3000);
    let line = serde_json::json!({"role": "user", "content": "x", "partition": name, "instance": "i",
        "trace_id": "t", "timestamp": 1})
    .to_string();
    let said = home.run("rsv-import", &[], &line).trouble();
    assert!(said.contains("partition: is longer than 2000 bytes"), "{said}");
}

on_graph!(eight_concurrent_writers_leave_one_graph);
fn eight_concurrent_writers_leave_one_graph(home: Home) {
    let lines = |writer: usize| -> String {
        let turn = |n: usize| {
            // Every second turn is of all writers alike.
            let who = if n.is_multiple_of(2) { "all".to_owned() } else { writer.to_string() };
            let vector = [1.0, n as f32];
            let line = |role: &str, at: usize| {
                serde_json::json!({"id": format!("{who}-{n}-{role}"), "trace_id": format!("{who}-{n}"),
                    "partition": "p", "instance": "p", "role": role, "content": format!("{role} {n} of {who}"), "timestamp": 2 * n + at,
                    "embedding": vector, "embedding_model": "tiny"})
            };
            let link = serde_json::json!({"rel": "RESPONDED_WITH", "from": format!("{who}-{n}-user"),
                "to": format!("{who}-{n}-assistant"), "timestamp": 2 * n});
            format!("{}\n{}\n{link}\n", line("user", 0), line("assistant", 1))
        };
        (0..20).map(turn).collect()
    };
    std::thread::scope(|threads| {
        for writer in 0..8 {
            let home = &home;
            threads.spawn(move || home.run("rsv-import", &["--quiet"], lines(writer)).ok());
        }
    });
    let mut store = home.open();
    let messages = 2 * (10 + 8 * 10);
    assert_eq!(store.scopes(None).unwrap()[0].1, messages);
    assert_eq!(store.models().unwrap()[0].vectors, messages);
    let links = lines_of(&home.export()).iter().filter(|line| line["kind"] == "link").count() as u64;
    assert_eq!(links, messages / 2);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| home.run("rsv-link", &["--quiet", "--threshold", "0.9"], "").ok());
        }
    });
    home.check();
}

on_graph!(neo4j_failures_are_reported_within_their_timeouts);
fn neo4j_failures_are_reported_within_their_timeouts(home: Home) {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("bolt://{}", silent.local_addr().unwrap());
    let closed = "bolt://127.0.0.1:1";
    let own = home.graph().address.clone();
    let secure = own.replacen("bolt", "bolt+s", 1);
    for (name, value, cause, hint) in [
        (
            "NEO4J_PASSWORD",
            "hush",
            "the server rejects the user neo4j or the password",
            "set NEO4J_USERNAME and NEO4J_PASSWORD",
        ),
        ("NEO4J_DATABASE", "nowhere", "there is no database nowhere", "NEO4J_DATABASE"),
        ("RSV_STORE", closed, "connection refused", "is Neo4j running there?"),
        ("RSV_STORE", &silent, "no connection within 1 s", "is Neo4j running there?"),
        ("RSV_STORE", &secure, "the server closed the connection", "with +s for a server with TLS"),
    ] {
        let home = home.env("NEO4J_CONNECTION_TIMEOUT", "1s").env(name, value);
        for (tool, words) in [("rsv-view", &["3"][..]), ("rsv-ingest", &["a text"])] {
            let said = home.run(tool, words, "").trouble();
            assert!(said.contains(cause) && said.contains(hint), "{name}={value}: {said}");
            assert!(!said.contains("hush"), "{said}");
        }
    }
    let password = "bolt://neo4j:hush@127.0.0.1";
    assert!(!home.run("rsv-view", &["--store", password, "3"], "").trouble().contains("hush"));
    // An address in the environment alone chooses nothing.
    assert_eq!(Home::new().env("NEO4J_URI", closed).run("rsv-view", &["3"], "").ok(), "");
    // One server is asked, whatever the scheme.
    let routed = home.env("RSV_STORE", &own.replacen("bolt", "neo4j", 1));
    assert_eq!(routed.run("rsv-view", &["3"], "").ok(), "");
    let by_name = home.env("RSV_STORE", "neo4j").env("NEO4J_URI", &own);
    assert_eq!(by_name.run("rsv-view", &["3"], "").ok(), "");
}

/// 10 000 more messages with vectors in the scope `many`, written and counted as rsv does it.
const MANY: &str =
    "MATCH (store:RsvStore), (c:RsvCollection {partition: 'many'}), (v:RsvVectorCount {partition: 'many'}), (m:RsvModel)
    WITH store, c, v, m, store.n AS first, c.n AS collection
    SET store.n = first + 20000, c.documents = c.documents + 10000, c.words = c.words + 30000,
      v.vectors = v.vectors + 10000, m.vectors = m.vectors + 10000
    FOREACH (stem IN ['the', 'owl'] | MERGE (w:RsvWord {stem: stem, collection: collection})
      SET w.documents = coalesce(w.documents, 0) + 10000)
    WITH first, collection UNWIND range(1, 10000) AS i
    CREATE (:MessageNode:RsvMessage:RsvRecord {rsv_id: toString(first + i), n: first + i, trace_id: 't', partition: 'many',
        instance: 'many', role: 'user', content: 'The owl ' + i, timestamp: i, seq: 0,
        words: '@' + collection + ' _owl _the owl the ' + i})
      -[:HAS_EMBEDDING]->(:RsvVector:RsvVector{model}:Embedding4 {n: first + 10000 + i, model: 'm',
        partition: 'many', instance: 'many', timestamp: i, embedding: [1.0, rand(), rand(), rand()]})";

on_graph!(three_records_among_very_many_are_found);
fn three_records_among_very_many_are_found(home: Home) {
    let line = |partition: &str, n: i32, first: f32| {
        let message = serde_json::json!({"id": format!("{partition}-{n}"), "partition": partition, "instance": partition,
            "trace_id": "t", "role": "user", "content": "One owl in a wood", "timestamp": n,
            "embedding": [first, 0.5, 0.5, 0.1 * n as f32], "embedding_model": "m"});
        format!("{message}\n")
    };
    let lines: String = (1..=3).map(|n| line("few", n, -1.0)).collect();
    home.run("rsv-import", &[], lines + &line("many", 1, 1.0)).ok();
    let model = home.graph().texts("MATCH (m:RsvModel) RETURN toString(m.n) AS text").remove(0);
    for _ in 0..number_from("RSV_TEST_ROWS").unwrap_or(20_000) / 10_000 {
        home.graph().run(&MANY.replace("{model}", &model));
    }
    home.check();
    let mut store = home.open();
    let few = Select::messages(Scopes::One(Scope { partition: "few".into(), instance: "few".into() }));
    let ids = |hits: Vec<Hit>| hits.into_iter().map(|hit| hit.record.id).collect::<Vec<_>>();
    // All others are nearer.
    let nearest = store.nearest("m", &[1.0, 0.5, 0.5, 0.5], &few, 10).unwrap();
    assert_eq!(ids(nearest), ["few-3", "few-2", "few-1"]);
    for occur in [Occur::All, Occur::Any] {
        let found = store.find(&Term::content("the owl", Languages::ENGLISH), occur, &few, 10).unwrap();
        assert_eq!(ids(found).len(), if occur == Occur::All { 0 } else { 3 });
    }
    let many = Select::messages(Scopes::Partition("many".into()));
    let nearest = store.nearest("m", &[1.0, 0.5, 0.5, 0.5], &many, 10).unwrap();
    assert!(nearest.len() == 10 && nearest[9].score > 0.99, "{nearest:?}");
    assert_eq!(store.last_of(&few, 10).unwrap().len(), 3);
}

on_graph!(a_graph_of_another_version_is_refused_and_left_as_it_is);
fn a_graph_of_another_version_is_refused_and_left_as_it_is(home: Home) {
    home.run("rsv-ingest", &["Two owls painted a city"], "").ok();
    let version = "MATCH (s:RsvStore) RETURN toString(s.version) AS text";
    let read = home.graph().texts(version).remove(0);
    let content = || {
        home.graph().texts(
            "MATCH (n) WITH labels(n) AS labels, count(n) AS count
         RETURN toString(count) + labels[0] AS text ORDER BY text",
        )
    };
    let before = content();
    for other in [1, 77] {
        home.graph().run(&format!("MATCH (s:RsvStore) SET s.version = {other}"));
        let stderr = home.run("rsv-ingest", &["An owl"], "").trouble();
        let wanted = format!("is of another version of rsv ({other}; this one reads {read})");
        assert!(stderr.contains(&wanted), "{stderr}");
        let hint = "export it with the version that made it, then import the export: rsv-export > FILE, rsv-import FILE";
        assert!(stderr.contains(hint), "{stderr}");
        assert_eq!((content(), home.graph().texts(version)), (before.clone(), vec![other.to_string()]));
    }
    home.graph().run(&format!("MATCH (s:RsvStore) SET s.version = {read}"));
    home.check();
    assert_eq!(home.contents("rsv-search", &["--all", "owl"]).len(), 1);
}

on_graph!(the_neo4j_index_finds_what_a_scan_finds);
fn the_neo4j_index_finds_what_a_scan_finds(graph: Home) {
    let file = Home::new();
    let homes = [&graph, &file];
    let mut dice = Dice(11);
    let mut vector = || (0..12).map(|_| dice.below(2001) as f32 / 1000.0 - 1.0).collect::<Vec<f32>>();
    let mut lines = |from: usize, count: usize| -> String {
        let line = |n: usize, vector: Vec<f32>| {
            serde_json::json!({"id": format!("m{n}"), "partition": "p", "instance": if n.is_multiple_of(10) { "few" } else { "many" },
                "trace_id": "t", "role": "user", "content": format!("said {n}"), "timestamp": n,
                "embedding": vector, "embedding_model": "m"})
        };
        (from..from + count).map(|n| format!("{}\n", line(n, vector()))).collect()
    };
    let (old, new) = (lines(0, 4000), lines(4000, 40));
    for home in homes {
        home.run("rsv-import", &["--quiet"], &old).ok();
        home.run("rsv-link", &["--quiet", "--threshold", "0.75"], "").ok();
        home.run("rsv-import", &["--quiet"], &new).ok();
        // Few are new, and many are there: the index is asked.
        home.run("rsv-link", &["--quiet", "--threshold", "0.75"], "").ok();
    }
    assert!(graph.export() == file.export(), "the synapses differ");
    let [mut one, mut other] = homes.map(Home::open);
    for _ in 0..20 {
        let question: Vec<f32> = (0..12).map(|_| dice.below(2001) as f32 / 1000.0 - 1.0).collect();
        for scopes in [Scopes::All, Scopes::One(Scope { partition: "p".into(), instance: "many".into() })] {
            let which = Select::messages(scopes);
            let nearest = |store: &mut Box<dyn Store>| store.nearest("m", &question, &which, 20).unwrap();
            let (found, wanted) = (nearest(&mut one), nearest(&mut other));
            let same = |(a, b): (&Hit, &Hit)| a.record.id == b.record.id && (a.score - b.score).abs() < 1e-6;
            let all = found.len() == wanted.len() && found.iter().zip(&wanted).all(same);
            assert!(all, "{found:?}\n{wanted:?}");
        }
    }
}

on_graph!(the_best_of_many_by_their_words_are_those_that_a_file_finds);
fn the_best_of_many_by_their_words_are_those_that_a_file_finds(graph: Home) {
    let file = Home::new();
    let mut dice = Dice(5);
    let mut said = |count: usize| -> String {
        // Few words are in most messages, and most in few.
        let mut word = || {
            let most = 1 + dice.below(300);
            format!("word{}", letters(dice.below(most)))
        };
        (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
    };
    let line = |n: usize, text: String| {
        let instance = if n.is_multiple_of(2) { "half".to_owned() } else { format!("i{}", n % 240) };
        let role = if n % 4 < 2 { "user" } else { "assistant" };
        serde_json::json!({"id": format!("m{n}"), "partition": "p", "instance": instance, "trace_id": "t", "role": role,
            "content": text, "timestamp": n / 3})
    };
    let lines: String = (0..5000).map(|n| format!("{}\n", line(n, said(4 + n % 29)))).collect();
    let mut stores = [&graph, &file].map(|home| {
        home.run("rsv-import", &["--quiet"], &lines).ok();
        home.open()
    });
    let half = Scopes::One(Scope { partition: "p".into(), instance: "half".into() });
    // Of more instances than are named to the index.
    let partition = Scopes::Partition("p".into());
    let few = Scopes::One(Scope { partition: "p".into(), instance: "i7".into() });
    for round in 0..20 {
        let question = said(1 + round % 15);
        for scopes in [Scopes::All, partition.clone(), half.clone(), few.clone()] {
            let roles = if round % 3 == 0 { vec![Role::Assistant] } else { Vec::new() };
            let since = (round % 5 == 0).then_some(1600);
            let which = Select { roles, since, ..Select::messages(scopes) };
            for (occur, limit) in [(Occur::Any, 60), (Occur::Any, 5 + 3 * round), (Occur::All, 20)] {
                let [found, wanted] = stores.each_mut().map(|store| {
                    let hits = store
                        .find(&Term::content(&question, Languages::ENGLISH), occur, &which, limit)
                        .unwrap();
                    hits.into_iter().map(|hit| (hit.record.id, (hit.score * 1e9).round())).collect::<Vec<_>>()
                });
                assert_eq!(found, wanted, "{question} {which:?} {occur:?} {limit}");
            }
        }
    }
}

/// A number in letters.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// Conditions that must not occur in the graph.
const WRONG: [(&str, &str); 9] = [
    (
        "collections count their records",
        "MATCH (c:RsvCollection) WHERE c.documents <> CASE c.kind
           WHEN 'message' THEN COUNT { (m:MessageNode:RsvRecord
             WHERE m.partition = c.partition AND m.instance = c.instance) }
           WHEN 'account' THEN COUNT { (m:RsvAccount
             WHERE m.partition = c.partition AND m.instance = c.instance) }
           ELSE c.documents END RETURN c.partition AS text",
    ),
    (
        "no word is counted that no record holds",
        "MATCH (w:RsvWord) WHERE w.documents <= 0 RETURN w.stem AS text",
    ),
    (
        "words count their records",
        "MATCH (m:RsvRecord) WHERE m.words IS NOT NULL WITH split(m.words, ' ') AS all
         WITH all, toInteger(substring(head([word IN all WHERE word STARTS WITH '@']), 1)) AS collection
         UNWIND [word IN all WHERE word STARTS WITH '_' AND NOT substring(word, 1) CONTAINS '_'] AS word
         WITH collection, substring(word, 1) AS stem, count(*) AS count
         OPTIONAL MATCH (w:RsvWord {stem: stem, collection: collection})
         WITH stem, count, w WHERE coalesce(w.documents, 0) <> count RETURN stem AS text",
    ),
    (
        "models count their vectors",
        "MATCH (m:RsvModel) WHERE m.vectors <> COUNT { (e:RsvVector WHERE e.model = m.name) } RETURN m.name AS text",
    ),
    (
        "collections count their vectors",
        "MATCH (m:RsvModel), (s:RsvVectorCount {model: m.n, kind: 'message'}) WHERE s.vectors <> COUNT {
           (:MessageNode)-[:HAS_EMBEDDING]->(e:RsvVector WHERE e.model = m.name
             AND e.partition = s.partition AND e.instance = s.instance) } RETURN m.name AS text",
    ),
    (
        "a question has one answer",
        "MATCH (a)-[l:RESPONDED_WITH]->(b) WHERE COUNT { (a)-[:RESPONDED_WITH]->() } > 1
           OR COUNT { ()-[:RESPONDED_WITH]->(b) } > 1 RETURN a.rsv_id AS text",
    ),
    (
        "two messages have one synapse",
        "MATCH (a)-[l:SYNAPSE]->(b) WITH a, b, count(l) AS count WHERE count > 1 RETURN a.rsv_id AS text",
    ),
    (
        "messages hold the vectors of one model, or of Reservoir",
        "MATCH (s:RsvStore) WHERE s.message_model IS NOT NULL OPTIONAL MATCH (model:RsvModel {n: s.message_model})
         MATCH (m:RsvMessage) OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name})
         OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(own) WHERE NOT own:RsvVector
         WITH m, coalesce(e.embedding, own.embedding, []) AS vector
         WHERE any(at IN range(0, size(vector)) WHERE coalesce(m.embedding[at] <> vector[at], false))
           OR size(m.embedding) <> size(vector) RETURN m.rsv_id AS text",
    ),
    (
        "messages that hold no vectors hold none",
        "MATCH (s:RsvStore) WHERE s.message_model IS NULL MATCH (m:RsvMessage) WHERE m.embedding <> []
         AND NOT EXISTS { (m)-[:HAS_EMBEDDING]->(own) WHERE NOT own:RsvVector } RETURN m.rsv_id AS text",
    ),
];
