//! Two stores that forget, let return and exchange exports at random: what was forgotten is never found again, all else
//! always is, and in the end both hold the same.

use crate::support::{Dice, Home, lines_of, number_from, on_each_store, text};
use rsv::record::{Scopes, TombstoneState, identity_digest};
use rsv::store::{Select, Store};
use rsv::text::{Occur, Term};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The steps of a run, unless `RSV_TEST_STEPS` gives their number; fewer at a server.
const STEPS: usize = 100;
const STEPS_AT_SERVER: usize = 30;

/// The messages that there may be. Those of the second half have two ids each, and neither vectors nor links, which
/// name their message by its id.
const MESSAGES: usize = 40;
const WITH_ONE_ID: usize = MESSAGES / 2;

/// A message under one of its ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Copied {
    message: usize,
    variant: usize,
}

impl Copied {
    fn at_random(dice: &mut Dice) -> Copied {
        let message = dice.below(MESSAGES);
        Copied { message, variant: if message < WITH_ONE_ID { 0 } else { dice.below(2) } }
    }

    fn id(self) -> String {
        format!("m{}-{}", self.message, self.variant)
    }

    fn text(self) -> String {
        format!("{} said x{}x of old", word(self.message), self.message)
    }

    /// The line, with a link to the message before it if that has vectors too.
    fn lines(self) -> String {
        let Copied { message, .. } = self;
        let mut line = json!({"id": self.id(), "trace_id": format!("t{message}"), "role": "user",
            "content": self.text(), "timestamp": 1000 + message});
        if message < WITH_ONE_ID {
            line["embedding"] = json!(vector(message));
            line["embedding_model"] = json!("m");
        }
        format!("{line}\n")
    }
}

/// A word that every seventh message has.
fn word(message: usize) -> String {
    format!("w{}w", message % 7)
}

fn vector(message: usize) -> Vec<f32> {
    (0..4).map(|n| ((message * 7 + n * 3) % 11) as f32 - 5.0).collect()
}

type Tombstones = BTreeMap<String, (i64, TombstoneState)>;

/// The contents of a store, by the model: the variant of each message, and tombstones by id.
#[derive(Clone, Default, PartialEq, Debug)]
struct Holdings {
    present: BTreeMap<usize, usize>,
    tombstones: Tombstones,
}

impl Holdings {
    /// Stores a message; false if it is kept out.
    fn store(&mut self, copied: Copied, returns_at: Option<i64>) -> bool {
        if self.present.contains_key(&copied.message) {
            return true;
        }
        let of_message = |id: &str| id.starts_with(&format!("m{}-", copied.message));
        for (id, (time, state)) in &mut self.tombstones {
            if of_message(id) && *state == TombstoneState::Forgotten {
                let Some(at) = returns_at else { return false };
                (*time, *state) = (at.max(*time + 1), TombstoneState::Returned);
            }
        }
        self.present.insert(copied.message, copied.variant);
        true
    }

    fn forget(&mut self, messages: &BTreeSet<usize>, at: i64) {
        for message in messages {
            let Some(variant) = self.present.remove(message) else { continue };
            let id = Copied { message: *message, variant }.id();
            let time = self.tombstones.get(&id).map_or(at, |(time, _)| at.max(time + 1));
            self.tombstones.insert(id, (time, TombstoneState::Forgotten));
        }
    }

    /// Imports an export; the number of messages that are kept out.
    fn import(&mut self, export: &Holdings, returns_at: Option<i64>) -> usize {
        for (id, tombstone) in &export.tombstones {
            if self.tombstones.get(id).is_none_or(|own| tombstone > own) {
                self.tombstones.insert(id.clone(), *tombstone);
                if tombstone.1 == TombstoneState::Forgotten {
                    self.present.retain(|message, _| !id.starts_with(&format!("m{message}-")));
                }
            }
        }
        let all = export.present.iter().map(|(message, variant)| (*message, *variant));
        all.filter(|(message, variant)| {
            !self.store(Copied { message: *message, variant: *variant }, returns_at)
        })
        .count()
    }
}

/// A store and what it should hold.
struct Replica {
    home: Home,
    store: Box<dyn Store>,
    holdings: Holdings,
    /// The output of rsv-forget, with the messages in it.
    forgotten: Vec<(String, Holdings)>,
}

