//! scripts/rsv-backup and scripts/rsv-restore: what is backed up comes back to the byte, and only what is whole has a name.

use crate::docs::{is_installed, report_unchecked};
use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One of the scripts, which finds the built tools.
fn command(home: &Home, script: &str, words: &[&str]) -> Command {
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(script);
    let mut command = home.command(script.to_str().unwrap());
    command.args(words).env("PATH", format!("{tools}:{}", std::env::var("PATH").unwrap()));
    command.stdin(Stdio::null());
    command
}

fn backup(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, "rsv-backup", words).output().unwrap())
}

fn restore(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, "rsv-restore", words).output().unwrap())
}

/// The directory of the backups, whose name has spaces.
const BACKUPS: &str = "my own backups";

/// The backups by their names.
fn names(home: &Home) -> Vec<String> {
    let entries = home.path(BACKUPS).read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("rsv-"));
    names.sort();
    names
}

fn newest(home: &Home) -> PathBuf {
    home.path(BACKUPS).join(names(home).last().unwrap())
}

/// Restores the newest backup into a new store; what that exports.
fn restored(home: &Home) -> String {
    let _ = std::fs::remove_file(home.path("restored.db"));
    restore(home, &["-q", "--store", "restored.db", newest(home).to_str().unwrap()]).ok();
    home.run("rsv-export", &["--vectors", "--store", "restored.db"], "").ok()
}

/// Waits for the next second, since a backup is named by it.
fn next_second(home: &Home) {
    let stamp = |home: &Home| {
        let name = names(home).last().unwrap().clone();
        name[4..20].to_owned()
    };
    let last = stamp(home);
    let now = || {
        let date = Command::new("date").args(["-u", "+%Y%m%dT%H%M%SZ"]).output().unwrap();
        String::from_utf8(date.stdout).unwrap().trim().to_owned()
    };
    while now() <= last {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn write(home: &Home, n: usize) {
    let memory = json!({"kind": "memory", "id": format!("y{n}"), "partition": "p", "instance": "p", "title": "T",
        "content": format!("C{n}"), "outcome": "success", "timestamp": n});
    let message = json!({"id": format!("m{n}"), "trace_id": "t", "partition": "p", "instance": "p", "role": "user",
        "content": format!("An owl {n}"), "timestamp": n, "embedding": [n, 1], "embedding_model": "tiny"});
    home.run("rsv-import", &["-q"], format!("{memory}\n{message}\n")).ok();
}

on_each_store!(what_is_backed_up_comes_back_to_the_byte);
/// Keeps: A backup comes back to the byte.
fn what_is_backed_up_comes_back_to_the_byte(home: Home) {
    write(&home, 1);
    let ran = backup(&home, &[BACKUPS]);
    assert!(ran.stderr.ends_with(" bytes, restored and compared\n"), "{ran}");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (0, "", 1));
    assert_eq!(restored(&home), home.export());
    for step in 2..4 {
        next_second(&home);
        write(&home, step);
        home.run("rsv-forget", &["--all", "m1"], "");
        backup(&home, &["-q", "--changes", BACKUPS]).ok();
        assert!(newest(&home).to_str().unwrap().contains(".changes."));
        assert_eq!(restored(&home), home.export());
    }
    // A store that has records is not changed, unless it is said.
    let file = newest(&home).display().to_string();
    home.run("rsv-ingest", &["--store", "restored.db", "Hello"], "").ok();
    let said = restore(&home, &["--store", "restored.db", &file]).trouble();
    let wanted =
        "rsv-restore: error: the store has 1 record that the backup has not, or has in an older version\n";
    assert!(said.starts_with(wanted), "{said}");
    restore(&home, &["-q", "--merge", "--store", "restored.db", &file]).ok();
}

#[test]
fn a_backup_that_is_damaged_or_alone_is_refused() {
    let home = Home::new();
    write(&home, 1);
    backup(&home, &["-q", BACKUPS]).ok();
    next_second(&home);
    write(&home, 2);
    backup(&home, &["-q", "--changes", BACKUPS]).ok();
    let (whole, changes) = (home.path(BACKUPS).join(&names(&home)[0]), newest(&home));
    let bytes = std::fs::read(&whole).unwrap();
    for at in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 3] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        std::fs::write(&whole, changed).unwrap();
        for file in [&whole, &changes] {
            let said = restore(&home, &["--store", "other.db", file.to_str().unwrap()]);
            assert!(said.status == 2 && said.stderr.contains("cannot be read"), "{said}");
            assert!(!home.path("other.db").exists());
        }
    }
    std::fs::remove_file(whole).unwrap();
    let said = restore(&home, &["--store", "other.db", changes.to_str().unwrap()]).trouble();
    assert!(said.starts_with("rsv-restore: error: there is no backup of everything before "), "{said}");
    home.write(".local/share/rsv/store.db", "no store");
    let before = names(&home);
    let failed = backup(&home, &[BACKUPS]);
    assert!(failed.status == 2 && failed.stderr.contains("rsv-export: error: "), "{failed}");
    assert_eq!(names(&home), before);
}

