//! Finds what supersedes records: the newest statements that correct them, along links from a correction to what it
//! corrects.

use crate::error::Result;
use crate::record::{CORRECTS, MESSAGE, NewerStatement, StoredRecord};
use crate::store::{Select, Store};
use rustc_hash::{FxHashMap, FxHashSet};

/// The greatest number of corrections that follow each other.
const MAX_CHAIN: usize = 64;

/// The newer statements of records.
#[derive(Default, Debug)]
pub struct Newer {
    /// The ids of the corrections of a record, by its id.
    corrections: FxHashMap<String, Vec<String>>,
    records: FxHashMap<String, StoredRecord>,
}

impl Newer {
    /// Finds what supersedes records of some ids. Of the selection, only its scopes and the time up to which it goes
    /// count: what is beyond supersedes nothing.
    pub fn find(store: &mut dyn Store, ids: &[&str], which: &Select) -> Result<Newer> {
        let admitted = Select { until: which.until, ..Select::records(vec![&MESSAGE], which.scopes.clone()) };
        let mut newer = Newer::default();
        let mut asked: FxHashSet<String> = FxHashSet::default();
        let mut next: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        for _ in 0..MAX_CHAIN {
            next.retain(|id| asked.insert(id.clone()));
            if next.is_empty() {
                break;
            }
            let of: Vec<&str> = next.iter().map(String::as_str).collect();
            let mut links = store.links(&of, Some(CORRECTS))?;
            links.retain(|link| of.contains(&link.to.as_str()));
            let from: Vec<&str> = links.iter().map(|link| link.from.as_str()).collect();
            let found = store.get(&from, &admitted)?;
            newer.records.extend(found.into_iter().map(|record| (record.id.clone(), record)));
            links.retain(|link| newer.records.contains_key(&link.from));
            next = links.iter().map(|link| link.from.clone()).collect();
            for link in links {
                newer.corrections.entry(link.to).or_default().push(link.from);
            }
        }
        Ok(newer)
    }

    /// The statements that supersede the record of an id and that nothing supersedes, newest first.
    pub fn of(&self, id: &str) -> Vec<&StoredRecord> {
        let corrections = |id: &str| self.corrections.get(id).map(Vec::as_slice).unwrap_or_default();
        let (mut seen, mut ends) = (FxHashSet::from_iter([id]), Vec::new());
        let mut next: Vec<&String> = corrections(id).iter().collect();
        while let Some(id) = next.pop() {
            if !seen.insert(id) {
                continue;
            }
            match corrections(id) {
                [] => ends.extend(self.records.get(id)),
                further => next.extend(further),
            }
        }
        ends.sort_by(|a, b| b.sort_key().cmp(&a.sort_key()));
        ends
    }

    /// The same, as members of a hit.
    pub fn statements(&self, id: &str) -> Vec<NewerStatement> {
        self.of(id).into_iter().map(|record| NewerStatement::corrected(&record.id)).collect()
    }
}
