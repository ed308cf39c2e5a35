//! The rule by which a later message supersedes an earlier one: it says of the same subject that something
//! changed, or gives another value of the same kind. rsv-search(1) says how it was found and what it gets
//! right.

use crate::text::{Clause, Value, ValueKind, is_measure};
use rustc_hash::{FxHashMap, FxHashSet};

/// A phrase tells a change.
pub(super) const CHANGED: &str = "changed";
/// The same words have another value.
pub(super) const OTHER_VALUE: &str = "value";
/// It is said never to have been so.
pub(super) const DENIED: &str = "denied";

/// The number of messages that the weights of words assume at least: in a few, no word is rare.
const MIN_MESSAGES: f64 = 50.0;

/// The least weight of the words in common for any reason.
const LEAST: f64 = 0.7;
/// The least weight of the words in common where a phrase before a value tells the change of a count, and of
/// any other value.
const COUNT_AFTER_CUE: f64 = 0.7;
const VALUE_AFTER_CUE: f64 = 0.9;
const MEASURE_AFTER_CUE: f64 = 1.2;
/// The same where the phrase is elsewhere in the clause.
const COUNT_WITH_CUE: f64 = 0.7;
const VALUE_WITH_CUE: f64 = 1.0;
const BARE_WITH_CUE: f64 = 1.4;
/// The least weight of the words in common, and their share of the older clause, for a phrase without a
/// value.
const CUE_ALONE: f64 = 1.0;
const SHARE_WITH_CUE: f64 = 0.4;
/// The least weight and shares of both clauses for another value without a phrase.
const VALUE_ALONE: f64 = 1.0;
const SHARE_OF_OLDER: f64 = 0.5;
const SHARE_OF_NEWER: f64 = 0.3;
/// The least weight, number, and share of the words of a clause that denies.
const DENIAL: f64 = 1.2;
const DENIED_WORDS: usize = 3;
const SHARE_OF_DENIAL: f64 = 0.6;

/// The values of one kind that two clauses have, where none is equal.
struct Difference<'a> {
    newer: &'a Value,
    kind: DifferenceKind,
    /// The words of what is counted in both.
    units: FxHashSet<&'a str>,
}

#[derive(Clone, Copy, PartialEq)]
enum DifferenceKind {
    /// Of the same things.
    Count,
    /// Of the same measure.
    Measure,
    /// A time, a date or an address.
    Typed,
    /// Numbers of nothing that is known.
    Bare,
}

/// The weights of the words of some texts that are compared: from 0, in all of them, to nearly 1.
pub(super) fn weights<'a, I>(texts: I) -> impl Fn(&str) -> f64 + use<'a, I>
where
    I: IntoIterator<Item = &'a [Clause]>,
{
    let mut counts: FxHashMap<&str, f64> = FxHashMap::default();
    let mut all = 0.0;
    for clauses in texts {
        let words: FxHashSet<&String> = clauses.iter().flat_map(|clause| &clause.words).collect();
        for word in words {
            *counts.entry(word).or_default() += 1.0;
        }
        all += 1.0;
    }
    let all = f64::max(all, MIN_MESSAGES) + 1.0;
    move |word| ((all / (0.5 + counts.get(word).copied().unwrap_or_default())).ln() / all.ln()).max(0.0)
}

/// The weight of a word: the rarer it is, the nearer to 1.
type Weight<'a> = &'a dyn Fn(&str) -> f64;

/// The clauses of a message, with the words by which they are compared.
pub(super) struct Statements<'a> {
    clauses: &'a [Clause],
    words: FxHashSet<&'a str>,
    /// By clause: its words, those of the one before it, and those of the one after it in its sentence.
    near: Vec<FxHashSet<&'a str>>,
}

