//! A disk that loses its power, is full, or fails: what was acknowledged stays, nothing is half-written, and the store
//! opens. A library that is loaded into the tools (`disk.c`) logs what they write and sync; the test makes of the log
//! what a disk may hold after the power failed: what was synced, and any part of what was not.

use crate::robust::{by_trace, store_files, turn};
use crate::shared::made_once;
use crate::store_file::leave_log;
use crate::support::{Dice, Home, number_from, tries};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A disk writes whole sectors of so many bytes, or none of one.
const SECTOR: usize = 512;
const ROUNDS_OF_A_STORE: u64 = 12;
const TURNS_AT_ONCE: usize = 40;

/// The library for LD_PRELOAD, built from its source beside this file.
pub(crate) fn library() -> PathBuf {
    let directory = made_once("disk-library", |directory| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/disk.c");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC", "-o"]).args([&directory.join("library.so"), &source]).arg("-ldl");
        assert!(cc.status().unwrap().success(), "{cc:?}");
    });
    directory.join("library.so")
}

/// An operation of a tool on the disk.
enum Operation {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
    Sync,
    Unlink,
}

/// The log of a run, which may end within an entry: each operation and the path that it is on.
fn operations(log: &[u8]) -> Vec<(PathBuf, Operation)> {
    let mut rest = log;
    let mut take = move |length: usize| {
        let (taken, left) = rest.split_at_checked(length)?;
        rest = left;
        Some(taken)
    };
    let next = || {
        let mut number = || Some(u64::from_ne_bytes(take(8)?.try_into().ok()?) as usize);
        let [kind, offset, length, name_length] = [number()?, number()?, number()?, number()?];
        let path = PathBuf::from(std::str::from_utf8(take(name_length)?).unwrap());
        let operation = match kind as u8 {
            b'w' => Operation::Write { offset, bytes: take(length)?.to_owned() },
            b't' => Operation::Truncate { length: offset },
            b's' => Operation::Sync,
            b'u' => Operation::Unlink,
            other => panic!("{other}"),
        };
        Some((path, operation))
    };
    std::iter::from_fn(next).collect()
}

/// A file as the disk has it.
#[derive(Default)]
struct OnDisk {
    bytes: Vec<u8>,
    /// The operations on it since it was synced.
    pending: Vec<Operation>,
    /// Whether its directory was synced since the file was made.
    is_in_directory: bool,
}

fn put(bytes: &mut Vec<u8>, offset: usize, part: &[u8]) {
    bytes.resize(bytes.len().max(offset + part.len()), 0);
    bytes[offset..offset + part.len()].copy_from_slice(part);
}

impl OnDisk {
    fn sync(&mut self) {
        for operation in self.pending.drain(..) {
            match operation {
                Operation::Write { offset, bytes } => put(&mut self.bytes, offset, &bytes),
                Operation::Truncate { length } => self.bytes.resize(length, 0),
                Operation::Sync | Operation::Unlink => {}
            }
        }
    }

    /// The disk after the power failed: of each pending write it has all, nothing, or some of its sectors.
    fn after_cut(mut self, dice: &mut Dice) -> Vec<u8> {
        // Often a disk loses all or nothing.
        let manner = dice.below(4);
        for operation in std::mem::take(&mut self.pending) {
            let luck = if manner < 2 { manner } else { dice.below(3) };
            match (luck, operation) {
                (0, _) | (_, Operation::Sync | Operation::Unlink) => {}
                (_, Operation::Truncate { length }) => self.bytes.resize(length, 0),
                (1, Operation::Write { offset, bytes }) => put(&mut self.bytes, offset, &bytes),
                (_, Operation::Write { offset, bytes }) => {
                    let mut begin = 0;
                    while begin < bytes.len() {
                        let sector_end = (offset + begin) / SECTOR * SECTOR + SECTOR - offset;
                        let end = sector_end.min(bytes.len());
                        if dice.below(2) == 0 {
                            put(&mut self.bytes, offset + begin, &bytes[begin..end]);
                        }
                        begin = end;
                    }
                }
            }
        }
        self.bytes
    }
}

/// The same home, whose store is on a disk with this fault, all the time.
fn on_disk(home: &Home, fault: &str) -> Home {
    let directory = home.store().parent().unwrap().canonicalize().unwrap();
    let home = home.env("LD_PRELOAD", library().to_str().unwrap()).env("RSV_DISK_FAULT", fault);
    let home = home.env("RSV_DISK_LOG", home.path("log").to_str().unwrap());
    home.env("RSV_DISK_DIRECTORY", directory.to_str().unwrap())
}

/// A home whose store is on the disk that fails.
struct Machine {
    home: Home,
    dice: Dice,
    /// The turns that were acknowledged, and the first that was not sent yet.
    acknowledged: Vec<usize>,
    next: usize,
}

impl Machine {
    fn new(dice: Dice) -> Machine {
        let home = Home::new().at("1000");
        std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
        Machine { home, dice, acknowledged: Vec::new(), next: 0 }
    }

    fn directory(&self) -> PathBuf {
        self.home.store().parent().unwrap().canonicalize().unwrap()
    }

