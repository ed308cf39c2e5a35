//! Copies of one turn that several ways brought, such as a proxy, a hook and an import: one of them stays.
//!
//! Two messages are copies if they have the same words, role and partition at nearly one time, in different
//! instances, and either one program gave both the same id, or one of them was imported, the other stored as
//! it was said, and their neighbours are copies too: the messages before them, or those after them. Two
//! conversations may say the same short words at one time: then no neighbour may differ. The two messages
//! alone decide which one stays, so that stores that exchange exports agree.

use super::copied_actions;
use super::known_keys::KnownKeys;
use crate::error::Result;
use crate::record::{
    Draft, DraftDefaults, Fingerprint, RECALL, RecallRule, Record, Role, Scope, Scopes, StoredRecord,
    Tombstone, TombstoneState, id,
};
use crate::store::{Forgotten, Removal, Select, Store, Walk, WriteOutcome, WriteRules};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The number of messages on each side of a message among which the copy of a neighbour is looked for: other
/// conversations may have been stored in one instance between them.
const REACH: usize = 8;

/// The length, in bytes, of a message and its neighbour from which on nobody says the same by chance.
const DISTINCTIVE: usize = 64;

/// The number of messages that are looked up at once.
const AT_ONCE: usize = 500;

/// Removes the copies among the messages of a batch that was written and in the store, at a time in
/// milliseconds since 1970, UTC; the outcomes of those that go become those of messages that were there.
pub(super) fn remove<'a>(
    store: &mut dyn Store,
    records: &'a [Record],
    written: &mut [WriteOutcome],
    known: &mut KnownKeys,
    rules: WriteRules,
    now: i64,
) -> Result<()> {
    let is_new = |(record, written): (&'a Record, &WriteOutcome)| {
        let record = record.stored().filter(|_| *written == WriteOutcome::New)?;
        Some((record, record.fingerprint()?))
    };
    let new: Vec<(&StoredRecord, Fingerprint)> = records.iter().zip(&*written).filter_map(is_new).collect();
    let mut duplicates = Duplicates::default();
    let may_have_copies = known.may_have_copies(store, new.iter().map(|(_, fingerprint)| fingerprint))?;
    for (some, may_have_copies) in new.chunks(AT_ONCE).zip(may_have_copies.chunks(AT_ONCE)) {
        duplicates.find(store, some, may_have_copies, rules)?;
    }
    let originals = duplicates.originals();
    let of_messages: BTreeMap<&str, &str> =
        originals.iter().map(|(id, original)| (&**id, &**original)).collect();
    let of_actions = copied_actions::find(store, records, written, &of_messages)?;
    let of_actions = of_actions.iter().map(|(id, original)| (&**id, &**original));
    let by_id: BTreeMap<&str, &str> = of_messages.into_iter().chain(of_actions).collect();
    if !by_id.is_empty() {
        // An import that is undone leaves what came in another way too.
        store.write(&duplicates.brought_again(&originals), WriteRules::KEEP_OUT)?;
        let rules = rules_of_originals(store, &by_id)?;
        store.write(&rules, WriteRules::KEEP_OUT)?;
        store.remove(Removal::Duplicates(&by_id), now)?;
    }
    let forgotten: Vec<&str> = duplicates.forgotten.iter().map(String::as_str).collect();
    if !forgotten.is_empty() {
        store.remove(Removal::Records(&forgotten, TombstoneState::Forgotten), now)?;
    }
    for (record, written) in records.iter().zip(written) {
        let Some(record) = record.stored().filter(|_| *written == WriteOutcome::New) else { continue };
        if let Some(original) = by_id.get(record.id.as_str()) {
            *written = WriteOutcome::Same((*original).to_owned());
        } else if duplicates.forgotten.contains(&record.id) {
            *written = WriteOutcome::KeptOut;
        }
    }
    Ok(())
}

/// The rules of recall that messages get from their copies, by the ids of these. They follow from those of
/// the copies alone, so that stores that exchange exports get the same.
fn rules_of_originals(store: &mut dyn Store, originals: &BTreeMap<&str, &str>) -> Result<Vec<Record>> {
    let all = Select::records(vec![&RECALL], Scopes::All);
    if store.count(&all, 1)? == 0 {
        return Ok(Vec::new());
    }
    let of_copy = |copy: &&str| Select { key: Some((*copy).to_owned()), ..all.clone() };
    let newest = store.last(&originals.keys().map(of_copy).collect::<Vec<_>>(), 1)?;
    let mut rules = Vec::new();
    for (original, rule) in originals.values().zip(newest) {
        let Some((rule, scope)) = rule.into_iter().next().zip(store.scope_of(original)?) else { continue };
        let id = id::derived(rule.timestamp, &[RECALL.name, &rule.id, original]);
        let draft = Draft::recall_rule(original, RecallRule::of(&rule), rule.timestamp);
        let fill = DraftDefaults {
            partition: Some(scope.partition),
            instance: Some(scope.instance),
            ..DraftDefaults::default()
        };
        rules.push(Record::Stored(Draft { id: Some(id), ..draft }.complete(&fill)?));
    }
    Ok(rules)
}

