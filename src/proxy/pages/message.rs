//! A message, or another record with a text, as markup.

use super::markdown;
use super::page_request::PageRequest;
use crate::picture::{attribute, escaped};
use crate::proxy::http::Page;
use crate::record::{Object, Role, StoredRecord};
use std::fmt::Write;

/// The bytes from which a text is folded, and the most that a page has of one.
const FOLDED_FROM: usize = 6000;
const MAX_SHOWN: usize = 64 << 10;

/// The columns of the beginning of a folded text.
const BEGINNING: usize = 160;

/// A message with its head, its text, and the form that forgets it. `account` is the markup of what was
/// recalled for it.
pub(super) fn to_html(request: &PageRequest, message: &StoredRecord, account: &str) -> String {
    let role = message.role.map_or(message.kind.name, Role::name);
    let mut out = format!("<article id=\"m-{}\" class=\"message {role}\">\n", attribute(&message.id));
    let _ = writeln!(
        out,
        "<header><h2>{role}</h2> {} {}\n{}</header>",
        origin(message),
        request.time(message.timestamp),
        forget(request, message)
    );
    out.push_str(&text_of(request, message, &message.shown_text()));
    out.push_str(&calls(message));
    out.push_str(account);
    out.push_str("</article>\n");
    out
}

/// The model or the program that a message came from.
fn origin(message: &StoredRecord) -> String {
    let names = ["model", "source"].map(|name| message.member_text(name));
    let names: Vec<String> = names.iter().filter(|name| !name.is_empty()).map(|name| escaped(name)).collect();
    format!("<span class=\"meta\">{}</span>", names.join(" · "))
}

/// The tools that a message calls.
fn calls(message: &StoredRecord) -> String {
    let calls = message.members.valid_objects("tool_calls").unwrap_or_default();
    let name = |call: &Object| call.valid_object("function")?.valid_text("name");
    let names: Vec<String> = calls.iter().filter_map(name).map(|name| escaped(&name)).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("<p class=\"meta\">calls {}</p>\n", names.join(", "))
    }
}

/// The text of a record as markup: folded if it is long, and of a very long one the beginning, with the way
/// to all of it.
pub(super) fn text_of(request: &PageRequest, record: &StoredRecord, text: &str) -> String {
    let shown = beginning(text, MAX_SHOWN);
    let rest = if shown.len() < text.len() {
        let address = request.link_in(&record.scope.partition, Page::Text, &[("id", &record.id)]);
        let kib = text.len().div_ceil(1024);
        format!("<p><a href=\"{}\">All {kib} KiB of this text</a></p>\n", escaped(&address))
    } else {
        String::new()
    };
    let html = format!("<div class=\"text\" dir=\"auto\">{}</div>\n{rest}", markdown::to_html(shown));
    if text.len() <= FOLDED_FROM {
        return html;
    }
    let first = beginning(text.trim_start(), BEGINNING).split_whitespace().collect::<Vec<_>>().join(" ");
    let length = text.chars().count();
    format!(
        "<details class=\"long\"><summary><span dir=\"auto\">{}…</span> <span class=\"meta\">{length} characters</span>\
         </summary>\n{html}</details>\n",
        escaped(&first)
    )
}

/// The beginning of a text, of at most this many bytes.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The forms that forget a message, or its turn. Without a script, the summary is the question before it.
fn forget(request: &PageRequest, message: &StoredRecord) -> String {
    if !request.may_forget() {
        return String::new();
    }
    let instance = &message.scope.instance;
    let mut forms = form(request, instance, ("id", &message.id), "message", "Forget this message");
    if !message.trace_id.is_empty() {
        forms.push_str(&form(request, instance, ("trace", &message.trace_id), "turn", "Forget this turn"));
    }
    format!("<details class=\"tools\"><summary>Forget…</summary>{forms}</details>")
}

/// The form that forgets a whole conversation.
pub(super) fn forget_conversation(request: &PageRequest, instance: &str) -> String {
    if !request.may_forget() {
        return String::new();
    }
    let form = form(request, instance, ("all", "1"), "conversation", "Forget all of its messages");
    format!("<details class=\"tools\"><summary>Forget this conversation…</summary>{form}</details>\n")
}

/// The form that forgets what a parameter selects in a conversation.
fn form(
    request: &PageRequest,
    instance: &str,
    (name, value): (&str, &str),
    what: &str,
    button: &str,
) -> String {
    let action = request.link(Page::Forget, &[("i", instance), (name, value)]);
    format!(
        "<form method=\"post\" action=\"{}\" class=\"forget\" data-what=\"{what}\"><button>{button}</button></form>",
        escaped(&action)
    )
}
