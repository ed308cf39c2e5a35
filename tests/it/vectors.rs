//! The vectors of a store: nearest neighbours, records without a vector, and the change of a model.

use crate::support::{Dice, Home, number_from, on_each_store};
use rsv::config::StoreLocation;
use rsv::record::{
    ACCOUNT, Content, Draft, DraftDefaults, Embedding, HitEvidence, Link, Object, Position, Record, Role,
    Scope, Scopes, StoredRecord, Vector,
};
use rsv::store::{self, Derived, Model, OpenMode, Select, Store, Walk, WriteOutcome, WriteRules};
use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];

fn open(home: &Home) -> Box<dyn Store> {
    home.open()
}

fn scope(partition: &str, instance: &str) -> Scope {
    Scope { partition: partition.into(), instance: instance.into() }
}

fn message(id: &str, timestamp: i64, text: &str) -> StoredRecord {
    message_of(id, timestamp, Content::Text(text.into()))
}

fn message_of(id: &str, timestamp: i64, content: Content) -> StoredRecord {
    record_of(id, timestamp, Draft::message(Role::User, content))
}

fn record_of(id: &str, timestamp: i64, draft: Draft) -> StoredRecord {
    let scope = Some("p".to_owned());
    let fill =
        DraftDefaults { partition: scope.clone(), instance: scope, trace_id: "t".into(), timestamp, seq: 0 };
    Draft { id: Some(id.into()), ..draft }.complete(&fill).unwrap()
}

fn embedding(of: &str, model: &str, vector: &[f32]) -> Embedding {
    Embedding { of: of.into(), model: model.into(), vector: vector.into(), extra: Object::default() }
}

fn all() -> Select {
    Select::messages(Scopes::All)
}

