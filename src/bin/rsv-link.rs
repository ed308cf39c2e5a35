//! rsv-link: brings the links between messages up to date, and shows them; finds similar memories.

use rsv::backfill;
use rsv::cli::{self, BadLines, Io, Outcome};
use rsv::config::{Settings, parse_duration};
use rsv::embed::Workload;
use rsv::error::{Error, Result};
use rsv::lines::{LocatedObject, Reader};
use rsv::link::synapse::{self, Plan};
use rsv::link::{self, ClusterRule, ClusterSums, Graph, Nearness, Stats};
use rsv::memory::PriorRule;
use rsv::picture::{self, Arrangement, GraphOptions};
use rsv::record::{
    Address, Commit, Link, MEMORY, Object, Reach, Record, RecordKind, SYNAPSE, Scopes, VectorFormat,
};
use rsv::search::{self, Contradiction};
use rsv::store::{self, Forgotten, OpenMode, Removal, Select, Store, WriteOutcome, WriteRules, WriteSource};
use rsv::text::{counted, counted_verb};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Link answers to their questions and similar messages to each other, and print the new links
///
/// An answer is linked to the user's turn before it in its trace (RESPONDED_WITH). Messages of one partition are
/// linked if their vectors are near enough (SYNAPSE): each message that got a vector since the last run is
/// compared with all others. With FROM and TO, only these two records are linked. rsv-link works on the whole store, or on the scope that -p and -i name.
#[derive(clap::Args)]
struct Args {
    /// Link this record, by its id or its address (viking://...), and nothing else
    #[arg(value_name = "FROM", requires = "to", conflicts_with_all = ["Show", "dry_run", "rebuild", "adopt", "clusters", "threshold", "max_degree"])]
    from: Option<String>,
    /// The record to which it is linked
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// With FROM and TO: give the link this name, in capitals [default: RELATED]
    #[arg(long, value_name = "NAME", requires = "from")]
    rel: Option<String>,
    /// With FROM and TO: say why they are linked
    #[arg(long, value_name = "TEXT", requires = "from", conflicts_with = "unlink")]
    reason: Option<String>,
    /// With FROM and TO: remove the link, and keep it out from then on; exit with 1 if there is none
    #[arg(long, requires = "from")]
    unlink: bool,
    /// Print the links that would be made, and write nothing
    #[arg(long, conflicts_with = "Show")]
    dry_run: bool,
    /// Rebuild all synapses, not only those of new messages, within the reach of link.reach
    #[arg(long, conflicts_with = "Show")]
    rebuild: bool,
    /// First take over the messages that Reservoir wrote into the same Neo4j graph, giving each an id, and have Reservoir's
    /// vector index find all messages
    #[arg(long, conflicts_with_all = ["Show", "dry_run"])]
    adopt: bool,
    /// Require at least this similarity (cosine) for a synapse [default: link.threshold, else the model's own], or, for a
    /// cluster, more than this [default: 0.8]
    #[arg(long, value_name = "COSINE", conflicts_with = "Show", allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Keep at most this many synapses per message, the strongest [default: link.max_degree, 32]
    #[arg(long, value_name = "COUNT", conflicts_with = "Show", value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_degree: Option<u32>,
    /// Work on all scopes of the store (the default)
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    #[command(flatten)]
    clusters: Clusters,
    /// Read the commits that 'rsv-distill --commit' prints from standard input, and add to each memory the five stored ones
    /// of its category that are nearest to it, for rsv-merge
    #[arg(long, conflicts_with_all = ["Show", "from", "dry_run", "rebuild", "adopt", "clusters", "threshold", "max_degree"])]
    near: bool,
    /// Print pairs of the user's messages that say different things of the same subject, the newest first, for you to
    /// settle
    #[arg(long, conflicts_with_all = ["Show", "from", "dry_run", "rebuild", "adopt", "clusters", "threshold", "max_degree", "near"])]
    contradictions: bool,
    #[command(flatten)]
    show: Show,
    /// With --format: show at most this many messages, or 'all' of them, with all links, as json
    #[arg(long, value_name = "COUNT", default_value = "150", value_parser = nodes, requires = "format")]
    nodes: Nodes,
    /// With --format: place messages in groups (the default), or along time
    #[arg(long, value_name = "LAYOUT", value_parser = ["groups", "time"], hide_possible_values = true, requires = "format")]
    layout: Option<String>,
    /// With --format: show only messages that a search for this text finds
    #[arg(long, value_name = "TEXT", requires = "format", conflicts_with = "around")]
    about: Option<String>,
    /// With --format: show only the part of the graph near this message
    #[arg(long, value_name = "ID", requires = "format")]
    around: Option<String>,
    /// With --around: show messages at most this many links away
    #[arg(long, value_name = "COUNT", default_value_t = 2, requires = "around")]
    hops: usize,
}

