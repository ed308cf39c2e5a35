//! Tombstones: that a record was forgotten, that a mirror removed it, or that it may return.

use super::link::Link;
use super::members::{required, texts, timestamp};
use super::object::{Object, missing, quote, unexpected, write_text};
use super::stored::{StoredRecord, write_time};
use super::{Fingerprint, Scope, digest};
use crate::error::Result;
use std::collections::BTreeSet;

/// A removed record, named only by digests.
///
/// Of two tombstones of one record, the later holds; of two at the same time, the one with the greater state.
#[derive(Clone, PartialEq, Debug)]
pub struct Tombstone {
    /// The digest of the record's kind and id ([`identity_digest`]).
    pub of: String,
    /// The digest of its natural key and time ([`StoredRecord::natural_digest`]).
    pub also: Option<String>,
    /// The name of its kind.
    pub what: String,
    pub scope: Scope,
    pub state: TombstoneState,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// Members that rsv does not know, as they came.
    pub extra: Object,
}

/// The state of the record of a tombstone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TombstoneState {
    /// It may be stored again.
    Returned,
    /// Only a version that is newer than the tombstone may be stored.
    Removed,
    /// It is never stored again.
    Forgotten,
}

const STATES: [(&str, TombstoneState); 3] = [
    ("forgotten", TombstoneState::Forgotten),
    ("removed", TombstoneState::Removed),
    ("returned", TombstoneState::Returned),
];

impl TombstoneState {
    /// Its name in a line.
    pub fn name(self) -> &'static str {
        STATES.into_iter().find(|(_, state)| *state == self).map_or("", |(name, _)| name)
    }

    /// The state of a name.
    pub fn named(name: &str) -> Option<TombstoneState> {
        STATES.into_iter().find(|(known, _)| *known == name).map(|(_, state)| state)
    }
}

impl Tombstone {
    /// The tombstone of a record that is forgotten or removed at a time, or just after an earlier tombstone
    /// of it, `before`, and after the version that goes.
    pub fn of(
        record: &StoredRecord,
        state: TombstoneState,
        at: i64,
        before: Option<&Tombstone>,
    ) -> Tombstone {
        let mut extra = Object::default();
        if state == TombstoneState::Forgotten {
            for (member, digest) in [(SOURCE, record.source()), (FOLDED, record.folded_digest())] {
                if let Some(digest) = digest {
                    extra.set_text(member, &digest);
                }
            }
        }
        if let Some(Fingerprint { digest, timestamp }) = record.fingerprint() {
            extra.set_text(FINGERPRINT, &digest);
            extra.set(MESSAGE_TIME, timestamp.to_string());
            if record.is_imported() {
                extra.set(IMPORTED, "true");
            }
        }
        let at = if record.kind.versions.is_some() { at.max(record.timestamp) } else { at };
        Tombstone {
            of: identity_digest(record.kind.name, &record.id),
            also: record.natural_digest(),
            what: record.kind.name.to_owned(),
            scope: record.scope.clone(),
            state,
            timestamp: before.map_or(at, |before| at.max(before.timestamp + 1)),
            extra,
        }
    }

    /// The tombstones to write for such a record: its own, after those that `before` still keeps out.
    pub fn for_removal(
        record: &StoredRecord,
        state: TombstoneState,
        at: i64,
        before: Option<&Tombstone>,
    ) -> impl Iterator<Item = Tombstone> {
        let own = Tombstone::of(record, state, at, before);
        before.and_then(|before| before.of_other_words(&own)).into_iter().chain([own])
    }

    /// The tombstone of a link that is forgotten at a time, or just after an earlier tombstone of it; its
    /// scope is that of the record from which the link leads.
    pub fn of_link(link: &Link, scope: Scope, at: i64, before: Option<&Tombstone>) -> Tombstone {
        Tombstone {
            of: link.digest(),
            also: None,
            what: LINK.to_owned(),
            scope,
            state: TombstoneState::Forgotten,
            timestamp: before.map_or(at, |before| at.max(before.timestamp + 1)),
            extra: Object::default(),
        }
    }

    /// Whether it keeps out a link.
    pub fn is_of_link(&self) -> bool {
        self.what == LINK && self.state == TombstoneState::Forgotten
    }