fn ids(messages: &[StoredRecord]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

/// The ids and similarities of the nearest records.
fn nearest(
    store: &mut dyn Store,
    model: &str,
    vector: &[f32],
    which: &Select,
    limit: usize,
) -> Vec<(String, f64)> {
    let hits = store.nearest(model, vector, which, limit).unwrap();
    let reported = |score: f64| HitEvidence { similarity: Some(score), ..HitEvidence::default() };
    assert!(hits.iter().all(|hit| hit.why == reported(hit.score)));
    hits.into_iter().map(|hit| (hit.record.id, hit.score)).collect()
}

/// The newest messages that lack a vector, and how many do.
fn unembedded(store: &mut dyn Store, model: &str, which: &Select, limit: usize) -> (Vec<StoredRecord>, u64) {
    let unembedded = store.unembedded(model, which, limit).unwrap();
    (unembedded.newest, unembedded.total)
}

/// Messages with their vectors, of which what is nearest is found by comparing all.
#[derive(Default)]
struct Shadow(Vec<(StoredRecord, Vec<f32>)>);

/// So many vectors of a scope are compared one by one in any store; of more a server's index may miss one now and then.
const FEW: usize = 500;

impl Shadow {
    fn nearest(&self, vector: &[f32], which: &Select, limit: usize) -> Vec<(String, f64)> {
        let mut scored: Vec<(&StoredRecord, f64)> = self
            .0
            .iter()
            .filter(|(message, _)| meets(message, which))
            .map(|(message, other)| (message, cosine(vector, other)))
            .collect();
        scored.sort_by(|a, b| {
            let by_time = b.0.timestamp.cmp(&a.0.timestamp);
            b.1.total_cmp(&a.1).then(by_time).then_with(|| a.0.id.cmp(&b.0.id))
        });
        scored.truncate(limit);
        scored.into_iter().map(|(message, score)| (message.id.clone(), score)).collect()
    }

    /// Fails unless a store finds the same, whatever is asked for; gives how many of its questions, 10 or as many as
    /// `RSV_TEST_ROUNDS` says, missed something.
    fn check(&self, store: &mut dyn Store, model: &str, dice: &mut Dice) -> usize {
        let mut astray = 0;
        for round in 0..number_from("RSV_TEST_ROUNDS").unwrap_or(10) as usize {
            let near = &self.0[dice.below(self.0.len())].1;
            let vector: Vec<f32> =
                near.iter().map(|x| x * 3.0 + number(dice) * [0.0, 0.1, 1.0][round % 3]).collect();
            let which = self.selection(dice);
            let limit = [1, 10, 30, 5000][dice.below(4)];
            astray += usize::from(!self.check_one(store, model, &vector, &which, limit));
        }
        astray
    }

    /// Fails unless a store finds the same: in the very order if it reckons to the last bit, else but for what
    /// is as near to a millionth, and for what an index may miss. Gives whether it missed nothing.
    fn check_one(
        &self,
        store: &mut dyn Store,
        model: &str,
        vector: &[f32],
        which: &Select,
        limit: usize,
    ) -> bool {
        let found = nearest(store, model, vector, which, limit);
        let wanted = self.nearest(vector, which, limit);
        let exact: HashMap<String, f64> =
            self.nearest(vector, which, self.0.len()).into_iter().rev().collect();
        if found.iter().all(|(id, score)| exact.get(id) == Some(score)) {
            assert_eq!(found, wanted, "{which:?} {limit}");
        }
        let ids: BTreeSet<&String> = found.iter().map(|hit| &hit.0).collect();
        assert_eq!((ids.len(), found.len()), (wanted.len(), wanted.len()), "{which:?} {limit}");
        let reported = || format!("{which:?} {limit}: {found:?} {wanted:?}");
        assert!(found.iter().all(|(id, score)| (score - exact[id]).abs() < 1e-6), "{}", reported());
        assert!(found.windows(2).all(|two| two[0].1 >= two[1].1), "{}", reported());
        let last = found.last().map_or(0.0, |hit| hit.1);
        let all = wanted.iter().all(|(id, score)| *score <= last + 1e-6 || ids.contains(id));
        let in_scopes = self.0.iter().filter(|(message, _)| which.scopes.contains(&message.scope)).count();
        assert!(all || in_scopes > FEW, "{}", reported());
        all
    }

    /// Fails unless a store finds the same in everything, in the partition and in two of its instances.
    fn check_scopes(&self, store: &mut dyn Store, dice: &mut Dice) {
        let one = self.0[dice.below(self.0.len())].0.scope.clone();
        let partition = Scopes::Partition(one.partition.clone());
        for scopes in [Scopes::All, partition, Scopes::One(one), Scopes::One(scope("p", "i0"))] {
            let near = vector(1024, self, dice);
            self.check_one(store, "m", &near, &Select::messages(scopes), 10);
        }
    }

    /// A selection by any of the conditions that there are.
    fn selection(&self, dice: &mut Dice) -> Select {
        let mut some = || self.0[dice.below(self.0.len())].0.clone();
        let (one, other) = (some(), some());
        let mut which = Select::messages(match dice.below(4) {
            0 => Scopes::All,
            1 => Scopes::Partition(one.scope.partition.clone()),
            _ => Scopes::One(one.scope.clone()),
        });
        match dice.below(9) {
            0 => which.trace_id = Some(other.trace_id),
            1 => which.roles = other.role.into_iter().chain([Role::Tool]).collect(),
            2 => which.since = Some(other.timestamp),
            3 => which.until = Some(other.timestamp),
            4 => which.before = Some(other.position()),
            5 => {
                which.before = Some(Position { seq: 0, id: String::new(), ..one.position() });
                which.since = Some(other.timestamp.min(one.timestamp));
                which.roles = Vec::from_iter(one.role);
            }
            6 => which.except.traces = vec![one.trace_id, other.trace_id],
            7 => which.except.ids = vec![one.id, other.id],
            _ => {}
        }
        which
    }
}

/// Whether a selection admits a message, written again for the test.
fn meets(message: &StoredRecord, which: &Select) -> bool {
    which.scopes.contains(&message.scope)
        && which.trace_id.as_ref().is_none_or(|trace| message.trace_id == *trace)
        && (which.roles.is_empty() || message.role.is_some_and(|role| which.roles.contains(&role)))
        && which.since.is_none_or(|since| since <= message.timestamp)
        && which.until.is_none_or(|until| message.timestamp <= until)
        && which.before.as_ref().is_none_or(|before| message.position() < *before)
        && which.except.traces.iter().all(|trace| message.trace_id != *trace)
        && which.except.ids.iter().all(|id| message.id != *id)
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = dot(a, a).sqrt() * dot(b, b).sqrt();
    if lengths == 0.0 { 0.0 } else { dot(a, b) / lengths }
}

/// Between -1 and 1.
fn number(dice: &mut Dice) -> f32 {
    dice.below(2_000_001) as f32 / 1e6 - 1.0
}

/// A vector of any length: near one of a few middles, far from all, as another is, or of zeros.
fn vector(dim: usize, others: &Shadow, dice: &mut Dice) -> Vec<f32> {
    let kind = dice.below(50);
    if kind == 0 {
        return vec![0.0; dim];
    }
    if kind < 5 && !others.0.is_empty() {
        return others.0[dice.below(others.0.len())].1.clone();
    }
    let mut middle = Dice(dice.below(5) as u64);
    let (spread, length) = (if kind < 35 { 0.05 } else { 5.0 }, 10_f32.powi(dice.below(7) as i32 - 3));
    (0..dim).map(|_| (number(&mut middle) + number(dice) * spread) * length).collect()
}

/// A message in one of the scopes: few in some, many in another; times repeat.
fn any_message(n: usize, dice: &mut Dice) -> StoredRecord {
    let instance = ["few", "many", "many", "many", "some"][dice.below(5)];
    let partition = if dice.below(40) == 0 { "rare" } else { "p" };
    StoredRecord {
        scope: scope(partition, instance),
        trace_id: format!("t{}", dice.below(20)),
        role: Some(ROLES[dice.below(4)]),
        seq: dice.below(3) as u32,
        ..message(&format!("m{n}-{}", dice.below(1000)), dice.below(300) as i64, &format!("said {n}"))
    }
}

on_each_store!(nearest_finds_what_a_scan_finds);
/// Keeps: The vector index finds the nearest vectors of a full scan.
fn nearest_finds_what_a_scan_finds(home: Home) {
    for dim in [2, 48] {
        let home = home.emptied();
        let mut store = open(&home);
        let mut dice = Dice(dim as u64);
        let mut shadow = Shadow::default();
        let mut astray = 0;
        while shadow.0.len() < 1500 {
            let mut batch = Vec::new();
            for _ in 0..1 + dice.below(400) {
                let message = any_message(shadow.0.len(), &mut dice);
                let numbers = vector(dim, &shadow, &mut dice);
                let travelling = dice.below(2) == 0;
                let with = Some(Vector { model: "m".into(), numbers: numbers.clone() });
                batch.push(Record::Stored(StoredRecord {
                    vector: with.filter(|_| travelling),
                    ..message.clone()
                }));
                if !travelling {
                    batch.push(Record::Embedding(embedding(&message.id, "m", &numbers)));
                }
                batch.push(Record::Embedding(embedding(&message.id, "other", &[1.0, 2.0, 3.0])));
                shadow.0.push((message, numbers));
            }
            assert!(
                store
                    .write(&batch, WriteRules::KEEP_OUT)
                    .unwrap()
                    .iter()
                    .all(|written| *written == WriteOutcome::New)
            );
            astray += shadow.check(&mut *store, "m", &mut dice);
        }
        // Existing vectors stay, and any of them can be replaced.
        let twice: Vec<Record> = shadow.0[..50]
            .iter()
            .map(|(m, _)| Record::Embedding(embedding(&m.id, "m", &vec![9.0; dim])))
            .collect();
        assert!(
            store
                .write(&twice, WriteRules::KEEP_OUT)
                .unwrap()
                .iter()
                .all(|written| *written != WriteOutcome::New)
        );
        astray += shadow.check(&mut *store, "m", &mut dice);
        for _ in 0..5 {
            let mut vectors = vec![embedding("nobody", "m", &vec![1.0; dim])];
            let (first, count) = (dice.below(1000), dice.below(500));
            for _ in 0..count {
                let at = first + dice.below(500);
                let numbers = vector(dim, &shadow, &mut dice);
                vectors.push(embedding(&shadow.0[at].0.id, "m", &numbers));
                shadow.0[at].1 = numbers;
            }
            store.put_vectors(&vectors, None).unwrap();
            astray += shadow.check(&mut *open(&home), "m", &mut dice);
        }
        store.drop_model("other").unwrap();
        astray += shadow.check(&mut *store, "m", &mut dice);
        assert!(astray <= 2, "{astray} questions missed something");
        let models = [Model { name: "m".into(), dim, vectors: shadow.0.len() as u64 }];
        assert_eq!(store.models().unwrap(), models);
        home.check();
    }
}

on_each_store!(a_few_among_many_are_found);
fn a_few_among_many_are_found(home: Home) {
    let mut store = open(&home);
    let mut dice = Dice(7);
    let mut lone = Shadow::default();
    let records: Vec<Record> = (0..3000)
        .map(|n| {
            // All but the last three of every thousand are nearer.
            let few = n % 1000 == 500;
            let middle = if few { -1.0 } else { 1.0 };
            let numbers: Vec<f32> = (0..8).map(|_| middle + 0.1 * number(&mut dice)).collect();
            let message = StoredRecord {
                scope: scope("p", if few { "few" } else { "many" }),
                role: Some(if few { Role::Tool } else { Role::User }),
                ..message(&format!("m{n}"), n, "said")
            };
            if few {
                lone.0.push((message.clone(), numbers.clone()));
            }
            Record::Stored(StoredRecord { vector: Some(Vector { model: "m".into(), numbers }), ..message })
        })
        .collect();
    store.write(&records, WriteRules::KEEP_OUT).unwrap();
    let by_role = Select { roles: vec![Role::Tool], ..all() };
    for which in [Select::messages(Scopes::One(scope("p", "few"))), by_role] {
        assert_eq!(nearest(&mut *store, "m", &[1.0; 8], &which, 10).len(), 3);
        lone.check_one(&mut *store, "m", &[1.0; 8], &which, 10);
    }
}

#[test]
fn among_equal_vectors_the_newest_comes_first() {
    let home = Home::new();
    let mut store = open(&home);
    let records: Vec<Record> = (0..900)
        .map(|n| {
            let vector = Some(Vector { model: "m".into(), numbers: vec![0.3, 0.4, 0.5] });
            // The order of time is not that of arrival.
            Record::Stored(StoredRecord {
                vector,
                ..message(&format!("m{n:03}"), n * 7 % 900 / 2, &format!("said {n}"))
            })
        })
        .collect();
    store.write(&records, WriteRules::KEEP_OUT).unwrap();
    let found: Vec<String> =
        nearest(&mut *store, "m", &[1.0, 0.0, 0.0], &all(), 3).into_iter().map(|hit| hit.0).collect();
    let at = |time: i64| (0..900).filter(move |n| n * 7 % 900 / 2 == time).map(|n| format!("m{n:03}"));
    assert_eq!(found, at(449).chain(at(448)).take(3).collect::<Vec<_>>());
    assert_eq!(nearest(&mut *store, "m", &[0.0; 3], &all(), 1)[0], (at(449).next().unwrap(), 0.0));
}

#[test]
fn many_writers_at_once_leave_one_index() {
    let home = Home::new();
    drop(open(&home));
    let parts: Vec<Shadow> = std::thread::scope(|threads| {
        let write = |thread: usize| {
            let home = &home;
            move || {
                let (mut store, mut dice, mut shadow) = (open(home), Dice(thread as u64), Shadow::default());
                for batch in 0..12 {
                    let records: Vec<Record> = (0..1 + dice.below(60))
                        .map(|n| {
                            let id = thread * 10_000 + batch * 100 + n;
                            let (message, numbers) =
                                (any_message(id, &mut dice), vector(16, &shadow, &mut dice));
                            shadow.0.push((message.clone(), numbers.clone()));
                            let vector = Some(Vector { model: "m".into(), numbers });
                            Record::Stored(StoredRecord { vector, ..message })
                        })
                        .collect();
                    store.write(&records, WriteRules::KEEP_OUT).unwrap();
                    let at = dice.below(shadow.0.len());
                    shadow.0[at].1 = vector(16, &Shadow::default(), &mut dice);
                    store.put_vectors(&[embedding(&shadow.0[at].0.id, "m", &shadow.0[at].1)], None).unwrap();
                }
                shadow
            }
        };
        let running: Vec<_> = (0..4).map(|thread| threads.spawn(write(thread))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let whole = Shadow(parts.into_iter().flat_map(|part| part.0).collect());
    let mut store = open(&home);
    whole.check(&mut *store, "m", &mut Dice(9));
    assert_eq!(store.models().unwrap()[0].vectors, whole.0.len() as u64);
    assert_eq!(unembedded(&mut *store, "m", &all(), 9), (vec![], 0));
    home.check();
}

#[test]
fn a_killed_writer_leaves_a_whole_index() {
    let home = Home::new();
    let mut dice = Dice(11);
    for round in 0..12 {
        let mut stream = home.talk("rsv-ingest", &["-p", "p", "-i", "many"]);
        let mut input = stream.input.take().unwrap();
        let lines: Vec<String> = (0..200)
            .map(|n| {
                let numbers = vector(8, &Shadow::default(), &mut dice);
                let content = format!("said {round} {n}");
                format!(
                    "{}\n",
                    serde_json::json!({"role": "user", "content": content, "embedding": numbers, "embedding_model": "m"})
                )
            })
            .collect();
        std::thread::scope(|threads| {
            threads.spawn(move || {
                // The tool may be dead by now.
                lines.chunks(10).try_for_each(|lines| input.write_all(lines.concat().as_bytes())).ok();
                input
            });
            for _ in 0..dice.below(150) {
                stream.hear().unwrap();
            }
            stream.child.kill().unwrap();
            stream.child.wait().unwrap();
        });
    }
    let mut store = open(&home);
    let mut shadow = Shadow::default();
    let what = Walk { vectors: true, ..Walk::records(all()) };
    store
        .walk(&what, &mut |record| {
            if let Record::Stored(mut message) = record {
                let vector = message.vector.take().unwrap();
                shadow.0.push((message, vector.numbers));
            }
            Ok(())
        })
        .unwrap();
    assert!(shadow.0.len() > 256, "{}", shadow.0.len());
    shadow.check(&mut *store, "m", &mut dice);
    assert_eq!(store.models().unwrap()[0].vectors, shadow.0.len() as u64);
    assert_eq!(store.unembedded("m", &all(), 1).unwrap().total, 0);
    home.check();
}

/// Messages and their vectors as the store has them, whatever its index says.
fn shadow_of(store: &mut dyn Store) -> Shadow {
    let mut shadow = Shadow::default();
    let what = Walk { vectors: true, ..Walk::records(all()) };
    let mut add = |record| {
        if let Record::Stored(mut message) = record
            && let Some(vector) = message.vector.take()
        {
            shadow.0.push((message, vector.numbers));
        }
        Ok(())
    };
    store.walk(&what, &mut add).unwrap();
    shadow
}

/// Starts to import messages with vectors, and kills it in the midst of that.
fn killed_import(home: &Home, round: usize, dice: &mut Dice) {
    let mut stream = home.talk("rsv-ingest", &[]);
    let lines: Vec<String> = (0..60)
        .map(|n| {
            let vector: Vec<f32> = (0..16).map(|_| number(dice)).collect();
            serde_json::json!({"role": "user", "content": format!("killed {round} {n}"), "partition": "p", "instance": "a",
                "embedding": vector, "embedding_model": "m"})
            .to_string()
        })
        .collect();
    for line in &lines {
        stream.say(line);
    }
    for _ in 0..dice.below(50) {
        stream.hear().unwrap();
    }
    stream.child.kill().unwrap();
    stream.child.wait().unwrap();
}

/// Damage that another program or a broken disk may do to the vectors and their index.
const DAMAGE: [&str; 7] = [
    "DELETE FROM embedding WHERE rowid = (SELECT rowid FROM embedding ORDER BY random() LIMIT 1)",
    "DELETE FROM embedding WHERE rowid IN (SELECT rowid FROM embedding ORDER BY random() LIMIT 20)",
    "DELETE FROM code_page WHERE n = (SELECT n FROM code_page ORDER BY random() LIMIT 1)",
    "UPDATE code_page SET codes = substr(codes, 1, length(codes) / 2)",
    "UPDATE code_page SET metas = substr(metas, 1, length(metas) - 7)",
    "DELETE FROM pending_code WHERE record % 3 = 0",
    "DELETE FROM pending_code WHERE collection IN (SELECT pool FROM collection)",
];

/// Keeps: The vector index is exact after damage and changes.
#[test]
fn nearest_is_exact_after_a_thousand_changes() {
    let home = Home::new();
    let (mut dice, mut store) = (Dice(23), open(&home));
    let outside = rusqlite::Connection::open(home.store()).unwrap();
    let mut shadow = Shadow::default();
    for step in 0..1000 {
        match dice.below(100) {
            0..50 => {
                let (message, numbers) = (any_message(step, &mut dice), vector(16, &shadow, &mut dice));
                let embedded = Some(Vector { model: "m".into(), numbers: numbers.clone() });
                store
                    .write(
                        &[Record::Stored(StoredRecord { vector: embedded, ..message.clone() })],
                        WriteRules::KEEP_OUT,
                    )
                    .unwrap();
                shadow.0.push((message, numbers));
            }
            50..80 if !shadow.0.is_empty() => {
                let at = dice.below(shadow.0.len());
                let numbers = vector(16, &shadow, &mut dice);
                store.put_vectors(&[embedding(&shadow.0[at].0.id, "m", &numbers)], None).unwrap();
                shadow.0[at].1 = numbers;
            }
            80..95 => {
                outside.execute_batch(DAMAGE[dice.below(DAMAGE.len())]).unwrap();
                shadow = shadow_of(&mut *store);
            }
            95..99 => {
                killed_import(&home, step, &mut dice);
                shadow = shadow_of(&mut *store);
            }
            99 => {
                store.drop_model("m").unwrap();
                let vectors: Vec<Embedding> =
                    shadow.0.iter().map(|(message, numbers)| embedding(&message.id, "m", numbers)).collect();
                store.put_vectors(&vectors, None).unwrap();
            }
            _ => {}
        }
        if step % 40 == 39 {
            shadow.check(&mut *store, "m", &mut dice);
        }
    }
    assert!(shadow.0.len() > 400, "{}", shadow.0.len());
    store.repair(Derived::VectorIndexes).unwrap();
    assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0], "what is mended is whole");
    shadow.check(&mut *store, "m", &mut dice);
    assert_eq!(store.models().unwrap()[0].vectors, shadow.0.len() as u64);
    home.check();
}

#[test]
fn a_repeated_search_sees_the_changes_of_others() {
    let home = Home::new();
    let (mut dice, mut asking, mut writing) = (Dice(31), open(&home), open(&home));
    let mut shadow = Shadow::default();
    for step in 0..24 {
        match step % 8 {
            6 => {
                for _ in 0..20 {
                    let (at, numbers) = (dice.below(shadow.0.len()), vector(384, &shadow, &mut dice));
                    writing.put_vectors(&[embedding(&shadow.0[at].0.id, "m", &numbers)], None).unwrap();
                    shadow.0[at].1 = numbers;
                }
            }
            7 => {
                // The same model by its name, with other numbers of the same messages.
                writing.drop_model("m").unwrap();
                for (_, numbers) in &mut shadow.0 {
                    numbers.rotate_left(1);
                }
                let vectors = shadow.0.iter().map(|(message, numbers)| embedding(&message.id, "m", numbers));
                writing.put_vectors(&vectors.collect::<Vec<_>>(), None).unwrap();
            }
            _ => {
                let mut batch = Vec::new();
                for at in 0..150 {
                    let numbers = vector(384, &shadow, &mut dice);
                    let message = message(&format!("m{step}-{at}"), step * 1000 + at, "said");
                    let embedded = Some(Vector { model: "m".into(), numbers: numbers.clone() });
                    batch.push(Record::Stored(StoredRecord { vector: embedded, ..message.clone() }));
                    shadow.0.push((message, numbers));
                }
                writing.write(&batch, WriteRules::KEEP_OUT).unwrap();
            }
        }
        let question = vector(384, &Shadow::default(), &mut dice);
        for _ in 0..2 {
            shadow.check_one(
                &mut *asking,
                "m",
                &question,
                &Select::messages(Scopes::One(scope("p", "p"))),
                10,
            );
        }
    }
    home.check();
}

#[test]
fn of_many_pages_the_nearest_are_exact() {
    let home = Home::new();
    let (mut dice, mut shadow) = (Dice(31), Shadow::default());
    let mut records = Vec::new();
    for n in 0..number_from("RSV_TEST_ROWS").unwrap_or(6_300) as i64 {
        let numbers: Vec<f32> = (0..8).map(|_| number(&mut dice)).collect();
        let message = StoredRecord { scope: scope("p", "many"), ..message(&format!("m{n}"), n, "said") };
        shadow.0.push((message.clone(), numbers.clone()));
        records.push(Record::Stored(StoredRecord {
            vector: Some(Vector { model: "m".into(), numbers }),
            ..message
        }));
    }
    open(&home).write(&records, WriteRules::KEEP_OUT).unwrap();
    for round in 0..6 {
        let mut store = open(&home);
        let vector: Vec<f32> = (0..8).map(|_| number(&mut dice)).collect();
        let which = [all(), Select::messages(Scopes::One(scope("p", "many")))][round % 2].clone();
        let wanted = shadow.nearest(&vector, &which, 10);
        assert_eq!(ids_of(&nearest(&mut *store, "m", &vector, &which, 10)), ids_of(&wanted));
    }
    // That two of the pages are gone is noticed.
    let outside = rusqlite::Connection::open(home.store()).unwrap();
    outside.execute_batch("DELETE FROM code_page WHERE n = 7; DELETE FROM code_page WHERE n = 20").unwrap();
    let vector: Vec<f32> = (0..8).map(|_| number(&mut dice)).collect();
    let found = nearest(&mut *open(&home), "m", &vector, &all(), 100);
    assert_eq!(ids_of(&found), ids_of(&shadow.nearest(&vector, &all(), 100)));
}

/// Makes a store one of a release that had no pools of codes.
const WITHOUT_POOLS: &str = "
    DELETE FROM fact WHERE name = 'code_pools';
    DELETE FROM code_page WHERE collection IN (SELECT pool FROM collection);
    DELETE FROM pending_code WHERE collection IN (SELECT pool FROM collection);
    DELETE FROM index_checksum WHERE collection IN (SELECT pool FROM collection)";

/// Keeps: Vectors of many small instances are found together as each alone, in older stores too.
#[test]
fn in_many_small_instances_the_nearest_are_exact() {
    let home = Home::new();
    let (mut dice, mut store, mut shadow) = (Dice(41), open(&home), Shadow::default());
    let outside = rusqlite::Connection::open(home.store()).unwrap();
    for round in 0..30 {
        if round == 15 {
            outside.execute_batch(WITHOUT_POOLS).unwrap();
            assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0]);
            shadow.check_scopes(&mut *store, &mut dice);
        }
        let mut batch = Vec::new();
        for n in 0..60 {
            // One of the instances has so many that its codes leave the pool.
            let instance = if n % 3 == 0 { 0 } else { dice.below(100) };
            let id = format!("m{round}-{n}");
            let message = StoredRecord {
                scope: scope("p", &format!("i{instance}")),
                ..message(&id, round * 100 + n, &format!("said {id}"))
            };
            let numbers = vector(1024, &shadow, &mut dice);
            let embedded = Some(Vector { model: "m".into(), numbers: numbers.clone() });
            batch.push(Record::Stored(StoredRecord { vector: embedded, ..message.clone() }));
            shadow.0.push((message, numbers));
        }
        store.write(&batch, WriteRules::KEEP_OUT).unwrap();
        if round == 0 {
            let from = "SELECT value FROM fact WHERE name = 'code_pools'";
            let from: String = outside.query_row(from, [], |row| row.get(0)).unwrap();
            assert_eq!(from, "0", "in a new store all are in pools");
        }
        for _ in 0..3 {
            let (at, numbers) = (dice.below(shadow.0.len()), vector(1024, &shadow, &mut dice));
            store.put_vectors(&[embedding(&shadow.0[at].0.id, "m", &numbers)], None).unwrap();
            shadow.0[at].1 = numbers;
            let (gone, _) = shadow.0.swap_remove(dice.below(shadow.0.len()));
            assert_eq!(store.forget(&[&gone.id], 1).unwrap(), 1);
        }
        if round % 3 == 2 {
            shadow.check_scopes(&mut *store, &mut dice);
        }
    }
    let count = |sql: &str| outside.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    let of_pool = "WHERE collection IN (SELECT pool FROM collection)";
    assert!(count(&format!("SELECT count(*) FROM code_page {of_pool}")) > 0);
    assert!(count(&format!("SELECT count(*) FROM pending_code {of_pool}")) < 8 * 30);
    assert_eq!(
        count("SELECT value = '0' FROM fact WHERE name = 'code_pools'"),
        1,
        "none is outside of a pool"
    );
    assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0]);
    home.check();
}

