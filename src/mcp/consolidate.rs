//! Similar memories into one: `rsv-embed --pending; rsv-link --clusters | rsv-merge | rsv-ingest` of a partition.

use super::answer::{Answer, counted};
use super::arguments::Arguments;
use super::call::Call;
use super::recall::member;
use crate::backfill;
use crate::error::{Error, Result};
use crate::link::{self, ClusterRule};
use crate::merge;
use crate::record::Object;
use serde_json::json;
use std::time::{Duration, Instant};

/// A partition that was consolidated in this time is passed over, as rsv-link does.
const WINDOW: Duration = Duration::from_secs(20 * 3600);

/// Consolidates the memories of the client's partition.
pub(super) fn consolidate(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let begin = Instant::now();
    call.scope.check_project(arguments.text("project_id"))?;
    let is_dry_run = arguments.flag("dry_run");
    let found = clusters(call, arguments)?;
    let (mut created, mut archived, mut skipped) = (Vec::new(), Vec::new(), 0);
    let total = found.clusters.len();
    for (at, line) in found.clusters.into_iter().enumerate() {
        call.step(at, Some(total), format!("cluster {} of {total}", at + 1))?;
        let members: Vec<String> =
            line.objects("members")?.unwrap_or_default().iter().map(|memory| member(memory, "id")).collect();
        if is_dry_run {
            created.push(format!("dry-run-cluster-{}", at + 1));
            archived.extend(members);
            continue;
        }
        match merge_one(call, &line) {
            Ok(id) => {
                created.push(id);
                archived.extend(members);
            }
            Err(error) => {
                // Another process consolidated them meanwhile.
                call.server.diagnostics.note(format_args!("not merged: {error}"));
                skipped += members.len();
            }
        }
    }
    call.step(total, Some(total), "done")?;
    let seconds = begin.elapsed().as_secs_f64();
    let verb = if is_dry_run { "would be made" } else { "made" };
    let mut text = format!(
        "{} {verb} of {}, {} examined",
        counted(created.len(), "memory", "memories"),
        archived.len(),
        found.examined,
    );
    if found.is_passed_over {
        text.push_str(
            "; the project was consolidated within the last 20 hours, and is passed over without force",
        );
    }
    if found.unembedded > 0 {
        let memories = counted(found.unembedded, "memory has", "memories have");
        text.push_str(&format!("; {memories} no vector and cannot be compared: rsv-embed --pending"));
    }
    // What is similar to nothing was examined as well.
    let skipped = skipped + found.examined.saturating_sub(archived.len() + skipped);
    let json = json!({
        "created_memories": created,
        "archived_memories": archived,
        "skipped_count": skipped,
        "total_processed": found.examined,
        "duration_seconds": seconds,
        "dry_run": is_dry_run,
    });
    Ok(Answer::new(text, json))
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
    let lines = call.ingest(&scope, &mut |ingest| ingest.add_object("memory_consolidate", memory.clone()))?;
    let stored = lines.iter().find(|line| line.get("kind") == Some("\"memory\""));
    stored
        .map(|line| member(line, "id"))
        .ok_or_else(|| Error::new("the memory was forgotten, and is kept out"))
}
