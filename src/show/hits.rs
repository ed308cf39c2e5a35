//! The hits of questions. People get them once the short ids of all are known, programs each as it is found.

mod in_tree;

use super::last::MAX_WITH_HEADS;
use crate::chat::fence;
use crate::cli::Io;
use crate::error::Result;
use crate::lines::{LocatedObject, Reader};
use crate::record::{ACTION, Hit, Query, RecallRule, RecordKind};
use crate::redact::Redactor;
use crate::search::{self, Announcement, Ranking, Request, Searcher};
use crate::store::{Around, Store, topic_terms};
use crate::structured::Model;
use crate::text::{Languages, Term};
use crate::view::{Heads, HitFormat, HitStyle, RankedHit};
use std::collections::BTreeSet;
use std::io::Read;

/// Prints the hits of one question after the other.
pub struct Search<'a> {
    pub store: Box<dyn Store>,
    pub searcher: Searcher<'a>,
    /// The request without its questions.
    pub request: Request<'a>,
    pub in_tree: InTree,
    pub format: HitFormat,
    /// The number of messages to print before and after each hit.
    pub context: usize,
    /// Whether conversations are found by their titles too.
    pub finds_titles: bool,
    /// Whether the hits are printed in a fence instead of lines.
    pub is_block: bool,
    pub announcement: Announcement,
    /// The command that finds the same in all scopes.
    pub everywhere: String,
    pub io: &'a mut Io,
}

/// A search at and below addresses.
#[derive(Default)]
pub struct InTree {
    /// The addresses; a query line may name others.
    pub targets: Vec<String>,
    pub ranking: Option<Ranking>,
    pub kinds: Vec<&'static RecordKind>,
    /// The level of detail of the hits, 0 to 2.
    pub level: Option<u8>,
    /// The session whose words are added to the question.
    pub session: Option<String>,
    /// The model that says what to search for.
    pub planner: Option<Model>,
    /// Whether the steps are printed.
    pub steps: bool,
}

