//! The answers of pages.

use crate::proxy::http::{HttpResponse, response};
use crate::record::{StoredRecord, TouchedRecords};
use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION};

/// The content of a page, or what stands in its place.
pub(super) enum Shown {
    Page(Content),
    /// A part of a page, for its script.
    Part(String),
    /// Another address.
    Redirect(String),
    /// A text as it is.
    Text(String),
    /// A picture.
    Svg(String),
    /// A page of its own, with its content policy.
    Whole {
        html: String,
        policy: String,
    },
    /// Any of these, with the records that it shows.
    OfRecords(TouchedRecords, Box<Shown>),
    /// There is nothing at the address, or nothing that the caller may see.
    Missing,
}

/// The content of a page, in markup.
pub(super) struct Content {
    /// The title, as text.
    pub(super) title: String,
    pub(super) body: String,
}

impl Shown {
    /// A page of a title and its markup.
    pub(super) fn page(title: impl Into<String>, body: String) -> Shown {
        Shown::Page(Content { title: title.into(), body })
    }

    /// The same, which shows records.
    pub(super) fn of<'a>(self, records: impl IntoIterator<Item = &'a StoredRecord>) -> Shown {
        let ids = records.into_iter().map(|record| record.id.as_str());
        Shown::OfRecords(TouchedRecords::of(ids), Box::new(self))
    }
}

/// The response that leads a browser to another page by GET.
pub(super) fn redirect(address: &str) -> HttpResponse {
    let mut response = response::typed(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    if let Ok(address) = HeaderValue::from_str(address) {
        response.headers_mut().insert(LOCATION, address);
    }
    response
}
