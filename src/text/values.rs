//! The values in a clause: numbers with what they count, times, dates and addresses.

use super::clause_tokens::{Token, is_file_name};
use super::cues::{Cue, CueKind};
use super::dates;
use super::languages::Languages;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    Number,
    Time,
    Weekday,
    Day,
    Month,
    /// Of the network.
    Host,
    Mail,
    Path,
}

/// A value of a clause.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    pub kind: ValueKind,
    /// The same for values that are equal.
    pub text: String,
    /// Of a number: the words of what it counts or measures, those after it.
    pub units: FxHashSet<String>,
    /// Of a number that measures nothing: the word before it.
    pub label: Option<String>,
    /// Whether it names one of several things rather than measuring anything: `sprint 2`.
    pub is_name: bool,
    /// Whether a phrase that tells a change is right before it.
    pub is_new: bool,
    /// Whether it is said to be the one before the change.
    pub is_old: bool,
}

/// The units that measure many things.
const MEASURES: &str = "% € $ £ ms s sec second min minut hour h day week month year time percent euro dollar am pm kb \
    mb gb kg km cm m qm stund tag woch monat jahr prozent sekund hora minuto dia seman mes ano 分 小 元 块 天 年 次";

/// Whether a unit measures many things, so that two numbers of it need not be of one thing.
pub fn is_measure(unit: &str) -> bool {
    static SET: LazyLock<FxHashSet<&str>> = LazyLock::new(|| MEASURES.split(' ').collect());
    SET.contains(unit)
}

