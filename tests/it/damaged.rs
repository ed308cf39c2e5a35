//! Damaged stores: what can still be read comes out, and the commands of the doctor replace the file.

use crate::disk::library;
use crate::doctor::{healthy, of};
use crate::fake::dead;
use crate::shared::made_once;
use crate::support::{Dice, Home, Ran, lines_of, number_from, text, tries};
use crate::terminal::Terminal;
use rsv::record::{AuditAction, AuditRow, Scope, TouchedRecords};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

const PAGE: usize = 16_384;
const MESSAGES: usize = 1400;
const PARTITIONS: [&str; 3] = ["garden-plot", "kitchen-shelf", "tool-shed"];
const MODEL: &str = "model-of-the-tests";

/// A mark that is found in the bytes of a file.
fn mark(kind: char, n: usize) -> String {
    format!("<<{kind}{n}>>")
}

/// Lines of every kind, each with a mark of its own: in the text of a message every 1000 bytes or so, else in a member
/// that rsv does not know.
fn lines() -> String {
    let mut dice = Dice(17);
    let id = |n: usize| format!("{:08x}-message-{n}", n.wrapping_mul(0x9e37_79b9) % 0xffff_ffff);
    let mut lines = Vec::new();
    for n in 0..MESSAGES {
        let mut words = |count: usize| {
            let word = |_| format!("{}{} ", ["owl", "fern", "gate", "rain"][dice.below(4)], dice.below(500));
            (0..count).map(word).collect::<String>()
        };
        let parts = if n % 90 == 7 { 40 } else { 1 };
        let content: String =
            (0..parts).map(|_| mark('m', n) + &words(if parts > 1 { 120 } else { 40 })).collect();
        let scope = (PARTITIONS[n / 2 % 3], format!("bed-{}", n / 2 % 4));
        let (time, trace) =
            (1_700_000_000_000_i64 + (n * 7919 % MESSAGES) as i64 * 1000, format!("trace-{}", n / 2));
        lines.push(json!({"kind": "message", "id": id(n), "trace_id": trace, "partition": scope.0, "instance": scope.1,
            "role": (["user", "assistant"][n % 2]), "content": content + &mark('m', n), "timestamp": time}));
        if n % 4 == 0 {
            lines.push(json!({"kind": "account", "id": format!("account-{n}"), "trace_id": trace, "partition": scope.0,
                "instance": scope.1, "timestamp": time, "digest": mark('d', n), "window": 8192, "note": mark('a', n)}));
        }
    }
    for n in (0..MESSAGES).filter(|n| n % 3 > 0) {
        let vector: Vec<f32> = (0..96).map(|_| dice.below(2000) as f32 / 1000.0 - 1.0).collect();
        lines.push(
            json!({"kind": "embedding", "of": id(n), "model": MODEL, "vector": vector, "note": mark('e', n)}),
        );
    }
    for n in 0..3 * MESSAGES {
        let (from, to) = (dice.below(MESSAGES), dice.below(MESSAGES - 1));
        let to = if to < from { to } else { to + 1 };
        let link = match n % 6 {
            0 if n / 3 + 1 < MESSAGES => {
                json!({"kind": "link", "rel": "RESPONDED_WITH", "from": id(n / 3), "to": id(n / 3 + 1),
                "timestamp": n, "note": mark('l', n)})
            }
            _ => {
                json!({"kind": "link", "rel": "SYNAPSE", "from": id(from), "to": id(to), "timestamp": n, "score": 0.5,
                "model": MODEL, "note": mark('l', n)})
            }
        };
        lines.push(link);
    }
    for n in 0..300 {
        let [of, also] = ["a", "b"].map(|digit| format!("{n:0>61}{digit:0>3}"));
        lines.push(
            json!({"kind": "tombstone", "of": of, "also": also, "what": "message", "partition": PARTITIONS[0],
            "instance": "forgotten", "state": "forgotten", "timestamp": n, "note": mark('t', n)}),
        );
    }
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

/// Rows of the audit, which no export has.
fn audit() -> Vec<AuditRow> {
    let row = |n: usize| AuditRow {
        id: format!("row-{n:04}"),
        timestamp: 1_700_000_000_000,
        token: ["", "ann"][n % 2].to_owned(),
        address: (!n.is_multiple_of(3)).then(|| "127.0.0.1".to_owned()),
        action: AuditAction::Read,
        route: "GET /memory/search".to_owned(),
        scope: Scope { partition: PARTITIONS[n % 3].to_owned(), instance: "bed-0".to_owned() },
        status: 200,
        trace_id: n.is_multiple_of(5).then(|| format!("trace-{n}")),
        records: TouchedRecords::of((0..n).map(|_| "message")),
    };
    (0..60).map(row).collect()
}

/// A sound store: its file, what rsv-export prints of it, and the pages on which each mark is.
struct Sound {
    bytes: Vec<u8>,
    lines: Vec<String>,
    pages: HashMap<String, BTreeSet<usize>>,
}

const EXPORT: [&str; 2] = ["--vectors", "base64"];

fn sound() -> &'static Sound {
    static MADE: OnceLock<Sound> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = made_once("sound", |directory| {
            let home = Home::kept_in(directory);
            home.run("rsv-import", &[], lines()).ok();
            home.open().append_audit(&audit(), i64::MIN).unwrap();
            std::fs::write(directory.join("export.jsonl"), home.run("rsv-export", &EXPORT, "").ok()).unwrap();
            std::fs::copy(home.store(), directory.join("store.db")).unwrap();
        });
        let exported = std::fs::read_to_string(made.join("export.jsonl")).unwrap();
        let bytes = std::fs::read(made.join("store.db")).unwrap();
        assert!(bytes.len() > 150 * PAGE, "{}", bytes.len());
        let lines: Vec<String> = exported.lines().map(str::to_owned).collect();
        let mut pages: HashMap<String, BTreeSet<usize>> = HashMap::new();
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            for (at, _) in page.windows(2).enumerate().filter(|(_, two)| two == b"<<") {
                let end = page[at..].windows(2).take(12).position(|two| two == b">>");
                if let Some(mark) = end.and_then(|end| std::str::from_utf8(&page[at..at + end + 2]).ok()) {
                    pages.entry(mark.to_owned()).or_default().insert(number);
                }
            }
        }
        Sound { bytes, lines, pages }
    })
}

