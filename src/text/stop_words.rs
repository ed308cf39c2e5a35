//! Words that carry no topic.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// Words that say nothing about the topic of a question, and that are in most messages: looking them up would
/// cost more than all others together.
const STOP_WORDS: &str = "a about all also am an and any are as at be been but by can could did do does done for from \
    get got had has have he her him his how i if in into is it its just like me my no not of on or our out say said \
    she should so some tell than that the their them then there these they this to too up us was we were what when \
    where which who why will with would you your";

/// Whether a folded word is one of the stop words.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
    WORDS.contains(word)
}
