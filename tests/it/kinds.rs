//! A kind of records that nothing in rsv knows of, from its lines through everything to its lines again.

use crate::neo4j::{READ_BY_RESERVOIR, RESERVOIRS};
use crate::support::{Home, is_test_process, on_each_store, on_graph, remove};
use jiff::tz::TimeZone;
use rsv::backfill;
use rsv::cli::{Common, Diagnostics, Layout};
use rsv::config::{self, Settings, StoreLocation};
use rsv::embed::{Embedder, Workload};
use rsv::error::{Error, Result};
use rsv::ingest::{Gathered, Ingest, Options};
use rsv::lines::Feed;
use rsv::link::synapse;
use rsv::record::{
    Clock, DOCUMENT, Draft, Hit, MEMORY, MESSAGE, Object, Record, RecordKind, Scope, Scopes, StoredRecord,
    TextSource, VectorFormat, kind_named, kinds, quote, register, timestamp, write_time,
};
use rsv::search::{self, By};
use rsv::store::{self, OpenMode, Select, Store, Walk, WriteOutcome};
use rsv::text::{Occur, Term};
use rsv::view;
use std::borrow::Borrow;
use std::io::Cursor;
use std::ops::ControlFlow;

/// Something that somebody noted, under a title.
static NOTE: RecordKind = RecordKind {
    name: "note",
    label: "NoteNode",
    traced: false,
    read: read_note,
    write: write_note,
    lookup_key: Some("title"),
    indexed: TextSource::Composed(whole_text),
    embedded: TextSource::Composed(whole_text),
    heading: |note| format!("note {}", title(note)),
    ..RecordKind::PLAIN
};

fn read_note(mut line: Object) -> Result<Draft> {
    let text = line.text("content")?.ok_or_else(|| Error::new("content: is missing"))?;
    line.text("title")?.ok_or_else(|| Error::new("title: is missing"))?;
    let draft = Draft {
        id: line.text("id")?,
        partition: line.text("partition")?,
        instance: line.text("instance")?,
        timestamp: timestamp(&line)?,
        ..Draft::new(&NOTE, text)
    };
    let known = ["kind", "id", "partition", "instance", "content", "timestamp", "created_at"];
    line.retain(|name| !known.contains(&name));
    Ok(Draft { members: line, ..draft })
}

fn write_note(note: &StoredRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"content\":{}", quote(&note.text)).as_bytes());
    write_time(note.timestamp, out);
    note.members.write_members(out);
}

fn title(note: &StoredRecord) -> String {
    note.members.text("title").ok().flatten().unwrap_or_default()
}

fn whole_text(note: &StoredRecord) -> String {
    format!("{}\n\n{}", title(note), note.text)
}

/// Messages and notes about the same things. The last note has neither an id nor a time.
const LINES: &str = r#"{"kind":"note","id":"n1","title":"Moss","content":"It grows on the north side of the wall.","partition":"p","instance":"p","timestamp":1000,"zeta":1.0,"a":{"big":12345678901234567890123}}
{"role":"user","content":"Why is there moss on the wall?","trace_id":"t","partition":"p","instance":"p","timestamp":1000,"id":"m1"}
{"role":"assistant","content":"The north side of a wall stays wet, and moss likes that.","trace_id":"t","partition":"p","instance":"p","timestamp":2000,"id":"m2"}
{"kind":"note","id":"n2","title":"Rent","content":"Due on the first of each month, by bank transfer.","partition":"p","instance":"p","timestamp":3000}
{"kind":"note","id":"n3","title":"Walls","content":"The garden wall is of stone, wet in winter, and older than the house.","partition":"p","instance":"p","timestamp":4000,"record":"mine"}
{"role":"user","content":"Remind me of the rent.","trace_id":"u","partition":"p","instance":"p","timestamp":5000,"id":"m3"}
{"kind":"note","id":"n4","title":"Moss","content":"Elsewhere.","partition":"q","instance":"q","timestamp":6000}
{"kind":"note","title":"Tea","content":"Green, at eighty degrees.","partition":"p","instance":"p"}
"#;

on_each_store!(a_new_kind_passes_through_every_tool);
/// Keeps: A new kind of record is one row of a table.
fn a_new_kind_passes_through_every_tool(home: Home) {
    let home = home.and_model();
    let ran = home.test_process("kinds::notes_go_through_everything").output().unwrap();
    let reported = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && reported.contains("1 passed"), "{reported}");
    home.check();
}

