//! rsv-search: finds messages, memories and documents by words or by meaning.

use clap::ValueHint;
use clap::builder::NonEmptyStringValueParser;
use rsv::chat::fence;
use rsv::cli::{self, Filter, Io, Layout, Outcome, Printing};
use rsv::config::{self, Settings};
use rsv::error::{Error, Result};
use rsv::lines::{LocatedObject, Reader};
use rsv::picture::SearchedTree;
use rsv::plan;
use rsv::record::{
    self, ACTION, ActionFilter, Address, DOCUMENT, Hit, MEMORY, MESSAGE, Query, RecallRule, RecordKind,
    Scopes,
};
use rsv::redact::Redactor;
use rsv::search::{self, Announcement, Answer, Method, Ranking, Request, ScopeSource, Searcher, tree};
use rsv::store::{self, Around, Except, Select, Store, topic_terms};
use rsv::structured::Model;
use rsv::text::{Languages, Occur, Term};
use rsv::view::{self, Heads, HitFormat, HitStyle, RankedHit, ReservoirLines};
use std::collections::BTreeSet;
use std::io::Read;
use std::process::ExitCode;

/// Find messages by words or by meaning, best first
///
/// By words, the default, a message must contain every term; up to 3 conversations follow whose titles do. A term matches inside longer words too;
/// case and accents do not matter. Words between double quotes form a phrase ('"green tea" kettle'), with any
/// white space between them. With a partition alone, all of its instances are searched; with neither,
/// default/default is searched in a pipe, and on a terminal the partition of the project, else everything.
/// The exit status is 1 if nothing was found.
#[derive(clap::Args)]
struct Args {
    /// The words to find; without any, read standard input, as query lines if it begins with '{'
    #[arg(value_name = "TERM")]
    terms: Vec<String>,
    #[command(flatten)]
    by: Kind,
    /// Do this if no embedding model can be used: keyword, to search by words, or any, by any of them
    #[arg(long, value_name = "HOW", requires = "Kind", value_parser = ["keyword", "any"], hide_possible_values = true)]
    fallback: Option<String>,
    /// Print at most this many hits; with --link, this many hits and linked messages together [default: 10; with
    /// --secrets, all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Drop hits with a lower score
    #[arg(long, value_name = "SCORE", value_parser = score, allow_negative_numbers = true)]
    min_score: Option<f64>,
    /// Print only the best of the hits that have the same role and text
    #[arg(short, long)]
    deduplicate: bool,
    /// After the hits, print messages linked to them, up to half of the output, none twice; see rsv-link
    #[arg(short, long)]
    link: bool,
    /// Print the parts that make up the score of each hit
    #[arg(long)]
    explain: bool,
    /// Print this many messages before and after each hit as well
    #[arg(short = 'C', long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    context: usize,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    actions: Actions,
    /// Leave out messages that later ones correct, or that the rule finds to be superseded
    #[arg(long, conflicts_with = "Tree")]
    current: bool,
    /// Answer as of this time: only what was said by then counts, and what had been corrected by then is left out
    #[arg(long, value_name = "TIME", value_parser = cli::time, allow_negative_numbers = true, conflicts_with_all = ["until", "Tree"])]
    as_of: Option<i64>,
    /// Leave out messages of this trace; may be repeated
    #[arg(long, value_name = "TRACE")]
    exclude_trace: Vec<String>,
    /// Leave out the message with this id; may be repeated
    #[arg(long, value_name = "ID")]
    exclude: Vec<String>,
    /// Find records of these kinds: message, memory, document, title, action [default: message; on a terminal, message, memory and document; with --target, the kinds of records there]
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind)]
    kind: Vec<&'static RecordKind>,
    #[command(flatten)]
    tree: Tree,
    /// Find memories with at least this confidence [default: 0.7 for those that were written, 0.5 for those that were made]
    #[arg(long, value_name = "CONFIDENCE", value_parser = score)]
    min_confidence: Option<f64>,
    /// Find the records that hold secrets, such as keys and tokens, and print them without these
    #[arg(long, conflicts_with_all = ["terms", "Kind", "Tree", "link", "context", "min_score", "deduplicate"])]
    secrets: bool,
    /// Search all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// In a pipe too, search as on a terminal: the partition of the project, if it has records, else all scopes
    #[arg(long, conflicts_with_all = ["partition", "instance", "scope", "all"])]
    here: bool,
    /// Print in this format: jsonl, json (one array), text, reservoir, or block (fenced for a model); with --steps also dot or svg, a picture [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "json", "text", "reservoir", "block", "dot", "svg"], hide_possible_values = true)]
    format: Option<String>,
    /// Print to a terminal without a pager
    #[arg(long)]
    no_pager: bool,
}