#[test]
fn old_backups_are_thinned() {
    let home = Home::new();
    write(&home, 1);
    std::fs::create_dir(home.path(BACKUPS)).unwrap();
    let date = |days: &str, form: &str| {
        let date = Command::new("date").args(["-u", "-d", days, form]).output().unwrap();
        String::from_utf8(date.stdout).unwrap().trim().to_owned()
    };
    for days in 1..800 {
        let day = date(&format!("{days} days ago"), "+%Y%m%d");
        for name in ["T010000Z", "T020000Z", "T030000Z.changes"] {
            home.write(&format!("{BACKUPS}/rsv-{day}{name}.jsonl.zst"), "");
        }
    }
    backup(&home, &["-q", "--no-check", BACKUPS]).ok();
    let left = names(&home);
    let whole: Vec<&String> = left.iter().filter(|name| !name.contains("changes")).collect();
    assert!((7 + 2 + 11..=7 + 3 + 12).contains(&whole.len()), "{whole:?}");
    // The last of each day, and the changes after those that are left.
    assert!(whole.iter().all(|name| !name.contains("T010000Z")), "{whole:?}");
    for days in 1..7 {
        let day = date(&format!("{days} days ago"), "+%Y%m%d");
        assert!(left.contains(&format!("rsv-{day}T030000Z.changes.jsonl.zst")), "{left:?}");
    }
    let oldest = date("12 months ago", "+%Y%m");
    assert!(whole[0][4..10] >= oldest[..], "{whole:?}");
}

