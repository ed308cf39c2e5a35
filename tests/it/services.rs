//! The services: what their managers say of them, and that they serve within their limits.

use crate::docs::{is_installed, report_unchecked};
use crate::install::{PREFIX, bare, install, real, run, stand_ins};
use crate::support::{MODEL, lines_of, model_files};
use std::process::Command;

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    if !is_installed("systemd-analyze") {
        return report_unchecked("the units of systemd, for want of systemd-analyze");
    }
    let home = bare();
    install(&home, &stand_ins(&home), &["--services=systemd"]).ok();
    let units = home.path(&format!("{PREFIX}/share/systemd/user"));
    let home = home.env("XDG_RUNTIME_DIR", home.path("").to_str().unwrap());
    let paths = units.read_dir().unwrap().map(|unit| unit.unwrap().path().display().to_string());
    let paths: Vec<String> = paths.collect();
    assert_eq!(paths.len(), 10);
    let words = ["systemd-analyze", "verify", "--user", "--man=no"].map(str::to_owned);
    let words = [&words[..], &paths].concat();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(run(&home, "/usr/bin/env", &words).ok(), "");
}

#[test]
fn launchd_is_told_the_paths_as_they_are() {
    if !is_installed("python3") {
        return report_unchecked("the files for launchd, for want of python3");
    }
    let home = bare();
    install(&home, &stand_ins(&home), &["--services=launchd"]).ok();
    let print = "import plistlib, sys\n\
        for path in sys.argv[1:]:\n    \
            job = plistlib.load(open(path, 'rb'))\n    \
            print(job['Label'], job['StandardErrorPath'], *job['ProgramArguments'], sep='|')";
    let [consolidate, embed, import, proxy] = ["consolidate", "embed", "import", "proxy"]
        .map(|name| format!("Library/LaunchAgents/rsv.{name}.plist"));
    let printed =
        run(&home, "/usr/bin/env", &["python3", "-c", print, &consolidate, &embed, &import, &proxy]).ok();
    let (bin, logs) = (home.path(PREFIX).join("bin"), home.path("Library/Logs"));
    let (bin, logs) = (bin.display(), logs.display());
    let wanted = format!(
        "rsv.consolidate|{logs}/rsv-consolidate.log|{bin}/rsv-consolidate\n\
         rsv.embed|{logs}/rsv-embed.log|{bin}/rsv-embed|--pending\n\
         rsv.import|{logs}/rsv-import.log|{bin}/rsv-import|--watch\nrsv.proxy|{logs}/rsv-proxy.log|{bin}/rsv-proxy\n"
    );
    assert_eq!(printed, wanted);
    run(&home, home.path(PREFIX).join("lib/rsv/uninstall"), &[]).ok();
    assert!(!home.path("Library").exists());
}

/// Starts a manager of services for `nobody`, in namespaces of its own, so that it meets no other: $1 is the home,
/// $2 what to do there, $3 a name that nobody has.
const MANAGER: &str = r#"
set -e
ip link set lo up
umount -l /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mount -t cgroup2 none /sys/fs/cgroup
group=/sys/fs/cgroup/rsv-test-$3
mkdir -p /run/systemd/system /run/user/65534 "$group/own"
chmod 700 /run/user/65534
chown -R 65534:65534 "$group" /run/user/65534 "$1"
trap 'echo $$ > /sys/fs/cgroup/cgroup.procs; find "$group" -depth -type d -exec rmdir {} \;' EXIT
echo $$ > "$group/own/cgroup.procs"
export HOME=$1 XDG_RUNTIME_DIR=/run/user/65534
setpriv --reuid 65534 --regid 65534 --clear-groups timeout 120 bash -euc "$2"
"#;

