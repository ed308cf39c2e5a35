//! rsv-search: finds messages, memories and documents by words or by meaning.

use rsv::cli::{self, Io, Layout, Outcome, Printing, SearchArgs as Args};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::lines::Reader;
use rsv::record::Scopes;
use rsv::redact::Redactor;
use rsv::search::{self, Announcement, Method, Ranking, Request, ScopeSource, Searcher};
use rsv::show::{InTree, Search};
use rsv::store::{self, Except, Select, Store, StoreFault};
use rsv::structured::Model;
use rsv::text::Occur;
use rsv::view::{HitFormat, HitStyle};
use std::io::Read;

/// The number of hits that are printed if no other is given.
const DEFAULT_LIMIT: usize = 10;

/// The subject of a search.
enum Mode {
    Secrets,
    Question(String),
    /// Query lines, each with a question.
    Lines(Reader<Box<dyn Read + Send>>),
}

rsv::tool!(run);

fn run(mut args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let format = args.format.clone().unwrap_or_default();
    let is_block = format == "block";
    let printing = Printing { format: args.format.clone(), no_pager: args.no_pager };
    let layout = io.print_as(&printing);
    let kinds = args.kinds(io.stdout_is_tty() && layout.is_some())?;
    let has_kinds = kinds.len() > 1 && args.kind.is_empty() && args.tree.target.is_empty() && !args.secrets;
    let mode = mode(&args, settings.max_line(), io)?;
    // Query lines name targets of their own.
    if let Some(flag) = args.flag_without_target().filter(|_| !matches!(mode, Mode::Lines(_))) {
        let error = Error::new(format!("{flag} is for a search in the tree of contexts"));
        return Err(error.hint("add --target URI"));
    }
    let mut store = store::open_to_read(&settings, io)?;
    search::complete_instance(&mut *store, io)?;
    let scopes = scopes(&args, &settings, &mut *store, io)?;
    let ids = store::full_ids(&mut *store, &args.exclude, &scopes)?;
    let layout = layout.map(|layout| Layout { scopes: scopes == Scopes::All, ..layout });
    let everywhere = everywhere(&args, &mode, io);
    let announcement = Announcement::new(args.all, &scopes, &everywhere, &mut *store, io)?;
    args.filter.until = args.filter.until.or(args.as_of);
    let except = Except { traces: args.exclude_trace.clone(), ids };
    let which = Select { except, ..Select::records(kinds, scopes).filtered(args.filter.clone()) };
    let style = HitStyle::new(layout, format == "reservoir", io.stdout_is_tty());
    let request = request(&args, which, &settings, io);
    let finds_titles = args.kind.is_empty()
        && !args.secrets
        && request.options.actions.is_empty()
        && request.which.roles.is_empty()
        && request.ranking != Some(Ranking::Semantic)
        && !matches!(style, HitStyle::Reservoir(_));
    let (diagnostics, limit, context) = (io.diagnostics(), args.limit, args.context);
    let format =
        HitFormat { has_kinds, explain: args.explain, has_context: context > 0, ..HitFormat::new(style) };
    let mut search = Search {
        store,
        searcher: Searcher::new(&settings, &diagnostics),
        request,
        in_tree: in_tree(args, &settings, io)?,
        format,
        context,
        finds_titles,
        is_block,
        announcement,
        everywhere,
        io,
    };
    let found = match mode {
        Mode::Secrets => search.secrets(limit.unwrap_or(usize::MAX), &Redactor::of_patterns(&settings)?)?,
        Mode::Question(question) => search.answer(&question, None)?,
        Mode::Lines(lines) => search.answer_lines(lines)?,
    };
    Ok(Outcome::of(found))
}

/// Takes the words of the command line, or reads standard input. Errors if neither has anything to find.
fn mode(args: &Args, limit: usize, io: &Io) -> Result<Mode> {
    if args.secrets {
        return Ok(Mode::Secrets);
    }
    let finds_actions = !args.actions.filter().is_empty();
    let question = if !args.terms.is_empty() || finds_actions {
        args.terms.join(" ")
    } else {
        let (first, input) = io.peek()?;
        if first == b"{" {
            return Ok(Mode::Lines(Reader::new("<stdin>", input, limit)));
        }
        cli::read_text(input, "<stdin>", limit)?
    };
    if question.trim().is_empty() && !finds_actions {
        return Err(StoreFault::NoQuestion.into());
    }
    Ok(Mode::Question(question))
}

/// The command that finds the same in all scopes; for query lines, the flag alone.
fn everywhere(args: &Args, mode: &Mode, io: &Io) -> String {
    match mode {
        Mode::Question(question) if args.terms.is_empty() && !question.is_empty() => {
            io.command_for_all_scopes(Some(question))
        }
        Mode::Lines(_) => "--all".to_owned(),
        _ => io.command_for_all_scopes(None),
    }
}

/// The scopes to search: on a terminal, where none is named, the partition of the project, else all. The tree
/// of contexts is that of a partition.
fn scopes(args: &Args, settings: &Settings, store: &mut dyn Store, io: &mut Io) -> Result<Scopes> {
    let is_for_person = !args.all && (args.here || io.stdout_is_tty());
    let names_none = is_for_person
        && search::scope_source(settings, &mut io.common, store)? == ScopeSource::Nothing
        && args.tree.target.is_empty();
    io.common.to_read(args.all || names_none)
}

/// The request without its questions.
fn request(args: &Args, which: Select, settings: &Settings, io: &Io) -> Request<'static> {
    let mut request = Request::new("", which, args.limit.unwrap_or(DEFAULT_LIMIT));
    request.options.min_score = args.min_score;
    request.options.clock = io.clock;
    request.options.actions = args.actions.filter();
    (request.options.deduplicate, request.options.link) = (args.deduplicate, args.link);
    // In a pipe only flags set it, so that readers get the same everywhere.
    let setting = || settings.text("search.by").filter(|_| io.stdout_is_tty());
    request.ranking = ranking(args).or_else(|| setting().and_then(|name| Ranking::named(&name)));
    request.fallback = args.fallback.as_deref().map(|how| if how == "any" { Occur::Any } else { Occur::All });
    request.min_confidence = args.min_confidence;
    request.current = args.current || args.as_of.is_some();
    request.method = if args.tree.recursive { Method::Recursive } else { Method::Flat };
    request
}

/// The ranking that a flag names.
fn ranking(args: &Args) -> Option<Ranking> {
    match (args.by.semantic, args.by.hybrid) {
        (true, _) => Some(Ranking::Semantic),
        (_, true) => Some(Ranking::Hybrid),
        _ => args.by.by.as_deref().and_then(Ranking::named),
    }
}

fn in_tree(args: Args, settings: &Settings, io: &Io) -> Result<InTree> {
    let planner = args.tree.plan.as_deref();
    let planner = planner.map(|model| Model::new(model, settings, io.clock, &io.diagnostics()));
    Ok(InTree {
        ranking: ranking(&args),
        targets: args.tree.target,
        kinds: args.kind,
        level: args.tree.level,
        session: args.tree.with_session,
        planner: planner.transpose()?,
        steps: args.tree.steps,
    })
}
