//! Lines as they are seen into lines as they are read: from right to left in some scripts.

/// Puts the letters of a line, which stand from left to right, into the order in which they are read.
///
/// That of the Unicode Bidirectional Algorithm (UAX #9, rule L2) backwards: runs that go the other way are
/// reversed, and so is the line if it begins at the right, which most of its letters tell.
pub(super) fn reading_order<T>(line: &mut [T], text: impl Fn(&T) -> &str) {
    let kinds: Vec<Kind> = line.iter().map(|letter| Kind::of(text(letter))).collect();
    let count = |kind: Kind| kinds.iter().filter(|each| **each == kind).count();
    let rtl = count(Kind::Rtl);
    if rtl == 0 {
        return;
    }
    if rtl < count(Kind::Ltr) {
        for run in runs(&kinds, |kind| kind == Kind::Rtl, |kind| kind != Kind::Ltr) {
            reverse(&mut line[run.clone()], &kinds[run]);
        }
    } else {
        reverse(line, &kinds);
    }
}

/// Reverses a run, but not the numbers and words in it that go from left to right.
fn reverse<T>(run: &mut [T], kinds: &[Kind]) {
    run.reverse();
    let kinds: Vec<Kind> = kinds.iter().rev().copied().collect();
    let mut inner = runs(&kinds, |kind| kind == Kind::Ltr, |kind| kind != Kind::Rtl);
    let is_outside =
        |run: &std::ops::Range<usize>| inner.iter().all(|ltr| run.end <= ltr.start || ltr.end <= run.start);
    let numbers =
        runs(&kinds, |kind| kind == Kind::Digit, |kind| matches!(kind, Kind::Digit | Kind::Separator));
    let numbers: Vec<_> = numbers.into_iter().filter(is_outside).collect();
    inner.extend(numbers);
    for ltr in inner {
        run[ltr].reverse();
    }
}

/// The longest runs that begin and end with such a kind, and have none but such kinds in them.
fn runs(
    kinds: &[Kind],
    is_end: impl Fn(Kind) -> bool,
    is_inner: impl Fn(Kind) -> bool,
) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    let mut open: Option<std::ops::Range<usize>> = None;
    for (at, kind) in kinds.iter().enumerate() {
        if is_end(*kind) {
            open = Some(open.map_or(at, |run| run.start)..at + 1);
        } else if !is_inner(*kind) {
            runs.extend(open.take());
        }
    }
    runs.extend(open);
    runs
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rtl,
    Ltr,
    Digit,
    /// Part of a number, if it is between its digits.
    Separator,
    Neutral,
}

impl Kind {
    fn of(text: &str) -> Kind {
        match text.chars().next() {
            Some(c) if is_rtl(c) => Kind::Rtl,
            Some(c) if c.is_numeric() => Kind::Digit,
            Some(c) if c.is_alphabetic() => Kind::Ltr,
            Some('.' | ',' | ':' | '/' | '-' | '+' | '%' | '\u{66b}' | '\u{66c}') => Kind::Separator,
            _ => Kind::Neutral,
        }
    }
}

/// Whether a letter is of a script that goes from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko and
/// older ones.
pub(super) fn is_rtl(c: char) -> bool {
    c.is_alphabetic()
        && matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}
