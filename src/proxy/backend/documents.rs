//! `/api/documents`: the documents of a user, and the files that become documents.

use super::error::UploadFault;
use super::upload::{self, ReceivedForm, Receiver};
use super::user_scope::{UserNames, documents_of};
use crate::chat;
use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpResponse, OrResponse, response};
use crate::proxy::worker::{
    BlockingPool, DocumentJobs, Spool, StorePool, Upload, UploadState, document_jobs,
};
use crate::record::{Address, Object, Scope, StoredRecord, TouchedRecords, id, time};
use crate::store::Store;
use crate::tree;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The state of a document that is stored.
const READY: &str = "ready";

/// Serves the documents.
pub(in crate::proxy) struct DocumentsApi {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    stores: Arc<StorePool>,
    spool: Spool,
    jobs: Arc<DocumentJobs>,
    idle_timeout: Duration,
    /// The number of forms that came.
    received: AtomicU64,
}

impl DocumentsApi {
    /// Serves from the store and from the spool.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        stores: &Arc<StorePool>,
        spool: &Spool,
        jobs: &Arc<DocumentJobs>,
        idle_timeout: Duration,
    ) -> DocumentsApi {
        DocumentsApi {
            config: config.clone(),
            blocking: blocking.clone(),
            stores: stores.clone(),
            spool: spool.clone(),
            jobs: jobs.clone(),
            idle_timeout,
            received: AtomicU64::new(0),
        }
    }

    /// Receives a file, which is parsed and stored after the answer. Errors with the response if it cannot.
    pub(in crate::proxy) async fn upload(
        &self,
        names: &UserNames,
        head: &Parts,
        body: Incoming,
    ) -> OrResponse {
        let number = self.received.fetch_add(1, Ordering::Relaxed);
        let doc_id =
            id::fresh(&self.config.clock, &format!("upload {number}")).map_err(response::bad_request)?;
        let receiver = Receiver {
            spool: &self.spool,
            blocking: &self.blocking,
            doc_id: &doc_id,
            max_bytes: self.config.settings.integer("chat.upload_bytes").map_or(u64::MAX, i64::unsigned_abs),
            idle_timeout: self.idle_timeout,
        };
        let ReceivedForm { draft, name, user_id } = receiver.receive(head, body).await?;
        let user_id = names.user(user_id.as_deref())?;
        let uri =
            documents_of(&user_id).and_then(|above| above.join(&doc_id)).map_err(response::bad_request)?;
        let upload = Upload {
            doc_id: doc_id.clone(),
            user_id,
            uri: uri.to_string(),
            name,
            bytes: draft.bytes(),
            state: UploadState::Queued,
            error: None,
            timestamp: self.config.clock.now(),
        };
        let entry = of_upload(&upload);
        let scope = Scope { partition: upload.user_id.clone(), instance: upload.user_id.clone() };
        let finished = self.blocking.spawn(move || draft.finish(upload)).await;
        let claimed = finished.map_err(|_| response::cut_short())?;
        self.jobs.start(claimed.map_err(|error| upload::cannot_keep(&error))?);
        let mut answer = response::json(StatusCode::ACCEPTED, entry.to_json() + "\n");
        response::set_scope(&mut answer, scope);
        Ok(answer)
    }

    /// Lists the documents of a user, newest first.
    pub(in crate::proxy) async fn list(self: &Arc<DocumentsApi>, user: String) -> HttpResponse {
        self.with_store(move |api, store| {
            let mut found: Vec<(i64, Object)> =
                api.spool.list(&user).iter().map(|upload| (upload.timestamp, of_upload(upload))).collect();
            let waiting: Vec<String> =
                found.iter().filter_map(|(_, entry)| entry.valid_text("doc_id")).collect();
            let nodes = tree::below(store, &user, &documents_of(&user)?, Some(1))?;
            let records = TouchedRecords::of(nodes.iter().map(|node| node.id.as_str()));
            for node in nodes {
                if !waiting.iter().any(|id| node.address().is_ok_and(|address| address.name() == id)) {
                    found.push((node.timestamp, of_document(store, &user, &node)?));
                }
            }
            found.sort_by_key(|(timestamp, _)| std::cmp::Reverse(*timestamp));
            let entries: Vec<Object> = found.into_iter().map(|(_, entry)| entry).collect();
            let mut body = Object::default();
            body.set("documents", chat::array(&entries));
            Ok(response::touching(response::json(StatusCode::OK, body.to_json() + "\n"), records))
        })
        .await
    }

    /// Shows a document of a user.
    pub(in crate::proxy) async fn show(
        self: &Arc<DocumentsApi>,
        user: String,
        doc_id: String,
    ) -> HttpResponse {
        self.with_store(move |api, store| {
            if let Some(upload) = api.upload_of(&user, &doc_id) {
                return Ok(response::json(StatusCode::OK, of_upload(&upload).to_json() + "\n"));
            }
            let Some(node) = stored(store, &user, &doc_id)? else { return Ok(not_found(&doc_id)) };
            let entry = of_document(store, &user, &node)?;
            let shown = response::json(StatusCode::OK, entry.to_json() + "\n");
            Ok(response::touching(shown, TouchedRecords::of([node.id.as_str()])))
        })
        .await
    }

    /// Forgets a document of a user, with all that is below it.
    pub(in crate::proxy) async fn delete(
        self: &Arc<DocumentsApi>,
        user: String,
        doc_id: String,
    ) -> HttpResponse {
        self.with_store(move |api, store| {
            let upload = api.upload_of(&user, &doc_id);
            if upload.is_some() {
                api.spool.remove(&doc_id).map_err(|source| UploadFault::Kept { source })?;
            }
            let Ok(address) = documents_of(&user)?.join(&doc_id) else { return Ok(not_found(&doc_id)) };
            let removed = document_jobs::forget_tree(store, &user, &address, api.config.clock.now())?;
            if upload.is_none() && removed.count == 0 {
                return Ok(not_found(&doc_id));
            }
            let mut body = Object::default();
            body.set_text("doc_id", &doc_id);
            body.set("deleted", "true");
            Ok(response::touching(response::json(StatusCode::OK, body.to_json() + "\n"), removed))
        })
        .await
    }

    /// The upload of a user's document, unless it is stored.
    fn upload_of(&self, user: &str, doc_id: &str) -> Option<Upload> {
        self.spool.get(doc_id).filter(|upload| upload.user_id == user)
    }

    async fn with_store(
        self: &Arc<DocumentsApi>,
        work: impl FnOnce(&DocumentsApi, &mut dyn Store) -> Result<HttpResponse> + Send + 'static,
    ) -> HttpResponse {
        let api = self.clone();
        let done = self.stores.with_store(move |store| work(&api, store)).await;
        done.unwrap_or_else(|error| response::unavailable("unavailable", &error))
    }
}

