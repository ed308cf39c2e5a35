//! A request that is passed on unread for a caller with a budget, and the tokens that it takes.

use crate::proxy::http::{BYTES, HttpResponse, UsageMeter};
use crate::proxy::worker::{Purse, Sending};
use http_body_util::BodyExt;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;

/// A request that is passed on for a caller with a budget.
pub(super) struct Metered {
    sending: Sending,
    /// The bytes of its text.
    length: usize,
}

impl Metered {
    /// One that is about to be sent. The tokens of files are not known.
    pub(super) fn new(purse: Purse, head: &Parts, body: &[u8]) -> Metered {
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let length = if kind.starts_with("multipart/") { 0 } else { body.len() };
        Metered { sending: purse.sending(length as u64 / BYTES), length }
    }

    /// The response, whose tokens are counted as it is passed on, if it is no refusal.
    pub(super) fn answered(self, response: HttpResponse) -> HttpResponse {
        let Metered { sending, length } = self;
        let Some(purse) = sending.answered().filter(|_| response.status().is_success()) else {
            return response;
        };
        response.map(|body| UsageMeter::new(body, length, move |tokens| purse.spend(tokens)).boxed_unsync())
    }
}
