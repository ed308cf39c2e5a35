//! The state of the store: facts, claimed jobs, scopes, and the messages that another program wrote.

use super::changes;
use super::error::{DbError, DbResult};
use super::graph::Neo4j;
use super::lock::lock;
use super::server::{Server, Transaction};
use super::statements;
use super::tombstones;
use super::unadopted::UnadoptedBatch;
use super::values::{Params, Row};
use crate::error::Error;
use crate::record::{MESSAGE, Scope, Scopes, StoredRecord};
use crate::store::api::{Among, Claim, MODEL_FACT, State, Tallies};
use crate::store::changes::{ChangeState, Witness};
use crate::store::error::Result;
use crate::store::forgetting::WriteRules;
use crate::store::identity::WriteOutcome;
use crate::store::imports::FactTable;
use crate::store::languages::LANGUAGES;
use crate::store::maintenance::{Derived, Maintenance};
use crate::store::rename::{Obstacle, Rename};
use crate::store::select::Select;
use crate::text::Languages;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A job that cannot be claimed within this time is held by another process.
const CLAIM_TIMEOUT: Duration = Duration::from_millis(500);

/// The number of records whose words are brought up to date in one transaction.
const REINDEXED_AT_ONCE: usize = 250;
/// The time for which the languages are not read again, since a round trip takes longer than a search in
/// SQLite.
const LANGUAGES_KEPT: Duration = Duration::from_secs(60);

impl State for Neo4j {
    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let statement = if value.is_some() { changes::SET_FACT } else { changes::DELETE_FACT };
        let params = Params::new().with("name", name).with("value", value);
        self.or_error("write to", self.server.write(|t| t.run(statement, params.clone())))?;
        if name != MODEL_FACT {
            return Ok(());
        }
        self.or_error("write to", self.update_message_vectors())
    }

    fn facts(&mut self, prefix: &str) -> Result<Vec<(String, String)>> {
        let rows = self.server.rows(statements::FACTS, Params::new().with("prefix", prefix));
        self.or_error("read", rows.and_then(named_values))
    }

    fn languages(&mut self) -> Result<Languages> {
        if let Some((languages, _)) = self.languages.filter(|(_, at)| at.elapsed() < LANGUAGES_KEPT) {
            return Ok(languages);
        }
        let facts = self.facts(LANGUAGES)?;
        let languages = facts.first().map(|(_, codes)| Languages::parse(codes)).unwrap_or_default();
        self.languages = Some((languages, Instant::now()));
        Ok(languages)
    }

    fn claim(&mut self, job: &str) -> Result<Option<Claim>> {
        self.or_error("write to", self.take_job(job))
    }

    fn tallies(&mut self, subjects: &[&str]) -> Result<Tallies> {
        self.or_error("read", self.read_tallies(subjects))
    }

    fn scopes(&mut self, instance: Option<&str>) -> Result<Vec<(Scope, u64)>> {
        let mut scopes = self.or_error("read", self.count_scopes())?;
        scopes.retain(|(scope, _)| instance.is_none_or(|instance| scope.instance == instance));
        Ok(scopes)
    }

    fn identify(&mut self, which: Among) -> Result<Vec<(String, Scope)>> {
        self.or_error("read", self.read_identities(which))
    }

    fn are_kept_out(&mut self, records: &[StoredRecord]) -> Result<Vec<bool>> {
        self.or_error("read", tombstones::are_kept_out(&self.server, records))
    }

    fn change_state(&mut self, earlier: &[Witness]) -> Result<ChangeState> {
        self.or_error("read", self.read_change_state(earlier))
    }
}

/// The names and values of facts.
fn named_values(rows: Vec<Row>) -> DbResult<Vec<(String, String)>> {
    rows.iter().map(|row| Ok((row.get("name")?, row.get("value")?))).collect()
}

impl FactTable for Transaction {
    type Error = DbError;

    fn get(&mut self, name: &str) -> DbResult<Option<String>> {
        let row = self.row(statements::FACT, Params::new().with("name", name))?;
        row.map(|row| row.get("value")).transpose()
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> DbResult<()> {
        let statement = if value.is_some() { changes::SET_FACT } else { changes::DELETE_FACT };
        self.run(statement, Params::new().with("name", name).with("value", value))
    }

    fn all(&mut self, prefix: &str) -> DbResult<Vec<(String, String)>> {
        named_values(self.rows(statements::FACTS, Params::new().with("prefix", prefix))?)
    }
}

impl Maintenance for Neo4j {
    fn rename(&mut self, rename: &Rename) -> Result<std::result::Result<u64, Obstacle>> {
        self.or_error("write to", self.rename_all(rename))
    }

