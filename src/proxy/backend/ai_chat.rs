//! `POST /api/ai/chat` and `POST /api/ai/chat/stream`: turns of a session, with its memory and the user's
//! documents.

use super::chat_answer::ChatContext;
use super::chat_turn::{ChatBody, ChatTurn};
use super::documents;
use super::mood::{self, MoodFilter, NEUTRAL};
use super::recalled::Recalled;
use super::sessions;
use super::user_scope::UserNames;
use crate::chat;
use crate::chat::GrowingText;
use crate::enrich::Enriched;
use crate::forward::{Caller, Failure, Stream};
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpResponse, OrResponse, response};
use crate::proxy::turn::{ActiveTurn, Requester, TurnPipeline};
use crate::proxy::worker::{Spool, StorePool};
use crate::record::Object;
use crate::store;
use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// The number of events that are buffered for a slow client before its provider has to wait.
const BUFFERED_EVENTS: usize = 16;

/// Serves turns of the chat backend.
pub(in crate::proxy) struct AiChatApi {
    config: Arc<ProxyConfig>,
    pipeline: Arc<TurnPipeline>,
    stores: Arc<StorePool>,
    spool: Spool,
}

/// An enriched turn, and the context for its client.
struct StartedTurn {
    turn: ActiveTurn,
    enriched: Enriched,
    context: ChatContext,
}

impl AiChatApi {
    /// Takes turns through `pipeline`.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        pipeline: &Arc<TurnPipeline>,
        stores: &Arc<StorePool>,
        spool: &Spool,
    ) -> AiChatApi {
        AiChatApi {
            config: config.clone(),
            pipeline: pipeline.clone(),
            stores: stores.clone(),
            spool: spool.clone(),
        }
    }

    /// Runs a turn, whole or streamed.
    pub(in crate::proxy) async fn run(
        &self,
        names: &UserNames,
        headers: &HeaderMap,
        requester: Requester,
        body: &Object,
        streams: bool,
    ) -> HttpResponse {
        let client = Arc::new(());
        let caller = Caller { keys: requester.keys.clone(), ..Caller::default() };
        let started = match self.start(names, headers, requester, body, &client).await {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        let account = &started.enriched.account_record;
        let (trace_id, scope) = (account.trace_id.clone(), account.scope.clone());
        let mut response = if streams {
            self.stream(started, caller, client)
        } else {
            self.whole(started, caller, client).await
        };
        response::set_trace(&mut response, &trace_id);
        response::set_scope(&mut response, scope);
        response
    }

    /// Enriches a turn. Errors are the responses to requests that have none.
    async fn start(
        &self,
        names: &UserNames,
        headers: &HeaderMap,
        requester: Requester,
        body: &Object,
        client: &Arc<()>,
    ) -> OrResponse<StartedTurn> {
        let body = ChatBody::parse(body).map_err(response::bad_request)?;
        let user = names.user(body.user_id.as_deref())?;
        let chat = body.into_turn(user, &self.config).map_err(response::bad_request)?;
        let sees_all = requester.caller.sees_all();
        let request =
            chat.request(headers, requester, &self.config, client).map_err(response::bad_request)?;
        // A turn that is refused later has only read the user's own records.
        let begun = self.pipeline.begin(request);
        let (begun, trouble, session) =
            tokio::join!(begun, self.check_document(&chat), self.check_session(&chat, sees_all));
        session?;
        let trouble = trouble?;
        let (turn, enriched) = begun.map_err(|failure| response::failure(&failure))?;
        if let Some(error) = enriched.too_long.as_ref().filter(|_| self.pipeline.is_strict()) {
            return Err(response::failure(&Failure::too_long(error)));
        }
        let ChatTurn { scope, target, .. } = &chat;
        let context = ChatContext::new(&enriched, &scope.partition, &scope.instance, trouble);
        let mut context = context.with_html(chat.body.has_html);
        if chat.body.lists_recalled {
            context = context.with_recalled(self.recalled(&scope.partition, &enriched).await);
        }
        if chat.body.traces {
            context = context.traced(target, chat.question(), &enriched);
        }
        Ok(StartedTurn { turn, enriched, context })
    }

    /// The records that were recalled for a turn, as JSON. If the store fails, the account alone describes
    /// them.
    async fn recalled(&self, user: &str, enriched: &Enriched) -> String {
        let (recalled, account) = (Recalled::unnamed(user, &self.config), enriched.account.clone());
        let found = self.stores.with_store(move |store| {
            let recalled = recalled.look_up(store, std::slice::from_ref(&account))?;
            Ok(recalled.of(&account))
        });
        match tokio::time::timeout(self.config.memory_timeout(), found).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) | Err(_) => Recalled::unnamed(user, &self.config).of(&enriched.account),
        }
    }

    /// Errors if the session that a turn is to continue is another user's.
    async fn check_session(&self, chat: &ChatTurn, sees_all: bool) -> OrResponse<()> {
        // To a token, sessions of other users do not exist.
        if !chat.names_session() || !sees_all {
            return Ok(());
        }
        let scope = chat.scope.clone();
        let of_another = self.stores.with_store(move |store| store::is_of_another(store, &scope));
        match tokio::time::timeout(self.config.memory_timeout(), of_another).await {
            Ok(Ok(true)) => Err(sessions::not_found(&chat.scope)),
            // The turn itself finds what is wrong with the store.
            Ok(Ok(false) | Err(_)) | Err(_) => Ok(()),
        }
    }

    /// Whether the document that a turn is about exists. Returns why nothing can be found in it yet. Errors
    /// if the user has no such document.
    async fn check_document(&self, chat: &ChatTurn) -> OrResponse<Option<String>> {
        let Some(doc_id) = chat.body.doc_id.clone() else { return Ok(None) };
        let user = chat.scope.partition.clone();
        let (owner, id) = (user.clone(), doc_id.clone());
        let stored = self.stores.with_store(move |store| documents::stored(store, &owner, &id));
        let stored = tokio::time::timeout(self.config.memory_timeout(), stored).await;
        let upload = self.spool.get(&doc_id).filter(|upload| upload.user_id == user);
        match (stored, upload) {
            (Ok(Ok(Some(_))), _) => Ok(None),
            (_, Some(upload)) => Ok(Some(match upload.error {
                Some(error) => format!("the document {doc_id} could not be read: {error}"),
                None => format!("the document {doc_id} is not stored yet: {}", upload.state.name()),
            })),
            (Ok(Ok(None)), None) => Err(documents::not_found(&doc_id)),
            // The turn itself finds what is wrong with the store.
            (Ok(Err(_)) | Err(_), None) => Ok(None),
        }
    }

    /// Answers a turn at once.
    async fn whole(&self, started: StartedTurn, caller: Caller, _client: Arc<()>) -> HttpResponse {
        let StartedTurn { turn, enriched, context } = started;
        let pipeline = self.pipeline.clone();
        // If the client hangs up, the turn is finished and stored nevertheless.
        let answered = tokio::spawn(async move {
            let response = match enriched.too_long {
                Some(_) => enriched.line,
                None => pipeline.answer(enriched.line, &caller).await?,
            };
            pipeline.keep(turn, &response).await;
            Ok(response)
        });
        let gives_mood = self.gives_mood();
        match answered.await {
            Ok(Ok(response)) => {
                let (message, mood) = split(&text_of(&response), gives_mood);
                response::json(StatusCode::OK, context.whole(&message, &mood).to_json() + "\n")
            }
            Ok(Err(failure)) => response::failure(&failure),
            Err(_) => response::cut_short(),
        }
    }

    /// Answers a turn by events, from before the provider is asked.
    fn stream(&self, started: StartedTurn, caller: Caller, client: Arc<()>) -> HttpResponse {
        let (sender, receiver) = tokio::sync::mpsc::channel(BUFFERED_EVENTS);
        let relay = EventRelay {
            pipeline: self.pipeline.clone(),
            context: started.context,
            filter: self.gives_mood().then(MoodFilter::default),
            message: String::new(),
            sender,
        };
        tokio::spawn(relay.run(started.turn, started.enriched, caller, client));
        response::event_stream(receiver)
    }

    fn gives_mood(&self) -> bool {
        self.config.settings.boolean("chat.mood") == Some(true)
    }
}

