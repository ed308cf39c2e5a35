//! Receives a file that a form uploads (multipart/form-data), piece by piece, into the spool.
//!
//! The parser bounds fields and the whole form, but keeps a header, or what comes before the first part,
//! until its end is there, and takes all that has arrived before it looks at any of it. So it gets one piece
//! at a time, and no more once too many bytes have yielded no field.

use super::error::UploadFault;
use super::user_scope::USER_ID;
use crate::error::{self, Context, Error};
use crate::proxy::http::response::{self, bad_request};
use crate::proxy::http::{BodyTimer, HttpFault, HttpResponse, OrResponse, request_body};
use crate::proxy::worker::{BlockingPool, Spool, UploadDraft, safe_name};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{Stream, unfold};
use http_body_util::{BodyDataStream, BodyExt};
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use multer::{Constraints, Field, Multipart, SizeLimit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::timeout;

/// The field that has the file.
const FILE_FIELD: &str = "file";
/// A form may be this many bytes longer than its file.
const FORM_BYTES: u64 = 64 << 10;
/// The longest value of another field, in bytes.
const MAX_FIELD_BYTES: u64 = 4096;
/// The greatest number of parts of a form.
const MAX_PARTS: usize = 32;
/// The longest boundary between the parts, in bytes (RFC 2046, 5.1.1).
const MAX_BOUNDARY_BYTES: usize = 70;
/// The parser gets pieces of this many bytes.
const PIECE_BYTES: usize = 8 << 10;
/// The number of bytes, beyond one piece, that may yield no field: those of a header, or before the first
/// part.
const MAX_HEADER_BYTES: usize = 24 << 10;
/// The pieces of a file are gathered up to this many bytes before they are written.
const WRITE_BYTES: usize = 256 << 10;

/// Where and how an upload is received.
pub(super) struct Receiver<'a> {
    pub(super) spool: &'a Spool,
    pub(super) blocking: &'a BlockingPool,
    /// The id of the new document.
    pub(super) doc_id: &'a str,
    /// The longest file, in bytes.
    pub(super) max_bytes: u64,
    /// The time for which a client may be silent.
    pub(super) idle_timeout: Duration,
}

/// A form that has arrived whole.
pub(super) struct ReceivedForm {
    pub(super) draft: UploadDraft,
    /// The name of the file, as it is kept.
    pub(super) name: String,
    /// The user that the form names.
    pub(super) user_id: Option<String>,
}

/// Why a body ended early.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body was not read to its end")]
enum BrokenBody {
    TimedOut,
    Ended,
    LongHeader,
}

/// The number of bytes that the parser got since its last output.
#[derive(Clone, Default)]
struct Unparsed(Arc<AtomicUsize>);

impl Unparsed {
    /// The parts that come out of the parser.
    async fn parse<T>(&self, step: impl Future<Output = multer::Result<T>>) -> multer::Result<T> {
        let parsed = step.await;
        self.0.store(0, Ordering::Relaxed);
        parsed
    }
}

