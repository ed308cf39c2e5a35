//! The tokens of a clause, and the words among them that may name a subject.

use super::fold::fold;
use super::languages::Languages;
use super::terms::is_unspaced;
use super::topic::is_telling;
use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// A word, a number, an address or, in a script without spaces, a character.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    /// Folded.
    pub(super) text: String,
    /// The place of its first byte in the clause.
    pub(super) at: usize,
}

/// The tokens of a clause. An address, a path, a number and a word with an apostrophe are one.
pub(super) fn tokens(clause: &str) -> Vec<Token> {
    let folded = fold(clause);
    let mut tokens = Vec::new();
    let mut rest = folded.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if is_unspaced(c) {
            tokens.push(Token { text: c.to_string(), at });
            continue;
        }
        if matches!(c, '%' | '€' | '$' | '£') {
            tokens.push(Token { text: c.to_string(), at });
            continue;
        }
        if !c.is_alphanumeric() && c != '/' {
            continue;
        }
        let mut end = at + c.len_utf8();
        let mut last = c;
        while let Some((next_at, next)) = rest.peek().copied() {
            let after = folded[next_at + next.len_utf8()..].chars().next();
            let joins = matches!(next, '.' | ',' | ':' | '/' | '@' | '_' | '-' | '\'')
                && after.is_some_and(|after| after.is_alphanumeric() && !is_unspaced(after) || after == '/')
                && (last.is_alphanumeric() || next == '/');
            if is_unspaced(next) || !next.is_alphanumeric() && !joins {
                break;
            }
            rest.next();
            end = next_at + next.len_utf8();
            last = next;
        }
        push_run(&folded[at..end], at, &mut tokens);
    }
    tokens
}

/// Adds a run of letters, digits and marks between them: as one token if it is an address, a path or a
/// number, else its words.
fn push_run(run: &str, at: usize, tokens: &mut Vec<Token>) {
    let is_whole = run.contains('@')
        || run.contains("://")
        || run.starts_with(|c: char| c.is_ascii_digit()) && !run.contains('-')
        || run.contains('/') && (run.contains('.') || run.matches('/').count() > 1)
        || is_file_name(run);
    if is_whole {
        tokens.push(Token { text: run.to_owned(), at });
        return;
    }
    let mut begin = 0;
    for part in run.split(['.', ',', ':', '/', '_', '-']) {
        if !part.is_empty() {
            tokens.push(Token { text: part.to_owned(), at: at + begin });
        }
        begin += part.len() + 1;
    }
}

/// The stems of the tokens that may name a subject, with the number of the token; in a script without spaces,
/// each two characters.
pub(super) fn content_words(tokens: &[Token], languages: Languages) -> Vec<(usize, String)> {
    static CHAT: LazyLock<FxHashSet<&str>> = LazyLock::new(|| CHAT_WORDS.split(' ').collect());
    let mut words = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(first) = token.text.chars().next() else { continue };
        if is_unspaced(first) {
            let next = tokens.get(at + 1).filter(|next| next.at == token.at + token.text.len());
            let next = next.filter(|next| next.text.starts_with(is_unspaced));
            if let Some(next) = next
                && ![&token.text, &next.text].iter().any(|text| FUNCTION_CHARACTERS.contains(&text[..]))
            {
                words.push((at, format!("{}{}", token.text, next.text)));
            }
            continue;
        }
        let word = token.text.split('\'').next().unwrap_or_default();
        if first.is_alphabetic() && is_telling(word, languages) && !CHAT.contains(word) {
            words.push((at, languages.first_stem(word).into_owned()));
        }
    }
    words
}

/// Characters of Chinese and Japanese that name nothing, and digits.
const FUNCTION_CHARACTERS: &str = "的了我你他她它们們是在有和也都就不没沒吗嗎呢吧啊把被给給跟到上下里去来來这這那个個一二三四五六七八九十两兩年月日点點号號\
     周每人想要会會能可以现在现今天昨のをはがにでとも";

/// Words in which people talk to an assistant.
const CHAT_WORDS: &str = "able actually also another because being best currently doing due ensure example explain feeling \
    figure getting having help helpful hmm implement improve issue kinda lots practices problem project provide related \
    show start started struggling stuck sure trying understand using without wondering work working worried";

const FILE_ENDINGS: &str = "py rs js ts go md txt toml yml yaml json html css sh c h cpp java csv pdf conf cfg ini sql rb php kt swift xlsx docx";

/// Whether a folded run is the name of a file.
pub(super) fn is_file_name(run: &str) -> bool {
    run.rsplit_once('.')
        .is_some_and(|(name, ending)| !name.is_empty() && FILE_ENDINGS.split(' ').any(|one| one == ending))
}
