//! Asks question after question, each as a turn of one conversation.

use super::answer::{self, PrintedAnswer};
use super::conversation::Conversation;
use super::forget::{self, Forgotten};
use super::request::request;
use super::sources::Sources;
use crate::api;
use crate::chat;
use crate::cli::{Interrupts, Io};
use crate::config::Settings;
use crate::enrich::{Enriched, LineEnricher};
use crate::error::{Result, failures};
use crate::http;
use crate::record::Scope;
use crate::redact::Redactor;
use crate::text::counted;
use crate::view;

/// The columns of the beginning of a question.
const EXCERPT_COLUMNS: usize = 40;

/// A conversation with a model, and the memory that its questions are asked with.
pub struct Asker {
    settings: Settings,
    redactor: Option<Redactor>,
    model: Option<String>,
    trace_id: Option<String>,
    enricher: LineEnricher,
    conversation: Conversation,
    /// Those of the last answer.
    sources: Option<Sources>,
    /// Whether they are named one by one, for programs too.
    lists_sources: bool,
}

impl Asker {
    /// Opens the memory. `model` is that of the settings if none is named, `trace_id` that of every turn.
    pub fn new(
        settings: Settings,
        redactor: Option<Redactor>,
        model: Option<String>,
        trace_id: Option<String>,
        io: &Io,
    ) -> Result<Asker> {
        let enricher =
            LineEnricher::new(settings.clone(), &io.common, trace_id.clone(), io.clock, io.diagnostics())?;
        Ok(Asker {
            settings,
            redactor,
            model,
            trace_id,
            enricher,
            conversation: Conversation::default(),
            sources: None,
            lists_sources: false,
        })
    }

    /// Names what was recalled under each answer, one by one, for programs too.
    pub fn listing_sources(self, lists_sources: bool) -> Asker {
        Asker { lists_sources, ..self }
    }

    /// Goes on with the last conversation of the scope, and tells a person which it is.
    pub fn resume(&mut self, io: &Io) -> Result<()> {
        let scope = self.enricher.scope().clone();
        let Some(store) = self.enricher.store() else {
            return Err(AskError::NoStore.into());
        };
        self.conversation = Conversation::last_of(store, &scope, self.trace_id.as_ref(), &self.settings)?;
        let place = view::place(&scope, EXCERPT_COLUMNS);
        io.aside(
            match self.conversation.last() {
                None => format!("{place} has no conversation yet; this begins one"),
                Some(last) => {
                    let messages = counted(self.conversation.messages().count() as u64, "message");
                    let date = view::date(last.timestamp, &io.layout().zone);
                    let question = view::excerpt(&last.question, EXCERPT_COLUMNS);
                    format!("continues {place}: {messages} up to {date}, last asked {question}")
                }
            },
            false,
        );
        Ok(())
    }

    /// The scope of the conversation.
    pub(super) fn scope(&self) -> &Scope {
        self.enricher.scope()
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn redactor(&self) -> Option<&Redactor> {
        self.redactor.as_ref()
    }

    /// Asks a question, prints the answer, and stores the turn. Errors if there is no answer, or if it cannot
    /// be stored or printed; that it broke off is only reported. Ctrl-C stops an answer, where it is caught.
    pub fn ask(&mut self, question: &str, interrupts: Option<&Interrupts>, io: &mut Io) -> Result<()> {
        let enriched = self.enrich(question)?;
        let prints_sources = self.lists_sources || io.stdout_is_tty();
        // A prompt may be asked for them later.
        let sources =
            (prints_sources || interrupts.is_some()).then(|| Sources::of(&enriched, self.enricher.store()));
        let trace_id = enriched.account_record.trace_id;
        let received = http::run(answer::receive(enriched.line, &self.settings, interrupts, io))?;
        let PrintedAnswer { end, printed, is_stopped } = received;
        let has_failed = end.failure.is_some();
        if let Some(failure) = end.failure.filter(|_| !is_stopped) {
            io.fault(&failure.into());
        }
        let answer = end.response.as_ref().map(|response| api::answer(response, false)).transpose()?;
        let said = answer.map(|message| chat::text(&message)).unwrap_or_default();
        // A question without an answer would be half a turn.
        let Some(response) = end.response.filter(|_| !said.trim().is_empty()) else {
            if is_stopped {
                io.aside("stopped before there was an answer; nothing is stored", false);
            } else if !has_failed {
                io.fault(&AskError::NoText.into());
            }
            return printed;
        };
        self.conversation.add(trace_id, question, &said, io.clock.now());
        answer::keep(&response, &self.settings, self.redactor.clone(), io)?;
        printed?;
        if is_stopped {
            io.aside("stopped; the part that arrived is stored", false);
        }
        self.sources = sources;
        if prints_sources {
            self.print_sources(self.lists_sources, io);
        }
        Ok(())
    }

    /// Prints the request that would be sent for a question, and how large it is.
    pub fn dry_run(&mut self, question: &str, io: &mut Io) -> Result<()> {
        let enriched = self.enrich(question)?;
        let sources = Sources::of(&enriched, self.enricher.store());
        let (account, layout) = (&enriched.account, io.layout());
        io.out.with(|out| {
            enriched.line.write(out);
            out.push(b'\n');
        })?;
        io.out.flush()?;
        io.note(format_args!(
            "would send {} of {} tokens, reaching {}; {}",
            account.counted,
            account.window,
            sources.reach(),
            sources.summary(io.clock.now(), &layout.zone)
        ));
        if self.lists_sources {
            for line in sources.lines(&layout) {
                io.aside(line, true);
            }
        }
        Ok(())
    }

    /// The request of a question. Errors if it is too long for its model.
    fn enrich(&mut self, question: &str) -> Result<Enriched> {
        let request = request(self.conversation.messages(), question, self.model.as_deref());
        let enriched = self.enricher.enrich(request)?;
        match enriched.too_long {
            Some(error) => Err(error),
            None => Ok(enriched),
        }
    }

    /// Prints what was recalled for the last answer, in one line, or with a line for each record.
    pub(super) fn print_sources(&self, is_list: bool, io: &Io) {
        let layout = io.layout();
        let Some(sources) = &self.sources else {
            return io.aside("there is no answer yet", true);
        };
        io.aside(sources.summary(io.clock.now(), &layout.zone), is_list);
        if is_list {
            for line in sources.lines(&layout) {
                io.aside(line, true);
            }
        }
    }

    /// Begins another conversation.
    pub(super) fn begin_another(&mut self) {
        self.conversation = Conversation::default();
    }

    /// The question of the last turn.
    pub(super) fn last_question(&self) -> Option<&str> {
        self.conversation.last().map(|turn| turn.question.as_str())
    }

    /// Forgets the last turn. Fails if the store cannot be opened or written.
    pub(super) fn forget_last(&mut self, io: &Io) -> Result<Option<Forgotten>> {
        let Some(last) = self.conversation.last() else { return Ok(None) };
        let (scope, now) = (self.enricher.scope(), io.clock.now());
        let forgotten = forget::forget_turn(&self.settings, scope, last, now)?;
        self.conversation.remove_last();
        self.sources = None;
        Ok(Some(forgotten))
    }
}

// The reason why nothing is asked, or answered.
failures! { pub(super) enum AskError {
    NoStore ("the last conversation cannot be read, since the store cannot be opened")
        => "leave out --continue to ask without it",
    /// The answer came to its end.
    NoText ("the model gave no text")
        => "nothing is stored; ask again, or give --model MODEL for another one",
    Command { fault: String } ("{fault}")
        => "/help lists the commands; a question may begin with a slash after a space",
} }
