//! The prompt: questions that are typed, one after the other, and the commands between them.

use super::asker::{AskError, Asker};
use super::history::History;
use crate::cli::{Interrupts, Io, yes_or_no};
use crate::error::{Error, Result};
use crate::lines::too_long;
use crate::text::counted;
use crate::view;
use rustyline::Editor;
use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;

/// The columns of the name of the scope.
const PLACE_COLUMNS: usize = 30;

/// The columns of the beginning of a question.
const EXCERPT_COLUMNS: usize = 40;

/// The commands, each with what it does.
const COMMANDS: [(&str, &str, Command); 5] = [
    ("/sources", "name what was recalled for the last answer", Command::Sources),
    ("/forget", "forget the last question and its answer", Command::Forget),
    ("/new", "begin another conversation", Command::New),
    ("/help", "list these commands", Command::Help),
    ("/quit", "end, as Ctrl-D does", Command::Quit),
];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Command {
    Sources,
    Forget,
    New,
    Help,
    Quit,
}

impl Command {
    /// The command of a line; none for a question. Errors if there is no such command.
    fn parse(line: &str) -> Result<Option<Command>> {
        if !line.starts_with('/') {
            return Ok(None);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let fault = match COMMANDS.iter().find(|(name, ..)| *name == word) {
            Some((.., command)) if rest.trim().is_empty() => return Ok(Some(*command)),
            Some((name, ..)) => format!("{name} takes no words"),
            None => format!("there is no command {}", view::excerpt(word, EXCERPT_COLUMNS)),
        };
        Err(AskError::Command { fault }.into())
    }
}

/// Reads questions at the terminal and answers them, until the user ends it. Fails if a line cannot be read
/// or stdout is closed; other errors are printed.
pub fn prompt(asker: &mut Asker, io: &mut Io) -> Result<()> {
    let mut prompt = Prompt::new(asker, io)?;
    io.aside("/help lists the commands; Ctrl-D ends", false);
    while let Some(line) = prompt.read(io)? {
        prompt.interrupts.take();
        let done = match Command::parse(&line) {
            Ok(Some(Command::Quit)) => return Ok(()),
            Ok(Some(command)) => prompt.run(command, asker, io),
            Ok(None) if line.len() > asker.settings().max_line() => {
                Err(too_long(asker.settings().max_line()))
            }
            Ok(None) => asker.ask(line.trim(), Some(&prompt.interrupts), io),
            Err(error) => {
                io.diagnostics().fault(&error);
                continue;
            }
        };
        match done {
            Err(error) if error.is_closed() => return Err(error),
            Err(error) => io.fault(&error),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// A terminal at which questions are typed.
struct Prompt {
    editor: Editor<(), MemHistory>,
    history: History,
    interrupts: Interrupts,
    /// The text in front of a question.
    text: String,
}

impl Prompt {
    fn new(asker: &Asker, io: &Io) -> Result<Prompt> {
        // Standard output gets the answers alone.
        let config = Config::builder().behavior(Behavior::PreferTerm).max_history_size(usize::MAX);
        let config = config.map_err(terminal_error)?.build();
        let memory = MemHistory::with_config(&config);
        let mut prompt = Prompt {
            editor: Editor::with_history(config, memory).map_err(terminal_error)?,
            history: History::new(asker.settings(), asker.redactor().cloned()),
            interrupts: Interrupts::catch()?,
            text: format!("{}> ", view::place(asker.scope(), PLACE_COLUMNS)),
        };
        let loaded = prompt.history.load(asker.settings());
        prompt.note_failure(loaded, io);
        prompt.give_history()?;
        Ok(prompt)
    }

    /// The next line that is not empty; none at the end. Ctrl-C clears a line.
    fn read(&mut self, io: &Io) -> Result<Option<String>> {
        loop {
            let line = match self.editor.readline(&self.text) {
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(None),
                read => read.map_err(terminal_error)?,
            };
            if line.trim().is_empty() {
                continue;
            }
            let added = self.history.add(&line);
            self.note_failure(added, io);
            if let Some(added) = self.history.lines().last() {
                self.editor.add_history_entry(added).map_err(terminal_error)?;
            }
            return Ok(Some(line));
        }
    }

    /// Notes, once, that the file of the history failed; it is not used any more.
    fn note_failure(&mut self, done: Result<()>, io: &Io) {
        if let Err(error) = done {
            io.note(format_args!("{error}; the lines of this prompt are not kept"));
            self.history.give_up_file();
        }
    }

    /// Gives the lines of the history to the editor.
    fn give_history(&mut self) -> Result<()> {
        self.editor.clear_history().map_err(terminal_error)?;
        for line in self.history.lines() {
            self.editor.add_history_entry(line).map_err(terminal_error)?;
        }
        Ok(())
    }

    fn run(&mut self, command: Command, asker: &mut Asker, io: &Io) -> Result<()> {
        match command {
            Command::Sources => asker.print_sources(true, io),
            Command::New => {
                asker.begin_another();
                io.aside("the next question begins another conversation", true);
            }
            Command::Help => {
                for (name, does, _) in COMMANDS {
                    io.aside(format_args!("{name:<9} {does}"), true);
                }
            }
            Command::Forget => return self.forget(asker, io),
            Command::Quit => {}
        }
        Ok(())
    }

    /// Forgets the last turn, if the answer is yes.
    fn forget(&mut self, asker: &mut Asker, io: &Io) -> Result<()> {
        let Some(question) = asker.last_question().map(str::to_owned) else {
            io.aside("this conversation has no turn to forget", true);
            return Ok(());
        };
        let excerpt = view::excerpt(&question, EXCERPT_COLUMNS);
        let answer = self.editor.readline(&format!("Forget {excerpt} and its answer? [y/N] "));
        if !answer.is_ok_and(|answer| yes_or_no(&answer) == Some(true)) {
            io.aside("nothing was removed", true);
            return Ok(());
        }
        let Some(forgotten) = asker.forget_last(io)? else { return Ok(()) };
        let removed = self.history.forget(&question);
        self.note_failure(removed, io);
        self.give_history()?;
        let records = counted(forgotten.removed, "record");
        let derived = match forgotten.derived {
            0 => String::new(),
            derived => format!("; {derived} made from it stay: 'rsv-forget --derived' removes such"),
        };
        io.aside(format_args!("{records} removed{derived}"), true);
        Ok(())
    }
}

fn terminal_error(error: ReadlineError) -> Error {
    Error::attempt("cannot read the terminal", error)
}
