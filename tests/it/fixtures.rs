//! The stores and exports of releases, as scripts/fixtures made them, are opened for ever: nothing of them is lost, and
//! all that is new can be written into them.

use crate::import_kills::kill;
use crate::support::{Dice, Home, is_test_process, lines_of, number_from, on_each_store, on_graph};
use flate2::read::GzDecoder;
use neo4rs::{BoltList, BoltMap, BoltNull, BoltString, BoltType};
use rsv::record::id_digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The directories of the fixtures, the oldest first.
pub(crate) fn releases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut releases: Vec<PathBuf> = { directory.read_dir().unwrap() }
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("export.jsonl").exists())
        .collect();
    releases.sort();
    assert!(!releases.is_empty());
    releases
}

pub(crate) fn export_of(release: &Path) -> String {
    std::fs::read_to_string(release.join("export.jsonl")).unwrap()
}

/// A home with the store of a release.
pub(crate) fn home_of(release: &Path) -> Home {
    let mut store = Vec::new();
    GzDecoder::new(File::open(release.join("store.db.gz")).unwrap()).read_to_end(&mut store).unwrap();
    let home = Home::new();
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    std::fs::write(home.store(), store).unwrap();
    std::fs::set_permissions(home.store(), std::fs::Permissions::from_mode(0o600)).unwrap();
    home
}

/// Fails unless a store has all of a release, answers questions, and takes what is new.
fn assert_whole(home: &Home, release: &Path) {
    let there = home.export();
    assert_eq!(there, export_of(release), "{}", release.display());
    assert_eq!(home.contents("rsv-search", &["-p", "garden", "wall"]).len(), 2);
    assert_eq!(
        home.contents("rsv-search", &["-p", "garden", "--kind", "document", "April"]),
        ["Sow tomatoes in April."]
    );
    assert_eq!(home.contents("rsv-search", &["-p", "garden", "北の柵"]).len(), 1);
    assert_eq!(home.contents("rsv-search", &["-p", "rows", "\"row 77 of\""]), ["Row 77 of the beans"]);
    assert_eq!(home.contents("rsv-search", &["-p", "rows", "-n", "999", "row"]).len(), 259);
    let short = &id_digest("m1")[..7];
    assert_eq!(home.contents("rsv-view", &["--id", short]).len(), 1);
    let memories =
        lines_of(&home.run("rsv-view", &["--kind", "memory", "-p", "garden", "-i", "garden"], "").ok());
    let consolidated = memories.iter().find(|memory| memory["id"] == "y3").unwrap();
    assert!(consolidated["usage_count"].as_u64() > Some(3), "{consolidated}");
    home.run("rsv-signal", &["-q", "-p", "garden", "--helpful", "y3"], "").ok();
    assert!(home.run("rsv-signal", &["--rebuild"], "").stderr.contains("were right"));
    home.run("rsv-signal", &["-q", "-p", "garden", "--never", short], "").ok();
    assert_eq!(lines_of(&home.run("rsv-view", &["--of", short], "").ok())[0]["recall"], "never");
    home.ingest(&["-p", "garden"], "Owls sleep in the warm wall.");
    assert_eq!(home.contents("rsv-search", &["-p", "garden", "wall"]).len(), 3);
    // Forgotten records stay out.
    let gone =
        lines_of(&there).into_iter().find(|line| line["kind"] == "tombstone" && line["state"] == "forgotten");
    assert!(gone.is_some());
    let forgotten = r#"{"kind":"message","id":"m8","trace_id":"t4","partition":"garden","instance":"beans","role":"user","content":"This was said by mistake","timestamp":1767225800000}"#;
    let ran = home.run("rsv-import", &[], forgotten);
    assert!(ran.stderr.contains("1 record was forgotten and is kept out"), "{ran}");
    home.check();
}

/// Keeps: Stores and exports of earlier releases are read.
#[test]
fn the_store_of_every_release_is_opened_with_all_that_is_in_it() {
    for release in releases() {
        assert_whole(&home_of(&release), &release);
    }
}

