//! Words into lines in the order in which a page is read: columns one after the other, the rows of tables
//! whole.

use super::words::{Word, line_text};

/// How deep columns stand in columns.
const MAX_DEPTH: usize = 6;
/// The least space between columns, in parts of the size of their letters.
const GUTTER: f64 = 0.7;
/// From which width of words a line on, on average, a column is prose, in the same parts. The cells of a
/// table are narrower.
const PROSE_WIDTH: f64 = 9.0;
/// At how much more than the distance of the lines around a line begins a paragraph, and how far apart these
/// are at most, in parts of the size of their letters.
const PARAGRAPH_DISTANCE: f64 = 1.3;
const MAX_LEADING: f64 = 2.2;
/// From how much another size on a line begins a paragraph, in parts of that size.
const OTHER_SIZE: f64 = 0.15;

/// A line of a page.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    /// In points, downwards.
    pub(super) baseline: f64,
    pub(super) size: f64,
    /// Whether a paragraph begins with it.
    pub(super) begins: bool,
}

/// The lines of words in whatever order.
pub(super) fn lines(words: Vec<Word>) -> Vec<Line> {
    let mut lines = Vec::new();
    read(words, MAX_DEPTH, &mut lines);
    lines
}

/// Reads a region: bands of columns, and what is between them.
fn read(words: Vec<Word>, depth: usize, lines: &mut Vec<Line>) {
    if depth == 0 {
        return read_rows(words, lines);
    }
    let mut plain = Vec::new();
    for band in bands(rows(words)) {
        match band.columns() {
            Ok(columns) => {
                read_rows(std::mem::take(&mut plain), lines);
                for column in columns {
                    read(column, depth - 1, lines);
                }
            }
            Err(words) => plain.extend(words),
        }
    }
    read_rows(plain, lines);
}

/// Parts words into rows, from top to bottom, between which no word stands.
fn rows(mut words: Vec<Word>) -> Vec<Vec<Word>> {
    words.sort_by(|a, b| a.top().total_cmp(&b.top()));
    let mut rows: Vec<Vec<Word>> = Vec::new();
    let mut bottom = f64::NEG_INFINITY;
    for word in words {
        let word_bottom = word.bottom();
        match rows.last_mut().filter(|_| word.top() < bottom) {
            Some(row) => row.push(word),
            None => rows.push(vec![word]),
        }
        bottom = bottom.max(word_bottom);
    }
    rows
}

/// Rows one below the other with the same vertical strips free of words.
struct Band {
    rows: Vec<Vec<Word>>,
    /// From left to right, with both margins.
    gutters: Vec<(f64, f64)>,
    /// Whether some row alone has words on both sides of such a strip.
    is_parted: bool,
}

fn bands(rows: Vec<Vec<Word>>) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for row in rows {
        let free = free_strips(&row);
        // Beyond the margins.
        let is_parted = free.len() > 2;
        if let Some(band) = bands.last_mut() {
            let gutters = common(&band.gutters, &free, GUTTER * usual_size(&row));
            if band.is_parted && gutters.len() > 2 || !band.is_parted && !is_parted {
                band.gutters = gutters;
                band.rows.push(row);
                continue;
            }
        }
        let mut band = Band { rows: vec![row], gutters: free, is_parted };
        if let Some(above) = bands.last_mut().filter(|above| is_parted && !above.is_parted) {
            band.take_first_lines(above);
        }
        bands.push(band);
    }
    bands
}

impl Band {
    /// Takes the lines with which one column begins above the others from the band above.
    fn take_first_lines(&mut self, above: &mut Band) {
        // The lowest first.
        let mut taken: Vec<Vec<Word>> = Vec::new();
        while let (Some(row), Some(next)) = (above.rows.last(), taken.last().or(self.rows.first())) {
            let size = usual_size(next);
            let bottom = row.iter().map(Word::bottom).fold(f64::NEG_INFINITY, f64::max);
            let top = next.iter().map(Word::top).fold(f64::INFINITY, f64::min);
            let is_next = top - bottom < 0.6 * size && (usual_size(row) - size).abs() < OTHER_SIZE * size;
            let gutters = common(&self.gutters, &free_strips(row), GUTTER * size);
            if !is_next || gutters.len() <= 2 {
                break;
            }
            self.gutters = gutters;
            taken.extend(above.rows.pop());
        }
        self.rows.splice(0..0, taken.into_iter().rev());
    }
}

