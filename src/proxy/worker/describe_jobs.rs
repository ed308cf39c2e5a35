//! Has a model describe uploaded documents in the background, as `rsv-view --stale | rsv-distill --model |
//! rsv-ingest` does, within a bound of tokens a day. A document that is not described stays as it is until
//! the next attempt.

use super::blocking_pool::BlockingPool;
use super::day_tokens::DayTokens;
use super::degraded::{FailureReason, Failures};
use super::document_jobs::{USERS, documents_of};
use super::error::WorkerFault;
use super::foreground::Foreground;
use super::store_pool::StorePool;
use super::stored_line::{line_of, store_line};
use crate::distill::StaleDocument;
use crate::error::{Error, Result};
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::proxy::visibility::Visibility;
use crate::record::{Address, DOCUMENT, Record, Scopes, StoredRecord, URI};
use crate::store::{Below, Select, Walk};
use crate::structured::Model;
use crate::tree;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// The name of the job that one process does at a time.
const JOB: &str = "describe";
/// The first and the longest pause before documents that could not be described are tried again.
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(3600);
/// The pause before the job is claimed again that another process has.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// How often uploads are looked for that another proxy has left.
const RELIST_INTERVAL: Duration = Duration::from_secs(3600);
/// The number of failed attempts after which a document waits for the next proxy.
const MAX_ATTEMPTS: usize = 3;
/// The tokens of an answer that are expected before there is one.
const EXPECTED_ANSWER_TOKENS: u64 = 800;
/// How long the end of the proxy waits for a description.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Describes uploaded documents.
pub(in crate::proxy) struct DescribeJobs {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    stores: Arc<StorePool>,
    /// The model that describes; `None` if none does.
    model: Option<Result<Model>>,
    tokens: DayTokens,
    state: Mutex<DescribeState>,
    /// Why documents are not described, by the partitions and the addresses at and below which they are;
    /// `None` for all.
    failures: Failures<Option<(String, String)>>,
    /// A permit for the round that runs.
    may_run: Semaphore,
    /// Something is to be described.
    added: Notify,
    /// Is called when a document was stored.
    on_stored: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct DescribeState {
    /// The partitions and the addresses at and below which documents are to be described.
    waiting: VecDeque<(String, Address)>,
    /// The failed attempts, by the ids of their documents.
    attempts: HashMap<String, usize>,
    /// Whether the uploads that other proxies have left are queued.
    is_listed: bool,
    is_ending: bool,
}

/// When documents that are not described are tried again.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Retry {
    Soon,
    /// When another process does not describe any more.
    Claimed,
    Tomorrow,
}

/// Why documents are not described.
enum Undescribed {
    /// One of them fails by itself, for this reason: the provider refuses it, or the answer is of no use.
    Useless(String),
    /// The tokens of the day are spent.
    Spent,
    /// The proxy ends.
    Ending,
}

