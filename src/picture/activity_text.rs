//! Activity as text for people: a column for each week, and in it a bar for each day or for the whole week.

use super::activity::{Activity, after, months};
use super::markup::{beginning, counted, grouped};
use crate::cli::{Layout, Style};
use crate::view::visible;
use jiff::civil::Date;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Bars from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The names of the rows of the calendar; every second has space for one.
const WEEKDAYS: [&str; 7] = ["Mon", "", "Wed", "", "Fri", "", "Sun"];

/// The columns of the names of partitions.
const NAME_COLUMNS: usize = 16;

/// The columns of the numbers behind a row of bars.
const NUMBER_COLUMNS: usize = 12;

/// The columns that the name of a month takes.
const MONTH_COLUMNS: usize = 4;

/// The least number of weeks, however narrow the terminal is.
const MIN_WEEKS: usize = 8;

impl Activity {
    /// The calendar of all messages, a row of bars for each partition, and one for the cost of recall.
    pub fn to_text(&self, layout: &Layout) -> String {
        let summary = self.summary();
        let line = summary.join(" · ");
        let line = if line.width() > layout.width { summary.join("\n") } else { line };
        let mut out = line + "\n";
        if self.all.total() > 0 {
            let rows = Rows::new(self, layout);
            out.push_str(&rows.calendar(self));
            out.push_str(&rows.partitions(self));
            out.push_str(&rows.recall(self));
        }
        for (at, line) in self.rest().iter().enumerate() {
            let _ = writeln!(out, "{}{line}", if at == 0 { "\n" } else { "" });
        }
        out
    }
}

/// The columns of a text.
struct Rows<'a> {
    /// The Monday of each.
    weeks: Vec<Date>,
    /// Whether a week has two columns.
    is_wide: bool,
    layout: &'a Layout,
}

impl Rows<'_> {
    /// The last weeks, as many as fit; with two columns each if all fit so.
    fn new<'a>(activity: &Activity, layout: &'a Layout) -> Rows<'a> {
        let mut weeks = activity.weeks();
        let space = layout.width.saturating_sub(NAME_COLUMNS + NUMBER_COLUMNS).max(MIN_WEEKS);
        weeks.drain(..weeks.len().saturating_sub(space));
        let is_wide = weeks.len() * 2 <= space;
        Rows { weeks, is_wide, layout }
    }

    /// The months, and seven rows of days.
    fn calendar(&self, activity: &Activity) -> String {
        let greatest = activity.all.greatest(activity.first, activity.last) as u64;
        let mut out = format!("\n{:NAME_COLUMNS$}{}\n", "each day", self.months());
        for (weekday, name) in WEEKDAYS.iter().enumerate() {
            let days = self.weeks.iter().map(|monday| after(*monday, weekday as i64));
            let bar_of = |day| {
                let is_shown = (activity.first..=activity.last).contains(&day);
                if is_shown { bar(activity.all.on(day) as u64, greatest) } else { ' ' }
            };
            let bars: String = days.map(|day| self.column(bar_of(day))).collect();
            let _ = writeln!(out, "{name:NAME_COLUMNS$}{}", self.layout.paint(Style::Green, bars.trim_end()));
        }
        out
    }

    /// A row for each partition, its messages by weeks.
    fn partitions(&self, activity: &Activity) -> String {
        let mut out = String::from("\nmessages a week\n");
        for (name, days) in &activity.partitions {
            let bars = self.bars(|monday| days.in_week(monday) as u64, Style::Green);
            out.push_str(&self.row(name, &bars, &grouped(days.total())));
        }
        out
    }

    /// The tokens that recall added, by weeks; empty if there are none.
    fn recall(&self, activity: &Activity) -> String {
        let (requests, tokens, median) = activity.recall_in_all();
        if requests == 0 {
            return String::new();
        }
        let bars = self.bars(|monday| activity.recall_in_week(monday), Style::Blue);
        let row = self.row("all", &bars, &grouped(tokens as usize));
        let (requests, median) = (counted(requests, "request"), grouped(median as usize));
        format!("\ntokens a week that recall added\n{row}{requests}, {median} tokens in the median\n")
    }

    /// The names of the months above the weeks.
    fn months(&self) -> String {
        let width = if self.is_wide { 2 } else { 1 };
        let mut line = String::new();
        for (at, name) in months(&self.weeks, MONTH_COLUMNS.div_ceil(width)) {
            let _ = write!(line, "{:1$}{name}", "", at * width - line.len());
        }
        line
    }

    /// A bar for each week.
    fn bars(&self, of_week: impl Fn(Date) -> u64, style: Style) -> String {
        let greatest = self.weeks.iter().map(|monday| of_week(*monday)).max().unwrap_or_default();
        let bars: String =
            self.weeks.iter().map(|monday| self.column(bar(of_week(*monday), greatest))).collect();
        self.layout.paint(style, &bars)
    }

    fn column(&self, bar: char) -> String {
        if self.is_wide { format!("{bar} ") } else { bar.to_string() }
    }

    /// A name, its bars, and a number.
    fn row(&self, name: &str, bars: &str, number: &str) -> String {
        let name = beginning(&visible(name), NAME_COLUMNS - 2);
        let space = NAME_COLUMNS.saturating_sub(name.width());
        format!("{name}{:space$}{bars} {number}\n", "")
    }
}

/// The bar of a number: a dot for none, else by its share of the greatest.
fn bar(number: u64, greatest: u64) -> char {
    if number == 0 {
        return '·';
    }
    let step = (number as f64 / greatest.max(1) as f64 * BARS.len() as f64).ceil() as usize;
    BARS[step.clamp(1, BARS.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_the_share_of_the_greatest() {
        assert_eq!([0, 1, 50, 51, 100].map(|number| bar(number, 100)), ['·', '▁', '▄', '▅', '█']);
        assert_eq!(bar(1, 1), '█');
    }
}