/// The flags that choose among actions.
#[derive(clap::Args)]
#[group(multiple = true, conflicts_with_all = ["Tree", "secrets"])]
struct Actions {
    /// Find actions on this file, or whose command names it: its path, or the end of that; without words, the newest
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new(), value_hint = ValueHint::FilePath)]
    file: Option<String>,
    /// Find actions whose command has these words, one after the other; without words to find, the newest
    #[arg(long, value_name = "WORDS", value_parser = NonEmptyStringValueParser::new())]
    command: Option<String>,
    /// Find actions that failed; without words, the newest
    #[arg(long)]
    failed: bool,
}

impl Actions {
    fn filter(&self) -> ActionFilter {
        let Actions { file, command, failed } = self;
        ActionFilter { file: file.clone(), command: command.clone(), failed: *failed }
    }
}

/// The flags of a search in the tree of contexts.
#[derive(clap::Args)]
struct Tree {
    /// Find documents, or memories, at and below this address (viking://...); may be repeated
    #[arg(long, value_name = "URI", value_parser = address, conflicts_with_all = ["all", "context"])]
    target: Vec<String>,
    /// Search all documents below the targets at once
    #[arg(long, conflicts_with = "recursive")]
    flat: bool,
    /// Search from the targets and the best directories down
    #[arg(long)]
    recursive: bool,
    /// Before the hits, print the steps of the search
    #[arg(long)]
    steps: bool,
    /// Print this of a hit: 0, its abstract; 1, its overview too, and the passage for the question; 2, its content too [default: 1, else the content]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=2))]
    level: Option<u8>,
    /// Add the words of this session to the question, with less weight
    #[arg(long, value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    with_session: Option<String>,
    /// Let this model say what to search for
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    plan: Option<String>,
}

impl Tree {
    /// The name of a flag that does nothing without a target.
    fn flag(&self) -> Option<&'static str> {
        let flags = [
            (self.flat, "--flat"),
            (self.recursive, "--recursive"),
            (self.steps, "--steps"),
            (self.level.is_some(), "--level"),
            (self.with_session.is_some(), "--with-session"),
            (self.plan.is_some(), "--plan"),
        ];
        flags.into_iter().find(|(is_set, _)| *is_set).map(|(_, name)| name)
    }

    fn method(&self) -> Method {
        match (self.flat, self.recursive) {
            (true, _) => Method::Flat,
            (_, true) => Method::Recursive,
            _ => Method::default(),
        }
    }
}

/// Checks an address of `--target`.
fn address(text: &str) -> std::result::Result<String, String> {
    Address::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// The ranking of a search, if not by words alone.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Kind {
    /// Find the messages nearest in meaning, with an embedding model; see rsv-embed
    #[arg(long)]
    semantic: bool,
    /// Find messages by words and by meaning together
    #[arg(long)]
    hybrid: bool,
    /// Find messages by this: keyword, any (any of the words), semantic, hybrid or auto (hybrid where an embedding model is installed, else keyword) [default: keyword; on a terminal, the setting search.by; with --target, auto]
    #[arg(long, value_name = "WHAT", value_parser = Ranking::NAMES, hide_possible_values = true)]
    by: Option<String>,
}

impl Kind {
    /// The requested ranking, if any. In a pipe only flags set it, so that readers get the same everywhere.
    fn ranking(&self, settings: &Settings, io: &Io) -> Option<Ranking> {
        let setting = || settings.text("search.by").filter(|_| io.stdout_is_tty());
        self.flag().or_else(|| setting().and_then(|name| Ranking::named(&name)))
    }

    fn flag(&self) -> Option<Ranking> {
        match (self.semantic, self.hybrid) {
            (true, _) => Some(Ranking::Semantic),
            (_, true) => Some(Ranking::Hybrid),
            _ => self.by.as_deref().and_then(Ranking::named),
        }
    }
}

/// The number of hits that are printed if no other is given.
const DEFAULT_LIMIT: usize = 10;

/// The most hits that are printed with their short ids: more are not held at once.
const MAX_WITH_HEADS: usize = 1000;

fn score(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
}

