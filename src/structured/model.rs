//! A model that answers requests for JSON.

use super::answer::text;
use super::recipient::Recipient;
use super::request::Request;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::Result;
use crate::forward::{Caller, Forwarder};
use crate::http;
use crate::record::{Clock, Object};
use crate::tokens::Counter;

/// A model and the way to its provider.
pub struct Model {
    recipient: Recipient,
    forwarder: Forwarder,
    clock: Clock,
}

/// The answer of a provider.
pub struct CountedAnswer {
    /// Its text, or why it is of no use.
    pub text: Result<String>,
    /// The tokens of the request and the answer: as the provider counts them, else estimated.
    pub tokens: u64,
}

/// The statuses by which a provider refuses a request for what it is.
const REFUSED: [u16; 3] = [400, 413, 422];

/// The tokens of a request and its answer, if the provider says how many these are; 0 says nothing.
fn reported_tokens(response: &Object) -> Option<u64> {
    let usage = response.valid_object("usage")?;
    let count = |member: &str| u64::try_from(usage.valid_integer(member)?).ok().filter(|count| *count > 0);
    count("total_tokens")
        .or_else(|| Some(count("prompt_tokens")?.saturating_add(count("completion_tokens")?)))
}

impl Model {
    /// Takes the provider's address, keys and limits from the settings, and opens nothing. Errors name the
    /// setting.
    pub fn new(name: &str, settings: &Settings, clock: Clock, diagnostics: &Diagnostics) -> Result<Model> {
        Ok(Model {
            recipient: Recipient::new(name, settings)?,
            forwarder: Forwarder::new(settings, diagnostics)?,
            clock,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.recipient.name()
    }

    /// Asks, and waits for the text of the answer. Errors if the provider gives none, or the model refuses.
    pub fn ask(&self, request: &Request) -> Result<String> {
        self.ask_counted(request)?.text
    }

    /// As `ask`, with the tokens that it took; a request that the provider refuses for what it is took none.
    /// Errors if the provider gives no answer.
    pub fn ask_counted(&self, request: &Request) -> Result<CountedAnswer> {
        let caller = Caller::default();
        let answered = http::run(async {
            Ok(self.forwarder.whole(request.body(&self.recipient), &caller, &self.clock).await)
        });
        let response = match answered? {
            Ok((response, _)) => response,
            Err(failure) if REFUSED.contains(&failure.status) => {
                return Ok(CountedAnswer { text: Err(failure.into()), tokens: 0 });
            }
            Err(failure) => return Err(failure.into()),
        };
        let text = text(&response);
        let counted = reported_tokens(&response);
        // An answer that is of no use has tokens too, but how many is not known.
        let estimated =
            || self.tokens_of(request) + self.counter().text(text.as_deref().unwrap_or_default()) as u64;
        Ok(CountedAnswer { tokens: counted.unwrap_or_else(estimated), text })
    }

    /// The tokens of a request, estimated.
    pub fn tokens_of(&self, request: &Request) -> u64 {
        self.counter().text(&request.body(&self.recipient).to_json()) as u64
    }

    fn counter(&self) -> Counter {
        Counter::heuristic(self.name())
    }
}