/// The events of an answer on their way to the client.
struct EventRelay {
    pipeline: Arc<TurnPipeline>,
    context: ChatContext,
    filter: Option<MoodFilter>,
    /// The text shown so far.
    message: String,
    sender: Sender<Bytes>,
}

impl EventRelay {
    /// Sends the events, and has the turn stored before the last one, so that the client's next turn finds
    /// it.
    async fn run(mut self, turn: ActiveTurn, enriched: Enriched, caller: Caller, client: Arc<()>) {
        self.send(self.context.event()).await;
        if enriched.too_long.is_some() {
            self.show(&text_of(&enriched.line)).await;
            self.pipeline.keep(turn, &enriched.line).await;
            return self.end().await;
        }
        let mut stream = match self.pipeline.stream(enriched.line, &caller).await {
            Ok(stream) => stream,
            Err(failure) => return self.send(self.context.error(&failure.message)).await,
        };
        let is_awaited = self.relay(&mut stream).await;
        let end = stream.end();
        // Whether the client waits decides whether a turn that was attempted again is stored.
        let client = is_awaited.then_some(client);
        if let Some(response) = end.response {
            self.pipeline.keep(turn, &response).await;
        }
        drop(client);
        match end.failure {
            Some(failure) => self.send(self.context.error(&failure.message)).await,
            None => self.end().await,
        }
    }

    /// Sends the words as they arrive. Returns whether the client stayed to the end.
    async fn relay(&mut self, stream: &mut Stream) -> bool {
        let mut answer = GrowingText::default();
        loop {
            let sender = self.sender.clone();
            let piece = tokio::select! {
                piece = stream.next() => piece,
                () = sender.closed() => return false,
            };
            let Some(Ok(piece)) = piece else { return true };
            for event in piece.events {
                event.push_text(&mut answer);
                self.show(&answer.take()).await;
            }
        }
    }

    /// Sends words of the answer.
    async fn show(&mut self, words: &str) {
        let shown = match &mut self.filter {
            Some(filter) => filter.push(words),
            None => words.to_owned(),
        };
        if !shown.is_empty() {
            self.message.push_str(&shown);
            self.send(self.context.token(&shown)).await;
        }
    }

    async fn end(mut self) {
        let (rest, mood) = self.filter.take().map_or((String::new(), NEUTRAL.to_owned()), MoodFilter::end);
        if !rest.is_empty() {
            self.message.push_str(&rest);
            self.send(self.context.token(&rest)).await;
        }
        self.send(self.context.done(&self.message, &mood)).await;
    }

    async fn send(&self, event: String) {
        // It is no error of ours if the client has left.
        let _ = self.sender.send(event.into()).await;
    }
}

/// The words of an answer, and its mood.
fn split(answer: &str, gives_mood: bool) -> (String, String) {
    if gives_mood { mood::split(answer) } else { (answer.to_owned(), NEUTRAL.to_owned()) }
}

/// The text of a whole answer; empty if its provider gave no message.
fn text_of(response: &Object) -> String {
    chat::answer(response).map(|message| chat::text(&message)).unwrap_or_default()
}
