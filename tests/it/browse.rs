//! rsv-browse, in bash, zsh and fish, with the real fzf on a terminal.

use crate::docs::is_installed;
use crate::functions::{run, shells, sourced};
use crate::support::{Home, lines_of};
use crate::terminal::Terminal;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// The names of the shells in which rsv-browse can run; none without fzf.
fn browsing() -> Vec<&'static str> {
    let mut names: Vec<&str> = shells().into_iter().map(|(shell, _)| shell).collect();
    names.dedup();
    names.retain(|_| is_installed("fzf"));
    names
}

const WALL: &str = "By the warm wall.\n\nThey like it — 日本語 e\u{301}.";

/// A home with a turn about tomatoes, two more messages, and one of another scope.
fn furnished(home: Home) -> Home {
    let said = [
        ("wall", "garden", "user", "Where do the tomatoes stand?"),
        ("wall", "garden", "assistant", WALL),
        ("fence", "garden", "user", "Beans go up the north fence."),
        ("port", "work", "user", "The server has port 8022."),
    ];
    let line = |(at, (trace, partition, role, content)): (usize, &(&str, &str, &str, &str))| {
        let line = json!({"id": format!("m{at}"), "trace_id": trace, "partition": partition, "role": role,
            "content": content, "timestamp": 1_700_000_000_000_i64 + 60_000 * at as i64});
        line.to_string() + "\n"
    };
    home.ingest(&[], &said.iter().enumerate().map(line).collect::<String>());
    home
}

/// Runs a line of a shell that has sourced the functions, on a terminal.
pub(crate) fn browse(home: &Home, shell: &str, columns: usize, line: &str) -> Option<Terminal> {
    home.write("line", &format!("{}{line}\n", sourced(home, shell)));
    Terminal::run(home, columns, &format!("stty rows 24; {shell} line; echo \"ended $?\""))
}