pub(crate) fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let picture = args.format.clone().filter(|format| matches!(format.as_str(), "dot" | "svg"));
    if picture.is_some() && !args.tree.steps {
        return Err(Error::new("--format: a picture is of the steps of a search").hint("add --steps"));
    }
    let printing = Printing { format: args.format.clone(), no_pager: args.no_pager || picture.is_some() };
    let layout = io.print_as(&printing);
    let searched = kinds(&args, io.stdout_is_tty() && layout.is_some());
    if let Some(kind) = searched.iter().find(|kind| !kind.indexed.is_some()) {
        return Err(Error::new(format!("--kind: a {} has no text to search", kind.name)));
    }
    let actions = args.actions.filter();
    if !actions.is_empty() && searched != [&ACTION] {
        return Err(
            Error::new("--kind: --file, --command and --failed find actions").hint("leave out --kind")
        );
    }
    if let Some(flag) = args.tree.flag().filter(|_| args.tree.target.is_empty() && !args.terms.is_empty()) {
        return Err(
            Error::new(format!("{flag} is for a search in the tree of contexts")).hint("add --target URI")
        );
    }
    let has_kinds =
        searched.len() > 1 && args.kind.is_empty() && args.tree.target.is_empty() && !args.secrets;
    let input = Input::read(&args, settings.max_line(), io)?;
    let store = &mut *store::open_to_read(&settings, io)?;
    search::complete_instance(store, io)?;
    let scopes = scopes(&args, &settings, store, io)?;
    let except =
        Except { traces: args.exclude_trace.clone(), ids: store::full_ids(store, &args.exclude, &scopes)? };
    let layout = layout.map(|layout| Layout { scopes: scopes == Scopes::All, ..layout });
    let everywhere = input.everywhere(&args, io);
    let announcement = Announcement::new(args.all, &scopes, &everywhere, store, io)?;
    let which = Select {
        roles: args.filter.role,
        since: args.filter.since,
        until: args.filter.until.or(args.as_of),
        except,
        ..Select::records(searched, scopes)
    };
    let style = match layout {
        _ if args.format.as_deref() == Some("reservoir") => {
            HitStyle::Reservoir(ReservoirLines { to_terminal: io.stdout_is_tty() })
        }
        Some(layout) => HitStyle::People(layout),
        None => HitStyle::Lines,
    };
    let planner = args.tree.plan.as_deref();
    let planner = planner.map(|model| Model::new(model, &settings, io.clock, &io.diagnostics()));
    let diagnostics = io.diagnostics();
    let mut request = Request::new("", which, args.limit.unwrap_or(DEFAULT_LIMIT));
    request.options.min_score = args.min_score;
    request.options.clock = io.clock;
    request.options.actions = actions.clone();
    (request.options.deduplicate, request.options.link) = (args.deduplicate, args.link);
    request.ranking = args.by.ranking(&settings, io);
    request.fallback = args.fallback.map(|how| if how == "any" { Occur::Any } else { Occur::All });
    request.min_confidence = args.min_confidence;
    request.current = args.current || args.as_of.is_some();
    request.method = args.tree.method();
    let finds_titles = args.kind.is_empty()
        && !args.secrets
        && actions.is_empty()
        && request.which.roles.is_empty()
        && request.ranking != Some(Ranking::Semantic)
        && !matches!(style, HitStyle::Reservoir(_));
    let mut search = Search {
        finds_titles,
        request,
        ranking_in_tree: args.by.flag(),
        kinds_in_tree: args.kind,
        context: args.context,
        format: HitFormat {
            style,
            by_meaning: false,
            has_kinds,
            explain: args.explain,
            has_context: args.context > 0,
            highlighted: Vec::new(),
        },
        is_block: args.format.as_deref() == Some("block"),
        picture,
        planner: planner.transpose()?,
        tree: args.tree,
        searcher: Searcher::new(&settings, &diagnostics),
        announcement,
        everywhere,
    };
    let found = match input {
        Input::Secrets => {
            let redactor = Redactor::of_patterns(&settings)?;
            search.print_secrets(args.limit.unwrap_or(usize::MAX), &redactor, store, io)?
        }
        Input::Question(question) => search.answer(&question, None, store, io)?,
        Input::Lines(lines) => search.answer_lines(lines, store, io)?,
    };
    Ok(if found { Outcome::Yes } else { Outcome::No })
}

/// The input of a search.
enum Input {
    /// None: records that hold secrets are found.
    Secrets,
    /// A question.
    Question(String),
    /// Query lines, each with a question.
    Lines(Reader<Box<dyn Read + Send>>),
}