/// The first mark in a line, but for that of an account's digest, which is in an index too.
fn mark_of(line: &str) -> &str {
    let marks =
        line.match_indices("<<").filter_map(|(at, _)| Some(&line[at..at + line[at..].find(">>")? + 2]));
    marks.into_iter().find(|mark| !mark.starts_with("<<d")).unwrap_or_else(|| panic!("{line}"))
}

impl Sound {
    /// The pages that hold these bytes, and no mark.
    fn pages_with(&self, needle: &str) -> BTreeSet<usize> {
        let has = |page: &[u8], needle: &[u8]| page.windows(needle.len()).any(|bytes| bytes == needle);
        let pages = self.bytes.chunks(PAGE).enumerate();
        pages
            .filter(|(_, page)| has(page, needle.as_bytes()) && !has(page, b"<<"))
            .map(|(number, _)| number)
            .collect()
    }

    /// Whether the pages of the scopes, and of the models, are all damaged.
    fn loses(&self, damaged: &BTreeSet<usize>) -> (bool, bool) {
        static PAGES: OnceLock<[Vec<usize>; 2]> = OnceLock::new();
        let [scopes, models] = PAGES.get_or_init(|| {
            // Each is in a table and in the index of the table.
            [format!("account{}", PARTITIONS[1]), MODEL.to_owned()].map(|needle| {
                let mut pages: Vec<usize> = self.pages_with(&needle).into_iter().collect();
                if needle != MODEL {
                    pages.extend(self.pages_with(&format!("{}bed-1", PARTITIONS[1])));
                    pages.sort();
                    pages.dedup();
                }
                assert_eq!(pages.len(), 2, "{needle}: {pages:?}");
                pages
            })
        });
        let gone = |page: &usize| damaged.contains(page);
        // The schema, on the first page, tells where the index of models is.
        (scopes.iter().all(gone), gone(&models[0]) && (gone(&models[1]) || gone(&0)))
    }

