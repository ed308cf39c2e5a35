//! Finds values in JSON text that is known to be valid, without reading them: a body may have megabytes of
//! tool results, and most of its bytes are in strings, which are skipped at once.

use crate::record::string_length;
use std::ops::Range;

/// An element of an array.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Element<const N: usize> {
    /// Its place in the text of the array.
    pub(super) range: Range<usize>,
    /// If it is an object, the places of the values of the members that were asked for.
    pub(super) members: [Option<Range<usize>>; N],
}

impl<const N: usize> Element<N> {
    /// The text of a member, by its number among those that were asked for; `json` is the text of the array.
    pub(super) fn member<'j>(&self, json: &'j str, number: usize) -> Option<&'j str> {
        json.get(self.members.get(number)?.clone()?)
    }

    /// The element that begins at a place. `value_end` gets the number of each member that was asked for and
    /// the place where its value begins, and returns the end of the value.
    fn read(
        bytes: &[u8],
        begin: usize,
        names: &[&str; N],
        mut value_end: impl FnMut(usize, usize) -> usize,
    ) -> Element<N> {
        let mut members = [const { None }; N];
        let end = match bytes[begin] {
            b'{' if N > 0 => object_end(bytes, begin, |name, value| {
                let number = names.iter().position(|wanted| wanted.as_bytes() == name);
                let Some(number) = number.filter(|number| members[*number].is_none()) else {
                    return self::value_end(bytes, value);
                };
                let end = value_end(number, value);
                members[number] = Some(value..end);
                end
            }),
            _ => self::value_end(bytes, begin),
        };
        Element { range: begin..end, members }
    }
}

/// The elements of an array in its text, with the members of these names, in one pass; none for a text that
/// is no array. A name that is written with escapes is not found.
pub(super) fn elements<const N: usize>(json: &str, names: [&str; N]) -> Vec<Element<N>> {
    let bytes = json.as_bytes();
    let mut found = Vec::new();
    if bytes.first() == Some(&b'[') {
        push_elements(bytes, 0, &names, &mut found);
    }
    found
}

/// As `elements`, in the same pass also the elements of the first of the members, where that is an array;
/// their places too are in `json`.
pub(super) fn elements_with_parts<const N: usize, const P: usize>(
    json: &str,
    names: [&str; N],
    part_names: [&str; P],
) -> Vec<(Element<N>, Vec<Element<P>>)> {
    let bytes = json.as_bytes();
    let (mut found, mut parts) = (Vec::new(), Vec::new());
    if bytes.first() == Some(&b'[') {
        array_end(bytes, 0, |begin| {
            let element = Element::read(bytes, begin, &names, |number, begin| match bytes[begin] {
                b'[' if number == 0 => push_elements(bytes, begin, &part_names, &mut parts),
                _ => value_end(bytes, begin),
            });
            let end = element.range.end;
            found.push((element, std::mem::take(&mut parts)));
            end
        });
    }
    found
}

/// The places of the elements of an array in its text; none for a text that is no array.
pub(super) fn element_ranges(json: &str) -> Vec<Range<usize>> {
    elements(json, []).into_iter().map(|element: Element<0>| element.range).collect()
}

/// The text of a member of an object; `None` for a text that is no object, or has no such member. A name that
/// is written with escapes is not found.
pub(super) fn member<'j>(json: &'j str, name: &str) -> Option<&'j str> {
    let bytes = json.as_bytes();
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let mut at = 1;
    loop {
        let begin = next_value(bytes, at)?;
        let end = value_end(bytes, begin);
        let value = next_value(bytes, end)?;
        let value_end = value_end(bytes, value);
        if json.get(begin + 1..end.saturating_sub(1)) == Some(name) {
            return json.get(value..value_end);
        }
        at = value_end;
    }
}

/// The place of the next byte behind white space, commas and colons; the end of the text if there is none.
fn skip_separators(bytes: &[u8], at: usize) -> usize {
    let is_separator = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',' | b':');
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_separator(byte)).unwrap_or(rest.len())
}

/// The place at which the next value begins; `None` at the end of the array or the object.
fn next_value(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_separators(bytes, at);
    bytes.get(at).filter(|byte| !matches!(byte, b']' | b'}')).map(|_| at)
}

/// The end of the value that begins at a place; at least one byte after that.
fn value_end(bytes: &[u8], begin: usize) -> usize {
    match bytes.get(begin) {
        Some(b'"') => begin + string_length(&bytes[begin..]),
        Some(b'{' | b'[') => nested_end(bytes, begin),
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
            let rest = bytes.get(begin + 1..).unwrap_or_default();
            rest.iter().position(ends).map_or(bytes.len(), |length| begin + 1 + length)
        }
    }
}

/// The end of the array that begins at a place. `element_end` gets the beginning of each element, and returns
/// its end.
fn array_end(bytes: &[u8], begin: usize, mut element_end: impl FnMut(usize) -> usize) -> usize {
    let mut at = begin + 1;
    while let Some(element) = next_value(bytes, at) {
        at = element_end(element);
    }
    (skip_separators(bytes, at) + 1).min(bytes.len())
}