impl Input {
    /// Takes the words of the command line, or reads standard input.
    fn read(args: &Args, limit: usize, io: &Io) -> Result<Input> {
        if args.secrets {
            return Ok(Input::Secrets);
        }
        if !args.terms.is_empty() || !args.actions.filter().is_empty() {
            return Ok(Input::Question(args.terms.join(" ")));
        }
        let (first, input) = io.peek()?;
        if first == b"{" {
            return Ok(Input::Lines(Reader::new("<stdin>", input, limit)));
        }
        cli::read_text(input, "<stdin>", limit).map(Input::Question)
    }

    /// The command that finds the same in all scopes; for query lines, the flag alone.
    fn everywhere(&self, args: &Args, io: &Io) -> String {
        match self {
            Input::Question(question) if args.terms.is_empty() && !question.is_empty() => {
                io.command_for_all_scopes(Some(question))
            }
            Input::Lines(_) => "--all".to_owned(),
            _ => io.command_for_all_scopes(None),
        }
    }
}

/// The scopes to search: on a terminal, where none is named, the partition of the project, else all. The tree of
/// contexts is that of a partition.
fn scopes(args: &Args, settings: &Settings, store: &mut dyn Store, io: &mut Io) -> Result<Scopes> {
    let is_for_person = !args.all && (args.here || io.stdout_is_tty());
    let names_none = is_for_person
        && search::scope_source(settings, &mut io.common, store)? == ScopeSource::Nothing
        && args.tree.target.is_empty();
    io.common.to_read(args.all || names_none)
}

/// The kinds of records to search. People get those of all kinds, unless a flag asks for what messages alone have.
fn kinds(args: &Args, for_people: bool) -> Vec<&'static RecordKind> {
    let of_messages = !args.filter.role.is_empty()
        || args.link
        || args.context > 0
        || args.current
        || args.as_of.is_some()
        || !args.exclude_trace.is_empty();
    if args.kind.is_empty() && !args.actions.filter().is_empty() {
        return vec![&ACTION];
    }
    match (args.kind.is_empty(), args.secrets) {
        (false, _) => args.kind.clone(),
        (true, false) if for_people && !of_messages => vec![&MESSAGE, &MEMORY, &DOCUMENT],
        (true, false) => vec![&MESSAGE],
        (true, true) => record::kinds().into_iter().filter(|kind| kind.indexed.is_some()).collect(),
    }
}

/// The command line for every question.
struct Search<'a> {
    /// The request without its questions.
    request: Request<'a>,
    ranking_in_tree: Option<Ranking>,
    kinds_in_tree: Vec<&'static RecordKind>,
    /// The number of messages to print before and after each hit.
    context: usize,
    /// Whether conversations are found by their titles too.
    finds_titles: bool,
    format: HitFormat,
    /// Prints the hits in a fence instead of lines.
    is_block: bool,
    tree: Tree,
    /// The format of a picture that is printed instead of lines.
    picture: Option<String>,
    /// The model that says what to search for in the tree.
    planner: Option<Model>,
    searcher: Searcher<'a>,
    announcement: Announcement,
    /// The command that finds the same in all scopes.
    everywhere: String,
}