    /// The lines that nothing is missing for if these pages are damaged.
    fn readable(&self, damaged: &BTreeSet<usize>) -> Vec<&str> {
        let is_there = |line: &str| self.pages[mark_of(line)].is_disjoint(damaged);
        let (_, no_models) = self.loses(damaged);
        let mut records = HashSet::new();
        let mut readable = Vec::new();
        for line in self.lines.iter().map(String::as_str).filter(|line| is_there(line)) {
            let parsed: Value = serde_json::from_str(line).unwrap();
            let names = |member: &str| records.contains(&parsed[member]);
            let whole = match parsed["kind"].as_str().unwrap() {
                "embedding" => names("of") && !no_models,
                "link" => names("from") && names("to"),
                _ => records.insert(parsed["id"].clone()) || parsed["kind"] == "tombstone",
            };
            readable.extend(whole.then_some(line));
        }
        readable
    }
}

/// Overwrites pages, or cuts the file; the numbers of the pages that are damaged, from 0.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) -> BTreeSet<usize> {
    let pages = bytes.len() / PAGE;
    if dice.below(5) == 0 {
        bytes.truncate(PAGE + dice.below(bytes.len() - PAGE));
        return (bytes.len() / PAGE..pages).collect();
    }
    let most = [3, 20, pages][dice.below(3)];
    let damaged: BTreeSet<usize> = (0..1 + dice.below(most)).map(|_| dice.below(pages)).collect();
    for page in &damaged {
        let kind = dice.below(2);
        for byte in &mut bytes[page * PAGE..][..PAGE] {
            *byte = if kind == 0 { 0 } else { dice.below(256) as u8 };
        }
    }
    damaged
}

/// A home whose store has these bytes.
fn home_with(bytes: &[u8]) -> Home {
    let home = Home::new();
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    std::fs::write(home.store(), bytes).unwrap();
    shell(&home, "chmod 600 .local/share/rsv/store.db");
    home
}