#[test]
#[ignore = "a process of its own, in which the kind is registered: another test starts it"]
fn notes_go_through_everything() {
    if !is_test_process() {
        return;
    }
    register(&NOTE);
    register(&NOTE);
    assert_eq!((kind_named("note"), kinds().len()), (Some(&NOTE), 9));
    let settings = config::load(&Common::default()).unwrap();
    let open = || store::open(&settings.store().unwrap(), OpenMode::Create).unwrap();
    let mut store = open();
    they_are_stored_and_passed_on(&mut *store);
    they_are_found_by_their_words(&mut *store);
    they_are_found_by_their_meaning(&mut *store, &settings);
    they_are_linked_among_themselves(&mut *store, &settings);
    they_are_shown(&mut *open());
    they_go_from_store_to_store(&mut *open());
    they_are_removed(&mut *open());
}

on_graph!(new_kinds_leave_reservoirs_graph_unchanged);
fn new_kinds_leave_reservoirs_graph_unchanged(home: Home) {
    let graph = home.graph();
    for statement in RESERVOIRS {
        graph.run(statement);
    }
    let (before, foreign) = (graph.texts(READ_BY_RESERVOIR), graph.texts(NOT_OURS));
    let ran = home.test_process("kinds::notes_are_stored_beside_reservoirs_graph").output().unwrap();
    let reported = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && reported.contains("1 passed"), "{reported}");
    assert_eq!((graph.texts(READ_BY_RESERVOIR), graph.texts(NOT_OURS)), (before, foreign));
    assert_eq!(home.contents("rsv-search", &["-p", "work", "owl"]).len(), 6);
    home.check();
}

#[test]
#[ignore = "a process of its own, in which the kind is registered: another test starts it"]
fn notes_are_stored_beside_reservoirs_graph() {
    if !is_test_process() {
        return;
    }
    register(&NOTE);
    let settings = config::load(&Common::default()).unwrap();
    let mut store = store::open(&settings.store().unwrap(), OpenMode::Create).unwrap();
    let owls = Select::messages(Scopes::Partition("work".into()));
    let seen = |store: &mut dyn Store| {
        let found = store.find(&Term::parse("owl"), Occur::All, &owls, 20).unwrap().len();
        (found, store.count(&owls, 100).unwrap(), store.last_of(&owls, 100).unwrap().len())
    };
    assert_eq!(seen(&mut *store), (6, 6, 6));
    // More notes and accounts than there are messages of anybody.
    let notes: String = (0..20)
        .map(|n| {
            format!(
                "{{\"kind\":\"note\",\"id\":\"w{n}\",\"title\":\"Owls\",\"content\":\"Owl {n}\",\"partition\":\"work\",\
                 \"instance\":\"work\",\"timestamp\":{n}}}\n{{\"kind\":\"account\",\"id\":\"a{n}\",\"trace_id\":\"t\",\
                 \"partition\":\"work\",\"instance\":\"work\",\"timestamp\":{n}}}\n"
            )
        })
        .collect();
    assert_eq!(ingest(&mut *store, Options::default(), &notes).1, 40);
    assert_eq!(seen(&mut *store), (6, 6, 6));
    assert_eq!(remove(&mut *store, &["w0", "w1", "a0"]), 3);
    assert_eq!(seen(&mut *store), (6, 6, 6));
    // rsv does not remove records that it has not adopted.
    let ids: Vec<String> = store.last_of(&owls, 1).unwrap().into_iter().map(|owl| owl.id).collect();
    assert_eq!(remove(&mut *store, &[&ids[0]]), 0);
    assert_eq!(seen(&mut *store), (6, 6, 6));
}

/// How many nodes there are that rsv did not write.
const NOT_OURS: &str = "MATCH (n) WHERE NOT any(label IN labels(n) WHERE label STARTS WITH 'Rsv')
                        RETURN toString(count(n)) AS text";

/// Ingests lines: what is passed on, and how many records were new.
fn ingest(store: &mut dyn Store, options: Options, lines: &str) -> (Vec<String>, usize) {
    let mut ingest = Ingest::new(options, Clock::fixed(7000));
    let sources = vec![("lines".to_owned(), Cursor::new(lines.to_owned().into_bytes()))];
    let mut feed = Feed::lines(sources, 1 << 20, ingest.redaction()).unwrap();
    let (mut passed_on, mut new) = (Vec::new(), 0);
    loop {
        let gathered = ingest.gather(&mut feed, &mut |line| {
            line.unwrap();
            ControlFlow::Continue(())
        });
        for done in ingest.commit(store).unwrap() {
            assert_eq!(done.note, None);
            passed_on.push(String::from_utf8(done.line.unwrap()).unwrap());
            new += done.counts.new;
        }
        if gathered == Gathered::All {
            return (passed_on, new);
        }
    }
}

