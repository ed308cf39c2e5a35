//! Receives a file that a form uploads (multipart/form-data), piece by piece, into the spool.

use super::blocking_pool::BlockingPool;
use super::response::{self, HttpResponse};
use super::spool::{Spool, UploadDraft, safe_name};
use super::user_scope::USER_ID;
use crate::error::{self, Context, Error};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{Stream, unfold};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use multer::{Field, Multipart};
use std::time::Duration;
use tokio::time::timeout;

/// The field that has the file.
const FILE_FIELD: &str = "file";
/// A form may be so many bytes longer than its file.
const FORM_BYTES: u64 = 64 << 10;
/// The longest value of another field, in bytes.
const MAX_FIELD_BYTES: usize = 4096;
/// The pieces of a file are gathered up to so many bytes before they are written.
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
#[derive(Clone, Copy, Debug)]
enum BrokenBody {
    TimedOut,
    Ended,
}

impl std::error::Error for BrokenBody {}

impl std::fmt::Display for BrokenBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BrokenBody::TimedOut => "the body did not come in time",
            BrokenBody::Ended => "the body ended early",
        })
    }
}

impl Receiver<'_> {
    /// Receives a form with one file. Whatever is wrong, nothing of it is kept.
    pub(super) async fn receive(&self, head: &Parts, body: Incoming) -> Result<ReceivedForm, HttpResponse> {
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let boundary = multer::parse_boundary(kind).map_err(|_| {
            let text = "expected a form (multipart/form-data) with a file in the field 'file'";
            response::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", text)
        })?;
        if body.size_hint().lower() > self.max_bytes.saturating_add(FORM_BYTES) {
            return Err(self.too_long());
        }
        let mut form = Multipart::new(pieces(body, self.idle_timeout), boundary);
        let (mut file, mut user_id) = (None, None);
        while let Some(field) = form.next_field().await.map_err(|error| refusal(&error))? {
            match field.name() {
                Some(FILE_FIELD) if file.is_some() => {
                    return Err(bad_request("the form has more than one file"));
                }
                Some(FILE_FIELD) => file = Some(self.receive_file(field).await?),
                Some(USER_ID) => user_id = Some(text(field).await?),
                _ => drop(text(field).await?),
            }
        }
        match file {
            Some((draft, name)) => Ok(ReceivedForm { draft, name, user_id }),
            None => Err(bad_request("the form has no file in the field 'file'")),
        }
    }

    async fn receive_file(&self, mut field: Field<'_>) -> Result<(UploadDraft, String), HttpResponse> {
        let name = safe_name(field.file_name().unwrap_or_default());
        let (spool, doc_id, own_name) = (self.spool.clone(), self.doc_id.to_owned(), name.clone());
        let mut draft = self.blocking(move || spool.begin(&doc_id, &own_name)).await?;
        let mut gathered = Vec::new();
        let mut received = 0_u64;
        while let Some(piece) = field.chunk().await.map_err(|error| refusal(&error))? {
            received += piece.len() as u64;
            if received > self.max_bytes {
                return Err(self.too_long());
            }
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

    async fn write(&self, mut draft: UploadDraft, bytes: Vec<u8>) -> Result<UploadDraft, HttpResponse> {
        self.blocking(move || {
            draft.write(&bytes).context("cannot write to the spool")?;
            Ok(draft)
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> error::Result<T> + Send + 'static,
    ) -> Result<T, HttpResponse> {
        let done = self.blocking.spawn(work).await.map_err(|_| response::cut_short())?;
        done.map_err(|error| cannot_keep(&error))
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

/// The pieces of a body, each of which must arrive in time.
fn pieces(body: Incoming, idle_timeout: Duration) -> impl Stream<Item = Result<Bytes, BrokenBody>> {
    let frames = body.into_data_stream();
    unfold(Some(frames), move |frames| async move {
        let mut frames = frames?;
        match timeout(idle_timeout, frames.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(frames))),
            Ok(Some(Err(_))) => Some((Err(BrokenBody::Ended), None)),
            Err(_) => Some((Err(BrokenBody::TimedOut), None)),
        }
    })
}

/// The short text of a field.
async fn text(mut field: Field<'_>) -> Result<String, HttpResponse> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(|error| refusal(&error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_FIELD_BYTES {
            return Err(bad_request("a field of the form is too long"));
        }
    }
    String::from_utf8(bytes).map_err(|_| bad_request("a field of the form is not UTF-8"))
}

/// The response to a form that cannot be read.
fn refusal(error: &multer::Error) -> HttpResponse {
    let broken = match error {
        multer::Error::StreamReadFailed(cause) => cause.downcast_ref::<BrokenBody>().copied(),
        _ => None,
    };
    match broken {
        Some(BrokenBody::TimedOut) => {
            response::error(StatusCode::REQUEST_TIMEOUT, "timeout", &BrokenBody::TimedOut.to_string())
        }
        Some(BrokenBody::Ended) => bad_request("the body ended early"),
        None => bad_request(&format!("this is not a valid form: {error}")),
    }
}

fn bad_request(text: &str) -> HttpResponse {
    response::bad_request(&Error::new(text))
}
