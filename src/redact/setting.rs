//! Values after the name of a secret: in settings, code, headers, flags, tables, and sentences.

use super::name::{NameClass, class_of, is_variable};
use super::value::{MAX_PASSWORD_BYTES, Place, is_password, is_token};
use std::ops::Range;

/// The length of a name in bytes, at most.
const MAX_NAME_BYTES: usize = 64;
/// The length of a token in bytes, at most: those of sessions at Amazon have more than 1000.
const MAX_TOKEN_BYTES: usize = 2048;
/// The number of blanks before or after a sign, at most: settings are aligned.
const MAX_BLANKS: usize = 40;

/// The sign between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `=`, `:` and their kin.
    Is,
    /// The comma after a name in quotes.
    List,
    /// The parenthesis of a call.
    Call,
    /// A word of a sentence.
    Word,
    /// Blanks, after a flag, or before quotes.
    Blank,
    /// The end of a tag.
    Tag,
}

/// A name with the sign after it.
struct Assignment {
    name: Range<usize>,
    sign: Sign,
    /// The end of the sign.
    end: usize,
}

/// The names that follow each other without a blank or a quote between them. Each of their values may be as
/// long as all of them, so that only the first ones count: no file of settings has more.
#[derive(Default)]
pub(super) struct NameRun {
    end: usize,
    names: usize,
}

impl NameRun {
    const MAX_NAMES: usize = 32;

    /// Whether the name that has a word at `word`, which comes after those before, is one of the first.
    pub(super) fn admits(&mut self, text: &str, word: &Range<usize>) -> bool {
        if word.start >= self.end {
            let is_of_run = |byte: u8| !byte.is_ascii_whitespace() && !is_quote(byte);
            let length = count(text.as_bytes(), word.start, MAX_TOKEN_BYTES, is_of_run);
            *self = NameRun { end: word.start + length, names: 0 };
        }
        self.names += 1;
        self.names <= NameRun::MAX_NAMES
    }
}

/// The secret of this class after the name that has a word at `word`.
pub(super) fn find_at(text: &str, word: &Range<usize>, class: NameClass) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let assignment = assignment(bytes, word)?;
    let name = text.get(assignment.name.clone())?;
    if class_of(&text[with_word_before(text, &assignment.name)]) != Some(class) {
        return None;
    }
    // To pass something is a verb.
    let is_verb = !matches!(assignment.sign, Sign::Is | Sign::Tag | Sign::List) && begins_with_pass(name);
    let (value, place) = value(text, &assignment, class).filter(|_| !is_verb)?;
    is_secret(text.get(value.clone())?, place, class).then_some(value)
}

/// Whether a name begins with `pass`, and not with `password` or its kin.
fn begins_with_pass(name: &str) -> bool {
    let begins_with =
        |word: &str| name.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    begins_with("pass") && !["passw", "passp", "passc"].into_iter().any(begins_with)
}

/// The name, with the word before it if it has one word and is in a sentence: `API key`.
fn with_word_before(text: &str, name: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_word = bytes[name.clone()].iter().all(u8::is_ascii_alphabetic);
    if !is_word || name.start == 0 || bytes[name.start - 1] != b' ' {
        return name.clone();
    }
    let before = bytes[..name.start - 1].iter().rev().take(MAX_NAME_BYTES);
    name.start - 1 - before.take_while(|byte| byte.is_ascii_alphabetic()).count()..name.end
}

/// Whether a value may follow the name that has a word at `word`; quickly, and in JSON too.
pub(super) fn may_be_at(text: &str, word: &Range<usize>) -> bool {
    assignment(text.as_bytes(), word)
        .is_some_and(|assignment| class_of(&text[with_word_before(text, &assignment.name)]).is_some())
}

/// Whether a value is the secret implied by the name beside it in an object of JSON.
pub(super) fn class_of_member(name: &str, value: &str) -> Option<NameClass> {
    let class = class_of(name)?;
    is_secret(value, Place::Quoted, class).then_some(class)
}