/// Kills a group of processes, of which `whole` is how long they take, at some moment.
fn kill_somewhere(mut process: Child, whole: Duration, dice: &mut Dice) {
    // Any moment will do.
    std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 900.0));
    let group = rustix::process::Pid::from_child(&process);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    process.wait().unwrap();
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn a_backup_that_is_killed_leaves_none_or_a_whole_one() {
    let kills = number_from("RSV_TEST_KILLS").unwrap_or(6);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(73);
    println!("RSV_TEST_SEED={seed}");
    let (home, mut dice) = (Home::new(), Dice(seed));
    for n in 1..5 {
        write(&home, n);
    }
    let begin = Instant::now();
    backup(&home, &["-q", BACKUPS]).ok();
    let whole = begin.elapsed();
    for n in 0..kills {
        write(&home, 1000 + n as usize);
        let words: &[&str] =
            if dice.below(2) == 0 { &["-q", "--changes", BACKUPS] } else { &["-q", BACKUPS] };
        let mut process = command(&home, "rsv-backup", words);
        // The script and all that it runs are one group.
        kill_somewhere(process.process_group(0).spawn().unwrap(), whole, &mut dice);
        // Every file with a name can be restored.
        restored(&home);
        next_second(&home);
        backup(&home, &["-q", "--changes", BACKUPS]).ok();
        assert_eq!(restored(&home), home.export());
    }
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn a_restore_that_is_killed_is_run_again() {
    let kills = number_from("RSV_TEST_KILLS").unwrap_or(6);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(74);
    println!("RSV_TEST_SEED={seed}");
    let (home, mut dice) = (Home::new(), Dice(seed));
    let lines: String = (0..4000)
        .map(|n| {
            format!(
                "{}\n",
                json!({"id": format!("w{n}"), "trace_id": "t", "partition": "p", "instance": "p",
            "role": "user", "content": format!("An owl of many words {n}"), "timestamp": n})
            )
        })
        .collect();
    home.run("rsv-import", &["-q"], lines).ok();
    backup(&home, &["-q", "--no-check", BACKUPS]).ok();
    let file = newest(&home).display().to_string();
    let words = ["-q", "--store", "restored.db", &file];
    let begin = Instant::now();
    restore(&home, &words).ok();
    let whole = begin.elapsed();
    let exported = home.export();
    for _ in 0..kills {
        let _ = std::fs::remove_file(home.path("restored.db"));
        let mut process = command(&home, "rsv-restore", &words);
        kill_somewhere(process.process_group(0).spawn().unwrap(), whole, &mut dice);
        restore(&home, &words).ok();
        let restored = home.run("rsv-export", &["--vectors", "--store", "restored.db"], "").ok();
        assert_eq!(restored, exported);
    }
}

on_each_store!(only_what_is_older_is_restored_over_unless_it_is_said);
fn only_what_is_older_is_restored_over_unless_it_is_said(home: Home) {
    let document =
        |text: &str| json!({"kind": "document", "uri": "viking://resources/a", "content": text}).to_string();
    write(&home, 1);
    home.ingest(&["-p", "p"], &document("First"));
    let older = home.run("rsv-export", &["--vectors"], "").ok();
    write(&home, 2);
    home.ingest(&["-p", "p"], &document("Second"));
    home.run("rsv-forget", &["-q", "--all", "m1"], "").ok();
    backup(&home, &["-q", BACKUPS]).ok();
    let (file, exported) = (newest(&home).display().to_string(), home.export());
    // A store as it was before is older, also in what the backup has forgotten since or changed.
    let over = ["-q", "--store", "over.db", &file];
    home.run("rsv-import", &["-q", "--store", "over.db"], older).ok();
    let message = restore(&home, &over).trouble();
    assert!(message.contains("the store has 1 record that the backup has not"), "{message}");
    restore(&home, &["-q", "--merge", "--store", "over.db", &file]).ok();
    assert_eq!(home.run("rsv-export", &["--vectors", "--store", "over.db"], "").ok(), exported);
    // Once it has all, nothing is in the way.
    restore(&home, &over).ok();
    // A later version is.
    home.run("rsv-ingest", &["-q", "-p", "p", "--store", "over.db"], document("Third")).ok();
    assert!(restore(&home, &over).trouble().contains("has 1 record that the backup has not"));
}

#[test]
fn what_was_not_written_as_it_was_exported_gets_no_name() {
    let home = Home::new();
    write(&home, 1);
    for broken in ["| tr A B", "| head -c 40", "; exit 3"] {
        // A compressor, or the disk under it, that changes a byte, loses the end, or fails.
        let fake = home.write("bin/zstd", &format!(
            "#!/bin/sh\ncase \"$*\" in *--decompress*) exec /usr/bin/zstd \"$@\" ;; esac\n/usr/bin/zstd \"$@\" {broken}\n"
        ));
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut process = command(&home, "rsv-backup", &[BACKUPS]);
        let path = format!("{}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
        let ran = home.ran(process.env("PATH", path).output().unwrap());
        assert!(ran.status == 2 && ran.stderr.contains("rsv-backup: error: "), "{broken}: {ran}");
        assert_eq!(names(&home), [""; 0], "{broken}");
        assert!(!home.path(BACKUPS).join(".cursor").exists());
    }
}

#[test]
fn a_full_disk_leaves_the_backups_that_there_were() {
    let home = Home::new();
    for n in 1..4 {
        write(&home, n);
    }
    backup(&home, &["-q", BACKUPS]).ok();
    next_second(&home);
    // So much that the backup does not fit, whatever compresses it.
    let noise: String = (0..4000).map(|n| format!("{:x}", n * n * 2_654_435_761_u64)).collect();
    home.run("rsv-ingest", &["-q"], noise).ok();
    let before = names(&home);
    let script = "ulimit -f 8; exec \"$0\" \"$@\"";
    let full = |words: &[&str]| {
        let inner = command(&home, "rsv-backup", words);
        let mut process = home.command("/bin/sh");
        process.args(["-c", script]).arg(inner.get_program()).args(inner.get_args());
        process.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        process.output().unwrap()
    };
    for words in [&["-q", BACKUPS][..], &["-q", "--changes", BACKUPS], &["-q", "--no-check", BACKUPS]] {
        let ran = full(words);
        assert_eq!(ran.status.code(), Some(2), "{}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(names(&home), before);
    }
    assert_eq!(lines_of(&restored(&home)).len(), 9);
    backup(&home, &["-q", "--changes", BACKUPS]).ok();
    assert_eq!(restored(&home), home.export());
    a_really_full_disk(&home);
}

/// The same on a file system of its own, where one can be mounted.
fn a_really_full_disk(home: &Home) {
    let may = || Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|ran| ran.status.success());
    if !is_installed("unshare") || !may() {
        return report_unchecked("a backup onto a full disk, for want of unshare or the rights to mount one");
    }
    let inner = command(home, "rsv-backup", &[]);
    let mut process = Command::new("unshare");
    let script = "mkdir -p full && mount -t tmpfs -o size=64k tmpfs full && \"$0\" full/backups; status=$?; ls full/backups; exit $status";
    process.args(["-m", "sh", "-c", script]).arg(inner.get_program()).current_dir(home.path(""));
    process
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null());
    let ran = home.ran(process.output().unwrap());
    assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.contains("rsv-backup: error: "), "{ran}");
}

