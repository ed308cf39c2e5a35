//! The codes that a search went through, kept for the next one: a process that is asked again and again reads only
//! those that came since.

use super::super::Access;
use super::chunk::{self, Block, Count, Head};
use rusqlite::Connection;

/// From the third search in the same scopes on codes are kept: who asks once or twice does not pay for it.
const FROM: usize = 3;
/// Codes of more bytes are not kept.
const MOST: usize = 64 << 20;
/// So many codes are looked at together: their products stay in the nearest cache.
const TOGETHER: usize = 256;

/// Whose codes they are.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Whose {
    pub(super) model: i64,
    /// Of these, or of all.
    pub(super) scopes: Option<Vec<i64>>,
}

/// The codes of the chunks, as they were in one generation of these. What is loose is always read.
#[derive(Default)]
pub(super) struct Held {
    /// From which search on they are kept.
    from: usize,
    whose: Option<Whose>,
    searches: usize,
    generation: i64,
    /// The number of the last chunk.
    last: i64,
    heads: Vec<Head>,
    codes: Vec<u8>,
    count: Count,
}

impl Held {
    /// None yet. A process that serves many has several connections, each of which would keep its own: there none are.
    pub(super) fn of(access: Access) -> Held {
        Held { from: if access == Access::Serve { usize::MAX } else { FROM }, ..Held::default() }
    }

    /// Visits all codes, as `chunk::visit`, and tells whether they were as they must be.
    pub(super) fn visit(
        &mut self,
        connection: &Connection,
        whose: &Whose,
        mut visit: impl FnMut(&Block),
    ) -> rusqlite::Result<bool> {
        if self.whose.as_ref() != Some(whose) {
            *self = Held { from: self.from, whose: Some(whose.clone()), ..Held::default() };
        }
        self.searches += 1;
        let (model, scopes) = (whose.model, whose.scopes.as_deref());
        let space = chunk::space(connection, model, scopes)?;
        if self.searches < self.from || space.bytes() > MOST {
            return chunk::visit(connection, model, scopes, &mut visit);
        }
        let generation = chunk::generation(connection)?;
        if self.generation != generation {
            self.forget();
            self.generation = generation;
        }
        let codes = self.codes.chunks((TOGETHER * space.width).max(1));
        self.heads.chunks(TOGETHER).zip(codes).for_each(|(heads, codes)| visit(&Block { heads, codes }));
        let mut found = self.count.clone();
        let after = Some(self.last).filter(|last| *last > 0);
        let whole =
            chunk::visit_after(connection, (model, scopes), space.width, after, &mut |chunk, block| {
                visit(block);
                block.heads.iter().for_each(|head| found.add(head.n));
                if let Some(chunk) = chunk {
                    self.keep(chunk, block);
                }
            })?;
        let sound = whole && found == space.count;
        if !sound {
            self.forget();
        }
        Ok(sound)
    }

    fn keep(&mut self, chunk: i64, block: &Block) {
        self.heads.extend_from_slice(block.heads);
        self.codes.extend_from_slice(block.codes);
        block.heads.iter().for_each(|head| self.count.add(head.n));
        self.last = self.last.max(chunk);
    }

    fn forget(&mut self) {
        let (from, searches) = (self.from, self.searches);
        *self = Held { from, whose: self.whose.take(), searches, ..Held::default() };
    }
}
