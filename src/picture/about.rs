//! The messages that a picture of one topic shows.

use crate::backfill;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::Workload;
use crate::error::Result;
use crate::record::{Hit, RESPONDED_WITH};
use crate::search::{self, By, CatchUp, Options};
use crate::store::{Select, Store};
use std::collections::BTreeSet;

/// The number of messages that are looked for.
const MAX_HITS: usize = 100;

/// A hit without a word of the topic needs at least this share of the greatest cosine.
const MIN_SHARE: f64 = 0.5;

/// The ids of the messages of a selection that are about a topic, by words and, where there is a model, by
/// meaning, and of their questions and answers. Fails if the topic is blank, or the store or the embedder
/// fails.
pub(super) fn about(
    store: &mut dyn Store,
    settings: &Settings,
    which: &Select,
    topic: &str,
    diagnostics: &Diagnostics,
) -> Result<Vec<String>> {
    // Without a model the topic is searched by its words.
    let mut embedder = backfill::embedder(store, settings, Workload::Few, diagnostics).ok();
    let catch_up = CatchUp { limit: backfill::catch_up_limit(settings), diagnostics };
    let by = embedder.as_mut().map_or(By::Any, |embedder| By::Both(embedder, Some(catch_up)));
    let hits = search::run(store, by, topic, which, &Options::new(MAX_HITS))?;
    let mut ids: BTreeSet<String> = related(hits).into_iter().map(|hit| hit.record.id).collect();
    let of_hits: Vec<&str> = ids.iter().map(String::as_str).collect();
    let answers = store.links(&of_hits, Some(RESPONDED_WITH))?;
    ids.extend(answers.into_iter().flat_map(|link| [link.from, link.to]));
    Ok(ids.into_iter().collect())
}

/// The hits that are about the topic themselves: a search finds the neighbours of a hit too.
fn related(hits: Vec<Hit>) -> Vec<Hit> {
    let similarity = |hit: &Hit| hit.why.similarity.unwrap_or_default();
    let least = hits.iter().map(similarity).fold(0.0, f64::max) * MIN_SHARE;
    let is_related = |hit: &Hit| hit.why.keyword.is_some() || least > 0.0 && similarity(hit) >= least;
    hits.into_iter().filter(is_related).collect()
}
