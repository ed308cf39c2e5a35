//! The mood that a model gives in the last line of its answer, `mood: word`, which is not shown.

/// The mood of an answer that gives none.
pub(super) const NEUTRAL: &str = "neutral";
/// The instruction that asks the model for its mood.
pub(super) const REQUEST: &str =
    "End your answer with a line of its own that gives your mood in one word, such as: mood: cheerful";

const MARK: &str = "mood:";
/// The longest mood, in characters.
const MAX_MOOD_CHARS: usize = 32;

/// Holds back what may be the last line, until it is known whether it gives a mood.
#[derive(Default)]
pub(super) struct MoodFilter {
    held: String,
    /// Whether the text held back continues a line whose beginning was shown.
    is_within_line: bool,
}

impl MoodFilter {
    /// Takes the next piece of an answer. Returns what can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        // White space is held back too, since what follows it may be the last line.
        let said = self.held.trim_end();
        let begin = said.rfind('\n').map_or(0, |at| at + 1);
        let is_line = begin > 0 || !self.is_within_line;
        let is_mood = is_line && may_be_mood(said[begin..].trim_start());
        let shown = if is_mood { said[..begin].trim_end().len() } else { said.len() };
        self.is_within_line |= shown > 0;
        let rest = self.held.split_off(shown);
        std::mem::replace(&mut self.held, rest)
    }

    /// Ends the answer. Returns the rest of what is shown, and the mood.
    pub(super) fn end(self) -> (String, String) {
        let is_line = !self.is_within_line || self.held.trim_end().contains('\n');
        match mood_of(self.held.trim()).filter(|_| is_line) {
            Some(mood) => (String::new(), mood),
            None => (self.held, NEUTRAL.to_owned()),
        }
    }
}

/// The answer without its mood, and the mood.
pub(super) fn split(answer: &str) -> (String, String) {
    let mut filter = MoodFilter::default();
    let shown = filter.push(answer);
    let (rest, mood) = filter.end();
    (shown + &rest, mood)
}

/// Whether a line gives a mood, or is the beginning of one that does.
fn may_be_mood(line: &str) -> bool {
    let begin: String = line.chars().take(MARK.len()).collect::<String>().to_lowercase();
    MARK.starts_with(&begin) && line.chars().count() <= MARK.len() + MAX_MOOD_CHARS
}

fn mood_of(line: &str) -> Option<String> {
    let mark = line.get(..MARK.len())?;
    let word = line[MARK.len()..].trim().trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
    (mark.eq_ignore_ascii_case(MARK) && is_word).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_gives_the_mood_however_it_is_cut() {
        for (answer, message, mood) in [
            ("By the wall.\n\nmood: Cheerful.", "By the wall.", "cheerful"),
            ("By the wall.\nMood:calm\n", "By the wall.", "calm"),
            ("mood: sad", "", "sad"),
            ("By the wall.", "By the wall.", "neutral"),
            ("My mood: good", "My mood: good", "neutral"),
            ("mood: sad\nBut no.", "mood: sad\nBut no.", "neutral"),
            ("A\nmood: two words", "A\nmood: two words", "neutral"),
            ("A\nmoody", "A\nmoody", "neutral"),
            ("A\n", "A\n", "neutral"),
            ("", "", "neutral"),
        ] {
            assert_eq!(split(answer), (message.to_owned(), mood.to_owned()), "{answer:?}");
            let mut filter = MoodFilter::default();
            let mut shown: String = answer.chars().map(|c| filter.push(&c.to_string())).collect();
            let (rest, found) = filter.end();
            shown.push_str(&rest);
            assert_eq!((shown.as_str(), found.as_str()), (message, mood), "{answer:?}");
        }
    }
}
