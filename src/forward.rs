//! A request to the provider of its model, and the answer back as one line.

mod cut;
mod failure;

pub use failure::Failure;

use crate::cli::Notes;
use crate::config::{Secret, Settings};
use crate::error::Result;
use crate::http::{Body, Client, Cut};
use crate::provider::{Providers, Target};
use crate::record::{Clock, Object, unexpected};
use failure::MAX_BODY;

/// Forwards requests.
pub struct Forwarder {
    client: Client,
    providers: Providers,
    /// The model for requests that name none.
    model: Option<String>,
    /// The `web_search_options` for requests that have none.
    web_search: Option<Object>,
    /// The longest answer that is taken, in bytes.
    limit: usize,
    cuts: cut::Cuts,
}

impl Forwarder {
    /// Takes addresses, keys, limits and defaults from the settings. Nothing is opened yet.
    pub fn new(settings: &Settings, notes: &Notes) -> Result<Forwarder> {
        Ok(Forwarder {
            client: Client::new(settings),
            providers: Providers::new(settings)?,
            model: settings.text("model"),
            web_search: web_search(settings),
            limit: settings.max_line(),
            cuts: cut::Cuts::new(notes),
        })
    }

    /// Asks the provider and waits for the whole answer: the provider's body as it came, with `rsv`, which has
    /// the request's members and provider, status and latency_ms. `bearer` is the caller's key, if it has one.
    pub async fn whole(
        &self,
        mut request: Object,
        bearer: Option<&Secret>,
        clock: &Clock,
    ) -> std::result::Result<Object, Failure> {
        let mut rsv = take_rsv(&mut request)?;
        let target = self.prepare(&mut request)?;
        let key = target.key(bearer)?;
        let mut body = Vec::new();
        request.write(&mut body);
        let begin = clock.now();
        let sent = self.client.post(target.address(), key, body).await;
        let response = sent.map_err(|failed| Failure::unsent(&target, &failed))?;
        let status = response.status();
        let good = (200..300).contains(&status);
        let body = response.body(if good { self.limit } else { MAX_BODY }).await;
        if !good {
            return Err(Failure::refused(&target, status, &body.bytes, key));
        }
        let mut answer = answer(&target, &body, key)?;
        rsv.set_text("provider", target.name());
        rsv.set("status", status.to_string());
        rsv.set("latency_ms", (clock.now() - begin).max(0).to_string());
        answer.take("rsv");
        self.cuts.look(&target, &answer, &mut rsv);
        answer.set("rsv", rsv.to_json());
        Ok(answer)
    }

    /// Makes of a request line what the provider is to see, and says who that is.
    fn prepare(&self, request: &mut Object) -> std::result::Result<Target<'_>, Failure> {
        // Not OpenAI's but ours: how a request line may say what it is.
        request.take("kind");
        check(request)?;
        let named = request.text("model")?;
        let Some(model) = named.as_ref().or(self.model.as_ref()) else {
            return Err(Failure::request("model: is missing").hint("name one in the request, or set 'model'"));
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

/// Checks what no provider could answer, and what cannot be carried yet.
fn check(request: &Object) -> std::result::Result<(), Failure> {
    match request.get("messages") {
        None | Some("null") => return Err(Failure::request("messages: is missing")),
        Some("[]") => return Err(Failure::request("messages: is empty")),
        Some(json) if json.starts_with('[') => {}
        Some(json) => return Err(unexpected("messages", "an array", json).into()),
    }
    if request.get("stream") == Some("true") {
        return Err(Failure::request("stream: is not supported, send false or leave it out"));
    }
    Ok(())
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
        Some(Cut::Limit) => {
            let mib = body.bytes.len() as f64 / f64::from(1 << 20);
            return Err(invalid(&format!("longer than the limit of {mib} MiB"))
                .hint("raise it with: rsv-config set max_line_bytes BYTES"));
        }
        Some(Cut::Failed(failed)) => return Err(Failure::broken(target, failed, &body.bytes, key)),
        None if body.bytes.trim_ascii().is_empty() => return Err(invalid("empty")),
        None => {}
    }
    let mut answer =
        Object::parse_bytes(&body.bytes).map_err(|e| invalid(&format!("no JSON object: {e}")))?;
    let chunk = answer.get("object") == Some("\"chat.completion.chunk\"");
    // Whatever a provider sends, the next tool must not take it for a record to store.
    if answer.has("kind") || answer.has("messages") || chunk || !answer.has("choices") {
        answer.set_text("kind", "response");
    }
    Ok(answer)
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
