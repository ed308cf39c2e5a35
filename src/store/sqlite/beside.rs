//! Two connections to one file: what is asked by words and by meaning is looked up at once.

use super::super::Access;
use super::Sqlite;
use crate::error::Result;
use std::mem::replace;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

/// The connection beside the first, which is opened when it is needed.
pub(super) enum Beside {
    Closed(PathBuf, Access),
    Open(Box<Sqlite>),
    /// There can be none.
    Never,
}

impl Beside {
    /// To the file at a path, if there is one. A process that serves many at once has work for its processors: there
    /// a second thread for each only takes turns with the others (measured: no faster, and a fifth more memory).
    pub(super) fn of(path: &Path, access: Access) -> Beside {
        match access {
            Access::Read | Access::Write if path.exists() => Beside::Closed(path.to_owned(), access),
            _ => Beside::Never,
        }
    }

    fn open(&mut self) -> Option<&mut Sqlite> {
        if let Beside::Closed(path, access) = self {
            *self = match Sqlite::alone(path, *access) {
                Ok(store) => Beside::Open(Box::new(store)),
                Err(_) => Beside::Never,
            };
        }
        match self {
            Beside::Open(store) => Some(store),
            _ => None,
        }
    }
}

impl Sqlite {
    /// Reads two things at once, each at an instant of its own; one after the other where there can be no other
    /// connection or no thread for it.
    pub(super) fn at_once<A: Send, B>(
        &mut self,
        one: impl Fn(&mut Sqlite) -> Result<A> + Sync,
        other: impl FnOnce(&mut Sqlite) -> Result<B>,
    ) -> Result<(A, B)> {
        let (mut beside, mut first) = (replace(&mut self.beside, Beside::Never), None);
        let second = thread::scope(|scope| {
            let begun = match beside {
                Beside::Never => None,
                _ => {
                    let look = || first = beside.open().map(&one);
                    thread::Builder::new().spawn_scoped(scope, look).ok()
                }
            };
            let second = other(self);
            if let Some(begun) = begun {
                begun.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            second
        });
        self.beside = beside;
        let first = match first {
            Some(found) => found,
            None => one(self),
        };
        Ok((first?, second?))
    }
}
