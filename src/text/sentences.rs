//! The sentences of a line.

/// The sentences of a line: each ends at a sign before white space, or at a sign of a script without spaces.
pub fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut ends) = (0, false);
    for (at, c) in line.char_indices() {
        if c.is_whitespace() && ends {
            found.push(line[begin..at].trim());
            begin = at;
        } else if matches!(c, '\u{3002}' | '\u{ff01}' | '\u{ff1f}') {
            found.push(line[begin..at + c.len_utf8()].trim());
            begin = at + c.len_utf8();
        }
        ends = matches!(c, '.' | '!' | '?' | ';');
    }
    found.push(line[begin..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}
