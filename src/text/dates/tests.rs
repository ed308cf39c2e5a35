use super::*;
use jiff::tz::TimeZone;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_names_times_or_none(text in "\\PC{0,20}", tail in "[0-9年月上周一昨日 曜先週a]{0,12}") {
        Dates::named(&(text + &tail), Languages::of_text("el martes"), now).hold(0);
    }
}

/// Thursday, 2026-03-19, at noon in UTC.
fn now() -> Zoned {
    jiff::civil::date(2026, 3, 19).at(12, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap()
}

fn named(question: &str, codes: &str) -> Dates {
    Dates::named(question, Languages::parse(codes), now)
}

#[test]
fn months_and_years_are_named_in_words_and_digits() {
    let may = time::parse("2023-05-08T13:56:00Z").unwrap();
    for (question, holds) in [
        ("What happened in May 2023?", true),
        ("what happened in may?", true),
        ("In 2023, or in 2024?", true),
        ("June or May?", true),
        ("Who came in June?", false),
        ("In May 2022?", false),
        ("Who is Mary?", false),
        ("Room 20231, or ma?", false),
        ("Qué pasó el 8 de mayo?", false),
        ("", false),
    ] {
        assert_eq!(named(question, "en").hold(may), holds, "{question}");
    }
    assert!(named("sept", "en").hold(time::parse("2020-09-30T23:59:59Z").unwrap()));
    for (question, code) in [
        ("Was geschah im Mai 2023?", "de"),
        ("¿Qué pasó el 8 de mayo?", "es"),
        ("Qu'est-ce qui s'est passé le 8 mai ?", "fr"),
        ("Что было 8 мая", "ru"),
        ("5月8日发生了什么", "zh"),
        ("2023年五月", "zh"),
        ("５月は何がありましたか", "ja"),
    ] {
        assert!(named(question, code).hold(may), "{question}");
    }
    assert!(!named("三个月前 月曜日", "zh").hold(may));
}

#[test]
fn words_that_only_look_like_a_time_are_none() {
    for (question, code) in [
        ("每周一次", "zh"),
        ("下周一见", "zh"),
        ("先週一番よかったのは", "ja"),
        ("这星期天气怎么样", "zh"),
        ("来週日本に行く", "ja"),
        ("晚上月亮", "zh"),
        ("目前天气", "zh"),
    ] {
        let dates = named(question, code);
        let days = dates.ranges.iter().filter(|range| range.end - range.start < 2 * 86_400_000);
        assert_eq!(days.count(), 0, "{question}: {dates:?}");
    }
    for (question, code) in [
        ("Onde mora o Marco?", "pt"),
        ("Où est la planète Mars?", "fr"),
        ("Где живёт Марта?", "ru"),
        ("Где живет марта?", "ru"),
    ] {
        assert!(named(question, code).months.is_empty(), "{question}");
    }
    for (question, code) in [
        ("O que aconteceu em março?", "pt"),
        ("le 3 mars", "fr"),
        ("au mois de mars", "fr"),
        ("14 марта", "ru"),
        ("14 de março", "pt"),
    ] {
        assert_eq!(named(question, code).months, [3], "{question}");
    }
    let monday = time::parse("2026-03-16T12:00:00Z").unwrap();
    assert!(named("O que comemos na segunda-feira passada?", "pt").hold(monday));
}

#[test]
fn times_before_the_present_are_named_in_words() {
    for (question, code, day) in [
        ("What did I say yesterday?", "en", "2026-03-18"),
        ("what was it the day before yesterday", "en", "2026-03-17"),
        ("Where did we eat last Thursday?", "en", "2026-03-12"),
        ("Was war letzten Montag?", "de", "2026-03-16"),
        ("was kam gestern?", "de", "2026-03-18"),
        ("¿Qué comimos el martes?", "es", "2026-03-17"),
        ("qué pasó anteayer", "es", "2026-03-17"),
        ("Où étions-nous lundi dernier ?", "fr", "2026-03-16"),
        ("Et avant-hier ?", "fr", "2026-03-17"),
        ("Что было в прошлый понедельник?", "ru", "2026-03-16"),
        ("Куда мы ходили вчера", "ru", "2026-03-18"),
        ("昨天吃了什么", "zh", "2026-03-18"),
        ("上周一去了哪里", "zh", "2026-03-09"),
        ("星期二呢", "zh", "2026-03-17"),
        ("一昨日は何を食べましたか", "ja", "2026-03-17"),
        ("月曜日に何がありましたか", "ja", "2026-03-16"),
        ("先週の月曜日", "ja", "2026-03-09"),
    ] {
        let noon = time::parse(&format!("{day}T12:00:00Z")).unwrap();
        let dates = named(question, code);
        assert!(dates.hold(noon), "{question}: {dates:?}");
        assert!(!dates.hold(noon - 86_400_000) && !dates.hold(noon + 86_400_000), "{question}: {dates:?}");
    }
    for (question, code, first, last) in [
        ("What did we plan last week?", "en", "2026-03-09", "2026-03-15"),
        ("Was war letzte Woche?", "de", "2026-03-09", "2026-03-15"),
        ("¿Y la semana pasada?", "es", "2026-03-09", "2026-03-15"),
        ("先週は", "ja", "2026-03-09", "2026-03-15"),
        ("上个月", "zh", "2026-02-01", "2026-02-28"),
        ("в прошлом году", "ru", "2025-01-01", "2025-12-31"),
    ] {
        let dates = named(question, code);
        let begin = time::parse(&format!("{first}T00:00:00Z")).unwrap();
        let end = time::parse(&format!("{last}T23:59:59Z")).unwrap();
        assert!(dates.hold(begin) && dates.hold(end), "{question}: {dates:?}");
        assert!(!dates.hold(begin - 1) && !dates.hold(end + 1000), "{question}: {dates:?}");
    }
    // A week is none of the past, nor is a name.
    for (question, code) in [("Is it on Monday?", "en"), ("Une lettre à Mardi", "fr"), ("mars", "en")] {
        assert!(named(question, code).ranges.is_empty(), "{question}");
    }
}
