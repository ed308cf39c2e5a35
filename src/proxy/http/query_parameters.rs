//! The parameters of a URL's query.

use crate::error::{Error, Result};
use percent_encoding::percent_decode_str;

/// The first value of a parameter, if the query has it. Errors if it is not UTF-8.
pub(in crate::proxy) fn parameter(query: &str, name: &str) -> Result<Option<String>> {
    parameters(query, name).next().transpose()
}

/// The values of a parameter, which may be repeated. Errors if one is not UTF-8.
pub(in crate::proxy) fn parameters<'a>(
    query: &'a str,
    name: &'a str,
) -> impl Iterator<Item = Result<String>> + 'a {
    pairs(query).filter(move |pair| pair.0 == name).map(|(name, value)| decoded(name, value))
}

/// All parameters of a query, or of a form that was posted, by their names. Errors if one is not UTF-8.
pub(in crate::proxy) fn all_parameters(query: &str) -> Result<Vec<(&str, String)>> {
    pairs(query).map(|(name, value)| Ok((name, decoded(name, value)?))).collect()
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn decoded(name: &str, value: &str) -> Result<String> {
    let value = value.replace('+', " ");
    let decoded = percent_decode_str(&value).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| Error::new(format!("{name}: is not UTF-8")))
}