impl Receiver<'_> {
    /// Receives a form with one file. After an error nothing of it is kept.
    pub(super) async fn receive(&self, head: &Parts, body: Incoming) -> OrResponse<ReceivedForm> {
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let boundary = multer::parse_boundary(kind).ok();
        let boundary = boundary.filter(|boundary| (1..=MAX_BOUNDARY_BYTES).contains(&boundary.len()));
        let boundary = boundary.ok_or_else(|| {
            let text = "expected a form (multipart/form-data) with a file in the field 'file'";
            response::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", text)
        })?;
        let form_bytes = self.max_bytes.saturating_add(FORM_BYTES);
        if body.size_hint().lower() > form_bytes {
            return Err(self.too_long());
        }
        let limit = SizeLimit::new().whole_stream(form_bytes).per_field(MAX_FIELD_BYTES);
        let limit = Constraints::new().size_limit(limit.for_field(FILE_FIELD, self.max_bytes));
        let unparsed = Unparsed::default();
        let pieces = Pieces::of(body, self.idle_timeout, unparsed.clone());
        let mut form = Multipart::with_constraints(pieces, boundary, limit);
        let (mut file, mut user_id) = (None, None);
        while let Some(field) =
            unparsed.parse(form.next_field()).await.map_err(|error| self.refusal(error))?
        {
            if field.index() == MAX_PARTS {
                return Err(bad_request(UploadFault::TooManyParts { most: MAX_PARTS }));
            }
            match field.name() {
                Some(FILE_FIELD) if file.is_some() => return Err(bad_request(UploadFault::SecondFile)),
                Some(FILE_FIELD) => file = Some(self.receive_file(field, &unparsed).await?),
                Some(USER_ID) => user_id = Some(self.receive_text(field, &unparsed).await?),
                _ => drop(self.receive_text(field, &unparsed).await?),
            }
        }
        match file {
            Some((draft, name)) => Ok(ReceivedForm { draft, name, user_id }),
            None => Err(bad_request(UploadFault::NoFile)),
        }
    }

    async fn receive_file(
        &self,
        mut field: Field<'_>,
        unparsed: &Unparsed,
    ) -> OrResponse<(UploadDraft, String)> {
        let name = safe_name(field.file_name().unwrap_or_default());
        let (spool, doc_id, own_name) = (self.spool.clone(), self.doc_id.to_owned(), name.clone());
        let mut draft = self.blocking(move || spool.begin(&doc_id, &own_name)).await?;
        let mut gathered = Vec::new();
        while let Some(piece) = unparsed.parse(field.chunk()).await.map_err(|error| self.refusal(error))? {
            gathered.extend_from_slice(&piece);
            if gathered.len() >= WRITE_BYTES {
                draft = self.write(draft, std::mem::take(&mut gathered)).await?;
            }
        }
        draft = self.write(draft, gathered).await?;
        if draft.bytes() == 0 {
            return Err(response::error(StatusCode::BAD_REQUEST, "empty_file", "the file is empty"));
        }
        Ok((draft, name))
    }

    /// The text of a field.
    async fn receive_text(&self, field: Field<'_>, unparsed: &Unparsed) -> OrResponse<String> {
        let bytes = unparsed.parse(field.bytes()).await.map_err(|error| self.refusal(error))?;
        String::from_utf8(bytes.into()).map_err(|_| bad_request(UploadFault::NotUtf8))
    }

    async fn write(&self, mut draft: UploadDraft, bytes: Vec<u8>) -> OrResponse<UploadDraft> {
        self.blocking(move || {
            draft.write(&bytes).context("cannot write to the spool")?;
            Ok(draft)
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> error::Result<T> + Send + 'static,
    ) -> OrResponse<T> {
        let done = self.blocking.spawn(work).await.map_err(|_| response::cut_short())?;
        done.map_err(|error| cannot_keep(&error))
    }

    /// The response to a form that cannot be read.
    fn refusal(&self, error: multer::Error) -> HttpResponse {
        match error {
            multer::Error::StreamReadFailed(cause) => match cause.downcast_ref() {
                Some(BrokenBody::TimedOut) => request_body::timed_out(),
                Some(BrokenBody::LongHeader) => {
                    bad_request(UploadFault::LongHeader { most: MAX_HEADER_BYTES })
                }
                Some(BrokenBody::Ended) | None => bad_request(HttpFault::BodyEnded),
            },
            multer::Error::StreamSizeExceeded { .. } => self.too_long(),
            multer::Error::FieldSizeExceeded { field_name: Some(name), .. } if name == FILE_FIELD => {
                self.too_long()
            }
            multer::Error::FieldSizeExceeded { .. } => bad_request(UploadFault::LongField),
            source => bad_request(UploadFault::Malformed { source }),
        }
    }

    fn too_long(&self) -> HttpResponse {
        let mib = self.max_bytes as f64 / f64::from(1 << 20);
        let text = format!("the file is longer than the limit of {mib} MiB (chat.upload_bytes)");
        response::error(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", &text)
    }
}

/// The response if an upload cannot be kept.
pub(super) fn cannot_keep(error: &Error) -> HttpResponse {
    response::error(StatusCode::INSUFFICIENT_STORAGE, "not_stored", &error.to_string())
}

/// The pieces of a body on their way to the parser.
struct Pieces {
    frames: BodyDataStream<Incoming>,
    /// Bytes that have arrived and belong to the pieces to come.
    rest: Bytes,
    timer: BodyTimer,
    unparsed: Unparsed,
}

impl Pieces {
    /// The pieces of a body, each of which must arrive in time.
    fn of(
        body: Incoming,
        idle_timeout: Duration,
        unparsed: Unparsed,
    ) -> impl Stream<Item = Result<Bytes, BrokenBody>> {
        let timer = BodyTimer::start(idle_timeout);
        let pieces = Pieces { frames: body.into_data_stream(), rest: Bytes::new(), timer, unparsed };
        unfold(Some(pieces), |pieces| async move {
            let mut pieces = pieces?;
            let piece = pieces.next().await.transpose()?;
            let others = piece.is_ok().then_some(pieces);
            Some((piece, others))
        })
    }

    /// The next piece; `None` after the last.
    async fn next(&mut self) -> Result<Option<Bytes>, BrokenBody> {
        // The parser looks at what it has before it gets more.
        yield_now().await;
        let unparsed = self.unparsed.0.load(Ordering::Relaxed);
        if unparsed > MAX_HEADER_BYTES {
            return Err(BrokenBody::LongHeader);
        }
        while self.rest.is_empty() {
            match timeout(self.timer.wait(), self.frames.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(piece))) => self.rest = piece,
                Ok(Some(Err(_))) => return Err(BrokenBody::Ended),
                Err(_) => return Err(BrokenBody::TimedOut),
            }
            self.timer.note(self.rest.len());
        }
        let piece = self.rest.split_to(PIECE_BYTES.min(self.rest.len()));
        self.unparsed.0.store(unparsed + piece.len(), Ordering::Relaxed);
        Ok(Some(piece))
    }
}
