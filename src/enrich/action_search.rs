//! Finds the actions to recall: for a question about work on files, those that it names by a file, a command
//! or an error, and those of the turns that were found for it.

use super::candidate::{Block, Candidate};
use super::duplicate_filter::DuplicateFilter;
use super::held_calls::HeldCalls;
use crate::api::Request;
use crate::error::Result;
use crate::record::{ACTION, ActionFilter, Record, Scopes, StoredRecord};
use crate::search;
use crate::store::{Select, Store, Walk};
use crate::text::Languages;
use crate::worktree::named_files;
use std::cmp::Reverse;
use std::collections::HashSet;

/// The most actions that are recalled, and of these the most of each found turn.
const MOST: usize = 12;
const MOST_OF_TURN: usize = 5;

/// The most actions that are recalled because the question names a program alone.
const MOST_OF_PROGRAM: usize = 4;

/// The most words between backticks that are searched for by themselves.
const MAX_QUOTED: usize = 3;

/// The number of hits among which those are looked for that the question names.
const CONSIDERED: usize = 60;

/// The number of found messages whose turns are asked for their actions.
const TURNS: usize = 3;

/// Programs that are called in a shell and whose names are no words of a language.
const PROGRAMS: &str = "ansible bazel bun cargo clang clippy cmake composer curl deno docker dotnet eslint ffmpeg gcc gh git \
    gradle grep jest jq kubectl mvn mypy npm npx pip pnpm poetry psql pytest python rg rsync ruff rustc \
    rustfmt sed sqlite3 ssh systemctl terraform tsc uv vitest yarn";

/// The words of questions about what was done, in English, German, French, Spanish and Russian: which of them
/// ask.
const ASKING: &str = "what which when how did was welche welcher welches wann quel quelle quels quelles qué cuál какой \
    какая какие";

/// The beginnings of those that name work, and of those that name a failure.
const WORK: &str = "command edit file fix patch ran run test touch befehl datei commande fichier comando archivo команд \
    файл тест";
const FAILURE: &str = "error fail broke crash fehler fehlgeschlagen erreur échou fallo falló ошибк";

/// The beginnings of words for a command, which may follow the name of a program.
const COMMAND: &str = "command befehl commande comando команд";

/// The words that may stand before the program in a command, besides variables.
const BEFORE_PROGRAM: &str = "env nohup sudo time";

/// The signs around a word that do not belong to it.
const PUNCTUATION: [char; 11] = ['`', '\'', '"', '?', '!', ',', ';', '.', ':', '(', ')'];

/// The work on files that a question names.
struct AskedWork {
    /// Its words in lower case, each between two spaces.
    words: String,
    /// Those that stand alone between backticks.
    quoted: Vec<String>,
    /// Programs that it names without an argument, apart from these.
    programs: Vec<String>,
    /// Paths and names of files, each as a condition.
    files: Vec<ActionFilter>,
    /// Words that errors have: `e0425`, `charge_card`, `pay::error`.
    codes: Vec<String>,
    /// Whether it may name a command.
    names_command: bool,
    /// Whether it asks what was done.
    asks: bool,
    /// Whether it speaks of a failure.
    has_failure: bool,
}

impl AskedWork {
    fn of(text: &str) -> AskedWork {
        let named = named_files(text).into_iter();
        let files = named.map(|file| ActionFilter { file: Some(file), ..ActionFilter::default() });
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(PUNCTUATION)).collect();
        let has = |list: &str| words.iter().any(|word| is_in(list, word));
        let begins = |list: &str| words.iter().any(|word| begins_in(list, word));
        let names_work = begins(WORK) || begins(FAILURE);
        let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let quoted = text.split('`').skip(1).step_by(2).filter(|one| one.split_whitespace().count() == 1);
        AskedWork {
            quoted: quoted.take(MAX_QUOTED).map(|word| word.trim().to_owned()).collect(),
            programs: if names_work { programs_alone(&text) } else { Vec::new() },
            words: format!(" {} ", words.join(" ")),
            files: files.collect(),
            codes: names.filter(|word| is_code(word)).map(str::to_owned).collect(),
            names_command: names_work || text.contains('`') || has(PROGRAMS),
            asks: names_work && has(ASKING),
            has_failure: begins(FAILURE),
        }
    }

    /// Whether it may name an action.
    fn may_name(&self) -> bool {
        self.names_command || !(self.files.is_empty() && self.codes.is_empty())
    }

    /// The words to search for.
    fn sought(&self) -> String {
        const MAX_BYTES: usize = 500;
        if self.words.len() <= MAX_BYTES {
            self.words.clone()
        } else {
            let files = self.files.iter().filter_map(|filter| filter.file.as_ref());
            files.chain(&self.codes).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
    }

    /// Whether it names the file of an action, or a word of its error.
    fn names(&self, action: &StoredRecord) -> bool {
        let [purpose, error] = [action.purpose(), action.failure()].map(|text| text.to_lowercase());
        let has = |text: &str, name: &String| {
            text.match_indices(name.as_str()).any(|(at, _)| is_name(text, at, name.len()))
        };
        self.files.iter().any(|file| file.admits(action))
            || self.codes.iter().any(|code| has(&purpose, code) || has(&error, code))
    }

    /// The number of words with which one of the commands of an action begins that it has too; 0 if it does
    /// not name one.
    fn named_words(&self, action: &StoredRecord) -> usize {
        if !action.is_command() {
            return 0;
        }
        let named = |command: &str| {
            let words = from_program(command);
            let is_named = |count: &usize| {
                let begin = words[..*count].join(" ");
                // The plural is of its runs: "cargo tests".
                self.words.contains(&format!(" {begin} ")) || self.words.contains(&format!(" {begin}s "))
            };
            let count = (2..=words.len()).rev().find(is_named);
            count.unwrap_or_else(|| words.first().is_some_and(|program| self.names_program(program)).into())
        };
        action.purpose().to_lowercase().split(['&', '|', ';', '\n']).map(named).max().unwrap_or(0)
    }

    /// Whether it names a program alone. One word may be one of a language.
    fn names_program(&self, program: &str) -> bool {
        self.quoted.iter().chain(&self.programs).any(|named| named == program)
    }
}