impl Search<'_> {
    /// Prints the hits of a question; returns whether there are any. The members of a query line override the
    /// request.
    pub fn answer(&mut self, question: &str, query: Option<&Query>) -> Result<bool> {
        let mut request = self.request.clone();
        request.questions = vec![question.to_owned()];
        if let Some(query) = query {
            request.which = request.which.narrowed(query);
            request.options.limit = query.limit.unwrap_or(request.options.limit);
        }
        let targets = query.and_then(|query| query.targets.as_ref()).unwrap_or(&self.in_tree.targets);
        if !targets.is_empty() {
            let targets = targets.clone();
            let request = self.request_in_tree(request, &targets)?;
            return self.answer_in_tree(question, &request, query);
        }
        if self.is_block {
            let mut hits = self.searcher.run(&mut *self.store, &request)?.hits;
            search::ready_for_model(&mut hits);
            self.announcement.print(query, self.io);
            return self.block(&hits);
        }
        let count = self.list(question, &request, query)?;
        if count == 0 {
            self.miss(&request, query)?;
        }
        self.io.out.flush().map(|()| count > 0)
    }

    /// Answers query lines in their order; returns whether any has hits.
    pub fn answer_lines(&mut self, mut lines: Reader<impl Read>) -> Result<bool> {
        let mut found = false;
        while let Some(next) = lines.next() {
            let answered = next.and_then(|LocatedObject { location, object }| {
                let query = Query::parse(object, location.line()).map_err(|e| e.at(&location))?;
                self.answer(&query.text, Some(&query)).map_err(|e| e.at(&location))
            });
            match answered {
                Ok(hits) => found |= hits,
                Err(error) if error.is_closed() => return Err(error),
                Err(error) => self.io.fault(&error),
            }
        }
        Ok(found)
    }

    /// Prints the records that hold secrets, at most `limit` of them, without these; returns whether there
    /// are any.
    pub fn secrets(&mut self, limit: usize, redactor: &Redactor) -> Result<bool> {
        let (mut rank, mut held) = (0, Vec::new());
        self.announcement.print(None, self.io);
        let Search { store, request, format, io, .. } = self;
        search::visit_secrets(&mut **store, &request.which, redactor, &mut |hit| {
            if rank == limit {
                return Ok(());
            }
            rank += 1;
            if format.layout().is_some() {
                held.push((hit, Around::default()));
                return Ok(());
            }
            print(format, rank, (&hit, &Around::default()), None, &Heads::default(), io)
        })?;
        self.print_held(&held, None)?;
        if rank > 0 && self.format.layout().is_some() {
            self.io.note(
                "the hits are printed without their secrets; to remove them, add to this command: | rsv-forget --all",
            );
        }
        self.io.out.flush().map(|()| rank > 0)
    }

    /// Prints the hits of a request, and then the conversations that are found by their titles; returns their
    /// number.
    fn list(&mut self, question: &str, request: &Request, query: Option<&Query>) -> Result<usize> {
        let holds = self.format.layout().is_some() && request.options.limit <= MAX_WITH_HEADS;
        let (mut rank, mut held, mut found) = (0, Vec::new(), BTreeSet::new());
        let languages = self.store.languages()?;
        let extent = (self.context, self.format.explain);
        let Search { store, searcher, format, announcement, finds_titles, io, .. } = self;
        searcher.visit(&mut **store, request, extent, &mut |hit, around, by_meaning| {
            rank += 1;
            if *finds_titles && !found.contains(&hit.record.scope) {
                found.insert(hit.record.scope.clone());
            }
            if rank == 1 {
                announcement.print(query, io);
                highlight(format, question, languages, by_meaning);
            }
            if holds {
                held.push((hit.clone(), around.clone()));
                return Ok(());
            }
            print(format, rank, (hit, around), query, &Heads::default(), io)
        })?;
        let mut titles = Vec::new();
        if *finds_titles && request.options.limit > 0 {
            titles = search::title_hits(&mut **store, question, &request.which, &found)?;
        }
        if !holds {
            titles.truncate(request.options.limit.saturating_sub(rank));
        }
        for title in titles {
            rank += 1;
            announcement.print(query, io);
            if holds {
                held.push((title, Around::default()));
            } else {
                print(format, rank, (&title, &Around::default()), query, &Heads::default(), io)?;
            }
        }
        self.print_held(&held, query)?;
        Ok(rank)
    }

    /// Says where more may be found by a question that found nothing.
    fn miss(&mut self, request: &Request, query: Option<&Query>) -> Result<()> {
        let Search { store, searcher, format, io, .. } = self;
        io.out.with(|out| format.write_miss(query, out))?;
        let is_question = query.is_none() && request.options.limit > 0;
        let names_none = is_question && !io.common.names_scope();
        if names_none && matches!(format.style, HitStyle::Reservoir(_)) {
            // Clients of Reservoir write to partitions that its search does not read unless they are named.
            if let Some(note) = searcher.other_partitions(&mut **store, request)? {
                io.note(note);
            }
        } else if is_question && (io.stdout_is_tty() || io.prints_summaries()) {
            for note in searcher.nothing_found(&mut **store, request, &self.everywhere)? {
                io.note(note);
            }
        } else {
            self.announcement.print(query, io);
        }
        Ok(())
    }

    /// Prints all hits of a question, each with the messages around it.
    fn print_held(&mut self, hits: &[(Hit, Around)], query: Option<&Query>) -> Result<()> {
        let Search { store, format, io, .. } = self;
        let shown = hits.iter().flat_map(|(hit, around)| {
            let around = around.all().map(|record| &**record);
            around.chain([&hit.record])
        });
        let heads = search::heads(&mut **store, shown, format.layout())?;
        for (at, (hit, around)) in hits.iter().enumerate() {
            print(format, at + 1, (hit, around), query, &heads, io)?;
        }
        let action = hits.iter().map(|(hit, _)| &hit.record).find(|record| record.kind == &ACTION);
        if let Some(id) =
            action.filter(|_| query.is_none()).and_then(|action| heads.short_ids.get(&action.id))
        {
            io.note(format_args!("to read the turn of an action: rsv-view --id {id} --turn"));
        }
        Ok(())
    }

    /// Prints hits in a fence, except messages that are never recalled; returns whether there are any.
    fn block(&mut self, hits: &[Hit]) -> Result<bool> {
        let is_for_models = |hit: &&Hit| hit.why.rule != RecallRule::Never;
        let records: Vec<_> = hits.iter().filter(is_for_models).map(|hit| &hit.record).collect();
        self.io.out.write(fence::block(fence::HIT_NOTE, &records).as_bytes())?;
        self.io.out.flush().map(|()| !records.is_empty())
    }
}

/// Lets the terms of a question stand out where there is colour: all of them, or, by meaning, those that
/// carry its topic.
fn highlight(format: &mut HitFormat, question: &str, languages: Languages, by_meaning: bool) {
    format.by_meaning = by_meaning;
    format.highlighted = match format.layout() {
        Some(layout) if layout.colour && by_meaning => topic_terms(question, languages),
        Some(layout) if layout.colour => Term::parse(question),
        _ => Vec::new(),
    };
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