/// The vertical strips without words, from the left margin to the right one.
fn free_strips(row: &[Word]) -> Vec<(f64, f64)> {
    let least = GUTTER * usual_size(row);
    let mut spans: Vec<(f64, f64)> = row.iter().map(|word| (word.left, word.right)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut strips = Vec::new();
    let mut right = f64::NEG_INFINITY;
    for (left, end) in spans {
        if left - right >= least {
            strips.push((right, left));
        }
        right = right.max(end);
    }
    strips.push((right, f64::INFINITY));
    strips
}

/// The strips that are in both, at least so wide.
fn common(ours: &[(f64, f64)], theirs: &[(f64, f64)], least: f64) -> Vec<(f64, f64)> {
    let mut strips = Vec::new();
    let (mut at, mut other) = (0, 0);
    while let (Some(a), Some(b)) = (ours.get(at), theirs.get(other)) {
        let strip = (a.0.max(b.0), a.1.min(b.1));
        if strip.1 - strip.0 >= least {
            strips.push(strip);
        }
        if a.1 < b.1 {
            at += 1;
        } else {
            other += 1;
        }
    }
    strips
}

impl Band {
    /// Its columns in the order in which they are read, or its words if it has none.
    fn columns(self) -> Result<Vec<Vec<Word>>, Vec<Word>> {
        let words: Vec<Word> = self.rows.into_iter().flatten().collect();
        let inner = self.gutters.iter().filter(|(left, right)| left.is_finite() && right.is_finite());
        let middles: Vec<f64> = inner.map(|(left, right)| f64::midpoint(*left, *right)).collect();
        if middles.is_empty() {
            return Err(words);
        }
        let column_of = |word: &Word| middles.partition_point(|middle| *middle < word.left);
        let mut widths = vec![0.0; middles.len() + 1];
        let mut baselines: Vec<Vec<f64>> = vec![Vec::new(); middles.len() + 1];
        for word in &words {
            let column = column_of(word);
            widths[column] += (word.right - word.left) / word.size;
            let is_new = |base: &f64| (base - word.baseline).abs() > 0.5 * word.size;
            if baselines[column].iter().rev().take(8).all(is_new) {
                baselines[column].push(word.baseline);
            }
        }
        let is_prose = |column: usize| {
            let lines = baselines[column].len();
            lines > 1 && widths[column] >= PROSE_WIDTH * lines as f64
        };
        // A narrow column, as of numbers or bullets, belongs to the prose at its right, the last to that at
        // its left.
        let mut group = 0;
        let mut has_prose = false;
        let groups: Vec<usize> = (0..widths.len())
            .map(|column| {
                let this = group;
                if is_prose(column) {
                    has_prose = true;
                    group += 1;
                }
                this
            })
            .collect();
        if !has_prose || group < 2 {
            return Err(words);
        }
        let mut columns: Vec<Vec<Word>> = vec![Vec::new(); group];
        let rtl = words.iter().filter(|word| word.is_rtl()).count() * 2 > words.len();
        let last = columns.len() - 1;
        for word in words {
            let group = groups[middles.partition_point(|middle| *middle < word.left)];
            columns[group.min(last)].push(word);
        }
        if rtl {
            columns.reverse();
        }
        Ok(columns)
    }
}

fn usual_size(words: &[Word]) -> f64 {
    median(words.iter().map(|word| word.size).collect())
}

/// The middle one of numbers; 0 if there is none.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    let middle = numbers.len() / 2;
    *numbers.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Reads words from top to bottom, and from left to right in each line.
fn read_rows(mut words: Vec<Word>, lines: &mut Vec<Line>) {
    words.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    let mut rows: Vec<Row> = Vec::new();
    for word in words {
        let from = rows.len().saturating_sub(4);
        let overlaps = rows[from..].iter().map(|row| row.overlap(&word));
        let best =
            overlaps.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, overlap)| *overlap > 0.5);
        match best {
            Some((at, _)) => rows[from + at].push(word),
            None => rows.push(Row::new(word)),
        }
    }
    rows.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    // How far each is from the one above.
    let distances: Vec<f64> = rows.windows(2).map(|pair| pair[1].baseline - pair[0].baseline).collect();
    for (at, mut row) in rows.into_iter().enumerate() {
        row.words.sort_by(|a, b| (a.left + a.right).total_cmp(&(b.left + b.right)));
        let above = at.checked_sub(1);
        let around = [above.and_then(|above| above.checked_sub(1)), Some(at)].into_iter().flatten();
        let usual = around.filter_map(|at| distances.get(at)).copied().fold(f64::INFINITY, f64::min);
        let is_far =
            |distance: f64| distance > PARAGRAPH_DISTANCE * usual.clamp(row.size, MAX_LEADING * row.size);
        let begins = lines.last().is_some_and(|line| {
            let is_other_size = (line.size - row.size).abs() > OTHER_SIZE * row.size;
            is_other_size || is_far(row.baseline - line.baseline)
        });
        let text = line_text(&mut row.words);
        lines.push(Line { text, baseline: row.baseline, size: row.size, begins });
    }
}

/// The words of a line, which its largest word places.
struct Row {
    words: Vec<Word>,
    baseline: f64,
    size: f64,
}

impl Row {
    fn new(word: Word) -> Row {
        Row { baseline: word.baseline, size: word.size, words: vec![word] }
    }

    /// How much of the height of the lower of both is beside the other, at most 1.
    fn overlap(&self, word: &Word) -> f64 {
        let top = (self.baseline - 0.7 * self.size).max(word.top());
        let bottom = (self.baseline + 0.2 * self.size).min(word.bottom());
        (bottom - top) / (0.9 * self.size.min(word.size))
    }

    fn push(&mut self, word: Word) {
        if word.size > self.size {
            (self.baseline, self.size) = (word.baseline, word.size);
        }
        self.words.push(word);
    }
}
