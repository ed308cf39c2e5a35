//! Tombstones in every store: each scenario runs on every backend, and all must end with the same outcomes
//! and the same content.

use crate::neo4j::RESERVOIRS;
use crate::store::visited;
use crate::support::{Home, on_each_store, on_graph, remove};
use rsv::record::{
    ACCOUNT, Content, DOCUMENT, Draft, DraftDefaults, EXTRACTED_FROM, Embedding, Line, Link, Object, Record,
    RecordKind, Role, Scope, Scopes, StoredRecord, Tombstone, TombstoneState, identity_digest, kinds,
};
use rsv::store::{Forgotten, Select, Store, Walk, WriteOutcome, WriteRules, WriteSource};
use rsv::text::{Occur, Term};

/// Runs a scenario on an empty store; at a server, the same records must be visited afterwards as in a file.
fn on(home: &Home, scenario: impl Fn(&mut dyn Store)) {
    let visited = |home: &Home| {
        let mut store = home.open();
        scenario(&mut *store);
        let visited = everything(&mut *store);
        drop(store);
        home.check();
        visited
    };
    let home = home.emptied();
    let here = visited(&home);
    if home.is_at_server() {
        assert_eq!(here, visited(&Home::new()));
    }
}

const FORGOTTEN: TombstoneState = TombstoneState::Forgotten;
const REMOVED: TombstoneState = TombstoneState::Removed;
const RETURNED: TombstoneState = TombstoneState::Returned;

fn scope() -> Scope {
    Scope { partition: "p".into(), instance: "p".into() }
}

fn draft(kind: &'static RecordKind, id: &str, at: i64) -> Draft {
    let (partition, instance) = (Some("p".to_owned()), Some("p".to_owned()));
    let (id, trace_id, timestamp) = (Some(id.to_owned()), Some("t".to_owned()), Some(at));
    Draft { id, trace_id, partition, instance, timestamp, ..Draft::new(kind, String::new()) }
}

fn complete(draft: Draft) -> StoredRecord {
    let fill =
        DraftDefaults { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };
    draft.complete(&fill).unwrap()
}

/// A message of the user, at a time.
fn message(id: &str, at: i64, content: &str) -> StoredRecord {
    let text = Draft::message(Role::User, Content::Text(content.into()));
    let Draft { id, trace_id, partition, instance, timestamp, .. } = draft(text.kind, id, at);
    complete(Draft { id, trace_id, partition, instance, timestamp, ..text })
}

/// An account whose parts name messages.
fn account(id: &str, at: i64, recalled: &[&str], left_out: &[&str]) -> StoredRecord {
    let mut members = Object::default();
    for (name, ids) in [("recalled", recalled), ("left_out", left_out)] {
        let parts: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}","note":1.0}}"#)).collect();
        members.set(name, format!("[{}]", parts.join(",")));
    }
    complete(Draft { members, ..draft(&ACCOUNT, id, at) })
}

/// A version of a document, made from a source whose digest repeats a character.
fn document(at: i64, content: &str, source: char) -> StoredRecord {
    let line = format!(
        r#"{{"kind":"document","uri":"viking://resources/d","content":"{content}","source_sha256":"{}","partition":"p","instance":"p","timestamp":{at}}}"#,
        source.to_string().repeat(64)
    );
    match Line::parse(Object::parse(&line).unwrap()).unwrap() {
        Line::Record(draft) => complete(draft),
        other => panic!("{other:?}"),
    }
}

fn tombstone(of: &StoredRecord, state: TombstoneState, at: i64) -> Record {
    Record::Tombstone(Tombstone::of(of, state, at, None))
}

fn embedding(of: &str, vector: &[f32]) -> Record {
    Record::Embedding(Embedding {
        of: of.into(),
        model: "m".into(),
        vector: vector.into(),
        extra: Object::default(),
    })
}

fn stored(records: &[&StoredRecord]) -> Vec<Record> {
    records.iter().map(|record| Record::Stored((*record).clone())).collect()
}

