//! scripts/release: its archive, its wheel and its npm package, each installed in a root that has nothing else.

use crate::docs::{is_installed, report_unchecked};
use crate::install::{bare, executable, files, run, script};
use crate::support::{Home, Ran, programs};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of the tools as scripts/build makes it: one executable, and a link to it by the name of each.
pub(crate) fn linked(home: &Home) -> PathBuf {
    let from = home.path("from");
    std::fs::create_dir(&from).unwrap();
    let (built, program) = (Path::new(env!("CARGO_BIN_EXE_rsv-multicall")), from.join("rsv"));
    let stripped = Command::new("strip").arg("-o").arg(&program).arg(built).status();
    if !stripped.is_ok_and(|status| status.success()) {
        std::fs::copy(built, &program).unwrap();
    }
    for tool in programs().iter().filter(|tool| *tool != "rsv") {
        std::fs::hard_link(&program, from.join(tool)).unwrap();
    }
    from
}

/// The libraries that a program is linked to.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let reported = Command::new("ldd").arg(program).output().unwrap();
    let reported = String::from_utf8(reported.stdout).unwrap();
    reported.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// How a program is run with another root, if this machine lets one.
fn chroot(root: &Path) -> Option<Vec<String>> {
    let (unshare, chroot) = (found("unshare")?, found("chroot")?);
    let words = [unshare.to_str()?, "--user", "--map-root-user", chroot.to_str()?, root.to_str()?];
    let may = Command::new(&unshare).args(&words[1..4]).args(["/", "true"]).status();
    may.is_ok_and(|status| status.success()).then(|| words.map(str::to_owned).to_vec())
}

/// A root directory, into which a package is installed.
struct Root<'a> {
    home: &'a Home,
    path: PathBuf,
    chroot: Option<Vec<String>>,
}

