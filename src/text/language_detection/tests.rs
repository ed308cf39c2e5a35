use super::*;
use proptest::prelude::*;

fn told_by(text: &str) -> Option<Languages> {
    let mut languages = ToldLanguages::default();
    languages.add(text);
    languages.told()
}

proptest! {
    #[test]
    fn any_word_has_stems(
        word in "[a-zß-žæø]{1,20}|[а-яёй]{1,20}|[ء-ي]{1,20}|[α-ω]{1,20}|[அ-ஹா-ௌ்]{1,20}|\\PC{1,20}"
    ) {
        let word = fold(&word);
        for stem in Languages::ALL.stems(&word) {
            prop_assert!(!stem.is_of("") || stem.text().is_empty());
        }
    }

    #[test]
    fn any_text_is_in_some_language(text in "\\PC{0,300}") {
        let all: Vec<&str> = words(&text).collect();
        Languages::of_words(&all);
        told_by(&text);
        prop_assert_ne!(Languages::of_text(&text), Languages::NONE);
    }
}

#[test]
fn words_of_one_stem_have_its_piece() {
    for (code, word, other) in [
        ("en", "painted", "painting"),
        ("en", "city", "cities"),
        ("en", "happy", "happiness"),
        ("en", "ran", "ran"),
        ("de", "katzen", "katze"),
        ("de", "hauser", "haus"),
        ("es", "canciones", "canción"),
        ("es", "comería", "comer"),
        ("fr", "chevaux", "cheval"),
        ("fr", "nationalités", "nationaux"),
        ("it", "libri", "libro"),
        ("nl", "katten", "kat"),
        ("nl", "manen", "maan"),
        ("pt", "chaves", "chave"),
        ("ru", "ключами", "ключ"),
        ("sv", "katterna", "katten"),
        ("ar", "الكتاب", "كتابي"),
    ] {
        let (word, other) = (fold(word), fold(other));
        let languages = Languages(Languages::parse(code).0 & !u32::from(code != "en"));
        let stems = languages.stems(&word);
        assert_eq!(stems, languages.stems(&other), "{word} {other}");
        assert!(stems.iter().all(|stem| stem.is_of(&word) && stem.is_of(&other)), "{word} {other}");
    }
    assert_eq!(Languages::ENGLISH.stems("3d")[0].text(), "3d");
    assert_eq!(Languages::ENGLISH.stems("𐌰")[0].piece(), "𐌰");
}

#[test]
fn a_question_is_in_the_language_of_its_stop_words() {
    let stored = Languages::parse("de es");
    for (question, codes) in [
        ("Wo ist der Schlüssel?", "de"),
        ("¿Dónde están las llaves?", "es"),
        ("Where is the key?", "en"),
        ("When did they die?", "en"),
        ("Docker Container", "en de es"),
        ("", "en de es"),
    ] {
        assert_eq!(Languages::of_question(question, stored).codes(), codes, "{question}");
        assert_eq!(Languages::of_question(question, Languages::ENGLISH).codes(), "en", "{question}");
    }
    let stop = |word, code| Languages::of_question(code, stored).is_stop_word(word);
    assert!(stop("die", "wo ist der") && !stop("die", "where is the") && stop("the", "where is the"));
}

#[test]
fn the_language_of_a_text_is_told_if_it_is_sure() {
    for (text, codes) in [
        ("Die Katzen schlafen auf dem warmen Ofen, weil es in dem Zimmer so kalt ist.", Some("de")),
        ("Ключи от сарая висят за дверью.", Some("ru")),
        ("وضعت الكتاب على الطاولة في غرفة الجلوس.", Some("ar")),
        ("The cats sleep on the warm stove, and it was in the house that he died.", None),
        ("کتاب را روی میز گذاشتم و رفتم پیش او", None),
        ("ok", None),
        ("", None),
    ] {
        assert_eq!(told_by(text).map(Languages::codes).as_deref(), codes, "{text}");
    }
}

#[test]
fn short_texts_tell_their_language_together() {
    let english = Languages::ENGLISH;
    for (texts, codes) in [
        (&["Wo liegt mein Pass?", "In der Schublade.", "Und die Karte?", "Auch dort."][..], Some("de")),
        (&["Ключи где?", "За дверью."], Some("ru")),
        (&["Did he die?", "So am I.", "Run a docker image", "man page of tar", "an API"], None),
    ] {
        let mut languages = ToldLanguages::default();
        for text in texts {
            languages.add(text);
        }
        assert_eq!(languages.told().map(Languages::codes).as_deref(), codes, "{texts:?}");
        assert!(!languages.are_in_doubt(english.or(languages.told().unwrap_or(english))));
    }
    let mut languages = ToldLanguages::default();
    languages.add("Wo liegt mein Pass?");
    assert!(languages.are_in_doubt(english) && !languages.are_in_doubt(Languages::parse("de")));
}