impl<'a> Statements<'a> {
    pub(super) fn of(clauses: &'a [Clause]) -> Statements<'a> {
        Statements {
            clauses,
            words: clauses.iter().flat_map(|clause| &clause.words).map(String::as_str).collect(),
            near: (0..clauses.len()).map(|at| near(clauses, at)).collect(),
        }
    }
}

/// The reason why one message supersedes another; `None` if it does not. At most `left` clauses are compared
/// with another one, and taken from it.
pub(super) fn superseded(
    older: &Statements,
    newer: &Statements,
    weight: Weight,
    left: &mut usize,
) -> Option<&'static str> {
    let in_both = older.words.intersection(&newer.words);
    if in_both.map(|word| weight(word)).sum::<f64>() < LEAST {
        return None;
    }
    let denies = older.clauses.iter().any(|clause| clause.says_never);
    let stated = older.clauses.iter().filter(|clause| !clause.is_event);
    let news = || newer.clauses.iter().zip(&newer.near).filter(|(new, _)| may_supersede(new));
    let pairs = stated.flat_map(|old| news().map(move |(new, near)| (old, new, near)));
    for (old, new, near) in pairs.filter(|(old, new, _)| !old.values.is_empty() || has_cue(new)) {
        *left = left.checked_sub(1)?;
        if let Some(reason) = reason(old, new, near, weight) {
            return (reason != DENIED || !denies).then_some(reason);
        }
    }
    None
}

/// Whether a clause may give a reason at all.
fn may_supersede(new: &Clause) -> bool {
    !new.asks && !new.is_supposed && (has_cue(new) || !new.values.is_empty())
}

/// Whether a phrase in a clause gives a reason without values.
fn has_cue(new: &Clause) -> bool {
    new.tells_change || new.says_never
}

/// Whether a clause says of what another one says that it was never so.
fn denies(old: &Clause, new: &Clause, weight: Weight) -> bool {
    if !new.says_never || old.is_negated || old.asks {
        return false;
    }
    let both: Vec<&String> = new.words.intersection(&old.sentence_words).collect();
    let (shared, all) = (sum(both.iter().copied(), weight), sum(&new.words, weight));
    both.len() >= DENIED_WORDS && shared >= DENIAL && shared >= SHARE_OF_DENIAL * all
}

/// The weight of some words together.
fn sum<'a>(words: impl IntoIterator<Item = &'a String>, weight: Weight) -> f64 {
    words.into_iter().map(|word| weight(word)).sum()
}

