//! Activity as an SVG picture: a calendar for each partition, and below them the cost of recall in each week.

use super::activity::{Activity, Days, after, months};
use super::markup::{FONTS, beginning, colour, counted, escaped, grouped};
use jiff::civil::Date;
use std::fmt::Write;

/// The side of a day's square, and the distance of two.
const SIDE: usize = 11;
const STEP: usize = 13;

/// The space left of the weeks for the names of weekdays, and above them for those of months.
const LEFT: usize = 36;
const TOP: usize = 42;

/// The margin of the picture, and the space below a calendar.
const MARGIN: usize = 20;
const GAP: usize = 22;

/// The height of the picture's heading, of the chart of recall, and of the space for its own heading.
const HEADING: usize = 56;
const CHART: usize = 80;

/// The weeks that the name of a month takes.
const MONTH_COLUMNS: usize = 3;

/// The opacity of a day, from the fewest to the most messages.
const SHADES: [&str; 4] = [".3", ".5", ".75", "1"];

/// The colour of a day without messages, and of recall.
const EMPTY: &str = "#edf0f4";
const RECALL: &str = "#4c78a8";

/// The columns of the name of a partition.
const NAME_COLUMNS: usize = 32;

/// The least width, for headings of short calendars.
const MIN_WIDTH: usize = 480;

impl Activity {
    /// Returns an SVG picture.
    pub fn to_svg(&self) -> String {
        let weeks = self.weeks();
        let calendar_height = TOP + 7 * STEP + GAP;
        let mut body = String::new();
        let mut height = HEADING;
        for (at, (name, days)) in self.partitions.iter().enumerate() {
            let _ = writeln!(body, "<g transform=\"translate({MARGIN} {height})\">");
            body.push_str(&heading(name, &counted(days.total(), "message")));
            body.push_str(&self.calendar(&weeks, days, colour(at, false)));
            body.push_str("</g>\n");
            height += calendar_height;
        }
        if self.recall_in_all().0 > 0 {
            let _ = writeln!(body, "<g transform=\"translate({MARGIN} {height})\">");
            body.push_str(&self.chart(&weeks));
            body.push_str("</g>\n");
            height += TOP + CHART + GAP;
        }
        for line in self.rest() {
            let _ = writeln!(body, "<text x=\"{MARGIN}\" y=\"{height}\" class=\"small\">{line}</text>");
            height += MARGIN;
        }
        height += MARGIN;
        let width = (2 * MARGIN + LEFT + weeks.len() * STEP).max(MIN_WIDTH);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n\
             <title>Activity</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{MARGIN}\" y=\"34\"><tspan class=\"heading\">Activity</tspan>\
             <tspan dx=\"14\" class=\"small\">{}</tspan></text>\n{body}</svg>\n",
            self.summary().join(" · ")
        )
    }

    /// The days of a partition, a column a week.
    fn calendar(&self, weeks: &[Date], days: &Days, colour: &str) -> String {
        let (mut empty, mut full) = (String::new(), String::new());
        let greatest = days.greatest(self.first, self.last).max(1);
        for (column, monday) in weeks.iter().enumerate() {
            for row in 0..7 {
                let day = after(*monday, row as i64);
                let (x, y) = (LEFT + column * STEP, TOP + row * STEP);
                let count = days.on(day);
                if count > 0 && day <= self.last {
                    let shade = SHADES[shade(count, greatest)];
                    let _ = writeln!(
                        full,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" rx=\"2\" fill=\"{colour}\" \
                         fill-opacity=\"{shade}\"><title>{}: {}</title></rect>",
                        day.strftime("%-d %b %Y"),
                        counted(count, "message")
                    );
                } else if (self.first..=self.last).contains(&day) {
                    let _ = write!(empty, "M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z");
                }
            }
        }
        format!("{}<path d=\"{empty}\" fill=\"{EMPTY}\"/>\n{full}{}", month_names(weeks), weekdays())
    }

    /// The tokens of recall in each week, as bars.
    fn chart(&self, weeks: &[Date]) -> String {
        let (requests, tokens, median) = self.recall_in_all();
        let text = format!(
            "{} added to {}, {} in the median",
            counted(tokens as usize, "token"),
            counted(requests, "request"),
            grouped(median as usize)
        );
        let mut out = heading("Recall", &text);
        let greatest =
            weeks.iter().map(|monday| self.recall_in_week(*monday)).max().unwrap_or_default().max(1);
        let bottom = TOP + CHART;
        let _ =
            writeln!(out, "<path d=\"M{LEFT} {bottom}H{}\" stroke=\"{EMPTY}\"/>", LEFT + weeks.len() * STEP);
        for (column, monday) in weeks.iter().enumerate() {
            let tokens = self.recall_in_week(*monday);
            if tokens > 0 {
                let height = (tokens as f64 / greatest as f64 * CHART as f64).max(1.0);
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{:.1}\" width=\"{SIDE}\" height=\"{height:.1}\" rx=\"2\" fill=\"{RECALL}\">\
                     <title>Week of {}: {} tokens</title></rect>",
                    LEFT + column * STEP,
                    bottom as f64 - height,
                    monday.strftime("%-d %b %Y"),
                    grouped(tokens as usize)
                );
            }
        }
        out + &month_names(weeks)
    }
}

/// The place of the shade of a number: by the root of its share, so that one busy day does not make all
/// others pale.
fn shade(count: usize, greatest: usize) -> usize {
    let share = (count as f64 / greatest as f64).sqrt();
    ((share * SHADES.len() as f64).ceil() as usize).clamp(1, SHADES.len()) - 1
}

/// The CSS of the elements.
const STYLE: &str = ".heading{font-size:20px;font-weight:600;fill:#1c2430}.name{font-size:14px;font-weight:600;\
    fill:#1c2430}.small{font-size:12px;fill:#5b6675}.tiny{font-size:10px;fill:#5b6675}";

fn heading(name: &str, text: &str) -> String {
    format!(
        "<text x=\"0\" y=\"16\"><tspan class=\"name\">{}</tspan><tspan dx=\"10\" class=\"small\">{text}</tspan></text>\n",
        escaped(&beginning(name, NAME_COLUMNS))
    )
}

/// The names of the months above the weeks.
fn month_names(weeks: &[Date]) -> String {
    let name = |(column, name): (usize, String)| {
        let (x, y) = (LEFT + column * STEP, TOP - 6);
        format!("<text x=\"{x}\" y=\"{y}\" class=\"tiny\">{name}</text>\n")
    };
    months(weeks, MONTH_COLUMNS).into_iter().map(name).collect()
}

fn weekdays() -> String {
    let name = |(row, name): (usize, &str)| {
        format!("<text x=\"0\" y=\"{}\" class=\"tiny\">{name}</text>\n", TOP + row * STEP + SIDE - 2)
    };
    [(0, "Mon"), (2, "Wed"), (4, "Fri")].map(name).concat()
}