impl<'a> Root<'a> {
    /// A root that has nothing but these libraries.
    fn new(home: &'a Home, name: &str, libraries: &[PathBuf]) -> Root<'a> {
        let path = home.path(name);
        for library in libraries {
            let place = path.join(library.strip_prefix("/").unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(library, place).unwrap();
        }
        Root { home, chroot: chroot(&path), path }
    }

    /// Runs a program of a directory of this root in it; where this machine has no right to, as a program of its own.
    fn run(&self, bin: &str, program: &str, words: &[&str]) -> Ran {
        let root = if self.chroot.is_some() { String::new() } else { self.path.display().to_string() };
        let bin = format!("{root}{bin}");
        let home = self.home.env("HOME", &format!("{root}/home")).env("PATH", &bin);
        let mut within = self.chroot.clone().unwrap_or_default();
        within.push(format!("{bin}/{program}"));
        let mut command = home.command(&within[0]);
        home.ran(command.args(&within[1..]).args(words).output().unwrap())
    }

    /// Every tool starts from this directory of the root, and what is stored is found.
    fn use_tools(&self, bin: &str) {
        let within = |tool: &str, words: &[&str]| self.run(bin, tool, words);
        for tool in programs() {
            let version = format!("{tool} {}\n", env!("CARGO_PKG_VERSION"));
            assert_eq!(within(&tool, &["--version"]).ok(), version);
        }
        assert!(within("rsv", &["status"]).ok().contains("\nmessages    0\n"));
        within("rsv-ingest", &["A warm wall."]).ok();
        assert!(within("rsv", &["search", "--format", "text", "wall"]).ok().contains("user: A warm wall.\n"));
        assert!(within("rsv-view", &["--format", "text"]).ok().ends_with("user: A warm wall.\n"));
    }

    /// The store alone is left.
    fn is_uninstalled(&self) {
        let left: Vec<String> = files(&self.path).into_iter().filter(|path| path.contains("rsv")).collect();
        assert!(left.iter().all(|path| path.starts_with("home/")), "{left:?}");
        assert!(self.path.join("home/.local/share/rsv/store.db").exists());
    }
}

/// Keeps: A release needs only the libraries that it names.
/// Keeps: A wheel and an npm package install, run and uninstall where there is no compiler and nothing of rsv.
#[test]
fn every_package_of_a_release_needs_only_what_it_says() {
    if !cfg!(target_os = "linux") || !is_installed("objdump") || !is_installed("cc") {
        return report_unchecked("the packages of a release, for want of objdump and a C compiler");
    }
    let home = bare();
    let from = linked(&home);
    let made = run(&home, script("release"), &["--from", from.to_str().unwrap(), "--out", "."]).ok();
    std::fs::remove_dir_all(&from).unwrap();
    let made: Vec<&str> = made.lines().map(|path| path.strip_prefix("./").unwrap()).collect();
    let [archive, wheel, npm, "SHA256SUMS"] = made[..] else { panic!("{made:?}") };
    let checked = run(&home, "/usr/bin/env", &["sha256sum", "-c", "SHA256SUMS"]).ok();
    assert_eq!(checked, format!("{archive}: OK\n{wheel}: OK\n{npm}: OK\n"));

    let name = archive.strip_suffix(".tar.gz").unwrap();
    assert!(name.starts_with(concat!("rsv-", env!("CARGO_PKG_VERSION"), "-")), "{made:?}");
    run(&home, "/usr/bin/env", &["tar", "-xzf", archive]).ok();
    let needed = libraries(&home.path(name).join("bin/rsv"));
    let needs = home.read(&format!("{name}/NEEDS"));
    for library in &needed {
        let file = library.file_name().unwrap().to_str().unwrap();
        assert!(needs.contains(&format!("\n        {file}\n")), "{file} is not named:\n{needs}");
    }
    let glibc = needs.split("\n        of glibc ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(needs.contains("CA certificates"), "{needs}");
    assert!(wheel.contains(&format!("-py3-none-manylinux_{}_", glibc.replace('.', "_"))), "{wheel}");

    archive_installs(&home, &home.path(name), &needed);
    wheel_installs(&home, wheel, &needed);
    npm_package_installs(&home, npm, &needed);
}

fn archive_installs(home: &Home, unpacked: &Path, libraries: &[PathBuf]) {
    let root = Root::new(home, "an empty root", libraries);
    let package = home.env("DESTDIR", root.path.to_str().unwrap());
    run(&package, unpacked.join("scripts/install"), &["--prefix", "/usr/local"]).ok();
    root.use_tools("/usr/local/bin");
    if root.chroot.is_some() {
        // There is no /proc either, and no pip.
        let said = root.run("/usr/local/bin", "rsv-embed", &["--fetch", "all-minilm-l6-v2"]).trouble();
        assert!(said.contains("ONNX Runtime's library is not installed"), "{said}");
        let hint = "install pip (python3-pip), or ONNX Runtime where the system has it (libonnxruntime-dev";
        assert!(said.contains(&format!("hint: {hint}")), "{said}");
    } else {
        report_unchecked("packages of a release in an empty root, for want of rights");
    }
    run(&package, unpacked.join("scripts/uninstall"), &["--prefix", "/usr/local"]).ok();
    assert!(!root.path.join("usr/local").exists());
    root.is_uninstalled();
}

fn wheel_installs(home: &Home, wheel: &str, libraries: &[PathBuf]) {
    let root = Root::new(home, "a root with a wheel", libraries);
    let environment = root.path.join("opt");
    let venv = ["-m", "venv", environment.to_str().unwrap()];
    let pip = environment.join("bin/pip");
    if Command::new("python3").args(venv).output().is_ok_and(|ran| ran.status.success()) {
        run(home, &pip, &["install", "--quiet", "--no-index", &format!("./{wheel}")]).ok();
    } else {
        return report_unchecked("the wheel of a release, for want of python3's venv");
    }
    for file in
        ["share/man/man1/rsv-view.1", "share/bash-completion/completions/rsv-view", "lib/rsv/rsv.bash"]
    {
        assert!(environment.join(file).exists(), "{file}");
    }
    root.use_tools("/opt/bin");
    run(home, &pip, &["uninstall", "--quiet", "--yes", "rsv"]).ok();
    root.is_uninstalled();
}

fn npm_package_installs(home: &Home, package: &str, libraries: &[PathBuf]) {
    let Some(npm) = found("npm") else {
        return report_unchecked("the npm package of a release, for want of npm");
    };
    let root = Root::new(home, "a root with a package of npm", libraries);
    let prefix = root.path.join("usr");
    let place = ["--global", "--offline", "--prefix", prefix.to_str().unwrap()];
    run(home, &npm, &[&["install"], &place[..], &[&format!("./{package}")]].concat()).ok();
    root.use_tools("/usr/bin");
    run(home, &npm, &[&["uninstall"], &place[..], &["rsv"]].concat()).ok();
    root.is_uninstalled();
}

/// The path of a program of this machine.
fn found(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|place| place.join(program))
        .find(|path| path.exists())
}

/// A launcher says so if the program beside it is not there.
#[test]
fn a_launcher_alone_names_the_file_that_it_lacks() {
    if !is_installed("cc") {
        return report_unchecked("the launcher of a wheel, for want of a C compiler");
    }
    let home = bare();
    let source = script("release.d/launcher.c");
    let launcher = home.path("rsv-view");
    run(&home, "/usr/bin/env", &["cc", "-o", launcher.to_str().unwrap(), source.to_str().unwrap()]).ok();
    let ran = run(&home, &launcher, &[]);
    assert_eq!(ran.status, 2, "{ran}");
    assert!(ran.stderr.starts_with("rsv-view: error: cannot run ") && ran.stderr.contains("/rsv: "), "{ran}");
    executable(&home.write("rsv", "#!/bin/sh\necho \"$@\"\n"));
    assert_eq!(run(&home, &launcher, &["a b", "c"]).ok(), "a b c\n");
}
