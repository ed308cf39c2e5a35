//! Completions: the script for each shell, and the answers to the requests of that script.
//!
//! `RSV_COMPLETIONS=SHELL rsv-search` prints the script, which runs `RSV_COMPLETIONS=SHELL rsv-search --
//! WORDS` to complete the last word. The answer has a line for each candidate; with exit status 1 the shell
//! completes file names itself. bash passes, instead of the words, the part that it will replace and the line
//! so far, since it splits words at `=` and `:`.

use super::error::CliError;
use super::flags::Common;
use super::hidden::is_hidden;
use super::out::Out;
use crate::error::{Context, Result};
use clap::{Arg, ArgMatches, Command, FromArgMatches, ValueHint};
use clap_complete::ArgValueCandidates;
use clap_complete::engine::{self, CompletionCandidate};
use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::Arc;

/// A possible completion of the word at the cursor.
pub struct Candidate {
    pub value: String,
    /// A description, if the value does not speak for itself.
    pub about: Option<Cow<'static, str>>,
}

/// The possible values of arguments, by the name of the argument in `Args`.
pub type ValueCompleters = &'static [(&'static str, fn(&PartialCommand) -> Vec<Candidate>)];

/// The command line so far.
pub struct PartialCommand {
    /// The flags that all tools share.
    pub common: Common,
    arguments: ArgMatches,
}

impl PartialCommand {
    /// The text that is given for an argument of the tool or of its subcommand.
    pub fn text(&self, name: &str) -> Option<&str> {
        let of = |matches: &ArgMatches| matches.try_get_one::<String>(name).ok().flatten().is_some();
        let inner = self.arguments.subcommand().map(|(_, matches)| matches);
        let matches = inner.into_iter().chain([&self.arguments]).find(|matches| of(matches))?;
        matches.get_one::<String>(name).map(String::as_str)
    }
}

/// The variable that names the shell which asks for completions.
pub const SHELL_VARIABLE: &str = "RSV_COMPLETIONS";

/// The shell that asks for completions.
pub(super) fn requested_shell() -> Option<String> {
    std::env::var(SHELL_VARIABLE).ok().filter(|shell| !shell.is_empty())
}

/// Answers a shell; the exit status.
pub(super) fn complete(
    command: Command,
    shell: &str,
    words: &[OsString],
    values: ValueCompleters,
) -> Result<u8> {
    let mut out = Out::new();
    let script = match shell {
        "bash" => include_str!("completion/script.bash"),
        "zsh" => include_str!("completion/script.zsh"),
        "fish" => include_str!("completion/script.fish"),
        _ => return Err(CliError::Shell { found: shell.to_owned() }.into()),
    };
    let words: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let status = match words.split_first() {
        None => {
            out.write(script.replace("TOOL", command.get_name()).as_bytes())?;
            0
        }
        Some((_, line_words)) => {
            let line = CommandLine::parse(shell, line_words);
            match candidates(command, &line.words, values)? {
                None => 1,
                Some(found) => {
                    let mut written = found.iter().filter_map(|one| line.written(shell, one));
                    written.try_for_each(|line| out.write(line.as_bytes()))?;
                    0
                }
            }
        }
    };
    out.flush().map(|()| status)
}

/// The candidates for the last word; `None` if it is the name of a file.
fn candidates(
    command: Command,
    words: &[String],
    values: ValueCompleters,
) -> Result<Option<Vec<CompletionCandidate>>> {
    let (last, before) = words.split_last().ok_or(CliError::NoWords)?;
    let given = Arc::new(given(command.clone(), before));
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let place = words.len() - 1;
    let mut command = attach(command, values, &given);
    let found = engine::complete(&mut command, words, place, None).context("cannot complete")?;
    let is_file = |one: &CompletionCandidate| one.get_tag().is_some_and(|tag| tag.to_string() == FILE_TAG);
    let (files, mut found): (Vec<_>, Vec<_>) = found.into_iter().partition(is_file);
    // Flags are offered only if the word begins with a dash; operands are not offered then.
    let flag = last.starts_with('-');
    found.retain(|one| flag || !one.get_value().to_string_lossy().starts_with('-'));
    let file = files.iter().any(|one| !flag || !one.get_value().is_empty());
    Ok((!file || !found.is_empty()).then_some(found))
}

/// Parses the words as far as possible.
fn given(command: Command, words: &[String]) -> PartialCommand {
    let arguments = command.ignore_errors(true).try_get_matches_from(words).unwrap_or_default();
    PartialCommand { common: Common::from_arg_matches(&arguments).unwrap_or_default(), arguments }
}

/// The tag of the candidate that stands for the names of files.
const FILE_TAG: &str = "file";

/// Attaches completers to the arguments of a command, and of its subcommands.
fn attach(command: Command, values: ValueCompleters, given: &Arc<PartialCommand>) -> Command {
    let with_candidates = |arg: Arg| -> Arg {
        if let Some((_, of)) = values.iter().find(|(name, _)| arg.get_id() == name) {
            let given = given.clone();
            return arg.add(ArgValueCandidates::new(move || of(&given).into_iter().map(offered).collect()));
        }
        match arg.get_value_hint() {
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath => {
                let file = || CompletionCandidate::new("").tag(Some(FILE_TAG.into()));
                arg.add(engine::ArgValueCompleter::new(move |_: &std::ffi::OsStr| vec![file()]))
            }
            _ => arg,
        }
    };
    command.mut_args(with_candidates).mut_subcommands(|inner| attach(inner, values, given))
}