fn write(store: &mut dyn Store, batch: &[Record]) -> Vec<WriteOutcome> {
    store.write(batch, WriteRules::KEEP_OUT).unwrap()
}

fn write_one(store: &mut dyn Store, record: Record) -> WriteOutcome {
    write(store, &[record]).remove(0)
}

/// Writes records that may return at a time.
fn write_back(store: &mut dyn Store, batch: &[Record], at: i64) -> Vec<WriteOutcome> {
    store
        .write(
            batch,
            WriteRules { forgotten: Forgotten::Return { at }, source: WriteSource::Import, import: None },
        )
        .unwrap()
}

fn all_of(which: Select) -> Walk {
    Walk { tombstones: true, embeddings: true, links: true, ..Walk::records(which) }
}

fn everything(store: &mut dyn Store) -> Vec<Record> {
    visited(store, &all_of(Select::records(kinds(), Scopes::All)))
}

/// The ids of the stored records.
fn ids(store: &mut dyn Store) -> Vec<String> {
    let records = visited(store, &Walk::records(Select::records(kinds(), Scopes::All)));
    records.iter().filter_map(|record| record.id().map(str::to_owned)).collect()
}

/// The stored tombstones, in the order of the walk: their times and states.
fn tombstones(store: &mut dyn Store) -> Vec<(i64, TombstoneState)> {
    let all = everything(store);
    let tombstones = all.iter().filter_map(|record| match record {
        Record::Tombstone(one) => Some((one.timestamp, one.state)),
        _ => None,
    });
    tombstones.collect()
}

fn same(of: &StoredRecord) -> WriteOutcome {
    WriteOutcome::Same(identity_digest(of.kind.name, &of.id))
}

