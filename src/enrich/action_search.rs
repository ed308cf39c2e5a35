//! Finds the actions to recall: for a question about work on files, those that it names by a file, a command or an error,
//! and those of the turns that were found for it.

use super::candidate::{Block, Candidate};
use super::units::called_by;
use crate::chat::Request;
use crate::error::Result;
use crate::record::{ACTION, Record, Scopes, StoredRecord};
use crate::search;
use crate::store::{Select, Store, Walk};
use crate::worktree::named_files;
use std::collections::{BTreeSet, HashSet};

/// The most actions that are recalled, and of these the most of each found turn.
const MOST: usize = 12;
const MOST_OF_TURN: usize = 5;

/// The number of hits among which those are looked for that the question names.
const CONSIDERED: usize = 60;

/// The number of found messages whose turns are asked for their actions.
const TURNS: usize = 3;

/// Programs that are called in a shell and whose names are no words of a language.
const PROGRAMS: &str = "ansible bazel bun cargo clang clippy cmake composer curl deno docker dotnet eslint ffmpeg gcc gh git \
    gradle grep jest jq kubectl mvn mypy npm npx pip pnpm poetry psql pytest python rg rsync ruff rustc \
    rustfmt sed sqlite3 ssh systemctl terraform tsc uv vitest yarn";

/// The words of questions about what was done, in English, German, French, Spanish and Russian: which of them ask.
const ASKING: &str = "what which when how did was welche welcher welches was wann quel quelle quels quelles qué cuál какой \
    какая какие";

/// And the beginnings of those that name work.
const WORK: &str = "command edit error fail file fix patch ran run test touch befehl datei fehler fehlgeschlagen \
    commande fichier erreur échou comando archivo fall команд файл ошибк тест";

/// What a question says of work on files.
#[derive(Clone, Debug)]
struct AskedWork {
    /// Paths and names of files.
    files: Vec<String>,
    /// Commands: what stands between backticks, and the names of programs.
    commands: Vec<String>,
    /// Words that errors have: `E0425`, `charge_card`, `pay::Error`.
    codes: Vec<String>,
    /// Whether it asks what was done.
    asks: bool,
}

impl AskedWork {
    fn of(text: &str) -> AskedWork {
        let spans = text.split('`').skip(1).step_by(2).map(str::trim);
        let mut commands: Vec<String> =
            spans.filter(|span| is_command(span)).map(str::to_lowercase).collect();
        let words: Vec<String> = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
            .map(str::to_lowercase)
            .collect();
        let programs = words.iter().enumerate().filter(|(_, word)| is_in(PROGRAMS, word));
        commands.extend(programs.map(|(at, program)| match words.get(at + 1) {
            Some(next) if !next.is_empty() => format!("{program} {next}"),
            _ => program.clone(),
        }));
        let is_asking = words.iter().any(|word| is_in(ASKING, word));
        let names_work =
            words.iter().any(|word| WORK.split_whitespace().any(|begin| word.starts_with(begin)));
        AskedWork {
            files: named_files(text),
            codes: words.iter().filter(|word| is_code(word)).cloned().collect(),
            commands,
            asks: is_asking && names_work,
        }
    }

    /// Whether it names a file, a command or an error.
    fn names_any(&self) -> bool {
        !(self.files.is_empty() && self.commands.is_empty() && self.codes.is_empty())
    }

    /// The same of programs whatever they are called with: the word after a program need not belong to the command.
    fn of_programs(&self) -> AskedWork {
        let program = |command: &String| command.split(' ').next().unwrap_or_default().to_owned();
        AskedWork { commands: self.commands.iter().map(program).collect(), ..self.clone() }
    }

    /// The words to search for.
    fn words(&self) -> String {
        [&self.files[..], &self.commands, &self.codes].concat().join(" ")
    }

    /// Whether it names an action.
    fn names(&self, action: &StoredRecord) -> bool {
        let purpose = action.purpose().to_lowercase();
        let is_of_file = |file: &String| {
            let file = file.to_lowercase();
            purpose.match_indices(&file).any(|(at, _)| is_name(&purpose, at, file.len()))
        };
        let is_command = |command: &String| {
            let begins = |part: &str| part.trim_start().strip_prefix(command.as_str()).is_some_and(ends_word);
            action.is_command() && purpose.split(['&', '|', ';', '\n']).any(begins)
        };
        let error = action.failure().to_lowercase();
        let has_code = |code: &String| {
            [&purpose, &error]
                .into_iter()
                .any(|text| text.match_indices(code.as_str()).any(|(at, _)| is_name(text, at, code.len())))
        };
        self.files.iter().any(is_of_file)
            || self.commands.iter().any(is_command)
            || self.codes.iter().any(has_code)
    }
}

