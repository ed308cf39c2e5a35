//! rsv-search: messages that hold the words asked for.

use rsv::cli::{self, Filter, Io, Layout, Outcome};
use rsv::error::Result;
use rsv::record::{Query, Reader, Value};
use rsv::store::{self, Access, Select, Store};
use rsv::{config, search, view};
use std::io::Read;
use std::process::ExitCode;

/// Finds messages that hold all of the words asked for, best first
///
/// A word may be a part of a word; case and accents do not matter. A partition alone means all of its
/// instances; with neither, default/default is searched. Nothing found: exit status 1.
#[derive(clap::Args)]
struct Args {
    /// The words; without any, standard input is read, as query lines if it begins with '{'
    #[arg(value_name = "TERM")]
    terms: Vec<String>,
    /// At most so many hits
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    filter: Filter,
    /// All scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// The output: jsonl or text [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "text"], hide_possible_values = true)]
    format: Option<String>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    let which = Select {
        roles: args.filter.role,
        since: args.filter.since,
        until: args.filter.until,
        ..Select::of(io.common.to_read(args.all)?)
    };
    let text = args.format.map_or_else(|| io.for_people(), |format| format == "text");
    let search = Search { which, limit: args.limit, layout: text.then(|| io.layout()) };
    let open = || store::open(&settings.store()?, Access::Read);
    let found = if !args.terms.is_empty() {
        search.answer(&args.terms.join(" "), None, &mut *open()?, io)?
    } else {
        let (first, input) = io.peek()?;
        if first == Some(b'{') {
            search.answer_lines(Reader::new("<stdin>", input, settings.max_line()), &mut *open()?, io)?
        } else {
            let question = cli::read_text(input, "<stdin>", settings.max_line())?;
            search.answer(&question, None, &mut *open()?, io)?
        }
    };
    Ok(if found { Outcome::Yes } else { Outcome::No })
}

/// What the command line says of every question.
struct Search {
    which: Select,
    limit: usize,
    /// How hits are shown to people; else they are JSON lines.
    layout: Option<Layout>,
}

impl Search {
    /// Prints the hits of a question; whether there are any. What a query line says goes before the flags.
    fn answer(
        &self,
        question: &str,
        query: Option<&Query>,
        store: &mut dyn Store,
        io: &mut Io,
    ) -> Result<bool> {
        let which = query.map_or_else(|| self.which.clone(), |query| self.narrowed(query));
        let limit = query.and_then(|query| query.limit).unwrap_or(self.limit);
        let hits = search::keyword(store, question, &which, limit)?;
        match (query, &self.layout) {
            (Some(_), Some(_)) => io.out.write(format!("{}\n", view::visible(question)).as_bytes())?,
            (Some(query), None) if hits.is_empty() => io.out.with(|out| query.write_miss(out))?,
            _ => {}
        }
        for (rank, hit) in (1..).zip(&hits) {
            match &self.layout {
                Some(layout) => io.out.write(view::hit(rank, hit.score, &hit.message, layout).as_bytes())?,
                None => io.out.with(|out| hit.write_line(rank, query, out))?,
            }
        }
        io.out.flush().map(|()| !hits.is_empty())
    }

    /// Answers query lines in their order; whether any has hits.
    fn answer_lines<R: Read>(
        &self,
        mut lines: Reader<R>,
        store: &mut dyn Store,
        io: &mut Io,
    ) -> Result<bool> {
        let mut found = false;
        while let Some(next) = lines.next() {
            let answered = next.and_then(|Value { place, object }| {
                let query = Query::parse(object, &place).map_err(|e| e.at(&place))?;
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

    fn narrowed(&self, query: &Query) -> Select {
        Select {
            scopes: query.scopes.clone().unwrap_or_else(|| self.which.scopes.clone()),
            roles: query.role.map_or_else(|| self.which.roles.clone(), |role| vec![role]),
            since: query.since.or(self.which.since),
            until: query.until.or(self.which.until),
            ..self.which.clone()
        }
    }
}