/// Whether a message gives way to a copy: one in an instance that nobody named gives way to one in a
/// conversation of its own, else the greater name to the lesser.
fn gives_way(scope: &Scope, other: &Scope) -> bool {
    let rank = |scope: &Scope| (scope.is_of_partition_alone(), scope.instance.clone());
    rank(scope) > rank(other)
}

/// A message with its fingerprint.
#[derive(Clone)]
struct Message {
    record: Arc<StoredRecord>,
    fingerprint: Fingerprint,
}

impl Message {
    fn new(record: Arc<StoredRecord>) -> Option<Message> {
        let fingerprint = record.fingerprint()?;
        Some(Message { record, fingerprint })
    }

    fn id(&self) -> &str {
        &self.record.id
    }

    /// The number of bytes of its text.
    fn len(&self) -> usize {
        self.record.text.len()
    }

    fn instance(&self) -> &str {
        &self.record.scope.instance
    }

    /// Whether another message may be a copy of it.
    fn resembles(&self, other: &Message) -> bool {
        self.fingerprint.is_near(&other.fingerprint)
            && self.instance() != other.instance()
            && (self.record.is_imported() != other.record.is_imported() || self.has_id_of(other))
    }

    /// Whether one program gave both the same id.
    fn has_id_of(&self, other: &Message) -> bool {
        let names = |message: &Message| ["source", "source_id"].map(|name| message.record.member_text(name));
        let [source, id] = names(self);
        !source.is_empty() && !id.is_empty() && names(other) == [source, id]
    }
}

/// The messages before a message, and those after it, nearest first.
type Neighbours = [Vec<Message>; 2];

/// The copies on one side of two messages: one is the next to its message, the other near its own.
fn copies_beside<'a>(own: &'a [Message], others: &'a [Message]) -> Option<(&'a Message, &'a Message)> {
    let next = others.first().and_then(|b| own.iter().find(|a| a.resembles(b)).map(|a| (a, b)));
    next.or_else(|| own.first().and_then(|a| others.iter().find(|b| a.resembles(b)).map(|b| (a, b))))
}

/// Tombstones of messages, by the digests of their fingerprints.
#[derive(Default)]
struct Tombstones(HashMap<String, Vec<Tombstone>>);

impl Tombstones {
    fn read<'a>(store: &mut dyn Store, messages: impl Iterator<Item = &'a StoredRecord>) -> Result<Self> {
        let mut by_digest: HashMap<String, Vec<Tombstone>> = HashMap::new();
        for one in store.tombstones_of(&messages.collect::<Vec<_>>())? {
            if let Some(fingerprint) = one.fingerprint().filter(|_| one.state != TombstoneState::Returned) {
                by_digest.entry(fingerprint.digest).or_default().push(one);
            }
        }
        Ok(Tombstones(by_digest))
    }

    /// Those of messages that may be copies of one.
    fn near<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = &'a Tombstone> {
        let all = self.0.get(&message.fingerprint.digest).into_iter().flatten();
        all.filter(|one| {
            one.scope.instance != message.instance()
                && message.record.is_imported() != one.is_of_imported()
                && one.fingerprint().is_some_and(|fingerprint| fingerprint.is_near(&message.fingerprint))
        })
    }

    /// Whether a copy of a message was in an instance.
    fn has_copy_in(&self, instance: &str, message: &Message) -> bool {
        self.near(message).any(|one| one.scope.instance == instance)
    }
}

/// The neighbours of messages that may be copies, by id, and the tombstones that may be of copies of these.
struct Surroundings {
    neighbours: HashMap<String, Neighbours>,
    tombstones: Tombstones,
}

