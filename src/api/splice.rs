//! Changes one element of a JSON array, and leaves all bytes around it as they are.

use std::ops::Range;

/// The array with another text at a place in it.
pub(super) fn replace(json: &str, place: Range<usize>, new: &str) -> String {
    let mut out = String::with_capacity(json.len() + new.len());
    out.push_str(&json[..place.start]);
    out.push_str(new);
    out.push_str(&json[place.end..]);
    out
}

/// The array with a new element before that which begins at a place.
pub(super) fn insert_before(json: &str, place: usize, new: &str) -> String {
    replace(json, place..place, &format!("{new},"))
}

/// The text without the members of this name whose value is an object, wherever they are: strings cannot look
/// like them, since a quotation mark in a string is escaped.
pub(super) fn without_member(json: &str, name: &str) -> String {
    let needle = format!("\"{name}\":{{");
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(&needle) {
        let value = at + needle.len() - 1;
        let Some(length) = object_length(&rest[value..]) else { break };
        let mut after = value + length;
        let before = match rest[..at].strip_suffix(',') {
            Some(before) => before,
            None => {
                after += usize::from(rest[after..].starts_with(','));
                &rest[..at]
            }
        };
        out.push_str(before);
        rest = &rest[after..];
    }
    out + rest
}

/// The length of the object at the beginning of a text.
fn object_length(json: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

#[cfg(test)]
mod tests {
    use super::super::scan::element_ranges;
    use super::*;

    #[test]
    fn elements_are_found_and_changed_in_their_place() {
        let json = r#"[{"a":1.0},"b, c",[2]]"#;
        let ranges = element_ranges(json);
        let found: Vec<&str> = ranges.iter().map(|range| &json[range.clone()]).collect();
        assert_eq!(found, [r#"{"a":1.0}"#, r#""b, c""#, "[2]"]);
        assert_eq!(replace(json, ranges[1].clone(), "7"), r#"[{"a":1.0},7,[2]]"#);
        assert_eq!(insert_before(json, ranges[2].start, "7"), r#"[{"a":1.0},"b, c",7,[2]]"#);
        assert!(element_ranges("{}").is_empty());
    }

    #[test]
    fn a_member_is_taken_out_where_it_is_one() {
        for (json, without) in [
            (r#"{"a":1,"mark":{"t":"e}"}}"#, r#"{"a":1}"#),
            (r#"{"mark":{"t":"e"},"a":1}"#, r#"{"a":1}"#),
            (r#"{"mark":{}}"#, "{}"),
            (r#"{"a":"\"mark\":{"}"#, r#"{"a":"\"mark\":{"}"#),
            (r#"[{"mark":{"a":{}}},{"b":2,"mark":{},"c":3}]"#, r#"[{},{"b":2,"c":3}]"#),
        ] {
            assert_eq!(without_member(json, "mark"), without);
        }
    }
}
