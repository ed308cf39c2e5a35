//! Documents by their addresses.

use super::Viewer;
use crate::cli::Outcome;
use crate::error::Result;
use crate::record::{Address, StoredRecord};
use crate::tree;
use crate::view;

/// Which documents at and below an address are printed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// All below it, and itself.
    pub whole: bool,
    /// The number of levels below it; `None` for all, or, unless `whole`, for its children.
    pub depth: Option<usize>,
    /// The level of detail of the texts, 0 to 2.
    pub level: Option<u8>,
    /// Those whose abstracts are out of date, children before parents.
    pub stale: bool,
}

impl Viewer<'_> {
    /// Prints documents at and below an address of the partition of the flags. No if there are none, unless the
    /// stale ones were asked for.
    pub fn tree(&mut self, address: &Address, options: TreeOptions) -> Result<Outcome> {
        let partition = self.io.common.scope()?.partition;
        let own = tree::node(&mut *self.store, &partition, address)?;
        let documents = self.documents(&partition, address, own.as_ref(), options)?;
        if documents.is_empty() && own.is_none() && !options.stale {
            if self.io.stdout_is_tty() {
                let none =
                    format_args!("the partition {partition} has no document at {address}, or below it");
                self.io.note(none);
            }
            return Ok(Outcome::No);
        }
        let level = options.level.unwrap_or(2);
        let Some(layout) = &self.layout else {
            for document in documents {
                self.io.out.stored(&tree::at_level(document, level))?;
            }
            return Ok(Outcome::Yes);
        };
        if options.level.is_some() || own.as_ref().is_some_and(|own| !own.is_directory()) {
            return self.texts(&documents, level);
        }
        // The first document is not indented.
        let above = if options.whole && own.is_some() { address.parent() } else { None };
        let above = above.unwrap_or_else(|| address.clone());
        let text = view::tree(&documents, &above, self.io.clock.now(), layout);
        self.io.out.write(text.as_bytes()).map(|()| Outcome::Yes)
    }

    /// The documents at and below an address; `own` is the one at it.
    fn documents(
        &mut self,
        partition: &str,
        address: &Address,
        own: Option<&StoredRecord>,
        options: TreeOptions,
    ) -> Result<Vec<StoredRecord>> {
        let (store, depth) = (&mut *self.store, options.depth);
        let is_leaf = own.is_some_and(|own| !own.is_directory());
        let is_text = options.level.is_some() && depth.is_none() && self.layout.is_some();
        if options.stale {
            tree::stale(store, partition, address)
        } else if options.whole {
            let below = tree::below(store, partition, address, depth)?;
            Ok(own.cloned().into_iter().chain(below).collect())
        } else if is_leaf || is_text && own.is_some() {
            Ok(own.cloned().into_iter().collect())
        } else if depth.is_some() {
            tree::below(store, partition, address, depth)
        } else {
            tree::children(store, partition, address)
        }
    }

    /// Prints the texts of documents; of several, each below its address.
    fn texts(&mut self, documents: &[StoredRecord], level: u8) -> Result<Outcome> {
        for document in documents {
            let text = view::document(document, level);
            let text = match documents {
                [_] => text,
                _ => format!("{}\n\n{text}\n", view::visible(&document.member_text("uri"))),
            };
            self.io.out.write(text.as_bytes())?;
        }
        Ok(Outcome::Yes)
    }
}