/// The programs in a text in lower case after which no argument follows: the text or a clause of it ends
/// there, or the next word is a stop word, or says that it is a command or that it failed.
fn programs_alone(text: &str) -> Vec<String> {
    let languages = Languages::of_text(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(PUNCTUATION).to_owned();
    let is_alone = |at: usize| {
        let next = words.get(at + 1).map(|next| bare(next));
        words[at].ends_with(PUNCTUATION)
            || next.is_none_or(|next| {
                languages.is_stop_word(&next) || begins_in(COMMAND, &next) || begins_in(FAILURE, &next)
            })
    };
    (0..words.len())
        .filter(|at| is_alone(*at))
        .map(|at| bare(words[at]))
        .filter(|word| is_in(PROGRAMS, word))
        .collect()
}

/// The words of a command from its program on.
fn from_program(command: &str) -> Vec<&str> {
    let is_before = |word: &&str| word.contains('=') || is_in(BEFORE_PROGRAM, word);
    command.split_whitespace().skip_while(is_before).collect()
}

/// Whether a word begins with one of a list.
fn begins_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|begin| word.starts_with(begin))
}

/// Whether a list of words has a word.
fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
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

/// The actions of some scopes that a question is about, best first, without those whose calls the request
/// holds, and those that the client keeps from an earlier recall. `found` are the records that were found for
/// it. Fails if the store cannot be read.
pub(super) fn related_actions(
    store: &mut dyn Store,
    text: &str,
    request: &Request,
    found: &[Candidate],
    scopes: Scopes,
    duplicates: &DuplicateFilter,
) -> Result<Vec<Candidate>> {
    let asked = AskedWork::of(text);
    let all = Select::records(vec![&ACTION], scopes);
    if !asked.may_name() || store.count(&all, 1)? == 0 {
        return Ok(Vec::new());
    }
    let mut actions = Vec::new();
    for action in named(store, &asked, &all)? {
        let fixed = action.failed().then(|| fix_of(store, &action)).transpose()?.flatten();
        actions.extend([Some(action), fixed].into_iter().flatten());
    }
    if asked.asks {
        let mut messages: Vec<(f64, &StoredRecord)> = found
            .iter()
            .filter(|one| one.block() == Block::Messages)
            .filter_map(|one| Some((one.score?, &one.record)))
            .collect();
        messages.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut turns = HashSet::new();
        for (_, message) in messages.into_iter().take(TURNS) {
            if turns.insert((&message.scope, &message.trace_id)) {
                let of_turn = of_turn(store, message)?;
                actions.extend(
                    of_turn.into_iter().filter(|one| one.failed() || one.is_change()).take(MOST_OF_TURN),
                );
            }
        }
    }
    let held = HeldCalls::of(request);
    let mut seen = HashSet::new();
    actions.retain(|action| {
        let is_kept = duplicates.is_kept(action);
        if is_kept {
            duplicates.leave_out(action, "in_request");
        }
        !is_kept && !held.have(action) && seen.insert(action.shown_text().into_owned())
    });
    actions.truncate(MOST);
    Ok(actions.into_iter().map(|action| Candidate::new(action, None, 0)).collect())
}

/// The actions that a question names, among those with most of its words: the newest first, after those that
/// failed if it speaks of that. Of commands, those of which it has the most words.
fn named(store: &mut dyn Store, asked: &AskedWork, all: &Select) -> Result<Vec<StoredRecord>> {
    let options = search::Options::new(CONSIDERED);
    let mut hits = search::find(store, search::By::Any, &asked.sought(), all, &options)?.hits;
    for word in &asked.quoted {
        // `make` is a stop word.
        let word = format!("\"{word}\"");
        hits.extend(search::find(store, search::By::Words, &word, all, &options)?.hits);
    }
    let mut seen = HashSet::new();
    hits.retain(|hit| seen.insert(hit.record.id.clone()));
    let actions = hits.into_iter().map(|hit| (asked.named_words(&hit.record), hit.record));
    let mut named: Vec<(usize, StoredRecord)> =
        actions.filter(|(words, action)| *words > 0 || asked.names(action)).collect();
    let most = named.iter().map(|(words, _)| *words).max().unwrap_or(0);
    named.retain(|(words, action)| *words == most || asked.names(action));
    named.sort_by_cached_key(|(_, one)| Reverse((asked.has_failure && one.failed(), one.position())));
    let mut of_program = 0;
    named.retain(|(words, action)| {
        let is_by_program = *words == 1 && !asked.names(action);
        of_program += usize::from(is_by_program);
        !is_by_program || of_program <= MOST_OF_PROGRAM
    });
    named.truncate(MOST);
    Ok(named.into_iter().map(|(_, action)| action).collect())
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