/// Runs within it: waits for the manager, starts the services, and asks the proxy.
const SERVE: &str = r#"
manager=/usr/lib/systemd/systemd
[ -x $manager ] || manager=/lib/systemd/systemd
$manager --user --log-target=null & manager=$!
trap 'kill $manager; wait' EXIT
until systemctl --user is-system-running > /dev/null 2>&1; do kill -0 $manager; done
systemctl --user start rsv-proxy
until curl -sf http://127.0.0.1:3017/health > /dev/null; do systemctl --user is-active --quiet rsv-proxy; done
grep -E '^(NoNewPrivs|Seccomp):' "/proc/$(systemctl --user show -P MainPID rsv-proxy)/status"
curl -s http://127.0.0.1:3017/command/view/9 | jq -r '.[].content'
curl -s http://127.0.0.1:3017/v1/embeddings -d '{"input": "warm"}' | jq '.data[0].embedding | length'
systemctl --user start rsv-embed
systemctl --user show -P Result rsv-embed
systemctl --user start rsv-consolidate
systemctl --user show -P Result rsv-consolidate
mkdir -p "$HOME/Sync/rsv"
systemctl --user start rsv-sync
systemctl --user show -P Result rsv-sync
ls "$HOME/Sync/rsv" | wc -l
systemctl --user start rsv-backup
systemctl --user show -P Result rsv-backup
ls "$HOME/.local/share/rsv/backups" | wc -l
mkdir -p "$HOME/.claude/projects"
systemctl --user start rsv-import
until [ "$("$HOME/.local/bin/rsv-view" -p owls 9 | jq -r .content)" = 'A cold wall.' ]; do
    printf '{"type": "user", "sessionId": "s", "uuid": "u", "cwd": "/owls", "timestamp": "2026-11-01T10:00:00.000Z", "message": {"role": "user", "content": "A cold wall."}}\n' > "$HOME/.claude/projects/session.jsonl"
    systemctl --user is-active --quiet rsv-import
done
systemctl --user stop rsv-import
systemctl --user show -P Result rsv-import
systemctl --user stop rsv-proxy
systemctl --user show -P Result rsv-proxy
systemctl --user enable --now rsv-proxy.service rsv-embed.timer rsv-consolidate.timer 2> /dev/null
systemctl --user is-active rsv-proxy.service rsv-embed.timer rsv-consolidate.timer
"$HOME/.local/lib/rsv/uninstall" > /dev/null
systemctl --user is-active rsv-proxy.service rsv-embed.timer rsv-consolidate.timer || true
find "$HOME/.config/systemd" "$HOME/.local/bin" "$HOME/.local/share/systemd/user" -type f -o -type l 2> /dev/null || true
"#;

#[test]
fn within_their_limits_the_services_serve_and_embed_until_they_are_taken_away() {
    let needed = ["systemctl", "unshare", "setpriv", "timeout", "ip", "curl", "jq"];
    let mut words = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc"].to_vec();
    let group = "mount -t cgroup2 none /mnt && mkdir /mnt/rsv-test && rmdir /mnt/rsv-test";
    let try_it = || Command::new(words[0]).args(&words[1..]).args(["sh", "-c", group]).output();
    let may = || try_it().is_ok_and(|tried| tried.status.success());
    if !needed.into_iter().all(is_installed) || !may() {
        return report_unchecked(
            "the services within their limits, for want of systemd or the rights to try it",
        );
    }
    let home = bare();
    let from = real(
        &home,
        &[
            "rsv-proxy",
            "rsv-embed",
            "rsv-export",
            "rsv-import",
            "rsv-ingest",
            "rsv-link",
            "rsv-merge",
            "rsv-view",
        ],
    );
    let own = home.path("own").display().to_string();
    let own = home.env("HOME", &own);
    run(&own, "/usr/bin/env", &["mkdir", "own"]).ok();
    let install = format!("{}/scripts/install", env!("CARGO_MANIFEST_DIR"));
    run(&own, install, &["--from", from.to_str().unwrap(), "--services=systemd"]).ok();
    own.run("rsv-embed", &["--quiet", "--fetch", MODEL, "--from", model_files().to_str().unwrap()], "").ok();
    own.run("rsv-ingest", &["A warm wall."], "").ok();
    let (place, name) = (home.path("own").display().to_string(), std::process::id().to_string());
    words.extend(["bash", "-c", MANAGER, "manager", &place, SERVE, &name]);
    run(&home, "/usr/bin/env", &["chmod", "755", "."]).ok();
    let ran = run(&home, "/usr/bin/env", &words);
    let wanted = "NoNewPrivs:\t1\nSeccomp:\t2\nA warm wall.\n384\nsuccess\nsuccess\nsuccess\n1\nsuccess\n1\nsuccess\nsuccess\nactive\nactive\nactive\n\
        inactive\ninactive\ninactive\n";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, wanted, ""));
    // The proxy may have embedded what was imported too.
    let exported = lines_of(&own.run("rsv-export", &["--vectors"], "").ok());
    let warm = exported.iter().find(|line| line["content"] == "A warm wall.").unwrap();
    assert!(exported.iter().any(|line| line["of"] == warm["id"]));
}
