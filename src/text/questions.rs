//! Whether a text ends in a question, with a question mark or without: by the particle at its end, or the
//! words at the beginning of its last sentence.

use super::fold::fold;
use super::languages::Languages;
use super::terms::words;

/// The marks of a question at its end.
const MARKS: [char; 5] = ['?', '？', '؟', '\u{37e}', '⁇'];
/// The ends of questions in Chinese, Japanese and Korean.
const PARTICLES: &[&str] =
    &["吗", "嗎", "ですか", "ますか", "ましたか", "でしたか", "ませんか", "습니까", "입니까", "까요", "나요"];
/// The words with which a question begins, by language: one of the first with one of the second after it;
/// without second ones, alone.
struct Openings {
    code: &'static str,
    first: &'static str,
    second: &'static str,
}

const OPENINGS: &[Openings] = &[
    Openings {
        code: "en",
        first: "what who whose whom where when why how",
        second: "is are was were do does did will would can could should has have had many much long far old often",
    },
    Openings {
        code: "en",
        first: "do does did is are was were can could would will should have has",
        second: "you we i they he she there anyone anybody",
    },
    Openings {
        code: "de",
        first: "wer wen wem wessen wann warum wieso weshalb wohin woher wieviel wieviele welche welcher welches welchen welchem",
        second: "",
    },
    Openings {
        code: "de",
        first: "was wo wie",
        second: "ist sind war waren bin bist hat haben hatte hatten hast habe kann können kannst konnte muss müssen soll \
            sollte will wollte wird werden wurde wurden heißt heißen geht gibt gab macht machst viel viele lange oft alt \
            weit",
    },
    Openings {
        code: "de",
        first: "ist sind war hat haben hast habe kann können kannst könntest gibt weißt soll sollen darf muss",
        second: "es du ich er sie wir ihr man der die das jemand",
    },
    Openings {
        code: "es",
        first: "qué quién quiénes cuándo dónde cuál cuáles cómo cuánto cuánta cuántos cuántas",
        second: "",
    },
    Openings {
        code: "es",
        first: "por a de en con para desde",
        second: "qué quién quiénes cuándo dónde cuál cuáles cuánto cuántos",
    },
    Openings { code: "fr", first: "où comment pourquoi combien quel quelle quels quelles", second: "" },
    Openings {
        code: "fr",
        first: "qui que quand est qu",
        second: "est ce a sont était as es avons avez ont fait",
    },
    Openings {
        code: "ru",
        first: "кто кого кому что где когда почему зачем сколько куда откуда какой какая какое какие чей",
        second: "",
    },
];

/// Whether a text ends in a question.
pub fn asks(text: &str) -> bool {
    let text = text.trim_end();
    if text.ends_with(MARKS) {
        return true;
    }
    if text.ends_with(['!', '！', ':', '：']) {
        return false;
    }
    let text = text.trim_end_matches(['.', '。', '…', ' ']);
    let last = text.rsplit(['.', '!', '?', '。', '！', '？', '\n']).next().unwrap_or_default();
    let sentence = last.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '¿');
    if sentence.is_ascii() && !sentence.starts_with(|c: char| c.is_alphabetic()) {
        return false;
    }
    let asks_by_particle =
        || sentence.starts_with('¿') || PARTICLES.iter().any(|particle| sentence.ends_with(particle));
    !sentence.is_ascii() && asks_by_particle() || opens_question(sentence)
}

fn opens_question(sentence: &str) -> bool {
    // Accents tell `qué` from `que`.
    let lower = sentence.chars().take(80).collect::<String>().to_lowercase();
    // A clause before a comma begins with the same words.
    let is_clause = sentence.contains(',');
    let mut first_words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (Some(first), second) = (first_words.next(), first_words.next().unwrap_or_default()) else {
        return false;
    };
    let is_first = |row: &Openings| row.first.split_whitespace().any(|word| word == first);
    let is_second =
        |row: &Openings| row.second.is_empty() || row.second.split_whitespace().any(|word| word == second);
    let mut rows = OPENINGS.iter().filter(|row| is_first(row) && is_second(row)).peekable();
    if is_clause || rows.peek().is_none() || words(&fold(sentence)).nth(MAX_WORDS).is_some() {
        return false;
    }
    let languages = Languages::of_text(sentence);
    rows.any(|row| languages.includes(row.code))
}

/// The words of a question that has no mark: a longer sentence tells something.
const MAX_WORDS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_a_question_or_none(text in "\\PC{0,40}", tail in "[ .。!？か\n¿,a吗]{0,6}") {
            asks(&(text + &tail));
        }
    }

    #[test]
    fn questions_are_told_without_a_mark() {
        for question in [
            "Where is it?",
            "All is well. where did you put the keys",
            "do you know her",
            "Wo ist mein Schlüssel",
            "wann kommt der Zug nach Bonn.",
            "Danke. Kannst du mir das noch einmal sagen",
            "¿Dónde está la llave",
            "cuándo sale el tren a la costa",
            "Où est la clé de la maison",
            "Est-ce que tu as la clé",
            "где мой ключ",
            "你喜欢茶吗。",
            "鍵はどこですか",
            "駅はどこですか。",
            "열쇠가 어디에 있습니까",
            "أين المفتاح؟",
        ] {
            assert!(asks(question), "{question}");
        }
        for statement in [
            "",
            "The key is here.",
            "What a day!",
            "When I was young, I lived in Bonn.",
            "Which means that we won.",
            "How sweet of you",
            "Do it",
            "Which is fine by me",
            "我喜欢什么都不加的咖啡。",
            "我住在北京呢。",
            "そうか",
            "저는 바쁘니까",
            "Как всегда опоздал",
            "Was du sagst, stimmt.",
            "Wie schön!",
            "Die Schlüssel sind da",
            "Cuando era niño vivía en la costa",
            "Quand j'étais petit, il faisait froid",
            "ключ здесь",
            "我喜欢茶。",
            "中文。另一句话在这里。",
            "お茶が好きです。",
        ] {
            assert!(!asks(statement), "{statement}");
        }
    }
}