impl Search<'_> {
    /// Prints the hits of a question; returns whether there are any. The members of a query line override the flags.
    fn answer(
        &mut self,
        question: &str,
        query: Option<&Query>,
        store: &mut dyn Store,
        io: &mut Io,
    ) -> Result<bool> {
        let mut request = self.request.clone();
        request.questions = vec![question.to_owned()];
        if let Some(query) = query {
            request.which = request.which.narrowed(query);
            request.options.limit = query.limit.unwrap_or(request.options.limit);
        }
        let targets = query.and_then(|query| query.targets.as_ref()).unwrap_or(&self.tree.target);
        if !targets.is_empty() {
            let request = self.in_tree(request, targets, store, io)?;
            return self.answer_in_tree(question, &request, query, store, io);
        }
        if self.is_block {
            let mut hits = self.searcher.run(store, &request)?.hits;
            search::ready_for_model(&mut hits);
            self.announcement.print(query, io);
            return print_block(&hits, io);
        }
        let mut rank = 0;
        let extent = (self.context, self.format.explain);
        let for_people = self.format.layout().is_some() && request.options.limit <= MAX_WITH_HEADS;
        let (mut held, mut known) = (Vec::new(), BTreeSet::new());
        let languages = store.languages()?;
        self.searcher.visit(store, &request, extent, &mut |hit, around, by_meaning| {
            rank += 1;
            if self.finds_titles && !known.contains(&hit.record.scope) {
                known.insert(hit.record.scope.clone());
            }
            if rank == 1 {
                self.announcement.print(query, io);
                highlight(&mut self.format, question, languages, by_meaning);
            }
            if for_people {
                held.push((hit.clone(), around.clone()));
                return Ok(());
            }
            print(&self.format, rank, (hit, around), query, &Heads::default(), io)
        })?;
        if self.finds_titles && request.options.limit > 0 {
            let mut titles = search::title_hits(store, question, &request.which, &known)?;
            if !for_people {
                titles.truncate(request.options.limit.saturating_sub(rank));
            }
            for title in titles {
                rank += 1;
                self.announcement.print(query, io);
                if for_people {
                    held.push((title, Around::default()));
                } else {
                    print(&self.format, rank, (&title, &Around::default()), query, &Heads::default(), io)?;
                }
            }
        }
        print_held(&self.format, store, &held, query, io)?;
        if rank == 0 {
            io.out.with(|out| self.format.write_miss(query, out))?;
            let is_for_person = io.stdout_is_tty() || io.prints_summaries();
            let is_question = query.is_none() && request.options.limit > 0;
            let names_none = is_question && !io.common.names_scope();
            if names_none && matches!(self.format.style, HitStyle::Reservoir(_)) {
                // Clients of Reservoir write to partitions that its search does not read unless they are named.
                if let Some(note) = self.searcher.other_partitions(store, &request)? {
                    io.note(note);
                }
            } else if is_question && is_for_person {
                for note in self.searcher.nothing_found(store, &request, &self.everywhere)? {
                    io.note(note);
                }
            } else {
                self.announcement.print(query, io);
            }
        }
        io.out.flush().map(|()| rank > 0)
    }

    /// Prints the records that hold secrets, without these; returns whether there are any.
    fn print_secrets(
        &mut self,
        limit: usize,
        redactor: &Redactor,
        store: &mut dyn Store,
        io: &mut Io,
    ) -> Result<bool> {
        let mut rank = 0;
        self.announcement.print(None, io);
        let mut held = Vec::new();
        let for_people = self.format.layout().is_some();
        search::visit_secrets(store, &self.request.which, redactor, &mut |hit| {
            if rank < limit {
                rank += 1;
                if for_people {
                    held.push((hit, Around::default()));
                    return Ok(());
                }
                print(&self.format, rank, (&hit, &Around::default()), None, &Heads::default(), io)?;
            }
            Ok(())
        })?;
        print_held(&self.format, store, &held, None, io)?;
        if rank > 0 && self.format.layout().is_some() {
            io.note(
                "the hits are printed without their secrets; to remove them, add to this command: | rsv-forget --all",
            );
        }
        io.out.flush().map(|()| rank > 0)
    }

    /// The request for what lies at and below some addresses.
    fn in_tree<'r>(
        &self,
        mut request: Request<'r>,
        targets: &[String],
        store: &mut dyn Store,
        io: &Io,
    ) -> Result<Request<'r>> {
        if request.which.scopes == Scopes::All {
            request.which.scopes = Scopes::Partition(io.common.scope()?.partition);
        }
        let partition = request.which.scopes.partition().unwrap_or_default();
        let targets = targets.iter().map(|target| Address::locate(target, partition));
        request.targets = targets.collect::<Result<_>>().map_err(|e| e.at("target"))?;
        if let Some(session) = &self.tree.with_session {
            request.context = tree::session_context(store, partition, session)?;
        }
        if let Some(planner) = &self.planner {
            match plan::questions(&request.questions[0], &request.context, planner) {
                Ok(questions) => request.questions = questions,
                Err(error) => {
                    let hint = error.remedy().map_or(String::new(), |hint| format!(" ({hint})"));
                    io.note(format_args!("searching for the question as it is: {error}{hint}"));
                }
            }
        }
        request.which.kinds.clone_from(&self.kinds_in_tree);
        request.ranking = self.ranking_in_tree;
        Ok(request)
    }

    /// Prints the answer to a request in the tree: the steps, if they are wanted, and the hits; returns whether there are
    /// any.
    fn answer_in_tree(
        &mut self,
        question: &str,
        request: &Request,
        query: Option<&Query>,
        store: &mut dyn Store,
        io: &mut Io,
    ) -> Result<bool> {
        let languages = store.languages()?;
        highlight(&mut self.format, question, languages, self.request.is_by_meaning());
        let Answer { mut hits, steps, .. } = self.searcher.run(store, request)?;
        self.announcement.print(query, io);
        if let Some(format) = &self.picture {
            if query.is_some() {
                return Err(Error::new("--format: a picture is of one question").hint("give it as words"));
            }
            let tree = SearchedTree::new(&steps);
            let text = if format == "svg" { tree.to_svg() } else { tree.to_dot() };
            io.out.write(text.as_bytes())?;
            return io.out.flush().map(|()| !hits.is_empty());
        }
        if self.is_block {
            tree::set_level(&mut hits, self.tree.level, true);
            return print_block(&hits, io);
        }
        let layout = self.format.layout();
        request.describe(store, &mut hits, self.tree.level, layout.is_some())?;
        for step in steps.iter().filter(|_| self.tree.steps) {
            match layout {
                Some(_) => io.out.write(format!("{}\n", view::visible(&step.to_text())).as_bytes())?,
                None => io.out.with(|out| step.write_line(query, out))?,
            }
        }
        let is_empty = hits.is_empty();
        let held: Vec<_> = hits.into_iter().map(|hit| (hit, Around::default())).collect();
        print_held(&self.format, store, &held, query, io)?;
        if is_empty {
            io.out.with(|out| self.format.write_miss(query, out))?;
        }
        io.out.flush().map(|()| !is_empty)
    }

    /// Answers query lines in their order; whether any has hits.
    fn answer_lines<R: Read>(
        &mut self,
        mut lines: Reader<R>,
        store: &mut dyn Store,
        io: &mut Io,
    ) -> Result<bool> {
        let mut found = false;
        while let Some(next) = lines.next() {
            let answered = next.and_then(|LocatedObject { location: place, object }| {
                let query = Query::parse(object, place.line()).map_err(|e| e.at(&place))?;
                self.answer(&query.text, Some(&query), store, io).map_err(|e| e.at(&place))
            });
            match answered {
                Ok(hits) => found |= hits,
                Err(error) if error.is_closed() => return Err(error),
                Err(error) => io.fault(&error),
            }
        }
        Ok(found)
    }
}

