//! Questions of one's own store, made by rule: some of the words of a message that may name its topic, so
//! that it is asked for in fewer words than it says. They never leave the machine.

use crate::error::Result;
use crate::record::{Record, Role, Scopes, StoredRecord};
use crate::store::{Select, Store, Walk};
use crate::text::topic_words;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The greatest number of questions.
const MAX_QUESTIONS: usize = 200;
/// The messages that are read for each question: many say too little.
const READ_FOR_EACH: usize = 4;
/// The words of a message of which a question is made, at least, and the words of the question at most.
const MIN_WORDS: usize = 6;
const MAX_WORDS: usize = 6;
/// The bytes of a message that are read.
const READ_BYTES: usize = 2048;

/// A question, and the message of whose words it is made.
#[derive(Debug)]
pub(super) struct OwnQuestion {
    pub(super) text: String,
    pub(super) source: StoredRecord,
}

/// Questions of messages of the user and the assistant in some scopes: the same for the same store, since
/// digests of ids choose the messages and of words the words. Fails if the store cannot be read.
pub(super) fn questions(store: &mut dyn Store, scopes: &Scopes) -> Result<Vec<OwnQuestion>> {
    let roles = vec![Role::User, Role::Assistant];
    let which = Select { roles, ..Select::messages(scopes.clone()) };
    let walk = Walk { texts: false, ..Walk::records(which.clone()) };
    let mut sample: BTreeMap<u64, String> = BTreeMap::new();
    store.walk(&walk, &mut |record| {
        if let Record::Stored(record) = record {
            sample.insert(number(&["message", &record.id]), record.id);
            if sample.len() > MAX_QUESTIONS * READ_FOR_EACH {
                sample.pop_last();
            }
        }
        Ok(())
    })?;
    let ids: Vec<&str> = sample.values().map(String::as_str).collect();
    let mut read = store.get(&ids, &which)?;
    read.sort_by_cached_key(|record| number(&["message", &record.id]));
    Ok(read.into_iter().filter_map(question).take(MAX_QUESTIONS).collect())
}

/// A question about a message: every other word that may name its topic, in their order; `None` if it has too
/// few.
fn question(source: StoredRecord) -> Option<OwnQuestion> {
    let text = &source.text[..source.text.floor_char_boundary(READ_BYTES)];
    let mut words: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (at, word) in topic_words(text).into_iter().enumerate() {
        words.entry(word.key).or_insert((at, word.word));
    }
    if words.len() < MIN_WORDS {
        return None;
    }
    let asked = (words.len() / 2).min(MAX_WORDS);
    let mut words: Vec<(usize, String)> = words.into_values().collect();
    words.sort_by_cached_key(|(_, word)| number(&[&source.id, word]));
    words.truncate(asked);
    words.sort();
    let words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    Some(OwnQuestion { text: words.join(" "), source })
}

/// A number that follows from some texts.
pub(super) fn number(of: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for text in of {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