/// Why a clause that may supersede others supersedes one.
fn reason(old: &Clause, new: &Clause, near: &FxHashSet<&str>, weight: Weight) -> Option<&'static str> {
    let common = old.sentence_words.iter().filter(|word| near.contains(word.as_str()));
    if sum(common, weight) < LEAST || are_opposed(old, new) {
        return None;
    }
    if denies(old, new, weight) {
        return Some(DENIED);
    }
    if !old.words.iter().any(|word| near.contains(word.as_str())) && old.values.is_empty()
        || new.is_of_others && !old.is_of_others
        || new.adds && !new.tells_change
    {
        return None;
    }
    let differences = differences(old, new, near);
    let replaced = || new.values.iter().filter(|value| value.is_old);
    let names_old = replaced().any(|value| old.values.iter().any(|old| old.text == value.text));
    if replaced().next().is_some() && !differences.is_empty() && !names_old {
        return None;
    }
    let is_unit = |word: &String| differences.iter().any(|one| one.units.contains(word.as_str()));
    let is_subject = |word: &&String| !is_unit(word);
    let is_near = |word: &&String| near.contains(word.as_str()) && !is_unit(word);
    let of_sentence = sum(old.sentence_words.iter().filter(is_near), weight);
    let shared = sum(old.words.iter().filter(is_near), weight);
    let share = shared / sum(old.words.iter().filter(is_subject), weight).max(f64::MIN_POSITIVE);
    let inner = sum(old.words.iter().filter(|word| new.words.contains(*word) && !is_unit(word)), weight);
    let inner_share = inner / sum(new.words.iter().filter(is_subject), weight).max(f64::MIN_POSITIVE);
    let has_inner = old.words.iter().any(|word| new.words.contains(word));
    let has = |kind| differences.iter().any(|one| one.kind == kind);
    if differences.iter().any(|one| one.newer.is_new)
        && (has(DifferenceKind::Count) && of_sentence >= COUNT_AFTER_CUE
            || has(DifferenceKind::Typed) && of_sentence >= VALUE_AFTER_CUE
            || has(DifferenceKind::Measure) && of_sentence >= MEASURE_AFTER_CUE)
    {
        return Some(CHANGED);
    }
    if old.asks {
        return None;
    }
    // It says itself which value is gone.
    if new.tells_change && has_inner && names_old {
        return Some(CHANGED);
    }
    // Another date without such a phrase before it is that of another event.
    let is_date = |one: &&Difference| matches!(one.newer.kind, ValueKind::Day | ValueKind::Month);
    let has_undated = |kind| differences.iter().any(|one| one.kind == kind && !is_date(&one));
    if new.tells_change && has_inner {
        let is_enough = has(DifferenceKind::Count) && of_sentence >= COUNT_WITH_CUE
            || (has_undated(DifferenceKind::Typed) || has(DifferenceKind::Measure))
                && of_sentence >= VALUE_WITH_CUE
            || has(DifferenceKind::Bare) && of_sentence >= BARE_WITH_CUE
            || shared >= CUE_ALONE && share >= SHARE_WITH_CUE && !is_about_values(new) && !repeats(old, new);
        return is_enough.then_some(CHANGED);
    }
    let is_value =
        !differences.iter().all(|one| is_date(&one)) && !new.is_list && !old.is_list && !new.is_event;
    let is_same = shared >= VALUE_ALONE && share >= SHARE_OF_OLDER && inner_share >= SHARE_OF_NEWER;
    (is_value && is_same).then_some(OTHER_VALUE)
}

/// Whether the phrase of a clause says of a value that it is another.
fn is_about_values(clause: &Clause) -> bool {
    clause.values.iter().any(|value| value.is_new || value.is_old)
}

/// Whether the newer clause has a value of the older one, other than one that it says to be gone.
fn repeats(old: &Clause, new: &Clause) -> bool {
    let is_in_old =
        |new: &&Value| old.values.iter().any(|old| (old.kind, &old.text) == (new.kind, &new.text));
    new.values.iter().any(|value| !value.is_old && is_in_old(&value)) && !old.values.is_empty()
}

/// The words of a clause, of the one before it, and of the one after it in its sentence.
fn near(clauses: &[Clause], at: usize) -> FxHashSet<&str> {
    let before = at.checked_sub(1).map(|before| &clauses[before]);
    let after = clauses.get(at + 1).filter(|after| after.sentence == clauses[at].sentence);
    let all = [Some(&clauses[at]), before, after];
    all.into_iter().flatten().flat_map(|clause| clause.words.iter().map(String::as_str)).collect()
}

/// Whether two clauses are about two things of a kind: the left one and the right one, or the first and the
/// second.
fn are_opposed(old: &Clause, new: &Clause) -> bool {
    let is_opposed = |(row, _): &&(usize, usize)| {
        let of = |clause: &Clause| -> Vec<usize> {
            clause.sides.iter().filter(|side| side.0 == *row).map(|side| side.1).collect()
        };
        let (old, new) = (of(old), of(new));
        !new.is_empty() && !old.iter().any(|side| new.contains(side))
    };
    let are_two = |old: &Value, new: &Value| {
        old.is_name && new.is_name && old.label == new.label && old.text != new.text && !new.is_new
    };
    old.sides.iter().any(|side| is_opposed(&side))
        || !new.tells_change && old.values.iter().any(|old| new.values.iter().any(|new| are_two(old, new)))
}

