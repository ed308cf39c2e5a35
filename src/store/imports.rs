//! The imports of a store, and the records that each of them brought.
//!
//! A fact for each import, `import ID`, has the numbers of the records that were new in it, and of those that
//! it brought again: ranges, since the records of a batch have numbers one after the other. A record that
//! changes later gets another number, and belongs to nobody. The fact `brought elsewhere` has the records of
//! imports that something else brought again, such as a proxy or a hook. All are written in the transaction
//! of their batch.

use super::number_ranges::NumberRanges;
use crate::record::{Clock, id};
use serde::{Deserialize, Serialize};

/// An import, while it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// A UUIDv7: ids sort by the time of their imports.
    pub id: String,
    /// When it began, in milliseconds since 1970, UTC.
    pub at: i64,
    /// The files that it reads, in words.
    pub source: String,
}

impl Import {
    /// An import that begins now. Fails if the system has no random bytes.
    pub fn begin(clock: &Clock, source: String) -> crate::error::Result<Import> {
        Ok(Import { id: id::fresh(clock, &source)?, at: clock.now(), source })
    }
}

/// An import that a store knows.
#[derive(Clone, Debug)]
pub struct StoredImport {
    pub id: String,
    /// When it was undone, in milliseconds since 1970, UTC.
    pub undone: Option<i64>,
    account: Account,
}

impl StoredImport {
    /// When it began, in milliseconds since 1970, UTC.
    pub fn at(&self) -> i64 {
        self.account.at
    }

    /// The files that it read, in words.
    pub fn source(&self) -> &str {
        &self.account.source
    }

    /// The number of records that were new.
    pub fn new_records(&self) -> u64 {
        self.account.new
    }

    /// The number of records that were there before.
    pub fn same_records(&self) -> u64 {
        self.account.same
    }

    /// The records that were new.
    pub(super) fn brought(&self) -> NumberRanges {
        self.account.brought()
    }

    /// The records that another brought before.
    pub(super) fn again(&self) -> NumberRanges {
        self.account.again()
    }

    /// The records that it brought, or brought again.
    pub(super) fn claimed(&self) -> NumberRanges {
        self.account.brought().union(&self.account.again())
    }
}

/// The value of the fact about an import.
#[derive(Clone, Default, Serialize, Deserialize, Debug)]
struct Account {
    at: i64,
    source: String,
    /// The number of records that were new, and of those that were there.
    new: u64,
    same: u64,
    /// The numbers of the records that were new, as `NumberRanges` writes them.
    brought: String,
    /// Those of the records that another brought before.
    again: String,
}

impl Account {
    fn brought(&self) -> NumberRanges {
        NumberRanges::parse(&self.brought)
    }

    fn again(&self) -> NumberRanges {
        NumberRanges::parse(&self.again)
    }
}

/// The beginning of the names of the facts about imports; the id follows.
pub(super) const IMPORT: &str = "import ";

/// The end of the name of the fact that an import was undone; its value is the time.
pub(super) const UNDONE: &str = " undone";

/// The fact that names the records of imports which something else brought again.
pub(super) const ELSEWHERE: &str = "brought elsewhere";

/// The number of imports that a store remembers. The oldest is forgotten first: no other names records that
/// it brought again which are older.
const MAX_IMPORTS: usize = 5000;

/// The facts of a store within a transaction.
pub(super) trait FactTable {
    type Error;

    fn get(&mut self, name: &str) -> Result<Option<String>, Self::Error>;

    /// Sets a fact; `None` removes it.
    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Self::Error>;

    /// The facts whose names begin with a prefix, by name.
    fn all(&mut self, prefix: &str) -> Result<Vec<(String, String)>, Self::Error>;
}

/// The numbers of the records of a batch.
#[derive(Default)]
pub(super) struct Brought {
    /// Of those that are new.
    pub(super) new: Vec<i64>,
    /// Of those that were there and stay as they were.
    pub(super) same: Vec<i64>,
    /// The old and the new numbers of those that changed.
    pub(super) changed: Vec<(i64, i64)>,
}

/// Notes the records that a batch has written, of an import or of something else.
pub(super) fn note<T: FactTable>(
    import: Option<&Import>,
    brought: Brought,
    facts: &mut T,
) -> Result<(), T::Error> {
    match import {
        Some(import) => note_import(import, brought, facts),
        None if brought.same.is_empty() => Ok(()),
        None => note_elsewhere(brought.same, facts),
    }
}