fn ids_of(found: &[(String, f64)]) -> Vec<&str> {
    found.iter().map(|(id, _)| id.as_str()).collect()
}

#[test]
fn of_real_vectors_too_the_nearest_are_exact() {
    let home = Home::with_model();
    let said = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/demo.jsonl")).unwrap();
    home.ingest(&["-p", "p"], &said);
    home.run("rsv-embed", &["--pending"], "").ok();
    let mut store = open(&home);
    let shadow = shadow_of(&mut *store);
    assert!(shadow.0.len() >= 60 && shadow.0[0].1.len() == 384);
    for (_, vector) in &shadow.0 {
        let wanted = shadow.nearest(vector, &all(), 10);
        assert_eq!(ids_of(&nearest(&mut *store, crate::support::MODEL, vector, &all(), 10)), ids_of(&wanted));
    }
}

#[test]
fn a_stale_index_is_repaired() {
    let home = Home::new();
    let (mut dice, mut store) = (Dice(29), open(&home));
    let mut shadow = Shadow::default();
    for n in 0..300 {
        let (message, numbers) = (any_message(n, &mut dice), vector(8, &shadow, &mut dice));
        shadow.0.push((message.clone(), numbers.clone()));
        let embedded = Some(Vector { model: "m".into(), numbers });
        store
            .write(&[Record::Stored(StoredRecord { vector: embedded, ..message })], WriteRules::KEEP_OUT)
            .unwrap();
    }
    assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0]);
    // Another program adds vectors, and knows of no index.
    store
        .write(
            &[Record::Stored(StoredRecord { scope: scope("far", "far"), ..message("new", 9, "new") })],
            WriteRules::KEEP_OUT,
        )
        .unwrap();
    let numbers: Vec<u8> = [9.0_f32; 8].iter().flat_map(|x| x.to_le_bytes()).collect();
    let outside = rusqlite::Connection::open(home.store()).unwrap();
    let sql = "INSERT INTO embedding (record, model, vector)
               SELECT record.n, model.n, ? FROM record, model WHERE record.id = 'new'";
    outside.execute(sql, [numbers]).unwrap();
    assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), ["1 vector indexes were rebuilt"]);
    shadow.0.push((StoredRecord { scope: scope("far", "far"), ..message("new", 9, "new") }, vec![9.0; 8]));
    shadow.check(&mut *store, "m", &mut dice);
    assert_eq!(store.unembedded("m", &all(), 1).unwrap().total, 0);
}