    /// The tombstone that lets its record return, at a time or just after itself.
    pub fn returned(&self, at: i64) -> Tombstone {
        let timestamp = at.max(self.timestamp + 1);
        Tombstone { state: TombstoneState::Returned, timestamp, ..self.clone() }
    }

    /// The tombstone of the same copy once the message that stayed is forgotten, at a time or just after
    /// itself.
    pub fn forgotten(&self, at: i64) -> Tombstone {
        let mut extra = self.extra.clone();
        extra.take(DUPLICATE_OF);
        let timestamp = at.max(self.timestamp + 1);
        Tombstone { state: TombstoneState::Forgotten, timestamp, extra, ..self.clone() }
    }

    /// The tombstone that still keeps out the words of this one where another of the same record takes its
    /// place, as after a version that says something else: the same under a digest of its own. `None` where
    /// there is nothing to keep out, or the other does.
    pub fn of_other_words(&self, other: &Tombstone) -> Option<Tombstone> {
        let is_other = match other.folded() {
            Some(folded) => self.folded() != Some(folded),
            None => other.state == TombstoneState::Removed,
        };
        let of = self.words_digest().filter(|_| self.state == TombstoneState::Forgotten && is_other)?;
        Some(Tombstone { of, ..self.clone() })
    }

    /// The digest of [`Tombstone::of_other_words`]: SHA-256 over `words`, its own digest and that of its
    /// words, as in [`identity_digest`].
    pub fn words_digest(&self) -> Option<String> {
        Some(digest::of(&["words", &self.of, &self.folded()?]))
    }

    /// The order of the tombstones of one record, of which the last holds: by time and state, then that which
    /// knows more former names.
    pub fn rank(&self) -> impl Ord + use<> {
        (self.timestamp, self.state, self.former_partitions().len())
    }

    /// Whether it replaces another tombstone of its record.
    pub fn supersedes(&self, other: &Tombstone) -> bool {
        self.rank() > other.rank()
    }

    /// Whether it keeps its record out of a store, in a version of this time (milliseconds since 1970, UTC).
    /// A record forgotten from one source may come in from another later.
    pub fn keeps_out(&self, time: i64, source: Option<&str>) -> bool {
        match self.state {
            TombstoneState::Forgotten => {
                let own = self.source();
                let is_changed = own.is_some() && source.is_some() && own.as_deref() != source;
                !is_changed || time <= self.timestamp
            }
            TombstoneState::Removed => time <= self.timestamp,
            TombstoneState::Returned => false,
        }
    }

    /// Whether it keeps out a record that has these digests.
    pub fn keeps_out_record(&self, record: &StoredRecord, digests: &RecordDigests) -> bool {
        let is_named = self.of == digests.identity || self.also.is_some() && self.also == digests.natural;
        is_named && self.keeps_out(record.timestamp, record.source().as_deref())
            || self.keeps_out_words(record, digests)
    }

    /// Whether it is of a forgotten directory, which has the words of its descendants: a new version comes in
    /// once it has one.
    pub fn is_of_directory(&self, record: &StoredRecord) -> bool {
        self.state == TombstoneState::Forgotten && record.kind.versions.is_some() && record.is_directory()
    }

    /// Whether it keeps out a record of any id with the forgotten words in any form.
    fn keeps_out_words(&self, record: &StoredRecord, digests: &RecordDigests) -> bool {
        let is_same = digests.folded.is_some() && self.folded() == digests.folded;
        let is_said_again = record.kind.same_words.is_some_and(|words| (words.is_said_again)(record));
        let is_later = is_said_again && record.timestamp > self.timestamp;
        self.state == TombstoneState::Forgotten && is_same && !is_later
    }

    /// The digest of the forgotten words ([`RecordDigests::folded`]). Tombstones of earlier releases have
    /// none.
    pub fn folded(&self) -> Option<String> {
        self.extra.valid_text(FOLDED)
    }