/// Whether a list of words has a word.
fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Whether a text between backticks may be a command.
fn is_command(span: &str) -> bool {
    const MAX_BYTES: usize = 200;
    !span.is_empty() && span.len() <= MAX_BYTES && !span.contains('\n')
}

/// Whether a word is a name of a program's own, or the code of an error.
fn is_code(word: &str) -> bool {
    const MIN_CHARS: usize = 4;
    let has = |is: fn(char) -> bool| word.chars().any(is);
    word.chars().count() >= MIN_CHARS
        && has(char::is_alphabetic)
        && (has(|c| c.is_ascii_digit()) || word.trim_matches('_').contains('_') || word.contains("::"))
}

/// Whether a part of a text is a name for itself, or the end of a path.
fn is_name(text: &str, at: usize, length: usize) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !text[..at].ends_with(is_inside) && !text[at + length..].starts_with(is_inside)
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// The actions of some scopes that a question is about, best first, without those whose calls the request holds. `found`
/// are the records that were found for it.
pub(super) fn related_actions(
    store: &mut dyn Store,
    (text, request, found): (&str, &Request, &[Candidate]),
    scopes: Scopes,
) -> Result<Vec<Candidate>> {
    let asked = AskedWork::of(text);
    let all = Select::records(vec![&ACTION], scopes);
    if !(asked.names_any() || asked.asks) || store.count(&all, 1)? == 0 {
        return Ok(Vec::new());
    }
    let mut actions = Vec::new();
    if asked.names_any() {
        let mut named = named(store, &asked, &all)?;
        named.sort_by_cached_key(|action| std::cmp::Reverse(action.position()));
        named.truncate(MOST);
        for action in named {
            let fixed = action.failed().then(|| fix_of(store, &action)).transpose()?.flatten();
            actions.extend([Some(action), fixed].into_iter().flatten());
        }
    }
    if asked.asks {
        let messages = found.iter().filter(|one| one.block() == Block::Messages && one.score.is_some());
        let mut turns = HashSet::new();
        for message in messages.take(TURNS).map(|candidate| &candidate.record) {
            if turns.insert((&message.scope, &message.trace_id)) {
                let of_turn =
                    of_turn(store, message)?.into_iter().filter(|one| one.failed() || one.is_change());
                actions.extend(of_turn.take(MOST_OF_TURN));
            }
        }
    }
    let held: BTreeSet<String> = request.messages.iter().flat_map(called_by).collect();
    let mut seen = HashSet::new();
    actions.retain(|action| {
        let is_held = action.lookup_key().is_some_and(|call| held.contains(&call));
        !is_held && seen.insert(action.shown_text().into_owned())
    });
    actions.truncate(MOST);
    Ok(actions.into_iter().map(|action| Candidate::new(action, None, 0)).collect())
}

/// The actions that a question names, among those with most of its words.
fn named(store: &mut dyn Store, asked: &AskedWork, all: &Select) -> Result<Vec<StoredRecord>> {
    let options = search::Options::new(CONSIDERED);
    let hits = search::find(store, search::By::Any, &asked.words(), all, &options)?.hits;
    let actions: Vec<StoredRecord> = hits.into_iter().map(|hit| hit.record).collect();
    let named = |asked: &AskedWork| -> Vec<StoredRecord> {
        actions.iter().filter(|action| asked.names(action)).cloned().collect()
    };
    let found = named(asked);
    Ok(if found.is_empty() { named(&asked.of_programs()) } else { found })
}

/// The actions of the turn of a record, oldest first.
fn of_turn(store: &mut dyn Store, record: &StoredRecord) -> Result<Vec<StoredRecord>> {
    let which = Select {
        trace_id: Some(record.trace_id.clone()),
        ..Select::records(vec![&ACTION], Scopes::One(record.scope.clone()))
    };
    let mut actions = Vec::new();
    store.walk(&Walk::records(which), &mut |record| {
        if let Record::Stored(action) = record {
            actions.push(action);
        }
        Ok(())
    })?;
    actions.sort_by_cached_key(StoredRecord::position);
    Ok(actions)
}

/// The last change before the first success of the command of a failed action, in its turn.
fn fix_of(store: &mut dyn Store, failed: &StoredRecord) -> Result<Option<StoredRecord>> {
    let mut change = None;
    for action in of_turn(store, failed)?.into_iter().filter(|one| one.position() > failed.position()) {
        if action.is_change() && !action.failed() {
            change = Some(action);
        } else if action.purpose() == failed.purpose() && !action.failed() {
            return Ok(change);
        }
    }
    Ok(None)
}
