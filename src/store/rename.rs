//! Renaming a partition: what follows from its name in a store, whichever database has it.
//!
//! Messages, memories, signals and accounts keep their ids; those of documents and titles follow from the
//! name, and what names them follows too. Tombstones name what was forgotten by digests in which the name is,
//! and which nobody can recompute: each has the former names of its partition, and a record is looked up as
//! it would be under each of these too.

use super::imports::FactTable;
use super::synapses::reach_fact;
use crate::error::{Result, failures};
use crate::record::{Address, DOCUMENT, MESSAGE, Object, RecordKind, StoredRecord, Tombstone, quote, texts};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// A partition and its new name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rename {
    pub from: String,
    pub to: String,
}

// The reason for which a partition cannot be renamed. Nothing was changed.
failures! { #[derive(Clone, PartialEq, Eq)] pub enum Obstacle {
    Missing { name: String } ("there is no partition {name}") => "rsv-view --scopes lists all of them",
    Taken { name: String } ("there is a partition {name} already")
        => "give a name that no partition has: two cannot be joined",
    /// It has an instance of the new name beside the one that is to get it.
    InstanceTaken { from: String, to: String }
        ("the instance {from} would get the name {to} too, which another one has") => "give another name",
    UnknownKind { kind: String } ("it has records of the kind {kind}, which this version does not know")
        => "use the version of rsv that wrote them",
    /// The new name cannot be in the addresses of its documents.
    Address { cause: String } ("{cause}") => "give a name that can stand in an address",
    Unadopted ("it has messages that another program wrote into the graph")
        => "take them over first: rsv-link --adopt",
} }

/// The beginning of the name of the fact that a partition is being renamed, until everything has followed;
/// its name follows, and the value is the new one.
const RENAMING: &str = "renaming ";

/// The beginning of the name of the fact with the former names of a partition, a JSON array; its name
/// follows. It has those of the partition's tombstones.
pub(super) const FORMER: &str = "former names of ";

impl Rename {
    /// The fact that it is under way.
    pub(super) fn fact(&self) -> String {
        format!("{RENAMING}{}", self.from)
    }
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rsv-config partition rename {} {}", self.from, self.to)
    }
}

/// The new ids and traces of the records whose own follow from the name of their partition, by the old ones.
/// Only existing records have new ids: what was forgotten is named by the old one.
pub(super) struct RenamedIds<'a> {
    rename: &'a Rename,
    ids: HashMap<String, String>,
    traces: HashMap<String, String>,
}

impl<'a> RenamedIds<'a> {
    pub(super) fn new(rename: &'a Rename) -> RenamedIds<'a> {
        RenamedIds { rename, ids: HashMap::new(), traces: HashMap::new() }
    }

    /// Whether the ids or traces of records of a kind may follow from the name.
    pub(super) fn are_of(kind: &RecordKind) -> bool {
        kind.versions.is_some() || *kind == MESSAGE
    }

    /// Notes the id and the trace of a record of either partition. The inner error says why it cannot have
    /// the new name.
    pub(super) fn note(&mut self, record: &StoredRecord) -> std::result::Result<(), Obstacle> {
        let is_moved = record.scope.partition == self.rename.to;
        let other = match record.renamed(if is_moved { &self.rename.from } else { &self.rename.to }) {
            Ok(other) => other,
            Err(_) if is_moved => return Ok(()), // It never had the old name.
            Err(error) => return Err(Obstacle::Address { cause: error.to_string() }),
        };
        let (old, new) = if is_moved { (&other, record) } else { (record, &other) };
        for (names, old, new) in
            [(&mut self.ids, &old.id, &new.id), (&mut self.traces, &old.trace_id, &new.trace_id)]
        {
            if old != new {
                names.insert(old.clone(), new.clone());
            }
        }
        Ok(())
    }

    /// A record under the new name. Fails if the new name makes an address or an id invalid.
    pub(super) fn record(&self, record: &StoredRecord) -> Result<StoredRecord> {
        let mut renamed = record.renamed(&self.rename.to)?;
        if let Some(trace) = self.traces.get(&record.trace_id) {
            renamed.trace_id.clone_from(trace);
        }
        if let Ok(Some(followed)) = renamed.members.text("follows")
            && let Some(id) = self.ids.get(&followed).filter(|_| *record.kind == DOCUMENT)
        {
            renamed.members.set_text("follows", id);
        }
        for member in ["covers", "source_ids"] {
            self.rename_list(member, &mut renamed);
        }
        for (list, _) in record.kind.part_lists {
            self.rename_parts(list, &mut renamed);
        }
        Ok(renamed)
    }

    /// Has a list of ids follow.
    fn rename_list(&self, member: &str, record: &mut StoredRecord) {
        let is_own = record.kind.versions.is_some() || record.kind.replaces.is_some();
        let Ok(Some(ids)) = texts(&record.members, member) else { return };
        if is_own && ids.iter().any(|id| self.ids.contains_key(id)) {
            let ids: Vec<String> = ids.iter().map(|id| quote(self.ids.get(id).unwrap_or(id))).collect();
            record.members.set(member, format!("[{}]", ids.join(",")));
        }
    }

    /// Has the parts of a record that name documents follow.
    fn rename_parts(&self, list: &str, record: &mut StoredRecord) {
        let Ok(Some(mut parts)) = record.members.objects(list) else { return };
        let mut is_changed = false;
        for part in &mut parts {
            let Ok(Some(id)) = part.text("id") else { continue };
            let Some(new) = self.ids.get(&id) else { continue };
            part.set_text("id", new);
            let address = part.valid_text("uri").and_then(|uri| Address::parse(&uri).ok());
            if let Some(address) = address.and_then(|address| self.address(&address)) {
                part.set_text("uri", address.as_str());
            }
            is_changed = true;
        }
        if is_changed {
            let parts: Vec<String> = parts.iter().map(Object::to_json).collect();
            record.members.set(list, format!("[{}]", parts.join(",")));
        }
    }

    /// An address under the new name; none if it gets too long, and then the part shows the old one.
    fn address(&self, address: &Address) -> Option<Address> {
        address.renamed(&self.rename.from, &self.rename.to).ok()
    }
}

/// The former names of partitions, by their present ones.
#[derive(Clone, Default, Debug)]
pub(super) struct FormerNames(BTreeMap<String, Vec<String>>);

impl FormerNames {
    /// Reads facts.
    pub(super) fn parse(facts: impl IntoIterator<Item = (String, String)>) -> FormerNames {
        let of_fact =
            |(name, value): (String, String)| Some((name.strip_prefix(FORMER)?.to_owned(), names(&value)));
        FormerNames(facts.into_iter().filter_map(of_fact).collect())
    }

