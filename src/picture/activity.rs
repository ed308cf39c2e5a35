//! The number of messages of each day and the cost of recall, for a calendar.

use super::markup::{counted, days_of};
use crate::error::Result;
use crate::record::{ACCOUNT, Account, Record, Scope, Scopes, StoredRecord};
use crate::store::{Select, Store, Walk};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The partitions that get a calendar of their own, those with the most messages.
const MAX_PARTITIONS: usize = 8;

/// The weeks that a calendar shows, the last ones: three years.
const MAX_WEEKS: i64 = 157;

/// The messages of some scopes by day, and the tokens that recall added to requests.
#[derive(Debug)]
pub struct Activity {
    /// The first and the last day that are shown: no later than today.
    pub(super) first: Date,
    pub(super) last: Date,
    /// The names of the partitions with the most messages, and their days.
    pub(super) partitions: Vec<(String, Days)>,
    /// The number of further partitions, and of their messages.
    further: (usize, usize),
    /// The messages of all partitions.
    pub(super) all: Days,
    /// The number of messages of other days than are shown.
    outside: usize,
    /// The tokens that each request got, by the day of the request.
    recall: BTreeMap<Date, Vec<u64>>,
}

/// The number of messages of each day.
#[derive(Default, Debug)]
pub(super) struct Days(BTreeMap<Date, usize>);

impl Activity {
    /// Reads the messages and accounts of some scopes. A day begins at midnight in a zone; `now` is
    /// milliseconds since 1970, UTC. Fails if the store cannot be read.
    pub fn read(store: &mut dyn Store, scopes: &Scopes, now: i64, zone: &TimeZone) -> Result<Activity> {
        let day = |ms: i64| date_of(ms, zone);
        let name =
            |scope: Scope| if matches!(scopes, Scopes::One(_)) { name_of(&scope) } else { scope.partition };
        let mut of_partitions: HashMap<String, Days> = HashMap::new();
        visit(store, Select::messages(scopes.clone()), &mut |message| {
            of_partitions.entry(name(message.scope)).or_default().add(day(message.timestamp));
        })?;
        let mut recall: BTreeMap<Date, Vec<u64>> = BTreeMap::new();
        visit(store, Select::records(vec![&ACCOUNT], scopes.clone()), &mut |account| {
            let tokens = cost(&Account::from_record(&account));
            if tokens > 0 {
                recall.entry(day(account.timestamp)).or_default().push(tokens);
            }
        })?;
        let mut all = Days::default();
        for (date, count) in of_partitions.values().flat_map(|days| &days.0) {
            *all.0.entry(*date).or_default() += count;
        }
        let today = day(now);
        let last = all.0.range(..=today).next_back().map_or(today, |(date, _)| *date);
        let earliest = after(monday(last), -7 * (MAX_WEEKS - 1));
        let first = all.0.range(earliest..=last).next().map_or(last, |(date, _)| *date);
        let mut partitions: Vec<(String, Days)> = of_partitions.into_iter().collect();
        partitions
            .sort_by(|(a, of_a), (b, of_b)| (Reverse(of_a.total()), a).cmp(&(Reverse(of_b.total()), b)));
        let further = partitions.split_off(partitions.len().min(MAX_PARTITIONS));
        let further = (further.len(), further.iter().map(|(_, days)| days.total()).sum());
        let outside = all.total() - all.0.range(first..=last).map(|(_, count)| count).sum::<usize>();
        Ok(Activity { first, last, partitions, further, all, outside, recall })
    }

    /// The number of messages, and the days that are shown: `60 messages`, `2 Mar – 9 Apr 2026`.
    pub(crate) fn summary(&self) -> Vec<String> {
        let total = self.all.total();
        let days = (total > 0).then(|| days_of(self.first, self.last));
        [counted(total, "message")].into_iter().chain(days).collect()
    }