impl DescribeJobs {
    /// Jobs that describe nothing unless the settings say so. `on_stored` is called when a document was
    /// stored.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        stores: &Arc<StorePool>,
        on_stored: impl Fn() + Send + Sync + 'static,
    ) -> DescribeJobs {
        DescribeJobs {
            model: (config.settings.text("documents.describe").as_deref() == Some("model"))
                .then(|| model(config)),
            tokens: DayTokens::of(config),
            config: config.clone(),
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            stores: stores.clone(),
            state: Mutex::default(),
            failures: Failures::default(),
            may_run: Semaphore::new(1),
            added: Notify::new(),
            on_stored: Box::new(on_stored),
        }
    }

    /// The number of uploads that wait to be described.
    pub(in crate::proxy) fn waiting(&self) -> usize {
        locked(&self.state).waiting.len()
    }

    /// Why documents are not described at present, if some should be: the reason for a caller.
    pub(in crate::proxy) fn failure(&self, visibility: &Visibility) -> Option<FailureReason> {
        self.failures.last(visibility)
    }

    /// Has the documents at and below an address described, which is that of an upload.
    pub(in crate::proxy) fn add(&self, partition: &str, address: &str) {
        if let Some(address) = Address::parse(address).ok().filter(|_| self.model.is_some()) {
            locked(&self.state).waiting.push_back((partition.to_owned(), address));
            self.added.notify_one();
        }
    }

    /// Waits for the description that is being made, within bounds; no other is begun.
    pub(in crate::proxy) async fn finish(&self) {
        locked(&self.state).is_ending = true;
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.may_run.acquire()).await;
    }

    /// Describes what is uploaded from now on, and what an earlier proxy has left.
    pub(in crate::proxy) fn resume(self: &Arc<DescribeJobs>) {
        if self.model.is_some() {
            let jobs = self.clone();
            self.blocking.spawn_task(async move { jobs.run().await });
        }
    }

    async fn run(self: Arc<DescribeJobs>) {
        let mut backoff = MIN_BACKOFF;
        loop {
            let jobs = self.clone();
            // The semaphore is never closed.
            let permit = self.may_run.acquire().await;
            let round = self.blocking.spawn(move || jobs.run_round());
            let Ok(round) = round.await else { return };
            drop(permit);
            let retry = round.unwrap_or_else(|error| {
                self.config.diagnostics.detail(error.at("documents are not described"));
                Some(Retry::Soon)
            });
            let pause = match retry {
                None => RELIST_INTERVAL,
                Some(Retry::Soon) => backoff,
                Some(Retry::Claimed) => CLAIM_INTERVAL,
                Some(Retry::Tomorrow) => self.tokens.until_tomorrow(),
            };
            backoff = if retry == Some(Retry::Soon) { MAX_BACKOFF.min(backoff * 2) } else { MIN_BACKOFF };
            tokio::select! {
                () = self.added.notified() => {}
                // Another proxy may have been killed before it described its uploads.
                () = tokio::time::sleep(pause) => locked(&self.state).is_listed &= retry.is_some(),
            }
        }
    }

    /// Queues the uploads of the partitions in which some are not described, unless that was done.
    fn list(&self) -> Result<()> {
        if locked(&self.state).is_listed {
            return Ok(());
        }
        let Some(mut store) = self.stores.open_existing()? else { return Ok(()) };
        let above = Address::parse(USERS)?;
        let uploads =
            Select { below: Some(Below::new(&above, None)), ..Select::records(vec![&DOCUMENT], Scopes::All) };
        let mut partitions: BTreeMap<String, Address> = BTreeMap::new();
        store.walk(&Walk::records(uploads), &mut |record| {
            if let Record::Stored(record) = record
                && record.is_by_rule()
                && let Ok(address) = documents_of(&record.scope.partition)
            {
                partitions.insert(record.scope.partition, address);
            }
            Ok(())
        })?;
        let mut state = locked(&self.state);
        for one in partitions {
            if !state.waiting.contains(&one) {
                state.waiting.push_back(one);
            }
        }
        state.is_listed = true;
        Ok(())
    }

    /// Describes what is queued, unless another process does. The rest stays in the queue; returns when to
    /// try it again.
    fn run_round(&self) -> Result<Option<Retry>> {
        if locked(&self.state).waiting.is_empty() {
            self.list()?;
        }
        if locked(&self.state).waiting.is_empty() {
            return Ok(None);
        }
        let Some(_claim) = self.stores.open_to_serve()?.claim(JOB)? else {
            // The next round lists again, and takes over documents that the other process leaves.
            locked(&self.state).is_listed = false;
            self.config
                .diagnostics
                .detail("another process describes documents; this one continues after it");
            return Ok(Some(Retry::Claimed));
        };
        self.list()?;
        let (mut left, mut retry) = (VecDeque::new(), None);
        while let Some((partition, address)) = self.next() {
            let about = Some((partition.clone(), address.to_string()));
            let of_partition = |text| FailureReason::of_partition(&partition, text);
            let (about, reason, when, stops) = match self.describe_below(&partition, &address) {
                Ok(None) => {
                    self.failures.clear(&about);
                    continue;
                }
                Ok(Some(Undescribed::Ending)) => return Ok(None),
                Ok(Some(Undescribed::Useless(reason))) => (about, of_partition(reason), Retry::Soon, false),
                Ok(Some(Undescribed::Spent)) => {
                    let text = format!("the {} tokens of the day are spent", self.tokens.limit);
                    (None, FailureReason::new(text), Retry::Tomorrow, true)
                }
                Err(error) => (about, of_partition(format!("{address}: {error}")), Retry::Soon, true),
            };
            if self.failures.set(about, reason.clone()) {
                self.config.diagnostics.note(format_args!("documents are not described: {}", reason.text));
            }
            retry = Some(when);
            left.push_back((partition, address));
            if stops {
                break;
            }
        }
        if retry != Some(Retry::Tomorrow) {
            self.failures.clear(&None);
        }
        locked(&self.state).waiting.extend(left);
        Ok(retry)
    }

    fn next(&self) -> Option<(String, Address)> {
        let mut state = locked(&self.state);
        if state.is_ending { None } else { state.waiting.pop_front() }
    }

    /// Describes the documents at and below an address that no model has described, each after its children.
    /// Returns why some are not. Errors if the store or the provider fails. No connection is kept while the
    /// model is asked.
    fn describe_below(&self, partition: &str, address: &Address) -> Result<Option<Undescribed>> {
        let stale = tree::stale(&mut *self.stores.open_to_serve()?, partition, address)?;
        let (mut abstracts, mut undescribed) = (HashMap::new(), None);
        for record in stale {
            match self.describe(record, &mut abstracts)? {
                None => {}
                Some(useless @ Undescribed::Useless(_)) => undescribed = Some(useless),
                end => return Ok(end),
            }
        }
        Ok(undescribed)
    }

    /// Describes a document, if it has words, and the model is not known to fail with it. `abstracts` has the
    /// new ones of those below it.
    fn describe(
        &self,
        record: StoredRecord,
        abstracts: &mut HashMap<String, String>,
    ) -> Result<Option<Undescribed>> {
        let (id, uri) = (record.id.clone(), record.member_text(URI));
        if self.attempts(&id) >= MAX_ATTEMPTS {
            return Ok(None);
        }
        let mut document = match line_of(record).and_then(|line| StaleDocument::parse(&line)) {
            Ok(Some(document)) if document.has_words() => document,
            Ok(_) => return Ok(None),
            Err(error) => return Ok(Some(self.count_attempt(id, &error.at(uri)))),
        };
        document.refresh(|uri| abstracts.remove(uri));
        self.foreground.wait_until_idle();
        if locked(&self.state).is_ending {
            return Ok(Some(Undescribed::Ending));
        }
        let (model, request) = (self.model()?, document.request());
        let expected = model.tokens_of(&request) + EXPECTED_ANSWER_TOKENS;
        if self.tokens.limit > 0 && expected > self.tokens.limit {
            self.pass_over(id, &uri, expected);
            return Ok(None);
        }
        if !self.tokens.book(&mut *self.stores.open_to_serve()?, expected)? {
            return Ok(Some(Undescribed::Spent));
        }
        let answer = model.ask_counted(&request);
        let tokens = answer.as_ref().map_or(0, |answer| answer.tokens);
        self.config.metrics.description_tokens.inc_by(tokens);
        self.tokens.settle(&mut *self.stores.open_to_serve()?, expected, tokens)?;
        let described = answer?.text.and_then(|text| document.described_by(&text, model.name()));
        let stored = described.and_then(|described| {
            store_line(&self.config, &mut *self.stores.open_to_serve()?, "the description", described.line)?;
            Ok(described.abstract_)
        });
        self.config.metrics.descriptions.add(stored.is_ok());
        match stored {
            Ok(abstract_) => {
                abstracts.insert(uri, abstract_);
                (self.on_stored)();
                Ok(None)
            }
            Err(error) => Ok(Some(self.count_attempt(id, &error.at(uri)))),
        }
    }

    /// The number of failed attempts at a document.
    fn attempts(&self, id: &str) -> usize {
        locked(&self.state).attempts.get(id).copied().unwrap_or(0)
    }

    /// Counts an attempt at a document that failed because of that document, for a reason.
    fn count_attempt(&self, id: String, error: &Error) -> Undescribed {
        *locked(&self.state).attempts.entry(id).or_default() += 1;
        Undescribed::Useless(error.to_string())
    }

    /// Leaves a document as it is that takes more tokens than a day has, and says so.
    fn pass_over(&self, id: String, uri: &str, expected: u64) {
        locked(&self.state).attempts.insert(id, MAX_ATTEMPTS);
        self.config.diagnostics.note(format_args!(
            "{uri} is not described: that takes about {expected} tokens, and documents.tokens_per_day is {}",
            self.tokens.limit
        ));
    }

    /// The model that describes. Errors if the settings name none.
    fn model(&self) -> Result<&Model> {
        self.model.as_ref().ok_or(WorkerFault::NoModel)?.as_ref().map_err(Clone::clone)
    }
}

/// The model that the settings name for descriptions. Errors if they name none.
fn model(config: &ProxyConfig) -> Result<Model> {
    let ProxyConfig { settings, clock, diagnostics, .. } = config;
    let name = settings.text("documents.model").or_else(|| settings.text("model"));
    Model::new(&name.ok_or(WorkerFault::NoModelSet)?, settings, *clock, diagnostics)
}