/// The kinds of values that both clauses have without an equal one. `near` are the words around the newer
/// clause.
fn differences<'a>(old: &'a Clause, new: &'a Clause, near: &FxHashSet<&str>) -> Vec<Difference<'a>> {
    let of = |clause: &'a Clause, kind: ValueKind| -> Vec<&'a Value> {
        clause.values.iter().filter(|value| value.kind == kind).collect()
    };
    let mut differences = numbers(&of(old, ValueKind::Number), &of(new, ValueKind::Number), near);
    if !new.tells_change {
        differences.retain(|one| !one.newer.is_name);
    }
    let typed = [
        ValueKind::Time,
        ValueKind::Weekday,
        ValueKind::Day,
        ValueKind::Month,
        ValueKind::Host,
        ValueKind::Mail,
        ValueKind::Path,
    ];
    for kind in typed {
        let (olds, news) = (of(old, kind), of(new, kind));
        let is_equal = |value: &&&Value| olds.iter().any(|old| old.text == value.text);
        if let Some(newer) = news.last().filter(|_| !olds.is_empty())
            && (!news.iter().any(|value| is_equal(&value)) || news.iter().any(|value| value.is_old))
        {
            differences.push(Difference { newer, kind: DifferenceKind::Typed, units: FxHashSet::default() });
        }
    }
    differences
}

fn numbers<'a>(olds: &[&'a Value], news: &[&'a Value], near: &FxHashSet<&str>) -> Vec<Difference<'a>> {
    let news: Vec<&Value> = news.iter().copied().filter(|value| !value.is_old).collect();
    let units = |old: &'a Value, new: &'a Value| -> FxHashSet<&'a str> {
        // After a phrase that tells a change, the words before it may name what is counted.
        let is_named = |unit: &&String| {
            new.units.contains(*unit) || new.is_new && new.units.is_empty() && near.contains(unit.as_str())
        };
        old.units.iter().filter(is_named).map(String::as_str).collect()
    };
    let mut found = Vec::new();
    let mut is_comparable = false;
    for old in olds {
        for new in &news {
            let units = units(old, new);
            let is_labelled = old.label.is_some() && old.label == new.label;
            if units.is_empty() && !is_labelled {
                continue;
            }
            is_comparable = true;
            if old.text == new.text {
                return Vec::new();
            }
            let is_measure = units.iter().any(|unit| is_measure(unit));
            let kind = if is_measure { DifferenceKind::Measure } else { DifferenceKind::Count };
            found.push(Difference { newer: new, kind, units });
        }
    }
    if is_comparable {
        return found;
    }
    match (olds, &news[..]) {
        ([old], [newer]) if old.text != newer.text => {
            vec![Difference { newer, kind: DifferenceKind::Bare, units: FxHashSet::default() }]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::statements;
    use std::collections::BTreeMap;

    /// The labelled pairs of a file: for each kind and language, how many supersede, how many of these are
    /// found, and how many others are.
    fn judged(text: &str) -> BTreeMap<String, [usize; 3]> {
        let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for line in text.lines() {
            let pair: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| pair[name].as_str().unwrap().to_owned();
            let is_superseded = pair["supersedes"].as_bool().unwrap();
            // The rule never reads what an assistant says.
            let read = [statements(&text("older")), statements(&text("newer"))];
            let weight = weights(read.iter().map(Vec::as_slice));
            let [older, newer] = [Statements::of(&read[0]), Statements::of(&read[1])];
            let is_found = text("kind") != "assistant-repeats"
                && superseded(&older, &newer, &weight, &mut 1000).is_some();
            for name in ["all".to_owned(), text("kind"), text("language")] {
                let count = counts.entry(name).or_default();
                count[0] += usize::from(is_superseded);
                count[1] += usize::from(is_superseded && is_found);
                count[2] += usize::from(!is_superseded && is_found);
            }
        }
        counts
    }

    #[test]
    fn most_of_what_the_rule_finds_is_newer() {
        let counts = judged(include_str!("../../../tests/newer/development.jsonl"));
        let [superseded, found, false_ones] = counts["all"];
        assert!(found * 100 >= (found + false_ones) * 80, "{counts:?}");
        assert!(found * 100 >= superseded * 25, "{counts:?}");
    }
}
