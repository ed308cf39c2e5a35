//! Machines that run scripts/rsv-sync over ssh or through a folder come to the same, whatever interrupts them, and what was
//! forgotten is in no file.

use crate::docs::{is_installed, report_unchecked};
use crate::support::{Dice, Home, Ran, lines_of, number_from};
use crate::two_machines::{Machine, assert_same};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A stand-in for ssh, which runs a command in the home of a host, beside its own.
const SSH: &str = "#!/bin/sh\necho Welcome\nHOME=${HOME%/*}/$1\nexport HOME\ncd\nexec sh -c \"$2\"\n";

/// The script, which finds the built tools and the stand-in.
pub(crate) fn command(home: &Home, words: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let mut command = home.command(root.join("scripts/rsv-sync").to_str().unwrap());
    let bin = home.path("bin").display().to_string();
    command.args(words).env("PATH", format!("{tools}:{bin}:{}", std::env::var("PATH").unwrap()));
    command.stdin(Stdio::null());
    command
}

pub(crate) fn sync(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, words).output().unwrap())
}

/// A home with the stand-in for ssh.
pub(crate) fn machine() -> Home {
    let home = Home::new();
    let ssh = home.write("bin/ssh", SSH);
    std::fs::set_permissions(ssh, PermissionsExt::from_mode(0o755)).unwrap();
    home
}

/// The name of a machine for the stand-in.
pub(crate) fn host(home: &Home) -> String {
    let home = home.path("");
    home.components().next_back().unwrap().as_os_str().to_str().unwrap().to_owned()
}

/// The files of a folder and below.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The bytes of a file, uncompressed and, with an identity, decrypted.
pub(crate) fn content(file: &Path, identity: Option<&Path>) -> Vec<u8> {
    let name = file.to_str().unwrap();
    let script = match identity.filter(|_| name.ends_with(".age")) {
        Some(identity) => format!("age --decrypt --identity '{}' '{name}' | zstd -dcf", identity.display()),
        None if name.ends_with(".zst") => format!("zstd -dcf '{name}'"),
        None => return std::fs::read(file).unwrap(),
    };
    let ran = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(ran.status.success(), "{name}");
    ran.stdout
}

/// The machines of a test, and how each reaches the others: the words for rsv-sync.
struct Network {
    machines: Vec<Machine>,
    ways: Vec<(usize, Vec<String>)>,
    dice: Dice,
    folder: Option<PathBuf>,
    identity: Option<PathBuf>,
}

impl Network {
    fn way(&self, way: usize) -> Command {
        let (at, words) = &self.ways[way];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        command(&self.machines[*at].home, &words)
    }

    /// One edit at a machine whose clock is wrong by a day or right, at one millisecond.
    fn edit(&mut self) {
        let at = self.dice.below(self.machines.len());
        let skew = [-86_400_000, 0, 86_400_000][at % 3];
        let now = jiff::Timestamp::now().as_millisecond() + skew;
        let machine = &mut self.machines[at];
        let home = machine.home.clone();
        machine.home = home.at(&jiff::Timestamp::from_millisecond(now).unwrap().to_string());
        if self.dice.below(5) == 0 {
            edit_more(machine, &mut self.dice)
        } else {
            machine.edit(&mut self.dice)
        }
        machine.home = home;
    }

    /// A run that ends well, or is killed at any moment, or has a full disk.
    fn run_somehow(&mut self) {
        let way = self.dice.below(self.ways.len());
        match self.dice.below(6) {
            0 | 1 => {
                let mut process = self.way(way);
                process.stdout(Stdio::null()).stderr(Stdio::null());
                let mut process = process.process_group(0).spawn().unwrap();
                // Any moment will do.
                std::thread::sleep(Duration::from_millis(self.dice.below(400) as u64));
                let group = rustix::process::Pid::from_child(&process);
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                process.wait().unwrap();
            }
            2 => {
                let full = self.way(way);
                let mut process = Command::new("/bin/sh");
                let blocks = self.dice.below(64);
                process.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
                process.arg(full.get_program()).args(full.get_args()).env_clear();
                process.envs(full.get_envs().filter_map(|(name, value)| Some((name, value?))));
                process.current_dir(full.get_current_dir().unwrap()).stdin(Stdio::null());
                // It may have been enough.
                let _ = process.output().unwrap();
            }
            _ => self.run(way),
        }
    }

    fn run(&self, way: usize) {
        let ran = self.machines[0].home.ran(self.way(way).output().unwrap());
        assert!(ran.status == 0 && ran.stderr.starts_with("rsv-sync: "), "{:?}: {ran}", self.ways[way]);
    }

    /// Edits and runs in turns, and then as many rounds as bring everything everywhere.
    fn converge(&mut self, edits: usize) {
        while self.machines.iter().map(|machine| machine.edits).sum::<usize>() < edits {
            self.edit();
            if self.dice.below(3) == 0 {
                self.run_somehow();
            }
        }
        for _ in 0..3 {
            (0..self.ways.len()).for_each(|way| self.run(way));
        }
        for other in &self.machines[1..] {
            assert_same(&self.machines[0], other);
        }
        let before = self.folder.as_deref().map(files);
        for way in 0..self.ways.len() {
            let ran = self.machines[0].home.ran(self.way(way).output().unwrap());
            assert!(ran.stderr.ends_with(": 0 came, 0 went, 0 differ\n"), "{ran}");
        }
        assert_eq!(self.folder.as_deref().map(files), before);
        self.machines.iter().for_each(|machine| machine.home.check());
        self.check_forgotten();
    }

