//! Tells by rule whether the user's last message corrects the answer before it, or asks the same again: signs
//! that an answer did not help.

use super::question::text_of;
use crate::api;
use crate::chat::{self, Request, is_user};
use crate::record::{FollowUp, Role};
use crate::text::fold::fold;
use crate::text::topic_words;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The phrases of corrections: `PLACE LANGUAGE: PHRASE; PHRASE`.
const TABLE: &str = include_str!("follow_up.txt");

/// The beginning of a message that is read, in bytes: what comes later is pasted.
const READ_BYTES: usize = 2048;
/// The part of it in which a phrase may stand anywhere.
const OPENING_BYTES: usize = 200;
/// The user's messages before the last one that may ask the same.
const MAX_EARLIER: usize = 3;
/// Two messages ask the same if each has this many words that may name a topic, and this share of all of them
/// are in both. Fewer words, as of `go on`, are said again for other reasons.
const MIN_WORDS: usize = 3;
const MIN_OVERLAP: f64 = 0.6;

/// The sign in the user's last message; `None` if there is none, or no answer before it.
pub(super) fn follow_up(request: &Request) -> Option<FollowUp> {
    let user = request.last_user()?;
    let before = &request.messages[..user];
    let answered = before.iter().rposition(|turn| chat::role(turn) == Some(Role::Assistant))?;
    let earlier: Vec<String> = before[..answered]
        .iter()
        .rev()
        .filter(|turn| is_user(turn))
        .map(text_of)
        .filter(|text| api::own_words(text).is_some())
        .take(MAX_EARLIER)
        .collect();
    let text = text_of(&request.messages[user]);
    match earlier.as_slice() {
        [] => None,
        _ if corrects(&text) => Some(FollowUp::Correction),
        earlier => earlier.iter().any(|one| asks_the_same(one, &text)).then_some(FollowUp::Repetition),
    }
}

fn corrects(text: &str) -> bool {
    static PHRASES: LazyLock<[Vec<String>; 2]> =
        LazyLock::new(|| ["begin ", "anywhere "].map(|place| phrases(place).collect()));
    let [begin, anywhere] = &*PHRASES;
    let text = fold(beginning(text.trim_start(), OPENING_BYTES)) + " ";
    let ends_word = |at: usize| !text[at..].starts_with(char::is_alphanumeric) || is_unspaced(&text[..at]);
    begin.iter().any(|phrase| text.starts_with(phrase.as_str()) && ends_word(phrase.len()))
        || anywhere.iter().any(|phrase| text.contains(phrase.as_str()))
}

/// Whether a text ends in a script without spaces, or with a sign.
fn is_unspaced(text: &str) -> bool {
    text.chars().next_back().is_none_or(|c| !c.is_alphanumeric() || c > '\u{2e80}')
}

fn phrases(place: &'static str) -> impl Iterator<Item = String> {
    let rows = TABLE.lines().filter_map(move |line| line.strip_prefix(place)?.split_once(": "));
    let listed =
        rows.flat_map(|(_, list)| list.split(';')).map(|phrase| phrase.strip_prefix(' ').unwrap_or(phrase));
    listed.filter(|phrase| !phrase.is_empty()).map(fold)
}

fn asks_the_same(earlier: &str, later: &str) -> bool {
    let words = |text| -> BTreeSet<String> {
        topic_words(beginning(text, READ_BYTES)).into_iter().map(|word| word.key).collect()
    };
    let (earlier, later) = (words(earlier), words(later));
    let both = earlier.intersection(&later).count();
    let all = earlier.len() + later.len() - both;
    earlier.len().min(later.len()) >= MIN_WORDS && both as f64 >= MIN_OVERLAP * all as f64
}

fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Object;
    use serde_json::json;

    fn sign(texts: &[&str]) -> Option<FollowUp> {
        let turns: Vec<_> = { texts.iter() }
            .flat_map(|text| {
                [json!({"role": "user", "content": text}), json!({"role": "assistant", "content": "Yes."})]
            })
            .collect();
        let body = json!({"messages": turns[..turns.len() - 1]}).to_string();
        follow_up(&Request::parse(Object::parse(&body).unwrap()).unwrap())
    }

    #[test]
    fn corrections_are_told_from_other_answers() {
        for text in [
            "No, the other file.",
            "no.",
            "That’s not what I asked for",
            "I meant the staging server",
            "Wrong",
            "Hm, that's wrong: it is 5",
            "Nein, die andere Datei",
            "Das stimmt nicht",
            "Ce n'est pas ça",
            "不对，是另一个",
        ] {
            assert_eq!(sign(&["Where is it?", text]), Some(FollowUp::Correction), "{text}");
        }
        for text in [
            "No problem, go on",
            "Now the tests",
            "Nothing else",
            "yes",
            "go on",
            "Thanks! Wrongly named files next",
            "Notice the log",
        ] {
            assert_eq!(sign(&["Where is it?", text]), None, "{text}");
        }
        assert_eq!(sign(&["No, the other file."]), None);
    }

    #[test]
    fn a_question_in_other_words_is_another_and_the_same_words_ask_again() {
        let asked = "Which port does the staging database listen on?";
        assert_eq!(
            sign(&[asked, "On which port is the staging database listening?"]),
            Some(FollowUp::Repetition)
        );
        assert_eq!(sign(&[asked, "ok", asked]), Some(FollowUp::Repetition));
        assert_eq!(sign(&[asked, "And who maintains the staging cluster of payments?"]), None);
        assert_eq!(sign(&["go on", "go on"]), None);
    }
}
