//! The names of sections in their addresses.

use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The greatest length of a name, in characters, before a hash takes the place of the rest.
const MAX_CHARS: usize = 50;
/// The name of a section whose title has no letter.
const UNNAMED: &str = "section";

/// The names that are taken in a directory, each with the number that was given to it last.
#[derive(Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// A name for a title: its letters and digits, `_` for blanks, and a number if another has the same.
    pub(super) fn name(&mut self, title: &str) -> String {
        let name = shorten(&keep_letters(title));
        let Some(&taken) = self.0.get(&name) else {
            self.0.insert(name.clone(), 0);
            return name;
        };
        let mut numbers = (taken + 1..).map(|number| (number, format!("{name}_{number}")));
        let free = numbers.find(|(_, numbered)| !self.0.contains_key(numbered));
        let (number, numbered) = free.unwrap_or((taken, name.clone()));
        self.0.insert(name, number);
        self.0.insert(numbered.clone(), 0);
        numbered
    }
}

fn keep_letters(title: &str) -> String {
    let words = title.split(|c: char| c.is_whitespace() || c == '_');
    let words = words.map(|word| word.chars().filter(|c| c.is_alphanumeric()).collect::<String>());
    let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}

fn shorten(name: &str) -> String {
    match name.char_indices().nth(MAX_CHARS) {
        None => name.to_owned(),
        Some((end, _)) => {
            let hash = Sha256::digest(name.as_bytes());
            let digits: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}_{digits}", &name[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_letters_and_are_unique() {
        let mut names = Names::default();
        for (title, name) in [
            ("What's new?  (2024)", "Whats_new_2024"),
            ("Whats new 2024", "Whats_new_2024_1"),
            ("a_b / c", "a_b_c"),
            ("園芸 入門", "園芸_入門"),
            ("../..", "section"),
            ("", "section_1"),
        ] {
            assert_eq!(names.name(title), name);
        }
        let (long, other) = ("é".repeat(60), "é".repeat(61));
        let (long, other) = (names.name(&long), names.name(&other));
        assert!(long.starts_with(&("é".repeat(50) + "_")) && long.chars().count() == 59 && long != other);
    }
}