fn note_import<T: FactTable>(import: &Import, brought: Brought, facts: &mut T) -> Result<(), T::Error> {
    let Brought { new, same, changed } = brought;
    if new.is_empty() && same.is_empty() {
        return Ok(());
    }
    let name = format!("{IMPORT}{}", import.id);
    let existing = facts.get(&name)?;
    if existing.is_none() {
        forget_oldest(facts)?;
    }
    // An account that somebody else changed begins again.
    let mut account = existing.and_then(|fact| serde_json::from_str(&fact).ok()).unwrap_or_else(|| Account {
        at: import.at,
        source: import.source.clone(),
        ..Account::default()
    });
    account.new += new.len() as u64;
    account.same += same.len() as u64;
    let mut own = account.brought().union(&new.into_iter().collect());
    for (old, new) in changed {
        if own.contains(old) {
            own = own.union(&[new].into_iter().collect());
        }
    }
    let again = same.into_iter().collect::<NumberRanges>().without(&own);
    account.again = account.again().union(&again).to_string();
    account.brought = own.to_string();
    // Numbers and texts always have JSON: without it the account would be removed.
    facts.set(&name, serde_json::to_string(&account).ok().as_deref())
}

/// Notes those records of imports that something else brought again.
fn note_elsewhere<T: FactTable>(same: Vec<i64>, facts: &mut T) -> Result<(), T::Error> {
    let mut of_imports = NumberRanges::default();
    for import in stored(facts.all(IMPORT)?) {
        of_imports = of_imports.union(&import.account.brought());
    }
    if of_imports.is_empty() {
        return Ok(());
    }
    let known = facts.get(ELSEWHERE)?.map(|fact| NumberRanges::parse(&fact)).unwrap_or_default();
    let all = known.union(&same.into_iter().collect::<NumberRanges>().within(&of_imports));
    if all == known { Ok(()) } else { facts.set(ELSEWHERE, Some(&all.to_string())) }
}

/// A record that got another number, or whose last change did.
#[derive(Clone, Copy)]
pub(super) struct Renumbered {
    /// Its number before.
    pub(super) n: i64,
    /// The number of its last change before.
    pub(super) change: i64,
    /// The number that it, or its change, has now.
    pub(super) new: i64,
}

/// Has records that are the same under other numbers belong to their imports.
pub(super) fn renumber<T: FactTable>(records: &[Renumbered], facts: &mut T) -> Result<(), T::Error> {
    let with_new = |ranges: NumberRanges| {
        let own = |one: &&Renumbered| ranges.contains(one.n) && ranges.contains(one.change);
        let new: NumberRanges = records.iter().filter(own).map(|one| one.new).collect();
        ranges.union(&new)
    };
    for (name, value) in facts.all(IMPORT)? {
        let Ok(mut account) = serde_json::from_str::<Account>(&value) else { continue };
        account.brought = with_new(account.brought()).to_string();
        account.again = with_new(account.again()).to_string();
        let changed = serde_json::to_string(&account).ok().filter(|changed| *changed != value);
        if changed.is_some() {
            facts.set(&name, changed.as_deref())?;
        }
    }
    if let Some(value) = facts.get(ELSEWHERE)? {
        let changed = with_new(NumberRanges::parse(&value)).to_string();
        if changed != value {
            facts.set(ELSEWHERE, Some(&changed))?;
        }
    }
    Ok(())
}

/// Makes room for one more import.
fn forget_oldest<T: FactTable>(facts: &mut T) -> Result<(), T::Error> {
    let all = facts.all(IMPORT)?;
    let accounts = all.iter().filter(|(name, _)| !name.ends_with(UNDONE)).count();
    let mut excess = (accounts + 1).saturating_sub(MAX_IMPORTS);
    for (name, _) in all {
        let is_account = !name.ends_with(UNDONE);
        if excess == 0 && is_account {
            break;
        }
        excess -= usize::from(is_account);
        facts.set(&name, None)?;
    }
    Ok(())
}

/// The imports in facts that are sorted by name, oldest first.
pub(super) fn stored(facts: Vec<(String, String)>) -> Vec<StoredImport> {
    let mut found: Vec<StoredImport> = Vec::new();
    for (name, value) in facts {
        let id = name.strip_prefix(IMPORT).unwrap_or_default();
        match (id.strip_suffix(UNDONE), found.last_mut()) {
            (Some(id), Some(last)) if last.id == id => last.undone = value.parse().ok(),
            (Some(_), _) => {}
            (None, _) => {
                if let Ok(account) = serde_json::from_str(&value) {
                    found.push(StoredImport { id: id.to_owned(), undone: None, account });
                }
            }
        }
    }
    found
}
