//! The arguments of tools and prompts: their types, as JSON Schema, and their values, read from a call.

use super::error::McpError;
use crate::error::Result;
use crate::record;
use serde_json::{Map, Value, json};

/// The type of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Text,
    /// One of some words.
    Choice(&'static [&'static str]),
    Texts,
    /// A list of words.
    Choices(&'static [&'static str]),
    Flag,
    /// A whole number from one to another.
    Whole(usize, usize),
    /// A number from 0 to 1.
    Share,
    Object,
}

/// A parameter of a tool, a prompt or a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) value_type: Type,
    pub(super) is_required: bool,
    /// JSON; empty if there is no default.
    pub(super) default: &'static str,
    pub(super) about: &'static str,
    /// Names that other programs have for it, which are taken too.
    pub(super) aliases: &'static [&'static str],
}

impl Parameter {
    pub(super) const fn required(name: &'static str, value_type: Type, about: &'static str) -> Parameter {
        Parameter { name, value_type, is_required: true, default: "", about, aliases: &[] }
    }

    pub(super) const fn optional(name: &'static str, value_type: Type, about: &'static str) -> Parameter {
        Parameter { name, value_type, is_required: false, default: "", about, aliases: &[] }
    }

    pub(super) const fn with_default(self, default: &'static str) -> Parameter {
        Parameter { default, ..self }
    }

    pub(super) const fn with_aliases(self, aliases: &'static [&'static str]) -> Parameter {
        Parameter { aliases, ..self }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.value_type {
            Type::Text => json!({"type": "string"}),
            Type::Choice(words) => json!({"type": "string", "enum": words}),
            Type::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Type::Choices(words) => json!({"type": "array", "items": {"type": "string", "enum": words}}),
            Type::Flag => json!({"type": "boolean"}),
            Type::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Type::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
            Type::Object => json!({"type": "object"}),
        };
        schema["description"] = self.about.into();
        if let Ok(default) = serde_json::from_str::<Value>(self.default) {
            schema["default"] = default;
        }
        schema
    }

    /// Errors unless its value among some is of its type, or it may be left out.
    pub(super) fn check_in(&self, values: &Map<String, Value>) -> Result<()> {
        match values.get(self.name) {
            Some(value) => self.check(value),
            None if self.is_required => Err(record::missing(self.name)),
            None => Ok(()),
        }
    }

    /// Errors with the expected type unless a value is of it.
    fn check(&self, value: &Value) -> Result<()> {
        let is_choice =
            |words: &[&str], value: &Value| value.as_str().is_some_and(|word| words.contains(&word));
        let items = |value: &Value, is: &dyn Fn(&Value) -> bool| {
            value.as_array().is_some_and(|all| all.iter().all(is))
        };
        let (is_right, expected) = match self.value_type {
            Type::Text => (value.is_string(), "a string".to_owned()),
            Type::Choice(words) => (is_choice(words, value), words.join(", ")),
            Type::Texts => (items(value, &Value::is_string), "a list of strings".to_owned()),
            Type::Choices(words) => {
                (items(value, &|word| is_choice(words, word)), format!("a list of {}", words.join(", ")))
            }
            Type::Flag => (value.is_boolean(), "true or false".to_owned()),
            Type::Whole(least, most) => (
                value.as_u64().is_some_and(|number| (least as u64..=most as u64).contains(&number)),
                format!("a whole number from {least} to {most}"),
            ),
            Type::Share => (
                value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number)),
                "a number from 0 to 1".to_owned(),
            ),
            Type::Object => (value.is_object(), "an object".to_owned()),
        };
        if is_right {
            return Ok(());
        }
        Err(record::unexpected(self.name, &expected, &value.to_string()))
    }
}

/// The schema of an object with some parameters.
pub(super) fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required: Vec<&str> =
        parameters.iter().filter(|parameter| parameter.is_required).map(|parameter| parameter.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// Gives an argument that has an alias the name of its parameter. Errors if it is given by two names.
fn rename_aliases(values: &mut Map<String, Value>, parameter: &Parameter) -> Result<()> {
    for alias in parameter.aliases {
        let Some(value) = values.remove(*alias) else { continue };
        if values.insert(parameter.name.to_owned(), value).is_some() {
            return Err(McpError::GivenTwice { alias, name: parameter.name }.into());
        }
    }
    Ok(())
}

/// The arguments of a call, checked against the parameters of its tool.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    values: Map<String, Value>,
    parameters: Vec<Parameter>,
}

impl Arguments {
    /// Checks arguments. Errors name the first that is wrong.
    pub(super) fn check(values: Option<Map<String, Value>>, parameters: Vec<Parameter>) -> Result<Arguments> {
        let mut values = values.unwrap_or_default();
        // Clients send null for what they leave out.
        values.retain(|_, value| !value.is_null());
        for parameter in &parameters {
            rename_aliases(&mut values, parameter)?;
        }
        let known = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
        if let Some(unknown) = values.keys().find(|name| !known(name)) {
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            let name = record::excerpt(&Value::from(unknown.as_str()).to_string(), 40);
            return Err(McpError::NoArgument { name, arguments: names.join(", ") }.into());
        }
        for parameter in &parameters {
            parameter.check_in(&values)?;
        }
        Ok(Arguments { values, parameters })
    }

    /// A text; `None` if it is left out.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// A text that must be there and have words.
    pub(super) fn words(&self, name: &str) -> Result<&str> {
        let text = self.text(name).unwrap_or_default();
        if text.trim().is_empty() { Err(record::empty(name)) } else { Ok(text) }
    }

    /// A text that must have words; `None` if it is left out.
    pub(super) fn words_if_given(&self, name: &str) -> Result<Option<&str>> {
        self.text(name).map(|_| self.words(name)).transpose()
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let texts = self.values.get(name).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A whole number; the default if it is left out.
    pub(super) fn whole(&self, name: &str) -> usize {
        let number = self.values.get(name).and_then(Value::as_u64);
        let number = number.or_else(|| self.default(name)?.as_u64());
        number.and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
    }

    /// A whole number; `None` if it is left out.
    pub(super) fn whole_if_given(&self, name: &str) -> Option<usize> {
        self.values.contains_key(name).then(|| self.whole(name))
    }

    /// A number; the default if it is left out.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.values.get(name).cloned().or_else(|| self.default(name))?.as_f64()
    }

    fn default(&self, name: &str) -> Option<Value> {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name)?;
        serde_json::from_str(parameter.default).ok()
    }
}