    /// Fails if a text that no store has any more is in any file.
    fn check_forgotten(&self) {
        let stays = self.machines[0].home.export();
        let printed = self.machines.iter().flat_map(|machine| &machine.forgotten);
        let contents = printed.flat_map(|lines| lines_of(lines)).filter_map(|line| {
            let has_own_words = line["kind"] == "message" || line["kind"] == "document";
            Some(line["content"].as_str().filter(|_| has_own_words)?.to_owned())
        });
        let gone: Vec<String> = contents.filter(|text| !stays.contains(text)).collect();
        let homes = self.machines.iter().map(|machine| machine.home.path(""));
        for folder in homes.chain(self.folder.clone()) {
            for file in files(&folder) {
                let bytes = content(&file, self.identity.as_deref());
                let found = gone.iter().find(|text| memchr::memmem::find(&bytes, text.as_bytes()).is_some());
                assert_eq!(found, None, "{}", file.display());
            }
        }
    }
}

/// An edit of a kind that others have not: a correction, a title, an action, an account, or a vector.
fn edit_more(machine: &mut Machine, dice: &mut Dice) {
    let (name, n) = (machine.name, machine.edits);
    machine.edits += 1;
    let Some(id) = machine.chosen("message", dice) else { return };
    let instance = format!("i{}", dice.below(4));
    let timestamp = 1000 + dice.below(100_000);
    let line = match dice.below(5) {
        0 => {
            let text = format!("Correction {n} of {name}");
            machine.home.run("rsv-ingest", &["-q", "-p", "p", "--corrects", &id, &text], "").ok();
            return;
        }
        1 => {
            json!({"kind": "title", "partition": "p", "instance": instance, "title": format!("Title {n} of {name}"),
            "timestamp": timestamp})
        }
        2 => {
            json!({"kind": "action", "partition": "p", "instance": instance, "trace_id": format!("t{}", dice.below(9)),
            "call": format!("call {n} of {name}"), "tool": "Bash", "command": "make", "timestamp": timestamp})
        }
        3 => {
            json!({"kind": "account", "id": format!("account {n} of {name}"), "trace_id": "t", "partition": "p",
            "instance": instance, "timestamp": timestamp, "window": 9000, "reserve": 4000, "counted": 500,
            "counter": "estimate", "request": 500, "fence": 20, "recalled": [{"id": id, "score": 1.0, "tokens": 9}],
            "recent": [], "left_out": [], "dropped": []})
        }
        _ => json!({"kind": "embedding", "of": id, "model": "tiny", "vector": [id.len(), 1]}),
    };
    machine.home.run("rsv-import", &["-q"], format!("{line}\n")).ok();
}

fn edits() -> usize {
    number_from("RSV_TEST_EDITS").unwrap_or(60) as usize
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
fn dice(seed: u64) -> Dice {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(seed);
    println!("RSV_TEST_SEED={seed}");
    Dice(seed)
}

fn machines() -> Vec<Machine> {
    ["nest", "barn", "wall"].map(|name| Machine::new(machine(), name)).into()
}

/// Keeps: Machines that share a folder have the same in the end, and nothing that was forgotten.
#[test]
fn machines_that_share_a_folder_come_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().display().to_string();
    let ways = (0..3).map(|at| (at, vec![shared.clone()])).collect();
    let folder = Some(folder.path().to_owned());
    Network { machines: machines(), ways, dice: dice(81), folder, identity: None }.converge(edits());
}

/// Keeps: Files in a shared folder are encrypted for whom one names.
#[test]
fn machines_that_share_an_encrypted_folder_come_to_the_same() {
    if !is_installed("age") {
        return report_unchecked("an encrypted folder, for want of age");
    }
    let (folder, keys) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let identity = keys.path().join("key");
    let made = Command::new("age-keygen").arg("-o").arg(&identity).output().unwrap();
    assert!(made.status.success());
    let recipient = Command::new("age-keygen").arg("-y").arg(&identity).output().unwrap();
    let recipient = String::from_utf8(recipient.stdout).unwrap().trim().to_owned();
    let file = identity.display().to_string();
    let words = ["--identity", &file, "--recipient", &recipient, folder.path().to_str().unwrap()];
    let ways = (0..3).map(|at| (at, words.map(str::to_owned).into())).collect();
    let shared = Some(folder.path().to_owned());
    let mut network =
        Network { machines: machines(), ways, dice: dice(82), folder: shared, identity: Some(identity) };
    network.converge(edits() / 2);
    assert!(files(folder.path()).iter().all(|file| file.extension().is_some_and(|end| end == "age")));
    let folder = folder.path().to_str().unwrap();
    let said = sync(&network.machines[0].home, &[folder]);
    assert!(said.status == 2 && said.stderr.contains("of this machine in"), "{said}");
    let said = sync(&machine(), &[folder]);
    assert!(said.status == 2 && said.stderr.contains(" is encrypted\n"), "{said}");
}

/// Keeps: Machines that exchange changes over ssh have the same in the end.
#[test]
fn machines_over_ssh_come_to_the_same() {
    let machines = machines();
    let way = |at: usize, to: usize| (at, vec![host(&machines[to].home)]);
    // The one in the middle is asked by both others, and asks one of them.
    let ways = vec![way(0, 1), way(2, 1), way(1, 2)];
    Network { machines, ways, dice: dice(83), folder: None, identity: None }.converge(edits());
}