    /// The fingerprint of the message. Tombstones of earlier releases have none.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let digest = self.extra.valid_text(FINGERPRINT)?;
        Some(Fingerprint { digest, timestamp: self.extra.valid_integer(MESSAGE_TIME)? })
    }

    /// Whether its message came from another program's history.
    pub fn is_of_imported(&self) -> bool {
        self.extra.get(IMPORTED) == Some("true")
    }

    /// The id of the message of which this one's is a copy. Such a tombstone is of one store: another finds
    /// its copies by itself, once it has both.
    pub fn duplicate_of(&self) -> Option<String> {
        self.extra.valid_text(DUPLICATE_OF)
    }

    /// The tombstone of a copy of the message that has an id.
    pub fn of_duplicate(self, id: &str) -> Tombstone {
        let mut extra = self.extra;
        extra.set_text(DUPLICATE_OF, id);
        Tombstone { extra, ..self }
    }

    /// The names that its partition had before, oldest first: its digests may be those of the record in any
    /// of them.
    pub fn former_partitions(&self) -> Vec<String> {
        // Another value is refused when it is read.
        texts(&self.extra, WAS).ok().flatten().unwrap_or_default()
    }

    /// Whether it came into a partition that had another name before.
    pub fn came_from(&self, partition: &str, former: &str) -> bool {
        self.scope.partition == partition && self.former_partitions().iter().any(|name| name == former)
    }

    /// The tombstone once its partition has another name.
    pub fn renamed(&self, to: &str) -> Tombstone {
        let from = &self.scope.partition;
        let mut names = self.former_partitions();
        names.retain(|name| name != from && name != to);
        names.push(from.clone());
        let mut extra = self.extra.clone();
        let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
        extra.set(WAS, format!("[{}]", names.join(",")));
        Tombstone { scope: self.scope.renamed(to), extra, ..self.clone() }
    }

    /// The tombstone with the fingerprint that its message has under the present name of the partition.
    pub fn with_fingerprint(&self, digest: &str) -> Tombstone {
        let mut extra = self.extra.clone();
        extra.set_text(FINGERPRINT, digest);
        Tombstone { extra, ..self.clone() }
    }

    /// The digest of the forgotten version's source.
    fn source(&self) -> Option<String> {
        self.extra.valid_text(SOURCE)
    }

    /// Reads a tombstone line. Errors begin with the member at fault.
    pub fn parse(mut line: Object) -> Result<Tombstone> {
        let state = required(&line, "state")?;
        let also = line.text("also")?.map(|also| checked("also", also)).transpose()?;
        let tombstone = Tombstone {
            of: checked("of", required(&line, "of")?)?,
            also,
            what: required(&line, "what")?,
            scope: Scope { partition: required(&line, "partition")?, instance: required(&line, "instance")? },
            state: TombstoneState::named(&state)
                .ok_or_else(|| unexpected("state", "forgotten, removed or returned", &state))?,
            timestamp: timestamp(&line)?.ok_or_else(|| missing("timestamp"))?,
            extra: Object::default(),
        };
        line.retain(|name| !MEMBERS.contains(&name));
        texts(&line, WAS)?;
        Ok(Tombstone { extra: line, ..tombstone })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"tombstone\"");
        let members = [
            ("of", Some(self.of.as_str())),
            ("also", self.also.as_deref()),
            ("what", Some(&self.what)),
            ("partition", Some(&self.scope.partition)),
            ("instance", Some(&self.scope.instance)),
            ("state", Some(self.state.name())),
        ];
        for (name, value) in members {
            let Some(value) = value else { continue };
            out.push(b',');
            write_text(out, name);
            out.push(b':');
            write_text(out, value);
        }
        write_time(self.timestamp, out);
        self.extra.write_members(out);
        out.push(b'}');
    }
}

/// The kind in the tombstone of a link.
const LINK: &str = "link";

/// The member with the digest of the forgotten version's source.
const SOURCE: &str = "source_sha256";

/// The member with the digest of the forgotten words. Earlier releases pass it on as an unknown member.
const FOLDED: &str = "folded";

/// The members with the fingerprint of a message, its time, whether it was imported, and the id of the
/// message of which it is a copy.
const FINGERPRINT: &str = "fingerprint";
const MESSAGE_TIME: &str = "message_time";
const IMPORTED: &str = "imported";
const DUPLICATE_OF: &str = "duplicate_of";

/// The member with the former names of the partition.
const WAS: &str = "was";

/// The members of a tombstone line that have a field of their own, or are written by rsv alone.
const MEMBERS: [&str; 9] =
    ["kind", "of", "also", "what", "partition", "instance", "state", "timestamp", "created_at"];

