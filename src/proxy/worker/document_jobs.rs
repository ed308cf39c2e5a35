//! Parses uploaded files by rsv-parse, a process of its own with limits, and stores their documents.

use super::blocking_pool::BlockingPool;
use super::degraded::{FailureReason, Failures};
use super::error::WorkerFault;
use super::spool::{ClaimedUpload, Spool, Upload, UploadState};
use super::store_pool::StorePool;
use crate::error::{Context, Result};
use crate::forget;
use crate::ingest::{Gathered, Options};
use crate::lines::{Feed, LocatedObject, ObjectSource, Reader};
use crate::proxy::config::ProxyConfig;
use crate::proxy::visibility::Visibility;
use crate::record::{Address, TouchedRecords};
use crate::store::Store;
use crate::tree;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::Semaphore;

/// The number of files that are parsed at once.
const MAX_PARSERS: usize = 2;
/// The most memory of a parser, in bytes, and its longest time.
const MEMORY_BYTES: u64 = 2 << 30;
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// A parser may print this many times the length of its file, and this many bytes more.
const OUTPUT_FACTOR: u64 = 16;
const OUTPUT_BYTES: u64 = 64 << 20;
/// The most that is read of what a parser says of a file that it cannot read, in bytes.
const REASON_BYTES: u64 = 16 << 10;
/// The first and the longest pause between two attempts to store documents.
const MIN_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// How often uploads are looked for that another process has left: one that was killed, or still held its
/// locks when this one began.
const RESCAN_INTERVAL: Duration = Duration::from_secs(10);

/// The documents as lines, and what the parser says, in the directory of an upload.
const LINES_FILE: &str = "lines.jsonl";
const STDERR_FILE: &str = "stderr";

/// Parses and stores uploads in the background.
pub(in crate::proxy) struct DocumentJobs {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    stores: Arc<StorePool>,
    spool: Spool,
    /// The command that parses; a file and an address follow.
    parser: Vec<OsString>,
    permits: Arc<Semaphore>,
    /// The number of uploads that are not stored and have not failed.
    unfinished: AtomicUsize,
    /// Why uploads cannot be stored at present, by the ids of their documents.
    failures: Failures<String>,
    /// Is called with an upload whose documents are stored.
    on_stored: Box<dyn Fn(&Upload) + Send + Sync>,
}

