//! Glyphs into letters: those of one direction in one frame, each once, with its accents.

use super::glyphs::Glyph;
use hayro_interpret::kurbo::Vec2;
use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Within how many degrees text counts as level or upright: pages are scanned askew.
const LEVEL_DEGREES: f64 = 3.0;
/// The directions that are told apart otherwise, in degrees.
const STEP_DEGREES: f64 = 5.0;
/// How far from each other, in parts of its size, a letter is drawn twice to look bold.
const BOLD_OFFSET: f64 = 0.12;

/// A letter in a frame whose lines go from left to right and follow each other downwards, in points.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    /// Empty if the font does not tell; white space between words.
    pub(super) text: String,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) baseline: f64,
    pub(super) size: f64,
}

impl Letter {
    pub(super) fn is_space(&self) -> bool {
        !self.text.is_empty() && self.text.chars().all(char::is_whitespace)
    }

    /// Whether the middle of another is above or below it.
    fn is_at(&self, other: &Letter) -> bool {
        let middle = f64::midpoint(other.left, other.right);
        let size = self.size.max(other.size);
        (self.left - 0.05 * size..=self.right + 0.05 * size).contains(&middle)
            && (self.baseline - other.baseline).abs() < size
    }
}

/// Letters of one direction.
pub(super) struct Frame {
    /// Whether they stand on the page as it is read.
    pub(super) is_level: bool,
    /// In the order of the file.
    pub(super) letters: Vec<Letter>,
}

/// The letters of a page: the level ones first, then the frames with the most.
pub(super) fn frames(glyphs: Vec<Glyph>) -> Vec<Frame> {
    let mut frames: Vec<(Direction, Vec<Letter>)> = Vec::new();
    let mut last = 0;
    for glyph in glyphs {
        let (size, length) = (glyph.up.hypot(), glyph.advance.hypot());
        if size < 0.1 {
            continue;
        }
        // A mark without a width has no direction of its own.
        let found = if length < 0.001 * size && !frames.is_empty() {
            last
        } else {
            let direction = Direction::of(&glyph);
            frames.iter().position(|(known, _)| known.key == direction.key).unwrap_or_else(|| {
                frames.push((direction, Vec::new()));
                frames.len() - 1
            })
        };
        last = found;
        let (direction, letters) = &mut frames[found];
        let left = glyph.origin.to_vec2().dot(direction.along);
        letters.push(Letter {
            left,
            right: left + glyph.advance.dot(direction.along),
            baseline: glyph.origin.to_vec2().dot(direction.down),
            size,
            text: readable(&glyph.text),
        });
    }
    frames.sort_by_key(|(direction, letters)| (direction.key != LEVEL, std::cmp::Reverse(letters.len())));
    let frame = |(direction, letters): (Direction, Vec<Letter>)| Frame {
        is_level: direction.key == LEVEL,
        letters: with_accents(once(letters)),
    };
    frames.into_iter().map(frame).collect()
}

/// How text runs, and where its next line is, as unit vectors.
struct Direction {
    key: (i32, bool),
    along: Vec2,
    down: Vec2,
}

/// From left to right, with the next line below.
const LEVEL: (i32, bool) = (0, false);

impl Direction {
    fn of(glyph: &Glyph) -> Direction {
        let along =
            if glyph.advance.hypot() > 0.0 { glyph.advance } else { Vec2::new(-glyph.up.y, glyph.up.x) };
        let is_mirrored = along.cross(glyph.up) > 0.0;
        let degrees = along.atan2().to_degrees();
        let level = (degrees / 90.0).round() * 90.0;
        let degrees = if (degrees - level).abs() < LEVEL_DEGREES {
            level
        } else {
            (degrees / STEP_DEGREES).round() * STEP_DEGREES
        };
        let along = Vec2::from_angle(degrees.to_radians());
        let down = Vec2::new(-along.y, along.x);
        let down = if is_mirrored { -down } else { down };
        // Both ends of the circle are one direction.
        Direction { key: ((degrees.round() as i32).rem_euclid(360), is_mirrored), along, down }
    }
}

