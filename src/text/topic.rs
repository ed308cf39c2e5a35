//! The words of a text that may name its topic.

use super::fold::fold;
use super::languages::Languages;
use super::terms::{is_unspaced, pieces};
use rustc_hash::FxHashSet;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// Words that are no name for a topic, beside those that no question is searched by, and the parts that an
/// apostrophe leaves of others: `isn't`, `we'll`.
const MORE_STOP_WORDS: &str = "absolutely after again against almost already always another anything around \
    ask asked asks away awesome back because before bit both bye called cannot come cool didn doesn don down \
    during each else enough even ever every few find first give given glad go goes going gone gonna good \
    great half happy hello here hey isn keep kind know large last least less let like little ll long look \
    lot made make makes making many may maybe might more most much must need never new next nice nothing now \
    off often ok okay old once one only other over own part perhaps please put quite rather re really right \
    same see seem shall since small something soon still such sure take takes tell thank thanks thing things \
    think though three through time today tomorrow too took toward try twice two under until upon use used \
    using ve very want wasn way well went were whether while whole whose within without won wow wrong yeah \
    year years yep yes yesterday yet yourself";

/// The least length of a word that names a topic, in letters, where words stand between spaces.
const MIN_LETTERS: usize = 3;

/// One word of a text.
#[derive(Clone, PartialEq, Debug)]
pub struct TopicWord {
    /// The same for all words of a stem, ignoring case and accents.
    pub key: String,
    /// As it stands in the text; of a script without spaces two adjacent characters.
    pub word: String,
}

/// The words of a text that may name its topic, in their order.
pub fn topic_words(text: &str) -> Vec<TopicWord> {
    let languages = Languages::of_text(text);
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let folded = fold(run);
        if folded.contains(is_unspaced) {
            let pieces = pieces(&folded).into_iter().filter(|piece| piece.chars().count() > 1);
            words
                .extend(pieces.map(|piece| TopicWord { key: piece.to_owned(), word: piece.nfc().collect() }));
        } else if is_telling(&folded, languages) {
            let key = languages.first_stem(&folded).into_owned();
            words.push(TopicWord { key, word: run.to_owned() });
        }
    }
    words
}

/// Whether a folded word may name a topic: numbers, single letters and stop words do not.
pub(super) fn is_telling(folded: &str, languages: Languages) -> bool {
    static MORE_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| MORE_STOP_WORDS.split(' ').collect());
    folded.chars().count() >= MIN_LETTERS
        && !folded.starts_with(|c: char| c.is_numeric())
        && !languages.is_stop_word(folded)
        && !MORE_WORDS.contains(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_a_topic_are_left_out() {
        let words = |text: &str| -> Vec<String> { topic_words(text).into_iter().map(|w| w.word).collect() };
        assert_eq!(words("Don't the Tomatoes of 2026 go up, 3d?"), ["Tomatoes"]);
        assert_eq!(words("東京の首都"), ["東京", "京の", "の首", "首都"]);
        assert_eq!(words("서울은"), ["서울", "울은"]);
        assert_eq!(topic_words("Étés")[0].key, topic_words("ete")[0].key);
    }
}
