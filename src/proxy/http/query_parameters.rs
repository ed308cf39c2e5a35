//! The parameters of a URL's query.

use super::error::HttpFault;
use crate::error::Result;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// The first value of a parameter, if the query has it. Errors if it is not UTF-8.
pub(in crate::proxy) fn parameter(query: &str, name: &str) -> Result<Option<String>> {
    parameters(query, name).next().transpose()
}

/// The values of a parameter, which may be repeated. Errors if one is not UTF-8.
pub(in crate::proxy) fn parameters<'a>(
    query: &'a str,
    name: &'a str,
) -> impl Iterator<Item = Result<String>> + 'a {
    pairs(query)
        .filter(move |pair| pair.0 == name)
        .map(|(name, value)| decoded(name, &value.replace('+', " ")))
}

/// All parameters of a query, or of a form that was posted, by their names. Errors if one is not UTF-8.
pub(in crate::proxy) fn all_parameters(query: &str) -> Result<Vec<(&str, String)>> {
    pairs(query).map(|(name, value)| Ok((name, decoded(name, &value.replace('+', " "))?))).collect()
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// A text without its percent signs. Errors if it is not UTF-8, by the name of what it is.
pub(super) fn decoded(name: &str, text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| HttpFault::NotUtf8 { name: name.to_owned() }.into())
}
