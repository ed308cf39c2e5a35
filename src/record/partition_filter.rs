//! Partitions that are chosen by patterns of their names, less some.

use super::object::quote;

/// The partitions whose names match any of some patterns, except some names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionFilter {
    patterns: Vec<String>,
    except: Vec<String>,
}

impl PartitionFilter {
    /// Without patterns, all names match. `None` if it has all partitions.
    pub fn new(patterns: &[String], mut except: Vec<String>) -> Option<PartitionFilter> {
        let is_all = patterns.is_empty() || patterns.iter().any(|pattern| pattern == "*");
        let mut patterns = if is_all { vec!["*".to_owned()] } else { patterns.to_vec() };
        for names in [&mut patterns, &mut except] {
            names.sort();
            names.dedup();
        }
        (!is_all || !except.is_empty()).then_some(PartitionFilter { patterns, except })
    }

    pub fn contains(&self, partition: &str) -> bool {
        self.patterns.iter().any(|pattern| matches_pattern(pattern, partition))
            && !self.except.iter().any(|name| name == partition)
    }

    /// The patterns as a JSON array of patterns of SQLite's `GLOB`.
    pub(crate) fn globs(&self) -> String {
        json_array(self.patterns.iter().map(|pattern| {
            let escaped = |c: char| if matches!(c, '?' | '[') { format!("[{c}]") } else { c.to_string() };
            pattern.chars().map(escaped).collect()
        }))
    }

    /// The patterns as regular expressions of Java.
    pub(crate) fn regular_expressions(&self) -> impl Iterator<Item = String> {
        self.patterns.iter().map(|pattern| {
            let literals: Vec<String> = pattern.split('*').map(regex::escape).collect();
            format!("(?s){}", literals.join(".*"))
        })
    }

    pub(crate) fn except(&self) -> &[String] {
        &self.except
    }

    /// The names that it leaves out, as a JSON array.
    pub(crate) fn except_json(&self) -> String {
        json_array(self.except.iter().cloned())
    }
}

fn json_array(texts: impl Iterator<Item = String>) -> String {
    format!("[{}]", texts.map(|text| quote(&text)).collect::<Vec<_>>().join(","))
}

/// Whether a pattern, in which `*` matches any text, matches a whole text.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The leftmost place of each part leaves the longest text for those after it.
    for part in middle.split('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_and_names_are_left_out() {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(PartitionFilter::new(&[], Vec::new()), None);
        assert_eq!(PartitionFilter::new(&texts(&["a", "*"]), Vec::new()), None);
        let all_but = PartitionFilter::new(&[], texts(&["diary"])).unwrap();
        assert!(all_but.contains("home") && !all_but.contains("diary"));
        let team = PartitionFilter::new(&texts(&["team*", "ho?me"]), texts(&["team-x"])).unwrap();
        let chosen = ["team", "team-a", "ho?me", "team-x", "home", "a team"].map(|name| team.contains(name));
        assert_eq!(chosen, [true, true, true, false, false, false]);
        assert_eq!(team.globs(), r#"["ho[?]me","team*"]"#);
        assert_eq!(team.regular_expressions().collect::<Vec<_>>(), [r"(?s)ho\?me", "(?s)team.*"]);
    }
}