on_each_store!(a_backup_while_four_write_is_one_moment_and_what_follows_is_in_the_next);
fn a_backup_while_four_write_is_one_moment_and_what_follows_is_in_the_next(home: Home) {
    write(&home, 1);
    let mut writers: Vec<Child> = (0..4)
        .map(|writer| {
            let mut process = home.command("rsv-ingest");
            process.args(["-q", "-p", "p"]).stdin(Stdio::piped()).stdout(Stdio::null());
            let mut process = process.spawn().unwrap();
            let mut input = process.stdin.take().unwrap();
            std::thread::spawn(move || {
                for n in 0..400 {
                    let line = json!({"role": "user", "content": format!("Owl {n} of {writer}"), "trace_id": format!("t{writer}")});
                    if writeln!(input, "{line}").is_err() {
                        return;
                    }
                }
            });
            process
        })
        .collect();
    let ran = backup(&home, &[BACKUPS]);
    assert!(ran.status == 0 && ran.stderr.contains("restored and compared"), "{ran}");
    // Of each writer, the lines up to one are in it, and no other.
    let lines = lines_of(&restored(&home));
    for writer in 0..4 {
        let suffix = format!(" of {writer}");
        let own =
            lines.iter().filter_map(|line| line["content"].as_str()).filter(|text| text.ends_with(&suffix));
        let numbers: Vec<usize> = own.map(|text| text.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
    }
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    next_second(&home);
    backup(&home, &["-q", "--changes", BACKUPS]).ok();
    assert_eq!(restored(&home), home.export());
    // Nothing new is no backup.
    let (before, ran) = (names(&home), backup(&home, &["--changes", BACKUPS]));
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (0, "rsv-backup: nothing has changed since the backup before\n")
    );
    assert_eq!(names(&home), before);
}

/// The scripts beside the tools, as they are installed, in a directory whose name has spaces.
fn installed(home: &Home) -> PathBuf {
    let bin = home.path("my tools/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    for tool in ["rsv-export", "rsv-import"] {
        symlink(built.join(tool), bin.join(tool)).unwrap();
    }
    for script in ["rsv-backup", "rsv-restore"] {
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(script), bin.join(script))
            .unwrap();
    }
    bin
}

