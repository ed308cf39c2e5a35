//! Accounts of enrichment as text for people.

use crate::cli::{Layout, Style};
use crate::record::{Account, Arm, Considered, Reach, RecalledPart, Scope, StoredRecord};
use crate::text;
use crate::view::{self, visible};
use std::collections::HashMap;
use std::fmt::Write;

/// The least and the most columns of the beginning of a message.
const MIN_EXCERPT_COLUMNS: usize = 12;
const MAX_EXCERPT_COLUMNS: usize = 60;

/// The columns of the rest of its line: `    related: “” (123 tokens)`.
const AROUND_EXCERPT_COLUMNS: usize = 28;

/// The indentation of each line after the first.
const INDENT: &str = "    ";

/// The number of messages that are named for each reason for which messages were left out.
const NAMED_LEFT_OUT: usize = 3;

/// The reasons of accounts for which a message was left out, in words.
const REASONS: [(&str, &str); 6] = [
    ("threshold", "too little would help"),
    ("budget", "there was no room"),
    ("duplicate", "the same was recalled or empty"),
    ("in_request", "the request contains it"),
    ("fragment", "it is a piece of an earlier recall"),
    ("never", "it is never to be recalled"),
];

/// The records that an account names, by their ids.
pub type Named = HashMap<String, StoredRecord>;

/// The ids of the records that an account names.
pub fn ids_in_account(record: &StoredRecord) -> Vec<String> {
    let account = Account::from_record(record);
    let parts =
        account.recalled.into_iter().chain(account.recent).chain(account.memories).chain(account.actions);
    let parts = parts.map(|part| part.id);
    parts.chain(account.left_out.into_iter().map(|left| left.id)).collect()
}

/// An account as a few lines: the question, its tokens, and the beginnings of the recalled and left-out
/// messages.
pub fn account_text(record: &StoredRecord, question: Option<&str>, named: &Named, layout: &Layout) -> String {
    let account = Account::from_record(record);
    let columns = layout.width.saturating_sub(AROUND_EXCERPT_COLUMNS);
    let columns = columns.clamp(MIN_EXCERPT_COLUMNS, MAX_EXCERPT_COLUMNS);
    let text = AccountText { account: &account, scope: &record.scope, named, columns };
    let origin = view::origin(record, layout);
    let headline = view::wrapped(&format!("{origin} "), &text.headline(question), INDENT.len(), layout);
    let mut out = format!("{} {headline}", layout.paint(Style::Dim, &origin));
    for line in text.recalled().into_iter().chain(text.left_out()).chain(text.trouble()) {
        let _ = write!(out, "{INDENT}{}", view::wrapped(INDENT, &line, INDENT.len() + 2, layout));
    }
    out
}

/// The reason for which an account left a record out, in words.
pub fn reason_text(reason: &str) -> String {
    let words = REASONS.iter().find(|(name, _)| *name == reason).map(|(_, words)| (*words).to_owned());
    words.unwrap_or_else(|| visible(reason).replace('\n', " "))
}

/// The problems that an account names, as sentences without an end.
pub fn trouble_in_account(record: &StoredRecord) -> Vec<String> {
    let account = Account::from_record(record);
    AccountText { account: &account, scope: &record.scope, named: &Named::new(), columns: 0 }.trouble()
}

struct AccountText<'a> {
    account: &'a Account,
    scope: &'a Scope,
    named: &'a Named,
    /// The columns of the beginning of a message.
    columns: usize,
}