impl Replica {
    fn new(home: Home) -> Replica {
        Replica { store: home.open(), home, holdings: Holdings::default(), forgotten: Vec::new() }
    }

    fn run(&self, now: i64, tool: &str, words: &[&str], stdin: &str) -> (String, String, i32) {
        let ran = self.home.at(&now.to_string()).run(tool, words, stdin);
        assert!(ran.status < 2, "{tool} {words:?}: {ran}");
        (ran.stdout, ran.stderr, ran.status)
    }

    /// Takes lines in; `kept_out` is the number of messages that the tool must name.
    fn take(&self, now: i64, tool: &str, allow_return: bool, lines: &str, kept_out: usize) {
        let words: &[&str] = if allow_return { &["--allow-return"] } else { &[] };
        let (_, stderr, _) = self.run(now, tool, words, lines);
        let records =
            if kept_out == 1 { "record was forgotten and is" } else { "records were forgotten and are" };
        let reported = stderr.contains(&format!("{kept_out} {records} kept out"));
        assert_eq!(reported, kept_out > 0, "{kept_out}: {stderr}");
    }

    fn ingest(&mut self, dice: &mut Dice, now: i64) {
        let allow_return = dice.below(8) == 0;
        let copied: Vec<Copied> = (0..1 + dice.below(4)).map(|_| Copied::at_random(dice)).collect();
        let returns_at = allow_return.then_some(now);
        let kept_out: BTreeSet<Copied> =
            copied.iter().filter(|one| !self.holdings.store(**one, returns_at)).copied().collect();
        let lines: String = copied.iter().map(|one| one.lines()).collect();
        self.take(now, "rsv-ingest", allow_return, &lines, kept_out.len());
        self.link(dice, now);
    }

    /// Links two messages that are there.
    fn link(&self, dice: &mut Dice, now: i64) {
        let (one, other) = (dice.below(WITH_ONE_ID), dice.below(WITH_ONE_ID));
        let is_there = |message| self.holdings.present.contains_key(message);
        if one != other && is_there(&one) && is_there(&other) {
            let [from, to] = [one, other].map(|message| Copied { message, variant: 0 }.id());
            let link = json!({"rel": "RELATED", "from": from, "to": to});
            self.run(now, "rsv-ingest", &[], &format!("{link}\n"));
        }
    }

    fn forget(&mut self, dice: &mut Dice, now: i64) {
        let before = self.holdings.clone();
        let one = dice.below(MESSAGES);
        let (messages, words, stdin): (BTreeSet<usize>, Vec<String>, String) = match dice.below(3) {
            0 => {
                let all = (0..MESSAGES).filter(|message| word(*message) == word(one)).collect();
                let (hits, _, _) = self.run(now, "rsv-search", &["--limit", "100", &word(one)], "");
                (all, Vec::new(), hits)
            }
            1 => {
                let both = [0, 1].map(|variant| Copied { message: one, variant }.id());
                ([one].into(), both.into(), String::new())
            }
            _ => {
                let time = (1000 + one).to_string();
                let words = ["--since", &time, "--until", &time].map(str::to_owned);
                ([one].into(), words.into(), String::new())
            }
        };
        self.holdings.forget(&messages, now);
        let mut removed = before.clone();
        removed.present.retain(|message, _| messages.contains(message));
        removed.tombstones.clear();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (printed, _, status) = self.run(now, "rsv-forget", &words, &stdin);
        assert_eq!(status == 0, !removed.present.is_empty(), "{printed}");
        self.forgotten.push((printed, removed));
    }

    /// Undoes one of the last times that something was forgotten.
    fn undo(&mut self, dice: &mut Dice, now: i64) {
        if self.forgotten.is_empty() {
            return;
        }
        let back = 1 + dice.below(self.forgotten.len().min(5));
        let (printed, removed) = self.forgotten[self.forgotten.len() - back].clone();
        self.holdings.import(&removed, Some(now));
        // Links to messages that are gone by now are refused.
        let lines: String = lines_of(&printed)
            .iter()
            .filter(|line| line["kind"] != "link")
            .map(|line| format!("{line}\n"))
            .collect();
        self.take(now, "rsv-import", true, &lines, 0);
    }

    fn export(&self) -> (String, Holdings) {
        let ran = self.home.run("rsv-export", &["--vectors"], "");
        (ran.ok(), self.holdings.clone())
    }

