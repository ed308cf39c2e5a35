//! The schema of an answer.

use crate::record::{Object, quote};

/// The lengths of texts from which llama.cpp refuses a grammar (`MAX_REPETITION_THRESHOLD`).
const UNENFORCED_LENGTH: usize = 2000;

/// A JSON Schema. Every member of an object is required, and no other is allowed, as OpenAI's strict mode
/// wants it ("Structured model outputs", 2026).
#[derive(Clone, PartialEq, Debug)]
pub enum Schema {
    /// A text of at least one character and at most this many, below 2000.
    Text(usize),
    /// One of these texts.
    Choice(Vec<String>),
    /// A list of at most this many.
    List(Box<Schema>, usize),
    /// An object with these members, in this order.
    Object(Vec<(&'static str, Schema)>),
}

impl Schema {
    /// One of some texts.
    pub fn choice(texts: &[&str]) -> Schema {
        Schema::Choice(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    /// A list of at most `max` of these.
    pub fn list(of: Schema, max: usize) -> Schema {
        Schema::List(Box::new(of), max)
    }

    /// The schema as JSON. `has_lengths` says whether texts have their lengths: some providers refuse these.
    pub fn to_json(&self, has_lengths: bool) -> String {
        match self {
            Schema::Text(max) if has_lengths && *max < UNENFORCED_LENGTH => {
                format!(r#"{{"type":"string","minLength":1,"maxLength":{max}}}"#)
            }
            Schema::Text(_) => r#"{"type":"string"}"#.to_owned(),
            Schema::Choice(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
                format!(r#"{{"type":"string","enum":[{}]}}"#, texts.join(","))
            }
            Schema::List(of, max) => {
                format!(r#"{{"type":"array","maxItems":{max},"items":{}}}"#, of.to_json(has_lengths))
            }
            Schema::Object(members) => {
                let mut properties = Object::default();
                for (name, schema) in members {
                    properties.set(name, schema.to_json(has_lengths));
                }
                let required: Vec<String> = members.iter().map(|(name, _)| quote(name)).collect();
                let (properties, required) = (properties.to_json(), required.join(","));
                format!(
                    r#"{{"type":"object","properties":{properties},"required":[{required}],"additionalProperties":false}}"#
                )
            }
        }
    }
}
