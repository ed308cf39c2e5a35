//! Members that other programs send in any shape.

use crate::record::{Object, not_objects};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::ops::Deref;

/// A member of the type `T`: a value of any other type counts as absent.
#[derive(Clone, Debug, Serialize)]
pub struct Lenient<T>(pub Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Lenient<T> {
        Lenient(None)
    }
}

impl<T> Deref for Lenient<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Lenient<T>, D::Error> {
        let json = <&RawValue>::deserialize(from)?.get();
        // A derived type would take an array for its members in order.
        let json = if json.starts_with('[') { "" } else { json };
        Ok(Lenient(serde_json::from_str(json).ok()))
    }
}

/// A member that passes unchanged, if only `null`.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Raw<'a>(pub Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Raw<'a>, D::Error> {
        <&RawValue>::deserialize(from).map(|json| Raw(Some(json)))
    }
}

impl<'a> Raw<'a> {
    /// Its JSON text, or another if it is absent.
    pub fn json_or(self, absent: &'static str) -> &'a str {
        self.0.map_or(absent, RawValue::get)
    }
}

/// A member that should be an object of the type `T`; `None` if it is not.
pub(super) fn member<'a, T: Deserialize<'a>>(of: &'a Object, name: &str) -> Option<T> {
    serde_json::from_str::<Lenient<T>>(of.get(name)?).ok()?.0
}

/// The objects of a member, each of the type `T`; none if it is absent. Errors if it is no array of objects.
pub(super) fn members<'a, T: Deserialize<'a>>(of: &'a Object, name: &str) -> crate::error::Result<Vec<T>> {
    let json = of.get(name).filter(|json| *json != "null").unwrap_or("[]");
    objects(json).ok_or_else(|| not_objects(name, json))
}

/// The objects of an array, each of the type `T`; `None` for other JSON.
pub(super) fn objects<'a, T: Deserialize<'a>>(json: &'a str) -> Option<Vec<T>> {
    serde_json::from_str::<Vec<Lenient<T>>>(json).ok()?.into_iter().map(|one| one.0).collect()
}

impl Lenient<String> {
    /// The text, empty if there is none.
    pub(super) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// The greatest number of tokens that anybody counts, which is exact in a JSON number.
const MAX_TOKENS: f64 = (1_u64 << 53) as f64;

/// A number of tokens: a value that is none counts as absent. Some servers write 5.0.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub(super) struct Tokens(pub(super) Option<usize>);

impl Tokens {
    pub(super) fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Tokens, D::Error> {
        let Lenient(number) = Lenient::<f64>::deserialize(from)?;
        let number = number.filter(|number| (0.0..=MAX_TOKENS).contains(number) && number.fract() == 0.0);
        Ok(Tokens(number.map(|number| number as usize)))
    }
}

/// JSON text that passes unchanged; `json` must be valid.
pub(super) fn raw(json: &str) -> &RawValue {
    serde_json::from_str(json).unwrap_or(RawValue::NULL)
}