/// All notes, and all messages, of the scope that most are of.
fn of_p(kind: &'static RecordKind) -> Select {
    let scope = Scope { partition: "p".into(), instance: "p".into() };
    Select::records(vec![kind], Scopes::One(scope))
}

fn ids<R: Borrow<StoredRecord>>(records: &[R]) -> Vec<&str> {
    records.iter().map(|record| record.borrow().id.as_str()).collect()
}

fn they_are_stored_and_passed_on(store: &mut dyn Store) {
    let (lines, new) = ingest(store, Options::default(), LINES);
    // The link between question and answer is not counted.
    assert_eq!(new, 8);
    assert_eq!(
        lines[0],
        "{\"kind\":\"note\",\"id\":\"n1\",\"partition\":\"p\",\"instance\":\"p\",\
         \"content\":\"It grows on the north side of the wall.\",\"timestamp\":1000,\
         \"created_at\":\"1970-01-01T00:00:01.000Z\",\"title\":\"Moss\",\"zeta\":1.0,\
         \"a\":{\"big\":12345678901234567890123}}\n"
    );
    assert_eq!(ingest(store, Options::default(), LINES), (lines, 0));
    let notes = store.last_of(&of_p(&NOTE), 9).unwrap();
    assert_eq!(ids(&notes)[..3], ["n1", "n2", "n3"]);
    assert_eq!(
        (notes.len(), notes[3].text.as_str(), notes[3].timestamp),
        (4, "Green, at eighty degrees.", 7000)
    );
    assert!(notes.iter().all(|note| note.kind == &NOTE && note.role.is_none() && note.trace_id.is_empty()));
    assert_eq!(ids(&store.last_of(&of_p(&MESSAGE), 9).unwrap()), ["m1", "m2", "m3"]);
    let both = Select { kinds: vec![&MESSAGE, &NOTE], ..of_p(&NOTE) };
    assert_eq!(ids(&store.last_of(&both, 9).unwrap())[..6], ["m1", "n1", "m2", "n2", "n3", "m3"]);
    let moss = Select { key: Some("Moss".into()), ..Select::records(vec![&NOTE], Scopes::All) };
    assert_eq!(ids(&store.last_of(&moss, 9).unwrap()), ["n1", "n4"]);
    assert_eq!(ids(&store.get(&["n1", "m1"], &of_p(&NOTE)).unwrap()), ["n1"]);
    // The neighbours of a note are notes.
    let around = store.around(&[&notes[1]], &both, 1).unwrap();
    assert_eq!((ids(&around[0].before), ids(&around[0].after)), (vec!["n1"], vec!["n3"]));
    // Scopes are counted by their messages.
    let scopes: Vec<(String, u64)> =
        store.scopes(None).unwrap().into_iter().map(|(scope, count)| (scope.partition, count)).collect();
    assert_eq!(scopes, [("p".to_owned(), 3), ("q".to_owned(), 0)]);
}

/// The ids of what a search finds; all of it is of the kind that was asked for.
fn found(store: &mut dyn Store, by: By, question: &str, kind: &'static RecordKind, link: bool) -> Vec<Hit> {
    let options = search::Options { link, ..search::Options::new(10) };
    let hits = search::run(store, by, question, &of_p(kind), &options).unwrap();
    assert!(hits.iter().all(|hit| hit.record.kind == kind), "{question}: {hits:?}");
    hits
}

fn ids_of(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.record.id.as_str()).collect()
}

fn scores(hits: &[Hit]) -> Vec<(&str, f64)> {
    hits.iter().map(|hit| (hit.record.id.as_str(), hit.score)).collect()
}

/// A store in a file of its own, in the directory that the test runs in.
fn elsewhere(name: &str) -> Box<dyn Store> {
    store::open(&StoreLocation::file(name.as_ref()), OpenMode::Create).unwrap()
}

