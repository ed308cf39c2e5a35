//! The tokens of a file as people and programs see them: without digests and keys.

use super::rights::Right;
use super::token::AccessToken;
use super::token_file::TokenFile;
use crate::record::{Object, quote, time};
use crate::text::counted;

/// The columns of a listing.
const HEAD: [&str; 6] = ["TOKEN", "STATE", "RIGHTS", "PARTITIONS", "EXPIRES", "DAILY TOKENS"];

impl TokenFile {
    /// A note of the number of tokens and their place; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let tokens = counted(self.tokens.len() as u64, "token");
        (!self.tokens.is_empty()).then(|| format!("{tokens} in {}", self.path().display()))
    }

    /// A JSON line for each token, as it is at a time.
    pub fn to_lines(&self, now: i64) -> String {
        self.tokens.iter().map(|token| object(token, now).to_json() + "\n").collect()
    }

    /// The tokens in columns, or a sentence if there is none.
    pub fn to_text(&self, now: i64) -> String {
        if self.tokens.is_empty() {
            return "There is no token; 'rsv-config token add NAME --partition NAME' makes one.\n".to_owned();
        }
        let mut rows = vec![HEAD.map(str::to_owned)];
        rows.extend(self.tokens.iter().map(|token| row(token, now)));
        let widths: [usize; 6] = std::array::from_fn(|column| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        });
        let line = |row: &[String; 6]| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }
}

fn row(token: &AccessToken, now: i64) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        token.name.clone(),
        token.state(now).name().to_owned(),
        names(&token.rights).join(","),
        token.partitions.join(","),
        or_dash(token.expires.map(time::rfc3339)),
        or_dash(token.daily_tokens.map(|count| count.to_string())),
    ]
}

fn object(token: &AccessToken, now: i64) -> Object {
    let list = |words: Vec<&str>| {
        let quoted: Vec<String> = words.into_iter().map(quote).collect();
        format!("[{}]", quoted.join(","))
    };
    let mut line = Object::default();
    line.set_text("name", &token.name);
    line.set_text("state", token.state(now).name());
    line.set("rights", list(names(&token.rights)));
    line.set("partitions", list(token.partitions.iter().map(String::as_str).collect()));
    line.set_text("created", &time::rfc3339(token.created));
    for (name, at) in [("expires", token.expires), ("revoked", token.revoked)] {
        if let Some(at) = at {
            line.set_text(name, &time::rfc3339(at));
        }
    }
    if let Some(count) = token.daily_tokens {
        line.set("daily_tokens", count.to_string());
    }
    line.set("provider_keys", list(token.providers().collect()));
    line
}

fn names(rights: &[Right]) -> Vec<&'static str> {
    rights.iter().map(|right| right.name()).collect()
}
