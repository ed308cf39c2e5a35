//! The body of an answer, streamed or whole.

use super::answer::read_answer;
use super::failure::Failure;
use super::pending_request::PendingRequest;
use crate::http::{self, Decoder, Response, Truncation};
use crate::record::Object;
use bytes::Bytes;

/// The source of pieces.
pub(super) enum StreamBody {
    Arriving(Response),
    /// The provider did not stream: the answer as it was sent, and parsed.
    Whole(Option<Bytes>, Object),
    /// Nothing more arrives, and only the end is to be sent; `is_cut` if the connection broke.
    Arrived {
        is_cut: bool,
    },
    Ended,
}

/// Waits for all of an answer that is not streamed, and keeps it as it was sent, too.
pub(super) async fn whole(
    mut response: Response,
    pending: &PendingRequest,
    limit: usize,
) -> Result<StreamBody, Failure> {
    let mut decoder = Decoder::for_encoding(response.content_encoding());
    let (mut sent, mut bytes) = (Vec::new(), Vec::new());
    let cut = loop {
        match response.piece().await {
            Ok(None) => break None,
            Ok(Some(piece)) => {
                sent.extend_from_slice(&piece);
                if let Err(cut) = decoder.decode(&piece, &mut bytes, limit) {
                    break Some(cut);
                }
            }
            Err(failed) => break Some(Truncation::Failed(failed)),
        }
    };
    let (member, body) = (pending.sent_api.answer_member(), http::Body { bytes, cut });
    let answer = read_answer(&pending.target, member, &body, pending.key.as_ref())?;
    if pending.translation.is_some() {
        // An invalid chat completion is no answer for another API.
        pending.translated(answer.clone())?;
    }
    Ok(StreamBody::Whole(Some(sent.into()), answer))
}
