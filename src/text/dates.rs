//! The times that a question names: months and years, and days, weeks, months and years before the present.
//!
//! The words are a table by language. Only those of the question's languages count: `mars` is no month in
//! English.

use super::fold::fold;
use super::languages::Languages;
use super::terms::words;
use crate::record::time;
use jiff::civil::{Date, Weekday};
use jiff::{Span, Zoned};
use std::ops::Range;

/// The words for times in a language. Between alternatives stands `|`.
struct TimeWords {
    code: &'static str,
    /// From January to December.
    months: &'static str,
    /// From Monday to Sunday.
    weekdays: &'static str,
    /// The words before or after a day of the week by which it is the last one: in `before weekday`, `weekday
    /// after`.
    last: [&'static str; 2],
    /// Yesterday, the day before; last week, month and year.
    past: [&'static str; 5],
}

#[rustfmt::skip]
const TIME_WORDS: &[TimeWords] = &[
    TimeWords {
        code: "en",
        months: "", // By their beginnings: see `english_month`.
        weekdays: "monday tuesday wednesday thursday friday saturday sunday",
        last: ["last", ""],
        past: ["yesterday", "day before yesterday", "last week", "last month", "last year"],
    },
    TimeWords {
        code: "de",
        months: "januar|jänner februar märz april mai juni juli august september oktober november dezember",
        weekdays: "montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        last: ["letzten|letzter|vergangenen|am|vorigen", ""],
        past: [
            "gestern", "vorgestern", "letzte woche|letzter woche|vergangene woche|vergangenen woche|vorige woche",
            "letzten monat|vergangenen monat|im letzten monat|vorigen monat",
            "letztes jahr|letzten jahr|vergangenes jahr|vergangenen jahr|voriges jahr",
        ],
    },
    TimeWords {
        code: "es",
        months: "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
        weekdays: "lunes martes miércoles jueves viernes sábado domingo",
        last: ["el|el pasado|este", "pasado"],
        past: [
            "ayer|anoche", "anteayer|antier|antes de ayer", "la semana pasada|la pasada semana",
            "el mes pasado|el pasado mes", "el año pasado|el pasado año",
        ],
    },
    TimeWords {
        code: "fr",
        months: "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        weekdays: "lundi mardi mercredi jeudi vendredi samedi dimanche",
        last: ["", "dernier|passé"],
        past: [
            "hier", "avant hier", "la semaine dernière|la semaine passée", "le mois dernier|le mois passé",
            "l année dernière|l an dernier|l année passée|l an passé",
        ],
    },
    TimeWords {
        code: "it",
        months: "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        weekdays: "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        last: ["scorso|scorsa", "scorso|scorsa"],
        past: [
            "ieri", "l altro ieri|altroieri|ieri l altro", "la settimana scorsa|la scorsa settimana|settimana scorsa",
            "il mese scorso|lo scorso mese|mese scorso", "l anno scorso|lo scorso anno",
        ],
    },
    TimeWords {
        code: "nl",
        months: "januari februari maart april mei juni juli augustus september oktober november december",
        weekdays: "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        last: ["afgelopen|vorige", ""],
        past: [
            "gisteren", "eergisteren", "vorige week|afgelopen week", "vorige maand|afgelopen maand",
            "vorig jaar|afgelopen jaar",
        ],
    },
    TimeWords {
        code: "pt",
        months: "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        weekdays: "segunda terça quarta quinta sexta sábado domingo",
        last: ["última|último|na última|no último", "passada|passado"],
        past: [
            "ontem", "anteontem|antes de ontem", "semana passada", "mês passado", "ano passado",
        ],
    },
    TimeWords {
        code: "ru",
        months: "январь|января|январе февраль|февраля|феврале март|марта|марте апрель|апреля|апреле май|мая|мае \
            июнь|июня|июне июль|июля|июле август|августа|августе сентябрь|сентября|сентябре \
            октябрь|октября|октябре ноябрь|ноября|ноябре декабрь|декабря|декабре",
        weekdays: "понедельник вторник среду четверг пятницу субботу воскресенье",
        last: ["прошлый|прошлую|прошлое|в|во|минувший|минувшую", ""],
        past: [
            "вчера", "позавчера", "прошлой неделе|прошлую неделю|минувшей неделе",
            "прошлом месяце|прошлый месяц|минувшем месяце", "прошлом году|прошлый год|минувшем году",
        ],
    },
    TimeWords {
        code: "sv",
        months: "januari februari mars april maj juni juli augusti september oktober november december",
        weekdays: "måndags tisdags onsdags torsdags fredags lördags söndags",
        last: ["i", ""],
        past: ["igår|i går", "i förrgår|förrgår", "förra veckan", "förra månaden", "förra året|i fjol"],
    },
];

/// The words of the scripts without spaces, which are found anywhere: Chinese and Japanese.
const UNSPACED_PAST: [&[&str]; 5] = [
    &["昨天", "昨晚", "昨日", "昨夜", "きのう"],
    &["前天", "一昨日", "おととい"],
    &["上周", "上週", "上星期", "上个星期", "上個星期", "上礼拜", "上個禮拜", "先週"],
    &["上个月", "上個月", "上月", "先月"],
    &["去年", "昨年"],
];
/// Before the sign of a day of the week, and after it in Japanese.
const UNSPACED_WEEK: &[&str] = &["星期", "礼拜", "禮拜", "周", "週"];
const UNSPACED_LAST_WEEK: &[&str] = &["上周", "上週", "上星期", "上个星期", "上個星期", "上礼拜", "先週の"];
/// The days from Monday: in Chinese, and in Japanese before 曜.
const UNSPACED_DAYS: [&[&str]; 7] = [
    &["一", "月曜"],
    &["二", "火曜"],
    &["三", "水曜"],
    &["四", "木曜"],
    &["五", "金曜"],
    &["六", "土曜"],
    &["日", "天", "日曜"],
];
/// The characters that make another word, or another week, of what they stand before or after.
const OTHER_BEFORE_WEEKS: &[char] = &[
    '下', '每', '毎', '来', '來', '今', '这', '這', '本', '先', '再', '一', '二', '三', '四', '五', '六',
    '七', '八', '九', '十', '两', '兩', '几',
];
const OTHER_AFTER_DAYS: &[char] =
    &['次', '共', '番', '气', '氣', '本', '亮', '起', '个', '個', '直', '样', '樣', '定'];
const OTHER_BEFORE_PAST: &[char] = &['晚', '早', '马', '馬', '网', '網', '目', '以'];
const OTHER_AFTER_PAST: &[char] = &['亮', '气', '氣'];
/// The numbers before 月, from the longest.
const UNSPACED_MONTHS: [&str; 12] =
    ["十二", "十一", "十", "九", "八", "七", "六", "五", "四", "三", "二", "一"];

/// The English names. In a question, three letters or more of the beginning are enough.
pub(super) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The time that a question names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Dates {
    /// From 1 to 12.
    months: Vec<u8>,
    years: Vec<i64>,
    /// In milliseconds since 1970.
    ranges: Vec<Range<i64>>,
}

/// A time before the present.
#[derive(Clone, Copy)]
enum Past {
    /// So many days ago.
    Day(i64),
    /// The last such day before today.
    Weekday(Weekday),
    /// Of the week before this one.
    WeekdayOfLastWeek(Weekday),
    Week,
    Month,
    Year,
}

impl Dates {
    /// Finds the dates in a question: months by name, in English also by at least its first three letters;
    /// years of four digits from 1900 to 2099; and times before `now` such as yesterday, last Monday or last
    /// week, whose days begin and end in its time zone.
    pub fn named(question: &str, languages: Languages, now: impl FnOnce() -> Zoned) -> Dates {
        let folded = fold(question);
        let phrase = format!(" {} ", words(&folded).collect::<Vec<_>>().join(" "));
        let mut dates = Dates::default();
        for word in phrase.split(' ') {
            dates.months.extend(english_month(word).filter(|_| languages.includes("en")));
            let year = word.chars().take(4).collect::<String>();
            let is_year = word.len() == 4 || word[year.len()..].starts_with('年');
            let year = year.parse::<i64>().ok().filter(|year| is_year && (1900..2100).contains(year));
            dates.years.extend(year);
        }
        let mut past = unspaced_past(&folded);
        dates.months.extend(unspaced_months(&folded));
        for row in TIME_WORDS.iter().filter(|row| languages.includes(row.code)) {
            let months = row.months.split_whitespace().zip(1..);
            dates
                .months
                .extend(months.filter(|(names, _)| has_month(&phrase, names)).map(|(_, month)| month));
            past.extend(row.past_in(&phrase));
        }
        if !past.is_empty() {
            let now = now();
            dates.ranges = past.into_iter().filter_map(|past| past.range(&now)).collect();
        }
        dates
    }

    /// Whether any date was named, and a time (milliseconds since 1970, UTC) agrees with all months and
    /// years, or is within one of the times before the present.
    pub fn hold(&self, timestamp: i64) -> bool {
        if self.ranges.iter().any(|range| range.contains(&timestamp)) {
            return true;
        }
        if self.months.is_empty() && self.years.is_empty() {
            return false;
        }
        let (year, month) = time::year_and_month(timestamp);
        (self.months.is_empty() || self.months.contains(&month))
            && (self.years.is_empty() || self.years.contains(&year))
    }
}

fn english_month(word: &str) -> Option<u8> {
    (1..).zip(MONTHS).find(|(_, name)| word.len() >= 3 && name.starts_with(word)).map(|(number, _)| number)
}

/// Whether folded words between spaces have one of some alternatives.
fn has_any(phrase: &str, alternatives: &str) -> bool {
    alternatives.split('|').any(|one| !one.is_empty() && phrase.contains(&format!(" {} ", fold(one))))
}

/// Names of months that are names of people or planets as well.
const AMBIGUOUS_MONTHS: [&str; 3] = ["marco", "mars", "марта"];
/// The words before such a month.
const BEFORE_MONTHS: [&str; 8] = ["em", "en", "mes", "mois", "desde", "depuis", "до", "с"];

/// Whether folded words between spaces have one of the names of a month; an ambiguous one only beside a
/// number, or after a word that stands before months.
fn has_month(phrase: &str, names: &str) -> bool {
    if !has_any(phrase, names) {
        return false;
    }
    let all: Vec<&str> = phrase.split_whitespace().collect();
    let is_number =
        |word: Option<&&str>| word.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let is_named = |(at, word): (usize, &&str)| {
        let before = |steps: usize| at.checked_sub(steps).and_then(|at| all.get(at));
        let marks = |word: Option<&&str>| is_number(word) || word.is_some_and(|w| BEFORE_MONTHS.contains(w));
        let is_ambiguous = AMBIGUOUS_MONTHS.contains(word);
        has_any(&format!(" {word} "), names)
            && (!is_ambiguous
                || marks(before(1))
                || is_number(all.get(at + 1))
                || before(1) == Some(&"de") && marks(before(2)))
    };
    all.iter().enumerate().any(is_named)
}

impl TimeWords {
    /// The times before the present in folded words between spaces.
    fn past_in(&self, phrase: &str) -> Vec<Past> {
        // A day of the week in full: `segunda-feira`.
        let phrase = &if self.code == "pt" { phrase.replace(" feira ", " ") } else { phrase.to_owned() };
        let times = [Past::Day(1), Past::Day(2), Past::Week, Past::Month, Past::Year];
        let mut found: Vec<(usize, Past)> = times.into_iter().enumerate().collect();
        found.retain(|(at, _)| has_any(phrase, self.past[*at]));
        // The day before yesterday is not yesterday.
        let is_day_before = found.iter().any(|(at, _)| *at == 1) && self.past[1].contains(self.past[0]);
        found.retain(|(at, _)| *at != 0 || !is_day_before);
        let mut found: Vec<Past> = found.into_iter().map(|(_, past)| past).collect();
        for (names, day) in self.weekdays.split_whitespace().zip(DAYS) {
            let marked = |name: &str| {
                let [before, after] = self.last.map(|words| words.split('|').filter(|word| !word.is_empty()));
                before.map(|word| format!("{word} {name}")).any(|both| has_any(phrase, &both))
                    || after.map(|word| format!("{name} {word}")).any(|both| has_any(phrase, &both))
            };
            found.extend(names.split('|').any(marked).then_some(Past::Weekday(day)));
        }
        found
    }
}

const DAYS: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

/// The times before the present in a folded text of a script without spaces.
fn unspaced_past(folded: &str) -> Vec<Past> {
    if folded.is_ascii() {
        return Vec::new();
    }
    let has_alone = |text: &str, before: &[char], after: &[char]| {
        let text = fold(text);
        folded
            .match_indices(&text)
            .any(|(at, _)| !folded[..at].ends_with(before) && !folded[at + text.len()..].starts_with(after))
    };
    let has = |text: &str| has_alone(text, OTHER_BEFORE_PAST, OTHER_AFTER_PAST);
    let mut found = Vec::new();
    for (signs, day) in UNSPACED_DAYS.iter().zip(DAYS) {
        let of_week = |week: &&str| {
            let named =
                |sign: &&str| has_alone(&format!("{week}{sign}"), OTHER_BEFORE_WEEKS, OTHER_AFTER_DAYS);
            signs.iter().any(named)
        };
        if UNSPACED_LAST_WEEK.iter().any(of_week) {
            found.push(Past::WeekdayOfLastWeek(day));
        } else if UNSPACED_WEEK.iter().any(of_week) || has(&format!("{}日", signs[signs.len() - 1])) {
            found.push(Past::Weekday(day));
        }
    }
    let times = [Past::Day(1), Past::Day(2), Past::Week, Past::Month, Past::Year];
    let is_day_of_week = !found.is_empty();
    let is_day_before = UNSPACED_PAST[1].iter().any(|text| has(text));
    for (at, (texts, past)) in UNSPACED_PAST.iter().zip(times).enumerate() {
        // A day of last week is no week, and 一昨日 has 昨日 in it.
        let is_part = at == 0 && is_day_before || matches!(past, Past::Week) && is_day_of_week;
        found.extend((!is_part && texts.iter().any(|text| has(text))).then_some(past));
    }
    found
}

/// The months in a folded text that are named by their numbers before 月.
fn unspaced_months(folded: &str) -> Vec<u8> {
    let mut found = Vec::new();
    for (at, _) in folded.match_indices('月') {
        let before = &folded[..at];
        let digits: String = before.chars().rev().take_while(char::is_ascii_digit).collect();
        let digits: String = digits.chars().rev().collect();
        let written = UNSPACED_MONTHS.iter().zip((1..=12_u8).rev());
        let month = match digits.parse::<u8>() {
            Ok(month) => Some(month),
            Err(_) => written.clone().find(|(name, _)| before.ends_with(**name)).map(|(_, month)| month),
        };
        // A month of the year, not a number of them (三个月) nor a day of the week (月曜日).
        found.extend(month.filter(|month| (1..=12).contains(month)));
    }
    found
}

impl Past {
    /// The time in milliseconds since 1970, before `now` and in its time zone.
    fn range(self, now: &Zoned) -> Option<Range<i64>> {
        let today = now.date();
        let monday = today.checked_sub(Span::new().days(today.weekday().to_monday_zero_offset())).ok()?;
        let days_ago = |from: Date, days: i64| from.checked_sub(Span::new().try_days(days).ok()?).ok();
        let (first, span) = match self {
            Past::Day(days) => (days_ago(today, days)?, Span::new().days(1)),
            Past::Weekday(day) => {
                let days = (i64::from(today.weekday().to_monday_zero_offset())
                    - i64::from(day.to_monday_zero_offset())
                    + 6)
                    % 7;
                (days_ago(today, days + 1)?, Span::new().days(1))
            }
            Past::WeekdayOfLastWeek(day) => {
                (days_ago(monday, 7 - i64::from(day.to_monday_zero_offset()))?, Span::new().days(1))
            }
            Past::Week => (days_ago(monday, 7)?, Span::new().days(7)),
            Past::Month => {
                (today.first_of_month().checked_sub(Span::new().months(1)).ok()?, Span::new().months(1))
            }
            Past::Year => {
                (today.first_of_year().checked_sub(Span::new().years(1)).ok()?, Span::new().years(1))
            }
        };
        let begin =
            |date: Date| Some(date.to_zoned(now.time_zone().clone()).ok()?.timestamp().as_millisecond());
        Some(begin(first)?..begin(first.checked_add(span).ok()?)?)
    }
}

#[cfg(test)]
mod tests;