impl Surroundings {
    fn read<'a>(store: &mut dyn Store, messages: impl Iterator<Item = &'a Message>) -> Result<Surroundings> {
        let neighbours = neighbours(store, messages)?;
        let records = neighbours.values().flatten().flatten().map(|message| &*message.record);
        let tombstones = Tombstones::read(store, records)?;
        Ok(Surroundings { neighbours, tombstones })
    }

    /// The copies among the neighbours of two messages that resemble each other; `None` if these are no
    /// copies.
    fn copies_around(&self, message: &Message, other: &Message) -> Option<Vec<(&Message, &Message)>> {
        let (own, others) = (&self.neighbours[message.id()], &self.neighbours[other.id()]);
        let (mut copies, mut longest, mut differ) = (Vec::new(), None, false);
        for (own, others) in own.iter().zip(others) {
            let removed = |beside: &[Message], instance: &str| {
                beside.first().filter(|one| self.tombstones.has_copy_in(instance, one)).map(Message::len)
            };
            let beside = copies_beside(own, others);
            let length = beside
                .map(|(a, _)| a.len())
                .or_else(|| removed(others, message.instance()))
                .or_else(|| removed(own, other.instance()));
            copies.extend(beside);
            longest = longest.max(length);
            differ |= length.is_none() && !(own.is_empty() && others.is_empty());
        }
        let has_copies = longest.is_some_and(|longest| !differ || message.len() + longest >= DISTINCTIVE);
        (has_copies || message.has_id_of(other)).then_some(copies)
    }

    /// The ids of those messages which are copies of what was forgotten, as the tombstones with them say.
    /// Fails if the store cannot be read.
    fn forgotten(&self, store: &mut dyn Store, kept_out: &[(&Message, &Tombstone)]) -> Result<Vec<String>> {
        if kept_out.is_empty() {
            return Ok(Vec::new());
        }
        let beside = self.neighbours.values().flatten().flatten();
        let similar = similar(store, beside.map(|message| &message.fingerprint))?;
        let has_copy_in = |instance: &str, neighbour: &Message| {
            let others = similar.get(&neighbour.fingerprint.digest).into_iter().flatten();
            let mut others = others.filter(|other| neighbour.resembles(other));
            others.any(|other| other.instance() == instance)
                || self.tombstones.has_copy_in(instance, neighbour)
        };
        // Only beside another copy: the user may say forgotten words again in a new conversation.
        let is_copy = |(message, tombstone): &&(&Message, &Tombstone)| {
            let mut next = self.neighbours[message.id()].iter().filter_map(|side| side.first());
            next.any(|next| has_copy_in(&tombstone.scope.instance, next))
        };
        Ok(kept_out.iter().filter(is_copy).map(|(message, _)| message.id().to_owned()).collect())
    }
}

/// The messages that go.
#[derive(Default)]
struct Duplicates {
    /// The scopes and ids of the copies of each message, by the id of the one that gives way.
    originals: BTreeMap<String, BTreeSet<(Scope, String)>>,
    /// The ids of copies of what was forgotten.
    forgotten: BTreeSet<String>,
    /// The messages that have a copy in an instance, by id and instance: there is only one.
    matched: HashSet<(String, String)>,
    /// The messages that stay, by id.
    staying: HashMap<String, Message>,
}

impl Duplicates {
    /// Finds the copies of new messages, and those of which they are copies, among those that may have some.
    fn find(
        &mut self,
        store: &mut dyn Store,
        new: &[(&StoredRecord, Fingerprint)],
        may_have_copies: &[bool],
        rules: WriteRules,
    ) -> Result<()> {
        let sought: Vec<&Fingerprint> =
            new.iter().zip(may_have_copies).filter(|(_, may)| **may).map(|((_, one), _)| one).collect();
        let are_near = near(sought.iter().copied());
        let are_alone = sought.is_empty() || store.count(&are_near, sought.len() + 1)? <= sought.len();
        let tombstones = Tombstones::read(store, new.iter().map(|(record, _)| *record))?;
        // Mostly there is nothing but the new messages themselves.
        if are_alone && tombstones.0.is_empty() {
            return Ok(());
        }
        let message = |(record, fingerprint): &(&StoredRecord, Fingerprint)| Message {
            record: (*record).clone().into(),
            fingerprint: fingerprint.clone(),
        };
        let new: Vec<Message> = new.iter().map(message).collect();
        let stored = if are_alone { HashMap::new() } else { similar(store, sought)? };
        let mut pairs: Vec<(&Message, &Message)> = Vec::new();
        for message in &new {
            let others = stored.get(&message.fingerprint.digest).into_iter().flatten();
            pairs.extend(others.filter(|other| message.resembles(other)).map(|other| (message, other)));
        }
        let is_forgotten = |one: &&Tombstone| one.state == TombstoneState::Forgotten;
        let keeps_out = rules.forgotten == Forgotten::KeepOut;
        let kept_out: Vec<(&Message, &Tombstone)> = new
            .iter()
            .filter(|_| keeps_out)
            .flat_map(|message| tombstones.near(message).filter(is_forgotten).map(move |one| (message, one)))
            .collect();
        if pairs.is_empty() && kept_out.is_empty() {
            return Ok(());
        }
        let all =
            pairs.iter().flat_map(|(a, b)| [*a, *b]).chain(kept_out.iter().map(|(message, _)| *message));
        let surroundings = Surroundings::read(store, all)?;
        // The nearest in time first, since `add` matches a message with one copy in each instance.
        pairs.sort_by_key(|(a, b)| (a.record.timestamp.abs_diff(b.record.timestamp), a.id(), b.id()));
        for (message, other) in pairs {
            let Some(copies) = surroundings.copies_around(message, other) else { continue };
            self.add(message, other, &tombstones);
            for (a, b) in copies {
                self.add(a, b, &surroundings.tombstones);
            }
        }
        self.forgotten.extend(surroundings.forgotten(store, &kept_out)?);
        Ok(())
    }