/// How many messages a picture shows.
#[derive(Clone, Copy, Debug)]
enum Nodes {
    AtMost(usize),
    All,
}

/// More messages make no picture, and take minutes to place.
const MAX_NODES: usize = 3000;

fn nodes(text: &str) -> std::result::Result<Nodes, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_NODES).contains(number));
    match (text, number) {
        ("all", _) => Ok(Nodes::All),
        (_, Some(number)) => Ok(Nodes::AtMost(number)),
        _ => Err(format!("expected a number from 1 to {MAX_NODES}, or all")),
    }
}

/// Tasks of consolidation, instead of making links.
#[derive(clap::Args)]
#[group(id = cli::SEVERAL_PARTITIONS)]
struct Clusters {
    /// Print clusters of similar memories, for rsv-merge; -p may be repeated
    #[arg(long, conflicts_with_all = ["Show", "dry_run", "rebuild", "adopt", "max_degree"])]
    clusters: bool,
    /// With --clusters: compare records of this kind: memory, the default
    #[arg(long, value_name = "KIND", value_parser = cli::kind, requires = "clusters")]
    kind: Option<&'static RecordKind>,
    /// With --clusters: print at most this many
    #[arg(long, value_name = "COUNT", requires = "clusters", value_parser = clap::value_parser!(u32).range(1..))]
    max: Option<u32>,
    /// With --clusters: pass over a partition that was consolidated in this time
    #[arg(long, value_name = "DURATION", default_value = "20h", requires = "clusters", value_parser = window)]
    window: Duration,
    /// With --clusters: pass over no partition
    #[arg(long, requires = "clusters", conflicts_with = "window")]
    force: bool,
    /// With --clusters: print the mean of the vectors of each cluster too
    #[arg(long, requires = "clusters")]
    centroid: bool,
    /// With --clusters: print a last line with the numbers of memories that were examined and that are in clusters
    #[arg(long, requires = "clusters")]
    totals: bool,
}

fn window(text: &str) -> std::result::Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// The similarity that the members of a cluster exceed.
const CLUSTER_THRESHOLD: f64 = 0.8;