    /// Notes of what is not shown; empty if everything is.
    pub(super) fn rest(&self) -> Vec<String> {
        let (partitions, messages) = self.further;
        let further = format!(
            "{} with {} not shown",
            counted(partitions, "further partition"),
            counted(messages, "message")
        );
        let outside = format!("{} of other days not shown", counted(self.outside, "message"));
        [(partitions, further), (self.outside, outside)]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(_, text)| text)
            .collect()
    }

    /// The Monday of each week that is shown.
    pub(super) fn weeks(&self) -> Vec<Date> {
        let (mut weeks, mut week) = (Vec::new(), monday(self.first));
        // A week is not followed by another one where dates end.
        while week <= self.last && weeks.last() != Some(&week) {
            weeks.push(week);
            week = after(week, 7);
        }
        weeks
    }

    /// The tokens that recall added in the week from a Monday on.
    pub(super) fn recall_in_week(&self, monday: Date) -> u64 {
        let tokens = self.recall.range(monday..=after(monday, 6)).flat_map(|(_, tokens)| tokens);
        tokens.fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// The number of requests with recall, and the tokens that it added: in all, and in the median.
    pub(super) fn recall_in_all(&self) -> (usize, u64, u64) {
        let mut tokens: Vec<u64> = self.recall.values().flatten().copied().collect();
        tokens.sort_unstable();
        let sum = tokens.iter().fold(0, |sum: u64, tokens| sum.saturating_add(*tokens));
        (tokens.len(), sum, tokens.get(tokens.len() / 2).copied().unwrap_or_default())
    }
}

impl Days {
    fn add(&mut self, day: Date) {
        *self.0.entry(day).or_default() += 1;
    }

    pub(super) fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// The greatest number from one day to another.
    pub(super) fn greatest(&self, first: Date, last: Date) -> usize {
        self.0.range(first..=last).map(|(_, count)| *count).max().unwrap_or_default()
    }

    pub(super) fn on(&self, day: Date) -> usize {
        self.0.get(&day).copied().unwrap_or_default()
    }

    /// The number in the week from a Monday on.
    pub(super) fn in_week(&self, monday: Date) -> usize {
        self.0.range(monday..=after(monday, 6)).map(|(_, count)| count).sum()
    }
}

/// The name of a scope: its partition alone, where the instance is named the same.
fn name_of(scope: &Scope) -> String {
    if scope.partition == scope.instance { scope.partition.clone() } else { scope.to_string() }
}

/// The weeks above which the name of their month stands, by their place among them: the first of each month,
/// if the name before it leaves `columns` weeks of space.
pub(super) fn months(weeks: &[Date], columns: usize) -> Vec<(usize, String)> {
    let starts = |at: &usize| *at == 0 || weeks[*at].month() != weeks[*at - 1].month();
    let starts: Vec<usize> = (0..weeks.len()).filter(starts).collect();
    let mut named: Vec<(usize, String)> = Vec::new();
    // Where two are too near, the later month is the one of which more is shown.
    for at in starts.into_iter().rev() {
        if named.last().is_none_or(|(next, _)| at + columns <= *next) {
            named.push((at, weeks[at].strftime("%b").to_string()));
        }
    }
    named.reverse();
    named
}

/// Visits the records of a selection.
fn visit(store: &mut dyn Store, which: Select, with: &mut dyn FnMut(StoredRecord)) -> Result<()> {
    store.walk(&Walk::records(which), &mut |record| {
        if let Record::Stored(record) = record {
            with(record);
        }
        Ok(())
    })?;
    Ok(())
}

/// The tokens that recall added to a request.
fn cost(account: &Account) -> u64 {
    let parts =
        account.recalled.iter().chain(&account.recent).chain(&account.memories).chain(&account.documents);
    parts.fold(account.fence, |sum, part| sum.saturating_add(part.tokens))
}

/// The day of a time in a zone; the first or the last day that there is for times that no calendar has.
fn date_of(ms: i64, zone: &TimeZone) -> Date {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned(zone.clone()).date(),
        Err(_) if ms < 0 => Date::MIN,
        Err(_) => Date::MAX,
    }
}

/// The Monday of the week of a day.
fn monday(day: Date) -> Date {
    after(day, -i64::from(day.weekday().to_monday_zero_offset()))
}

/// The day that is this many days after another.
pub(super) fn after(day: Date, days: i64) -> Date {
    day.saturating_add(Span::new().days(days))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn days_begin_at_midnight_in_the_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let late =
            date(2026, 3, 1).at(22, 30, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp().as_millisecond();
        assert_eq!(date_of(late, &zone), date(2026, 3, 2));
        assert_eq!(date_of(late, &TimeZone::UTC), date(2026, 3, 1));
        assert_eq!([i64::MIN, i64::MAX].map(|ms| date_of(ms, &zone)), [Date::MIN, Date::MAX]);
    }

    #[test]
    fn weeks_begin_on_monday() {
        assert_eq!([23, 29].map(|day| monday(date(2026, 11, day))), [date(2026, 11, 23); 2]);
        assert_eq!(after(Date::MAX, 1), Date::MAX);
    }
}
