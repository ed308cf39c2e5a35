//! Where a tool runs: locale, file mode mask, home, temporary directory, names of paths.

use crate::docs::report_unchecked;
use crate::support::{Home, MODEL, lines_of, model_files, readers, tools};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Signs that a shell, TOML, SQLite's addresses or a format string would make something of.
const ODD: &str = "it's \"my\" $HOME, 100%; a#b?c=d &\\ é漢";

fn request(text: &str) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string()
}

#[test]
fn the_bytes_are_the_same_in_every_locale() {
    let home = Home::new().at("2026-11-21T07:03:00Z");
    home.run("rsv-ingest", &["--trace", "t", "Die Eule schläft — 猫 zu Hause."], "").ok();
    let reported = |locale: &str| -> Vec<String> {
        let home = home.env("LC_ALL", locale).env("LANG", locale);
        [
            ("rsv-view", &["--format", "text"][..], String::new()),
            ("rsv-search", &["SCHLÄFT", "猫"], String::new()),
            ("rsv-export", &["--format", "md"], String::new()),
            ("rsv-enrich", &["--trace", "u"], request("schläft die 猫?")),
            ("rsv-config", &["list"], String::new()),
        ]
        .map(|(tool, words, stdin)| home.run(tool, words, stdin).ok())
        .into()
    };
    let wanted = reported("C.UTF-8");
    assert!(wanted[0].contains("schläft — 猫"), "{}", wanted[0]);
    for locale in ["C", "POSIX", "en_US.ISO-8859-1", "xx_YY.nonsense", ""] {
        // The id of an account is new each time.
        let reported = reported(locale);
        for (one, other) in [0, 1, 2, 4].map(|n| (&reported[n], &wanted[n])) {
            assert_eq!(one, other, "{locale}");
        }
        let message = |line: &String| lines_of(line)[0]["messages"].clone();
        assert_eq!(message(&reported[3]), message(&wanted[3]), "{locale}");
    }
}

