//! Sets of the numbers of records, as ranges: the records of an import have numbers one after the other.

use std::fmt;

/// A set of numbers. Its ranges, with both ends, are in order and do not touch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NumberRanges(Vec<(i64, i64)>);

impl NumberRanges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its ranges, with both ends.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().copied()
    }

    pub(super) fn contains(&self, n: i64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < n);
        self.0.get(at).is_some_and(|(first, _)| *first <= n)
    }

    /// The numbers of both.
    pub(super) fn union(&self, other: &NumberRanges) -> NumberRanges {
        let mut all: Vec<(i64, i64)> = self.iter().chain(other.iter()).collect();
        all.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        NumberRanges(joined)
    }

    /// The numbers that another has not.
    pub(super) fn without(&self, other: &NumberRanges) -> NumberRanges {
        let mut left = Vec::new();
        for (mut first, last) in self.iter() {
            let from = other.0.partition_point(|(_, end)| *end < first);
            for (begin, end) in other.0[from..].iter().take_while(|(begin, _)| *begin <= last) {
                if first < *begin {
                    left.push((first, begin - 1));
                }
                first = end.saturating_add(1);
            }
            if first <= last {
                left.push((first, last));
            }
        }
        NumberRanges(left)
    }

    /// The numbers that another has too.
    pub(super) fn within(&self, other: &NumberRanges) -> NumberRanges {
        self.without(&self.without(other))
    }

    /// Reads ranges as they are displayed, leaving out what is none.
    pub(super) fn parse(text: &str) -> NumberRanges {
        let range = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        NumberRanges::default().union(&NumberRanges(text.split(',').filter_map(range).collect()))
    }
}

impl FromIterator<i64> for NumberRanges {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> NumberRanges {
        NumberRanges::default().union(&NumberRanges(numbers.into_iter().map(|n| (n, n)).collect()))
    }
}

/// `1-20000,20005`: no number is negative.
impl fmt::Display for NumberRanges {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (at, (first, last)) in self.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}-{last}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members of a set, up to 30.
    fn members(set: &NumberRanges) -> Vec<i64> {
        (0..30).filter(|n| set.contains(*n)).collect()
    }

    #[test]
    fn ranges_are_the_set_of_their_numbers() {
        let sets = ["", "5", "1-3", "1-3,5,7-9", "2-8", "4,6", "0-29", "3-4,9-12,20"];
        for (one, other) in sets.iter().flat_map(|one| sets.iter().map(move |other| (one, other))) {
            let (a, b) = (NumberRanges::parse(one), NumberRanges::parse(other));
            assert_eq!(a.to_string(), *one);
            let (x, y) = (members(&a), members(&b));
            let expect = |holds: &dyn Fn(&i64) -> bool| (0..30).filter(holds).collect::<Vec<i64>>();
            assert_eq!(
                members(&a.union(&b)),
                expect(&|n| x.contains(n) || y.contains(n)),
                "{one} and {other}"
            );
            assert_eq!(members(&a.without(&b)), expect(&|n| x.contains(n) && !y.contains(n)));
            assert_eq!(members(&a.within(&b)), expect(&|n| x.contains(n) && y.contains(n)));
            assert_eq!(y.into_iter().rev().collect::<NumberRanges>(), b);
        }
    }
}
