//! Has a model describe uploaded documents in the background, as `rsv-view --stale | rsv-distill --model | rsv-ingest`
//! does, within a bound of tokens a day. A document that is not described stays as it is until the next attempt.

use super::blocking_pool::BlockingPool;
use super::degraded::FailureReason;
use super::document_jobs::documents_of;
use super::foreground::Foreground;
use super::store_pool::StorePool;
use super::stored_line::{line_of, store_line};
use crate::distill::StaleDocument;
use crate::error::{Error, Result};
use crate::proxy::config::ProxyConfig;
use crate::record::{Address, StoredRecord};
use crate::store::Store;
use crate::structured::Model;
use crate::tree;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The name of the job that one process does at a time, and of the fact that has the tokens of a day.
const JOB: &str = "describe";
const SPENT_FACT: &str = "described_tokens";
/// The first and the longest pause before documents that could not be described are tried again.
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(3600);
/// The number of answers of no use after which a document waits for the next proxy.
const MAX_ATTEMPTS: usize = 3;
/// The tokens of an answer that are expected before there is one.
const EXPECTED_ANSWER_TOKENS: u64 = 800;
const DAY_MS: i64 = 86_400_000;

/// Describes uploaded documents.
pub(in crate::proxy) struct DescribeJobs {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    /// Whether a model describes at all.
    is_on: bool,
    /// The tokens of a day.
    limit: u64,
    state: Mutex<DescribeState>,
    /// Something is to be described.
    added: Notify,
    /// Is called when a document was stored.
    on_stored: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct DescribeState {
    /// The partitions and the addresses at and below which documents are to be described.
    waiting: VecDeque<(String, Address)>,
    /// The answers of no use, by the ids of their documents.
    attempts: HashMap<String, usize>,
    failure: Option<FailureReason>,
    /// Whether the uploads of an earlier proxy are queued.
    is_listed: bool,
    is_ending: bool,
}

/// When documents that are not described are tried again.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Retry {
    Soon,
    Tomorrow,
}

/// Why documents are not described.
enum Undescribed {
    /// The model gave answers of no use, for this reason.
    Useless(String),
    /// The tokens of the day are spent.
    Spent,
    /// The proxy ends.
    Ending,
}

