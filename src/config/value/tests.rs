use super::*;

#[test]
fn durations_are_read_and_written() {
    for (text, written) in [
        ("30s", Some("30s")),
        ("30", Some("30s")),
        ("0.5", Some("500ms")),
        ("500ms", Some("500ms")),
        ("2m", Some("120s")),
        ("1500 ms", Some("1500ms")),
        ("0", None),
        ("-1s", None),
        ("1h", Some("3600s")),
        ("30d", Some("30d")),
        ("366d", None),
        ("1w", None),
        ("inf", None),
        ("1e300", None),
        ("s", None),
    ] {
        let value = ValueType::Duration.read(text).ok().map(|v| v.to_string());
        assert_eq!(value.as_deref(), written, "{text}");
    }
}

#[test]
fn ages_are_read_and_written() {
    for (text, written) in [
        ("90d", Some("90d")),
        ("2y", Some("730d")),
        ("100y", Some("36500d")),
        ("101y", None),
        ("off", Some("off")),
        ("0", Some("off")),
        ("0d", None),
        ("12h", None),
        ("30", None),
        ("99999999999999999999d", None),
        ("é", None),
        ("", None),
    ] {
        let value = ValueType::Age.read(text).ok().map(|v| v.to_string());
        assert_eq!(value.as_deref(), written, "{text}");
    }
}

#[test]
fn shares_are_read_and_written() {
    for (text, written) in [
        ("5%", Some("5%")),
        ("7.3 %", Some("7.3%")),
        ("0%", Some("0%")),
        ("50%", Some("50%")),
        ("50.1%", None),
        ("-1%", None),
        ("NaN%", None),
        ("5", None),
        ("0.05", None),
        ("%", None),
    ] {
        let value = ValueType::Percent(50.0).read(text).map(|value| value.to_string());
        assert_eq!(value.as_deref().ok(), written, "{text}");
    }
    let error = ValueType::Percent(50.0).read("0.05").unwrap_err().to_string();
    assert_eq!(error, "expected a share from 0% to 50%, such as 5%, found \"0.05\"");
}

#[test]
fn invalid_values_are_shown_except_secrets() {
    let fault = |kind: ValueType, text| kind.read(text).unwrap_err().to_string();
    let port = ValueType::Integer(1, 65535);
    assert_eq!(fault(port, "0"), "expected a whole number from 1 to 65535, found \"0\"");
    assert_eq!(
        fault(ValueType::Real(0.0, 1.0), "NaN"),
        "expected a number above 0 and at most 1, found \"NaN\""
    );
    assert_eq!(fault(ValueType::Secret, "sk-a\nb"), "expected one line of text");
    assert_eq!(fault(ValueType::Variable, "sk-abc"), "expected the name of an environment variable");
    assert_eq!(
        fault(ValueType::Url(&["http://", "https://"]), "ftp://x"),
        "expected an address that begins with http:// or https://, found \"ftp://x\""
    );
    assert_eq!(format!("{:?} {0}", Secret::new("sk-abc")), "**** ****");
}

#[test]
fn the_file_has_its_own_types() {
    let read = |kind: ValueType, toml: &str| {
        let document: toml_edit::DocumentMut = format!("k = {toml}").parse().unwrap();
        kind.read_item(&document["k"]).map_err(|e| e.to_string())
    };
    assert_eq!(read(ValueType::Integer(1, 9), "7"), Ok(Value::Integer(7)));
    assert_eq!(read(ValueType::Real(0.0, 2.0), "2"), Ok(Value::Real(2.0)));
    assert_eq!(read(ValueType::Boolean, "true"), Ok(Value::Boolean(true)));
    assert_eq!(read(ValueType::Duration, "1.5"), Ok(Value::Duration(Duration::from_millis(1500))));
    assert_eq!(read(ValueType::Boolean, "\"yes\""), Err("expected true or false, found \"yes\"".into()));
    assert_eq!(read(ValueType::Text, "[1]"), Err("expected one line of text, found [1]".into()));
    assert_eq!(read(ValueType::Text, "{}"), Err("expected one line of text, found {}".into()));
}
