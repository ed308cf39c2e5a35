//! The command line of a tool, to be named as a command that the user can paste.

use super::error::CliError;
use crate::error::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;

/// The flags that name a scope.
const SCOPE_FLAGS: [&str; 4] = ["partition", "instance", "scope", "here"];

/// The longest question that is part of a command to paste, in bytes.
const LONGEST_TO_PASTE: usize = 500;

/// The command line that a tool was started with.
pub(super) struct Invocation {
    command: Command,
    /// The words after the name of the tool.
    words: Vec<String>,
    matches: ArgMatches,
}

impl Invocation {
    /// The command line of these words, of which the first is the name of the tool.
    pub(super) fn new(command: Command, matches: ArgMatches, words: &[OsString]) -> Invocation {
        let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
        Invocation { command, words: words.collect(), matches }
    }

    /// Errors if an argument of the tool's own is given that is not one of `known`.
    pub(super) fn refuse_flags_besides(&self, known: &[&str], mode: &str) -> Result<()> {
        let is_refused = |arg: &&Arg| {
            let id = arg.get_id().as_str();
            self.matches.value_source(id) == Some(ValueSource::CommandLine)
                && !known.contains(&id)
                && arg.get_help_heading().is_none()
        };
        let Some(flag) = self.command.get_arguments().find(is_refused) else { return Ok(()) };
        let (flag, tool) = (flag.to_string(), self.command.get_name().to_owned());
        Err(CliError::Unsuited { flag, mode: mode.to_owned(), tool }.into())
    }

    /// How the tool gets its input, for a hint.
    pub(super) fn inputs(&self) -> String {
        let operand = self.command.get_positionals().next();
        let operand = operand.and_then(|operand| operand.get_value_names()).and_then(<[_]>::first);
        match operand.map(|name| name.as_str()) {
            Some("FILE") => "pipe something in, name a file".to_owned(),
            Some(name) => format!("pipe something in, give {name} as an argument"),
            None => "pipe something in".to_owned(),
        }
    }

    /// The same command for all scopes, quoted for a shell. `question`, which came by standard input, follows
    /// as a word; if it is long, there is only the flag to add.
    pub(super) fn for_all_scopes(&self, question: Option<&str>) -> String {
        let question = question.map(|question| question.trim_end_matches('\n'));
        if question.is_some_and(|question| question.contains('\n') || question.len() > LONGEST_TO_PASTE) {
            return "--all".to_owned();
        }
        let mut words = vec![self.command.get_name().to_owned(), "--all".to_owned()];
        words.extend(self.without_scope());
        if let Some(question) = question {
            words.extend(question.starts_with('-').then(|| "--".to_owned()));
            words.push(question.to_owned());
        }
        // Only a NUL cannot be quoted, and no word has one.
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
    }

    /// The words without the flags that name a scope, and their values.
    fn without_scope(&self) -> Vec<String> {
        let mut kept = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                kept.push(word.clone());
                kept.extend(words.by_ref().cloned());
                break;
            }
            let Flags { stays, last } = self.flags(word);
            kept.extend(stays);
            match last {
                Some(value) if value.is_dropped => drop(words.next()),
                Some(_) => kept.extend(words.next().cloned()),
                None => {}
            }
        }
        kept
    }

    /// Reads the flags of a word, which is an operand if it has none.
    fn flags(&self, word: &str) -> Flags {
        let whole = Flags { stays: Some(word.to_owned()), last: None };
        if let Some(long) = word.strip_prefix("--") {
            let (name, has_value) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            let Some(flag) = self.find(|flag| flag.get_long() == Some(name)) else { return whole };
            let is_dropped = names_scope(flag);
            let last = (takes_value(flag) && !has_value).then_some(NextValue { is_dropped });
            return Flags { stays: whole.stays.filter(|_| !is_dropped), last };
        }
        for (at, letter) in word.char_indices().skip(1).filter(|_| word.starts_with('-')) {
            let Some(flag) = self.find(|flag| flag.get_short() == Some(letter)) else { return whole };
            if takes_value(flag) {
                let is_dropped = names_scope(flag);
                let has_value = word.len() > at + letter.len_utf8();
                let before = if is_dropped { &word[..at] } else { word };
                let stays = Some(before.to_owned()).filter(|before| before != "-");
                return Flags { stays, last: (!has_value).then_some(NextValue { is_dropped }) };
            }
        }
        whole
    }

    fn find(&self, is_it: impl Fn(&Arg) -> bool) -> Option<&Arg> {
        self.command.get_arguments().find(|flag| is_it(flag))
    }
}

/// The flags of a word.
struct Flags {
    /// The part of the word that stays.
    stays: Option<String>,
    /// The next word, if that is the value of the last flag.
    last: Option<NextValue>,
}

/// A value in a word of its own.
struct NextValue {
    is_dropped: bool,
}

fn takes_value(flag: &Arg) -> bool {
    flag.get_action().takes_values()
}

fn names_scope(flag: &Arg) -> bool {
    SCOPE_FLAGS.contains(&flag.get_id().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ArgAction;

    #[test]
    fn flags_of_a_scope_are_left_out_in_every_spelling() {
        let value = |id: &'static str, short| Arg::new(id).long(id).short(short);
        let command = Command::new("rsv-search")
            .arg(value("partition", 'p'))
            .arg(value("instance", 'i'))
            .arg(value("limit", 'n'))
            .arg(Arg::new("link").long("link").short('l').action(ArgAction::SetTrue))
            .arg(Arg::new("here").long("here").action(ArgAction::SetTrue))
            .arg(Arg::new("scope").long("scope"));
        for (given, everywhere) in [
            ("owl", "owl"),
            ("-p garden owl", "owl"),
            ("-pgarden -i x owl", "owl"),
            ("--partition=garden --instance x owl", "owl"),
            ("--scope auto --limit 3 owl", "--limit 3 owl"),
            ("--here -n 3 -l owl", "-n 3 -l owl"),
            ("-lp garden owl", "-l owl"),
            ("-lpgarden owl", "-l owl"),
            ("-ln -p owl", "-ln -p owl"),
            ("--limit -p owl", "--limit -p owl"),
            ("-p garden -- -p garden", "-- -p garden"),
            ("- -x --unknown owl", "- -x --unknown owl"),
        ] {
            let words: Vec<OsString> = std::iter::once("x").chain(given.split(' ')).map(Into::into).collect();
            let line = Invocation::new(command.clone(), ArgMatches::default(), &words);
            assert_eq!(line.for_all_scopes(None), format!("rsv-search --all {everywhere}"), "{given}");
        }
        let words = ["x", "it's", "\"green tea\""].map(OsString::from);
        let line = Invocation::new(command, ArgMatches::default(), &words);
        let printed = line.for_all_scopes(Some("-$x"));
        let wanted = ["rsv-search", "--all", "it's", "\"green tea\"", "--", "-$x"].map(str::to_owned);
        assert_eq!(shlex::split(&printed).as_deref(), Some(&wanted[..]), "{printed}");
    }
}
