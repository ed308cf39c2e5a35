//! Scopes, sessions, and the part of a session that waits for its commit.

use super::Viewer;
use crate::cli::Outcome;
use crate::error::Result;
use crate::import::resume_command;
use crate::record::{Scopes, SessionSummary};
use crate::store::{self, Select, Uncommitted};
use crate::text::counted_verb;
use crate::view::{self, Heads};

/// The greatest number of messages of one commit, whose line has their ids.
const MAX_COMMIT_MESSAGES: usize = 20_000;

impl Viewer<'_> {
    /// Prints the summaries of the scopes of a selection.
    pub fn scopes(&mut self, which: &Select) -> Result<Outcome> {
        let summaries = self.store.summarize(which)?;
        if summaries.is_empty() && which.scopes == Scopes::All {
            return self.explain_nothing(which);
        }
        match &self.layout {
            Some(layout) => self.io.out.write(view::scopes(&summaries, layout).as_bytes())?,
            None => summaries.iter().try_for_each(|scope| self.io.out.object(&scope.to_object()))?,
        }
        Ok(Outcome::Yes)
    }

    /// Prints the sessions of the scopes of a selection whose last messages are of its time, each with the
    /// command that continues it.
    pub fn sessions(&mut self, which: &Select) -> Result<Outcome> {
        let mut sessions = store::sessions(&mut *self.store, &which.scopes)?;
        let span = which.since.unwrap_or(i64::MIN)..=which.until.unwrap_or(i64::MAX);
        sessions.retain(|session| span.contains(&session.last));
        store::add_programs(&mut *self.store, &mut sessions)?;
        let command = |session: &SessionSummary| {
            resume_command(session.program.as_deref().unwrap_or_default(), &session.scope.instance)
        };
        if let Some(layout) = &self.layout {
            let commands: Vec<_> =
                sessions.iter().map(|session| command(session).or_else(|| ask_command(session))).collect();
            self.io.out.write(view::sessions(&sessions, &commands, layout).as_bytes())?;
            return Ok(Outcome::Yes);
        }
        for session in &sessions {
            let mut line = session.to_object();
            for (name, text) in [("program", &session.program), ("resume", &command(session))] {
                if let Some(text) = text {
                    line.set_text(name, text);
                }
            }
            self.io.out.object(&line)?;
        }
        Ok(Outcome::Yes)
    }

    /// Prints the archive and the messages that the next commit of the session of the flags is made of. No if
    /// there are none.
    pub fn uncommitted(&mut self) -> Result<Outcome> {
        let Viewer { store, layout, io, .. } = self;
        let session = io.common.scope()?;
        let Uncommitted { archive, messages, more } =
            store::uncommitted(&mut **store, &session, MAX_COMMIT_MESSAGES)?;
        if messages.is_empty() {
            return Ok(Outcome::No);
        }
        for record in archive.iter().chain(&messages) {
            match layout {
                Some(layout) => io.out.write(view::record(record, &Heads::default(), layout).as_bytes())?,
                None => io.out.stored(record)?,
            }
        }
        if more > 0 {
            let more = counted_verb(more as u64, "more message", ["waits", "wait"]);
            io.note(format_args!("{more} for the next commit"));
        }
        Ok(Outcome::Yes)
    }
}

/// The command that continues a conversation of no other program.
fn ask_command(session: &SessionSummary) -> Option<String> {
    let SessionSummary { scope, program: None, is_answered: true, .. } = session else { return None };
    let partition = shlex::try_quote(&scope.partition).ok()?;
    if scope.is_of_partition_alone() {
        return Some(format!("rsv-ask -p {partition} -c"));
    }
    Some(format!("rsv-ask -p {partition} -i {} -c", shlex::try_quote(&scope.instance).ok()?))
}