impl DocumentJobs {
    /// Jobs for the uploads of a spool. `on_stored` is called with each whose documents are stored.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        stores: &Arc<StorePool>,
        spool: &Spool,
        parser: Vec<OsString>,
        on_stored: impl Fn(&Upload) + Send + Sync + 'static,
    ) -> DocumentJobs {
        DocumentJobs {
            config: config.clone(),
            blocking: blocking.clone(),
            stores: stores.clone(),
            spool: spool.clone(),
            parser,
            permits: Arc::new(Semaphore::new(MAX_PARSERS)),
            unfinished: AtomicUsize::new(0),
            failures: Failures::default(),
            on_stored: Box::new(on_stored),
        }
    }

    /// The number of uploads that are not stored and have not failed.
    pub(in crate::proxy) fn unfinished(&self) -> usize {
        self.unfinished.load(Ordering::Relaxed)
    }

    /// Why documents cannot be stored at present, if some cannot: the reason for a caller.
    pub(in crate::proxy) fn failure(&self, visibility: &Visibility) -> Option<FailureReason> {
        self.failures.last(visibility)
    }

    /// Takes up the uploads that another process leaves, now and as long as this one runs.
    pub(in crate::proxy) fn resume(self: &Arc<DocumentJobs>) {
        let jobs = self.clone();
        self.blocking.spawn(move || {
            for path in jobs.spool.unassigned() {
                jobs.config.diagnostics.note(format_args!(
                    "the upload {} waits, and nothing says for which store; if it is for this one, move it to {}",
                    path.display(),
                    jobs.spool,
                ));
            }
        });
        let jobs = self.clone();
        self.blocking.spawn_task(async move {
            loop {
                let own = jobs.clone();
                let claim = move || {
                    own.failures.retain(|doc_id| own.spool.get(doc_id).is_some());
                    own.spool.claim_all()
                };
                // After a panic, the next round claims them.
                let claimed = jobs.blocking.spawn(claim).await;
                claimed.unwrap_or_default().into_iter().for_each(|upload| jobs.start(upload));
                tokio::time::sleep(RESCAN_INTERVAL).await;
            }
        });
    }

    /// Parses and stores an upload in the background. If the proxy ends before, another takes it up.
    pub(in crate::proxy) fn start(self: &Arc<DocumentJobs>, upload: ClaimedUpload) {
        let jobs = self.clone();
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        self.blocking.spawn_task(async move {
            let Upload { doc_id, user_id, .. } = upload.upload.clone();
            match jobs.run(upload).await {
                Ok(()) => jobs.failures.clear(&doc_id),
                Err(error) => {
                    let error = error.at(format_args!("the upload {doc_id}"));
                    jobs.config.diagnostics.fault(&error);
                    jobs.failures.set(doc_id, FailureReason::of_partition(&user_id, error.to_string()));
                }
            }
            jobs.unfinished.fetch_sub(1, Ordering::Relaxed);
        });
    }

    async fn run(self: &Arc<DocumentJobs>, mut upload: ClaimedUpload) -> Result<()> {
        let _permit = self.permits.clone().acquire_owned().await.context(WorkerFault::Panicked)?;
        if !upload.is_there() {
            return Ok(());
        }
        upload.set_state(UploadState::Parsing)?;
        let parsed = self.parse(&upload).await;
        let jobs = self.clone();
        let stored = self.blocking.spawn(move || match parsed {
            Ok(()) => jobs.store(upload),
            Err(reason) if upload.is_there() => jobs.fail(upload, reason),
            Err(_) => Ok(()),
        });
        stored.await.context(WorkerFault::Panicked)?
    }

    /// Parses a file into lines. Errors say why it cannot be read.
    async fn parse(&self, upload: &ClaimedUpload) -> std::result::Result<(), String> {
        let failed = |error: std::io::Error| format!("its parser cannot be started: {error}");
        let lines = upload.made(LINES_FILE);
        let Some((program, words)) = self.parser.split_first() else {
            return Err("its parser is not named".to_owned());
        };
        let mut command = Command::new(program);
        command.args(words).arg(format!("--partition={}", upload.upload.user_id));
        command.arg(format!("--to={}", upload.upload.uri)).args(["--jobs", "1", "--"]).arg(upload.file());
        command.stdin(Stdio::null()).stdout(File::create(&lines).map_err(failed)?);
        command.stderr(File::create(upload.made(STDERR_FILE)).map_err(failed)?).kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        limit_resources(child.id(), upload.upload.bytes);
        let status = match tokio::time::timeout(TIME_LIMIT, child.wait()).await {
            Ok(status) => status.map_err(failed)?,
            Err(_) => {
                // It may have ended just now.
                let _ = child.kill().await;
                return Err(format!("its parser needs more than {} s", TIME_LIMIT.as_secs()));
            }
        };
        if has_documents(&lines) && status.code().is_some() { Ok(()) } else { Err(reason(upload, status)) }
    }

    /// Stores the documents, as often as it takes, and removes the upload.
    fn store(&self, upload: ClaimedUpload) -> Result<()> {
        let mut backoff = MIN_BACKOFF;
        let refusal = loop {
            let error = match self.store_lines(&upload) {
                Ok(refusal) => break refusal,
                Err(_) if !upload.is_there() => break None,
                Err(error) => error,
            };
            let text = format!("{error}; the documents of {} wait to be stored", upload.upload.doc_id);
            if backoff == MAX_BACKOFF {
                self.config.diagnostics.detail(&text);
            } else {
                self.config.diagnostics.note(&text);
            }
            let Upload { doc_id, user_id, .. } = &upload.upload;
            self.failures.set(doc_id.clone(), FailureReason::of_partition(user_id, text));
            std::thread::sleep(backoff);
            backoff = MAX_BACKOFF.min(backoff * 2);
        };
        if refusal.is_some() || !upload.is_there() {
            // It was removed meanwhile, or not all of it can be stored.
            let mut store = self.stores.open_to_serve()?;
            let address = Address::parse(&upload.upload.uri)?;
            forget_tree(&mut *store, &upload.upload.user_id, &address, self.config.clock.now())?;
        }
        if !upload.is_there() {
            return Ok(());
        }
        if let Some(reason) = refusal {
            return self.fail(upload, reason);
        }
        self.spool.remove(&upload.upload.doc_id).context("cannot remove the upload")?;
        self.config.metrics.mark_stored(self.config.clock.now());
        self.config.metrics.uploads.add(true);
        (self.on_stored)(&upload.upload);
        Ok(())
    }

    /// Ends the work on a file that cannot be stored, for a reason.
    fn fail(&self, upload: ClaimedUpload, reason: String) -> Result<()> {
        self.config.metrics.uploads.add(false);
        upload.fail(reason)
    }

    /// Stores the documents. Returns why one cannot be stored, if one cannot. Errors if the store fails.
    fn store_lines(&self, upload: &ClaimedUpload) -> Result<Option<String>> {
        let mut store = self.stores.open_to_serve()?;
        let path = upload.made(LINES_FILE);
        let file = File::open(&path).context(format_args!("cannot open {}", path.display()))?;
        let limit = self.config.settings.max_line();
        let lines =
            NamedLines { inner: Reader::new("rsv-parse", file, limit), source: upload.upload.name.clone() };
        let partition = Some(upload.upload.user_id.clone());
        let mut ingest = self.config.new_batch(Options { partition, ..Options::default() });
        let mut feed = Feed::lines_of([lines].into_iter(), ingest.redaction())?;
        let mut refusal = None;
        loop {
            let gathered = ingest.gather(&mut feed, &mut |line| match line {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    refusal.get_or_insert(error.to_string());
                    ControlFlow::Break(())
                }
            });
            self.config.note_redaction(&ingest);
            let stored = ingest.commit(&mut *store)?;
            let error = stored.into_iter().find_map(|line| line.line.err());
            refusal = refusal.or(error.map(|error| error.to_string()));
            if refusal.is_some() || gathered == Gathered::All || !upload.is_there() {
                return Ok(refusal);
            }
        }
    }
}

