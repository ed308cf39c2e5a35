//! The Neo4j server of the tests, and its one graph, which one test after the other has for itself. Where
//! `RSV_TEST_NEO4J` does not say where the server is, these tests are left out; scripts/test starts one.

use neo4rs::{ConfigBuilder, Graph as Driver, query};
use rsv::config::{Secret, Server, StorePlace};
use std::sync::{Arc, LazyLock};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The graph, empty at first, as long as this is kept.
pub(crate) struct Graph {
    address: String,
    password: String,
    driver: Driver,
    runtime: Runtime,
    _turn: OwnedMutexGuard<()>,
}

impl Graph {
    /// Waits for its turn; `None` where there is no server.
    pub(crate) fn empty() -> Option<Graph> {
        static TURN: LazyLock<Arc<Mutex<()>>> = LazyLock::new(Arc::default);
        let address = std::env::var("RSV_TEST_NEO4J").ok()?;
        let password = std::env::var("RSV_TEST_NEO4J_PASSWORD").unwrap_or_default();
        let turn = TURN.clone().blocking_lock_owned();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let config = ConfigBuilder::default().uri(&address).user("neo4j").password(&password);
        let driver = runtime.block_on(async { Driver::connect(config.build().unwrap()).unwrap() });
        let graph = Graph { address, password, driver, runtime, _turn: turn };
        graph.run("MATCH (n) DETACH DELETE n");
        for name in graph.texts("SHOW VECTOR INDEXES YIELD name RETURN name AS text") {
            graph.run(&format!("DROP INDEX {name}"));
        }
        Some(graph)
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

    /// Where it is.
    pub(crate) fn place(&self) -> StorePlace {
        let server = Server { password: Secret::new(self.password.as_str()), ..Server::default() };
        StorePlace { address: self.address.clone(), server }
    }

    /// What makes it the store of a tool.
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

/// What must not be there.
const WRONG: [(&str, &str); 5] = [
    (
        "scopes count their messages",
        "MATCH (s:RsvScope) WHERE s.messages <> COUNT { (m:MessageNode:RsvRecord
           WHERE m.partition = s.partition AND m.instance = s.instance) } RETURN s.partition AS text",
    ),
    (
        "models count their vectors",
        "MATCH (m:RsvModel) WHERE m.vectors <> COUNT { (e:RsvVector WHERE e.model = m.name) } RETURN m.name AS text",
    ),
    (
        "spaces count their vectors",
        "MATCH (m:RsvModel), (s:RsvSpace {model: m.n}) WHERE s.vectors <> COUNT {
           (:MessageNode)-[:HAS_EMBEDDING]->(e:RsvVector WHERE e.model = m.name
             AND e.partition = s.partition AND e.instance = s.instance) } RETURN m.name AS text",
    ),
    (
        "a question has one answer",
        "MATCH (a)-[l:RESPONDED_WITH]->(b) WHERE COUNT { (a)-[:RESPONDED_WITH]->() } > 1
           OR COUNT { ()-[:RESPONDED_WITH]->(b) } > 1 RETURN a.id AS text",
    ),
    (
        "two messages have one synapse",
        "MATCH (a)-[l:SYNAPSE]->(b) WITH a, b, count(l) AS count WHERE count > 1 RETURN a.id AS text",
    ),
];
