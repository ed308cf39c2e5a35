//! Names with `*` in them.

/// Whether a pattern, in which `*` matches any text, matches a whole text.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The leftmost place of each part leaves the longest text for those after it.
    for part in middle.split('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, yes) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*", "ba", false),
            ("a", "ab", false),
            ("*a*b*", "xxaxxbxx", true),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("a**b", "ab", true),
            ("*ab*ab", "abxab", true),
            ("*ab*ab", "ab", false),
            ("ö*", "öx", true),
        ] {
            assert_eq!(matches_pattern(pattern, text), yes, "{pattern} {text}");
        }
    }
}
