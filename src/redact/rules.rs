//! The rules that recognize secrets.

use super::name::NameClass;
use super::setting::NameRun;
use super::value::{self, Place, entropy};
use super::{address, pem, setting};
use crate::error::{Error, Result, failures};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::OnceLock;

/// The rules that come with rsv.
const BUILT_IN: &str = include_str!("rules.txt");
/// The kind of the numbers of payment cards, which have no pattern.
pub(super) const CARD: &str = "card";
/// The pattern of rules whose keywords are parts of names, in any case.
const NAME: &str = "@name";
/// The kind whose pattern is the beginning of a secret.
const PRIVATE_KEY: &str = "private-key";

/// All rules, in the order of the file.
#[derive(Debug)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// The keywords of rules in lower case, and the rules of each.
    keywords: AhoCorasick,
    rules_of_keyword: Vec<Vec<Keyword>>,
    /// The rules of users, which every text is compared with, begin here.
    own: usize,
}

/// A keyword of a rule.
#[derive(Clone, Debug)]
struct Keyword {
    /// The position of the rule.
    rule: usize,
    /// The keyword in its case; `None` if it has any.
    word: Option<&'static str>,
    /// Whether the keyword must begin a word.
    begins_word: bool,
}

/// The rule for secrets of one kind.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: String,
    matcher: Matcher,
    check: Check,
}

/// How the secrets of a kind are found.
#[derive(Debug)]
enum Matcher {
    /// By a pattern in the whole text, which is compiled when a text has a keyword of the rule.
    Pattern { pattern: String, regex: OnceLock<Option<Regex>> },
    /// At each keyword, as the password in an address.
    Address,
    /// At each keyword, as the value after a name.
    Name,
}

/// The check that distinguishes a secret from a placeholder.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Check {
    /// The lowest entropy in bits a character.
    Entropy(f64),
    Password,
    Token,
}