#[test]
fn a_restrictive_umask_is_no_obstacle() {
    let home = Home::new();
    let tool = home.command("rsv-ingest");
    let bin = Path::new(tool.get_program()).parent().unwrap();
    let line =
        "umask 077; rsv-ingest hello > /dev/null && rsv-config set retries 3 && rsv-view && rsv-export > out";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env_clear().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    shell.env("HOME", home.path("")).current_dir(home.path(""));
    assert!(home.ran(shell.output().unwrap()).ok().contains("hello"));
    for file in [".local/share/rsv/store.db", ".config/rsv/config.toml", "out"] {
        assert_eq!(home.path(file).metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
}

#[test]
fn without_a_home_the_tools_say_what_to_set() {
    for none in [Home::new().env("HOME", ""), Home::new().without("HOME")] {
        for tool in tools() {
            none.run(&tool, &["--help"], "").ok();
        }
        for (tool, words, stdin) in [
            ("rsv-ingest", &["hello"][..], ""),
            ("rsv-view", &[], ""),
            ("rsv-search", &["hello"], ""),
            ("rsv-export", &[], ""),
            ("rsv-import", &[], "{\"role\":\"user\",\"content\":\"x\",\"partition\":\"p\"}"),
            ("rsv-link", &[], ""),
        ] {
            let said = none.run(tool, words, stdin).trouble();
            let wanted = format!(
                "{tool}: error: cannot locate the store: HOME is not set\n\
                 {tool}: hint: set HOME, XDG_DATA_HOME or RSV_STORE, or give --store PATH\n"
            );
            assert_eq!(said, wanted);
        }
        assert!(none.run("rsv-embed", &["--fetch", MODEL], "").trouble().contains("HOME is not set"));
        // Enriching continues without memory; asking a model never needed any.
        let enriched = none.run("rsv-enrich", &[], request("hello"));
        assert!(enriched.status == 0 && enriched.stderr.contains("HOME is not set"), "{enriched}");
        none.run("rsv-ingest", &["--store", "here.db", "hello"], "").ok();
        assert_eq!(none.contents("rsv-view", &["--store", "here.db"]), ["hello"]);
        none.run("rsv-config", &["--config", "here.toml", "set", "retries", "3"], "").ok();
        assert_eq!(none.run("rsv-config", &["--config", "here.toml", "get", "retries"], "").ok(), "3\n");
    }
}

#[test]
fn a_home_that_cannot_be_written_can_be_read() {
    let home = Home::new();
    home.run("rsv-ingest", &["Owls hunt at night."], "").ok();
    home.run("rsv-config", &["set", "retries", "3"], "").ok();
    // The directories, too, belong to somebody else.
    for directory in ["", ".local", ".local/share", ".local/share/rsv", ".config", ".config/rsv"] {
        std::fs::set_permissions(home.path(directory), PermissionsExt::from_mode(0o555)).unwrap();
    }
    for file in
        home.path(".local/share/rsv").read_dir().unwrap().chain(home.path(".config/rsv").read_dir().unwrap())
    {
        std::fs::set_permissions(file.unwrap().path(), PermissionsExt::from_mode(0o444)).unwrap();
    }
    let Some(run) = unprivileged(&home) else {
        return report_unchecked("a home that cannot be written, for want of setpriv");
    };
    for (tool, words, stdin) in [
        ("rsv-view", &[][..], String::new()),
        ("rsv-search", &["owls"], String::new()),
        ("rsv-export", &[], String::new()),
        ("rsv-link", &["--stats"], String::new()),
        ("rsv-enrich", &[], request("owls")),
    ] {
        let reported = run(tool, words, &stdin).ok();
        assert!(reported.contains("Owls hunt") || tool == "rsv-link", "{tool}: {reported}");
    }
    assert_eq!(run("rsv-config", &["get", "retries"], "").ok(), "3\n");
    for (tool, words) in [("rsv-ingest", &["hello"][..]), ("rsv-config", &["set", "retries", "4"])] {
        let said = run(tool, words, "").trouble();
        assert!(said.contains("permission denied") && said.contains("hint: "), "{said}");
    }
    // One in which there is nothing yet, and nothing can be.
    let bare = home.env("HOME", "/proc");
    assert_eq!(bare.contents("rsv-view", &[]), [""; 0]);
    assert!(
        bare.run("rsv-ingest", &["hello"], "").trouble().contains("cannot create /proc/.local/share/rsv: ")
    );
    assert!(bare.run("rsv-config", &["set", "retries", "3"], "").trouble().contains("/proc/.config"));
    for directory in ["", ".local", ".local/share", ".local/share/rsv", ".config", ".config/rsv"] {
        std::fs::set_permissions(home.path(directory), PermissionsExt::from_mode(0o755)).unwrap();
    }
}

/// Runs tools as somebody who may not write everywhere; `None` where that cannot be.
#[allow(clippy::type_complexity)]
fn unprivileged(home: &Home) -> Option<Box<dyn Fn(&str, &[&str], &str) -> crate::support::Ran + '_>> {
    let may_write = std::fs::write(home.path("probe"), "").is_ok();
    if !may_write {
        return Some(Box::new(|tool, words, stdin| home.run(tool, words, stdin)));
    }
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let tool = home.command("rsv-view");
    let mut probe = Command::new("setpriv");
    probe.args(nobody).arg(tool.get_program()).arg("--version").env_clear();
    let can = probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    can.then(|| -> Box<dyn Fn(&str, &[&str], &str) -> crate::support::Ran + '_> {
        Box::new(move |tool, words, stdin| {
            let input = std::env::temp_dir().join(format!("rsv-test-{}", std::process::id()));
            std::fs::write(&input, stdin).unwrap();
            let inner = home.command(tool);
            let mut command = Command::new("setpriv");
            command.args(nobody).arg(inner.get_program()).args(words).env_clear().current_dir("/");
            command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.stdin(std::fs::File::open(&input).unwrap());
            let ran = home.ran(command.output().unwrap());
            std::fs::remove_file(input).unwrap();
            ran
        })
    })
}