#[test]
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_migration_that_is_killed_is_completed_by_the_next_opening() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(71);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    for release in releases() {
        let begin = Instant::now();
        home_of(&release).run("rsv-view", &["--all", "1"], "").ok();
        let whole = begin.elapsed();
        for _ in 0..number_from("RSV_TEST_KILLS").unwrap_or(6) {
            let home = home_of(&release);
            kill(&home, "rsv-view", &["--all", "1"], whole, &mut dice);
            assert_eq!(home.export(), export_of(&release), "{}", release.display());
            home.check();
        }
    }
}

on_each_store!(the_export_of_every_release_is_imported_and_comes_out_byte_for_byte);
/// Keeps: Stores and exports of earlier releases are read.
fn the_export_of_every_release_is_imported_and_comes_out_byte_for_byte(home: Home) {
    for release in releases() {
        let home = home.emptied();
        home.run("rsv-import", &["-q"], export_of(&release)).ok();
        assert_whole(&home, &release);
        // All kinds are in it.
        let lines = lines_of(&export_of(&release));
        for kind in ["message", "account", "memory", "signal", "document", "embedding", "link", "tombstone"] {
            assert!(lines.iter().any(|line| line["kind"] == kind), "{kind}");
        }
    }
}

/// A node, or a relationship of a graph.
#[derive(Serialize, Deserialize)]
struct Part {
    /// Its own, or those of its ends.
    ids: Vec<String>,
    /// Its labels, or its type.
    labels: Vec<String>,
    properties: Map<String, Value>,
}

const NODES: &str =
    "MATCH (n) RETURN [elementId(n)] AS ids, labels(n) AS labels, properties(n) AS properties ORDER BY ids";
const RELATIONSHIPS: &str =
    "MATCH (a)-[r]->(b) RETURN [elementId(a), elementId(b)] AS ids, [type(r)] AS labels,
    properties(r) AS properties ORDER BY labels, ids";

/// Writes the graph of an export, for scripts/fixtures.
#[test]
#[ignore = "scripts/fixtures runs it"]
fn write_the_graph() {
    let directory = PathBuf::from(std::env::var("RSV_FIXTURES").unwrap());
    let home = Home::in_graph().unwrap().at("2026-01-04T00:00:00Z");
    home.run("rsv-import", &["-q"], export_of(&directory)).ok();
    let mut lines = String::new();
    for statement in [NODES, RELATIONSHIPS] {
        for part in home.graph().rows::<Part>(statement) {
            lines += &(serde_json::to_string(&part).unwrap() + "\n");
        }
    }
    std::fs::write(directory.join("graph.jsonl"), lines).unwrap();
    assert!(!is_test_process());
}

/// A value as the driver takes it.
fn bolt(value: &Value) -> BoltType {
    match value {
        Value::Null => BoltType::Null(BoltNull),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => BoltType::List(BoltList { value: values.iter().map(bolt).collect() }),
        Value::Object(members) => map(members),
    }
}

fn map(members: &Map<String, Value>) -> BoltType {
    let mut map = BoltMap::default();
    for (name, value) in members {
        map.put(BoltString::from(name.as_str()), bolt(value));
    }
    BoltType::Map(map)
}

/// Writes the graph of a release into an empty one; returns whether there is one.
pub(crate) fn load_graph(home: &Home, release: &Path) -> bool {
    let Ok(graph) = std::fs::read_to_string(release.join("graph.jsonl")) else { return false };
    for part in graph.lines().map(|line| serde_json::from_str::<Part>(line).unwrap()) {
        let labels = part.labels.join("`:`");
        let mut row = part.properties;
        let statement = match &part.ids[..] {
            [id] => {
                row.insert("fixture_id".to_owned(), id.as_str().into());
                format!("CREATE (n:`{labels}`) SET n = $row")
            }
            [from, to] => format!(
                "MATCH (a {{fixture_id: '{from}'}}), (b {{fixture_id: '{to}'}})
                 CREATE (a)-[r:`{labels}`]->(b) SET r = $row"
            ),
            ids => panic!("{ids:?}"),
        };
        home.graph().run_with(&statement, map(&row));
    }
    home.graph().run("MATCH (n) REMOVE n.fixture_id");
    true
}

on_graph!(the_graph_of_every_release_is_opened_with_all_that_is_in_it);
fn the_graph_of_every_release_is_opened_with_all_that_is_in_it(home: Home) {
    for release in releases() {
        let home = home.emptied();
        if load_graph(&home, &release) {
            assert_whole(&home, &release);
        }
    }
}