/// A digest as it is written: 64 hexadecimal digits in lower case.
fn checked(member: &str, text: String) -> Result<String> {
    let is_digest = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if is_digest { Ok(text) } else { Err(unexpected(member, "a SHA-256 in 64 lower-case digits", &text)) }
}

/// The digest by which a tombstone names a record: SHA-256 over its kind and id, each preceded by its length
/// (64 bits, little-endian), in hexadecimal.
pub fn identity_digest(kind: &str, id: &str) -> String {
    digest::of(&[kind, id])
}

impl Link {
    /// The digest by which a tombstone names the link: SHA-256 over its relation and its ends, as in
    /// [`identity_digest`].
    pub fn digest(&self) -> String {
        digest::of(&[&self.rel, &self.from, &self.to])
    }
}

/// The digests by which tombstones name a record.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordDigests {
    /// The [`identity_digest`].
    pub identity: String,
    /// The [`StoredRecord::natural_digest`].
    pub natural: Option<String>,
    /// The [`StoredRecord::folded_digest`].
    pub folded: Option<String>,
}

impl RecordDigests {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        [Some(&self.identity), self.natural.as_ref(), self.folded.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }
}

impl StoredRecord {
    /// The digests by which tombstones name it.
    pub fn digests(&self) -> RecordDigests {
        RecordDigests {
            identity: identity_digest(self.kind.name, &self.id),
            natural: self.natural_digest(),
            folded: self.folded_digest(),
        }
    }

    /// The digest of its normalized words, regardless of its id: SHA-256 over `folded`, its kind, and the
    /// parts that records have in common which say the same, as in [`identity_digest`]. `None` if its kind
    /// has no such parts.
    pub fn folded_digest(&self) -> Option<String> {
        let parts = (self.kind.same_words?.key)(self)?;
        let parts: Vec<&str> =
            ["folded", self.kind.name].into_iter().chain(parts.iter().map(String::as_str)).collect();
        Some(digest::of(&parts))
    }

    /// The digest of its content, regardless of its id: SHA-256 over the parts of its natural key and its
    /// time (milliseconds since 1970), as in [`identity_digest`]. `None` for a kind without a natural key.
    pub fn natural_digest(&self) -> Option<String> {
        let parts = self.kind.natural_key?(self);
        let time = self.timestamp.to_string();
        let parts: Vec<&str> = parts.iter().map(String::as_str).chain([time.as_str()]).collect();
        Some(digest::of(&parts))
    }
}

impl StoredRecord {
    /// The [`identity_digest`] of each record that its parts name.
    pub fn part_digests(&self) -> Vec<String> {
        let of_list = |(list, kind): &(&str, &str)| {
            let parts = self.members.valid_objects(list).unwrap_or_default();
            let ids = parts.into_iter().filter_map(|part| part.text("id").ok()?);
            ids.map(|id| identity_digest(kind, &id)).collect::<Vec<_>>()
        };
        self.kind.part_lists.iter().flat_map(of_list).collect()
    }

    /// Removes the parts that name a forgotten record; `is_forgotten` is given its [`identity_digest`].
    pub fn drop_parts(&mut self, mut is_forgotten: impl FnMut(&str) -> bool) {
        for (list, kind) in self.kind.part_lists {
            let Ok(Some(parts)) = self.members.objects(list) else { continue };
            let mut is_named = |part: &Object| {
                let id = part.valid_text("id");
                id.is_some_and(|id| is_forgotten(&identity_digest(kind, &id)))
            };
            let left: Vec<String> =
                parts.iter().filter(|part| !is_named(part)).map(Object::to_json).collect();
            if left.len() < parts.len() {
                self.members.set(list, format!("[{}]", left.join(",")));
            }
        }
    }

    /// Whether it has all the parts of another version of it, and more.
    pub fn has_more_parts_than(&self, other: &StoredRecord) -> bool {
        let parts = |record: &StoredRecord| -> BTreeSet<(&str, String)> {
            let lists = record.kind.part_lists.iter().map(|(list, _)| *list);
            lists
                .flat_map(|list| {
                    let parts = record.members.valid_objects(list).unwrap_or_default();
                    parts.into_iter().filter_map(move |part| Some((list, part.text("id").ok()??)))
                })
                .collect()
        };
        let (own, others) = (parts(self), parts(other));
        own.len() > others.len() && own.is_superset(&others)
    }
}