impl DescribeJobs {
    /// Jobs that describe nothing unless the settings say so. `on_stored` is called when a document was stored.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        stores: &Arc<StorePool>,
        on_stored: impl Fn() + Send + Sync + 'static,
    ) -> DescribeJobs {
        let limit = config.settings.integer("documents.tokens_per_day").unwrap_or(0);
        DescribeJobs {
            is_on: config.settings.text("documents.describe").as_deref() == Some("model"),
            limit: limit.unsigned_abs(),
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            state: Mutex::default(),
            added: Notify::new(),
            on_stored: Box::new(on_stored),
        }
    }

    fn state(&self) -> MutexGuard<'_, DescribeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of uploads that wait to be described.
    pub(in crate::proxy) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Why documents are not described at present, if they should be.
    pub(in crate::proxy) fn failure(&self) -> Option<FailureReason> {
        self.state().failure.clone()
    }

    /// Has the documents at and below an address described.
    pub(in crate::proxy) fn add(&self, partition: &str, address: &str) {
        if let Some(address) = Address::parse(address).ok().filter(|_| self.is_on) {
            self.state().waiting.push_back((partition.to_owned(), address));
            self.added.notify_one();
        }
    }

    /// Begins nothing more.
    pub(in crate::proxy) fn finish(&self) {
        self.state().is_ending = true;
    }

    /// Describes what is uploaded from now on, and what an earlier proxy has left.
    pub(in crate::proxy) fn resume(self: &Arc<DescribeJobs>) {
        if self.is_on {
            let jobs = self.clone();
            self.blocking.spawn_task(async move { jobs.run().await });
        }
    }

    async fn run(self: Arc<DescribeJobs>) {
        let mut backoff = MIN_BACKOFF;
        loop {
            let jobs = self.clone();
            let round = self.blocking.spawn(move || jobs.list().and_then(|()| jobs.run_round()));
            let Ok(round) = round.await else { return };
            let retry = round.unwrap_or_else(|error| {
                self.config.diagnostics.detail(error.at("documents are not described"));
                Some(Retry::Soon)
            });
            let pause = retry.map(|retry| if retry == Retry::Soon { backoff } else { self.until_tomorrow() });
            backoff = if retry == Some(Retry::Soon) { MAX_BACKOFF.min(backoff * 2) } else { MIN_BACKOFF };
            let pause = async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.added.notified() => {}
                () = pause => {}
            }
        }
    }

    fn until_tomorrow(&self) -> Duration {
        Duration::from_millis((DAY_MS - self.config.clock.now().rem_euclid(DAY_MS)).unsigned_abs())
    }

    /// Queues the uploads of all partitions, once.
    fn list(&self) -> Result<()> {
        if self.state().is_listed {
            return Ok(());
        }
        let Some(mut store) = self.stores.open_existing()? else { return Ok(()) };
        let scopes = store.scopes(None)?;
        let partitions: BTreeSet<String> = scopes.into_iter().map(|(scope, _)| scope.partition).collect();
        let all =
            partitions.into_iter().filter_map(|name| documents_of(&name).ok().map(|address| (name, address)));
        let mut state = self.state();
        state.waiting.extend(all);
        state.is_listed = true;
        Ok(())
    }

    /// Describes what is queued, unless another process does. What is left stays in the queue; returns when to try it
    /// again.
    fn run_round(&self) -> Result<Option<Retry>> {
        if self.state().waiting.is_empty() {
            return Ok(None);
        }
        let mut store = self.stores.open_to_serve()?;
        let Some(_claim) = store.claim(JOB)? else { return Ok(Some(Retry::Soon)) };
        let (mut left, mut failure, mut retry) = (VecDeque::new(), None, None);
        while let Some((partition, address)) = self.next() {
            let (text, when, stops) = match self.describe_below(&mut *store, &partition, &address) {
                Ok(None) => continue,
                Ok(Some(Undescribed::Ending)) => return Ok(None),
                Ok(Some(Undescribed::Useless(reason))) => (reason, Retry::Soon, false),
                Ok(Some(Undescribed::Spent)) => {
                    (format!("the {} tokens of the day are spent", self.limit), Retry::Tomorrow, true)
                }
                Err(error) => (format!("{address}: {error}"), Retry::Soon, true),
            };
            failure = Some(FailureReason::of_partition(&partition, text));
            retry = Some(when);
            left.push_back((partition, address));
            if stops {
                break;
            }
        }
        self.state().waiting.extend(left);
        self.set_failure(failure);
        Ok(retry)
    }

    fn next(&self) -> Option<(String, Address)> {
        let mut state = self.state();
        if state.is_ending { None } else { state.waiting.pop_front() }
    }

    /// Remembers why documents are not described, and says so once.
    fn set_failure(&self, failure: Option<FailureReason>) {
        let before = std::mem::replace(&mut self.state().failure, failure.clone());
        if let Some(failure) = failure.filter(|failure| before.as_ref() != Some(failure)) {
            self.config.diagnostics.note(format_args!("documents are not described: {}", failure.text));
        }
    }

    /// Describes the documents at and below an address that no model has described, each after its children. Returns why
    /// some are not. Errors if the store or the provider fails.
    fn describe_below(
        &self,
        store: &mut dyn Store,
        partition: &str,
        address: &Address,
    ) -> Result<Option<Undescribed>> {
        self.foreground.wait_until_idle();
        let stale = tree::stale(store, partition, address)?;
        let (mut abstracts, mut undescribed) = (HashMap::new(), None);
        for record in stale {
            match self.describe(store, record, &mut abstracts)? {
                None => {}
                Some(useless @ Undescribed::Useless(_)) => undescribed = Some(useless),
                end => return Ok(end),
            }
        }
        Ok(undescribed)
    }

    /// Describes a document, if it has words, and the model is not known to fail with it. `abstracts` has the new ones of
    /// those below it.
    fn describe(
        &self,
        store: &mut dyn Store,
        record: StoredRecord,
        abstracts: &mut HashMap<String, String>,
    ) -> Result<Option<Undescribed>> {
        let id = record.id.clone();
        let Some(mut document) = StaleDocument::parse(&line_of(record)?)? else { return Ok(None) };
        document.refresh(|uri| abstracts.remove(uri));
        if !document.has_words() || self.attempts(&id) >= MAX_ATTEMPTS {
            return Ok(None);
        }
        if self.state().is_ending {
            return Ok(Some(Undescribed::Ending));
        }
        let (model, request) = (self.model()?, document.request());
        let expected = model.tokens_of(&request) + EXPECTED_ANSWER_TOKENS;
        if self.spent(store)?.saturating_add(expected) > self.limit {
            return Ok(Some(Undescribed::Spent));
        }
        let answer = model.ask_counted(&request)?;
        self.spend(store, answer.tokens)?;
        let described = answer.text.and_then(|text| document.described_by(&text, model.name()));
        self.config.metrics.descriptions.add(described.is_ok());
        match described {
            Ok(described) => {
                abstracts.insert(document.uri().to_owned(), described.abstract_);
                store_line(&self.config, store, "the description", described.line)?;
                (self.on_stored)();
                Ok(None)
            }
            Err(error) => {
                *self.state().attempts.entry(id).or_default() += 1;
                Ok(Some(Undescribed::Useless(format!("{}: {error}", document.uri()))))
            }
        }
    }

    /// The number of answers of no use about a document.
    fn attempts(&self, id: &str) -> usize {
        self.state().attempts.get(id).copied().unwrap_or(0)
    }

    /// The model that describes. Errors if the settings name none.
    fn model(&self) -> Result<Model> {
        let ProxyConfig { settings, clock, diagnostics, .. } = &*self.config;
        let name = settings.text("documents.model").or_else(|| settings.text("model"));
        let name = name.ok_or_else(|| {
            Error::new("documents.describe: there is no model to describe documents")
                .hint("rsv-config set documents.model MODEL")
        })?;
        Model::new(&name, settings, *clock, diagnostics)
    }

    fn day(&self) -> i64 {
        self.config.clock.now().div_euclid(DAY_MS)
    }

    /// The tokens that were spent today.
    fn spent(&self, store: &mut dyn Store) -> Result<u64> {
        let fact = store.fact(SPENT_FACT)?.unwrap_or_default();
        let (day, tokens) = fact.split_once(' ').unwrap_or_default();
        Ok(if day == self.day().to_string() { tokens.parse().unwrap_or(0) } else { 0 })
    }

    fn spend(&self, store: &mut dyn Store, tokens: u64) -> Result<()> {
        self.config.metrics.description_tokens.inc_by(tokens);
        let spent = self.spent(store)?.saturating_add(tokens);
        Ok(store.set_fact(SPENT_FACT, Some(&format!("{} {spent}", self.day())))?)
    }
}
