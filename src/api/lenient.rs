//! Members that other programs send in any shape.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::ops::Deref;

/// A member of the type `T`: a value of any other type counts as absent.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lenient<T>(pub(super) Option<T>);

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
        let json = <&RawValue>::deserialize(from)?;
        Ok(Lenient(serde_json::from_str(json.get()).ok()))
    }
}

impl Lenient<String> {
    /// The text, empty if there is none.
    pub(super) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

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
        let number = number.filter(|number| *number >= 0.0 && number.fract() == 0.0);
        Ok(Tokens(number.map(|number| number as usize)))
    }
}

/// JSON text that passes unchanged; `json` must be valid.
pub(super) fn raw(json: &str) -> &RawValue {
    serde_json::from_str(json).unwrap_or(RawValue::NULL)
}