/// Names of numbers, weekdays and months, as folded; those of one language after another.
const NUMBERS: &[&[&str]] = &[
    &["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
    &["zwei", "drei", "vier", "funf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwolf"],
    &["dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"],
    &["deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"],
    &["due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "undici", "dodici"],
    &["dois", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze"],
    &[
        "два",
        "три",
        "четыре",
        "пять",
        "шесть",
        "семь",
        "восемь",
        "девять",
        "десять",
        "одиннадцать",
        "двенадцать",
    ],
    &["две", "трех", "четырех", "пяти", "шести", "семи", "восьми", "девяти", "десяти"],
    &["二", "三", "四", "五", "六", "七", "八", "九", "十"],
    &["两"],
];
const WEEKDAYS: &[&[&str]] = &[
    &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
    &["mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays"],
    &["montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"],
    &["montags", "dienstags", "mittwochs", "donnerstags", "freitags", "samstags", "sonntags"],
    &["lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"],
    &["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    &["lunedi", "martedi", "mercoledi", "giovedi", "venerdi", "sabato", "domenica"],
    &["понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"],
    &["понедельника", "вторника", "среду", "четверга", "пятницу", "субботу", "воскресенья"],
    &["понедельникам", "вторникам", "средам", "четвергам", "пятницам", "субботам", "воскресеньям"],
];
const MONTHS: &[&[&str]] = &[
    &dates::MONTHS,
    &[
        "januar",
        "februar",
        "marz",
        "april",
        "mai",
        "juni",
        "juli",
        "august",
        "september",
        "oktober",
        "november",
        "dezember",
    ],
    &[
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    &[
        "janvier",
        "fevrier",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "aout",
        "septembre",
        "octobre",
        "novembre",
        "decembre",
    ],
    &[
        "января",
        "февраля",
        "марта",
        "апреля",
        "мая",
        "июня",
        "июля",
        "августа",
        "сентября",
        "октября",
        "ноября",
        "декабря",
    ],
];

/// The numbers of names in a table, from 1: the places in their rows.
type Places = FxHashMap<&'static str, usize>;

fn places(rows: &[&[&'static str]]) -> Places {
    let mut places = Places::default();
    for row in rows {
        for (at, name) in row.iter().enumerate() {
            places.entry(name).or_insert(at + 1);
        }
    }
    places
}

static NUMBER_NAMES: LazyLock<Places> = LazyLock::new(|| places(NUMBERS));
static WEEKDAY_NAMES: LazyLock<Places> = LazyLock::new(|| places(WEEKDAYS));
static MONTH_NAMES: LazyLock<Places> = LazyLock::new(|| places(MONTHS));

/// The most tokens between a phrase that tells a change and the value.
const MAX_DISTANCE: usize = 4;
/// The number of words after a number that may name what it counts.
const UNIT_WORDS: usize = 3;

/// The values among the tokens of a clause, of which `content` are the words that may name a subject, with
/// their places.
pub(super) fn values(
    tokens: &[Token],
    content: &[(usize, String)],
    cues: &[Cue],
    languages: Languages,
) -> Vec<Value> {
    let text_of = |at: usize| tokens.get(at).map(|token| &token.text[..]).unwrap_or_default();
    let mut found: Vec<(usize, Value)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = if at > 0 { text_of(at - 1) } else { "" };
        let Some((kind, text, suffix)) = value(&token.text, before, text_of(at + 1)) else { continue };
        let mut value = Value {
            kind,
            text,
            units: FxHashSet::default(),
            label: None,
            is_name: false,
            is_new: false,
            is_old: false,
        };
        if kind == ValueKind::Number {
            let next = text_of(at + 1);
            let measure =
                [suffix, next, before].into_iter().find(|unit| is_measure(unit) && !unit.is_empty());
            let stem = languages.first_stem(next);
            if let Some(measure) = measure.or(Some(&*stem).filter(|stem| is_measure(stem))) {
                value.units.insert(measure.to_owned());
            } else {
                let after = content.iter().filter(|(place, _)| (at + 1..=at + UNIT_WORDS).contains(place));
                value.units.extend(after.map(|(_, word)| word.clone()));
                let label = content.iter().rev().find(|(place, _)| *place < at && place + 3 >= at);
                value.label = label.map(|(_, word)| word.clone());
                value.is_name = value.text.len() == 1
                    && value.units.is_empty()
                    && label.is_some_and(|(place, _)| place + 1 == at);
            }
        }
        let is_near = |cue: &&Cue, kind| cue.kind == kind && cue.end <= at;
        let is_next = |cue: &Cue| found.last().is_none_or(|(last, _)| *last < cue.end);
        value.is_new = cues
            .iter()
            .any(|cue| is_near(&cue, CueKind::Change) && at - cue.end <= MAX_DISTANCE && is_next(cue));
        value.is_old = cues.iter().any(|cue| is_near(&cue, CueKind::From) && at <= cue.end + 1);
        found.push((at, value));
    }
    found.into_iter().map(|(_, value)| value).collect()
}

/// The kind of a token that is a value, its text, and a unit that is joined to it.
fn value<'a>(token: &'a str, before: &str, after: &str) -> Option<(ValueKind, String, &'a str)> {
    let first = token.chars().next()?;
    if token.contains('@') {
        return Some((ValueKind::Mail, token.to_owned(), ""));
    }
    if token.contains("://") {
        return Some((ValueKind::Host, token.to_owned(), ""));
    }
    if !first.is_ascii_digit() && (token.contains('/') && token.len() > 3 || is_file_name(token)) {
        return Some((ValueKind::Path, token.to_owned(), ""));
    }
    if !first.is_ascii_digit() {
        let versioned = token.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(number) = versioned {
            return Some((ValueKind::Number, number.to_owned(), ""));
        }
        if let Some(day) = WEEKDAY_NAMES.get(token) {
            return Some((ValueKind::Weekday, day.to_string(), ""));
        }
        // May is a verb, too.
        let is_month = token != "may"
            || before == "in"
            || before == "on"
            || after.starts_with(|c: char| c.is_ascii_digit());
        if let Some(month) = MONTH_NAMES.get(token).filter(|_| is_month) {
            return Some((ValueKind::Month, month.to_string(), ""));
        }
        let number = NUMBER_NAMES.get(token)? + 1;
        return Some((kind_of_number(before, after), number.to_string(), ""));
    }
    let (number, suffix) = token.split_at(token.find(char::is_alphabetic).unwrap_or(token.len()));
    if suffix.contains(|c: char| !c.is_alphabetic()) {
        return None;
    }
    if number.matches('.').count() == 3 {
        return Some((ValueKind::Host, number.to_owned(), ""));
    }
    if number.contains(':') {
        return Some((
            ValueKind::Time,
            number.trim_end_matches(":00").trim_start_matches('0').to_owned(),
            "",
        ));
    }
    let kind = match suffix {
        "am" | "pm" | "h" => ValueKind::Time,
        "st" | "nd" | "rd" | "th" => ValueKind::Day,
        _ => kind_of_number(before, after),
    };
    Some((kind, plain(number), suffix))
}

/// A number without the marks that part thousands.
fn plain(number: &str) -> String {
    let grouped = |mark: char| {
        let mut groups = number.split(mark);
        let first = groups.next().unwrap_or_default();
        number.contains(mark) && (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
    };
    match () {
        () if grouped(',') || grouped('.') => number.replace([',', '.'], ""),
        () => number.replace(',', "."),
    }
}

/// Whether a number is a time of day, a day of a month, or any other, by the words beside it.
fn kind_of_number(before: &str, after: &str) -> ValueKind {
    match (before, after) {
        (_, "am" | "pm" | "uhr" | "h" | "点" | "點" | "時" | "часов" | "утра" | "вечера") => {
            ValueKind::Time
        }
        ("at" | "um" | "周" | "期", _) if before.chars().all(char::is_alphabetic) => match before {
            "周" | "期" => ValueKind::Weekday,
            _ => ValueKind::Time,
        },
        (_, "号" | "號" | "日") => ValueKind::Day,
        _ if MONTH_NAMES.contains_key(before) || MONTH_NAMES.contains_key(after) => ValueKind::Day,
        _ => ValueKind::Number,
    }
}
