//! The files and commits that a text names.

use std::collections::BTreeSet;

/// The greatest number of each in one text, and the greatest length of a path, in bytes.
const MAX_NAMES: usize = 64;
const MAX_PATH_BYTES: usize = 512;

/// The longest extension of a file's name, in characters.
const MAX_EXTENSION: usize = 12;

/// The lengths of a commit's name, in hexadecimal digits.
const MIN_DIGITS: usize = 7;
const MAX_DIGITS: usize = 40;

/// The words before a commit's name, and those that may stand between.
const COMMIT_WORDS: [&str; 5] = ["commit", "commits", "committed", "revert", "коммит"];
const BETWEEN: [&str; 5] = ["hash", "id", "sha", "and", "as"];

/// The names in a text, each once, in the order of the text.
#[derive(Default, Debug, PartialEq)]
pub(super) struct Names {
    /// Paths below the root, with `/` between their parts.
    pub(super) paths: Vec<String>,
    /// The first digits of commits.
    pub(super) commits: Vec<String>,
}

impl Names {
    /// Finds the names in a text. Absolute paths are those below one of `roots`.
    pub(super) fn of(text: &str, roots: &[String]) -> Names {
        let mut names = Names::default();
        let (mut seen, mut is_after_commit) = (BTreeSet::new(), false);
        for word in text.split(separates).filter(|word| !word.is_empty()) {
            let word = word.trim_end_matches(ENDS);
            let plain = word.to_lowercase();
            if is_after_commit && is_commit(word) {
                if names.commits.len() < MAX_NAMES && seen.insert(word) {
                    names.commits.push(word.to_owned());
                }
                continue;
            }
            is_after_commit =
                COMMIT_WORDS.contains(&&*plain) || is_after_commit && BETWEEN.contains(&&*plain);
            let Some(path) = path(word, roots).filter(|_| names.paths.len() < MAX_NAMES) else { continue };
            if !names.paths.contains(&path) {
                names.paths.push(path);
            }
        }
        names
    }
}

/// Whether a path without git is that of a file for sure: in a directory, with an extension.
pub(super) fn is_clearly_a_file(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, name)| has_extension(name))
}

/// The punctuation after a word.
const ENDS: [char; 9] = ['.', ',', ':', ';', '!', '?', '…', '。', '，'];

/// Whether a character stands between words and in no path.
fn separates(c: char) -> bool {
    c.is_whitespace() || "`'\"()[]{}<>,;|=“”‘’«»„「」『』（）、，。；：！？".contains(c)
}

fn is_commit(word: &str) -> bool {
    (MIN_DIGITS..=MAX_DIGITS).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && word.bytes().any(|b| b.is_ascii_digit())
}

/// The path below the root that a word names, if it looks like a file's: `src/pay.rs`, `./x/y.py:12`,
/// `@x.md`.
fn path(word: &str, roots: &[String]) -> Option<String> {
    if word.len() > MAX_PATH_BYTES || word.contains("://") || word.contains(['\\', '*', '?', '$', '~']) {
        return None;
    }
    let word = word.strip_prefix('@').unwrap_or(word);
    let word = match word.find([':', '#']) {
        Some(at) if is_position(&word[at + 1..]) => &word[..at],
        Some(_) => return None,
        None => word,
    };
    let below = if word.starts_with('/') {
        roots.iter().find_map(|root| word.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/'))?
    } else {
        word
    };
    let below = below.strip_prefix("./").unwrap_or(below);
    let mut parts = below.split('/');
    if parts.any(|part| ["", ".", "..", ".git"].contains(&part)) || below.contains(char::is_control) {
        return None;
    }
    (below.contains('/') || has_extension(below)).then(|| below.to_owned())
}

/// Whether the rest of a word is a line, or lines and columns: `12`, `12:5`, `L12-L20`.
fn is_position(rest: &str) -> bool {
    rest.starts_with(|c: char| c == 'L' || c.is_ascii_digit())
        && rest.chars().all(|c| c.is_ascii_digit() || "L:-C".contains(c))
}

/// Whether a name has an extension, of which one letter at least: `pay.rs`, `x.7z`.
fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && extension.len() <= MAX_EXTENSION
            && extension.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            && extension.chars().any(|c| c.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commits_are_told_from_other_words() {
        let roots = ["/home/ann/owls".to_owned()];
        let names = |text: &str| Names::of(text, &roots);
        for (text, paths) in [
            ("See `src/pay.rs`, ./x/y.py:12 and @docs/a.md.", vec!["src/pay.rs", "x/y.py", "docs/a.md"]),
            ("[it](src/a.rs#L3) \"b.c:4:5\" src/a.rs", vec!["src/a.rs", "b.c"]),
            ("/home/ann/owls/src/a.rs /home/ann/owlsx/b.rs /etc/passwd", vec!["src/a.rs"]),
            (
                "https://example.org/src/a.rs ../x.rs a/../../b.rs ~/c.rs .git/config *.rs std::fs::x.y",
                vec![],
            ),
            ("Costs 1.50, or v2. Well.", vec![]),
            ("ändere прочь/файл.txt", vec!["прочь/файл.txt"]),
        ] {
            assert_eq!(names(text).paths, paths, "{text}");
        }
        for (text, commits) in [
            (
                "in commit 1a2b3c4, and commits `a1b2c3d4e5` and 99aa99a.",
                vec!["1a2b3c4", "a1b2c3d4e5", "99aa99a"],
            ),
            ("the image 1a2b3c4d5e6f; commit messages 1a2b3c4", vec![]),
            ("commit defaced, commit 12345", vec![]),
        ] {
            assert_eq!(names(text).commits, commits, "{text}");
        }
    }
}
