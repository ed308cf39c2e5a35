//! rsv-link: brings the links between messages up to date, and shows them; finds similar memories.

use rsv::cli::{self, Io, Outcome};
use rsv::config::{Settings, parse_duration};
use rsv::error::{Error, Result};
use rsv::link::{ClusterRule, Tie};
use rsv::memory::PriorRule;
use rsv::picture::{GraphDrawing, MAX_NODES};
use rsv::record::{MEMORY, RecordKind};
use rsv::search;
use rsv::show::links::{self, MakeOptions};
use rsv::store::{self, OpenMode};
use rsv::text::with_article;
use std::time::Duration;

/// Link answers to their questions and similar messages to each other, and print the new links
///
/// An answer is linked to the user's turn before it in its trace (RESPONDED_WITH). Messages of one partition
/// are linked if their vectors are similar (SYNAPSE): each message that got a vector since the last run is
/// compared with all others. With FROM and TO, only these two records are linked. rsv-link works on the whole
/// store, or on the scope that -p and -i name.
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
    /// With FROM and TO: store this reason for the link
    #[arg(long, value_name = "TEXT", requires = "from", conflicts_with = "unlink")]
    reason: Option<String>,
    /// With FROM and TO: remove the link, and keep it from coming back; exit with 1 if there is none
    #[arg(long, requires = "from")]
    unlink: bool,
    /// Print the links that would be made, and write nothing
    #[arg(long, conflicts_with = "Show")]
    dry_run: bool,
    /// Rebuild all synapses, not only those of new messages, within the reach of link.reach
    #[arg(long, conflicts_with = "Show")]
    rebuild: bool,
    /// First take over the messages that Reservoir wrote into the same Neo4j graph, giving each an id, and
    /// have Reservoir's vector index find all messages
    #[arg(long, conflicts_with_all = ["Show", "dry_run"])]
    adopt: bool,
    /// Require at least this similarity (cosine) for a synapse [default: link.threshold, else the model's
    /// own], or, for a cluster, more than this [default: 0.8]
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
    /// Read the commits that 'rsv-distill --commit' prints from standard input, and add to each memory the
    /// five stored ones of its category that are nearest to it, for rsv-merge
    #[arg(long, conflicts_with_all = ["Show", "from", "dry_run", "rebuild", "adopt", "clusters", "threshold", "max_degree"])]
    near: bool,
    /// Print pairs of the user's messages that contradict each other, the newest first, for you to resolve
    #[arg(long, conflicts_with_all = ["Show", "from", "dry_run", "rebuild", "adopt", "clusters", "threshold", "max_degree", "near"])]
    contradictions: bool,
    #[command(flatten)]
    show: Show,
    /// With --format: show at most this many messages, or 'all' of them, with all links, as json
    #[arg(long, value_name = "COUNT", default_value = "150", value_parser = nodes, requires = "format")]
    nodes: Nodes,
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

/// The greatest number of messages of a picture, or all of them.
#[derive(Clone, Copy, Debug)]
struct Nodes(Option<usize>);

fn nodes(text: &str) -> std::result::Result<Nodes, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_NODES).contains(number));
    match (text, number) {
        ("all", _) => Ok(Nodes(None)),
        (_, Some(number)) => Ok(Nodes(Some(number))),
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
    /// With --clusters: skip partitions that were consolidated within this time
    #[arg(long, value_name = "DURATION", default_value = "20h", requires = "clusters", value_parser = window)]
    window: Duration,
    /// With --clusters: skip no partition
    #[arg(long, requires = "clusters", conflicts_with = "window")]
    force: bool,
    /// With --clusters: also print the mean of the vectors of each cluster
    #[arg(long, requires = "clusters")]
    centroid: bool,
    /// With --clusters: print a last line with the numbers of examined memories and of those in clusters
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

/// The task of a run.
enum Mode {
    Tie([String; 2]),
    Near,
    Contradictions,
    Clusters,
    Stats,
    Path([String; 2]),
    Draw(String),
    Make,
}

impl Args {
    fn mode(&self) -> Mode {
        let pair = |from: &String, to: &String| [from.clone(), to.clone()];
        match (&self.from, &self.to, self.show.path.as_deref(), &self.show.format) {
            (Some(from), Some(to), ..) => Mode::Tie(pair(from, to)),
            _ if self.near => Mode::Near,
            _ if self.contradictions => Mode::Contradictions,
            _ if self.clusters.clusters => Mode::Clusters,
            _ if self.show.stats => Mode::Stats,
            (.., Some([from, to]), _) => Mode::Path(pair(from, to)),
            (.., Some(format)) => Mode::Draw(format.clone()),
            _ => Mode::Make,
        }
    }

    fn cluster_rule(&self, settings: &Settings) -> Result<ClusterRule> {
        let flags = &self.clusters;
        if let Some(kind) = flags.kind.filter(|kind| *kind != &MEMORY) {
            let name = with_article(kind.name);
            return Err(Error::new(format!("--kind: {name} cannot be consolidated, but a memory can")));
        }
        Ok(ClusterRule {
            threshold: self.threshold.unwrap_or(CLUSTER_THRESHOLD),
            max: flags.max.map(|max| max as usize),
            window: (!flags.force).then_some(flags.window),
            centroid: flags.centroid,
            prior: PriorRule::from_settings(settings),
        })
    }

    fn drawing(self, format: String) -> GraphDrawing {
        let Args { nodes: Nodes(nodes), about, around, hops, .. } = self;
        GraphDrawing { format, nodes, about, around, hops }
    }
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
    match args.mode() {
        Mode::Tie([from, to]) => {
            drop(store);
            let mut store = store::open(&settings.store()?, OpenMode::Create)?;
            let tie = Tie { ends: [&from, &to], rel: args.rel.as_deref(), reason: args.reason.as_deref() };
            links::tie(&mut *store, &scopes, &tie, args.unlink, io)
        }
        Mode::Near => links::near(&mut *store, &settings, io),
        Mode::Contradictions => links::contradictions(&mut *store, &scopes, io),
        Mode::Clusters => {
            let rule = args.cluster_rule(&settings)?;
            links::clusters(&mut *store, &settings, &rule, args.clusters.totals, io)
        }
        Mode::Stats => links::stats(&mut *store, &scopes, io),
        Mode::Path([from, to]) => links::path(&mut *store, &scopes, [&from, &to], io),
        Mode::Draw(format) => {
            let picture = args.drawing(format).draw(&mut *store, &settings, &scopes, io)?;
            io.out.write(picture.as_bytes()).map(|()| Outcome::Yes)
        }
        Mode::Make => {
            let Args { dry_run, rebuild, adopt, threshold, max_degree, .. } = args;
            let options = MakeOptions { dry_run, rebuild, adopt, threshold, max_degree };
            links::make(&mut *store, &settings, &scopes, options, io)
        }
    }
}