fn they_are_found_by_their_words(store: &mut dyn Store) {
    let mut hits = found(store, By::Words, "wall", &NOTE, false);
    hits.sort_by(|one, other| one.record.id.cmp(&other.record.id));
    assert_eq!(ids_of(&hits), ["n1", "n3"]);
    // By what stands in the title alone.
    assert_eq!(ids_of(&found(store, By::Words, "moss", &NOTE, false)), ["n1"]);
    assert_eq!(ids_of(&found(store, By::Words, "moss north", &NOTE, false)), ["n1"]);
    let mut hits = found(store, By::Words, "moss", &MESSAGE, false);
    hits.sort_by(|one, other| one.record.id.cmp(&other.record.id));
    assert_eq!(ids_of(&hits), ["m1", "m2"]);
    assert_eq!(ids_of(&found(store, By::Any, "What about the rent?", &NOTE, false))[0], "n2");
    // The notes count among notes, the messages among messages: alone they have the same scores.
    for (kind, name) in [(&NOTE, "notes.db"), (&MESSAGE, "messages.db")] {
        let is_note = |line: &&str| line.contains("\"kind\":\"note\"");
        let lines: Vec<&str> = LINES.lines().filter(|line| is_note(line) == (kind == &NOTE)).collect();
        let mut alone = elsewhere(name);
        ingest(&mut *alone, Options::default(), &(lines.join("\n") + "\n"));
        for question in ["moss", "wall", "the", "wall side", "rent", "tea"] {
            let (hits, wanted) = (
                found(store, By::Words, question, kind, false),
                found(&mut *alone, By::Words, question, kind, false),
            );
            assert_eq!(scores(&hits), scores(&wanted), "{question}");
            let (hits, wanted) = (
                found(store, By::Any, question, kind, false),
                found(&mut *alone, By::Any, question, kind, false),
            );
            assert_eq!(scores(&hits), scores(&wanted), "{question}");
        }
    }
}

fn they_are_found_by_their_meaning(store: &mut dyn Store, settings: &Settings) {
    let mut embedder = Embedder::from_settings(settings, Workload::Few, &Diagnostics::default()).unwrap();
    let model = embedder.model().to_owned();
    let unembedded = |store: &mut dyn Store, kind| store.unembedded(&model, &of_p(kind), 0).unwrap().total;
    assert_eq!((unembedded(store, &NOTE), unembedded(store, &MESSAGE)), (4, 3));
    let everything = backfill::embeddable(Scopes::All);
    assert_eq!(everything.kinds, [&MESSAGE, &MEMORY, &DOCUMENT, &NOTE]);
    let mut fault = |error: Error| panic!("{error}");
    backfill::all(store, &mut embedder, &everything, &mut |_, _| {}, &mut fault).unwrap();
    assert_eq!((unembedded(store, &NOTE), unembedded(store, &MESSAGE)), (0, 0));
    // Of the title too.
    let note = store.get(&["n2"], &of_p(&NOTE)).unwrap().remove(0);
    assert_eq!(note.embedded_text().unwrap(), "Rent\n\nDue on the first of each month, by bank transfer.");
    let question = "When must I pay for the flat?";
    let hits = found(store, By::Meaning(&mut embedder, None), question, &NOTE, false);
    assert_eq!((hits.len(), ids_of(&hits)[0]), (4, "n2"));
    let hits = found(store, By::Meaning(&mut embedder, None), question, &MESSAGE, false);
    assert_eq!((hits.len(), ids_of(&hits)[0]), (3, "m3"));
    let question = "What grows on a damp wall?";
    for link in [false, true] {
        let hits = found(store, By::Both(&mut embedder, None), question, &NOTE, link);
        assert_eq!(ids_of(&hits)[0], "n1");
        assert!(hits[0].why.similarity > Some(0.3) && hits[0].why.relevance > Some(0.0), "{:?}", hits[0].why);
        let hits = found(store, By::Both(&mut embedder, None), question, &MESSAGE, link);
        assert!(["m1", "m2"].contains(&ids_of(&hits)[0]));
    }
}

fn they_are_linked_among_themselves(store: &mut dyn Store, settings: &Settings) {
    let plan = synapse::Plan::from_settings(store, settings, Some(0.1), None).unwrap().unwrap();
    let mut made = Vec::new();
    let mut note = |link: rsv::record::Link| {
        made.push(link);
        Ok(())
    };
    synapse::update(store, &plan, &Scopes::All, false, &mut |_, _| {}, &mut note).unwrap();
    assert!(made.iter().any(|link| [&link.from, &link.to] == ["n1", "n3"]), "{made:?}");
    let message = |id: &str| ["m1", "m2", "m3"].contains(&id);
    assert!(made.iter().all(|link| message(&link.from) == message(&link.to)), "{made:?}");
}

