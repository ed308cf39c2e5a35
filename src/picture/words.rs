//! The words that distinguish a group from the others.

use crate::text::{TopicWord, topic_words};
use std::collections::{BTreeMap, HashMap};

/// The number of words that name a group, and of those that it gets even if they are weak.
const WORDS: usize = 3;
const MIN_WORDS: usize = 2;

/// How much the frequency of a word among all units counts, in units (the prior).
const PRIOR: f64 = 2.0;

/// The relative weight of a word that only one unit has.
const ONCE: f64 = 0.6;

/// A word in more than this share of the units of a scope, if it has this many units, is no evidence:
/// people's names are in each of their messages.
const MAX_SHARE: f64 = 0.3;
const MIN_SHARED_UNITS: usize = 20;

/// A unit with its group, and the number of its scope.
pub(super) struct UnitText {
    /// The text of the user, and all text.
    pub(super) question: String,
    pub(super) text: String,
    pub(super) group: Option<usize>,
    pub(super) scope: usize,
}

/// The frequency of a word. A unit in which it occurs `n` times counts `1 + ln n`; the user's text counts
/// twice, since answers digress.
#[derive(Default)]
struct WordCount {
    all: f64,
    units: usize,
    by_group: BTreeMap<usize, f64>,
    /// The units of each scope that have it.
    by_scope: BTreeMap<usize, usize>,
    /// How often it is written in each way.
    written: BTreeMap<String, usize>,
}

/// One to three words for each of `count` groups, the most telling first. A word tells by the logarithm of
/// its odds in the group and elsewhere, over its standard deviation (Monroe et al. 2008, 3.5.1), and the
/// more, the fewer units have it. No two groups have the same word.
pub(super) fn distinctive(texts: &[UnitText], count: usize) -> Vec<Vec<String>> {
    let words = counted(texts);
    let (mut sizes, mut scopes) = (vec![0; count], BTreeMap::new());
    for text in texts {
        text.group.iter().filter(|group| **group < count).for_each(|group| sizes[*group] += 1);
        *scopes.entry(text.scope).or_insert(0) += 1;
    }
    let is_common = |word: &WordCount| {
        word.by_scope.iter().any(|(scope, units)| {
            let all: usize = scopes[scope];
            all >= MIN_SHARED_UNITS && *units as f64 > all as f64 * MAX_SHARE
        })
    };
    let mut scored: Vec<(f64, usize, &String)> = Vec::new();
    for (key, word) in words.iter().filter(|(_, word)| !is_common(word)) {
        for (group, inside) in word.by_group.iter().filter(|(group, _)| **group < count) {
            // A word of one unit is weak evidence.
            let factor = if word.units == 1 { ONCE } else { 1.0 };
            scored.push((score(word, *inside, sizes[*group], texts.len()) * factor, *group, key));
        }
    }
    scored.sort_by(|(one, g, a), (other, h, b)| other.total_cmp(one).then(g.cmp(h)).then(a.cmp(b)));
    let mut distinctive: Vec<Vec<String>> = vec![Vec::new(); count];
    let mut taken: HashMap<&String, usize> = HashMap::new();
    for (score, group, key) in scored {
        let has_room = distinctive[group].len() < if score > 0.0 { WORDS } else { MIN_WORDS };
        if has_room && *taken.entry(key).or_insert(group) == group {
            distinctive[group].push(best_written(&words[key].written));
        }
    }
    distinctive
}

fn counted(texts: &[UnitText]) -> BTreeMap<String, WordCount> {
    let mut words: BTreeMap<String, WordCount> = BTreeMap::new();
    for UnitText { question, text, group, scope } in texts {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for TopicWord { key, .. } in topic_words(question) {
            *times.entry(key).or_default() += 1;
        }
        for TopicWord { key, word } in topic_words(text) {
            *times.entry(key.clone()).or_default() += 1;
            *words.entry(key).or_default().written.entry(word).or_default() += 1;
        }
        for (key, times) in times {
            let word = words.entry(key).or_default();
            let count = 1.0 + (times as f64).ln();
            word.all += count;
            word.units += 1;
            *word.by_scope.entry(*scope).or_default() += 1;
            if let Some(group) = group {
                *word.by_group.entry(*group).or_default() += count;
            }
        }
    }
    words
}

/// The weight of a word for a group of `size` of all `total` units, in which it counts `inside`.
fn score(word: &WordCount, inside: f64, size: usize, total: usize) -> f64 {
    let (size, total) = (size as f64, total as f64);
    let prior = PRIOR * word.all / total;
    let odds = |count: f64, of: f64| ((count + prior) / (of + PRIOR - count - prior).max(0.5)).ln();
    let difference = odds(inside, size) - odds(word.all - inside, total - size);
    let deviation = (1.0 / (inside + prior) + 1.0 / (word.all - inside + prior)).sqrt();
    difference / deviation * (1.0 + total / word.units as f64).ln().sqrt()
}

/// A word in the way it is written most often; in lower case if it ever is, since any word begins a sentence.
fn best_written(written: &BTreeMap<String, usize>) -> String {
    let best = |lower: bool| {
        let ways = written.iter().filter(|(word, _)| !lower || word.chars().all(|c| !c.is_uppercase()));
        ways.max_by_key(|(word, count)| (**count, std::cmp::Reverse((*word).clone())))
    };
    best(true).or(best(false)).map(|(word, _)| word.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_by_the_words_that_only_it_has() {
        let text = |text: &str, group| UnitText {
            question: String::new(),
            text: text.to_owned(),
            group: Some(group),
            scope: 0,
        };
        let texts = [
            text("The tomato wants sun and Aberdeen.", 0),
            text("Tomatoes want water.", 0),
            text("Tides of Aberdeen and their water", 1),
            text("The tide in Aberdeen", 1),
        ];
        let words = distinctive(&texts, 2);
        assert_eq!((words[0][0].as_str(), words[1][0].as_str()), ("tomato", "tide"));
    }
}