impl Rules {
    /// The rules that come with rsv, and those of a file, if one is given. Errors name the file and the line.
    pub(super) fn load(file: Option<&Path>) -> Result<Rules> {
        let mut rules = Vec::new();
        let mut keywords: Vec<String> = Vec::new();
        let mut rules_of_keyword: Vec<Vec<Keyword>> = Vec::new();
        for line in lines(BUILT_IN).map(|(_, line)| line) {
            let mut parts = line.splitn(4, ' ');
            let (Some(kind), Some(words), Some(check), Some(pattern)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            for word in words.split(',') {
                let bare = word.strip_prefix(r"\b");
                let word = bare.unwrap_or(word);
                let keyword = Keyword {
                    rule: rules.len(),
                    word: (pattern != NAME).then_some(word),
                    begins_word: bare.is_some(),
                };
                let word = word.to_ascii_lowercase();
                let at = keywords.iter().position(|known| *known == word).unwrap_or_else(|| {
                    keywords.push(word);
                    rules_of_keyword.push(Vec::new());
                    keywords.len() - 1
                });
                rules_of_keyword[at].push(keyword);
            }
            rules.push(Rule::new(kind, pattern, Check::parse(check)));
        }
        let own = rules.len();
        if let Some(file) = file {
            let text = std::fs::read_to_string(file).map_err(|e| RuleError::Unreadable { source: e }.into());
            let read = text.and_then(|text| own_rules(&text));
            rules.extend(read.map_err(|error| error.at(file.display()))?);
        }
        // Every text that is stored is scanned: a DFA takes a third of the time that the other kinds take.
        // With small letters alone it is half as large.
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::DFA));
        let keywords = builder.build(keywords).map_err(|source| RuleError::Keywords { source })?;
        Ok(Rules { rules, keywords, rules_of_keyword, own })
    }

    /// Whether a text, or one within it in JSON, may have a secret, or there are rules without keywords.
    pub(super) fn may_match(&self, text: &str) -> bool {
        let mut may_match = self.own < self.rules.len();
        self.visit_keywords(text, |at, place| {
            may_match |= match self.rules[at].matcher {
                Matcher::Pattern { .. } => true,
                Matcher::Address => address::may_be_at(text.as_bytes(), &place),
                Matcher::Name => setting::may_be_at(text, &place),
            };
            if may_match { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        may_match
    }

    /// The secrets in a text with their rules: matches of patterns first, then those found by a keyword.
    pub(super) fn find<'a>(&'a self, text: &str) -> Vec<(Range<usize>, &'a Rule)> {
        let mut by_context = Vec::new();
        let mut candidates = BTreeSet::new();
        // A name within a value is part of it.
        let (mut end, mut run) = (0, NameRun::default());
        self.visit_keywords(text, |at, place| {
            let rule = &self.rules[at];
            let secret = match rule.matcher {
                Matcher::Pattern { .. } => {
                    candidates.insert(at);
                    None
                }
                _ if place.start < end => None,
                Matcher::Address => address::find_at(text, &place),
                Matcher::Name if !run.admits(text, &place) => None,
                Matcher::Name => rule.check.class().and_then(|class| setting::find_at(text, &place, class)),
            };
            if let Some(range) = secret {
                end = range.end;
                by_context.push((range, rule));
            }
            ControlFlow::Continue(())
        });
        let mut found = Vec::new();
        let own = self.own..self.rules.len();
        for rule in candidates.into_iter().chain(own).map(|at| &self.rules[at]) {
            found.extend(rule.find(text).into_iter().map(|range| (range, rule)));
        }
        found.extend(by_context);
        found
    }

    /// Visits the keywords in a text, each with the position of its rule.
    fn visit_keywords(&self, text: &str, mut visit: impl FnMut(usize, Range<usize>) -> ControlFlow<()>) {
        for found in self.keywords.find_overlapping_iter(&text.to_ascii_lowercase()) {
            let of_pattern = &self.rules_of_keyword[found.pattern().as_usize()];
            for keyword in of_pattern.iter().filter(|keyword| keyword.is_at(text.as_bytes(), &found.range()))
            {
                if visit(keyword.rule, found.range()).is_break() {
                    return;
                }
            }
        }
    }
}

impl Keyword {
    /// Whether the keyword at a place, in any case, is this one.
    fn is_at(&self, bytes: &[u8], place: &Range<usize>) -> bool {
        self.word.is_none_or(|word| bytes[place.clone()] == *word.as_bytes())
            && (!self.begins_word || begins_word(&bytes[..place.start]))
    }
}

impl Rule {
    fn new(kind: &str, pattern: &str, check: Check) -> Rule {
        let matcher = match pattern {
            "@address" => Matcher::Address,
            NAME => Matcher::Name,
            _ => Matcher::Pattern { pattern: pattern.to_owned(), regex: OnceLock::new() },
        };
        Rule { kind: kind.to_owned(), matcher, check }
    }

    /// The secrets of this kind in a text, by the pattern.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Matcher::Pattern { pattern, regex } = &self.matcher else { return Vec::new() };
        // Those of users are compiled when they are read; a test compiles the others.
        let Some(regex) = regex.get_or_init(|| built_in(pattern).ok()) else {
            return Vec::new();
        };
        let secret = |groups: Captures| {
            let group = groups.iter().skip(1).flatten().next().or(groups.get(0))?;
            Some(group.range())
        };
        let is_secret = |range: &Range<usize>| {
            !range.is_empty() && text.get(range.clone()).is_some_and(|secret| self.check.passes(secret))
        };
        let found = regex.captures_iter(text.as_bytes()).filter_map(secret).filter(is_secret);
        if self.kind == PRIVATE_KEY {
            return found.filter_map(|opening| Some(opening.start..pem::end(text, opening.end)?)).collect();
        }
        found.collect()
    }
}

impl Check {
    fn parse(text: &str) -> Check {
        match text {
            "password" => Check::Password,
            "token" => Check::Token,
            // Without a number any entropy will do.
            entropy => Check::Entropy(entropy.parse().unwrap_or_default()),
        }
    }

    /// The class of names whose values this checks.
    fn class(self) -> Option<NameClass> {
        match self {
            Check::Entropy(_) => None,
            Check::Password => Some(NameClass::Password),
            Check::Token => Some(NameClass::Token),
        }
    }

    fn passes(self, secret: &str) -> bool {
        match self {
            Check::Entropy(0.0) => true,
            Check::Entropy(min) => is_unlike_placeholder(secret, min),
            Check::Password => value::is_password(secret, Place::Setting),
            Check::Token => value::is_token(secret, Place::Setting),
        }
    }
}

fn is_unlike_placeholder(secret: &str, min_entropy: f64) -> bool {
    /// The shortest secret that a rule finds by the text before it.
    const MIN_CHARS: usize = 12;
    /// The entropy from which on a secret has a digit.
    const WITH_DIGIT: f64 = 3.0;
    secret.len() >= MIN_CHARS
        && entropy(secret) >= min_entropy
        && (min_entropy < WITH_DIGIT || secret.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether a word may begin after some bytes, the last of which may be those of an escape of JSON.
fn begins_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', _] | [] => true,
        [.., byte] => !byte.is_ascii_alphanumeric() && *byte != b'_',
    }
}