    pub(super) fn of(&self, partition: &str) -> &[String] {
        self.0.get(partition).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The name of the fact with the former names of a partition.
pub(super) fn former_fact(partition: &str) -> String {
    format!("{FORMER}{partition}")
}

/// The names in such a fact; none if somebody else changed it.
pub(super) fn names(fact: &str) -> Vec<String> {
    serde_json::from_str(fact).unwrap_or_default()
}

/// A record as it would be under each former name of its partition; names that it cannot have are left out.
pub(super) fn former_forms<'a>(
    record: &'a StoredRecord,
    former: &'a [String],
) -> impl Iterator<Item = (&'a str, StoredRecord)> {
    former.iter().filter_map(move |name| Some((name.as_str(), record.renamed(name).ok()?)))
}

/// A fingerprint of a message by which its tombstone may be found.
pub(super) struct SoughtFingerprint {
    pub(super) digest: String,
    /// The fingerprint under the present name of the partition.
    own: String,
    partition: String,
    /// The name under which it is the fingerprint, if that is a former one.
    former: Option<String>,
}

impl SoughtFingerprint {
    /// Those of some messages, each once; `former` has the former names of a partition, and may fail.
    pub(super) fn of<E>(
        messages: &[&StoredRecord],
        mut former: impl FnMut(&str) -> std::result::Result<Vec<String>, E>,
    ) -> std::result::Result<Vec<SoughtFingerprint>, E> {
        let (mut sought, mut seen) = (Vec::new(), HashSet::new());
        for message in messages {
            let Some(own) = message.fingerprint().map(|fingerprint| fingerprint.digest) else { continue };
            if !seen.insert(own.clone()) {
                continue;
            }
            let partition = message.scope.partition.clone();
            let names = former(&partition)?;
            for (name, form) in former_forms(message, &names) {
                let Some(digest) = form.fingerprint().map(|fingerprint| fingerprint.digest) else { continue };
                let (own, partition) = (own.clone(), partition.clone());
                sought.push(SoughtFingerprint { digest, own, partition, former: Some(name.to_owned()) });
            }
            sought.push(SoughtFingerprint { digest: own.clone(), own, partition, former: None });
        }
        Ok(sought)
    }

    /// Whether it is that under a former name.
    pub(super) fn is_former(&self) -> bool {
        self.former.is_some()
    }

    /// The tombstone that was found by it, with the fingerprint under the present name; `None` if it is of
    /// another partition that had the name.
    pub(super) fn found(&self, tombstone: Tombstone) -> Option<Tombstone> {
        match &self.former {
            None => Some(tombstone),
            Some(name) if tombstone.came_from(&self.partition, name) => {
                Some(tombstone.with_fingerprint(&self.own))
            }
            Some(_) => None,
        }
    }
}

/// Notes the former names that tombstones have. Fails if the facts cannot be read or written.
pub(super) fn note_former<'a, T: FactTable>(
    tombstones: impl IntoIterator<Item = &'a Tombstone>,
    facts: &mut T,
) -> std::result::Result<(), T::Error> {
    let mut by_partition: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in tombstones {
        let former = one.former_partitions();
        if !former.is_empty() {
            let known = by_partition.entry(&one.scope.partition).or_default();
            known.extend(former.into_iter().filter(|name| *name != one.scope.partition));
        }
    }
    for (partition, found) in by_partition {
        let fact = former_fact(partition);
        let known = facts.get(&fact)?.map(|fact| names(&fact)).unwrap_or_default();
        let mut all = known.clone();
        for name in found {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        if all != known {
            facts.set(&fact, Some(&serde_json::json!(all).to_string()))?;
        }
    }
    Ok(())
}

/// Notes that a partition is being renamed, and has the facts about it follow; `models` are those that have
/// vectors.
pub(super) fn begin<'a, T: FactTable>(
    rename: &Rename,
    models: impl IntoIterator<Item = &'a str>,
    facts: &mut T,
) -> std::result::Result<(), T::Error> {
    facts.set(&rename.fact(), Some(&rename.to))?;
    facts.set(&former_fact(&rename.from), None)?;
    for model in models {
        let [from, to] = [&rename.from, &rename.to].map(|partition| reach_fact(model, partition));
        if let Some(reach) = facts.get(&from)? {
            facts.set(&to, Some(&reach))?;
            facts.set(&from, None)?;
        }
    }
    Ok(())
}