/// The address below which the documents of all users are.
pub(super) const USERS: &str = "viking://resources/users";

/// The address below which the documents of a user are. Errors if the name cannot be a segment.
pub(in crate::proxy) fn documents_of(user: &str) -> Result<Address> {
    Address::parse(USERS)?.join(user)?.join("documents")
}

/// Forgets the documents at and below an address. Returns their number. Fails if the store does.
pub(in crate::proxy) fn forget_tree(
    store: &mut dyn Store,
    partition: &str,
    address: &Address,
    now: i64,
) -> Result<TouchedRecords> {
    let mut nodes = tree::below(store, partition, address, None)?;
    nodes.extend(tree::node(store, partition, address)?);
    let mut ids: BTreeSet<String> = nodes.into_iter().map(|node| node.id).collect();
    ids.extend(forget::same_words(store, &ids)?);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    if !ids.is_empty() {
        store.forget(&ids, now)?;
        forget::erase(store)?;
    }
    Ok(TouchedRecords::of(ids))
}

/// The lines of a parser, in which the source of a document is the name of the file that was uploaded.
struct NamedLines {
    inner: Reader<File>,
    source: String,
}

impl ObjectSource for NamedLines {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        let mut next = self.inner.next()?;
        if let Ok(LocatedObject { object, .. }) = &mut next
            && object.has("source")
        {
            object.set_text("source", &self.source);
        }
        Some(next)
    }

    fn drained(&self) -> bool {
        ObjectSource::drained(&self.inner)
    }

    fn consumed(&self) -> u64 {
        ObjectSource::consumed(&self.inner)
    }
}

/// Bounds the memory, the time and the output of a parser, where the system can bound those of another
/// process.
#[cfg(target_os = "linux")]
fn limit_resources(child: Option<u32>, bytes: u64) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(child) = child.and_then(|id| Pid::from_raw(id.cast_signed())) else { return };
    let output = bytes.saturating_mul(OUTPUT_FACTOR).saturating_add(OUTPUT_BYTES);
    for (resource, limit) in
        [(Resource::As, MEMORY_BYTES), (Resource::Cpu, TIME_LIMIT.as_secs()), (Resource::Fsize, output)]
    {
        // A parser that has ended needs no limit.
        let _ = prlimit(Some(child), resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_resources(_child: Option<u32>, _bytes: u64) {}

/// Whether a parser has printed a document, beside the last line, which ends the tree.
fn has_documents(lines: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(lines).and_then(|file| file.take(64).read_to_end(&mut begin));
    read.is_ok() && begin.starts_with(b"{\"kind\":\"document\"")
}

/// Why a parser has printed no document: its own words, as far as they can be read.
fn reason(upload: &ClaimedUpload, status: ExitStatus) -> String {
    if status.code().is_none() {
        let (seconds, gib) = (TIME_LIMIT.as_secs(), MEMORY_BYTES >> 30);
        return format!("its parser needs more than {seconds} s or {gib} GiB, or prints too much");
    }
    let mut said = String::new();
    let file = File::open(upload.made(STDERR_FILE));
    let _ = file.and_then(|file| file.take(REASON_BYTES).read_to_string(&mut said));
    let mark = format!("cannot read {}: ", upload.file().display());
    match said.lines().find_map(|line| line.split_once(&mark)) {
        Some((_, reason)) => reason.to_owned(),
        None => "its parser failed".to_owned(),
    }
}