impl AccountText<'_> {
    /// `“Where are my tomatoes?” was sent with 2 related messages and 1 recent one: about 312 of 128000
    /// tokens.`
    fn headline(&self, question: Option<&str>) -> String {
        let Account { recalled, recent, memories, documents, actions, counted, window, .. } = self.account;
        let question =
            question.map_or_else(|| "A request".to_owned(), |text| view::excerpt(text, self.columns));
        let pinned = recalled.iter().filter(|part| part.pinned).count();
        let counts = [(pinned, "pinned"), (recalled.len() - pinned, "related"), (recent.len(), "recent")];
        let mut sorts = counts.into_iter().filter(|(count, _)| *count > 0);
        let nothing = "without memory";
        let with = match sorts.next() {
            None => nothing.to_owned(),
            Some((count, sort)) => sorts
                .fold(format!("with {}", messages(count, &format!("{sort} "))), |with, (count, sort)| {
                    format!("{with} and {count} {sort}")
                }),
        };
        let with = [(memories.len(), "memory"), (documents.len(), "document"), (actions.len(), "action")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .fold(with, |with, (count, noun)| {
                let counted = text::counted(count as u64, noun);
                if with == nothing { format!("with {counted}") } else { format!("{with}, and {counted}") }
            });
        let with = match &self.account.carried {
            Some(carried) => {
                let actions = text::counted(carried.shown, "action");
                let all = carried.actions;
                let done = format!("what was done before a compaction ({actions} of {all})");
                if with == nothing { format!("with {done}") } else { format!("{with}, and {done}") }
            }
            None => with,
        };
        let counter = visible(&self.account.counter).replace('\n', " ");
        match counter.as_str() {
            "heuristic" | "estimate" => {
                format!("{question} was sent {with}: about {counted} of {window} tokens.")
            }
            "bound" => format!("{question} was sent {with}: at most {counted} of {window} tokens."),
            _ => format!("{question} was sent {with}: {counted} of {window} tokens ({counter})."),
        }
    }

    /// A line for each recalled message.
    fn recalled(&self) -> Vec<String> {
        let line = |part: &RecalledPart, why: &str| {
            let extent = if part.quoted.is_some() { ", in part" } else { "" };
            let superseded = match part.newer.first() {
                Some(newest) if newest.is_correction() => ", corrected",
                Some(_) => ", superseded",
                None => "",
            };
            let files: String =
                part.files.iter().map(|state| format!(", {}", visible(&state.to_string()))).collect();
            let extent = format!("{extent}{superseded}{files}");
            format!("{why}: {} ({}{extent})", self.excerpt_of(&part.id), text::counted(part.tokens, "token"))
        };
        let related = self.account.recalled.iter().map(|part| match part.hop {
            _ if part.pinned => line(part, "pinned"),
            0 => line(part, "related"),
            _ => line(part, "linked"),
        });
        let memories = self.account.memories.iter().map(|part| line(part, "memory"));
        let documents = self.account.documents.iter().map(|part| {
            let uri = part.document.as_ref().map_or(part.id.as_str(), |document| &document.uri);
            format!("document: {} ({})", visible(uri), text::counted(part.tokens, "token"))
        });
        let recent = self.account.recent.iter().map(|part| line(part, "recent"));
        let actions = self.account.actions.iter().map(|part| line(part, "action"));
        memories.chain(documents).chain(actions).chain(related).chain(recent).collect()
    }

    /// A line for each reason for which messages were left out.
    fn left_out(&self) -> Vec<String> {
        let mut reasons: Vec<&str> = Vec::new();
        for left in &self.account.left_out {
            if !reasons.contains(&left.reason.as_str()) {
                reasons.push(&left.reason);
            }
        }
        let line = |reason: &str| {
            let ids: Vec<&str> = self
                .account
                .left_out
                .iter()
                .filter(|left| left.reason == reason)
                .map(|left| left.id.as_str())
                .collect();
            let words = reason_text(reason);
            let named: Vec<String> = ids.iter().take(NAMED_LEFT_OUT).map(|id| self.excerpt_of(id)).collect();
            let more = match ids.len().saturating_sub(NAMED_LEFT_OUT) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("left out, since {words}: {}{more}", named.join(", "))
        };
        reasons.into_iter().map(line).collect()
    }

    /// Lines about problems.
    fn trouble(&self) -> Vec<String> {
        let account = self.account;
        let dropped: u64 = account.dropped.iter().map(|dropped| dropped.tokens).sum();
        let mut lines = Vec::new();
        if let Some(Considered { within, beyond }) = account.considered {
            let (place, found) = (self.reach(), messages(within as usize, ""));
            lines.push(format!("nothing to recall among {found} of {place}; {beyond} beyond it"));
        }
        if account.comparison.as_ref().is_some_and(|comparison| comparison.arm == Arm::Holdout) {
            lines.push(
                "nothing is recalled in this conversation, for the comparison by enrich.holdout".to_owned(),
            );
        }
        if !account.dropped.is_empty() {
            let count = messages(account.dropped.len(), "");
            lines.push(format!(
                "dropped from the request, which was too long: {count} ({})",
                text::counted(dropped, "token")
            ));
        }
        if let Some(why) = &account.degraded {
            lines.push(format!("memory worked only in part: {}", visible(why).replace('\n', " ")));
        }
        if !account.missing.is_empty() {
            let missing = visible(&account.missing.join(", ")).replace('\n', " ");
            lines.push(format!("there was no time for: {missing}"));
        }
        if account.cut {
            let read = account.prompt_tokens.unwrap_or_default();
            lines.push(format!("the provider read only {}", text::counted(read, "token")));
        }
        lines
    }

    /// The scopes from which messages were recalled.
    fn reach(&self) -> String {
        match self.account.reach {
            Some(Reach::Partition) => format!("the partition {}", visible(&self.scope.partition)),
            _ => visible(&self.scope.to_string()),
        }
    }

    fn excerpt_of(&self, id: &str) -> String {
        self.named
            .get(id)
            .map_or_else(|| visible(id), |record| view::excerpt(&record.shown_text(), self.columns))
    }
}

/// `1 related message`, `3 related messages`.
fn messages(count: usize, which: &str) -> String {
    text::counted(count as u64, &format!("{which}message"))
}
