//! Which model suits the language of what is stored.

use super::embeddable;
use crate::cli::Diagnostics;
use crate::config::{self, Settings};
use crate::embed::{self, SuitableModel};
use crate::error::Result;
use crate::record::Scopes;
use crate::store::{self, OpenMode};

/// The number of records whose language is looked at.
const SAMPLE: usize = 200;

/// The model to fetch where none is named: that which suits the last records of some scopes, or else the
/// locale. A note says why. A store that cannot be opened has no records.
pub fn suitable_model(settings: &Settings, scopes: Scopes, diagnostics: &Diagnostics) -> &'static str {
    let texts = last_texts(settings, scopes).unwrap_or_default();
    let texts = texts.iter().map(String::as_str);
    let SuitableModel { id, reason } = embed::suitable_model(texts, config::locale().as_deref());
    diagnostics.note(format_args!("fetching {id}: {reason}"));
    id
}

fn last_texts(settings: &Settings, scopes: Scopes) -> Result<Vec<String>> {
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let last = store.last(&[embeddable(scopes)], SAMPLE)?;
    Ok(last.iter().flatten().filter_map(|record| Some(record.embedded_text()?.into_owned())).collect())
}