#[test]
fn with_the_path_of_cron_a_backup_comes_back_into_an_empty_home() {
    let home = Home::new();
    write(&home, 1);
    let (bin, other) = (installed(&home), Home::new());
    let cron = |home: &Home, line: &str| {
        let mut sh = Command::new("/bin/sh");
        sh.args(["-c", line]).env_clear().env("HOME", home.path("")).env("PATH", "/usr/bin:/bin");
        home.ran(sh.current_dir("/").stdin(Stdio::null()).output().unwrap())
    };
    let (bin, backups) = (bin.display(), home.path("own dir/back ups"));
    let line = format!("'{bin}/rsv-backup' -q '{}'", backups.display());
    cron(&home, &line).ok();
    let file = backups.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let file = { file }.find(|path| path.to_str().unwrap().contains("/rsv-")).unwrap();
    cron(&other, &format!("'{bin}/rsv-restore' -q '{}'", file.display())).ok();
    assert_eq!(other.export(), home.export());
    // Two at once: the second leaves the first alone.
    let lock = std::fs::File::options().write(true).open(backups.join(".lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ran = cron(&home, &line);
    assert!(ran.status == 2 && ran.stderr.contains("another backup is written into"), "{ran}");
}

#[test]
fn a_backup_for_a_recipient_of_age_is_read_with_the_identity_alone() {
    if !is_installed("age") {
        return report_unchecked("backups that are encrypted, for want of age");
    }
    let home = Home::new();
    write(&home, 1);
    let made =
        Command::new("age-keygen").args(["-o", "the identity"]).current_dir(home.path("")).output().unwrap();
    let said = String::from_utf8(made.stderr).unwrap();
    let recipient = said.trim().strip_prefix("Public key: ").unwrap_or_else(|| panic!("{said}")).to_owned();
    backup(&home, &["-q", "--recipient", &recipient, BACKUPS]).ok();
    next_second(&home);
    write(&home, 2);
    backup(&home, &["-q", "--changes", "--recipient", &recipient, BACKUPS]).ok();
    let (all, file) = (names(&home), newest(&home).display().to_string());
    assert!(all.len() == 2 && all.iter().all(|name| name.ends_with(".age")), "{all:?}");
    for name in &all {
        let bytes = std::fs::read(home.path(BACKUPS).join(name)).unwrap();
        assert!(bytes.starts_with(b"age-encryption.org/v1"));
    }
    assert_eq!(std::fs::read_dir(home.path(BACKUPS)).unwrap().count(), 4, "nothing in the clear is left");
    let said = restore(&home, &["--store", "other.db", &file]).trouble();
    assert!(said.contains("is encrypted\nrsv-restore: hint: rsv-restore --identity FILE"), "{said}");
    restore(&home, &["-q", "--identity", "the identity", "--store", "other.db", &file]).ok();
    assert_eq!(home.run("rsv-export", &["--vectors", "--store", "other.db"], "").ok(), home.export());
    let failed = backup(&home, &["--recipient", "age1nobody", BACKUPS]);
    assert!(failed.status == 2 && failed.stderr.contains("the backup cannot be encrypted"), "{failed}");
    assert_eq!(names(&home), all);
}

#[test]
fn a_directory_stands_for_its_last_backup() {
    let home = Home::new();
    home.run("rsv-ingest", &["An owl."], "").ok();
    let said = backup(&home, &[BACKUPS]);
    assert!(said.status == 0 && said.stderr.contains(": 1 line, "), "{said}");
    home.run("rsv-ingest", &["An eagle owl."], "").ok();
    next_second(&home);
    backup(&home, &["-q", BACKUPS]).ok();
    restore(&home, &["-q", "--store", "restored.db", BACKUPS]).ok();
    assert_eq!(home.run("rsv-export", &["--store", "restored.db"], "").ok(), home.export());
    std::fs::create_dir(home.path("empty")).unwrap();
    for (ran, error, hint) in [
        (restore(&home, &["empty"]), "there is no backup in empty", "that rsv-backup writes into"),
        (restore(&home, &[]), "no backup is named", "the directory of backups"),
        (backup(&home, &[]), "no directory is named", "rsv-backup DIR, such as"),
    ] {
        let said = ran.trouble();
        assert!(said.contains(&format!("error: {error}")) && said.contains(hint), "{said}");
    }
}
