//! The plumbing of the server: a connection, the request that comes by it, the response that leaves.
//!
//! `client_stream.rs` and `error_bodies.rs` stand between a connection and hyper; `descriptors.rs` bounds the
//! connections, and `client_address.rs` says from where one is. `guard.rs` allows a request, at a
//! `public_address.rs` too, and `page_logins.rs` those of people who have given the token to a page;
//! `route.rs`, `page_route.rs` and `query_parameters.rs` read its address, `route_rights.rs` says which right
//! it needs, and `request_body.rs` reads its body. `response.rs` makes responses, which `request_log.rs` logs
//! and `audited.rs` makes rows of the audit of; `refusal.rs` has the reasons for refusals.
//! `upstream.rs` relays a request to a provider, with the headers that `relay_headers.rs` selects, and
//! `usage_meter.rs` counts the tokens of its answer. Uses no other wing.
//!
//! A header of other bytes than visible ASCII counts as absent: no client and no provider sends one.

mod audited;
mod client_address;
mod client_stream;
pub(super) mod descriptors;
mod error;
mod error_bodies;
mod guard;
mod page_logins;
mod page_route;
mod public_address;
mod query_parameters;
mod refusal;
pub(super) mod relay_headers;
pub(super) mod request_body;
mod request_log;
pub(super) mod response;
mod route;
mod route_rights;
pub(super) mod upstream;
mod usage_meter;

pub use descriptors::ConnectionLimits;
pub use request_log::LogFormat;

pub(super) use audited::AuditedRequest;
pub(super) use client_address::TrustedProxies;
pub(super) use client_stream::ClientStream;
pub(super) use error::{HttpFault, unexpected};
pub(super) use error_bodies::ErrorBodies;
pub(super) use guard::{Guard, PLACEHOLDER_KEY, REQUEST_KEY_HEADER};
pub(super) use page_logins::{Login, PageLogins};
pub(super) use page_route::Page;
pub(super) use query_parameters::{all_parameters, parameter, parameters};
pub(super) use refusal::Refusal;
pub(super) use request_body::BodyTimer;
pub(super) use request_log::{LoggedRequest, LoggedSender, RequestLog};
pub(super) use response::{HttpBody, HttpResponse, OrResponse};
pub(super) use route::{Command, Route};
pub(super) use upstream::Upstream;
pub(super) use usage_meter::{BYTES, UsageMeter};
