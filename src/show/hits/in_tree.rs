//! The hits of a search in the tree of contexts, and its steps.

use super::{Search, highlight};
use crate::error::Result;
use crate::plan;
use crate::record::{Address, Query, Scopes};
use crate::search::{Answer, Request, tree};
use crate::store::Around;
use crate::view;

impl Search<'_> {
    /// The request for what lies at and below some addresses.
    pub(super) fn request_in_tree<'r>(
        &mut self,
        mut request: Request<'r>,
        targets: &[String],
    ) -> Result<Request<'r>> {
        if request.which.scopes == Scopes::All {
            request.which.scopes = Scopes::Partition(self.io.common.scope()?.partition);
        }
        let partition = request.which.scopes.partition().unwrap_or_default();
        let targets = targets.iter().map(|target| Address::locate(target, partition));
        request.targets = targets.collect::<Result<_>>().map_err(|e| e.at("target"))?;
        if let Some(session) = &self.in_tree.session {
            request.context = tree::session_context(&mut *self.store, partition, session)?;
        }
        if let Some(planner) = &self.in_tree.planner {
            match plan::questions(&request.questions[0], &request.context, planner) {
                Ok(questions) => request.questions = questions,
                Err(error) => {
                    let hint = error.remedy().map_or(String::new(), |hint| format!(" ({hint})"));
                    self.io.note(format_args!("searching for the question as it is: {error}{hint}"));
                }
            }
        }
        request.which.kinds.clone_from(&self.in_tree.kinds);
        request.ranking = self.in_tree.ranking;
        Ok(request)
    }

    /// Prints the answer to such a request: the steps, if they are wanted, and the hits; returns whether
    /// there are any.
    pub(super) fn answer_in_tree(
        &mut self,
        question: &str,
        request: &Request,
        query: Option<&Query>,
    ) -> Result<bool> {
        let languages = self.store.languages()?;
        highlight(&mut self.format, question, languages, self.request.is_by_meaning());
        let Answer { mut hits, steps, .. } = self.searcher.run(&mut *self.store, request)?;
        self.announcement.print(query, self.io);
        let level = self.in_tree.level;
        if self.is_block {
            tree::set_level(&mut hits, level, true);
            return self.block(&hits);
        }
        let is_for_people = self.format.layout().is_some();
        request.describe(&mut *self.store, &mut hits, level, is_for_people)?;
        for step in steps.iter().filter(|_| self.in_tree.steps) {
            if is_for_people {
                self.io.out.write(format!("{}\n", view::visible(&step.to_text())).as_bytes())?;
            } else {
                self.io.out.with(|out| step.write_line(query, out))?;
            }
        }
        let held: Vec<_> = hits.into_iter().map(|hit| (hit, Around::default())).collect();
        self.print_held(&held, query)?;
        if held.is_empty() {
            self.io.out.with(|out| self.format.write_miss(query, out))?;
        }
        self.io.out.flush().map(|()| !held.is_empty())
    }
}
