//! The months and years that a question names.

use crate::record::time;

/// The English names. Three letters or more of the beginning are enough.
const MONTHS: [&str; 12] = [
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
}

impl Dates {
    /// Finds the dates in a question: English months by name or by at least its first three letters, and years of four
    /// digits from 1900 to 2099.
    pub fn named(question: &str) -> Dates {
        let mut dates = Dates::default();
        for word in question.split(|c: char| !c.is_alphanumeric()) {
            let word = word.to_lowercase();
            let month = (1..).zip(MONTHS).find(|(_, name)| word.len() >= 3 && name.starts_with(&word));
            dates.months.extend(month.map(|(number, _)| number));
            let year = word.parse::<i64>().ok().filter(|year| word.len() == 4 && (1900..2100).contains(year));
            dates.years.extend(year);
        }
        dates
    }

    /// Whether any date was named, and a time (milliseconds since 1970, UTC) agrees with all of them.
    pub fn hold(&self, timestamp: i64) -> bool {
        if self.months.is_empty() && self.years.is_empty() {
            return false;
        }
        let (year, month) = time::year_and_month(timestamp);
        (self.months.is_empty() || self.months.contains(&month))
            && (self.years.is_empty() || self.years.contains(&year))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("", false),
        ] {
            assert_eq!(Dates::named(question).hold(may), holds, "{question}");
        }
        assert!(Dates::named("sept").hold(time::parse("2020-09-30T23:59:59Z").unwrap()));
    }
}
