//! The numbers of lists, as word processors count them.

use std::collections::HashMap;

/// The numbers of a kind of list, of each of its levels from the highest.
#[derive(Clone, Default, Debug)]
pub(super) struct ListStyle(pub(super) Vec<LevelStyle>);

/// How the items of a level are numbered.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct LevelStyle {
    pub(super) format: NumberFormat,
    pub(super) start: Option<usize>,
    /// The text with the numbers of levels in it, as in `%1.%2)`; `None` for the number and a full stop.
    pub(super) text: Option<String>,
}

/// The letters of a number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum NumberFormat {
    #[default]
    Bullet,
    /// No sign at all.
    None,
    Decimal,
    UpperLetter,
    LowerLetter,
    UpperRoman,
    LowerRoman,
}

impl NumberFormat {
    fn write(self, number: usize) -> String {
        match self {
            NumberFormat::Bullet | NumberFormat::None => String::new(),
            NumberFormat::Decimal => number.to_string(),
            NumberFormat::UpperLetter => letters(number).to_uppercase(),
            NumberFormat::LowerLetter => letters(number),
            NumberFormat::UpperRoman => roman(number).to_uppercase(),
            NumberFormat::LowerRoman => roman(number),
        }
    }
}

/// a to z, then aa to zz.
fn letters(number: usize) -> String {
    let Some(at) = number.checked_sub(1) else { return "0".to_owned() };
    let letter = char::from(b'a' + u8::try_from(at % 26).unwrap_or(0));
    String::from(letter).repeat((at / 26 + 1).min(8))
}

fn roman(number: usize) -> String {
    const SIGNS: [(usize, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    if !(1..5000).contains(&number) {
        return number.to_string();
    }
    let (mut rest, mut text) = (number, String::new());
    for (value, sign) in SIGNS {
        while rest >= value {
            text.push_str(sign);
            rest -= value;
        }
    }
    text
}

/// The numbers that lists have reached.
#[derive(Default)]
pub(super) struct Counters {
    /// By the name of the list, those of its levels.
    reached: HashMap<String, Vec<usize>>,
}

impl Counters {
    /// The sign of the next item of a list at a level from 0: its number, or a dash; empty if it has none.
    pub(super) fn next(&mut self, list: &str, level: usize, style: &ListStyle) -> String {
        let level = level.min(MAX_LEVELS - 1);
        let start = |at: usize| style.0.get(at).and_then(|level| level.start).unwrap_or(1);
        let numbers = self.reached.entry(list.to_owned()).or_default();
        if numbers.len() > level {
            numbers.truncate(level + 1);
            numbers[level] = numbers[level].saturating_add(1);
        } else {
            // Levels that are skipped count as their first.
            let missing = numbers.len()..=level;
            numbers.extend(missing.map(start));
        }
        sign(level, numbers, style)
    }

    /// Lets a level of a list begin at a number.
    pub(super) fn restart(&mut self, list: &str, level: usize, number: usize) {
        let level = level.min(MAX_LEVELS - 1);
        let numbers = self.reached.entry(list.to_owned()).or_default();
        numbers.truncate(level + 1);
        numbers.resize(level + 1, 1);
        numbers[level] = number.saturating_sub(1);
    }

    /// Forgets the numbers of a level of a list, and of those below it.
    pub(super) fn end_level(&mut self, list: &str, level: usize) {
        if let Some(numbers) = self.reached.get_mut(list) {
            numbers.truncate(level);
        }
    }

    /// Forgets the numbers of a list.
    pub(super) fn clear(&mut self, list: &str) {
        self.reached.remove(list);
    }
}

/// The greatest number of levels that are counted.
const MAX_LEVELS: usize = 10;
/// The greatest length of the text around numbers, in characters.
const MAX_PATTERN: usize = 128;

fn sign(level: usize, numbers: &[usize], style: &ListStyle) -> String {
    // A level that is not defined is written like the last one that is.
    let defined = level.min(style.0.len().saturating_sub(1));
    let Some(own) = style.0.get(defined) else { return "-".to_owned() };
    let is_blank = own.text.as_ref().is_some_and(|text| text.trim().is_empty());
    match own.format {
        // A paragraph that continues an item.
        NumberFormat::Bullet if is_blank => return String::new(),
        NumberFormat::Bullet => return "-".to_owned(),
        NumberFormat::None => return String::new(),
        _ => {}
    }
    let Some(pattern) = &own.text else { return format!("{}.", own.format.write(numbers[level])) };
    let (mut text, mut chars) = (String::new(), pattern.chars().take(MAX_PATTERN).peekable());
    while let Some(c) = chars.next() {
        let digit = chars.peek().and_then(|next| next.to_digit(10)).filter(|digit| c == '%' && *digit > 0);
        let Some(at) = digit.and_then(|digit| usize::try_from(digit - 1).ok()) else {
            text.push(c);
            continue;
        };
        chars.next();
        let format = style.0.get(at).map_or(NumberFormat::Decimal, |level| level.format);
        let format = if format == NumberFormat::Bullet { NumberFormat::Decimal } else { format };
        let at = if at == defined { level } else { at };
        text.push_str(&format.write(numbers.get(at).copied().unwrap_or(1)));
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_numbered_as_their_levels_say() {
        let level = |format, text: &str| LevelStyle { format, start: None, text: Some(text.to_owned()) };
        let style = ListStyle(vec![
            level(NumberFormat::Decimal, "%1."),
            level(NumberFormat::Decimal, "%1.%2"),
            level(NumberFormat::LowerLetter, "(%3)"),
        ]);
        let mut counters = Counters::default();
        let mut next = |level| counters.next("a", level, &style);
        let signs: Vec<String> = [0, 1, 1, 2, 2, 0, 1, 2].into_iter().map(&mut next).collect();
        assert_eq!(signs, ["1.", "1.1", "1.2", "(a)", "(b)", "2.", "2.1", "(a)"]);
        counters.restart("a", 0, 7);
        assert_eq!(counters.next("a", 0, &style), "7.");
        for (number, text) in [(4, "iv"), (1990, "mcmxc")] {
            assert_eq!(roman(number), text);
        }
        assert_eq!((letters(26), letters(28)), ("z".to_owned(), "bb".to_owned()));
    }
}
