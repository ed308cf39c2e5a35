//! The answers of the chat backend: their context, and their events.

use super::user_scope::documents_of;
use crate::chat;
use crate::enrich::Enriched;
use crate::proxy::pages::markdown_to_html;
use crate::record::{Address, Object, StoredRecord, quote};
use crate::search::tree::Step;

/// The sources of a piece of context: a search, or the order of a document.
const SEMANTIC: &str = "semantic";
const DOCUMENT: &str = "document";

/// The members of an answer that are known before the provider answers.
pub(super) struct ChatContext {
    session_id: String,
    /// The pieces, as JSON.
    context: String,
    /// Why memory worked only in part.
    error: Option<String>,
    trace: Option<Object>,
    /// The recalled records, as JSON, if the client asked for it.
    recalled: Option<String>,
    /// Whether the answer comes as HTML too.
    has_html: bool,
}

impl ChatContext {
    /// The context of an enriched request. `error` is what was wrong before it was enriched.
    pub(super) fn new(enriched: &Enriched, user: &str, session: &str, error: Option<String>) -> ChatContext {
        // The user's name was checked before the turn began.
        let above = documents_of(user).ok();
        let pieces: Vec<Object> =
            enriched.documents.iter().map(|(record, score)| piece(record, *score, above.as_ref())).collect();
        let degraded = enriched.account.degraded.clone();
        ChatContext {
            session_id: session.to_owned(),
            context: chat::array(&pieces),
            error: error.or(degraded),
            trace: None,
            recalled: None,
            has_html: false,
        }
    }

    /// Adds what was recalled, as JSON.
    pub(super) fn with_recalled(self, recalled: String) -> ChatContext {
        ChatContext { recalled: Some(recalled), ..self }
    }

    /// Has the answer come as HTML too.
    pub(super) fn with_html(self, has_html: bool) -> ChatContext {
        ChatContext { has_html, ..self }
    }

    /// Adds how the context was found.
    pub(super) fn traced(mut self, target: &Address, question: &str, enriched: &Enriched) -> ChatContext {
        let mut trace = Object::default();
        trace.set_text("target_uri", target.as_str());
        trace.set("result_count", enriched.documents.len().to_string());
        let mut plan = Object::default();
        plan.set("queries", format!("[{}]", quote(question)));
        let is_in_session = |step: &Step| matches!(step, Step::SearchStart { has_context: true, .. });
        plan.set("session_context", enriched.steps.iter().any(is_in_session).to_string());
        trace.set("query_plan", plan.to_json());
        let steps: Vec<Object> = enriched.steps.iter().map(Step::to_object).collect();
        let hits = enriched.documents.iter().map(|(record, score)| {
            let mut hit = Object::default();
            hit.set_text("uri", &record.member_text("uri"));
            hit.set("score", score.map_or("null".to_owned(), |score| score.to_string()));
            hit
        });
        let mut result = Object::default();
        result.set_text("query", question);
        result.set("hits", chat::array(&hits.collect::<Vec<_>>()));
        result.set("steps", chat::array(&steps));
        trace.set("query_results", chat::array(&[result]));
        self.trace = Some(trace);
        self
    }

    /// The event that comes first.
    pub(super) fn event(&self) -> String {
        let mut data = Object::default();
        data.set("context", &self.context);
        data.set_text("session_id", &self.session_id);
        self.add_error(&mut data);
        self.add_origin(&mut data);
        event("context", &data)
    }

    /// A piece of the answer.
    pub(super) fn token(&self, text: &str) -> String {
        let mut data = Object::default();
        data.set_text("token", text);
        data.set_text("session_id", &self.session_id);
        event("token", &data)
    }

    /// The events that end an answer.
    pub(super) fn done(&self, message: &str, mood: &str) -> String {
        let mut mood_data = Object::default();
        mood_data.set_text("mood", mood);
        let mut data = Object::default();
        data.set_text("message", message);
        data.set_text("session_id", &self.session_id);
        self.add_error(&mut data);
        self.add_html(&mut data, message);
        event("mood", &mood_data) + &event("done", &data)
    }

    /// The event that ends an answer which broke off.
    pub(super) fn error(&self, message: &str) -> String {
        let mut data = Object::default();
        data.set_text("message", message);
        data.set_text("session_id", &self.session_id);
        event("error", &data)
    }

    /// The whole answer.
    pub(super) fn whole(&self, message: &str, mood: &str) -> Object {
        let mut body = Object::default();
        body.set_text("message", message);
        body.set("context", &self.context);
        body.set_text("mood", mood);
        body.set_text("session_id", &self.session_id);
        self.add_error(&mut body);
        self.add_html(&mut body, message);
        self.add_origin(&mut body);
        body
    }

    fn add_html(&self, to: &mut Object, message: &str) {
        if self.has_html {
            to.set_text("html", &markdown_to_html(message));
        }
    }

    /// Adds how the context was found, and what was recalled, if the client asked for it.
    fn add_origin(&self, to: &mut Object) {
        if let Some(trace) = &self.trace {
            to.set("search_trace", trace.to_json());
        }
        if let Some(recalled) = &self.recalled {
            to.set("recalled", recalled);
        }
    }

    fn add_error(&self, to: &mut Object) {
        if let Some(error) = &self.error {
            to.set_text("openviking_error", error);
        }
    }
}

/// A document that is shown to the model. One that was not searched for has no address, and the score 1; one
/// that is no upload of the user has no id.
fn piece(record: &StoredRecord, score: Option<f64>, above: Option<&Address>) -> Object {
    let uri = record.member_text("uri");
    let depth = above.map_or(0, Address::depth);
    let address = record.address().ok().filter(|address| above.is_some_and(|above| address.is_below(above)));
    let doc_id = address.as_ref().and_then(|address| address.segments().nth(depth)).unwrap_or_default();
    let mut piece = Object::default();
    piece.set_text("chunk_id", &record.id);
    piece.set_text("doc_id", doc_id);
    piece.set_text("text", &record.shown_text());
    piece.set_text("source", if score.is_some() { SEMANTIC } else { DOCUMENT });
    piece.set("score", score.map_or("1.0".to_owned(), |score| score.to_string()));
    piece.set_text("uri", if score.is_some() { &uri } else { "" });
    piece
}

/// A server-sent event.
fn event(name: &str, data: &Object) -> String {
    format!("event: {name}\ndata: {}\n\n", data.to_json())
}
