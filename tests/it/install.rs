//! scripts/install and uninstall: what they put where, and that nothing stays of it.

use crate::docs::is_installed;
use crate::support::{Home, Ran, lines_of, programs, text};
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A prefix that no script gets right by chance.
pub(crate) const PREFIX: &str = "it's a \"prefix\" & 100% of $it";

/// A home in whose PATH only the system's programs are, and a cargo that fails.
pub(crate) fn bare() -> Home {
    let home = Home::new();
    executable(&home.write("bin/cargo", "#!/bin/sh\necho no cargo here >&2; exit 1\n"));
    let path = format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", home.path("bin").display());
    home.env("PATH", &path)
}

pub(crate) fn executable(path: &Path) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

pub(crate) fn run(home: &Home, program: impl AsRef<Path>, words: &[&str]) -> Ran {
    home.ran(home.command(program.as_ref().to_str().unwrap()).args(words).output().unwrap())
}

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name)
}

/// Runs scripts/install with this prefix in the home, and these tools.
pub(crate) fn install(home: &Home, from: &Path, words: &[&str]) -> Ran {
    let prefix = home.path(PREFIX).display().to_string();
    let first = ["--prefix", &prefix, "--from", from.to_str().unwrap()];
    run(home, script("install"), &[&first, words].concat())
}

/// A directory of tools that do nothing: what counts is where they come to.
pub(crate) fn stand_ins(home: &Home) -> PathBuf {
    for tool in programs() {
        executable(&home.write(&format!("from/{tool}"), &format!("#!/bin/sh\necho {tool}\n")));
    }
    home.path("from")
}

/// A directory of tools of which these are the real ones, without what only a debugger wants; the smallest stands
/// in for the others.
pub(crate) fn real(home: &Home, wanted: &[&str]) -> PathBuf {
    let from = home.path("from");
    std::fs::create_dir(&from).unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    for tool in programs() {
        let source = built.join(if wanted.contains(&tool.as_str()) { &tool } else { "rsv-config" });
        let stripped = Command::new("strip").arg("-o").arg(from.join(&tool)).arg(&source).status();
        if !stripped.is_ok_and(|status| status.success()) {
            std::fs::copy(&source, from.join(&tool)).unwrap();
        }
    }
    from
}