fn ids(home: &Home) -> Vec<String> {
    let lines = lines_of(&home.run("rsv-view", &["--all"], "").ok());
    lines.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn it_searches_while_one_types_and_enter_prints_the_message() {
    for shell in browsing() {
        let home = furnished(Home::new());
        for columns in [40, 80, 200] {
            let Some(mut terminal) = browse(&home, shell, columns, "rsv-browse -p garden") else { return };
            terminal.see("3/3");
            terminal.see("Beans go up");
            terminal.press("toma");
            // The preview, which is drawn before or after the count, has what follows the hit.
            terminal.see_all(["1/1", "By the warm wall."]);
            terminal.press("to \"warm");
            terminal.see("0/0");
            terminal.press(&"\u{7f}".repeat(20));
            terminal.see("3/3");
            terminal.press("日本語");
            terminal.see("1/1");
            terminal.press("\r");
            let seen = terminal.see("ended 0");
            assert!(seen.contains(" They like it — 日本語 e\u{301}."), "{shell} {columns}: {seen:?}");
        }
        // To a pipe it prints a line, of any scope with --all; the words are the first question.
        let line = "rsv-browse --all port 8022 | jq -r .content";
        let mut terminal = browse(&home, shell, 80, line).unwrap();
        terminal.see("1/1");
        terminal.see("work/work");
        terminal.press("\r");
        // After fzf has left its screen.
        terminal.see("\u{1b}[?1049l");
        terminal.see("The server has port 8022.\nended 0");
    }
}

#[test]
fn keys_copy_the_text_open_the_trace_and_forget_after_a_yes() {
    for shell in browsing() {
        let home = furnished(Home::new());
        let line = "unset DISPLAY WAYLAND_DISPLAY TMUX 2>/dev/null; rsv-browse -p garden -- warm";
        let line = if shell == "fish" { "rsv-browse -p garden -- warm" } else { line };
        let Some(mut terminal) = browse(&home, shell, 80, line) else { return };
        terminal.see("1/1");
        if !is_installed("pbcopy") {
            terminal.press("\u{19}");
            // The terminal's own clipboard.
            terminal.see(&format!(
                "\u{1b}]52;c;{}\u{7}",
                "QnkgdGhlIHdhcm0gd2FsbC4KClRoZXkgbGlrZSBpdCDigJQg5pel5pys6KqeIGXMgS4="
            ));
            terminal.see("copied>");
        }
        terminal.press("\u{14}");
        // All of the trace, until a key is pressed.
        terminal.see("Where do the tomatoes stand?");
        terminal.see("Press Enter to continue.");
        terminal.press("\n");
        // The whole conversation, of other traces too.
        terminal.press("\u{f}");
        terminal.see("Beans go up the north fence.");
        terminal.see("Press Enter to continue.");
        terminal.press("\n");
        terminal.press("\u{18}");
        terminal.see("Forget this message for good? [y/N]");
        terminal.press("\n");
        terminal.see("1/1");
        assert_eq!(ids(&home), ["m0", "m1", "m2", "m3"], "{shell}");
        terminal.press("\u{18}");
        terminal.see("Forget this message for good? [y/N]");
        terminal.press("y\n");
        terminal.see("0/0");
        assert_eq!(ids(&home), ["m0", "m2", "m3"], "{shell}");
        // Nothing is chosen.
        terminal.press("\u{3}");
        terminal.see("ended 1");
    }
}

#[test]
fn keys_pin_a_message_and_keep_it_out_of_recall() {
    for shell in browsing() {
        let home = furnished(Home::new());
        let Some(mut terminal) = browse(&home, shell, 80, "rsv-browse -p garden warm") else { return };
        terminal.see("1/1");
        let rules = || {
            let lines = lines_of(&home.run("rsv-view", &["--of", "m1"], "").ok());
            lines.iter().map(|line| line["recall"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for (key, rule) in [("n", "never"), ("n", "auto"), ("p", "always"), ("n", "never")] {
            terminal.press(&format!("\u{1b}{key}"));
            // In the prompt, and then before the message.
            terminal.see(&format!("{rule}>"));
            if rule != "auto" {
                terminal.see(rule);
            }
            assert_eq!(rules().last().map(String::as_str), Some(rule), "{shell}");
        }
        terminal.press("\u{3}");
        terminal.see("ended 1");
        assert_eq!(rules(), ["never", "auto", "always", "never"], "{shell}");
    }
}

#[test]
fn a_key_corrects_a_message() {
    for shell in browsing() {
        let home = furnished(Home::new());
        let Some(mut terminal) = browse(&home, shell, 80, "rsv-browse -p work server") else { return };
        terminal.see("1/1");
        terminal.press("\u{1b}c");
        terminal.see("Say what is right instead");
        // Nothing leaves the message as it is.
        terminal.press("\r");
        terminal.see("1/1");
        assert!(!home.export().contains("CORRECTS"), "{shell}");
        terminal.press("\u{1b}c");
        terminal.see("Say what is right instead");
        terminal.press("It is -- port 2222 of 'server'.\r");
        terminal.see("2/2");
        terminal.press("\u{3}");
        terminal.see("ended 1");
        let lines = lines_of(&home.export());
        let correction =
            lines.iter().find(|line| line["content"] == "It is -- port 2222 of 'server'.").unwrap();
        assert_eq!((&correction["partition"], &correction["instance"]), (&json!("work"), &json!("work")));
        let link = lines.iter().find(|line| line["rel"] == "CORRECTS").unwrap();
        assert_eq!((&link["from"], &link["to"]), (&correction["id"], &json!("m3")), "{shell}");
    }
}

#[test]
fn a_program_for_the_clipboard_gets_the_text() {
    for shell in browsing() {
        let home = furnished(Home::new().env("WAYLAND_DISPLAY", "wayland-0"));
        let program = home.write("bin/wl-copy", "#!/bin/sh\ncat > copied\n");
        std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
        let home = home.env("ADDED_PATH", home.path("bin").to_str().unwrap());
        let line = match shell {
            "fish" => "set -x PATH $ADDED_PATH $PATH; rsv-browse -p garden warm",
            _ => "export PATH=$ADDED_PATH:$PATH; rsv-browse -p garden warm",
        };
        let Some(mut terminal) = browse(&home, shell, 80, line) else { return };
        terminal.see("1/1");
        terminal.press("\u{19}");
        terminal.see("copied>");
        assert_eq!(home.read("copied"), WALL, "{shell}");
        terminal.press("\u{3}");
        terminal.see("ended 1");
    }
}

#[test]
fn it_browses_the_project_and_ctrl_r_widens_it_to_everything_and_back() {
    for shell in browsing() {
        let home = furnished(Home::new());
        std::fs::create_dir_all(home.path("garden/.git")).unwrap();
        let Some(mut terminal) = browse(&home, shell, 80, "cd garden; rsv-browse port") else { return };
        terminal.see("ctrl-r searches everywhere");
        terminal.see("0/0");
        terminal.press("\u{12}");
        terminal.see_all(["search all>", "ctrl-r searches less"]);
        terminal.see("1/1");
        terminal.see("work/work");
        terminal.press("\u{12}");
        terminal.see("ctrl-r searches everywhere");
        terminal.press(&"\u{7f}".repeat(4));
        // The last messages, of the project alone.
        terminal.see("3/3");
        terminal.press("\u{12}");
        terminal.see("4/4");
        terminal.press("port");
        terminal.see("1/1");
        terminal.press("\r");
        terminal.see("\u{1b}[?1049l");
        let seen = terminal.see("ended 0");
        assert!(seen.contains("The server has port 8022."), "{shell}: {seen}");
        // Elsewhere everything is browsed from the beginning.
        let mut terminal = browse(&home, shell, 80, "rsv-browse").unwrap();
        terminal.see("4/4");
        terminal.press("\u{3}");
        terminal.see("ended 1");
    }
}

#[test]
fn no_hit_of_another_question_is_listed_while_it_searches() {
    for shell in browsing() {
        let home = furnished(Home::new());
        let real = home.command("rsv-search").get_program().to_str().unwrap().to_owned();
        let script =
            format!("#!/bin/sh\nwhile test -e \"$HOME/held\"; do sleep 0.02; done\nexec '{real}' \"$@\"\n");
        let program = home.write("bin/rsv-search", &script);
        std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
        let home = home.env("ADDED_PATH", home.path("bin").to_str().unwrap());
        let line = match shell {
            "fish" => "set -x PATH $ADDED_PATH $PATH; rsv-browse -p garden",
            _ => "export PATH=$ADDED_PATH:$PATH; rsv-browse -p garden",
        };
        let Some(mut terminal) = browse(&home, shell, 80, line) else { return };
        terminal.see("3/3");
        let held = home.write("held", "");
        terminal.press("toma");
        terminal.see("0/0");
        std::fs::remove_file(held).unwrap();
        terminal.see("1/1");
        terminal.press("\u{3}");
        terminal.see("ended 1");
    }
}

#[test]
fn it_searches_by_meaning_where_there_is_a_model() {
    for shell in browsing() {
        let home = furnished(Home::with_model());
        let line = "rsv-browse -p garden Which vegetables did we plant";
        let Some(mut terminal) = browse(&home, shell, 80, line) else { return };
        terminal.see("tomatoes stand");
        terminal.press("\u{3}");
        terminal.see("ended 1");
    }
}

#[test]
fn what_is_missing_is_named() {
    for shell in shells() {
        let home = Home::new();
        std::fs::create_dir_all(home.path("only")).unwrap();
        let places = std::env::var("PATH").unwrap();
        for program in ["bash", "zsh", "fish"] {
            let found =
                places.split(':').map(|place| Path::new(place).join(program)).find(|path| path.exists());
            if let Some(found) = found {
                symlink(found, home.path("only").join(program)).unwrap();
            }
        }
        let script = match shell.0 {
            "fish" => "set -x PATH $HOME/only; rsv-browse; echo \"[$status]\"",
            _ => "export PATH=$HOME/only; rsv-browse || echo \"[$?]\"",
        };
        let ran = run(&home, shell, script, "");
        let wanted =
            "rsv-browse: error: fzf is not installed; install it, for instance with: apt install fzf\n";
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("[2]\n", wanted), "{shell:?}");
        for words in ["-x", "-p", "--all -p garden", "-i ''"] {
            let script = match shell.0 {
                "fish" => format!("rsv-browse {words}; echo \"[$status]\""),
                _ => format!("rsv-browse {words} || echo \"[$?]\""),
            };
            let ran = run(&home, shell, &script, "");
            assert_eq!(ran.stdout, "[2]\n", "{shell:?} {words}");
            assert!(ran.stderr.starts_with("rsv-browse: usage: rsv-browse [-p PARTITION]"), "{ran}");
        }
    }
}

#[test]
fn in_an_empty_scope_it_says_what_is_near() {
    for shell in browsing() {
        let home = furnished(Home::new());
        let Some(mut terminal) = browse(&home, shell, 80, "rsv-browse -p gardn") else { return };
        let seen = terminal.see("ended 1");
        assert!(seen.contains("rsv-view: nothing in gardn"), "{seen}");
    }
}