on_each_store!(forgotten_records_are_kept_out_by_id_and_by_content);
fn forgotten_records_are_kept_out_by_id_and_by_content(home: Home) {
    on(&home, |store| {
        let (owl, cat) = (message("owl", 1000, "An owl"), message("cat", 2000, "A cat"));
        let diary = account("diary", 3000, &[], &[]);
        write(store, &stored(&[&owl, &cat, &diary]));
        assert_eq!(store.forget(&["owl", "nobody", "owl", "diary"], 5000).unwrap(), 2);
        assert_eq!(ids(store), ["cat"]);
        let copy = StoredRecord { id: "copy".into(), ..owl.clone() };
        let with_members = StoredRecord {
            members: { Object::parse(r#"{"name":"x"}"#).unwrap() },
            ..message("owl", 7, "Something else under the same id")
        };
        let kept_out = stored(&[&owl, &copy, &with_members, &diary]);
        assert_eq!(write(store, &kept_out), vec![WriteOutcome::KeptOut; 4]);
        // So is what says the same in another form. A message that differs in scope, time or words is another one.
        let louder = StoredRecord { id: "louder".into(), text: " AN  OWL\n".into(), ..owl.clone() };
        assert_eq!(write_one(store, Record::Stored(louder)), WriteOutcome::KeptOut);
        let later = StoredRecord { id: "later".into(), timestamp: 1001, ..owl.clone() };
        let louder = StoredRecord { id: "louder".into(), text: "An owl!".into(), ..owl.clone() };
        assert_eq!(
            write(store, &stored(&[&later, &louder, &cat])),
            [WriteOutcome::New, WriteOutcome::New, WriteOutcome::Same("cat".into())]
        );
        assert_eq!(tombstones(store), [(5000, FORGOTTEN), (5000, FORGOTTEN)]);
        let hits = store.find(&Term::parse("owl"), Occur::All, &Select::messages(Scopes::All), 9).unwrap();
        assert_eq!(hits.len(), 2);
    });
}

on_each_store!(a_newer_version_does_not_bring_back_what_was_forgotten);
/// Keeps: A newer version of a document does not bring back what was forgotten.
fn a_newer_version_does_not_bring_back_what_was_forgotten(home: Home) {
    on(&home, |store| {
        let [owl, cat, tomcat] = [("An owl", '1'), ("A cat", '2'), ("A tomcat", '3')]
            .map(|(content, source)| document(1000, content, source));
        write(store, &stored(&[&owl]));
        store.forget(&[&owl.id], 5000).unwrap();
        assert_eq!(store.write(&stored(&[&cat]), WriteRules::NEW).unwrap(), [WriteOutcome::New]);
        let louder = document(1000, "AN  OWL", '4');
        for rules in [WriteRules::NEW, WriteRules::KEEP_OUT] {
            let both = [&owl, &louder].map(|owl| StoredRecord { timestamp: 9000, ..owl.clone() });
            assert_eq!(
                store.write(&both.map(Record::Stored), rules).unwrap(),
                vec![WriteOutcome::KeptOut; 2]
            );
        }
        let texts = |store: &mut dyn Store| {
            let documents = store.last_of(&Select::records(vec![&DOCUMENT], Scopes::All), 9).unwrap();
            documents.into_iter().map(|document| document.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(store), ["A cat"]);
        assert_eq!(store.write(&stored(&[&tomcat]), WriteRules::NEW).unwrap(), [WriteOutcome::Replaced]);
        assert_eq!(texts(store), ["A tomcat"]);
        assert_eq!(tombstones(store), [(5000, FORGOTTEN)]);
    });
}

on_each_store!(forgetting_again_makes_a_later_tombstone);
fn forgetting_again_makes_a_later_tombstone(home: Home) {
    on(&home, |store| {
        let owl = message("owl", 1000, "An owl");
        assert_eq!(store.forget(&[], 1).unwrap(), 0);
        assert_eq!(store.forget(&["owl"], 1).unwrap(), 0, "nothing is there");
        assert_eq!(tombstones(store), []);
        write(store, &stored(&[&owl]));
        store.forget(&["owl"], 5000).unwrap();
        assert_eq!(write_back(store, &stored(&[&owl]), 10), [WriteOutcome::New]);
        assert_eq!(tombstones(store), [(5001, RETURNED)], "it is later than the one before");
        assert_eq!(store.forget(&["owl"], 20).unwrap(), 1);
        assert_eq!(tombstones(store), [(5002, FORGOTTEN)]);
        assert_eq!(store.forget(&["owl"], 9000).unwrap(), 0);
        assert_eq!(tombstones(store), [(5002, FORGOTTEN)]);
    });
}

on_each_store!(the_newer_tombstone_holds_and_removes_records);
fn the_newer_tombstone_holds_and_removes_records(home: Home) {
    on(&home, |store| {
        let owl = message("owl", 1000, "An owl");
        write(store, &stored(&[&owl, &message("cat", 2000, "A cat")]));
        write(store, &[embedding("owl", &[1.0, 0.0]), embedding("cat", &[0.0, 1.0])]);
        write(store, &[Record::Link(Link::responded_with("owl", "cat", 3))]);
        assert_eq!(write_one(store, tombstone(&owl, FORGOTTEN, 5000)), WriteOutcome::Removed(1));
        assert_eq!(ids(store), ["cat"]);
        let left = everything(store);
        assert_eq!(left.iter().filter(|record| matches!(record, Record::Link(_))).count(), 0);
        assert_eq!(left.iter().filter(|record| matches!(record, Record::Embedding(_))).count(), 1);
        for (state, at) in
            [(FORGOTTEN, 5000), (FORGOTTEN, 4999), (RETURNED, 4999), (RETURNED, 5000), (REMOVED, 5000)]
        {
            assert_eq!(write_one(store, tombstone(&owl, state, at)), same(&owl), "{state:?} {at}");
            assert_eq!(write(store, &stored(&[&owl])), [WriteOutcome::KeptOut], "{state:?} {at}");
        }
        assert_eq!(write_one(store, tombstone(&owl, RETURNED, 5001)), WriteOutcome::New);
        assert_eq!(write(store, &stored(&[&owl])), [WriteOutcome::New]);
        // At the same time, forgetting goes before returning.
        assert_eq!(write_one(store, tombstone(&owl, FORGOTTEN, 5001)), WriteOutcome::Removed(1));
        assert_eq!(write(store, &stored(&[&owl])), [WriteOutcome::KeptOut]);
        assert_eq!(tombstones(store), [(5001, FORGOTTEN)]);
    });
}

on_each_store!(a_tombstone_removes_a_message_that_says_the_same_under_another_id);
fn a_tombstone_removes_a_message_that_says_the_same_under_another_id(home: Home) {
    on(&home, |store| {
        let owl = message("owl", 1000, "An owl");
        let copy = StoredRecord { id: "copy".into(), ..owl.clone() };
        let diary = account("diary", 3000, &[], &[]);
        write(store, &stored(&[&copy, &diary]));
        assert_eq!(write_one(store, tombstone(&owl, FORGOTTEN, 5000)), WriteOutcome::Removed(1));
        assert_eq!(ids(store), ["diary"]);
        // Accounts are known by their ids alone, and a kind that is not known has no records.
        let Record::Tombstone(of_diary) = tombstone(&diary, FORGOTTEN, 5000) else { unreachable!() };
        let of_dream = Tombstone { what: "dream".into(), of: "0".repeat(64), ..of_diary.clone() };
        assert_eq!(write_one(store, Record::Tombstone(of_dream)), WriteOutcome::New);
        assert_eq!(write_one(store, Record::Tombstone(of_diary)), WriteOutcome::Removed(1));
        assert_eq!(ids(store), [""; 0]);
    });
}

on_each_store!(a_removal_keeps_out_no_newer_version);
fn a_removal_keeps_out_no_newer_version(home: Home) {
    on(&home, |store| {
        let diary = |at| account("diary", at, &[], &[]);
        let removed = |at| tombstone(&diary(0), REMOVED, at);
        assert_eq!(write_one(store, removed(2000)), WriteOutcome::New);
        assert_eq!(write(store, &stored(&[&diary(1999), &diary(2000)])), vec![WriteOutcome::KeptOut; 2]);
        assert_eq!(write(store, &stored(&[&diary(2001)])), [WriteOutcome::New]);
        assert_eq!(write_one(store, removed(2000)), same(&diary(0)));
        // A later one, still older than the version that is stored, does not remove it.
        assert_eq!(write_one(store, tombstone(&diary(0), RETURNED, 2000)), same(&diary(0)));
        assert_eq!(ids(store), ["diary"]);
        assert_eq!(write_one(store, removed(2001)), WriteOutcome::Removed(1));
        let unsaid = write_one(store, embedding("diary", &[1.0]));
        assert_eq!(
            unsaid,
            WriteOutcome::Refused("of: the store has no record diary".into()),
            "it was not forgotten"
        );
        assert_eq!(write_back(store, &stored(&[&diary(1)]), 0), [WriteOutcome::New]);
        assert_eq!(tombstones(store), [(2002, RETURNED)]);
    });
}

on_each_store!(vectors_and_links_of_what_was_forgotten_are_kept_out);
fn vectors_and_links_of_what_was_forgotten_are_kept_out(home: Home) {
    on(&home, |store| {
        let (owl, cat) = (message("owl", 1000, "An owl"), message("cat", 2000, "A cat"));
        write(store, &stored(&[&owl, &cat]));
        let link = |from: &str, to: &str| {
            Record::Link(Link { rel: EXTRACTED_FROM.into(), ..Link::responded_with(from, to, 3) })
        };
        let refused =
            |member: &str| WriteOutcome::Refused(format!("{member}: the store has no record nobody"));
        store.forget(&["owl"], 5000).unwrap();
        let batch = [
            embedding("owl", &[1.0, 0.0]),
            link("owl", "cat"),
            link("cat", "owl"),
            link("owl", "nobody"),
            link("nobody", "owl"),
            embedding("nobody", &[1.0, 0.0]),
            embedding("cat", &[0.0, 1.0]),
        ];
        let kept_out = WriteOutcome::KeptOut;
        let wanted = [
            kept_out.clone(),
            kept_out.clone(),
            kept_out.clone(),
            kept_out.clone(),
            refused("from"),
            refused("of"),
            WriteOutcome::New,
        ];
        assert_eq!(write(store, &batch), wanted);
        // A record that returns brings them back.
        let batch = [vec![Record::Stored(owl.clone())], batch[..3].to_vec()].concat();
        assert_eq!(write(store, &batch), vec![kept_out; 4]);
        assert_eq!(write_back(store, &batch, 6000), vec![WriteOutcome::New; 4]);
        assert_eq!(write(store, &batch)[1], WriteOutcome::Same("owl".into()));
        assert_eq!(tombstones(store), [(6000, RETURNED)]);
    });
}

on_each_store!(every_tombstone_that_keeps_a_record_out_says_that_it_returns);
fn every_tombstone_that_keeps_a_record_out_says_that_it_returns(home: Home) {
    on(&home, |store| {
        let owl = message("owl", 1000, "An owl");
        let copy = StoredRecord { id: "copy".into(), ..owl.clone() };
        write(store, &[tombstone(&owl, FORGOTTEN, 5000), tombstone(&copy, FORGOTTEN, 7000)]);
        let third = StoredRecord { id: "third".into(), ..owl.clone() };
        assert_eq!(write(store, &stored(&[&third])), [WriteOutcome::KeptOut]);
        let same_as_third = WriteOutcome::Same("third".into());
        assert_eq!(write_back(store, &stored(&[&third, &owl]), 6000), [WriteOutcome::New, same_as_third]);
        assert_eq!(tombstones(store), [(6000, RETURNED), (7001, RETURNED)]);
        // Where nothing keeps a record out, no tombstone is written.
        let fresh = message("fresh", 9, "Fresh");
        assert_eq!(write_back(store, &stored(&[&fresh]), 8000), [WriteOutcome::New]);
        assert_eq!(tombstones(store).len(), 2);
    });
}

on_each_store!(accounts_do_not_show_parts_that_name_what_was_forgotten);
fn accounts_do_not_show_parts_that_name_what_was_forgotten(home: Home) {
    on(&home, |store| {
        let (owl, cat) = (message("owl", 1000, "An owl"), message("cat", 2000, "A cat"));
        let whole = account("diary", 3000, &["owl", "cat", "gone"], &["owl"]);
        write(store, &stored(&[&owl, &cat, &whole]));
        let accounts = Select::records(vec![&ACCOUNT], Scopes::One(scope()));
        let of_trace = Select { trace_id: Some("t".into()), ..accounts.clone() };
        let seen = |store: &mut dyn Store| {
            let mut seen = store.get(&["diary"], &accounts).unwrap();
            seen.extend(store.last(&[accounts.clone(), of_trace.clone()], 9).unwrap().concat());
            seen.extend(
                visited(store, &Walk::records(accounts.clone())).iter().filter_map(|r| r.stored().cloned()),
            );
            seen
        };
        assert_eq!(seen(store), vec![whole.clone(); 4]);
        store.forget(&["owl"], 5000).unwrap();
        let left = account("diary", 3000, &["cat", "gone"], &[]);
        assert_eq!(seen(store), vec![left.clone(); 4]);
        // The stored record has all of them: an older line changes nothing.
        assert_eq!(write(store, &stored(&[&left])), [WriteOutcome::Same("diary".into())]);
        assert_eq!(write_back(store, &stored(&[&owl]), 6000), [WriteOutcome::New]);
        assert_eq!(seen(store), vec![whole.clone(); 4]);
        // A store that got only what was left takes the whole one where records may return, and only there.
        remove(store, &["diary"]);
        write(store, &stored(&[&left]));
        assert_eq!(write(store, &stored(&[&whole])), [WriteOutcome::Same("diary".into())]);
        let other = account("diary", 3000, &["cat", "elsewhere"], &["owl", "x"]);
        assert_eq!(
            write_back(store, &stored(&[&other]), 7000),
            [WriteOutcome::Same("diary".into())],
            "it lacks a part"
        );
        assert_eq!(seen(store), vec![left.clone(); 4]);
        let batch = stored(&[&whole, &left, &whole]);
        let same = WriteOutcome::Same("diary".into());
        assert_eq!(write_back(store, &batch, 7000), [WriteOutcome::Replaced, same.clone(), same]);
        assert_eq!(seen(store), vec![whole.clone(); 4]);
    });
}

on_each_store!(an_account_whose_parts_return_is_replaced_also_if_it_is_new_in_the_batch);
fn an_account_whose_parts_return_is_replaced_also_if_it_is_new_in_the_batch(home: Home) {
    on(&home, |store| {
        let owl = message("owl", 1000, "An owl");
        write(store, &stored(&[&owl]));
        store.forget(&["owl"], 5000).unwrap();
        let (left, whole) = (account("diary", 3000, &[], &[]), account("diary", 3000, &["owl"], &[]));
        let batch = stored(&[&left, &whole, &owl]);
        assert_eq!(
            write_back(store, &batch, 6000),
            [WriteOutcome::New, WriteOutcome::Replaced, WriteOutcome::New]
        );
        assert_eq!(store.get(&["diary"], &Select::records(kinds(), Scopes::All)).unwrap(), [whole]);
    });
}

on_each_store!(tombstones_of_a_batch_apply_to_all_of_it_in_any_order);
fn tombstones_of_a_batch_apply_to_all_of_it_in_any_order(home: Home) {
    let (owl, cat) = (message("owl", 1000, "An owl"), message("cat", 2000, "A cat"));
    let batch = [
        Record::Stored(owl.clone()),
        embedding("owl", &[1.0, 0.0]),
        tombstone(&owl, RETURNED, 4000),
        tombstone(&owl, FORGOTTEN, 5000),
        tombstone(&owl, REMOVED, 4500),
        Record::Stored(cat.clone()),
        tombstone(&cat, FORGOTTEN, 5000),
        tombstone(&cat, RETURNED, 5001),
    ];
    let kept_out = WriteOutcome::KeptOut;
    let new = WriteOutcome::New;
    let wanted = [&kept_out, &kept_out, &new, &new, &new, &new, &new, &new].map(Clone::clone);
    for turn in 0..batch.len() {
        // The embedding stays behind its record, whose tombstone keeps both out wherever it is.
        let (mut batch, mut wanted) = (batch.to_vec(), wanted.to_vec());
        batch.rotate_left(turn);
        wanted.rotate_left(turn);
        on(&home, |store| {
            assert_eq!(write(store, &batch), wanted, "{turn}");
            assert_eq!(ids(store), ["cat"]);
            assert_eq!(tombstones(store), [(5000, FORGOTTEN), (5001, RETURNED)]);
        });
    }
    on(&home, |store| {
        write(store, &stored(&[&owl, &cat]));
        let written = write(store, &batch);
        assert_eq!(written[2..5], vec![WriteOutcome::Removed(1); 3]);
        assert_eq!(written[5..], [WriteOutcome::Same("cat".into()), new.clone(), new.clone()]);
    });
}

on_each_store!(the_last_vector_of_a_model_may_go_and_come_in_one_batch);
fn the_last_vector_of_a_model_may_go_and_come_in_one_batch(home: Home) {
    on(&home, |store| {
        let (owl, cat) = (message("owl", 1000, "An owl"), message("cat", 2000, "A cat"));
        write(store, &stored(&[&owl, &cat]));
        write(store, &[embedding("owl", &[1.0, 0.0])]);
        let batch = [tombstone(&owl, FORGOTTEN, 5000), embedding("cat", &[0.0, 1.0])];
        assert_eq!(write(store, &batch), [WriteOutcome::Removed(1), WriteOutcome::New]);
        let hits = store.nearest("m", &[0.0, 1.0], &Select::messages(Scopes::All), 9).unwrap();
        assert_eq!(hits.iter().map(|hit| hit.record.id.as_str()).collect::<Vec<_>>(), ["cat"]);
        assert_eq!(store.models().unwrap()[0].vectors, 1);
        assert_eq!(write_one(store, tombstone(&cat, FORGOTTEN, 5000)), WriteOutcome::Removed(1));
        assert_eq!(store.models().unwrap(), []);
    });
}

on_each_store!(tombstones_are_visited_first_by_time_and_digest);
fn tombstones_are_visited_first_by_time_and_digest(home: Home) {
    on(&home, |store| {
        let messages: Vec<StoredRecord> =
            (0..20).map(|n| message(&format!("m{n}"), n, &format!("Message {n}"))).collect();
        let elsewhere = Scope { partition: "p".into(), instance: "q".into() };
        let mut extra = Object::default();
        extra.set("note", "1.0");
        let mut batch: Vec<Record> = (0..)
            .zip(&messages[..15])
            .map(|(n, of)| {
                let Record::Tombstone(one) = tombstone(of, FORGOTTEN, 100 + n % 3) else { unreachable!() };
                let scope = if n % 2 == 0 { scope() } else { elsewhere.clone() };
                Record::Tombstone(Tombstone { scope, extra: extra.clone(), ..one })
            })
            .collect();
        batch.extend(messages[15..].iter().cloned().map(Record::Stored));
        assert_eq!(write(store, &batch), vec![WriteOutcome::New; 20]);
        let mut wanted = batch.clone();
        wanted[..15].sort_by_key(|record| match record {
            Record::Tombstone(one) => (one.timestamp, one.of.clone()),
            _ => unreachable!(),
        });
        assert_eq!(everything(store), wanted, "members that are not known stay");
        let count = |store: &mut dyn Store, which: Select| {
            let all = visited(store, &all_of(which));
            all.iter().filter(|record| matches!(record, Record::Tombstone(_))).count()
        };
        let all = Select::records(kinds(), Scopes::All);
        for (scopes, number) in [
            (Scopes::All, 15),
            (Scopes::Partition("p".into()), 15),
            (Scopes::Partition("q".into()), 0),
            (Scopes::One(scope()), 8),
            (Scopes::One(elsewhere.clone()), 7),
        ] {
            assert_eq!(count(store, Select { scopes, ..all.clone() }), number);
        }
        assert_eq!(count(store, Select { since: Some(101), ..all.clone() }), 10);
        assert_eq!(count(store, Select { until: Some(100), ..all.clone() }), 5);
        let between = Select { since: Some(101), until: Some(101), roles: vec![Role::System], ..all.clone() };
        assert_eq!(count(store, between), 5, "other conditions do not count");
        assert_eq!(visited(store, &Walk::records(all)).len(), 5);
    });
}

on_each_store!(a_selection_of_ids_admits_no_others);
fn a_selection_of_ids_admits_no_others(home: Home) {
    on(&home, |store| {
        let [a, b, c] = ["a", "b", "c"].map(|id| message(id, 1000, id));
        let diary = account("d", 1000, &[], &[]);
        write(store, &stored(&[&a, &b, &c, &diary]));
        let only = Some(["b", "d", "nobody"].map(str::to_owned).to_vec());
        let which = Select { only, ..Select::records(kinds(), Scopes::All) };
        let found = visited(store, &Walk::records(which.clone()));
        assert_eq!(found, stored(&[&b, &diary]));
        assert_eq!(store.count(&which, 9).unwrap(), 2);
        assert_eq!(store.last_of(&which, 9).unwrap().len(), 2);
        let none = Select { only: Some(Vec::new()), ..which };
        assert_eq!(visited(store, &Walk::records(none)), []);
    });
}

on_each_store!(many_records_are_forgotten_in_one_call);
fn many_records_are_forgotten_in_one_call(home: Home) {
    on(&home, |store| {
        let messages: Vec<StoredRecord> =
            (0..1203).map(|n| message(&format!("m{n:04}"), n, &format!("Message {n} of an owl"))).collect();
        write(store, &stored(&messages.iter().collect::<Vec<_>>()));
        let vectors: Vec<Record> =
            (0..1203).map(|n| embedding(&format!("m{n:04}"), &[1.0, n as f32])).collect();
        write(store, &vectors);
        let ids_of: Vec<&str> = messages[1..].iter().map(|message| message.id.as_str()).collect();
        assert_eq!(store.forget(&ids_of, 5000).unwrap(), 1202);
        assert_eq!(ids(store), ["m0000"]);
        let written = write(store, &stored(&messages.iter().collect::<Vec<_>>()));
        assert_eq!(written.iter().filter(|written| **written == WriteOutcome::KeptOut).count(), 1202);
        let found =
            store.find(&Term::parse("owl"), Occur::All, &Select::messages(Scopes::All), 2000).unwrap();
        assert_eq!(found.len(), 1);
        // Two stores that exchange exports agree: the tombstones remove what the other still had.
        let tombstones: Vec<Record> =
            everything(store).into_iter().filter(|record| matches!(record, Record::Tombstone(_))).collect();
        let returned = write_back(store, &stored(&messages.iter().collect::<Vec<_>>()), 4000);
        assert_eq!(returned.iter().filter(|written| **written == WriteOutcome::New).count(), 1202);
        assert!(write(store, &tombstones).iter().all(|written| matches!(written, WriteOutcome::Same(_))));
        assert_eq!(remove(store, &ids_of), 1202);
    });
}

on_graph!(forgotten_messages_of_reservoir_are_not_adopted_again);
fn forgotten_messages_of_reservoir_are_not_adopted_again(home: Home) {
    let graph = home.graph();
    for statement in &RESERVOIRS {
        graph.run(statement);
    }
    let copy = "MATCH (m:MessageNode {content: 'Owl number 3'})
                CREATE (d:MessageNode) SET d = properties(m)
                REMOVE d.rsv_id, d.n, d.words, d.length, d.seq";
    graph.run(copy);
    let mut store = home.open();
    assert_eq!(store.adopt().unwrap(), 6);
    let of = |content: &str| {
        format!("MATCH (m:MessageNode) WHERE m.content = '{content}' RETURN m.content AS text")
    };
    assert_eq!(graph.texts(&of("Owl number 3")).len(), 2);
    let all = store.last_of(&Select::messages(Scopes::All), 9).unwrap();
    let ids: Vec<&str> = all[2..4].iter().map(|message| message.id.as_str()).collect();
    assert_eq!(store.forget(&ids, 1_800_000_000_000).unwrap(), 2);
    assert_eq!(graph.texts(&of("Owl number 3")), [""; 0], "the other node that says the same is gone too");
    // Reservoir imports what it had exported.
    graph.run(
        "CREATE (:MessageNode {trace_id: 't1', partition: 'work', instance: 'work', role: 'user',
           content: 'Owl number 2', timestamp: 1700000000002})",
    );
    assert_eq!(store.adopt().unwrap(), 0);
    let left = store.last_of(&Select::messages(Scopes::All), 9).unwrap();
    assert_eq!(
        left.iter().map(|message| message.text.as_str()).collect::<Vec<_>>(),
        ["Owl number 0", "Owl number 1", "Owl number 4", "Owl number 5"]
    );
    assert_eq!(graph.texts(&of("Owl number 2")).len(), 1, "it is Reservoir's");
    let forgotten: Vec<&StoredRecord> = all[2..4].iter().collect();
    assert_eq!(write(&mut *store, &stored(&forgotten)), vec![WriteOutcome::KeptOut; 2]);
    assert_eq!(write_back(&mut *store, &stored(&forgotten), 0), vec![WriteOutcome::New; 2]);
    assert_eq!(store.last_of(&Select::messages(Scopes::All), 9).unwrap(), all);
    home.check();
}
