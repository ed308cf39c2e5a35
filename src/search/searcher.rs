//! A search by meaning, with words to fall back on: the one call of the command line and of rsv-mcp.

use super::meaning::{Fallback, Meaning};
use super::memories::{MemoryRule, run_with_memories};
use super::options::{By, LinkNewest, Options};
use super::tree::{self, TreeAnswer, TreeQuery};
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::Result;
use crate::record::{Hit, MEMORY};
use crate::store::{Select, Store};

/// What a question goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ranking {
    /// By words, all of which a hit has.
    Keyword,
    /// By any of the content words.
    Any,
    Semantic,
    Hybrid,
    /// `Hybrid` if an embedding model is installed, else `Keyword`.
    Auto,
    /// `Hybrid` if an embedding model is installed, else `Any`.
    AutoAny,
}

impl Ranking {
    /// The names in `--by`.
    pub const NAMES: [&str; 5] = ["keyword", "any", "semantic", "hybrid", "auto"];

    /// The ranking of a name in `--by`.
    pub fn named(name: &str) -> Option<Ranking> {
        let all = [Ranking::Keyword, Ranking::Any, Ranking::Semantic, Ranking::Hybrid, Ranking::Auto];
        Ranking::NAMES.into_iter().zip(all).find_map(|(known, ranking)| (known == name).then_some(ranking))
    }

    /// The parts for a search by meaning; `None` for a search by words. With `has_fallback`, words will do whatever is
    /// wrong with the model.
    pub fn meaning(self, has_fallback: bool) -> Option<Meaning> {
        let fallback = match self {
            Ranking::Keyword | Ranking::Any => return None,
            Ranking::Auto | Ranking::AutoAny => Fallback::WithoutModel,
            _ if has_fallback => Fallback::Always,
            _ => Fallback::Never,
        };
        Some(Meaning::new(self != Ranking::Semantic, fallback))
    }

    fn without_meaning(self) -> By<'static> {
        match self {
            Ranking::Any | Ranking::AutoAny => By::Any,
            _ => By::Words,
        }
    }
}

/// What searches of one process have in common.
pub struct Searcher<'a> {
    pub ranking: Ranking,
    pub settings: &'a Settings,
    pub diagnostics: &'a Diagnostics,
    pub memories: MemoryRule,
}

impl Searcher<'_> {
    /// The hits of a question, by meaning or by words. If words must do, `meaning` is `None` from then on.
    pub fn hits(
        &self,
        meaning: &mut Option<Meaning>,
        store: &mut dyn Store,
        question: &str,
        which: &Select,
        options: &Options,
    ) -> Result<Vec<Hit>> {
        if !which.kinds.contains(&&MEMORY) {
            return self.find(meaning, store, question, which, options);
        }
        run_with_memories(store, &which.scopes, options, self.memories, |store, options| {
            self.find(meaning, store, question, which, options)
        })
    }

    fn find(
        &self,
        meaning: &mut Option<Meaning>,
        store: &mut dyn Store,
        question: &str,
        which: &Select,
        options: &Options,
    ) -> Result<Vec<Hit>> {
        let Searcher { settings, diagnostics, .. } = self;
        let link_newest = Some(LinkNewest { settings, diagnostics });
        let options = &Options { link_newest, ..options.clone() };
        if let Some(ready) = meaning {
            let by = ready.ready(which, store, settings, diagnostics);
            match by.and_then(|by| super::run(store, by, question, which, options)) {
                Err(why) => ready.fall_back(why, store, settings, diagnostics)?,
                found => return found,
            }
            *meaning = None;
        }
        super::run(store, self.ranking.without_meaning(), question, which, options)
    }

    /// The answer to a query in the tree, by meaning or by words.
    pub fn in_tree(
        &self,
        meaning: &mut Option<Meaning>,
        store: &mut dyn Store,
        query: &TreeQuery,
        options: &Options,
    ) -> Result<TreeAnswer> {
        let Searcher { settings, diagnostics, .. } = self;
        let Some(ready) = meaning else {
            return tree::run(store, &mut self.ranking.without_meaning(), query, options);
        };
        let by = ready.ready(query.filter, store, settings, diagnostics);
        match by.and_then(|mut by| tree::run(store, &mut by, query, options)) {
            Err(why) => ready.fall_back(why, store, settings, diagnostics)?,
            found => return found,
        }
        tree::run(store, &mut By::Any, query, options)
    }
}
