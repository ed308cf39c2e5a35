//! The rules by which secrets are known.

use crate::error::{Error, Result};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

/// The rules that come with rsv.
const BUILT_IN: &str = include_str!("rules.txt");
/// The kind of the numbers of payment cards, which have no pattern.
pub(super) const CARD: &str = "card";

/// All rules, in the order of the file.
#[derive(Debug)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// The keywords of rules, and the position of the rules of each.
    keywords: AhoCorasick,
    rules_of_keyword: Vec<Vec<usize>>,
    /// The rules of users, which every text is compared with, begin here.
    own: usize,
}

/// What a secret of one kind looks like.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: String,
    pattern: String,
    /// Compiled when a text has a keyword of the rule.
    regex: OnceLock<Option<Regex>>,
    /// The lowest entropy of a secret, in bits a character.
    min_entropy: f64,
}

impl Rules {
    /// The rules that come with rsv, and those of a file, if one is given. Errors name the file and the line.
    pub(super) fn load(file: Option<&Path>) -> Result<Rules> {
        let mut rules = Vec::new();
        let mut keywords: Vec<&str> = Vec::new();
        let mut rules_of_keyword: Vec<Vec<usize>> = Vec::new();
        for line in lines(BUILT_IN).map(|(_, line)| line) {
            let mut parts = line.splitn(4, ' ');
            let (Some(kind), Some(words), Some(entropy), Some(pattern)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            for word in words.split(',') {
                let at = keywords.iter().position(|known| *known == word).unwrap_or_else(|| {
                    keywords.push(word);
                    rules_of_keyword.push(Vec::new());
                    keywords.len() - 1
                });
                rules_of_keyword[at].push(rules.len());
            }
            rules.push(Rule::new(kind, pattern, entropy.parse().unwrap_or_default()));
        }
        let own = rules.len();
        if let Some(file) = file {
            let text = std::fs::read_to_string(file).map_err(|e| Error::new("cannot be read").because(e));
            let read = text.and_then(|text| own_rules(&text));
            rules.extend(read.map_err(|error| error.at(file.display()))?);
        }
        // Every text that is stored is scanned: a DFA takes a third of the time that the other kinds take.
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::DFA));
        let keywords = builder.build(keywords);
        let keywords = keywords.map_err(|error| Error::new("the rules of secrets").because(error))?;
        Ok(Rules { rules, keywords, rules_of_keyword, own })
    }

    /// Whether a text has a keyword, or there are rules without any.
    pub(super) fn may_match(&self, text: &str) -> bool {
        self.own < self.rules.len() || self.keywords.is_match(text)
    }

    /// The rules whose secrets a text may have, in their order.
    pub(super) fn candidates(&self, text: &str) -> impl Iterator<Item = &Rule> {
        let mut candidates = BTreeSet::new();
        for found in self.keywords.find_overlapping_iter(text) {
            candidates.extend(&self.rules_of_keyword[found.pattern().as_usize()]);
        }
        candidates.into_iter().chain(self.own..self.rules.len()).map(|at| &self.rules[at])
    }
}

impl Rule {
    fn new(kind: &str, pattern: &str, min_entropy: f64) -> Rule {
        Rule { kind: kind.to_owned(), pattern: pattern.to_owned(), regex: OnceLock::new(), min_entropy }
    }

    /// The secrets of this kind in a text.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        // Those of users are compiled when they are read; a test compiles the others.
        let Some(regex) = self.regex.get_or_init(|| built_in(&self.pattern).ok()) else {
            return Vec::new();
        };
        let secret = |groups: Captures| {
            let group = groups.iter().skip(1).flatten().next().or(groups.get(0))?;
            Some(group.range())
        };
        let is_secret = |range: &Range<usize>| {
            let is_unlike_placeholder =
                |secret| self.min_entropy == 0.0 || self.is_unlike_placeholder(secret);
            !range.is_empty() && text.get(range.clone()).is_some_and(is_unlike_placeholder)
        };
        regex.captures_iter(text.as_bytes()).filter_map(secret).filter(is_secret).collect()
    }

    fn is_unlike_placeholder(&self, secret: &str) -> bool {
        /// The shortest secret that a rule finds by what stands before it.
        const MIN_CHARS: usize = 12;
        secret.len() >= MIN_CHARS && entropy(secret) >= self.min_entropy
    }
}

/// Compiles a pattern that comes with rsv. Its letters and digits are those of ASCII, as in Gitleaks: a key also begins after
/// a letter of another script, and the pattern is a hundredth as large.
fn built_in(pattern: &str) -> std::result::Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).build()
}

/// The rules of a file of users': `KIND: PATTERN`, one a line. Errors name the line.
fn own_rules(text: &str) -> Result<Vec<Rule>> {
    let rule = |(at, line): (usize, &str)| {
        let (kind, pattern) = line.split_once(':').ok_or_else(|| {
            Error::new("expected a kind, a colon and a pattern, as in 'badge: \\bBADGE-[0-9]{6}\\b'").at(at)
        })?;
        let (kind, pattern) = (kind.trim(), pattern.trim());
        if kind.is_empty() || !kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            let error = Error::new(format!("a kind has lower-case letters, digits and dashes, not {kind:?}"));
            return Err(error.at(at));
        }
        let regex = Regex::new(pattern)
            .map_err(|error| Error::new("the pattern").because(in_a_line(&error)).at(at))?;
        let rule = Rule::new(kind, pattern, 0.0);
        let _ = rule.regex.set(Some(regex));
        Ok(rule)
    };
    lines(text).map(rule).collect()
}

/// The last line of an error of a pattern, which says what is wrong; those before show the place.
fn in_a_line(error: &regex::Error) -> Error {
    let text = error.to_string();
    Error::new(text.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

/// The lines that are neither empty nor comments, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Shannon's entropy of the bytes of a text, in bits each.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_usize; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    let share = |count: &usize| *count as f64 / total;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_comes_with_rsv_is_whole() {
        let rules = Rules::load(None).unwrap();
        assert!(rules.rules.len() > 90);
        assert_eq!(rules.rules.len(), lines(BUILT_IN).count());
        for rule in &rules.rules {
            built_in(&rule.pattern).unwrap_or_else(|error| panic!("{}: {error}", rule.kind));
            assert!((0.0..=4.0).contains(&rule.min_entropy), "{}", rule.kind);
        }
        let all: Vec<usize> = rules.rules_of_keyword.concat();
        assert!((0..rules.rules.len()).all(|at| all.contains(&at)));
    }
}
