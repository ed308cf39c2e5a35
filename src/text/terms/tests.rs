use super::*;
use proptest::prelude::*;

#[test]
fn words_of_a_question_are_known_by_the_folding_before() {
    let tokens = |terms: Vec<Term>| -> Vec<(String, String)> {
        terms.into_iter().flat_map(|term| term.tokens.into_iter().zip(term.earlier_tokens)).collect()
    };
    for (question, pairs) in [
        ("tea Café", &[("tea", "tea"), ("cafe", "cafe")][..]),
        (
            "\"Große  Straße\" Fluß-Ufer",
            &[("grosse", "große"), ("strasse", "straße"), ("fluss", "fluß"), ("ufer", "ufer")],
        ),
        // The combining breve belongs to the letter before it.
        ("чаи\u{306} йод", &[("чай", "чаи"), ("йод", "иод")]),
        // These were several words.
        ("car\u{ad}rots ½ ß", &[("carrots", "rots"), ("1", "1"), ("2", "2"), ("ss", "ß")]),
    ] {
        let pairs: Vec<_> = pairs.iter().map(|(new, old)| (new.to_string(), old.to_string())).collect();
        assert_eq!(tokens(Term::parse(question)), pairs, "{question}");
    }
    assert_eq!(
        tokens(Term::content("ſtraße茶の", Languages::ENGLISH)),
        [("strasse".into(), "straße".into()), ("茶の".into(), "茶の".into())]
    );
}

proptest! {
    #[test]
    fn the_words_with_a_piece_are_those_of_its_runs(text in "[ab é界-]{0,80}", piece in "[abé界]{0,3}") {
        let prepared = Piece::new(&piece);
        let found: Vec<&str> = prepared.words_in(&text).collect();
        let of_runs: Vec<&str> = runs(&text).filter(|run| run.contains(&piece)).flat_map(words).collect();
        prop_assert_eq!(found, of_runs);
    }
}

#[test]
fn quotes_hold_words_together() {
    for (question, terms) in [
        ("\"Green \t tea\" kettle", &["green tea", "kettle"][..]),
        ("a \"b c\" \"d\" \"b  c\"", &["a", "b c", "d"]),
        ("\"a b\"c d\" e", &["a b\"c d", "e"]),
        ("5\" pipe \"x", &["5\"", "pipe", "\"x"]),
        ("\"\" \"", &["\"\"", "\""]),
        ("\" \" x", &["\"", "x"]),
        ("“green tea”", &["“green", "tea”"]),
        ("＂緑の　茶＂", &["緑の 茶"]),
    ] {
        let texts: Vec<String> = Term::parse(question).into_iter().map(|term| term.text).collect();
        assert_eq!(texts, terms, "{question}");
    }
    assert_eq!(Term::content("\"a b\"", Languages::ENGLISH).len(), 2);
    assert!(Term::parse("\"a b\"")[0].occurs_in("xa \n\u{a0} bx"));
    assert!(!Term::parse("\"a b\"")[0].occurs_in("a, b"));
}

#[test]
fn the_end_of_a_very_long_question_is_ignored() {
    let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    let question = format!("\n{}", numbers.join(" "));
    for terms in [Term::parse(&question), Term::content(&question, Languages::ENGLISH)] {
        let texts: Vec<String> = terms.into_iter().map(|term| term.text).collect();
        assert_eq!(texts, numbers[..texts.len()]);
        assert!((10_000..20_000).contains(&texts.len()), "{}", texts.len());
    }
    let run: String = ('\u{3400}'..'\u{4dbf}').chain('\u{4e00}'..'\u{9fff}').collect();
    assert_eq!(Term::content(&run, Languages::ENGLISH).len(), MAX_QUESTION_BYTES / 3 - 1);
    assert_eq!(Term::parse(&run).len(), 1);
}

#[test]
fn words_without_spaces_are_looked_for_by_two_characters() {
    let tokens = |text: &str| -> Vec<String> {
        Term::content(text, Languages::ENGLISH)
            .into_iter()
            .inspect(|term| assert!(term.stems.is_none()))
            .map(|term| term.text)
            .collect()
    };
    assert_eq!(tokens("東京の首都、東京"), ["東京", "京の", "の首", "首都"]);
    assert_eq!(tokens("iPhone15を買う。猫"), ["iphone15", "を買", "買う", "猫"]);
    assert_eq!(tokens("서울은"), [fold("서울"), fold("울은")]);
    let whole = Term::content("foo-bar café", Languages::ENGLISH)
        .into_iter()
        .map(|term| (term.text, term.stems.is_none()));
    assert_eq!(whole.collect::<Vec<_>>(), [("foo-bar".to_owned(), false), ("cafe".to_owned(), false)]);
}

#[test]
fn every_short_part_of_a_long_word_lies_in_a_window() {
    let long: String =
        ('a'..='z').cycle().zip(0..1000).map(|(c, i)| if i % 7 == 0 { 'ß' } else { c }).collect();
    let chars: Vec<char> = long.chars().collect();
    let windows: Vec<&str> = words(&long).collect();
    for part in chars.windows(WINDOW_STEP) {
        let part: String = part.iter().collect();
        assert!(windows.iter().any(|w| w.contains(&part)), "{part}");
    }
}
