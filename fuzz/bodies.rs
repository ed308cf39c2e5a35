//! The properties that every input must have: a body for each target of cargo-fuzz. A panic is a fault.

use rsv::record::{DraftDefaults, Object, kinds};

/// An object that is read is valid JSON, and so it stays after each of its changes.
pub(crate) fn object(bytes: &[u8]) {
    let Ok(mut object) = Object::parse_bytes(bytes) else { return };
    let check = |object: &Object| {
        let json = object.to_json();
        assert!(serde_json::from_str::<&serde_json::value::RawValue>(&json).is_ok(), "{json}");
        assert_eq!(Object::parse(&json).map(|again| again.to_json()).ok(), Some(json));
    };
    check(&object);
    let names: Vec<String> = object.iter().map(|(name, _)| name.to_owned()).collect();
    for (at, name) in names.iter().enumerate() {
        let _ = (object.text(name), object.number(name), object.integer(name), object.objects(name));
        match at % 3 {
            0 => object.set_text(name, "\u{1}\"\\ü"),
            1 => drop(object.take(name)),
            _ => object.set(name, "[1,{\"a\":null}]"),
        }
        check(&object);
    }
}

/// Bytes of the word index, whole or torn, are read to an end.
pub(crate) fn postings(bytes: &[u8]) {
    rsv::store::fuzz_postings(bytes);
}

/// A stream has the same events however it is cut.
pub(crate) fn events(bytes: &[u8]) {
    let whole = rsv::forward::fuzz_events(&[bytes]);
    let cut: Vec<&[u8]> = bytes.chunks(1 + bytes.len() % 7).collect();
    assert_eq!(rsv::forward::fuzz_events(&cut), whole);
}

/// A line of any kind that is a record is written so that reading it gives the same record.
pub(crate) fn records(bytes: &[u8]) {
    let fill = DraftDefaults {
        partition: None,
        instance: None,
        trace_id: "t".to_owned(),
        timestamp: 1_790_000_000_000,
        seq: 0,
    };
    for kind in kinds() {
        let Ok(line) = Object::parse_bytes(bytes) else { return };
        let Ok(record) = (kind.read)(line).and_then(|draft| draft.complete(&fill)) else { continue };
        let mut written = Vec::new();
        record.write(&mut written);
        let read = Object::parse_bytes(&written).and_then(|line| (kind.read)(line)?.complete(&fill));
        let text = String::from_utf8_lossy(&written);
        let read = read.unwrap_or_else(|error| panic!("{error}: {text}"));
        let mut again = Vec::new();
        read.write(&mut again);
        assert_eq!(String::from_utf8_lossy(&again), text);
    }
}