fn they_are_shown(store: &mut dyn Store) {
    let layout = Layout { width: 60, colour: false, scopes: false, zone: TimeZone::UTC };
    let hits = found(store, By::Words, "moss", &NOTE, false);
    assert_eq!(
        view::record(&hits[0].record, &view::Heads::default(), &layout),
        "1970-01-01 00:00 note Moss: It grows on the north side of\n                            the wall.\n"
    );
    let mut line = Vec::new();
    hits[0].write_line(1, false, None, &mut line);
    let line = String::from_utf8(line).unwrap();
    let score = hits[0].score;
    assert_eq!(
        line,
        format!(
            "{{\"kind\":\"hit\",\"id\":\"n1\",\"partition\":\"p\",\"instance\":\"p\",\
             \"content\":\"It grows on the north side of the wall.\",\"timestamp\":1000,\
             \"created_at\":\"1970-01-01T00:00:01.000Z\",\"title\":\"Moss\",\"zeta\":1.0,\
             \"a\":{{\"big\":12345678901234567890123}},\"record\":\"note\",\"rank\":1,\"score\":{score},\
             \"why\":{{\"keyword\":{score}}}}}\n"
        )
    );
    // A member of a note with the name of one that a search adds would occur twice.
    let hits = found(store, By::Words, "winter", &NOTE, false);
    let mut line = Vec::new();
    hits[0].write_line(1, false, None, &mut line);
    let line = String::from_utf8(line).unwrap();
    assert!(line.matches("\"record\":").count() == 1 && line.contains("\"record\":\"note\""), "{line}");
    let mut neighbour = Vec::new();
    hits[0].write_neighbour(&hits[0].record, None, &mut neighbour);
    assert!(neighbour.starts_with(b"{\"kind\":\"note\",\"id\":\"n3\""));
}

/// Everything of a store as rsv-export --vectors writes it.
fn export(store: &mut dyn Store) -> String {
    let which = Select::records(kinds(), Scopes::All);
    let what = Walk { embeddings: true, links: true, ..Walk::records(which) };
    let mut out = Vec::new();
    let mut visit = |record: Record| {
        record.write_line(VectorFormat::Numbers, &mut out);
        Ok(())
    };
    store.walk(&what, &mut visit).unwrap();
    String::from_utf8(out).unwrap()
}

fn they_go_from_store_to_store(store: &mut dyn Store) {
    let first = export(store);
    let count = |kind: &str| first.matches(&format!("{{\"kind\":\"{kind}\"")).count();
    assert_eq!((count("note"), count("message"), count("embedding")), (5, 3, 8));
    assert!(count("link") > 2);
    let mut other = elsewhere("imported.db");
    let import = Options { keep_system: true, import: Some(Scopes::All), ..Options::default() };
    ingest(&mut *other, import.clone(), &first);
    assert!(export(&mut *other) == first, "{}", export(&mut *other));
    assert_eq!(ingest(&mut *other, import, &first).1, 0);
    for question in ["moss", "wall", "the"] {
        let (hits, wanted) = (
            found(&mut *other, By::Words, question, &NOTE, false),
            found(store, By::Words, question, &NOTE, false),
        );
        assert_eq!(scores(&hits), scores(&wanted));
    }
    // Of one scope only what belongs to it.
    let mut narrow = elsewhere("narrow.db");
    let scopes = Some(Scopes::Partition("q".into()));
    ingest(&mut *narrow, Options { keep_system: true, import: scopes, ..Options::default() }, &first);
    let which = Select::records(kinds(), Scopes::All);
    assert_eq!(ids(&narrow.last_of(&which, 9).unwrap()), ["n4"]);
}

fn they_are_removed(store: &mut dyn Store) {
    let mut note = store.get(&["n1"], &of_p(&NOTE)).unwrap().remove(0);
    note.text = "It has been scraped off.".into();
    assert_eq!(remove(&mut *store, &["n1"]), 1);
    assert_eq!(store.write(&[Record::Stored(note)], store::WriteRules::NEW).unwrap(), [WriteOutcome::New]);
    assert_eq!(ids_of(&found(store, By::Words, "scraped", &NOTE, false)), ["n1"]);
    assert_eq!(ids_of(&found(store, By::Words, "north", &NOTE, false)), [""; 0]);
    assert_eq!(remove(&mut *store, &["n1", "nothing"]), 1);
    assert_eq!(ids_of(&found(store, By::Words, "moss", &NOTE, false)), [""; 0]);
    assert_eq!(store.get(&["n1"], &of_p(&NOTE)).unwrap(), []);
    assert_eq!(found(store, By::Words, "moss", &MESSAGE, false).len(), 2);
    assert_eq!(store.examine(10).unwrap().errors, [""; 0]);
}