fn shell(home: &Home, script: &str) -> Ran {
    let tools = PathBuf::from(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let mut sh = Command::new("sh");
    sh.args(["-c", script])
        .env_clear()
        .env("HOME", home.path(""))
        .env("PATH", format!("{tools}:/usr/bin:/bin"));
    home.ran(sh.current_dir(home.path("")).output().unwrap())
}

/// Whether some lines are others, of which some are left out.
fn is_part(lines: &[&str], of: &[String]) -> bool {
    let mut all = of.iter();
    lines.iter().all(|line| all.any(|other| other == line))
}

/// Fails unless a run printed all that these pages leave, and nothing else.
fn check_output(ran: &Ran, damaged: &BTreeSet<usize>, in_order: bool) {
    let sound = sound();
    assert!(ran.status == 0 || ran.status == 2, "{}", ran.stderr);
    let said = ran.stderr.lines().next().unwrap_or_default();
    assert!(ran.status == 0 || said.starts_with("rsv-export: error: sqlite:"), "{}", ran.stderr);
    let printed: Vec<&str> = ran.stdout.lines().collect();
    let distinct: HashSet<&str> = printed.iter().copied().collect();
    assert_eq!(distinct.len(), printed.len(), "a line was printed twice");
    if sound.loses(damaged).0 {
        assert!(said.contains("have lost their scope, and are in partition recovered"), "{said}");
        let marks: HashSet<&str> = printed.iter().map(|line| mark_of(line)).collect();
        assert!(sound.readable(damaged).into_iter().all(|line| marks.contains(mark_of(line))));
        return;
    }
    let all: HashSet<&str> = sound.lines.iter().map(String::as_str).collect();
    let foreign: Vec<&&str> = printed.iter().filter(|line| !all.contains(*line)).collect();
    assert!(foreign.is_empty(), "{} lines are not the store's: {}: {said}", foreign.len(), foreign[0]);
    assert!(!in_order || is_part(&printed, &sound.lines), "the lines are not in order");
    let missing: Vec<&str> =
        sound.readable(damaged).into_iter().filter(|line| !distinct.contains(line)).collect();
    assert!(missing.is_empty(), "{} are missing: {damaged:?}: {}", missing.len(), missing[0]);
    assert!(ran.status == 2 || printed.len() == all.len(), "lines are missing, and it was not said");
}

/// Keeps: An export has all records in the undamaged pages of a damaged file.
#[test]
fn what_undamaged_pages_hold_is_exported() {
    let mut damaged_stores = 0;
    tries(number_from("RSV_TEST_MUTATIONS").unwrap_or(8), |mut dice| {
        let mut bytes = sound().bytes.clone();
        let damaged = damage(&mut bytes, &mut dice);
        let home = home_with(&bytes);
        let ran = home.run("rsv-export", &EXPORT, "");
        check_output(&ran, &damaged, false);
        damaged_stores += u32::from(ran.status == 2);
        let ran = home.run("rsv-export", &[&["--recover"][..], &EXPORT].concat(), "");
        check_output(&ran, &damaged, true);
        assert_eq!(ran.status, 2, "every page is in use");
        // The file is as it was.
        assert!(std::fs::read(home.store()).unwrap() == bytes);
        let other = Home::new();
        other.run("rsv-import", &[], &ran.stdout).ok();
        assert!(other.run("rsv-export", &EXPORT, "").ok() == ran.stdout, "the import is another store");
    });
    assert!(damaged_stores > 0);
}

#[test]
fn bytes_that_change_anywhere_end_no_export_by_a_panic() {
    tries(number_from("RSV_TEST_MUTATIONS").unwrap_or(5), |mut dice| {
        let mut bytes = sound().bytes.clone();
        for _ in 0..1 + dice.below(300) {
            let (at, length) = (dice.below(bytes.len() - 600), 1 + dice.below(600));
            let zeros = dice.below(2) == 0;
            for byte in &mut bytes[at..at + length] {
                *byte = if zeros { 0 } else { dice.below(256) as u8 };
            }
        }
        let home = home_with(&bytes);
        let words = ["--recover", "--vectors"];
        let ran = home.run("rsv-export", &words, "");
        // Few changes may be in indexes alone.
        let is_whole = || ran.stdout == home_with(&sound().bytes).run("rsv-export", &words, "").stdout;
        assert!(ran.status == 2 || ran.status == 0 && is_whole(), "{}: {}", ran.status, ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        let imported = Home::new().run("rsv-import", &[], &ran.stdout);
        assert!(imported.status != 1 && !imported.stderr.contains("panicked"), "{}", imported.stderr);
        lines_of(&ran.stdout);
    });
}

#[test]
fn recovering_a_sound_store_gives_the_same_bytes() {
    let home = Home::new();
    home.run("rsv-import", &[], include_str!("export.jsonl")).ok();
    home.run("rsv-import", &[], lines().lines().take(400).collect::<Vec<_>>().join("\n")).ok();
    home.run("rsv-forget", &["-p", PARTITIONS[0], "--role", "assistant"], "").ok();
    home.run("rsv-ingest", &["A \"new\" one"], "").ok();
    home.ingest(&[], &json!({"role": "user", "content": "nul\0 ".repeat(9000)}).to_string());
    // A process that is killed leaves its log.
    let mut writer = home.talk("rsv-ingest", &[]);
    writer.say(&json!({"role": "user", "content": "in the log"}).to_string());
    writer.hear();
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    let formats: [&[&str]; 6] = [
        &["--vectors"],
        &[],
        &["--format", "json"],
        &["--format", "csv"],
        &["--format", "md", "-p", PARTITIONS[1]],
        &["--role", "user", "--since", "2023-11-15"],
    ];
    for words in formats {
        let exported = home.run("rsv-export", words, "").ok();
        assert!(words.len() > 2 || exported.contains("in the log"));
        assert_eq!(home.run("rsv-export", &[words, &["--recover"]].concat(), "").ok(), exported, "{words:?}");
    }
    assert_eq!(Home::new().run("rsv-export", &["--recover"], "").ok(), "");
    for (store, said) in [
        ("notes.txt", "cannot open store sqlite:notes.txt: is not an rsv store"),
        (".", "is a directory"),
        ("bolt://localhost", "cannot recover bolt://localhost: a database server recovers its own files"),
    ] {
        home.write("notes.txt", &"no database at all\n".repeat(5000));
        let error = home.run("rsv-export", &["--recover", "--store", store], "").trouble();
        assert!(error.contains(said), "{error}");
    }
}

/// Keeps: An export has all records in the undamaged pages of a damaged file.
#[test]
fn a_store_without_its_header_schema_or_index_is_exported_as_a_whole() {
    let sound = sound();
    let page = |number: usize| number * PAGE..(number + 1) * PAGE;
    // An index, by what it holds of each record.
    let index = sound
        .bytes
        .chunks(PAGE)
        .position(|page| page[0] == 10 && page.windows(6).any(|six| six == b"trace-"));
    let (scopes, models) = (sound.pages_with(&format!("account{}", PARTITIONS[1])), sound.pages_with(MODEL));
    let mut cases: Vec<(&str, std::ops::Range<usize>)> =
        vec![("header", 0..100), ("application id", 68..72), ("schema", 100..PAGE), ("first page", page(0))];
    cases.push(("an index", page(index.unwrap())));
    cases.extend(scopes.iter().map(|number| ("scopes", page(*number))));
    cases.extend(models.iter().map(|number| ("models", page(*number))));
    for ((name, range), fill) in cases.into_iter().zip([0, 0xa5].into_iter().cycle()) {
        let mut bytes = sound.bytes.clone();
        bytes[range].fill(fill);
        let home = home_with(&bytes);
        let ran = home.run("rsv-export", &[&["--recover"][..], &EXPORT].concat(), "");
        assert!(ran.stdout.lines().eq(&sound.lines), "{name}: {}", ran.stderr);
        let said = "records could be read, none is known to be missing";
        assert!(ran.status == 2 && ran.stderr.contains(said), "{name}: {}", ran.stderr);
        let plain = home.run("rsv-export", &EXPORT, "");
        assert!(plain.stdout.lines().eq(&sound.lines), "{name}: {}", plain.stderr);
        // Other tools do not take it for something else.
        let viewed = home.run("rsv-view", &["1"], "");
        let hint = "rsv-view: hint: restore a backup, or save what can be read; the commands: rsv-config doctor --store STORE";
        assert!(viewed.status == 0 || viewed.stderr.lines().last() == Some(hint), "{name}: {viewed}");
    }
}

#[test]
fn every_format_of_a_damaged_store_is_whole() {
    let mut bytes = sound().bytes.clone();
    let lost = &sound().pages[&mark('m', 700)];
    for page in lost {
        bytes[page * PAGE..][..PAGE].fill(0xa5);
    }
    let home = home_with(&bytes);
    let run = |words: &[&str]| {
        let ran = home.run("rsv-export", words, "");
        assert!(ran.status == 2, "{}", ran.stderr);
        let error = ran.stderr.lines().next().unwrap().to_owned();
        let is_said = error.contains(" of its ")
            && error.contains("could be read, about ")
            && error.ends_with(" are missing");
        assert!(is_said, "{error}");
        ran.stdout
    };
    let messages: BTreeMap<String, Value> = lines_of(&run(&[]))
        .into_iter()
        .filter(|line| line["kind"] == "message")
        .map(|line| (text(&line["id"]), line))
        .collect();
    assert!(messages.len() > MESSAGES / 2 && messages.len() < MESSAGES);
    let array: Vec<Value> = serde_json::from_str(&run(&["--format", "json"])).unwrap();
    let mut rows = csv::Reader::from_reader(std::io::Cursor::new(run(&["--format", "csv"])));
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>().unwrap();
    assert_eq!((array.len(), rows.len()), (messages.len(), messages.len()));
    let few = lines_of(&run(&["-p", PARTITIONS[1], "--role", "assistant"]));
    let wanted = |line: &Value| line["partition"] == PARTITIONS[1] && line["role"] == "assistant";
    assert_eq!(
        few.iter().filter(|line| line["kind"] == "message").count(),
        messages.values().filter(|line| wanted(line)).count()
    );
}

#[test]
fn a_part_of_the_disk_that_cannot_be_read_is_skipped() {
    let home = home_with(&sound().bytes);
    let page = *sound().pages[&mark('m', 801)].first().unwrap();
    let mut command = home.command("rsv-export");
    command.args(EXPORT).env("LD_PRELOAD", library()).env("RSV_DISK_FAULT", "sector");
    command.env("RSV_DISK_DIRECTORY", home.store().parent().unwrap().canonicalize().unwrap());
    command.env("RSV_DISK_LOG", home.path("log")).env("RSV_DISK_AT", (page * PAGE + 5000).to_string());
    let ran = home.ran(command.output().unwrap());
    assert!(ran.status == 2 && ran.stderr.contains(" pages cannot be used; "), "{}", ran.stderr);
    check_output(&ran, &BTreeSet::from([page]), false);
}

/// Keeps: The commands of `rsv-config doctor` replace a damaged file.
#[test]
fn the_commands_of_the_doctor_replace_a_damaged_store() {
    let home = healthy(home_with(&sound().bytes), &dead());
    let name = home.path("it's a \"store\".db");
    std::fs::rename(home.store(), &name).unwrap();
    let home = home.env("RSV_STORE", name.to_str().unwrap());
    let mut writer = home.talk("rsv-ingest", &[]);
    writer.say(&json!({"role": "user", "content": "in the log", "partition": "p"}).to_string());
    writer.hear();
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    let mut bytes = std::fs::read(&name).unwrap();
    let page = *sound().pages[&mark('m', 900)].first().unwrap();
    bytes[page * PAGE..][..PAGE].fill(0);
    std::fs::write(&name, &bytes).unwrap();

    let ran = home.run("rsv-config", &["doctor"], "");
    let (state, found, remedy) = of(&lines_of(&ran.stdout), "store");
    assert_eq!((ran.status, &*state), (1, "trouble"));
    assert!(found.contains(&name.display().to_string()) && found.contains("damaged"), "{found}");
    let expected = home.run("rsv-export", &["--recover", "--vectors", "base64"], "").stdout;
    assert!(expected.contains("in the log") && expected.lines().count() > 5000);
    let commands: Vec<&str> = remedy.lines().collect();
    if let Some(terminal) = Terminal::start(&home, "rsv-config", "doctor") {
        let seen = terminal.end().0;
        assert!(commands.iter().all(|command| seen.contains(&format!("\n  {command}\n"))), "{seen}");
    }
    let statuses: Vec<i32> = commands
        .iter()
        .map(|command| {
            let ran = shell(&home, command);
            assert!(ran.status == 0 || command.starts_with("rsv-"), "{command}: {ran}");
            ran.status
        })
        .collect();
    assert_eq!(statuses[..4], [0, 2, 0, 0], "{remedy}");
    let (state, found, _) = of(&lines_of(&home.run("rsv-config", &["doctor"], "").stdout), "store");
    assert_eq!(state, "ok", "{found}");
    assert!(home.run("rsv-export", &EXPORT, "").ok() == expected);
    // The old file is kept, with its log.
    let aside = PathBuf::from(format!("{}.damaged-1", name.display()));
    let kept = |suffix: &str| aside.join(format!("it's a \"store\".db{suffix}"));
    assert!(std::fs::read(kept("")).unwrap() == bytes && kept("-wal").exists());
    assert!(!name.with_extension("db-wal").exists());
    // The next time, nothing of it is overwritten.
    std::fs::write(&name, &bytes[..20 * PAGE]).unwrap();
    let (_, _, remedy) = of(&lines_of(&home.run("rsv-config", &["doctor"], "").stdout), "store");
    assert!(remedy.contains(".damaged-2'"), "{remedy}");
}