/// Lets the terms of a question stand out where there is colour: all of them, or, by meaning, those that carry its topic.
fn highlight(format: &mut HitFormat, question: &str, languages: Languages, by_meaning: bool) {
    format.by_meaning = by_meaning;
    format.highlighted = match format.layout() {
        Some(layout) if layout.colour && by_meaning => topic_terms(question, languages),
        Some(layout) if layout.colour => Term::parse(question),
        _ => Vec::new(),
    };
}

/// Prints all hits of a question, each with the messages around it.
fn print_held(
    format: &HitFormat,
    store: &mut dyn Store,
    hits: &[(Hit, Around)],
    query: Option<&Query>,
    io: &mut Io,
) -> Result<()> {
    let shown = hits.iter().flat_map(|(hit, around)| {
        let around = around.all().map(|record| &**record);
        around.chain([&hit.record])
    });
    let heads = search::heads(store, shown, format.layout())?;
    hits.iter()
        .enumerate()
        .try_for_each(|(at, hit)| print(format, at + 1, (&hit.0, &hit.1), query, &heads, io))?;
    let action = hits.iter().map(|(hit, _)| &hit.record).find(|record| record.kind == &ACTION);
    if let Some(id) = action.filter(|_| query.is_none()).and_then(|action| heads.short_ids.get(&action.id)) {
        io.note(format_args!("to read the turn of an action: rsv-view --id {id} --turn"));
    }
    Ok(())
}

/// Prints a hit with its rank and the messages around it.
fn print(
    format: &HitFormat,
    rank: usize,
    (hit, around): (&Hit, &Around),
    query: Option<&Query>,
    heads: &Heads,
    io: &mut Io,
) -> Result<()> {
    let ranked = RankedHit { rank, hit, before: &around.before, after: &around.after, heads };
    io.out.with(|out| format.write(&ranked, query, out))
}

/// Prints hits in a fence, except messages that are never recalled; returns whether there are any.
fn print_block(hits: &[Hit], io: &mut Io) -> Result<bool> {
    let is_for_models = |hit: &&Hit| hit.why.rule != RecallRule::Never;
    let records: Vec<_> = hits.iter().filter(is_for_models).map(|hit| &hit.record).collect();
    io.out.write(fence::block(fence::HIT_NOTE, &records).as_bytes())?;
    io.out.flush().map(|()| !records.is_empty())
}