    /// Notes that two messages are copies, unless one of them has another copy in the instance of the other.
    fn add(&mut self, message: &Message, other: &Message, tombstones: &Tombstones) {
        let places = [(message, other), (other, message)];
        let key = |(a, b): (&Message, &Message)| (a.id().to_owned(), b.instance().to_owned());
        let has_another = |(a, b): (&Message, &Message)| {
            tombstones.near(a).any(|one| {
                one.scope.instance == b.instance() && one.duplicate_of().as_deref() == Some(a.id())
            })
        };
        if places.into_iter().any(|pair| self.matched.contains(&key(pair)) || has_another(pair)) {
            return;
        }
        self.matched.extend(places.map(key));
        let gives_way = gives_way(&message.record.scope, &other.record.scope);
        let (copy, original) = if gives_way { (message, other) } else { (other, message) };
        let originals = self.originals.entry(copy.id().to_owned()).or_default();
        originals.insert((original.record.scope.clone(), original.id().to_owned()));
        self.staying.insert(original.id().to_owned(), original.clone());
    }

    /// The messages that stay, as what is brought once more.
    fn brought_again(&self, originals: &BTreeMap<String, String>) -> Vec<Record> {
        let staying: BTreeSet<&String> = originals.values().collect();
        let messages = staying.into_iter().filter_map(|id| self.staying.get(id));
        messages.map(|message| Record::Stored((*message.record).clone())).collect()
    }

    /// The message that stays in the place of each copy, by id.
    fn originals(&self) -> BTreeMap<String, String> {
        let last = |id: &str| {
            let mut at = id;
            while let Some((_, original)) = self.originals.get(at).and_then(BTreeSet::first) {
                at = original;
            }
            at.to_owned()
        };
        self.originals.keys().map(|id| (id.clone(), last(id))).collect()
    }
}

/// The selection of the messages with fingerprints near those of some.
fn near<'a>(fingerprints: impl Iterator<Item = &'a Fingerprint>) -> Select {
    let keys: BTreeSet<i64> = fingerprints.flat_map(Fingerprint::near_keys).collect();
    Select { fingerprints: Some(keys.into_iter().collect()), ..Select::messages(Scopes::All) }
}

/// The stored messages that may be copies of those of some fingerprints, by the digests of their own.
fn similar<'a>(
    store: &mut dyn Store,
    fingerprints: impl IntoIterator<Item = &'a Fingerprint>,
) -> Result<HashMap<String, Vec<Message>>> {
    let which = near(fingerprints.into_iter());
    let mut found: HashMap<String, Vec<Message>> = HashMap::new();
    store.walk(&Walk::records(which), &mut |record| {
        if let Record::Stored(record) = record
            && let Some(message) = Message::new(record.into())
        {
            found.entry(message.fingerprint.digest.clone()).or_default().push(message);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The neighbours of some messages, by id.
fn neighbours<'a>(
    store: &mut dyn Store,
    messages: impl Iterator<Item = &'a Message>,
) -> Result<HashMap<String, Neighbours>> {
    let messages: BTreeMap<&str, &Message> = messages.map(|message| (message.id(), message)).collect();
    let which = Select { roles: vec![Role::User, Role::Assistant], ..Select::messages(Scopes::All) };
    let mut found = HashMap::new();
    let all: Vec<&StoredRecord> = messages.values().map(|message| &*message.record).collect();
    for some in all.chunks(AT_ONCE) {
        for (record, around) in some.iter().zip(store.around(some, &which, REACH)?) {
            let side = |all: Vec<Arc<StoredRecord>>| all.into_iter().filter_map(Message::new).collect();
            found.insert(record.id.clone(), [side(around.before), side(around.after)]);
        }
    }
    Ok(found)
}