/// The files below a directory, by their paths in it.
pub(crate) fn files(directory: &Path) -> BTreeSet<String> {
    let (mut found, mut directories) = (BTreeSet::new(), vec![directory.to_owned()]);
    while let Some(next) = directories.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.insert(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// Keeps: An installation does not need the source, and uninstalls without a trace.
#[test]
fn an_installation_runs_and_uninstalls_without_a_trace() {
    let home = bare();
    let prefix = home.path(PREFIX);
    let from = real(&home, &["rsv-ingest", "rsv-view"]);
    home.write(&format!("{PREFIX}/bin/mine"), "my own");
    let temporary = home.path("it's a \"place\" for $a while");
    std::fs::create_dir(&temporary).unwrap();
    let home = home.env("TMPDIR", temporary.to_str().unwrap());
    install(&home, &from, &["--services=systemd", "--reservoir"]).ok();
    assert_eq!(files(&temporary), BTreeSet::new());
    let said = install(&home.env("TMPDIR", "/none/such"), &from, &[]);
    assert!(said.status == 2 && said.stderr.contains("hint: set TMPDIR to a directory"), "{said}");

    // Nothing needs the source, or anything in the environment.
    let alone = Home::new();
    run(&alone, prefix.join("bin/rsv-ingest"), &["A warm wall."]).ok();
    assert!(run(&alone, prefix.join("bin/rsv-view"), &[]).ok().contains("A warm wall."));
    let reported = lines_of(&run(&alone, prefix.join("bin/rsv-config"), &["doctor"]).stdout);
    let of_model = reported.iter().find(|line| line["check"] == "model").unwrap();
    assert_eq!(text(&of_model["remedy"]), "rsv-embed --fetch", "{of_model}");
    if is_installed("jq") {
        let alone = alone.env("PATH", "/usr/bin:/bin");
        assert!(
            run(&alone, prefix.join("bin/reservoir"), &["view", "1"]).ok().contains("] user: A warm wall.")
        );
    }

    let there = files(&prefix);
    for tool in programs() {
        for name in [
            format!("bin/{tool}"),
            format!("share/man/man1/{tool}.1"),
            format!("share/bash-completion/completions/{tool}"),
            format!("share/zsh/site-functions/_{tool}"),
            format!("share/fish/vendor_completions.d/{tool}.fish"),
        ] {
            assert!(there.contains(&name), "{name} is not in {there:?}");
        }
    }
    for name in [
        "share/man/man5/rsv-config.5",
        "share/man/man7/rsv.7",
        "share/systemd/user/rsv-proxy.service",
        "lib/rsv/manifest",
        "bin/rsv-backup",
        "bin/rsv-consolidate",
        "bin/rsv-commit",
        "bin/rsv-restore",
        "bin/rsv-sync",
        "share/man/man1/rsv-sync.1",
    ] {
        assert!(there.contains(name), "{name} is not in {there:?}");
    }
    for path in &there {
        let mode = std::fs::metadata(prefix.join(path)).unwrap().permissions().mode() & 0o777;
        let program = path.starts_with("bin/rsv") || path.starts_with("bin/reservoir");
        assert!(
            mode == 0o644 || mode == 0o755 && (program || path.starts_with("lib/rsv/")),
            "{path}: {mode:o}"
        );
    }

    // Once more changes nothing; the services and the command stay.
    install(&home, &from, &[]).ok();
    assert_eq!(files(&prefix), there);

    let stopped = home.path("stopped");
    let said = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", stopped.display());
    executable(&home.write("bin/systemctl", &said));
    assert_eq!(run(&home, prefix.join("lib/rsv/uninstall"), &[]).ok(), "");
    assert_eq!(files(&prefix), BTreeSet::from(["bin/mine".to_owned()]));
    assert!(!prefix.join("share").exists(), "an empty directory is left");
    assert_eq!(
        home.read("stopped"),
        "--user disable --now rsv-proxy.service rsv-import.service rsv-embed.timer rsv-consolidate.timer \
         rsv-backup.timer rsv-sync.timer\n"
    );
    assert!(alone.store().exists());
}

/// Keeps: An installation touches no files of others.
#[test]
fn files_of_others_are_not_touched() {
    let home = bare();
    let from = stand_ins(&home);
    let prefix = home.path(PREFIX);
    let own = format!("{PREFIX}/bin/rsv-view");
    home.write(&own, "a program of my own");
    symlink("/nowhere", home.path(&format!("{PREFIX}/bin/rsv-search"))).unwrap();
    let ran = install(&home, &from, &[]);
    let view = prefix.join("bin/rsv-view").display().to_string();
    assert!(ran.status == 2 && ran.stderr.contains(&view), "{ran}");
    assert!(
        ran.stderr.contains("bin/rsv-search, ") && ran.stderr.ends_with("hint: --force replaces it\n"),
        "{ran}"
    );
    assert_eq!(files(&prefix).len(), 2, "something was written");
    install(&home, &from, &["--force"]).ok();
    assert_eq!(run(&home, prefix.join("bin/rsv-search"), &[]).ok(), "rsv-search\n");

    // A newer version replaces what is as it was, takes away what it has no more, and stops before what was changed.
    home.write("from/rsv-view", "#!/bin/sh\necho newer\n");
    let gone = home.write(&format!("{PREFIX}/bin/rsv-gone"), "older\n");
    let manifest = home.read(&format!("{PREFIX}/lib/rsv/manifest"));
    let sum = run(&home, "/usr/bin/env", &["cksum", gone.to_str().unwrap()]).ok();
    home.write(&format!("{PREFIX}/lib/rsv/manifest"), &format!("{manifest}{sum}"));
    install(&home, &from, &[]).ok();
    assert_eq!(run(&home, prefix.join("bin/rsv-view"), &[]).ok(), "newer\n");
    assert!(!gone.exists());
    home.write(&own, "changed");
    let ran = install(&home, &from, &[]);
    assert!(ran.status == 2 && ran.stderr.contains(&view), "{ran}");

    // A changed file is left and named.
    let uninstall = script("uninstall");
    let ran = run(&home, &uninstall, &["--prefix", prefix.to_str().unwrap()]);
    assert_eq!(
        (ran.status, ran.stderr),
        (1, format!("scripts/uninstall: {view} was changed, and is left\n"))
    );
    assert_eq!(files(&prefix), BTreeSet::from(["bin/rsv-view".to_owned()]));
    let ran = run(&home, &uninstall, &["--prefix", prefix.to_str().unwrap()]);
    assert!(ran.status == 2 && ran.stderr.contains("rsv is not installed here"), "{ran}");
}

#[test]
fn a_package_is_put_together_below_another_directory() {
    let home = bare();
    let from = stand_ins(&home);
    let package = home.env("DESTDIR", home.path("a package").to_str().unwrap());
    let words = ["--prefix", "/opt/r s v", "--from", from.to_str().unwrap(), "--services=systemd"];
    run(&package, script("install"), &words).ok();
    assert!(home.path("a package/opt/r s v/bin/rsv-view").exists());
    let unit = home.read("a package/opt/r s v/share/systemd/user/rsv-proxy.service");
    assert!(unit.contains("\"/opt/r s v/bin/rsv-proxy\"\n"), "{unit}");
    run(&package, script("uninstall"), &["--prefix", "/opt/r s v"]).ok();
    assert_eq!(home.path("a package").read_dir().unwrap().count(), 0);
}

#[test]
fn what_it_says_at_its_end_makes_a_shell_ready() {
    let home = bare();
    let from = stand_ins(&home);
    for shell in ["bash", "zsh", "fish"].into_iter().filter(|shell| is_installed(shell)) {
        let said = install(&home.env("SHELL", &format!("/usr/bin/{shell}")), &from, &[]).ok();
        let (before, lines) = said.split_once(", and begin a new shell:\n").unwrap();
        let file = home.path(before.rsplit_once("Add to ~/").unwrap().1);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let lines: String =
            lines.lines().filter_map(|line| line.strip_prefix("    ")).map(|l| format!("{l}\n")).collect();
        std::fs::write(file, lines).unwrap();
        let words = ["-i", "-c", "rsv-view; type rsv-forget-last >/dev/null && echo functions"];
        let ran = run(&home, format!("/usr/bin/{shell}"), &words);
        assert_eq!(ran.stdout, "rsv-view\nfunctions\n", "{shell}: {ran}");
    }
}

#[test]
fn the_default_is_the_users_home_and_errors_are_reported() {
    let home = bare();
    let from = stand_ins(&home);
    let from = from.to_str().unwrap();
    let said = run(&home, script("install"), &["--from", from]).ok();
    assert!(home.path(".local/bin/rsv-view").exists());
    assert!(said.contains("/.local/bin:$PATH\n") && said.ends_with("Then run: rsv-config init\n"), "{said}");
    home.write(".local/share/rsv/rsv.db", "");
    home.write(".local/state/rsv/ask_history", "");
    let path = format!("PATH={}:$PATH", home.path(".local/bin").display());
    let source = format!("source {}", home.path(".local/lib/rsv/rsv.bash").display());
    let secret = "export RSV_PROXY_TOKEN=sk-canary";
    home.write(".bashrc", &format!("alias ll='ls -l'\n{path}\n{source}\n# reservsv\n{secret}\n"));
    let server = "      \"command\": \"/home/me/.local/bin/rsv-mcp\"";
    home.write(
        ".claude.json",
        &format!("{{\n  \"mcpServers\": {{\n    \"rsv\": {{\n{server}\n    }}\n  }}\n}}\n"),
    );
    home.write(".codex/config.toml", "model = \"o3\"\n");
    let left = run(&home, script("uninstall"), &[]).ok();
    let file = |name: &str| home.path(name).display().to_string();
    let (shell, client) = (file(".bashrc"), file(".claude.json"));
    assert_eq!(
        left,
        format!(
            "left: {}\nleft: {}\nleft: {shell}:2:{path}\nleft: {shell}:3:{source}\nleft: {shell}:5\nleft: {client}:3:    \"rsv\": {{\nleft: {client}:4:{server}\n",
            file(".local/share/rsv"),
            file(".local/state/rsv")
        )
    );
    assert!(!home.path(".local/bin").exists());
    let nobody = home.env("HOME", "");
    for (name, words, wanted) in [
        ("install", &["--from", "/nowhere"][..], "there is no rsv in /nowhere"),
        ("install", &["--everything"], "unknown argument: --everything"),
        ("install", &["--prefix"], "--prefix: expected a directory"),
        ("uninstall", &["--prefix", "/nowhere"], "there is no /nowhere/lib/rsv/manifest"),
        ("uninstall", &["now"], "unknown argument: now"),
        ("release", &["--from", "/nowhere", "--out", "."], "there is no rsv in /nowhere"),
        ("release", &["now"], "unknown argument: now"),
    ] {
        let ran = run(&home, script(name), words);
        assert!(ran.status == 2 && ran.stderr.starts_with(&format!("scripts/{name}: error: ")), "{ran}");
        assert!(ran.stderr.contains(wanted) && ran.stderr.contains(": hint: "), "{name} {words:?}: {ran}");
    }
    for name in ["install", "uninstall"] {
        let ran = run(&nobody, script(name), &["--from", from][..if name == "install" { 2 } else { 0 }]);
        assert!(ran.status == 2 && ran.stderr.contains("hint: say where: --prefix DIR"), "{name}: {ran}");
    }
}

#[test]
fn what_is_built_from_the_source_needs_cargo_and_says_so() {
    let home = Home::new();
    for name in ["bash", "dirname", "mktemp", "rm", "sed", "uname"] {
        let found = run(&Home::new(), "/bin/sh", &["-c", &format!("command -v {name}")]).ok();
        std::fs::create_dir_all(home.path("bin")).unwrap();
        symlink(found.trim(), home.path("bin").join(name)).unwrap();
    }
    let home = home.env("PATH", home.path("bin").to_str().unwrap());
    for name in ["demo", "install", "release"] {
        let said = run(&home, script(name), &[]);
        let error = format!("scripts/{name}: error: cargo is not installed");
        assert!(said.status == 2 && said.stderr.starts_with(&error), "{said}");
        assert!(said.stderr.contains(&format!("scripts/{name}: hint: install Rust")), "{said}");
    }
}

#[test]
fn the_debian_package_has_every_file_of_an_installation() {
    let home = bare();
    install(&home, &stand_ins(&home), &["--services=systemd", "--reservoir"]).ok();
    let only_installed = ["LICENSE", "manifest", "uninstall"];
    let names = |directory: &Path| -> BTreeSet<String> {
        let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
        files(directory).into_iter().map(name).collect()
    };
    let mut installed = names(&home.path(PREFIX));
    installed.retain(|name| !only_installed.contains(&name.as_str()));
    // scripts/build makes the directory of the tools, which are links.
    let mut packaged: BTreeSet<String> = programs().into_iter().collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest: toml_edit::DocumentMut =
        std::fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    for asset in manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap() {
        let Some(asset) = asset.as_array() else { continue };
        let pattern = asset.get(0).unwrap().as_str().unwrap();
        let (directory, name) = pattern.rsplit_once('/').unwrap_or((".", pattern));
        if directory == "target/release/rsv-tools" {
            continue;
        }
        let (begin, end) = name.split_once('*').unwrap_or((name, ""));
        let is_matched = |file: &String| file.starts_with(begin) && file.ends_with(end);
        let found: Vec<String> = names(&root.join(directory)).into_iter().filter(is_matched).collect();
        assert!(!found.is_empty(), "no file is {pattern}");
        packaged.extend(found);
    }
    let bare_name =
        |name: &String| name.strip_suffix(".bash").filter(|_| name != "rsv.bash").map(str::to_owned);
    packaged.extend(packaged.iter().filter_map(bare_name).collect::<Vec<_>>());
    let missing: Vec<&String> = installed.difference(&packaged).collect();
    assert!(missing.is_empty(), "the package lacks {missing:?}");
}