/// Compiles a pattern that comes with rsv. Its letters and digits are those of ASCII, as in Gitleaks: a key
/// also begins after a letter of another script, and the pattern is a hundredth as large.
fn built_in(pattern: &str) -> std::result::Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).build()
}

// The reason why the rules of secrets cannot be used.
failures! { enum RuleError {
    Unreadable { source: std::io::Error } ("cannot be read"),
    Shape ("expected a kind, a colon and a pattern, as in 'badge: \\bBADGE-[0-9]{{6}}\\b'"),
    Kind { kind: String } ("a kind has lower-case letters, digits and dashes, not {kind:?}"),
    /// The last line of an error of a pattern has the cause; those before show the place.
    Pattern { error: regex::Error } ("the pattern: {}", last_line(.error)),
    Keywords { source: aho_corasick::BuildError } ("the rules of secrets"),
} }

fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// The rules of a file of users': `KIND: PATTERN`, one a line. Errors name the line.
fn own_rules(text: &str) -> Result<Vec<Rule>> {
    let rule = |line: &str| {
        let (kind, pattern) = line.split_once(':').ok_or(RuleError::Shape)?;
        let (kind, pattern) = (kind.trim(), pattern.trim());
        if kind.is_empty() || !kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return Err(RuleError::Kind { kind: kind.to_owned() });
        }
        let regex = Regex::new(pattern).map_err(|error| RuleError::Pattern { error })?;
        let matcher = Matcher::Pattern { pattern: String::new(), regex: OnceLock::from(Some(regex)) };
        Ok(Rule { kind: kind.to_owned(), matcher, check: Check::Entropy(0.0) })
    };
    lines(text).map(|(at, line)| rule(line).map_err(|error| Error::from(error).at(at))).collect()
}

/// The lines that are neither empty nor comments, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::ParserBuilder;
    use regex_syntax::hir::{Hir, HirKind};

    #[test]
    fn every_rule_that_comes_with_rsv_is_whole() {
        let rules = Rules::load(None).unwrap();
        assert!(rules.rules.len() > 180);
        assert_eq!(rules.rules.len(), lines(BUILT_IN).count());
        for rule in &rules.rules {
            match &rule.matcher {
                Matcher::Pattern { pattern, .. } => {
                    built_in(pattern).unwrap_or_else(|error| panic!("{}: {error}", rule.kind));
                }
                Matcher::Address | Matcher::Name => assert!(rule.check.class().is_some(), "{}", rule.kind),
            }
            assert!(
                !matches!(rule.check, Check::Entropy(min) if !(0.0..=4.0).contains(&min)),
                "{}",
                rule.kind
            );
        }
        let all: Vec<usize> =
            rules.rules_of_keyword.concat().into_iter().map(|keyword| keyword.rule).collect();
        assert!((0..rules.rules.len()).all(|at| all.contains(&at)));
    }

    /// Whether nothing must follow an unbounded repetition: a match that fails there would be looked for
    /// again from each opening before it.
    fn is_linear(pattern: &Hir) -> bool {
        match pattern.kind() {
            HirKind::Concat(parts) => parts.iter().enumerate().all(|(at, part)| {
                let is_optional =
                    |part: &Hir| part.properties().minimum_len().is_none_or(|length| length == 0);
                is_linear(part) && (!is_unbounded(part) || parts[at + 1..].iter().all(is_optional))
            }),
            HirKind::Alternation(parts) => parts.iter().all(is_linear),
            HirKind::Capture(capture) => is_linear(&capture.sub),
            // In a repetition, a repetition is one before another.
            HirKind::Repetition(repetition) => {
                is_linear(&repetition.sub) && (repetition.max == Some(1) || !is_unbounded(&repetition.sub))
            }
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => true,
        }
    }

    fn is_unbounded(pattern: &Hir) -> bool {
        pattern.properties().maximum_len().is_none()
    }

    fn parsed(pattern: &str) -> Hir {
        ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).unwrap()
    }

    #[test]
    fn every_rule_takes_linear_time() {
        let mut count = 0;
        for rule in Rules::load(None).unwrap().rules {
            if let Matcher::Pattern { pattern, .. } = &rule.matcher {
                assert!(is_linear(&parsed(pattern)), "{}: {pattern}", rule.kind);
                count += 1;
            }
        }
        assert!(count > 180);
        for quadratic in [r"BEGIN[\s\S]*?END|BEGIN\w*", r"a\w+\.\w+", r"(?:a\w*)+", r"(a\w*)b"] {
            assert!(!is_linear(&parsed(quadratic)), "{quadratic}");
        }
    }
}