fn is_secret(value: &str, place: Place, class: NameClass) -> bool {
    match class {
        NameClass::Password => is_password(value, place),
        NameClass::Token => is_token(value, place),
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The number of bytes from `at` on that are of a kind, up to `limit`.
fn count(bytes: &[u8], at: usize, limit: usize, is_of_kind: impl Fn(u8) -> bool) -> usize {
    bytes.iter().skip(at).take(limit).take_while(|byte| is_of_kind(**byte)).count()
}

fn blanks(bytes: &[u8], at: usize) -> usize {
    count(bytes, at, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'))
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// The name around a word, and the sign after it.
fn assignment(bytes: &[u8], word: &Range<usize>) -> Option<Assignment> {
    let after = count(bytes, word.end, MAX_NAME_BYTES, |byte| is_of_name(byte) && byte != b'.');
    let name_end = word.end + after;
    let closers = count(bytes, name_end, 4, |byte| is_quote(byte) || matches!(byte, b']' | b'*' | b'\\'));
    let is_quoted = bytes[name_end..name_end + closers].iter().any(|byte| is_quote(*byte));
    let spaces = blanks(bytes, name_end + closers);
    let at = name_end + closers + spaces;
    let rest = &bytes[at.min(bytes.len())..];
    let length = match rest.first()? {
        b'=' => 1 + count(rest, 1, 2, |byte| matches!(byte, b'=' | b'>')),
        b':' | b'?' | b'.' | b'+' if is_long_sign(rest) => rest.iter().position(|byte| *byte == b'=')? + 1,
        b':' if rest.get(1) == Some(&b':') => return None,
        b':' => 1,
        b'|' if rest.get(1) != Some(&b'|') => 1,
        _ => 0,
    };
    let before = bytes[..word.start].iter().rev().take(MAX_NAME_BYTES);
    let mut name_start = word.start - before.take_while(|byte| is_of_name(**byte)).count();
    // In JSON, a line end is a backslash and a letter.
    if name_start < word.start && name_start > 0 && bytes[name_start - 1] == b'\\' {
        name_start += 1;
    }
    let name = name_start..name_end;
    let (sign, end) = if length > 0 {
        (Sign::Is, at + length)
    } else if let Some(length) = member_value(&bytes[name_end..]) {
        (Sign::Is, name_end + length)
    } else if rest.starts_with(b",") && is_quoted && name_start > 0 && is_quote(bytes[name_start - 1]) {
        (Sign::List, at + 1)
    } else if spaces > 0 && type_length(rest) > 0 {
        (Sign::Is, at + type_length(rest))
    } else if rest.starts_with(b"(") && spaces == 0 && is_quote(*rest.get(1)?) {
        (Sign::Call, at + 1)
    } else if rest.starts_with(b">") && name_start > 0 && bytes[name_start - 1] == b'<' {
        (Sign::Tag, at + 1)
    } else if spaces > 0 && rest.starts_with(b"is ") {
        (Sign::Word, at + b"is ".len())
    } else if spaces > 0 && (is_quote(rest[0]) || takes_a_word(bytes, &name)) {
        (Sign::Blank, at)
    } else {
        return None;
    };
    Some(Assignment { name, sign, end })
}

/// Whether a sign of `make` or PHP begins here: `:=`, `::=`, `?=`, `??=`, `.=`, `+=`.
fn is_long_sign(bytes: &[u8]) -> bool {
    const MAX_SIGN_BYTES: usize = 4;
    let signs = count(bytes, 0, MAX_SIGN_BYTES, |byte| byte == bytes[0]);
    bytes.get(signs) == Some(&b'=')
}

/// The length up to the value of a member or an attribute beside the name: `"name": "PASSWORD", "value": `,
/// also on lines of their own.
fn member_value(bytes: &[u8]) -> Option<usize> {
    // In JSON, a line end is a backslash and a letter.
    let is_escaped = |at: usize| at.checked_sub(1).is_some_and(|before| bytes[before] == b'\\');
    let is_between = |at: &usize| match bytes.get(*at) {
        Some(b'n' | b'r' | b't') => is_escaped(*at),
        Some(byte) => byte.is_ascii_whitespace() || matches!(byte, b',' | b'"' | b'\'' | b'\\'),
        None => false,
    };
    let begin = (0..MAX_BLANKS).take_while(is_between).count();
    let rest = bytes[begin..].strip_prefix(b"value")?;
    let quotes = count(rest, 0, 2, |byte| is_quote(byte) || byte == b'\\');
    let spaces = blanks(rest, quotes);
    let sign = rest.get(quotes + spaces).filter(|byte| matches!(byte, b'=' | b':'))?;
    (begin > 0 && sign.is_ascii()).then_some(begin + b"value".len() + quotes + spaces + 1)
}

/// Whether the value of a name follows it without a sign: that of a flag, and in files of netrc and Redis.
fn takes_a_word(bytes: &[u8], name: &Range<usize>) -> bool {
    let before = &bytes[name.start.saturating_sub(MAX_NAME_BYTES)..name.start];
    let name = &bytes[name.clone()];
    name.starts_with(b"-")
        || [&b"requirepass"[..], b"masterauth", b"bindpw"].contains(&name)
        || before.ends_with(b" set ")
        || memchr::memmem::find(before, b"login ").is_some()
}

/// The value after a sign, and how it is written.
fn value(text: &str, assignment: &Assignment, class: NameClass) -> Option<(Range<usize>, Place)> {
    let bytes = text.as_bytes();
    let limit = match class {
        NameClass::Password => MAX_PASSWORD_BYTES,
        NameClass::Token => MAX_TOKEN_BYTES,
    };
    let stars = count(bytes, assignment.end, 2, |byte| byte == b'*');
    let mut at = assignment.end + stars;
    at += blanks(bytes, at);
    if assignment.sign == Sign::Is {
        at += type_length(&bytes[at..]);
    }
    at += scheme_length(&bytes[at..]);
    if matches!(bytes.get(at), Some(b'b' | b'r' | b'u' | b'@'))
        && bytes.get(at + 1).is_some_and(|b| is_quote(*b))
    {
        at += 1;
    }
    // In a string of a program or of JSON, quotes are escaped.
    let escape = count(bytes, at, 1, |byte| byte == b'\\');
    if let Some(quote) = bytes.get(at + escape).copied().filter(|byte| is_quote(*byte)) {
        let begin = at + escape + 1;
        let begin = begin + scheme_length(&bytes[begin..]);
        let length = count(bytes, begin, limit, |byte| byte != quote && byte != b'\n');
        let has_end = bytes.get(begin + length) == Some(&quote);
        let length = if has_end && escape == 1 { length.saturating_sub(1) } else { length };
        return has_end.then_some((begin..begin + length, Place::Quoted));
    }
    let rest = &bytes[at..bytes.len().min(at + limit)];
    // A sign within a token begins another value; at its end it fills base64.
    let is_inner = |byte: &u8| byte.is_ascii_graphic() && !b"=,;)}]&|<>\\\"'`".contains(byte);
    let ends_token = |at: usize| class == NameClass::Token && rest.get(at + 1).is_some_and(is_inner);
    let is_end = |(at, byte): (usize, &u8)| {
        byte.is_ascii_whitespace() || is_quote(*byte) || *byte == b'=' && ends_token(at)
    };
    let rest = &rest[..rest.iter().enumerate().position(is_end).unwrap_or(rest.len())];
    let (length, place) = match assignment.sign {
        Sign::Tag => (rest.iter().position(|byte| *byte == b'<')?, Place::Setting),
        Sign::Word => (before_punctuation(rest), Place::Sentence),
        Sign::Blank | Sign::Call => (before_punctuation(rest), Place::Setting),
        Sign::Is => unquoted(text, assignment, at, rest),
        // The next argument is no value of the one before.
        Sign::List => return None,
    };
    text.is_char_boundary(at + length).then_some((at..at + length, place))
}

/// The length of an unquoted value after a sign, and how it is written.
fn unquoted(text: &str, assignment: &Assignment, at: usize, rest: &[u8]) -> (usize, Place) {
    let bytes = text.as_bytes();
    // In a list of settings, and in a query, one sign alone is between two of them.
    let before = assignment.name.start.checked_sub(1).map(|before| bytes[before]);
    let is_separator = |byte: &u8| match before {
        Some(b';') => *byte == b';',
        Some(b'?' | b'&') => matches!(byte, b'&' | b'#'),
        _ => b",;)}]<>|\\".contains(byte),
    };
    let cut = rest.iter().position(is_separator).unwrap_or(rest.len());
    // Another setting follows.
    let is_next = |at: &usize| {
        let name = count(rest, at + 1, MAX_NAME_BYTES, is_of_name);
        name > 0 && rest.get(at + 1 + name) == Some(&b'=')
    };
    let cut = memchr::memchr_iter(b'&', &rest[..cut]).find(is_next).unwrap_or(cut);
    if begins_line(text, assignment.name.start) && !rest.ends_with(b",") && !rest.ends_with(b";") {
        // Signs are part of a password, unless another setting follows.
        let is_list =
            rest[cut..].contains(&b'=') && rest[cut..].iter().any(|byte| matches!(byte, b'&' | b';'));
        // A value that is too long may be cut off within a character.
        let after = text.get(at + rest.len()..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let is_variable = bytes[at - 1] == b'=' && is_variable(&text[assignment.name.clone()]);
        let is_last = is_variable || after.is_empty() || after.starts_with(['\n', '\r', '#']);
        return (
            if is_list { cut } else { rest.len() },
            if is_last { Place::Setting } else { Place::Inline },
        );
    }
    let is_close = at == assignment.end && bytes[at - 1] == b'=';
    let is_setting = is_close && (cut == rest.len() || b";&,".contains(&rest[cut]));
    (before_punctuation(&rest[..cut]), if is_setting { Place::Setting } else { Place::Inline })
}

/// The length without the punctuation of a sentence.
fn before_punctuation(bytes: &[u8]) -> usize {
    bytes.len()
        - bytes
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':' | b')' | b'?'))
            .count()
}

/// Whether a line begins with a name, or with a prefix of names in files of settings.
fn begins_line(text: &str, name: usize) -> bool {
    let before = &text.as_bytes()[name.saturating_sub(MAX_NAME_BYTES)..name];
    let line = match before.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &before[end + 1..],
        None if name <= MAX_NAME_BYTES => before,
        None => return false,
    };
    let line = line.trim_ascii();
    let words: [&[u8]; 13] =
        [b"", b"-", b"*", b"#", b"//", b"export", b"set", b"ENV", b"ARG", b"\"", b"'", b"- \"", b"$env:"];
    words.contains(&line)
}

/// The length of the type of a variable, with the sign after it: `str = `.
fn type_length(bytes: &[u8]) -> usize {
    const TYPES: [&[u8]; 9] = [
        b"string",
        b"String",
        b"str",
        b"&str",
        b"&'static str",
        b"Optional[str]",
        b"SecretStr",
        b"Text",
        b"Any",
    ];
    for name in TYPES {
        if let Some(rest) = bytes.strip_prefix(name) {
            let before = blanks(rest, 0);
            if rest.get(before) == Some(&b'=') {
                let length = name.len() + before + 1;
                return length + blanks(bytes, length);
            }
        }
    }
    0
}

/// The length of a scheme before the credentials of a request, with the blank after it.
fn scheme_length(bytes: &[u8]) -> usize {
    const SCHEMES: [&[u8]; 12] = [
        b"Bearer ",
        b"bearer ",
        b"Basic ",
        b"Token ",
        b"token ",
        b"ApiKey ",
        b"SSWS ",
        b"Bot ",
        b"GenieKey ",
        b"Splunk ",
        b"Key ",
        b"OAuth ",
    ];
    SCHEMES.iter().find(|scheme| bytes.starts_with(scheme)).map_or(0, |scheme| scheme.len())
}
