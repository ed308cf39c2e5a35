//! Similar memories into one: `rsv-embed --pending; rsv-link --clusters | rsv-merge | rsv-ingest` of a
//! partition.

use super::answer::Answer;
use super::arguments::Arguments;
use super::call::Call;
use super::error::McpError;
use super::recall::member;
use crate::backfill;
use crate::error::{Context, Result};
use crate::link::{self, ClusterRule};
use crate::merge;
use crate::record::Object;
use crate::text::{counted, counted_verb};
use serde::Serialize;
use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// A partition that was consolidated in this time is passed over, as rsv-link does.
const WINDOW: Duration = Duration::from_secs(20 * 3600);

/// The lock that rsv-consolidate takes too, in rsv's data directory.
const LOCK_FILE: &str = "consolidate.lock";

/// Consolidates the memories of the client's partition, unless another consolidation of the same user is at
/// work.
pub(super) fn consolidate(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let begin = Instant::now();
    let is_dry_run = arguments.flag("dry_run");
    let places = call.server.settings.places();
    let lock = places.data.as_deref().map(lock).transpose()?;
    if let Some(None) = lock {
        let sums = Sums::default();
        let content = sums.content(is_dry_run, begin.elapsed());
        return Ok(Answer::new("nothing was done: another consolidation is at work", content));
    }
    let found = clusters(call, arguments)?;
    let sums = merge_all(call, &found, is_dry_run)?;
    let verb = if is_dry_run { "would be made" } else { "made" };
    let mut text = format!(
        "{} {verb} of {}, {} examined",
        counted(sums.created.len() as u64, "memory"),
        sums.archived.len(),
        sums.examined,
    );
    if found.is_passed_over {
        text.push_str(
            "; the project was consolidated within the last 20 hours, and is passed over without force",
        );
    }
    if found.unembedded > 0 {
        let memories = counted_verb(found.unembedded as u64, "memory", ["has", "have"]);
        text.push_str(&format!("; {memories} no vector and cannot be compared: rsv-embed --pending"));
    }
    Ok(Answer::new(text, sums.content(is_dry_run, begin.elapsed())))
}

/// Replaces each cluster by one memory, or in a dry run only reports it.
fn merge_all(call: &Call, found: &Found, is_dry_run: bool) -> Result<Sums> {
    let mut sums = Sums { examined: found.examined, ..Sums::default() };
    let total = found.clusters.len();
    for (at, line) in found.clusters.iter().enumerate() {
        call.step(at, Some(total), format!("cluster {} of {total}", at + 1))?;
        let members = line.objects("members")?.unwrap_or_default();
        let made = if is_dry_run { Ok(format!("dry-run-cluster-{}", at + 1)) } else { merge_one(call, line) };
        match made {
            Ok(id) => {
                sums.created.push(id);
                sums.archived.extend(members.iter().map(|memory| member(memory, "id")));
            }
            // Another process consolidated them meanwhile.
            Err(error) => call.server.diagnostics.note(format_args!("not merged: {error}")),
        }
    }
    call.step(total, Some(total), "done")?;
    Ok(sums)
}

/// The result of a consolidation, or of a dry run.
#[derive(Default)]
struct Sums {
    /// The ids of the memories that were made.
    created: Vec<String>,
    /// The ids of those whose place they took.
    archived: Vec<String>,
    examined: usize,
}

/// The structured content of the answer.
#[derive(Serialize)]
struct Consolidation<'a> {
    created_memories: &'a [String],
    archived_memories: &'a [String],
    skipped_count: usize,
    total_processed: usize,
    duration_seconds: f64,
    dry_run: bool,
}

impl Sums {
    fn content(&self, is_dry_run: bool, took: Duration) -> Consolidation<'_> {
        Consolidation {
            created_memories: &self.created,
            archived_memories: &self.archived,
            skipped_count: self.examined.saturating_sub(self.archived.len()),
            total_processed: self.examined,
            duration_seconds: took.as_secs_f64(),
            dry_run: is_dry_run,
        }
    }
}

/// Takes the lock in rsv's data directory, which is made if it is missing; `None` if another process or call
/// holds it. The system gives it back when the file is closed, however the process ends.
fn lock(data_dir: &Path) -> Result<Option<File>> {
    let path = data_dir.join(LOCK_FILE);
    let context = format!("cannot lock {}", path.display());
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir).context(&context)?;
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path).context(&context)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).context(context),
    }
}

struct Found {
    /// As the lines that rsv-link prints.
    clusters: Vec<Object>,
    examined: usize,
    unembedded: usize,
    is_passed_over: bool,
}

fn clusters(call: &Call, arguments: &Arguments) -> Result<Found> {
    let settings = &call.server.settings;
    let scopes = call.scope.to_read(None)?;
    let store = &mut *call.open_to_read()?;
    if let Some(mut embedder) = call.embedder(store)? {
        let limit = backfill::catch_up_limit(settings);
        let partition = call.scope.partition()?;
        link::embed_pending(store, &mut embedder, &partition, limit, &call.server.diagnostics);
    }
    call.step(0, None, "looking for similar memories")?;
    let rule = ClusterRule {
        // The parameter has a default.
        threshold: arguments.number("similarity_threshold").unwrap_or_default(),
        // 0 is all of them.
        max: Some(arguments.whole("max_clusters")).filter(|max| *max > 0),
        window: (!arguments.flag("force")).then_some(WINDOW),
        centroid: false,
        prior: call.prior(),
    };
    let model = backfill::model_of(store)?.unwrap_or_default();
    let mut clusters = Vec::new();
    let sums = link::clusters(store, &model, &[scopes], &rule, call.server.clock.now(), &mut |cluster| {
        let mut line = Vec::new();
        cluster.write(&mut line);
        clusters.push(Object::parse_bytes(&line)?);
        Ok(())
    })?;
    let is_passed_over = sums.passed_over > 0;
    Ok(Found { clusters, examined: sums.examined, unembedded: sums.unembedded, is_passed_over })
}

/// Merges the members of a cluster by rule, and stores the memory that takes their place; returns its id.
fn merge_one(call: &Call, line: &Object) -> Result<String> {
    let cluster = merge::Cluster::parse(line)?;
    let memory = merge::by_rule(&cluster, call.server.clock.now());
    let scope = call.scope.to_write(None)?;
    let ingested =
        call.ingest(&scope, None, &mut |ingest| ingest.add_object("memory_consolidate", memory.clone()))?;
    let stored = ingested.lines.iter().find(|line| line.word("kind") == Some("memory"));
    Ok(stored.map(|line| member(line, "id")).ok_or(McpError::Forgotten)?)
}
