//! Which model suits the language of what is stored.

use super::embeddable;
use crate::config::{self, Settings};
use crate::embed::{self, SuitableModel};
use crate::error::Result;
use crate::record::Scopes;
use crate::store::{self, OpenMode};

/// The number of records whose language is looked at.
const SAMPLE: usize = 200;

/// The model that suits the last records of some scopes, or else the locale. A store that cannot be opened has none.
pub fn suitable_model(settings: &Settings, scopes: Scopes) -> SuitableModel {
    let texts = last_texts(settings, scopes).unwrap_or_default();
    embed::suitable_model(texts.iter().map(String::as_str), config::locale().as_deref())
}

fn last_texts(settings: &Settings, scopes: Scopes) -> Result<Vec<String>> {
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let last = store.last(&[embeddable(scopes)], SAMPLE)?;
    Ok(last.iter().flatten().filter_map(|record| Some(record.embedded_text()?.into_owned())).collect())
}
