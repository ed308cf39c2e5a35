//! Where the messages stand along time: a lane for each group, and in it each message at its time, above or below
//! those that would cover it.

use super::graph::Graph;
use super::layout::{Layout, radius};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};

/// The width of the time from the first to the last message.
const WIDTH: f64 = 900.0;

/// The space at both ends of a lane, and between two lanes.
const MARGIN: f64 = 24.0;
const LANE_GAP: f64 = 10.0;

/// The space above a lane for its name.
pub(super) const NAME_HEIGHT: f64 = 22.0;

/// The height of the axis below the lanes.
pub(super) const AXIS_HEIGHT: f64 = 26.0;

/// The most marks on the axis.
const MAX_MARKS: usize = 10;

/// The messages along time.
pub(super) struct Timeline {
    pub(super) layout: Layout,
    /// The top and the bottom of each group's lane.
    pub(super) lanes: Vec<(f64, f64)>,
    /// The marks of the axis, from left to right, with their texts.
    pub(super) marks: Vec<(f64, String)>,
}

/// Places the messages of a graph along time.
pub(super) fn by_time(graph: &Graph, zone: &TimeZone) -> Timeline {
    let first = graph.nodes.iter().map(|node| node.message.timestamp).min().unwrap_or_default();
    let last = graph.nodes.iter().map(|node| node.message.timestamp).max().unwrap_or_default();
    // At least an hour, so that a single message has a place.
    let span = (last - first).max(60 * 60 * 1000) as f64;
    let x_of = |ms: i64| MARGIN + WIDTH * (ms - first) as f64 / span;
    let mut places = vec![[0.0; 2]; graph.nodes.len()];
    let (mut lanes, mut top) = (Vec::new(), 0.0);
    for group in 0..graph.groups.len() {
        let nodes: Vec<usize> =
            (0..graph.nodes.len()).filter(|node| graph.nodes[*node].group == group).collect();
        let offsets = offsets(graph, &nodes, &x_of);
        let above = offsets.iter().copied().fold(0.0, f64::min);
        let below = offsets.iter().copied().fold(0.0, f64::max);
        let middle = top + NAME_HEIGHT + LANE_GAP - above;
        for (node, offset) in nodes.iter().zip(offsets) {
            places[*node] = [x_of(graph.nodes[*node].message.timestamp), middle + offset];
        }
        let bottom = middle + below + LANE_GAP;
        lanes.push((top, bottom));
        top = bottom + LANE_GAP;
    }
    let marks = marks(first, first + span as i64, zone);
    let marks = marks.into_iter().map(|(ms, text)| (x_of(ms), text)).collect();
    let layout = Layout { places, width: WIDTH + 2.0 * MARGIN, height: top + AXIS_HEIGHT };
    Timeline { layout, lanes, marks }
}

/// How far each message of a lane, in the order of time, is above (negative) or below its middle: as little as no other
/// is covered.
fn offsets(graph: &Graph, nodes: &[usize], x_of: &impl Fn(i64) -> f64) -> Vec<f64> {
    let step = 2.0 * radius(2) + 3.0;
    // Where the last message of each row ends; the rows alternate below and above the middle.
    let mut ends: Vec<f64> = Vec::new();
    let mut offsets = Vec::new();
    for node in nodes {
        let radius = radius(graph.nodes[*node].degree);
        let x = x_of(graph.nodes[*node].message.timestamp);
        let row = ends.iter().position(|end| x - radius >= *end).unwrap_or(ends.len());
        if row == ends.len() {
            ends.push(0.0);
        }
        ends[row] = x + radius + 2.0;
        let away = row.div_ceil(2) as f64 * step;
        offsets.push(if row % 2 == 0 { -away } else { away });
    }
    offsets
}

/// The marks of an axis: as many as fit of whole hours, days, weeks, months or years.
fn marks(first: i64, last: i64, zone: &TimeZone) -> Vec<(i64, String)> {
    let steps: [(Span, &str); 11] = [
        (1.hour(), "%H:%M"),
        (6.hours(), "%-d %b %H:%M"),
        (1.day(), "%-d %b"),
        (1.week(), "%-d %b"),
        (2.weeks(), "%-d %b"),
        (1.month(), "%b %Y"),
        (3.months(), "%b %Y"),
        (1.year(), "%Y"),
        (5.years(), "%Y"),
        (25.years(), "%Y"),
        (500.years(), "%Y"),
    ];
    let at = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(zone.clone());
    let (first, last) = (at(first), at(last));
    for (step, format) in steps {
        let mut marks = Vec::new();
        let mut time = whole(&first, &step);
        while let Some(now) = time.filter(|now| *now <= last && marks.len() <= MAX_MARKS) {
            if now >= first {
                marks.push((now.timestamp().as_millisecond(), now.strftime(format).to_string()));
            }
            time = now.checked_add(step).ok();
        }
        if marks.len() <= MAX_MARKS {
            return marks;
        }
    }
    Vec::new()
}

/// The last whole hour, day, week, month or year that is not after a time. A week begins on Monday.
fn whole(time: &Zoned, step: &Span) -> Option<Zoned> {
    let date = match (step.get_years(), step.get_months(), step.get_weeks()) {
        (0, 0, 0) => time.date(),
        (0, 0, _) => {
            let since_monday = time.date().weekday().to_monday_zero_offset();
            time.date().checked_sub(i64::from(since_monday).days()).ok()?
        }
        (0, ..) => time.date().first_of_month(),
        _ => time.date().first_of_year(),
    };
    let hour = if step.get_hours() == 1 { time.hour() } else { 0 };
    date.at(hour, 0, 0, 0).to_zoned(time.time_zone().clone()).ok()
}
