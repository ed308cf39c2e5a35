//! A request to the provider of its model, and the answer back: as one line, or as it arrives.

mod ask;
mod assemble;
mod cut;
mod events;
mod failure;
mod line;
mod stream;

pub use ask::Again;
pub use failure::Failure;
pub use line::{Form, Told};
pub use stream::{End, Event, Head, Piece, Stream};

use crate::cli::Notes;
use crate::config::{Secret, Settings};
use crate::error::Result;
use crate::http::{Body, Cut, HeaderMap, without};
use crate::provider::{Providers, Target};
use crate::record::{Clock, Object, unexpected};
use ask::Asker;
use bytes::Bytes;
use cut::Cuts;
use failure::MAX_BODY;
use std::sync::Arc;

/// Who asks, and what of that goes on to the provider.
#[derive(Clone, Default)]
pub struct Caller {
    /// The caller's key, if it has one.
    pub key: Option<Secret>,
    /// The encodings in which the answer may arrive (`Accept-Encoding`); without any it is not encoded.
    pub encodings: Option<String>,
    /// None that holds a key or concerns one connection.
    pub headers: HeaderMap,
    /// What is asked for behind the address.
    pub query: Option<String>,
}

/// Forwards requests.
pub struct Forwarder {
    asker: Asker,
    providers: Providers,
    /// The model for requests that name none.
    model: Option<String>,
    /// The `web_search_options` for requests that have none.
    web_search: Option<Object>,
    /// The longest answer that is held, in bytes.
    limit: usize,
    cuts: Arc<Cuts>,
    notes: Notes,
}

/// A request whose answer is awaited.
struct Asked {
    target: Target,
    key: Option<Secret>,
    /// The request's member.
    rsv: Object,
    clock: Clock,
    begin: i64,
}

impl Forwarder {
    /// Takes addresses, keys, limits and defaults from the settings. Nothing is opened yet.
    pub fn new(settings: &Settings, notes: &Notes) -> Result<Forwarder> {
        Ok(Forwarder {
            asker: Asker::new(settings, notes),
            providers: Providers::new(settings)?,
            model: settings.text("model"),
            web_search: web_search(settings),
            limit: settings.max_line(),
            cuts: Arc::new(Cuts::new(notes)),
            notes: notes.clone(),
        })
    }