/// Views of the graph, instead of making links.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Show {
    /// Print statistics of the graph, one line per scope: degrees, components and hubs
    #[arg(long)]
    stats: bool,
    /// Print the links on the strongest path between two messages; exit with 1 if there is none
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
    path: Option<Vec<String>>,
    /// Print a picture of the graph: svg, html with a search, dot for Graphviz, or json
    #[arg(long, value_name = "FORMAT", value_parser = ["svg", "html", "dot", "json"], hide_possible_values = true)]
    format: Option<String>,
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    // To take messages over reports those that cannot be read as errors.
    let mut store = if args.adopt {
        store::open(&settings.store()?, OpenMode::Existing)?
    } else {
        store::open_to_read(&settings, io)?
    };
    search::complete_instance(&mut *store, io)?;
    let scopes = io.common.to_cover()?;
    if let (Some(from), Some(to)) = (&args.from, &args.to) {
        drop(store);
        let mut store = store::open(&settings.store()?, OpenMode::Create)?;
        return tie(&mut *store, &scopes, [from, to], &args, io);
    }
    if args.near {
        return near(&mut *store, &settings, io);
    }
    if args.contradictions {
        return contradictions(&mut *store, &scopes, io);
    }
    if args.clusters.clusters {
        return clusters(&mut *store, &settings, &args, io);
    }
    if args.show.stats {
        return stats(&mut *store, &scopes, io);
    }
    if let Some([from, to]) = args.show.path.as_deref() {
        let [from, to] = [from, to].map(|id| store::full_id(&mut *store, id, &scopes));
        return path(&mut *store, &scopes, &from?, &to?, io);
    }
    if let Some(format) = &args.show.format {
        return draw(&mut *store, &settings, &scopes, format, &args, io);
    }
    make(&mut *store, &settings, &scopes, &args, io)
}

/// Links two records, or removes their link, and prints it.
fn tie(store: &mut dyn Store, scopes: &Scopes, ends: [&str; 2], args: &Args, io: &mut Io) -> Result<Outcome> {
    let partition = io.common.scope()?.partition;
    let mut ids = Vec::new();
    for end in ends {
        let id = if end.starts_with("viking://") {
            Address::resolve(end, &partition)?.document_id(&partition)
        } else {
            store::full_id(store, end, scopes)?
        };
        if !store.scope_of(&id)?.is_some_and(|scope| scopes.contains(&scope)) {
            return Err(Error::new(format!("there is no record {end}"))
                .hint("-p names the partition of a document; rsv-search and rsv-view show ids"));
        }
        ids.push(id);
    }
    let now = io.clock.now();
    let mut line = Object::default();
    let name = args.rel.as_deref().unwrap_or(RELATED);
    for (member, value) in [("rel", name), ("from", &ids[0]), ("to", &ids[1])] {
        line.set_text(member, value);
    }
    line.set("timestamp", now.to_string());
    if let Some(reason) = &args.reason {
        line.set_text("reason", reason);
    }
    let link = Link::parse(line)?;
    if link.rel == SYNAPSE {
        return Err(Error::new("--rel: a SYNAPSE follows from vectors").hint("give another name"));
    }
    if args.unlink {
        let removed = store.remove(Removal::Link(&link), now)?;
        return Ok(if removed > 0 { Outcome::Yes } else { Outcome::No });
    }
    let rules =
        WriteRules { forgotten: Forgotten::Return { at: now }, source: WriteSource::Import, import: None };
    if let Some(WriteOutcome::Refused(why)) = store.write(&[Record::Link(link.clone())], rules)?.pop() {
        return Err(Error::new(why));
    }
    io.out.with(|out| Record::Link(link).write_line(VectorFormat::Numbers, out))?;
    Ok(Outcome::Yes)
}

/// The name of a link that has no other.
const RELATED: &str = "RELATED";

/// Makes the links that are missing, and prints them.
fn make(
    store: &mut dyn Store,
    settings: &Settings,
    scopes: &Scopes,
    args: &Args,
    io: &mut Io,
) -> Result<Outcome> {
    let degree = args.max_degree.map(|degree| degree as usize);
    if args.adopt {
        let adopted = store.adopt()?;
        for error in store::unreadable(store)? {
            io.fault(&error);
        }
        io.detail(format_args!("took over {}", counted(adopted, "message")));
    }
    let plan = Plan::from_settings(store, settings, args.threshold, degree)?;
    let _claim = if args.dry_run { None } else { Some(backfill::claim(store, "link", &io.diagnostics())?) };
    let mut bar = io.progress();
    let out = &mut io.out;
    let mut made = |link| out.with(|out| Record::Link(link).write_line(VectorFormat::Numbers, out));
    let mut report = |done, of| bar.set("linking", done, Some(of));
    let plan = plan.as_ref();
    if args.dry_run {
        link::dry_run(store, plan, scopes, args.rebuild, &mut made)?;
    } else {
        link::bring_up_to_date(store, plan, scopes, args.rebuild, &mut report, &mut made)?;
    }
    drop(bar);
    if plan.is_none() {
        io.detail(
            "no message has a vector yet, so none can be linked by similarity; add vectors with: rsv-embed --pending",
        );
    }
    Ok(Outcome::Yes)
}