#[test]
fn the_directory_for_temporary_files_is_not_needed() {
    for directory in ["/none/such", "/proc", "relative", "a b'c", ""] {
        let home = Home::with_model().env("TMPDIR", directory).env("SQLITE_TMPDIR", directory);
        let line = |n| {
            json!({"role": "user", "content": format!("owl {n}"), "trace_id": "t", "timestamp": n,
            "partition": "default"})
        };
        let lines: String = (0..3000).map(|n| line(n).to_string() + "\n").collect();
        home.run("rsv-import", &["-q"], &lines).ok();
        home.ingest(&[], &line(3000).to_string());
        assert_eq!(home.contents("rsv-search", &["--limit", "9999", "owl"]).len(), 3001);
        assert_eq!(home.export().lines().count(), 3001);
        home.run("rsv-search", &["--quiet", "--semantic", "owl"], "").ok();
        assert!(!home.path("relative").exists() && !home.path("a b'c").exists());
    }
}

#[test]
fn a_path_may_hold_any_character() {
    let outer = Home::new();
    let inner = outer.path(ODD);
    std::fs::create_dir(&inner).unwrap();
    let home = outer.env("HOME", inner.to_str().unwrap());
    // A store, settings and a model in the home itself.
    home.run("rsv-ingest", &["Owls hunt at night."], "").ok();
    home.run("rsv-config", &["set", "retries", "3"], "").ok();
    home.fetch(&[MODEL, "--from", model_files().to_str().unwrap()]).ok();
    assert_eq!(home.contents("rsv-search", &["--semantic", "birds of prey"]), ["Owls hunt at night."]);
    assert!(home.run("rsv-config", &["path"], "").ok().starts_with(inner.to_str().unwrap()));
    for path in
        [".local/share/rsv/store.db", ".config/rsv/config.toml", &format!(".local/share/rsv/models/{MODEL}")]
    {
        assert!(inner.join(path).exists(), "{path}");
    }
    // Named by a flag, a variable, and the settings' file.
    let store = format!("{ODD}/by {ODD}.db");
    let config = format!("{ODD}/by {ODD}.toml");
    home.run("rsv-ingest", &["--store", &store, "by flag"], "").ok();
    home.env("RSV_STORE", &store).run("rsv-ingest", &["by variable"], "").ok();
    home.run("rsv-config", &["--config", &config, "set", "store", &store], "").ok();
    home.env("RSV_CONFIG", &config).run("rsv-ingest", &["by file"], "").ok();
    assert_eq!(home.contents("rsv-view", &["--config", &config]), ["by flag", "by variable", "by file"]);
    assert!(outer.path(&store).exists() && outer.path(&config).exists());
    // Files that are read.
    let export = outer
        .write(&format!("{ODD}/out {ODD}.jsonl"), &home.run("rsv-export", &["--store", &store], "").ok());
    let copy = format!("{ODD}/copy.db");
    home.run("rsv-import", &["-q", "--store", &copy, export.to_str().unwrap()], "").ok();
    assert_eq!(home.contents("rsv-view", &["--store", &copy]), ["by flag", "by variable", "by file"]);
    let asked = outer.write(&format!("{ODD}/request.json"), &request("owls"));
    assert!(home.run("rsv-enrich", &[asked.to_str().unwrap()], "").ok().contains("Owls hunt"));
    let bad = outer.write(&format!("{ODD}/bad.jsonl"), "{\n");
    let said = home.run("rsv-import", &[bad.to_str().unwrap()], "").trouble();
    assert!(said.contains(&format!("{}:", bad.display())), "{said}");
    assert!(readers().len() > 3);
}