    /// Asks the provider and waits for the whole answer: the provider's body as it came, with `rsv`, which has
    /// the request's members and provider, status and latency_ms; and the headers before it. A request for a stream is
    /// sent as one for a whole answer.
    pub async fn whole(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> std::result::Result<(Object, HeaderMap), Failure> {
        if request.get("stream") == Some("true") {
            request.take("stream");
            request.take("stream_options");
        }
        let (asked, body) = self.prepare(request, caller, clock)?;
        let Asked { target, key, .. } = &asked;
        let response = self.asker.ask(target, key.as_ref(), caller, false, body).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.body(self.limit).await;
        tell(&self.notes, "the answer of", target, &body.bytes, key.as_ref());
        let answer = answer(target, &body, key.as_ref())?;
        Ok((asked.complete(answer, status, &self.cuts), headers))
    }

    /// Asks the provider for a stream, and waits for its head.
    pub async fn stream(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> std::result::Result<Stream, Failure> {
        if request.get("stream") != Some("true") {
            request.set("stream", "true");
        }
        let (asked, body) = self.prepare(request, caller, clock)?;
        let response = self.asker.ask(&asked.target, asked.key.as_ref(), caller, true, body).await?;
        Stream::new(response, asked, (self.cuts.clone(), self.notes.clone()), self.limit).await
    }

    /// Makes of a request line what the provider is to see, and says who that is.
    fn prepare(
        &self,
        mut request: Object,
        caller: &Caller,
        clock: &Clock,
    ) -> std::result::Result<(Asked, Bytes), Failure> {
        let rsv = take_rsv(&mut request)?;
        let target = self.target(&mut request)?;
        let key = target.key(caller.key.as_ref())?.cloned();
        let mut body = Vec::new();
        request.write(&mut body);
        tell(&self.notes, "the request to", &target, &body, key.as_ref());
        Ok((Asked { target, key, rsv, clock: *clock, begin: clock.now() }, body.into()))
    }

    /// Adds what the settings say to a request, and finds out who serves it.
    fn target(&self, request: &mut Object) -> std::result::Result<Target, Failure> {
        // Not OpenAI's but ours: how a request line may say what it is.
        request.take("kind");
        check(request)?;
        let named = request.text("model")?;
        let Some(model) = named.as_ref().or(self.model.as_ref()) else {
            return Err(Failure::request("model: is missing")
                .hint("name one in the request, or: rsv-config set model MODEL"));
        };
        let target = self.providers.of(model)?;
        // A name that stays is not written anew, so that it keeps its spelling.
        if named.as_ref() != Some(&target.model) {
            request.set_text("model", &target.model);
        }
        if let Some(options) = &self.web_search
            && !request.has("web_search_options")
        {
            request.set("web_search_options", options.to_json());
        }
        Ok(target)
    }
}

impl Asked {
    /// Tells an answer that was put together.
    fn tell(&self, notes: &Notes, answer: &Object) {
        if notes.is_verbose() {
            tell(notes, "the answer of", &self.target, answer.to_json().as_bytes(), self.key.as_ref());
        }
    }

    /// The answer with `rsv`, which now tells who gave it, and in what time.
    fn complete(mut self, mut answer: Object, status: u16, cuts: &Cuts) -> Object {
        let rsv = &mut self.rsv;
        let partial = rsv.take("partial");
        rsv.set_text("provider", self.target.name());
        rsv.set("status", status.to_string());
        rsv.set("latency_ms", (self.clock.now() - self.begin).max(0).to_string());
        partial.into_iter().for_each(|json| rsv.set("partial", json));
        answer.take("rsv");
        cuts.look(&self.target, &answer, rsv);
        answer.set("rsv", rsv.to_json());
        answer
    }
}

/// Tells what was sent to a provider or came from it, without the key, if details are told.
pub fn tell(notes: &Notes, what: &str, target: &Target, bytes: &[u8], key: Option<&Secret>) {
    if notes.is_verbose() {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BODY)]);
        notes.detail(format_args!("{what} {}: {}", target.title(), without(key, &text)));
    }
}

/// Checks what no provider could answer.
fn check(request: &Object) -> std::result::Result<(), Failure> {
    match request.get("messages") {
        None | Some("null") => Err(Failure::request("messages: is missing")),
        Some("[]") => Err(Failure::request("messages: is empty")),
        Some(json) if json.starts_with('[') => Ok(()),
        Some(json) => Err(unexpected("messages", "an array", json).into()),
    }
}

/// Takes off what never leaves the machine.
fn take_rsv(request: &mut Object) -> std::result::Result<Object, Failure> {
    let rsv = request.object("rsv")?.unwrap_or_default();
    request.take("rsv");
    Ok(rsv)
}

/// Reads the body of an answer that the provider calls good.
fn answer(target: &Target, body: &Body, key: Option<&Secret>) -> std::result::Result<Object, Failure> {
    let invalid = |is: &str| Failure::invalid(target, is, &body.bytes, key);
    match &body.cut {
        Some(Cut::Limit) => return Err(Failure::too_much(target, body.bytes.len())),
        Some(Cut::Failed(failed)) => return Err(Failure::broken(target, failed, &body.bytes, key)),
        None if body.bytes.trim_ascii().is_empty() => return Err(invalid("empty")),
        None => {}
    }
    let mut answer =
        Object::parse_bytes(&body.bytes).map_err(|e| invalid(&format!("no JSON object: {e}")))?;
    mark(&mut answer);
    Ok(answer)
}

/// Says what an answer is if it could pass for something else: whatever a provider sends, the next tool must
/// not take it for a record to store.
fn mark(answer: &mut Object) {
    let chunk = answer.get("object") == Some("\"chat.completion.chunk\"");
    if answer.has("kind") || answer.has("messages") || chunk || !answer.has("choices") {
        answer.set_text("kind", "response");
    }
}

/// What the settings ask every provider for.
fn web_search(settings: &Settings) -> Option<Object> {
    if settings.boolean("web_search_enabled") != Some(true) {
        return None;
    }
    let mut options = Object::default();
    if let Some(results) = settings.integer("web_search_max_results") {
        options.set("max_results", results.to_string());
    }
    if let Some(range) = settings.text("web_search_time_range") {
        options.set_text("time_range", &range);
    }
    Some(options)
}