on_each_store!(records_with_words_and_no_vector_are_unembedded);
fn records_with_words_and_no_vector_are_unembedded(home: Home) {
    let mut store = open(&home);
    let parts = |json: &str| Content::Parts(json.into());
    let empty = [
        message("e1", 1, " \t\r\n\u{a0}\u{2003}\u{3000}\u{85}"),
        message_of("e2", 2, Content::Null),
        message_of("e3", 3, parts(r#"[{"type":"image_url","image_url":{"url":"u"}}]"#)),
    ];
    let said = [
        message("a", 50, "first"),
        message("b", 40, "\0"),
        StoredRecord { scope: scope("q", "q"), role: Some(Role::Tool), ..message("c", 60, "c") },
        message_of("d", 30, parts(r#"[{"type":"text","text":"d"}]"#)),
    ];
    let account = record_of("account", 99, Draft::new(&ACCOUNT, String::new()));
    let batch: Vec<Record> = empty.into_iter().chain(said).chain([account]).map(Record::Stored).collect();
    store.write(&batch, WriteRules::KEEP_OUT).unwrap();
    let mut wanted = |which: &Select, limit: usize, ids_wanted: &[&str], total: u64| {
        for model in ["new", "known"] {
            let (messages, count) = unembedded(&mut *store, model, which, limit);
            assert_eq!((ids(&messages), count), (ids_wanted.to_vec(), total), "{model} {which:?}");
        }
        if store.models().unwrap().is_empty() {
            // A model is known from its first vector on, be it an account's.
            store
                .write(&[Record::Embedding(embedding("account", "known", &[1.0]))], WriteRules::KEEP_OUT)
                .unwrap();
        }
    };
    let one = Select::messages(Scopes::One(scope("p", "p")));
    for _ in 0..2 {
        wanted(&all(), 9, &["c", "a", "b", "d"], 4);
    }
    wanted(&all(), 2, &["c", "a"], 4);
    wanted(&all(), 0, &[], 4);
    wanted(&one, 1, &["a"], 3);
    wanted(&Select::messages(Scopes::Partition("q".into())), 9, &["c"], 1);
    wanted(&Select::messages(Scopes::Partition("nowhere".into())), 9, &[], 0);
    wanted(&Select { roles: vec![Role::Tool], ..all() }, 9, &["c"], 1);
    wanted(&Select { until: Some(45), ..all() }, 1, &["b"], 2);
    let place = message("b", 40, "").position();
    wanted(&Select { before: Some(place), ..one.clone() }, 9, &["d"], 1);
    // Messages with a vector are pending no longer; late ones are, however old they are.
    store.write(&[Record::Embedding(embedding("c", "known", &[1.0]))], WriteRules::KEEP_OUT).unwrap();
    store.put_vectors(&[embedding("b", "known", &[1.0])], None).unwrap();
    let vector = Some(Vector { model: "known".into(), numbers: vec![2.0] });
    let late = [
        StoredRecord { vector, ..message("l1", 1000, "with its vector") },
        message("l2", -5, "very old"),
        message("l3", 70, "new"),
    ];
    store.write(&late.map(Record::Stored), WriteRules::KEEP_OUT).unwrap();
    let (messages, total) = unembedded(&mut *store, "known", &all(), 9);
    assert_eq!((ids(&messages), total), (vec!["l3", "a", "d", "l2"], 4));
    assert_eq!(store.unembedded("new", &all(), 0).unwrap().total, 7);
    store.drop_model("known").unwrap();
    assert_eq!(store.unembedded("known", &all(), 0).unwrap().total, 7);
    home.check();
}

on_each_store!(unembedded_is_what_a_scan_finds);
fn unembedded_is_what_a_scan_finds(home: Home) {
    let mut store = open(&home);
    let mut dice = Dice(3);
    let mut bare: Vec<StoredRecord> = Vec::new();
    for round in 0..25 {
        let fresh: Vec<StoredRecord> =
            (0..dice.below(40)).map(|n| any_message(round * 100 + n, &mut dice)).collect();
        bare.extend(fresh.iter().cloned());
        store
            .write(&fresh.into_iter().map(Record::Stored).collect::<Vec<_>>(), WriteRules::KEEP_OUT)
            .unwrap();
        let mut vectors = Vec::new();
        for _ in 0..dice.below(40).min(bare.len()) {
            vectors.push(embedding(&bare.swap_remove(dice.below(bare.len())).id, "m", &[1.0]));
        }
        if round % 2 == 0 {
            store.put_vectors(&vectors, None).unwrap();
        } else {
            store
                .write(&vectors.into_iter().map(Record::Embedding).collect::<Vec<_>>(), WriteRules::KEEP_OUT)
                .unwrap();
        }
        let shadow = Shadow(bare.iter().map(|message| (message.clone(), vec![])).collect());
        for _ in 0..10 {
            let which = if bare.is_empty() { all() } else { shadow.selection(&mut dice) };
            let mut wanted: Vec<StoredRecord> = bare.iter().filter(|m| meets(m, &which)).cloned().collect();
            wanted.sort_by_key(|message| std::cmp::Reverse(message.position()));
            let total = wanted.len() as u64;
            wanted.truncate(7);
            assert_eq!(unembedded(&mut *store, "m", &which, 7), (wanted, total), "{which:?}");
        }
    }
}

on_each_store!(vectors_are_replaced_whole_or_not_at_all);
fn vectors_are_replaced_whole_or_not_at_all(home: Home) {
    let mut store = open(&home);
    store
        .write(&[message("a", 1, "a"), message("b", 2, "b")].map(Record::Stored), WriteRules::KEEP_OUT)
        .unwrap();
    let note = {
        let mut extra = Object::default();
        extra.set("note", "1.0");
        Embedding { extra, ..embedding("a", "m", &[1.0, 0.0]) }
    };
    store
        .put_vectors(
            &[embedding("none", "m", &[1.0]), note, embedding("b", "m", &[0.0, 2.0])],
            Some(("k", "v")),
        )
        .unwrap();
    assert_eq!(store.fact("k").unwrap().as_deref(), Some("v"));
    let vectors = |store: &mut dyn Store| {
        let mut all = Vec::new();
        let what = Walk { embeddings: true, ..Walk::records(all_of("p")) };
        store
            .walk(&what, &mut |record| {
                if let Record::Embedding(embedding) = record {
                    all.push((embedding.of, embedding.vector, embedding.extra.is_empty()));
                }
                Ok(())
            })
            .unwrap();
        all
    };
    let before = [("a".to_owned(), vec![1.0, 0.0], false), ("b".to_owned(), vec![0.0, 2.0], true)];
    assert_eq!(vectors(&mut *store), before);
    let misfit = [embedding("a", "m", &[5.0, 5.0]), embedding("b", "m", &[5.0])];
    let error = store.put_vectors(&misfit, Some(("k", "w"))).unwrap_err();
    assert_eq!(error.to_string(), "embedding: has 1 numbers, but those of m have 2");
    assert_eq!(vectors(&mut *store), before);
    assert_eq!(store.fact("k").unwrap().as_deref(), Some("v"));
    // Of two for the same message the later stays, and it is counted once.
    store.put_vectors(&[embedding("a", "m", &[3.0, 0.0]), embedding("a", "m", &[0.0, -4.0])], None).unwrap();
    assert_eq!(vectors(&mut *store)[0], ("a".to_owned(), vec![0.0, -4.0], true));
    assert_eq!(store.models().unwrap()[0].vectors, 2);
    assert_eq!(
        nearest(&mut *store, "m", &[0.0, 1.0], &all(), 9),
        [("b".to_owned(), 1.0), ("a".to_owned(), -1.0)]
    );
    let error = store.nearest("m", &[1.0], &all(), 9).unwrap_err();
    assert_eq!(error.to_string(), "the question's vector has 1 numbers, but those of m have 2");
    assert_eq!(nearest(&mut *store, "another", &[1.0], &all(), 9), []);
}

fn all_of(partition: &str) -> Select {
    Select::messages(Scopes::Partition(partition.into()))
}

on_each_store!(removing_a_model_removes_its_vectors_and_links);
fn removing_a_model_removes_its_vectors_and_links(home: Home) {
    let mut store = open(&home);
    let synapse = |from: &str, to: &str, rel: &str, model: &str| {
        Record::Link(Link { rel: rel.into(), model: Some(model.into()), ..Link::responded_with(from, to, 1) })
    };
    let batch = [
        Record::Stored(message("a", 1, "a")),
        Record::Stored(message("b", 2, "b")),
        Record::Embedding(embedding("a", "old", &[1.0])),
        Record::Embedding(embedding("a", "new", &[1.0, 2.0])),
        synapse("a", "b", "SYNAPSE", "old"),
        synapse("b", "a", "SYNAPSE", "new"),
        synapse("a", "b", "CONSOLIDATED_INTO", "old"),
    ];
    store.write(&batch, WriteRules::KEEP_OUT).unwrap();
    store.drop_model("old").unwrap();
    let mut left = Vec::new();
    let what = Walk { embeddings: true, links: true, ..Walk::records(all()) };
    store
        .walk(&what, &mut |record| {
            left.push(record);
            Ok(())
        })
        .unwrap();
    let [a, b, _, new, _, by_new, other] = batch;
    assert_eq!(left, [a, b, new, other, by_new]);
    assert_eq!(store.models().unwrap(), [Model { name: "new".into(), dim: 2, vectors: 1 }]);
    assert_eq!(nearest(&mut *store, "old", &[1.0], &all(), 9), []);
    // Another dimension under the same name is no trouble then.
    assert_eq!(
        store.write(&[Record::Embedding(embedding("b", "old", &[1.0; 5]))], WriteRules::KEEP_OUT).unwrap(),
        [WriteOutcome::New]
    );
    store.drop_model("nothing").unwrap();
    home.check();
}

on_each_store!(facts_can_be_set_and_cleared);
fn facts_can_be_set_and_cleared(home: Home) {
    open(&home).set_fact("model", Some("m'1")).unwrap();
    open(&home).set_fact("other", Some("")).unwrap();
    assert_eq!(open(&home).fact("model").unwrap().as_deref(), Some("m'1"));
    assert_eq!(open(&home).fact("other").unwrap().as_deref(), Some(""));
    open(&home).set_fact("model", Some("m2")).unwrap();
    assert_eq!(open(&home).fact("model").unwrap().as_deref(), Some("m2"));
    open(&home).set_fact("model", None).unwrap();
    assert_eq!(open(&home).fact("model").unwrap(), None);
}

#[test]
fn a_job_is_run_by_one_process_at_a_time() {
    let home = Home::new();
    let (mut one, mut other) = (open(&home), open(&home));
    let claim = one.claim("embed").unwrap();
    assert!(claim.is_some());
    assert!(other.claim("embed").unwrap().is_none());
    assert!(other.claim("something-else").unwrap().is_some());
    drop(claim);
    assert!(other.claim("embed").unwrap().is_some());
    let file = std::fs::metadata(home.store().with_file_name("store.db-embed")).unwrap();
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777, 0o600);
    assert_eq!(file.len(), 0);
}

#[test]
fn a_store_that_is_missing_has_no_vectors() {
    let home = Home::new();
    let mut store = store::open(&StoreLocation::file(&home.store()), OpenMode::Existing).unwrap();
    assert_eq!(store.models().unwrap(), []);
    assert_eq!(unembedded(&mut *store, "m", &all(), 9), (vec![], 0));
    assert_eq!(nearest(&mut *store, "m", &[1.0], &all(), 9), []);
    assert_eq!(store.fact("model").unwrap(), None);
    assert!(store.claim("embed").unwrap().is_some());
    assert!(!home.path(".local").exists());
}
