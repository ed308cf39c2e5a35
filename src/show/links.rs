//! The graph of messages and the likeness of memories, as rsv-link prints them.

use super::error::ShowError;
use crate::backfill;
use crate::cli::{BadLines, Io, Outcome};
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::Result;
use crate::link::synapse::Plan;
use crate::link::{self, ClusterRule, Graph, Nearness, Stats, Tie};
use crate::memory::PriorRule;
use crate::record::{Commit, Link, MEMORY, Record, Scopes, VectorFormat};
use crate::search;
use crate::store::{self, Removal, Select, Store};
use crate::text::{counted, counted_verb};
use std::cell::RefCell;
use std::time::Instant;

/// Prints a link as a line.
pub fn link(link: Link, io: &mut Io) -> Result<()> {
    io.out.with(|out| Record::Link(link).write_line(VectorFormat::Numbers, out))
}

/// Links two records, or, with `unlink`, removes their link, and prints a new one. No if there is none to
/// remove.
pub fn tie(store: &mut dyn Store, scopes: &Scopes, tie: &Tie, unlink: bool, io: &mut Io) -> Result<Outcome> {
    let (partition, now) = (io.common.scope()?.partition, io.clock.now());
    let made = tie.to_link(store, scopes, &partition, now)?;
    if unlink {
        return Ok(Outcome::of(store.remove(Removal::Link(&made), now)? > 0));
    }
    link::write_tie(store, &made, now)?;
    link(made, io).map(|()| Outcome::Yes)
}

/// Which links are made.
#[derive(Clone, Copy)]
pub struct MakeOptions {
    /// Whether they are only printed.
    pub dry_run: bool,
    /// Whether all synapses are recomputed.
    pub rebuild: bool,
    /// Whether messages of Reservoir are taken over first.
    pub adopt: bool,
    /// The least cosine of a synapse, if not that of the settings or of the model.
    pub threshold: Option<f64>,
    /// The greatest number of synapses of a message, if not that of the settings.
    pub max_degree: Option<u32>,
}

/// Makes the links that are missing, and prints them.
pub fn make(
    store: &mut dyn Store,
    settings: &Settings,
    scopes: &Scopes,
    MakeOptions { dry_run, rebuild, adopt, threshold, max_degree }: MakeOptions,
    io: &mut Io,
) -> Result<Outcome> {
    if adopt {
        let adopted = store.adopt()?;
        for error in store::unreadable(store)? {
            io.fault(&error);
        }
        io.detail(format_args!("took over {}", counted(adopted, "message")));
    }
    let plan = Plan::from_settings(store, settings, threshold, max_degree.map(|degree| degree as usize))?;
    if dry_run {
        link::dry_run(store, plan.as_ref(), scopes, rebuild, &mut |made| link(made, io))?;
    } else {
        link::bring_up_to_date(store, plan.as_ref(), scopes, rebuild, io, &mut link)?;
    }
    if plan.is_none() {
        io.detail(
            "no message has a vector yet, so none can be linked by similarity; add vectors with: rsv-embed --pending",
        );
    }
    Ok(Outcome::Yes)
}

/// Prints pairs of messages that say different things of the same subject. No if there are none.
pub fn contradictions(store: &mut dyn Store, scopes: &Scopes, io: &mut Io) -> Result<Outcome> {
    let found = search::contradictions(store, scopes)?;
    found.iter().try_for_each(|pair| io.out.object(&pair.to_object()))?;
    if !found.is_empty() {
        io.note("settle one with: rsv-link --rel CORRECTS NEWER OLDER");
    }
    Ok(Outcome::of(!found.is_empty()))
}

/// Prints the statistics of each scope that has messages.
pub fn stats(store: &mut dyn Store, scopes: &Scopes, io: &mut Io) -> Result<Outcome> {
    for (scope, messages) in store.scopes(None)? {
        if messages > 0 && scopes.contains(&scope) {
            io.out.object(&Stats::read(store, &scope)?.to_object(&scope))?;
        }
    }
    Ok(Outcome::Yes)
}

/// Prints the links of the strongest path between two messages. No if there is none.
pub fn path(store: &mut dyn Store, scopes: &Scopes, ends: [&str; 2], io: &mut Io) -> Result<Outcome> {
    let Some(path) = Graph::path_between(store, scopes, ends)? else { return Ok(Outcome::No) };
    path.into_iter().try_for_each(|one| link(one, io)).map(|()| Outcome::Yes)
}

