use super::*;

/// Reads `input` in pieces of `piece` bytes; returns the results by line.
fn read(input: &str, piece: usize, limit: usize) -> Vec<String> {
    struct Pieces<'a>(&'a [u8], usize);
    impl Read for Pieces<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(to.len());
            to[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }
    let mut reader = Reader::new("in", Pieces(input.as_bytes(), piece), limit);
    let mut found = Vec::new();
    while let Some(next) = reader.next() {
        found.push(match next {
            Ok(value) => format!("{} {}", value.location, value.object.to_json()),
            Err(fault) => fault.to_string(),
        });
    }
    found
}

#[test]
fn lines_arrays_and_pretty_printed_objects_are_the_same() {
    let wanted = [r#"{"a":1}"#, r#"{"b":[{"c":"}\""}]}"#];
    for input in [
        "{\"a\":1}\n{\"b\":[{\"c\":\"}\\\"\"}]}\n",
        "{\"a\":1}{\"b\":[{\"c\":\"}\\\"\"}]}",
        "[{\"a\":1},{\"b\":[{\"c\":\"}\\\"\"}]}]\n",
        "\u{feff}[\n  {\n    \"a\": 1\n  },\n  {\n    \"b\": [ { \"c\": \"}\\\"\" } ]\n  }\n]\n",
    ] {
        for piece in [1, 2, 7, 1000] {
            let found: Vec<String> =
                read(input, piece, 1000).iter().map(|f| f.split_once(' ').unwrap().1.to_owned()).collect();
            assert_eq!(found, wanted, "{input:?} by {piece}");
        }
    }
}

#[test]
fn a_bad_line_is_named_and_the_next_is_read() {
    for (bad, error) in [
        ("not json", "in:2: expected a JSON object, found 'n'"),
        ("{\"a\":\"cut", "in:2: a string is not closed"),
        ("{\"a\":1", "in:2: expected a comma or a closing bracket (on line 3)"),
        ("{\"a\":1]", "in:2: a closing bracket does not match"),
        ("{\"a\" 1}", "in:2: invalid JSON: expected `:` at column 6"),
        ("[1,2]", "in:2: expected a JSON object, found '1'"),
    ] {
        let input = format!("{{\"x\":1}}\n{bad}\n{{\"y\":2}}\n");
        for piece in [1, 1000] {
            let found = read(&input, piece, 1000);
            assert_eq!(found[..2], ["in:1 {\"x\":1}".to_owned(), error.to_owned()]);
            assert_eq!(found[2..], ["in:3 {\"y\":2}"], "after {bad}");
        }
    }
}

#[test]
fn an_array_ends_behind_elements_that_are_no_objects() {
    let found = |element: &str, line| format!("in:{line}: expected a JSON object, found '{element}'");
    let last = |line| format!("in:{line} {{\"y\":2}}");
    for (array, errors) in [
        ("[1]", vec![found("1", 1)]),
        ("[[]]", vec![found("[", 1)]),
        ("[\"a]\", null]", vec![found("\"", 1)]),
        ("[ 1 ] ", vec![found("1", 1)]),
        ("[\n[\n1,\n[2]\n],\n[3]\n]", vec![found("[", 2), found("[", 6)]),
        ("[\n1\n,\n\"b\"\n]", vec![found("1", 2), found("\"", 4)]),
        ("[[1]\n,[2]]", vec![found("[", 1), found("[", 2)]),
    ] {
        let input = format!("{array}\n[{{\"y\":2}}]\n");
        for piece in [1, 2, 1000] {
            let mut wanted = errors.clone();
            wanted.push(last(1 + array.matches('\n').count() + 1));
            assert_eq!(read(&input, piece, 1000), wanted, "{array} by {piece}");
        }
    }
    let missing = "in:2: the input ends inside an array".to_owned();
    assert_eq!(read("[1,\n", 10, 100), [found("1", 1), missing]);
}

#[test]
fn a_line_that_is_too_long_is_dropped_without_being_buffered() {
    let input = format!("{{\"a\":\"{}\"}}\n{{\"b\":1}}\n", "x".repeat(1 << 20));
    assert_eq!(
        read(&input, 4096, 1 << 17),
        ["in:1: is longer than the limit of 131072 bytes", "in:2 {\"b\":1}"]
    );
}

#[test]
fn an_unexpected_end_of_input_is_an_error() {
    assert_eq!(read("{\"a\":", 10, 100), ["in:1: the input ends inside an object"]);
    assert_eq!(read("[{\"a\":1}", 10, 100), ["in:1 {\"a\":1}", "in:1: the input ends inside an array"]);
}