/// Prints pairs of messages that say different things of the same subject.
fn contradictions(store: &mut dyn Store, scopes: &Scopes, io: &mut Io) -> Result<Outcome> {
    let found = search::contradictions(store, scopes)?;
    for Contradiction { older, newer, statement } in &found {
        let mut line = Object::default();
        line.set_text("reason", statement.reason);
        for (name, message) in [("older", older), ("newer", newer)] {
            let mut said = Object::default();
            said.set_text("id", &message.id);
            said.set("timestamp", message.timestamp.to_string());
            said.set_text("content", &message.text);
            line.set(name, said.to_json());
        }
        io.out.write((line.to_json() + "\n").as_bytes())?;
    }
    if !found.is_empty() {
        io.note("settle one with: rsv-link --rel CORRECTS NEWER OLDER");
    }
    Ok(if found.is_empty() { Outcome::No } else { Outcome::Yes })
}

/// Prints the clusters of similar memories.
fn clusters(store: &mut dyn Store, settings: &Settings, args: &Args, io: &mut Io) -> Result<Outcome> {
    let begin = Instant::now();
    let flags = &args.clusters;
    if let Some(kind) = flags.kind.filter(|kind| *kind != &MEMORY) {
        return Err(Error::new(format!("--kind: a {} cannot be consolidated, but a memory can", kind.name)));
    }
    let rule = ClusterRule {
        threshold: args.threshold.unwrap_or(CLUSTER_THRESHOLD),
        max: flags.max.map(|max| max as usize),
        window: (!flags.force).then_some(flags.window),
        centroid: flags.centroid,
        prior: PriorRule::from_settings(settings),
    };
    let (scopes, now) = (io.common.each_to_cover()?, io.clock.now());
    let not_embedded = embed_memories(store, settings, &scopes, io).err();
    let model = backfill::model_of(store)?.unwrap_or_default();
    let out = &mut io.out;
    let sums = link::clusters(store, &model, &scopes, &rule, now, &mut |cluster| {
        out.with(|out| {
            cluster.write(out);
            out.push(b'\n');
        })
    })?;
    if flags.totals {
        out.write((totals(&sums).to_json() + "\n").as_bytes())?;
    }
    io.out.flush()?;
    let mut note = format!("examined {}", counted(sums.examined as u64, "memory"));
    note.push_str(&format!(", found {}", counted(sums.clusters as u64, "cluster")));
    if sums.clusters > 0 {
        note.push_str(&format!(" of {}", counted(sums.clustered as u64, "memory")));
    }
    if sums.passed_over > 0 {
        let partitions = counted(sums.passed_over as u64, "partition");
        note.push_str(&format!(", passed over {partitions} consolidated within the window"));
    }
    io.note(format_args!("{note}, in {:.1} s", begin.elapsed().as_secs_f64()));
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

/// The numbers of a search for clusters, as a line.
fn totals(sums: &ClusterSums) -> Object {
    let mut line = Object::default();
    line.set_text("kind", "totals");
    for (name, count) in [
        ("examined", sums.examined),
        ("clusters", sums.clusters),
        ("clustered", sums.clustered),
        ("unembedded", sums.unembedded),
        ("passed_over", sums.passed_over),
    ] {
        line.set(name, count.to_string());
    }
    line
}

/// Makes the missing vectors of memories, by which they are compared, if there is a model. Memories that cannot have one are
/// named. Errors if the model of the settings cannot be used, or the store has another.
fn embed_memories(store: &mut dyn Store, settings: &Settings, scopes: &[Scopes], io: &mut Io) -> Result<()> {
    let mut embedder = match backfill::optional(store, settings, Workload::Many, &io.diagnostics()) {
        Ok(Some(embedder)) => embedder,
        Err(error) if settings.text("embed.model").is_some() => return Err(error),
        // Nobody chose a model, and that of the store is not installed.
        Ok(None) | Err(_) => return Ok(()),
    };
    if let Some(model) = backfill::model_of(store)?.filter(|model| model != embedder.model()) {
        let error = Error::new(format!("the vectors of this store are of {model}, which is not installed"));
        return Err(error.hint("rsv-embed --replay"));
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

/// Adds to the memories of commits what is near them. Other lines are passed on.
fn near(store: &mut dyn Store, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let diagnostics = io.diagnostics();
    let mut embedder = match backfill::optional(store, settings, Workload::Few, &diagnostics) {
        Ok(embedder) => embedder,
        Err(why) => {
            io.note(format_args!("comparing by words: {why}"));
            None
        }
    };
    let prior = PriorRule::from_settings(settings);
    let mut reader = Reader::new("<stdin>", io.stdin()?, settings.max_line());
    let mut bad_lines = BadLines::default();
    while let Some(next) = reader.next() {
        let line = next.and_then(|LocatedObject { location, object }| {
            if !Commit::is_commit(&object) {
                return Ok(object);
            }
            let mut commit = Commit::parse(object).map_err(|error| error.at(location))?;
            if let Some(embedder) = embedder.as_mut().filter(|_| !commit.memories.is_empty()) {
                let limit = backfill::catch_up_limit(settings);
                link::embed_pending(store, embedder, &commit.scope.partition, limit, &diagnostics);
            }
            let mut nearness = Nearness { embedder: embedder.as_mut(), prior };
            if let Err(why) = nearness.add_to(&mut commit, store)
                && embedder.take().is_some()
            {
                io.note(format_args!("comparing by words: {why}"));
                Nearness { embedder: None, prior }.add_to(&mut commit, store)?;
            }
            Ok(commit.into_line())
        });
        let taken = match line {
            Ok(line) => io
                .out
                .with(|out| {
                    line.write(out);
                    out.push(b'\n');
                })
                .and_then(|()| io.out.flush())
                .map(Ok)?,
            Err(error) => Err(error),
        };
        if let ControlFlow::Break(()) = bad_lines.line(taken, io) {
            break;
        }
    }
    bad_lines.end(io);
    Ok(Outcome::Yes)
}

fn stats(store: &mut dyn Store, scopes: &Scopes, io: &mut Io) -> Result<Outcome> {
    for (scope, messages) in store.scopes(None)? {
        if messages > 0 && scopes.contains(&scope) {
            let line = Stats::read(store, &scope)?.to_object(&scope);
            io.out.write(format!("{}\n", line.to_json()).as_bytes())?;
        }
    }
    Ok(Outcome::Yes)
}

fn path(store: &mut dyn Store, scopes: &Scopes, from: &str, to: &str, io: &mut Io) -> Result<Outcome> {
    let around = scopes_around(store, scopes, from)?;
    scopes_around(store, scopes, to)?;
    let graph = Graph::read(store, &around)?;
    let Some(path) = graph.path(from, to) else { return Ok(Outcome::No) };
    let links: Vec<Link> = path.into_iter().cloned().collect();
    links
        .into_iter()
        .try_for_each(|link| io.out.with(|out| Record::Link(link).write_line(VectorFormat::Numbers, out)))?;
    Ok(Outcome::Yes)
}

/// Prints a picture of the messages of some scopes, or of some of these messages.
fn draw(
    store: &mut dyn Store,
    settings: &Settings,
    scopes: &Scopes,
    format: &str,
    args: &Args,
    io: &mut Io,
) -> Result<Outcome> {
    let nodes = match args.nodes {
        Nodes::AtMost(nodes) => nodes,
        Nodes::All if format == "json" => return whole(store, scopes, args, io),
        Nodes::All => {
            return Err(Error::new(format!("--nodes all needs --format json, not {format}"))
                .hint(format!("--nodes {MAX_NODES} shows the most that a picture can")));
        }
    };
    let which = selection(store, settings, scopes, args, io)?;
    let reach = synapse::reach(settings).unwrap_or(Reach::Partition);
    let options = GraphOptions { nodes, keep_isolated: which.only.is_some(), reach };
    let graph = picture::Graph::read(store, &which, &options)?;
    let (title, zone) = (title(io, args), io.layout().zone);
    let arrangement = match args.layout.as_deref() {
        Some("time") => Arrangement::Time,
        _ => Arrangement::Groups,
    };
    let text = match format {
        "dot" => graph.to_dot(&title, arrangement, &zone),
        "svg" => graph.to_svg(&title, arrangement, &zone),
        "html" => graph.to_html(&title, arrangement, &zone),
        _ => graph.to_json(store, &which)?,
    };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

/// Prints all messages and links, as they are stored.
fn whole(store: &mut dyn Store, scopes: &Scopes, args: &Args, io: &mut Io) -> Result<Outcome> {
    if args.about.is_some() {
        return Err(Error::new("--nodes all shows every message, not those about something")
            .hint("leave --nodes or --about out"));
    }
    let graph = match &args.around {
        Some(id) => neighbourhood(store, scopes, id, args.hops)?,
        None => Graph::read(store, scopes)?,
    };
    io.out.write(graph.to_json().as_bytes())?;
    Ok(Outcome::Yes)
}

fn neighbourhood(store: &mut dyn Store, scopes: &Scopes, id: &str, hops: usize) -> Result<Graph> {
    let id = &store::full_id(store, id, scopes)?;
    let around = scopes_around(store, scopes, id)?;
    Ok(Graph::read(store, &around)?.neighbourhood(id, hops))
}

/// The messages that a picture shows some of.
fn selection(
    store: &mut dyn Store,
    settings: &Settings,
    scopes: &Scopes,
    args: &Args,
    io: &Io,
) -> Result<Select> {
    let which = Select::messages(scopes.clone());
    let only = if let Some(id) = &args.around {
        Some(neighbourhood(store, scopes, id, args.hops)?.ids())
    } else if let Some(text) = &args.about {
        Some(picture::about(store, settings, &which, text, &io.diagnostics())?)
    } else {
        None
    };
    Ok(Select { only, ..which })
}

/// Whose messages a picture shows.
fn title(io: &Io, args: &Args) -> String {
    let scope = match (&io.common.partition, &io.common.instance) {
        (None, None) => "All messages".to_owned(),
        (Some(partition), None) => partition.clone(),
        (partition, Some(instance)) => format!("{}/{instance}", partition.as_deref().unwrap_or("default")),
    };
    match (&args.about, &args.around) {
        (Some(text), _) => format!("{scope}: {text}"),
        (_, Some(id)) => format!("{scope}: near {id}"),
        _ => scope,
    }
}

/// The selected scopes that a message may be linked within, which must be in one of them.
fn scopes_around(store: &mut dyn Store, scopes: &Scopes, id: &str) -> Result<Scopes> {
    let message = store.get(&[id], &Select::messages(scopes.clone()))?.pop();
    let scopes = message.map(|message| match scopes {
        Scopes::All | Scopes::Matching(_) => Scopes::Partition(message.scope.partition),
        narrower => narrower.clone(),
    });
    scopes.ok_or_else(|| {
        Error::new(format!("there is no message {id}"))
            .hint("rsv-view and rsv-search show the ids of messages")
    })
}
