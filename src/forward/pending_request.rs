//! A request that was sent, until its answer is complete.

use super::detail_log::log_detail;
use super::failure::Failure;
use super::truncation_detector::TruncationDetector;
use crate::api::{self, Api, Translation};
use crate::cli::Diagnostics;
use crate::config::Secret;
use crate::error::Error;
use crate::provider::Target;
use crate::record::{Clock, Object};

/// A request whose answer is awaited.
pub(super) struct PendingRequest {
    pub(super) target: Target,
    pub(super) key: Option<Secret>,
    /// The request's member `rsv`.
    pub(super) rsv: Object,
    pub(super) clock: Clock,
    pub(super) begin: i64,
    /// The API of the request that was sent.
    pub(super) sent_api: Api,
    /// The number of choices that the request asks for.
    pub(super) choices: usize,
    /// How the request was translated, if it was.
    pub(super) translation: Option<Translation>,
}

impl PendingRequest {
    /// An answer in the client's API. Fails if the answer is no chat completion.
    pub(super) fn translated(&self, answer: Object) -> Result<Object, Failure> {
        let Some(translation) = &self.translation else { return Ok(answer) };
        let invalid = |error: Error| {
            let fault = format!("is no chat completion: {error}");
            let (member, key) = (self.sent_api.answer_member(), self.key.as_ref());
            Failure::invalid(&self.target, member, &fault, answer.to_json().as_bytes(), key)
        };
        api::from_chat(translation, &answer).map_err(invalid)
    }

    /// Logs an assembled answer, if details are printed.
    pub(super) fn log_answer(&self, diagnostics: &Diagnostics, answer: &Object) {
        if diagnostics.is_verbose() {
            log_detail(
                diagnostics,
                "the answer of",
                &self.target,
                answer.to_json().as_bytes(),
                self.key.as_ref(),
            );
        }
    }

    /// Adds `rsv` to the answer, with the provider, the status and the latency.
    pub(super) fn complete(
        mut self,
        mut answer: Object,
        status: u16,
        truncation_detector: &TruncationDetector,
    ) -> Object {
        let rsv = &mut self.rsv;
        let partial = rsv.take("partial");
        rsv.set_text("provider", self.target.name());
        rsv.set("status", status.to_string());
        rsv.set("latency_ms", (self.clock.now() - self.begin).max(0).to_string());
        if partial.is_some() || api::is_failed(&answer) {
            rsv.set("partial", "true");
        }
        answer.take("rsv");
        truncation_detector.check(&self.target, &answer, rsv);
        answer.set("rsv", rsv.to_json());
        answer
    }
}