fn offered(candidate: Candidate) -> CompletionCandidate {
    CompletionCandidate::new(candidate.value).help(candidate.about.map(|about| about.into_owned().into()))
}

/// A command line up to where it is completed.
struct CommandLine {
    words: Vec<String>,
    /// The part of the last word before the part that bash replaces.
    kept: String,
    /// The quote that is still open.
    quote: Option<char>,
}

impl CommandLine {
    fn parse(shell: &str, line_words: &[String]) -> CommandLine {
        let mut line = match line_words {
            [replaced, line] if shell == "bash" => CommandLine::parse_bash(replaced, line),
            words => CommandLine { words: words.to_vec(), kept: String::new(), quote: None },
        };
        if let Ok(home) = std::env::var("HOME") {
            let at_home = |word: &mut String| word.strip_prefix("~/").map(|rest| format!("{home}/{rest}"));
            for word in &mut line.words {
                *word = at_home(word).unwrap_or(std::mem::take(word));
            }
        }
        line
    }

    fn parse_bash(replaced: &str, line: &str) -> CommandLine {
        let (words, quote) = split(line);
        let last = words.last().map_or("", String::as_str);
        let replaced = match replaced {
            // The word ends in one of the characters at which bash splits words.
            "=" | ":" => String::new(),
            _ if quote.is_some() => replaced.to_owned(),
            _ => split(replaced).0.pop().unwrap_or_default(),
        };
        let kept = last.strip_suffix(&replaced).unwrap_or_default().to_owned();
        CommandLine { words, kept, quote }
    }

    /// A candidate as the shell wants it; `None` for one that no line can hold, or no terminal can show.
    fn written(&self, shell: &str, candidate: &CompletionCandidate) -> Option<String> {
        let value = candidate.get_value().to_str().filter(|value| !value.contains(is_hidden))?;
        let about = candidate.get_help().map(ToString::to_string);
        let about = about.as_deref().and_then(|about| about.lines().next());
        let with = |value: &str, sign: &str| match about {
            Some(about) => format!("{value}{sign}{about}\n"),
            None => format!("{value}\n"),
        };
        Some(match shell {
            "bash" => escaped(value.strip_prefix(&self.kept).unwrap_or(value), self.quote) + "\n",
            "zsh" => with(&value.replace('\\', "\\\\").replace(':', "\\:"), ":"),
            _ => with(value, "\t"),
        })
    }
}

/// The words of a line of shell, and the quote that it leaves open; the last word is empty behind a space.
fn split(line: &str) -> (Vec<String>, Option<char>) {
    let read = |end: &str| shlex::split(&format!("{line}{end}"));
    // If one more letter would begin a word, an empty word has begun.
    let with_empty_word = |words: Vec<String>| match read("x") {
        Some(more) if more.len() > words.len() => [words, vec![String::new()]].concat(),
        _ => words,
    };
    let open = |quote: char| read(&quote.to_string()).map(|words| (words, Some(quote)));
    let whole = read("").map(|words| (with_empty_word(words), None));
    // The effect of a backslash at the end is not known yet.
    let before = || line.strip_suffix('\\').map(split);
    whole.or_else(before).or_else(|| open('"')).or_else(|| open('\'')).unwrap_or_default()
}

/// A text as bash reads it back.
fn escaped(text: &str, quote: Option<char>) -> String {
    let special: &dyn Fn(char) -> bool = match quote {
        Some('\'') => return text.replace('\'', r"'\''"),
        Some(_) => &|c| r#""$`\"#.contains(c),
        None => &|c| !c.is_alphanumeric() && !"-_=+./:,@%".contains(c),
    };
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_bash_does() {
        let words = |line: &str| split(line).0;
        assert_eq!(words("rsv-search -p"), ["rsv-search", "-p"]);
        assert_eq!(words("rsv-search -p "), ["rsv-search", "-p", ""]);
        assert_eq!(words(r"a my\ own 'it is' b\ "), ["a", "my own", "it is", "b "]);
        assert_eq!(split("a \"my o"), (vec!["a".to_owned(), "my o".to_owned()], Some('"')));
        assert_eq!(split("a 'my \"o"), (vec!["a".to_owned(), "my \"o".to_owned()], Some('\'')));
        assert_eq!(words(r"a b\"), ["a", "b"]);
        assert_eq!(split("a \"b\\"), (vec!["a".to_owned(), "b".to_owned()], Some('"')));
    }

    #[test]
    fn the_prefix_that_bash_keeps_is_not_repeated() {
        for (replaced, line, kept) in [
            ("wo", "t -p wo", ""),
            ("wo", "t --partition=wo", "--partition="),
            ("", "t --partition=", "--partition="),
            ("=", "t --partition=", "--partition="),
            ("3", "t -p llama:3", "llama:"),
            (r"my\ ow", r"t -p my\ ow", ""),
            ("my ow", "t -p \"my ow", ""),
            ("", "t ", ""),
        ] {
            assert_eq!(CommandLine::parse_bash(replaced, line).kept, kept, "{line}");
        }
    }

    #[test]
    fn escaped_text_reads_back_unchanged() {
        for text in ["plain", "two words", "it's $HOME", "a\"b`c\\d", "*", "~", "#", "é漢"] {
            assert_eq!(split(&escaped(text, None)).0, [text]);
            for quote in ['"', '\''] {
                assert_eq!(split(&format!("{quote}{}{quote}", escaped(text, Some(quote)))).0, [text]);
            }
        }
    }
}
