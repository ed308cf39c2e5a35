//! A store as a write asks it and changes it.

use crate::record::{Embedding, Link, StoredRecord, Tombstone};
use crate::store::forgetting::TombstoneLookup;
use crate::store::identity::NameLimit;
use std::borrow::Cow;

/// A store within a transaction, with all that the batch has written so far.
pub(in crate::store) trait WriteTarget {
    type Error;
    type Tombstones: TombstoneLookup<Error = Self::Error> + ?Sized;

    /// The names that it can index, if not all.
    const NAME_LIMIT: Option<NameLimit> = None;

    /// Its tombstones; `None` if it has none.
    fn tombstones(&self) -> Option<&Self::Tombstones>;

    /// The holder of the id of a record, or else of its natural key.
    fn holder(&self, record: &StoredRecord) -> Result<Holder<'_>, Self::Error>;

    /// The name of the kind of the record that has this id; empty for a kind that this process does not know.
    fn kind_of(&self, id: &str) -> Result<Option<String>, Self::Error>;

    /// The record that has this id, as far as it matters to a vector of it.
    fn owner(&self, id: &str) -> Result<Option<Owner<'_>>, Self::Error>;

    /// The vector of a record by a model, as it was written: of any length (norm).
    fn vector(&self, of: &str, model: &str) -> Result<Option<Cow<'_, [f32]>>, Self::Error>;

    /// The dimension of a model.
    fn dim(&self, model: &str) -> Result<Option<usize>, Self::Error>;

    /// Whether a link of this relation leads from a record.
    fn has_link_from(&self, rel: &str, id: &str) -> Result<bool, Self::Error>;

    /// Whether no document lies below a directory that was forgotten.
    fn is_empty_directory(&self, directory: &StoredRecord) -> Result<bool, Self::Error>;

    /// Adds a link, unless it is impossible or conflicts with another: checking that first would cost nearly
    /// as much.
    fn add_link(&mut self, link: &Link) -> Result<AddedLink, Self::Error>;

    /// Notes that the record of an id was brought again, and stays as it is.
    fn note_same(&mut self, _id: &str) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes a change that was decided.
    fn apply(&mut self, change: Change<'_>) -> Result<(), Self::Error>;
}

/// The holder of the id or the natural key of a record.
pub(in crate::store) enum Holder<'a> {
    /// Nothing.
    Nothing,
    /// The record that has its id.
    Own(Cow<'a, StoredRecord>),
    /// A record of its id, of a kind that this process does not know.
    Unknown,
    /// Nothing of its id, but this has its natural key.
    Twin(Twin),
}

/// The record that has the natural key of another.
#[derive(Clone)]
pub(in crate::store) enum Twin {
    /// The record that has this id.
    Record(String),
    /// One that another program wrote and rsv has not taken over, at this place.
    Unadopted(String),
}

/// The record that a vector is of.
// It is taken apart at once.
#[allow(clippy::large_enum_variant)]
pub(in crate::store) enum Owner<'a> {
    /// Its kind has versions.
    Versioned(Cow<'a, StoredRecord>),
    Unversioned,
    /// Of a kind that this process does not know.
    Unknown,
}

/// The outcome of adding a link.
pub(in crate::store) enum AddedLink {
    New,
    /// It was there.
    Same,
    /// Its relation is one-to-one, and one of its ends is linked to another record.
    SecondAnswer,
    /// There is no record from which it would lead.
    NoSource,
    /// There is no record to which it would lead.
    NoTarget,
}

/// A change of a store.
pub(in crate::store) enum Change<'a> {
    /// Adds a record with the vector that it carries.
    Insert(Cow<'a, StoredRecord>),
    /// Puts a record and its vector in the place of the one that has its id. The vectors of that one go with
    /// their synapses; other links stay.
    Replace(Cow<'a, StoredRecord>),
    /// Gives the record of an id these members and this time. Its text, its vectors and its links stay.
    Update(StoredRecord),
    /// Takes over what another program wrote at a place, as a record with the vector that it carries.
    Adopt(&'a StoredRecord, String),
    /// Hides what another program wrote at a place.
    Hide(String),
    /// Adds a vector to a record that was there before.
    AddVector(Cow<'a, Embedding>),
    /// Puts a tombstone in the place of an earlier one.
    PutTombstone(Tombstone),
}
