//! Activity as text for people: a column for each week, and in it a bar for each day or for the whole week.

use super::activity::{Activity, after};
use super::markup::{counted, days_of, grouped};
use crate::cli::{Layout, Style};
use crate::view::visible;
use jiff::civil::Date;
use std::fmt::Write;

/// Bars from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The names of the rows of the calendar; every second has space for one.
const WEEKDAYS: [&str; 7] = ["Mon", "", "Wed", "", "Fri", "", "Sun"];

/// The columns of the names of scopes.
const NAME_COLUMNS: usize = 16;

/// The columns of the numbers behind a row of bars.
const NUMBER_COLUMNS: usize = 12;

impl Activity {
    /// The calendar of all messages, a row of bars for each scope, and one for what recall cost.
    pub fn to_text(&self, layout: &Layout) -> String {
        let mut weeks = self.weeks();
        let space = layout.width.saturating_sub(NAME_COLUMNS + NUMBER_COLUMNS).max(8);
        // The last weeks, as many as fit; two columns each if so many fit.
        weeks.drain(..weeks.len().saturating_sub(space));
        let wide = weeks.len() * 2 <= space;
        let rows = Rows { weeks, wide, layout };
        let shown = rows.weeks.first().copied().unwrap_or(self.first);
        let mut out = format!("messages    {}, a bar a day\n", days_of(shown, self.last));
        out.push_str(&rows.calendar(self));
        out.push_str("\npartitions  a bar a week\n");
        for (scope, days) in &self.scopes {
            let name =
                if scope.partition == scope.instance { scope.partition.clone() } else { scope.to_string() };
            let bars = rows.bars(|monday| days.in_week(monday) as u64, Style::Green);
            out.push_str(&rows.row(&name, &bars, &grouped(days.total())));
        }
        if self.further.0 > 0 {
            let (scopes, messages) = self.further;
            let _ = writeln!(out, "and {}, {}", counted(scopes, "other"), counted(messages, "message"));
        }
        let (requests, tokens, median) = self.recall_in_all();
        if requests > 0 {
            out.push_str("\nrecall      tokens a week that it added to requests\n");
            let bars = rows.bars(|monday| self.recall_in_week(monday), Style::Blue);
            out.push_str(&rows.row("all", &bars, &grouped(tokens as usize)));
            let (requests, median) = (counted(requests, "request"), grouped(median as usize));
            let _ = writeln!(out, "{requests}, in the median {median} tokens");
        }
        out
    }
}

/// The columns of a text.
struct Rows<'a> {
    /// The Monday of each.
    weeks: Vec<Date>,
    /// Whether a week has two columns.
    wide: bool,
    layout: &'a Layout,
}

impl Rows<'_> {
    /// The months, and seven rows of days.
    fn calendar(&self, activity: &Activity) -> String {
        let all = activity.all();
        let greatest = all.greatest() as u64;
        let mut out = format!("{:NAME_COLUMNS$}{}\n", "", self.months());
        for (weekday, name) in WEEKDAYS.iter().enumerate() {
            let bars: String = { self.weeks.iter() }
                .map(|monday| self.column(bar(all.on(after(*monday, weekday as i64)) as u64, greatest)))
                .collect();
            let _ = writeln!(out, "{name:>14}  {}", self.layout.paint(Style::Green, bars.trim_end()));
        }
        out
    }

    /// The names of the months above the weeks with their first days.
    fn months(&self) -> String {
        let mut line = String::new();
        let width = if self.wide { 2 } else { 1 };
        for (at, monday) in self.weeks.iter().enumerate() {
            let is_new = at == 0 || monday.month() != after(*monday, -7).month();
            if is_new && line.chars().count() <= at * width {
                let _ = write!(line, "{:1$}", "", at * width - line.chars().count());
                line.push_str(&monday.strftime("%b ").to_string());
            }
        }
        line.trim_end().to_owned()
    }

    /// A bar for each week.
    fn bars(&self, of_week: impl Fn(Date) -> u64, style: Style) -> String {
        let greatest = self.weeks.iter().map(|monday| of_week(*monday)).max().unwrap_or_default();
        let bars: String =
            self.weeks.iter().map(|monday| self.column(bar(of_week(*monday), greatest))).collect();
        self.layout.paint(style, &bars)
    }

    fn column(&self, bar: char) -> String {
        if self.wide { format!("{bar} ") } else { bar.to_string() }
    }

    /// A name, its bars, and a number.
    fn row(&self, name: &str, bars: &str, number: &str) -> String {
        let name = super::markup::beginning(&visible(name), NAME_COLUMNS - 2);
        let space = NAME_COLUMNS.saturating_sub(unicode_width::UnicodeWidthStr::width(name.as_str()));
        format!("{name}{:space$}{bars} {number}\n", "")
    }
}

/// The bar of a number: a space for none, else by its share of the greatest.
fn bar(number: u64, greatest: u64) -> char {
    if number == 0 {
        return '·';
    }
    let step = (number * BARS.len() as u64).div_ceil(greatest.max(1)) as usize;
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
