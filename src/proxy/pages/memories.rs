//! Memories, with the confidence in each and the signals that it follows from.

use super::message;
use super::page_request::PageRequest;
use super::shown::Shown;
use crate::config::Settings;
use crate::error::Result;
use crate::memory::{self, PriorRule, State};
use crate::picture::{attribute, escaped};
use crate::proxy::http::Page;
use crate::record::{MEMORY, SignalType, StoredRecord};
use crate::store::{Select, Store};
use crate::text::counted;
use std::fmt::Write;

/// The memories of a page.
const PAGE: usize = 30;

/// The memories that the caller may see, newest first.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest, settings: &Settings) -> Result<Shown> {
    let (which, skipped) = (Select::records(vec![&MEMORY], request.scopes()), request.number("skip"));
    let rule = PriorRule::from_settings(settings);
    let mut memories = memory::last(store, &which, State::All, PAGE + 1, skipped, rule)?;
    let is_more = memories.len() > PAGE;
    if is_more {
        memories.remove(0);
    }
    let mut body = "<h1>Memories</h1>\n".to_owned();
    if memories.is_empty() {
        body.push_str(
            "<p>There is no memory here. These commands make one of a conversation, and show what was learnt:</p>\n\
             <pre tabindex=\"0\"><code>man rsv-memory</code></pre>\n",
        );
    }
    body.extend(memories.iter().rev().map(|memory| to_html(request, memory)));
    if is_more {
        let address = request.link(Page::Memories, &[("skip", &(skipped + PAGE).to_string())]);
        let _ = writeln!(
            body,
            "<nav aria-label=\"More\" class=\"more\"><a rel=\"next\" href=\"{}\">Earlier memories</a></nav>",
            escaped(&address)
        );
    }
    Ok(Shown::page("Memories", body).of(&memories))
}

/// A memory whose members are derived.
pub(super) fn to_html(request: &PageRequest, memory: &StoredRecord) -> String {
    let confidence = memory::confidence_of(memory);
    let archived = if memory::is_active(memory) { "" } else { " · archived" };
    let heading = (memory.kind.heading)(memory);
    let what = heading.split(',').next().unwrap_or_default();
    format!(
        "<article id=\"m-{}\" class=\"memory\">\n<header><h2 dir=\"auto\"><a href=\"{}\">{}</a></h2>\n\
         <span class=\"meta\">{}{archived}</span> {}</header>\n\
         <p class=\"standing\"><meter min=\"0\" max=\"1\" value=\"{confidence:.3}\" aria-label=\"Confidence\"></meter> \
         <strong>{confidence:.2}</strong> <span class=\"meta\">{}</span></p>\n{}</article>\n",
        attribute(&memory.id),
        escaped(&request.link_in(&memory.scope.partition, Page::Record, &[("id", &memory.id)])),
        escaped(&memory.member_text("title")),
        escaped(what),
        request.time(memory.timestamp),
        escaped(&standing(memory)),
        message::text_of(request, memory, &memory.text)
    )
}

/// The evidence for a confidence: `alpha 3.2, beta 0.8; 3 uses; explicit 2 for, 0 against`.
fn standing(memory: &StoredRecord) -> String {
    let members = &memory.members;
    let number = |name| members.valid_number(name).unwrap_or_default();
    let uses = members.valid_integer("usage_count").unwrap_or_default();
    let mut parts = vec![
        format!("alpha {:.2}, beta {:.2}", number("alpha"), number("beta")),
        counted(uses.unsigned_abs(), "use"),
    ];
    let signals = members.valid_object("signals").unwrap_or_default();
    for name in SignalType::ALL.map(SignalType::name) {
        let counts = signals.valid_object(name).unwrap_or_default();
        let count = |side| counts.valid_integer(side).unwrap_or_default();
        let (positive, negative) = (count("positive"), count("negative"));
        if positive + negative > 0 {
            parts.push(format!("{name} {positive} for, {negative} against"));
        }
    }
    let outcome = memory.member_text("outcome");
    parts.extend(Some(outcome).filter(|outcome| !outcome.is_empty()));
    parts.join("; ")
}