    fn update_words(&mut self) -> Result<u64> {
        let updated = self.reindex(REINDEXED_AT_ONCE);
        let updated = updated.and_then(|()| self.count_outdated());
        self.or_error("write to", updated)
    }

    fn outdated_words(&mut self) -> Result<u64> {
        self.or_error("read", self.count_outdated())
    }

    /// The server keeps its vector indexes consistent; a missing one is made.
    fn repair(&mut self, what: Derived) -> Result<Vec<String>> {
        match what {
            Derived::All => {
                let done = self.repair_all();
                self.or_error("repair", done)
            }
            Derived::VectorIndexes => self.or_error("repair", self.index_models().map(|()| Vec::new())),
            Derived::Tallies => self.or_error("write to", self.repair_tallies()),
        }
    }

    fn adopt(&mut self) -> Result<u64> {
        let adopted = self.check_message_index().and_then(|()| self.adopt_all());
        let adopted = adopted.and_then(|adopted| self.begin_message_vectors().map(|()| adopted));
        self.or_error("write to", adopted)
    }

    fn unreadable(&mut self, most: usize) -> Result<(Vec<Error>, usize)> {
        self.or_error("read", self.unreadable_messages(most))
    }
}

impl Neo4j {
    /// Claims a job by a transaction that stays open, on a connection of its own: the server releases it when
    /// the connection ends for any reason.
    fn take_job(&self, job: &str) -> DbResult<Option<Claim>> {
        let own = Server::new(&self.place, 1)?;
        let mut transaction = own.begin()?;
        match transaction.within(CLAIM_TIMEOUT).run(changes::CLAIM, Params::new().with("job", job)) {
            Ok(()) => Ok(Some(Claim(Box::new((transaction, own))))),
            Err(DbError::QueryTimeout(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_identities(&self, which: Among) -> DbResult<Vec<(String, Scope)>> {
        let ranges = |ranges: Vec<(i64, i64)>| -> Vec<Params> {
            ranges
                .into_iter()
                .map(|(first, last)| Params::new().with("first", first).with("last", last))
                .collect()
        };
        let (statement, params) = match which {
            Among::Ids(ids) => (statements::BY_ID, Params::new().with("ids", ids)),
            Among::Digests(digests) => {
                let digests = digests.iter().map(|range| (*range.start(), *range.end())).collect();
                (statements::BY_DIGEST, Params::new().with_rows("rows", ranges(digests)))
            }
            Among::Numbers { numbers, changes } => {
                let [numbers, changes] = [numbers, changes].map(|numbers| ranges(numbers.iter().collect()));
                (
                    statements::BY_NUMBER,
                    Params::new().with_rows("rows", numbers).with_rows("changes", changes),
                )
            }
        };
        self.server.rows(statement, params)?.iter().map(|row| Ok((row.get("id")?, row.scope()?))).collect()
    }

    fn count_scopes(&self) -> DbResult<Vec<(Scope, u64)>> {
        let mut scopes: BTreeMap<Scope, u64> = BTreeMap::new();
        let mut rows = self.server.rows(statements::SCOPES, Params::new().with("messages", MESSAGE.name))?;
        if self.has_unadopted()? {
            rows.extend(self.server.rows(statements::SCOPES_OF_UNADOPTED, Params::new())?);
        }
        for row in rows {
            *scopes.entry(row.scope()?).or_default() += row.count("messages")?;
        }
        for message in self.irregular(&Select::messages(Scopes::All))? {
            *scopes.entry(message.scope).or_default() += 1;
        }
        Ok(scopes.into_iter().collect())
    }

    /// Takes over messages that rsv did not write, by writing the same messages. Of two that are the same,
    /// one is taken over; those that were forgotten are ignored from then on.
    fn adopt_all(&self) -> DbResult<u64> {
        let mut adopted = 0;
        let mut after = String::new();
        loop {
            let UnadoptedBatch { messages, last } = self.read_to_adopt(&after)?;
            let Some(last) = last else { return Ok(adopted - self.mark_doubles()?) };
            after = last;
            let written = self.write_batch(&messages, WriteRules::KEEP_OUT)?;
            adopted +=
                written.iter().filter(|written| matches!(written, WriteOutcome::Same(_))).count() as u64;
        }
    }

    fn mark_doubles(&self) -> DbResult<u64> {
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            let row = transaction.row(changes::MARK_DOUBLES, Params::new())?;
            row.map_or(Ok(0), |row| row.count("count"))
        })
    }
}