    fn import(&mut self, now: i64, (lines, holdings): &(String, Holdings)) {
        let kept_out = self.holdings.import(holdings, None);
        self.take(now, "rsv-import", false, lines, kept_out);
    }

    /// Fails unless searches find what is there, and nothing else.
    fn search(&mut self, dice: &mut Dice) {
        let all = Select::messages(Scopes::All);
        let asked = word(dice.below(MESSAGES));
        let hits = self.store.find(&Term::parse(&asked), Occur::All, &all, 100).unwrap();
        let found: BTreeSet<String> = hits.into_iter().map(|hit| hit.record.id).collect();
        let present = || self.holdings.present.iter();
        let id = |(message, variant): (&usize, &usize)| Copied { message: *message, variant: *variant }.id();
        let wanted: BTreeSet<String> =
            present().filter(|(message, _)| word(**message) == asked).map(id).collect();
        assert_eq!(found, wanted, "{asked}");
        let hits = self.store.nearest("m", &vector(dice.below(MESSAGES)), &all, 100).unwrap();
        let found: BTreeSet<String> = hits.into_iter().map(|hit| hit.record.id).collect();
        let wanted: BTreeSet<String> =
            present().filter(|(message, _)| **message < WITH_ONE_ID).map(id).collect();
        assert_eq!(found, wanted, "by meaning");
    }

    /// Fails unless an export has what is there, tombstones first.
    fn check(&self) {
        let lines = lines_of(&self.export().0);
        let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
        let rank = |kind: &&str| ["tombstone", "message", "embedding", "link"].iter().position(|k| k == kind);
        assert!(kinds.is_sorted_by_key(rank), "{kinds:?}");
        let of_kind = |kind: &'static str| lines.iter().filter(move |line| line["kind"] == kind);
        let ids: BTreeSet<String> = of_kind("message").map(|line| text(&line["id"])).collect();
        let wanted = self.holdings.present.iter();
        let wanted: BTreeSet<String> =
            wanted.map(|(message, variant)| Copied { message: *message, variant: *variant }.id()).collect();
        assert_eq!(ids, wanted);
        let tombstones: BTreeMap<String, (i64, String)> = of_kind("tombstone")
            .map(|line| (text(&line["of"]), (line["timestamp"].as_i64().unwrap(), text(&line["state"]))))
            .collect();
        let wanted = self.holdings.tombstones.iter();
        let wanted: BTreeMap<String, (i64, String)> = wanted
            .map(|(id, (time, state))| (identity_digest("message", id), (*time, state.name().to_owned())))
            .collect();
        assert_eq!(tombstones, wanted);
    }
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
fn run(homes: [Home; 2], steps: usize) {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(43);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let mut replicas = homes.map(Replica::new);
    let mut exports: Vec<(String, Holdings)> = Vec::new();
    let mut now = 1_700_000_000_000;
    for _ in 0..steps {
        // Often at one time: then `forgotten` holds.
        now += dice.below(2) as i64;
        let own = dice.below(2);
        match dice.below(20) {
            0..7 => replicas[own].ingest(&mut dice, now),
            7..11 => replicas[own].forget(&mut dice, now),
            11..13 => replicas[own].undo(&mut dice, now),
            13..15 => exports.push(replicas[own].export()),
            15..18 if !exports.is_empty() => {
                let export = exports[dice.below(exports.len())].clone();
                replicas[own].import(now, &export);
            }
            15..18 => {}
            18 => replicas[own].check(),
            _ => {
                let export = replicas[own].export();
                replicas[1 - own].import(now, &export);
            }
        }
        for replica in &mut replicas {
            replica.search(&mut dice);
        }
    }
    let [one, other] = &mut replicas;
    let export = one.export();
    other.import(now, &export);
    let export = other.export();
    one.import(now, &export);
    one.check();
    other.check();
    let keys = |replica: &Replica| -> Vec<usize> { replica.holdings.present.keys().copied().collect() };
    assert_eq!(keys(one), keys(other));
    assert_eq!(one.holdings.tombstones, other.holdings.tombstones);
}

on_each_store!(two_stores_that_forget_and_exchange_exports_agree);
fn two_stores_that_forget_and_exchange_exports_agree(home: Home) {
    let short = if home.is_at_server() { STEPS_AT_SERVER } else { STEPS };
    run([Home::new(), home], number_from("RSV_TEST_STEPS").map_or(short, |steps| steps as usize));
}