/// Without the letters that stand where the same one stands already, as in bold by a second print.
fn once(letters: Vec<Letter>) -> Vec<Letter> {
    let mut seen: FxHashMap<(String, i64, i64), Vec<(f64, f64)>> = FxHashMap::default();
    let mut kept = Vec::with_capacity(letters.len());
    for letter in letters {
        if letter.text.is_empty() || letter.is_space() {
            kept.push(letter);
            continue;
        }
        let near = BOLD_OFFSET * letter.size;
        let cell = |at: f64| (at / letter.size).round() as i64;
        let (column, row) = (cell(letter.left), cell(letter.baseline));
        let mut is_twice = false;
        let mut key = (letter.text.clone(), column, row);
        for (x, y) in (-1..=1).flat_map(|x| (-1..=1).map(move |y| (x, y))) {
            (key.1, key.2) = (column + x, row + y);
            let places = seen.get(&key).map_or(&[][..], Vec::as_slice);
            is_twice |= places.iter().any(|(left, base)| {
                (letter.left - left).abs() < near && (letter.baseline - base).abs() < near
            });
        }
        if !is_twice {
            seen.entry((key.0, column, row)).or_default().push((letter.left, letter.baseline));
            kept.push(letter);
        }
    }
    kept
}

/// Puts marks and accents that are drawn by themselves onto the letters at which they stand.
fn with_accents(letters: Vec<Letter>) -> Vec<Letter> {
    let mut done: Vec<Letter> = Vec::with_capacity(letters.len());
    // An accent that waits for its letter, as TeX draws it first.
    let mut accent: Option<(Letter, String)> = None;
    for mut letter in letters {
        if let Some((waiting, marks)) = accent.take() {
            if letter.is_at(&waiting)
                && letter.text.chars().all(char::is_alphabetic)
                && !letter.text.is_empty()
            {
                letter.text = composed(&letter.text, &marks);
            } else {
                done.push(waiting);
            }
        }
        match marks(&letter.text) {
            Some(marks) => {
                match done.last_mut().filter(|last| last.is_at(&letter) && is_letter(&last.text)) {
                    Some(last) => last.text = composed(&last.text, &marks),
                    None => accent = Some((letter, marks)),
                }
            }
            None => done.push(letter),
        }
    }
    done.extend(accent.map(|(letter, _)| letter));
    done
}

fn is_letter(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_alphabetic)
}

fn composed(letter: &str, marks: &str) -> String {
    // The letters without dots are made for marks in their place.
    let base = match letter {
        "\u{131}" => "i",
        "\u{237}" => "j",
        letter => letter,
    };
    base.chars().chain(marks.chars()).nfc().collect()
}

/// The combining marks that a text is, if it is nothing else.
fn marks(text: &str) -> Option<String> {
    let mark = |c: char| {
        Some(match c {
            '`' | '\u{2cb}' => '\u{300}',
            '´' | '\u{2ca}' => '\u{301}',
            '^' | 'ˆ' => '\u{302}',
            '~' | '˜' => '\u{303}',
            '¯' => '\u{304}',
            '˘' => '\u{306}',
            '˙' => '\u{307}',
            '¨' => '\u{308}',
            '˚' => '\u{30a}',
            '˝' => '\u{30b}',
            'ˇ' => '\u{30c}',
            '¸' => '\u{327}',
            '˛' => '\u{328}',
            c if is_combining_mark(c) => c,
            _ => return None,
        })
    };
    (!text.is_empty()).then(|| text.chars().map(mark).collect()).flatten()
}

/// A text as people search for it: ligatures and forms of joined scripts as the letters of which they are
/// made, nothing that only a font knows.
fn readable(text: &str) -> String {
    let mut readable = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{fb00}'..='\u{fb4f}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
                // A ligature with a blank in it would be two words.
                readable.extend(std::iter::once(c).nfkc().filter(|c| !c.is_whitespace()));
            }
            '\u{e000}'..='\u{f8ff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fffd}' => {}
            c if c.is_whitespace() => readable.push(' '),
            c if c.is_control() => {}
            c => readable.push(c),
        }
    }
    readable
}