/// The end of the object that begins at a place. `value_end` gets the name of each member and the place where
/// its value begins, and returns the end of the value.
fn object_end(bytes: &[u8], begin: usize, mut value_end: impl FnMut(&[u8], usize) -> usize) -> usize {
    let mut at = begin + 1;
    while let Some(name) = next_value(bytes, at) {
        at = self::value_end(bytes, name);
        if let Some(value) = next_value(bytes, at) {
            at = value_end(bytes.get(name + 1..at - 1).unwrap_or_default(), value);
        }
    }
    (skip_separators(bytes, at) + 1).min(bytes.len())
}

/// The end of the array that begins at a place. Its elements are read with the members of these names.
fn push_elements<const N: usize>(
    bytes: &[u8],
    begin: usize,
    names: &[&str; N],
    to: &mut Vec<Element<N>>,
) -> usize {
    array_end(bytes, begin, |begin| {
        let element = Element::read(bytes, begin, names, |_, value| value_end(bytes, value));
        let end = element.range.end;
        to.push(element);
        end
    })
}

fn nested_end(bytes: &[u8], begin: usize) -> usize {
    let (mut at, mut depth) = (begin, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += string_length(&bytes[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn elements_and_members_are_found_in_their_place() {
        let json = r#"[ {"a":1.0} , "b, ]c\"", [2,{"x":"}"}],null ]"#;
        let found: Vec<&str> = element_ranges(json).into_iter().map(|range| &json[range]).collect();
        assert_eq!(found, [r#"{"a":1.0}"#, r#""b, ]c\"""#, r#"[2,{"x":"}"}]"#, "null"]);
        let object = r#"{ "a" : [ "b" ], "b":{"c":1},"c":-1e5}"#;
        assert_eq!(
            ["a", "b", "c", "d"].map(|name| member(object, name)),
            [Some(r#"[ "b" ]"#), Some(r#"{"c":1}"#), Some("-1e5"), None]
        );
        assert!(element_ranges("{}").is_empty() && member("[]", "a").is_none());
        let list = format!("[{object},[],{object},{{}}]");
        let texts = |number: usize| {
            let found = elements(&list, ["c", "a", "d"]);
            found.iter().map(|element| element.member(&list, number).map(str::to_owned)).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(0), [some("-1e5"), None, some("-1e5"), None]);
        assert_eq!(texts(1), [some("[ \"b\" ]"), None, some("[ \"b\" ]"), None]);
        assert_eq!(texts(2), [None, None, None, None]);
    }

    #[test]
    fn parts_are_found_with_their_elements() {
        let list = r#"[ {"b":"x","a":[ {"t":1}, "[", {"u":[2]} ]}, 3, {"a":{"t":4}}, {"a":[]} ]"#;
        let found = elements_with_parts(list, ["a", "b"], ["t"]);
        let parts = |at: usize| {
            let (_, parts): &(Element<2>, Vec<Element<1>>) = &found[at];
            parts.iter().map(|part| (&list[part.range.clone()], part.member(list, 0))).collect::<Vec<_>>()
        };
        assert_eq!(parts(0), [(r#"{"t":1}"#, Some("1")), ("\"[\"", None), (r#"{"u":[2]}"#, None)]);
        assert!(parts(1).is_empty() && parts(2).is_empty() && parts(3).is_empty());
        let alone: Vec<_> = found.into_iter().map(|(element, _)| element).collect();
        assert_eq!(alone, elements(list, ["a", "b"]));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            Just(Value::Null)
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::hash_map("[a-z]{1,3}", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn what_is_found_is_what_a_parser_reads(list in proptest::collection::vec(values(), 0..8), is_spaced: bool) {
            let text = if is_spaced { serde_json::to_string_pretty(&list).unwrap() } else { serde_json::to_string(&list).unwrap() };
            let found: Vec<Value> = element_ranges(&text).into_iter().map(|range| serde_json::from_str(&text[range]).unwrap()).collect();
            prop_assert_eq!(&found, &list);
            let members = elements(&text, ["a", "b"]);
            for (value, element) in list.iter().zip(&members) {
                for (number, name) in ["a", "b"].into_iter().enumerate() {
                    let member = element.member(&text, number).map(|json| serde_json::from_str::<Value>(json).unwrap());
                    prop_assert_eq!(member.as_ref(), value.as_object().and_then(|object| object.get(name)));
                }
            }
            prop_assert_eq!(members.len(), list.len());
            for value in &list {
                let text = serde_json::to_string(value).unwrap();
                for (name, value) in value.as_object().into_iter().flatten() {
                    prop_assert_eq!(&serde_json::from_str::<Value>(member(&text, name).unwrap()).unwrap(), value);
                }
            }
        }

        #[test]
        fn no_text_brings_it_down(text in "[\\[\\]{}\",:\\\\a é]{0,60}") {
            for range in element_ranges(&text) {
                prop_assert!(range.start < range.end && range.end <= text.len());
            }
            for element in elements(&text, ["a"]) {
                prop_assert!(element.range.start < element.range.end && element.range.end <= text.len());
                let _ = element.member(&text, 0);
            }
            for (element, parts) in elements_with_parts(&text, ["a"], ["a"]) {
                prop_assert!(element.range.start < element.range.end && element.range.end <= text.len());
                prop_assert!(parts.iter().all(|part| part.range.start < part.range.end && part.range.end <= text.len()));
            }
            let _ = member(&text, "a");
        }
    }
}
