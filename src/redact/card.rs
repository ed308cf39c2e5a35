//! The numbers of payment cards.

use std::ops::Range;

/// The bytes that are compared with a digit: a card has four digits in a row.
const STRIDE: usize = 4;
/// The fewest digits of a card.
const MIN_DIGITS: usize = 14;

/// The card numbers in a text: all digits in a row, or in the groups that are printed on the card, between
/// spaces or dashes, with the first digits of an issuer and the check digit by Luhn's algorithm.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    each_number(text.as_bytes(), &mut |number| {
        let groups = groups(text, number);
        let mut at = 0;
        while at < groups.len() {
            let (length, cards) = cards_at(text, &groups[at..]);
            at += length;
            found.extend(cards);
        }
        false
    });
    found
}

/// Whether a text has as many digits in a row, or in groups, as a card; quickly.
pub(super) fn may_be_in(text: &str) -> bool {
    let bytes = text.as_bytes();
    each_number(bytes, &mut |number| {
        bytes[number].iter().filter(|byte| byte.is_ascii_digit()).count() >= MIN_DIGITS
    })
}

/// Visits the longest ranges of digits, spaces and dashes that have four digits in a row, until `visit` has
/// enough; whether it had.
fn each_number(bytes: &[u8], visit: &mut dyn FnMut(Range<usize>) -> bool) -> bool {
    let mut at = STRIDE - 1;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += STRIDE;
            continue;
        }
        let back = bytes[..at].iter().rev().take_while(|byte| is_in_number(**byte)).count();
        let length = bytes[at..].iter().take_while(|byte| is_in_number(**byte)).count();
        if visit(at - back..at + length) {
            return true;
        }
        at += length + STRIDE - 1;
    }
    false
}

fn is_in_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b' ' | b'-')
}

/// The groups of digits in a range.
fn groups(text: &str, number: Range<usize>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for at in number.filter(|at| text.as_bytes()[*at].is_ascii_digit()) {
        match groups.last_mut().filter(|group| group.end == at) {
            Some(group) => group.end = at + 1,
            None => groups.push(at..at + 1),
        }
    }
    groups
}

/// The cards that begin with the first group, and the number of groups that are no other card's.
fn cards_at(text: &str, groups: &[Range<usize>]) -> (usize, Vec<Range<usize>>) {
    for lengths in [&[4, 6, 5][..], &[4, 6, 4]] {
        if let Some(range) = joined(text, groups, lengths).filter(|range| is_card(text, range)) {
            return (lengths.len(), vec![range]);
        }
    }
    let mut fours = 1;
    while fours < groups.len() && joined(text, &groups[fours - 1..], &[4, 4]).is_some() {
        fours += 1;
    }
    if fours == 1 {
        let card = groups.first().filter(|range| is_card(text, range));
        return (1, card.cloned().into_iter().collect());
    }
    // Groups that are not cards one after the other are a table.
    let cards = groups[..fours].chunks(4).map(|card| joined(text, card, &[4, 4, 4, 4]));
    let cards: Option<Vec<Range<usize>>> =
        cards.map(|range| range.filter(|range| is_card(text, range))).collect();
    (fours, cards.unwrap_or_default())
}

/// The range of groups of these lengths with one sign between them, the same everywhere.
fn joined(text: &str, groups: &[Range<usize>], lengths: &[usize]) -> Option<Range<usize>> {
    let groups = groups.get(..lengths.len())?;
    let sign = text.as_bytes().get(groups.first()?.end);
    let has_length = groups.iter().zip(lengths).all(|(group, length)| group.len() == *length);
    let is_near =
        |pair: &[Range<usize>]| pair[0].end + 1 == pair[1].start && text.as_bytes().get(pair[0].end) == sign;
    let is_joined = has_length && groups.windows(2).all(is_near);
    is_joined.then(|| groups[0].start..groups[groups.len() - 1].end)
}

fn is_card(text: &str, range: &Range<usize>) -> bool {
    let digits: Vec<u8> =
        text[range.clone()].bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
    is_issued(&digits) && is_checked(&digits) && is_apart(text.as_bytes(), range)
}

/// Whether a number is no part of a word, a path, or a longer number.
fn is_apart(bytes: &[u8], range: &Range<usize>) -> bool {
    let (start, end) = (range.start, range.end);
    let is_joint =
        |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || matches!(byte, b'_' | b'/' | b'+');
    let before = start.checked_sub(1).map(|at| bytes[at]);
    let is_decimal =
        |at: usize| bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    let after = bytes.get(end).copied();
    before.is_none_or(|byte| !is_joint(byte) && !matches!(byte, b'.' | b'-' | b'#'))
        && after.is_none_or(|byte| !is_joint(byte) && byte != b'-')
        && !is_decimal(end)
}

/// Whether an issuer of cards has numbers of this length that begin so: Visa, Mastercard, American Express,
/// Discover, JCB, Diners Club.
fn is_issued(digits: &[u8]) -> bool {
    let Some(first) = digits.get(..4) else { return false };
    let first = first.iter().fold(0, |number, digit| number * 10 + u32::from(*digit));
    match digits.len() {
        14 => matches!(first, 3000..=3059 | 3600..=3699 | 3800..=3999),
        15 => matches!(first / 100, 34 | 37),
        16 => matches!(first, 4000..=4999 | 5100..=5599 | 2221..=2720 | 6011 | 6440..=6599 | 3528..=3589),
        _ => false,
    }
}

/// Luhn's algorithm (ISO/IEC 7812-1, annex B): the sum of the digits, every second from the last but one
/// doubled, is a multiple of 10.
fn is_checked(digits: &[u8]) -> bool {
    let sum: u32 = { digits.iter().rev().enumerate() }
        .map(|(at, digit)| match u32::from(*digit) * (1 + at as u32 % 2) {
            doubled if doubled > 9 => doubled - 9,
            other => other,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_known_by_issuer_groups_and_check_digit() {
        let cards = [
            "4111111111111111",
            "5555 5555 5555 4444",
            "3782-822463-10005",
            "(6011111111111117)",
            "36700102000000.",
            "12 4111 1111 1111 1111 12/27",
        ];
        for card in cards {
            assert_eq!(find(card).len(), 1, "{card}");
            assert!(may_be_in(card), "{card}");
        }
        assert_eq!(find("4111 1111 1111 1111 5555 5555 5555 4444").len(), 2);
        let others = [
            "4111111111111112",
            "41111111111111111",
            "4111 1111-1111 1111",
            "0.4111111111111111",
            "a4111111111111111",
            "1111 4111 1111 1111 1111",
        ];
        for other in others {
            assert!(find(other).is_empty(), "{other}");
        }
    }
}
