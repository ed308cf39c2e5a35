//! Messages: `remember` as rsv-ingest, `recall` as rsv-search, `recall_when` as rsv-signal.

use super::answer::{Answer, Item, Listing, ListingContent};
use super::arguments::Arguments;
use super::call::Call;
use super::error::McpError;
use crate::chat::fence;
use crate::cli;
use crate::error::Result;
use crate::recall_rules;
use crate::record::{
    ACTION, ActionFilter, Hit, MEMORY, MESSAGE, Object, RecallRule, RecordKind, Role, StoredRecord, invalid,
    kind_named, missing,
};
use crate::search::{Ranking, Request};
use crate::store::{self, Select};
use crate::text::{Occur, counted};
use serde::Serialize;

/// Stores a text as a message: `rsv-ingest --role ROLE TEXT`.
pub(super) fn remember(call: &Call, arguments: &Arguments) -> Result<Answer> {
    // `Arguments::check` admits known words only, here and below.
    let role: Role = arguments.text("role").unwrap_or("user").parse().unwrap_or(Role::User);
    let scope = call.scope.to_write(arguments.text("session_id"))?;
    let text = arguments.words("text")?;
    let ingested =
        call.ingest(&scope, arguments.text("corrects"), &mut |ingest| ingest.add_text(role, text))?;
    let Some(stored) = ingested.lines.iter().find(|line| line.word("kind") == Some("message")) else {
        return Err(McpError::KeptOut { what: "text" }.into());
    };
    let id = member(stored, "id");
    let remembered = Remembered {
        id: &id,
        partition: &scope.partition,
        instance: &scope.instance,
        role: role.name(),
        created_at: member(stored, "created_at"),
    };
    Ok(Answer::new(ingested.with_notes(format!("remembered, id {id}")), remembered))
}

/// The structured content of an answer to `remember`.
#[derive(Serialize)]
struct Remembered<'a> {
    id: &'a str,
    partition: &'a str,
    instance: &'a str,
    role: &'static str,
    created_at: String,
}

/// The same of an answer that a rule holds for a message.
#[derive(Serialize)]
struct RuleSet<'a> {
    id: &'a str,
    when: &'a str,
}

/// A text among the members of a line; empty if there is none.
pub(super) fn member(line: &Object, name: &str) -> String {
    line.valid_text(name).unwrap_or_default()
}

/// Finds messages and memories: `rsv-search --hybrid --kind message,memory QUERY`, or `--by any` without a
/// model; or actions: `rsv-search --kind action QUERY`, `--file PATH`, `--command WORDS`, `--failed`.
pub(super) fn recall(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let scopes = call.scope.to_read(arguments.text("session_id"))?;
    let kinds: Vec<&'static RecordKind> =
        arguments.texts("kinds").iter().filter_map(|name| kind_named(name)).collect();
    let actions = ActionFilter {
        file: arguments.words_if_given("file")?.map(str::to_owned),
        command: arguments.words_if_given("command")?.map(str::to_owned),
        failed: arguments.flag("failed"),
    };
    let kinds = match (kinds.is_empty(), actions.is_empty()) {
        (false, false) if kinds != [&ACTION] => return Err(McpError::NotActions.into()),
        (false, _) => kinds,
        (true, false) => vec![&ACTION],
        (true, true) => vec![&MESSAGE, &MEMORY],
    };
    let roles = arguments.texts("roles").iter().filter_map(|name| name.parse().ok()).collect();
    let which = Select {
        roles,
        since: time(arguments, "since")?,
        until: time(arguments, "until")?,
        ..Select::records(kinds, scopes)
    };
    let mut request = match arguments.text("query") {
        None if actions.is_empty() => return Err(missing("query")),
        None => by(Ranking::Keyword, Request::new("", which, arguments.whole("limit"))),
        Some(_) => request(arguments, which)?,
    };
    request.options.actions = actions;
    let hits = call.hits(&mut *call.open_to_read()?, &request, None)?;
    Ok(found(call, "hits", hits, fence::HIT_NOTE, "record"))
}

/// Says when a message is recalled: `rsv-signal --always ID`, `--never` or `--auto`.
pub(super) fn recall_when(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let rule = arguments.text("when").and_then(RecallRule::named).unwrap_or_default();
    let store = &mut *call.open_to_write()?;
    let scopes = call.scope.to_read(None)?;
    let id = store::full_id(store, arguments.words("id")?, &scopes)?;
    let stored = recall_rules::store_rule(store, &[id], rule, &scopes, &call.server.clock)?;
    let Some(message) = stored.into_iter().flatten().next() else {
        return Err(McpError::NoMessage.into());
    };
    let when = match rule {
        RecallRule::Always => "for every request",
        RecallRule::Never => "for none",
        RecallRule::Auto => "if it is related or recent",
    };
    let set = RuleSet { id: &message.id, when: rule.name() };
    Ok(Answer::new(format!("stored that the message is recalled {when}"), set))
}

/// The request for records of a selection; without the name of a ranking, by the best that there is a model
/// for.
pub(super) fn request(arguments: &Arguments, which: Select) -> Result<Request<'static>> {
    let ranking = arguments.text("by").and_then(Ranking::named).unwrap_or(Ranking::Auto);
    let request = Request::new(arguments.words("query")?, which, arguments.whole("limit"));
    Ok(Request { min_confidence: arguments.number("min_confidence"), ..by(ranking, request) })
}

/// A request by a ranking. Where no model can be used, a question need not have all of its words in one
/// record.
fn by(ranking: Ranking, request: Request) -> Request {
    let fallback = (ranking == Ranking::Auto).then_some(Occur::Any);
    Request { ranking: Some(ranking), fallback, ..request }
}

/// The names of the ways to search.
pub(super) const RANKINGS: &[&str] = &["auto", "keyword", "any", "semantic", "hybrid"];

/// A time as the flags of the command line have it; `None` if it is left out.
fn time(arguments: &Arguments, name: &'static str) -> Result<Option<i64>> {
    let time = arguments.text(name).map(cli::time).transpose();
    time.map_err(|error| invalid(name, error))
}

/// The answer to a search: the records that were found, as far as they fit. The memories among them count as
/// used.
pub(super) fn found(call: &Call, name: &str, hits: Vec<Hit>, note: &str, what: &str) -> Answer {
    let items = hits.into_iter().map(Item::from).collect();
    let listing = Listing::new(items, note, call.server.options.max_tokens);
    call.count_uses(&listing.shown);
    let count = listing.shown.len();
    let head = match (count, listing.left_out) {
        (0, 0) => "nothing was found".to_owned(),
        (count, _) => format!("{} found", counted(count as u64, what)),
    };
    let json = ListingContent { count: Some(count), ..listing.content(name) };
    let text = format!("{head}\n\n{}", listing.text);
    Answer::new(text.trim_end(), json)
}

/// The notes to the model about the records found for a task, for a prompt: memories first, then messages.
pub(super) fn for_task(call: &Call, task: &str, limit: usize) -> Result<Vec<StoredRecord>> {
    let store = &mut *call.open_to_read()?;
    let mut found = Vec::new();
    for kind in [&MEMORY, &MESSAGE] {
        let which = Select::records(vec![kind], call.scope.to_read(None)?);
        let hits = call.hits(store, &by(Ranking::Auto, Request::new(task, which, limit)), None)?;
        found.extend(hits.into_iter().map(|hit| hit.record));
    }
    Ok(found)
}
