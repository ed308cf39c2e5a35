//! Two machines that exchange what is new in their stores, both ways, come to the same.

use crate::support::{Dice, Home, lines_of, number_from, on_each_store};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A machine: a home, and what its edits need to know.
pub(crate) struct Machine {
    pub(crate) home: Home,
    pub(crate) name: &'static str,
    pub(crate) edits: usize,
    /// The lines that rsv-forget printed, of which some come back.
    pub(crate) forgotten: Vec<String>,
}

/// The number of documents that both machines change.
const DOCUMENTS: usize = 12;
const CURSOR: &str = "cursor";

impl Machine {
    pub(crate) fn new(home: Home, name: &'static str) -> Machine {
        Machine { home, name, edits: 0, forgotten: Vec::new() }
    }

    /// The records of a kind that are there.
    fn ids(&self, kind: &str) -> Vec<String> {
        let lines = lines_of(&self.home.run("rsv-export", &["--kind", kind], "").ok());
        lines
            .iter()
            .filter(|line| line["kind"] == kind)
            .map(|line| line["id"].as_str().unwrap().into())
            .collect()
    }

    pub(crate) fn chosen(&self, kind: &str, dice: &mut Dice) -> Option<String> {
        let ids = self.ids(kind);
        (!ids.is_empty()).then(|| ids[dice.below(ids.len())].clone())
    }

    /// Changes something in up to ten edits of one kind.
    pub(crate) fn edit(&mut self, dice: &mut Dice) {
        let count = 1 + dice.below(10);
        let many = |line: &mut dyn FnMut(usize) -> Value| -> String {
            (0..count).map(|n| format!("{}\n", line(n))).collect()
        };
        let (name, n) = (self.name, self.edits);
        self.edits += count;
        match dice.below(10) {
            0 | 1 => {
                let mut line = |at| json!({"role": "user", "content": format!("Owl {} of {name}", n + at)});
                self.home.run("rsv-ingest", &["-q", "-p", "p"], many(&mut line)).ok();
            }
            2 => {
                // All of them in one millisecond.
                let mut line = |at| {
                    json!({"kind": "memory", "partition": "p", "title": format!("T{}", n + at),
                        "content": name, "outcome": "success"})
                };
                self.home.run("rsv-ingest", &["-q"], many(&mut line)).ok();
            }
            3 => {
                let mut line = |at| {
                    json!({"kind": "document", "uri": format!("viking://resources/d{}", dice.below(DOCUMENTS)),
                        "content": format!("Version {} of {name}", n + at)})
                };
                self.home.run("rsv-ingest", &["-q", "-p", "p"], many(&mut line)).ok();
            }
            4 => {
                let Some(id) = self.chosen("memory", dice) else { return };
                let how = ["--helpful", "--unhelpful", "--used", "--succeeded"][dice.below(4)];
                self.home.run("rsv-signal", &["-q", "-p", "p", how, &id], "").ok();
            }
            5 => {
                let Some(id) = self.chosen("message", dice) else { return };
                let rule = ["--always", "--never", "--auto"][dice.below(3)];
                self.home.run("rsv-signal", &["-q", "-p", "p", rule, &id], "").ok();
            }
            6 | 7 => {
                let kind = ["message", "memory", "document"][dice.below(3)];
                let Some(id) = self.chosen(kind, dice) else { return };
                let gone = self.home.run("rsv-forget", &["-q", "--all", &id], "");
                self.forgotten.push(gone.stdout);
            }
            8 => {
                let Some(lines) = (!self.forgotten.is_empty())
                    .then(|| self.forgotten.swap_remove(dice.below(self.forgotten.len())))
                else {
                    return;
                };
                self.home.run("rsv-import", &["-q", "--allow-return"], lines);
            }
            _ => {
                let (Some(from), Some(to)) = (self.chosen("message", dice), self.chosen("message", dice))
                else {
                    return;
                };
                let words: &[&str] = if dice.below(3) == 0 { &["--unlink"] } else { &[] };
                // There may be none to take away, or both ends are one.
                self.home.run("rsv-link", &[words, &[&from, &to]].concat(), "");
            }
        }
    }

    /// The records that are new since the last exchange; the cursor moves once `read` takes them.
    fn pass_on(&self, other: &Machine) -> String {
        let lines = self.export_new();
        let ran = other.home.run("rsv-import", &["-q"], &lines);
        assert_eq!(ran.status, 0, "{}: {ran}", self.name);
        std::fs::rename(self.home.path("next"), self.home.path(CURSOR)).unwrap();
        lines
    }

    fn export_new(&self) -> String {
        self.home.run("rsv-export", &["--vectors", "--new-since", CURSOR, "--next", "next"], "").ok()
    }

    /// An exchange that ends in the middle of a line, and so does not move on.
    fn pass_on_in_part(&self, other: &Machine, dice: &mut Dice) {
        let lines = self.export_new();
        if lines.is_empty() {
            return;
        }
        let mut end = dice.below(lines.len());
        while !lines.is_char_boundary(end) {
            end -= 1;
        }
        other.home.run("rsv-import", &["-q"], &lines[..end]);
    }

    pub(crate) fn export(&self) -> String {
        self.home.run("rsv-export", &["--vectors"], "").ok()
    }
}

/// Fails with the first lines that differ.
pub(crate) fn assert_same(one: &Machine, other: &Machine) {
    let (one, other) = (one.export(), other.export());
    if one == other {
        return;
    }
    let (here, there): (BTreeSet<&str>, BTreeSet<&str>) = (one.lines().collect(), other.lines().collect());
    let only = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| -> Vec<String> {
        a.difference(b).take(3).map(|line| (*line).to_owned()).collect()
    };
    panic!("only here: {:#?}\nonly there: {:#?}", only(&here, &there), only(&there, &here));
}

on_each_store!(two_machines_that_exchange_changes_both_ways_converge);
/// Keeps: Two machines that exchange changes have the same in the end.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn two_machines_that_exchange_changes_both_ways_converge(first: Home) {
    let short = if first.is_at_server() { 30 } else { 80 };
    let edits = number_from("RSV_TEST_EDITS").unwrap_or(short) as usize;
    let seed = number_from("RSV_TEST_SEED").unwrap_or(36);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed + u64::from(first.is_at_server()));
    // The other machine has a store in a file, also where one has a server.
    let mut machines = [Machine::new(first, "nest"), Machine::new(Home::new(), "barn")];
    while machines.iter().any(|machine| machine.edits < edits) {
        for machine in &mut machines {
            machine.edit(&mut dice);
        }
        match dice.below(6) {
            0 => drop(machines[0].pass_on(&machines[1])),
            1 => drop(machines[1].pass_on(&machines[0])),
            2 => machines[0].pass_on_in_part(&machines[1], &mut dice),
            3 => machines[1].pass_on_in_part(&machines[0], &mut dice),
            _ => {}
        }
    }
    let [nest, barn] = &machines;
    // Records from the other are new too, and change nothing there.
    for _ in 0..3 {
        nest.pass_on(barn);
        barn.pass_on(nest);
    }
    assert_same(nest, barn);
    assert_eq!((nest.pass_on(barn), barn.pass_on(nest)), (String::new(), String::new()));
    for machine in &machines {
        assert!(machine.edits >= edits && machine.export().lines().count() > 20);
        machine.home.check();
        assert!(machine.home.run("rsv-signal", &["--rebuild"], "").stderr.contains("were right"));
    }
}