/// Prints the clusters of similar memories in the scopes of the flags, and, with `totals`, a line with the
/// counts.
pub fn clusters(
    store: &mut dyn Store,
    settings: &Settings,
    rule: &ClusterRule,
    totals: bool,
    io: &mut Io,
) -> Result<Outcome> {
    let begin = Instant::now();
    let (scopes, now) = (io.common.each_to_cover()?, io.clock.now());
    let not_embedded = embed_memories(store, settings, &scopes, io).err();
    let model = backfill::model_of(store)?.unwrap_or_default();
    let sums = link::clusters(store, &model, &scopes, rule, now, &mut |cluster| {
        io.out.with(|out| {
            cluster.write(out);
            out.push(b'\n');
        })
    })?;
    if totals {
        io.out.object(&sums.to_object())?;
    }
    io.out.flush()?;
    io.note(format_args!("{}, in {:.1} s", sums.to_text(), begin.elapsed().as_secs_f64()));
    if sums.unembedded > 0 {
        let memories = counted_verb(sums.unembedded as u64, "memory", ["has", "have"]);
        let text = format!("{memories} no vector and cannot be compared");
        match not_embedded {
            Some(why) => io.fault(&why.at(text)),
            None => io.note(format_args!("{text}; add them with: rsv-embed --pending")),
        }
    }
    Ok(Outcome::Yes)
}

/// Makes the missing vectors of memories, by which they are compared, if there is a model. Memories that
/// cannot have one are named. Errors if the model of the settings cannot be used, or the store has another.
fn embed_memories(store: &mut dyn Store, settings: &Settings, scopes: &[Scopes], io: &mut Io) -> Result<()> {
    let mut embedder = match backfill::optional(store, settings, Workload::Many, &io.diagnostics()) {
        Ok(Some(embedder)) => embedder,
        Err(error) if settings.text("embed.model").is_some() => return Err(error),
        // Nobody chose a model, and that of the store is not installed.
        Ok(None) | Err(_) => return Ok(()),
    };
    if let Some(model) = backfill::model_of(store)?.filter(|model| model != embedder.model()) {
        return Err(ShowError::NotInstalled { model }.into());
    }
    let bar = RefCell::new(io.progress());
    let mut report = |done, of| bar.borrow_mut().set("embedding", done, Some(of));
    let mut fault = |error| bar.borrow().suspend(|| io.fault(&error));
    for scopes in scopes {
        let which = Select::records(vec![&MEMORY], scopes.clone());
        backfill::all(store, &mut embedder, &which, &mut report, &mut fault)?;
    }
    Ok(())
}

/// Reads commits of sessions from standard input, and prints them with the stored memories that are near
/// theirs. Other lines are passed on.
pub fn near(store: &mut dyn Store, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut embedder = match backfill::optional(store, settings, Workload::Few, &io.diagnostics()) {
        Ok(embedder) => embedder,
        Err(why) => {
            io.note(format_args!("comparing by words: {why}"));
            None
        }
    };
    let stdin = vec![("<stdin>".to_owned(), io.stdin()?)];
    let bad_lines = BadLines::of_each(stdin, settings.max_line(), io, &mut |line, io| {
        let add = |object| -> Result<_> {
            let mut commit = Commit::parse(object).map_err(|error| error.at(line.location))?;
            add_near(&mut commit, store, settings, &mut embedder, io)?;
            Ok(commit.into_line())
        };
        let line = if Commit::is_commit(&line.object) { add(line.object) } else { Ok(line.object) };
        match line {
            Ok(line) => io.out.object(&line).and_then(|()| io.out.flush()).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    })?;
    bad_lines.end(io);
    Ok(Outcome::Yes)
}

/// Adds to each memory of a commit the stored ones that are near it: by meaning as long as the model can be
/// used, which a note says, then by words.
fn add_near(
    commit: &mut Commit,
    store: &mut dyn Store,
    settings: &Settings,
    embedder: &mut Option<Embedder>,
    io: &Io,
) -> Result<()> {
    if let Some(embedder) = embedder.as_mut().filter(|_| !commit.memories.is_empty()) {
        let limit = backfill::catch_up_limit(settings);
        link::embed_pending(store, embedder, &commit.scope.partition, limit, &io.diagnostics());
    }
    let prior = PriorRule::from_settings(settings);
    let Err(why) = (Nearness { embedder: embedder.as_mut(), prior }).add_to(commit, store) else {
        return Ok(());
    };
    if embedder.take().is_none() {
        return Ok(());
    }
    io.note(format_args!("comparing by words: {why}"));
    Nearness { embedder: None, prior }.add_to(commit, store)
}
