//! Keeps the codes that a search has read for the next one, so that a process that searches often reads only
//! newer ones.

use super::checksum::Checksum;
use super::code_page::{self, CodeBlock, CodeMeta, Pages};
use super::code_scope::CodeScope;
use crate::store::api::OpenMode;
use rusqlite::Connection;

/// The search in the same collections that starts to keep codes, so that one or two searches do not pay for
/// it.
const FIRST_KEPT_SEARCH: usize = 3;
/// The greatest size of the cache, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// The number of codes in a block: their products fit into the processor's first-level cache.
const BLOCK_CODES: usize = 256;

/// The model and the collections of the codes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CacheKey {
    pub(crate) model: i64,
    pub(crate) scope: CodeScope,
}

/// The codes of one generation of pages. Pending codes are always read.
#[derive(Default)]
pub(crate) struct CodeCache {
    /// The search from which on codes are kept.
    first_kept_search: usize,
    key: Option<CacheKey>,
    searches: usize,
    generation: i64,
    /// The number of the last page.
    last: i64,
    metas: Vec<CodeMeta>,
    codes: Vec<u8>,
    checksum: Checksum,
}

impl CodeCache {
    /// An empty cache. With `Pooled` it stays empty: each of the many connections of a process would keep its
    /// own codes.
    pub(crate) fn new(mode: OpenMode) -> CodeCache {
        let first_kept_search = if mode == OpenMode::Pooled { usize::MAX } else { FIRST_KEPT_SEARCH };
        CodeCache { first_kept_search, ..CodeCache::default() }
    }

    /// Visits all codes, as `code_page::visit`, and returns whether they were valid.
    pub(crate) fn visit(
        &mut self,
        connection: &Connection,
        key: &CacheKey,
        mut visit: impl FnMut(&CodeBlock),
    ) -> rusqlite::Result<bool> {
        if self.key.as_ref() != Some(key) {
            let first_kept_search = self.first_kept_search;
            *self = CodeCache { first_kept_search, key: Some(key.clone()), ..CodeCache::default() };
        }
        self.searches += 1;
        let CacheKey { model, scope } = key;
        let expected = code_page::expected(connection, *model, scope)?;
        if self.searches < self.first_kept_search || expected.bytes() > MAX_BYTES {
            return code_page::visit(connection, *model, scope, &mut visit);
        }
        let generation = code_page::generation(connection)?;
        if self.generation != generation {
            self.clear();
            self.generation = generation;
        }
        let codes = self.codes.chunks((BLOCK_CODES * expected.width).max(1));
        for (metas, codes) in self.metas.chunks(BLOCK_CODES).zip(codes) {
            visit(&CodeBlock { metas, codes });
        }
        let mut found = self.checksum.clone();
        let after = Some(self.last).filter(|last| *last > 0);
        let pages = Pages { model: *model, scope, width: expected.width, after };
        let whole = pages.visit(connection, &mut |page, block| {
            visit(block);
            for meta in block.metas {
                found.add(meta.n);
            }
            if let Some(page) = page {
                self.keep(page, block);
            }
        })?;
        let sound = whole && found == expected.checksum;
        if !sound {
            self.clear();
        }
        Ok(sound)
    }

    fn keep(&mut self, page: i64, block: &CodeBlock) {
        self.metas.extend_from_slice(block.metas);
        self.codes.extend_from_slice(block.codes);
        for meta in block.metas {
            self.checksum.add(meta.n);
        }
        self.last = self.last.max(page);
    }

    fn clear(&mut self) {
        let (first_kept_search, searches) = (self.first_kept_search, self.searches);
        *self = CodeCache { first_kept_search, key: self.key.take(), searches, ..CodeCache::default() };
    }
}