/// The stored document of a user; `None` if there is none. Fails if the store cannot be read.
pub(super) fn stored(store: &mut dyn Store, user: &str, doc_id: &str) -> Result<Option<StoredRecord>> {
    match documents_of(user)?.join(doc_id) {
        Ok(address) => tree::node(store, user, &address),
        Err(_) => Ok(None),
    }
}

/// The response if a user has no such document; another's is no different.
pub(super) fn not_found(doc_id: &str) -> HttpResponse {
    response::error(StatusCode::NOT_FOUND, "not_found", &format!("there is no document {doc_id}"))
}

/// The entry of a document that is not stored yet.
fn of_upload(upload: &Upload) -> Object {
    let mut entry = Object::default();
    entry.set_text("doc_id", &upload.doc_id);
    entry.set_text("uri", &upload.uri);
    entry.set_text("user_id", &upload.user_id);
    entry.set_text("name", &upload.name);
    entry.set("bytes", upload.bytes.to_string());
    entry.set_text("state", upload.state.name());
    if let Some(error) = &upload.error {
        entry.set_text("error", error);
    }
    entry.set_text("created_at", &time::rfc3339(upload.timestamp));
    entry
}

/// The entry of a stored document. Its sections are the documents below it; one without any is a section
/// itself.
fn of_document(store: &mut dyn Store, user: &str, node: &StoredRecord) -> Result<Object> {
    let address: Address = node.address()?;
    let sections = if node.is_directory() { tree::below(store, user, &address, None)?.len() } else { 1 };
    let mut entry = Object::default();
    entry.set_text("doc_id", address.name());
    entry.set_text("uri", address.as_str());
    entry.set_text("user_id", user);
    let source = node.member_text("source");
    let title = node.member_text("title");
    entry.set_text("name", if source.is_empty() { &title } else { &source });
    if let Some(bytes) = node.members.get("source_bytes") {
        entry.set("bytes", bytes);
    }
    entry.set_text("state", READY);
    entry.set_text("title", &title);
    entry.set_text("abstract", &node.member_text("abstract"));
    entry.set("sections", sections.to_string());
    entry.set_text("created_at", &time::rfc3339(node.timestamp));
    Ok(entry)
}