    /// The files of the store but for the memory that processes share.
    fn files(&self) -> BTreeMap<PathBuf, OnDisk> {
        let paths = self.directory().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files = paths.filter(|path| !path.to_string_lossy().ends_with("-shm"));
        let on_disk = |path: &Path| OnDisk {
            bytes: std::fs::read(path).unwrap(),
            is_in_directory: true,
            ..OnDisk::default()
        };
        files.map(|path| (path.clone(), on_disk(&path))).collect()
    }

    /// Stores some turns by rsv-ingest or rsv-import while the disk does as told at an operation; how the tool ended.
    fn store(&mut self, fault: &str) -> Output {
        let first = self.next;
        self.next += TURNS_AT_ONCE;
        let turns: Vec<usize> = (first..self.next).collect();
        let tool = ["rsv-ingest", "rsv-ingest", "rsv-import"][self.dice.below(3)];
        let lines: Vec<String> = if tool == "rsv-import" {
            let other = Home::new().at("1000");
            let lines: String = turns.iter().map(|n| turn(*n) + "\n").collect();
            other.run("rsv-ingest", &[], lines).ok();
            other.run("rsv-export", &[], "").ok().lines().map(|line| format!("{line}\n")).collect()
        } else {
            turns.iter().map(|n| turn(*n) + "\n").collect()
        };
        // As often near the beginning as near the end.
        let reach = 1 << self.dice.below(10);
        let mut command = self.home.command(tool);
        command.env("LD_PRELOAD", library()).env("RSV_DISK_DIRECTORY", self.directory());
        command.env("RSV_DISK_LOG", self.home.path("log")).env("RSV_DISK_FAULT", fault);
        command.env("RSV_DISK_AT", (1 + self.dice.below(reach)).to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        let at_once = 1 + self.dice.below(16);
        let output = std::thread::scope(|threads| {
            // The tool may be dead by now.
            threads.spawn(move || {
                lines.chunks(at_once).try_for_each(|lines| input.write_all(lines.concat().as_bytes())).ok()
            });
            process.wait_with_output().unwrap()
        });
        if tool == "rsv-import" {
            self.acknowledged.extend(output.status.success().then_some(turns).into_iter().flatten());
        } else {
            let said = String::from_utf8_lossy(&output.stdout);
            let whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["n"].as_u64().unwrap();
            self.acknowledged.extend(whole.map(|line| number(line) as usize));
        }
        output
    }

    /// Makes of the store what the disk has after the power failed.
    fn cut(&mut self, mut files: BTreeMap<PathBuf, OnDisk>) {
        let directory = self.directory();
        // Files that may be there again, since their directory was not synced.
        let mut removed: BTreeMap<PathBuf, OnDisk> = BTreeMap::new();
        let log = std::fs::read(self.home.path("log")).unwrap();
        for (path, operation) in operations(&log) {
            match operation {
                Operation::Sync if path == directory => {
                    removed.clear();
                    for file in files.values_mut() {
                        file.is_in_directory = true;
                    }
                }
                Operation::Sync => files.entry(path).or_default().sync(),
                Operation::Unlink => {
                    if let Some(file) = files.remove(&path).filter(|file| file.is_in_directory) {
                        removed.insert(path, file);
                    }
                }
                operation => files.entry(path).or_default().pending.push(operation),
            }
        }
        for path in directory.read_dir().unwrap() {
            std::fs::remove_file(path.unwrap().path()).unwrap();
        }
        for (path, file) in removed {
            if self.dice.below(2) == 0 {
                std::fs::write(path, file.after_cut(&mut self.dice)).unwrap();
            }
        }
        for (path, file) in files {
            if file.is_in_directory || self.dice.below(2) == 0 {
                std::fs::write(path, file.after_cut(&mut self.dice)).unwrap();
            }
        }
        for path in directory.read_dir().unwrap() {
            let private = PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(path.unwrap().path(), private).unwrap();
        }
    }

    /// Fails unless the store opens, is sound, and has all that was acknowledged, and whole turns only.
    fn check(&self) {
        if !self.home.store().exists() {
            assert_eq!(self.acknowledged, [0; 0], "the store is gone");
            return;
        }
        let traces = by_trace(&self.home);
        for n in &self.acknowledged {
            assert!(traces.contains_key(&format!("t{n}")), "turn {n} was acknowledged and is lost");
        }
        for (trace, records) in &traces {
            let n = &trace[1..];
            let whole = [format!("ask {n}"), "account".into(), format!("reply {n}"), "link".into()];
            assert_eq!(*records, whole, "every turn is there whole and once");
        }
        assert_eq!(self.home.open().examine(10).unwrap().errors, [""; 0]);
        self.home.check();
    }
}

/// Does rounds on stores that hold nothing at first, so that their creation is interrupted too: 36, or what a variable
/// says.
fn rounds(variable: &str, mut round: impl FnMut(&mut Machine)) {
    tries(number_from(variable).unwrap_or(36).div_ceil(ROUNDS_OF_A_STORE), |dice| {
        let mut machine = Machine::new(dice);
        for _ in 0..ROUNDS_OF_A_STORE {
            round(&mut machine);
        }
    });
}

/// Keeps: Acknowledged records survive a kill and a power cut.
#[test]
fn acknowledged_turns_survive_a_power_cut() {
    let mut killed = 0;
    rounds("RSV_TEST_CUTS", |machine| {
        let files = machine.files();
        let _ = std::fs::remove_file(machine.home.path("log"));
        // Else the power fails after the tool has ended.
        killed += u32::from(machine.store("cut").status.code().is_none());
        machine.cut(files);
        machine.check();
    });
    assert!(killed > 0);
}

/// Keeps: A disk that is full or fails leaves no half of a turn.
#[test]
fn a_disk_that_fails_once_is_reported_and_loses_nothing() {
    let mut reported = 0;
    rounds("RSV_TEST_FAULTS", |machine| {
        let fault = ["enospc", "eio", "short", "read", "nolock"][machine.dice.below(5)];
        let ran = machine.store(fault);
        let ran = machine.home.ran(ran);
        // A lock that was refused once is taken the next time.
        assert!(ran.status == 0 || fault != "nolock", "{ran}");
        if ran.status != 0 {
            let said = ran.trouble();
            assert!(
                fault == "enospc" || !said.contains("is full") && !said.contains("free some space"),
                "{fault}: {said}"
            );
            reported += 1;
        }
        machine.check();
    });
    assert!(reported > 0);
}

/// Keeps: A store on a full disk can be read.
#[test]
fn a_store_on_a_full_disk_is_read_and_exported_to_another() {
    let readers: [(&str, &[&str]); 5] = [
        ("rsv-export", &["--vectors"]),
        ("rsv-view", &["--all"]),
        ("rsv-search", &["owl"]),
        ("rsv-link", &["--stats"]),
        ("rsv-config", &["status"]),
    ];
    // With the log of a process that was killed, and without.
    for has_log in [false, true] {
        let home = Home::new().at("1000");
        home.run("rsv-ingest", &["An owl in a wood"], "").ok();
        if has_log {
            leave_log(&home, "A second owl");
        }
        let before = store_files(&home);
        assert_eq!(before.len(), 1 + usize::from(has_log));
        let read = |home: &Home| readers.map(|(tool, words)| home.run(tool, words, "").ok());
        let intact = read(&home);
        assert_eq!(intact[0].lines().count(), 1 + usize::from(has_log));
        for fault in ["full", "full-directory"] {
            let full = on_disk(&home, fault);
            assert_eq!(read(&full), intact, "{fault}, log: {has_log}");
            let said = full.run("rsv-ingest", &["Another"], "").trouble();
            assert!(
                ["the disk is full", "no space left on device"].iter().any(|text| said.contains(text))
                    && said.contains("hint: free some space"),
                "{fault}: {said}"
            );
            // An attempt may leave an empty log.
            let mut after = store_files(&home);
            after.retain(|_, bytes| !bytes.is_empty());
            assert!(after == before, "{fault}, log: {has_log}: {:?}", after.keys());
        }
        // Two may read at once: with a log, one after the other.
        let full = on_disk(&home, "full");
        std::thread::scope(|threads| {
            let both = [(); 2].map(|()| threads.spawn(|| read(&full)));
            assert!(both.into_iter().all(|one| one.join().unwrap() == intact));
        });
    }
}

#[test]
fn a_store_cannot_be_made_where_no_file_can() {
    let home = Home::new();
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    for fault in ["full", "full-directory"] {
        let said = on_disk(&home, fault).run("rsv-ingest", &["An owl"], "").trouble();
        assert!(said.contains(" full") || said.contains("no space left on device"), "{fault}: {said}");
        assert!(said.contains("hint: free some space"), "{fault}: {said}");
    }
    home.run("rsv-ingest", &["An owl"], "").ok();
    assert_eq!(home.contents("rsv-view", &[]), ["An owl"]);
}

#[test]
fn a_file_system_that_refuses_locks_is_named() {
    let home = Home::new();
    home.run("rsv-ingest", &["An owl in a wood"], "").ok();
    let before = store_files(&home);
    let without = on_disk(&home, "nolock");
    for (tool, words) in [
        ("rsv-export", &[][..]),
        ("rsv-view", &[]),
        ("rsv-search", &["owl"]),
        ("rsv-ingest", &["Another"]),
        ("rsv-forget", &["--everything"]),
    ] {
        // No other program locks it, and none is waited for.
        assert_eq!(
            without.run(tool, words, "").trouble().replace(&home.store().display().to_string(), "PATH"),
            format!(
                "{tool}: error: cannot open store sqlite:PATH: its file system refuses locks\n\
                 {tool}: hint: mount the file system with locks, or move the store to a local disk\n"
            )
        );
    }
    assert!(store_files(&home) == before);
    std::fs::remove_file(home.store()).unwrap();
    let said = without.run("rsv-ingest", &["The first"], "").trouble();
    assert!(said.contains("its file system refuses locks"), "{said}");
}
