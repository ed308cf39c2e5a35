//! Ollama's own `/api/chat` and `/api/generate` with memory. Ollama is asked in its own words, so that its options
//! keep their meaning: nothing of a request is changed but for the block that is recalled, and the answer passes as
//! it arrives. Only for storing it is read in OpenAI's shape.

use super::Proxy;
use super::answer::{self, Answer, Body};
use super::memory::{self, Memory};
use super::tee::Tee;
use super::turn::{Asked, Begun};
use super::upstream;
use crate::chat::{self, Request};
use crate::enrich::Enriched;
use crate::error::Result;
use crate::forward::{self, Failure};
use crate::http::{Decoder, Passed, Passing, Sent};
use crate::provider::Target;
use crate::record::{Object, quote, time};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::CONTENT_ENCODING;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::sync::Arc;

/// How much is read of what Ollama says where it refuses, in bytes.
const LONGEST: usize = 64 << 10;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Talk {
    Chat,
    Generate,
}

impl Talk {
    /// Its place under `/api`.
    fn name(self) -> &'static str {
        match self {
            Talk::Chat => "chat",
            Talk::Generate => "generate",
        }
    }

    /// The request as enrichment knows them; `None` for one in which nobody says anything, such as to load a model,
    /// or of which Ollama is to make no conversation.
    fn request(self, body: &Object) -> Result<Option<Object>> {
        if self == Talk::Chat {
            let said = body.objects("messages")?.is_some_and(|messages| !messages.is_empty());
            return Ok(said.then(|| body.clone()));
        }
        let prompt = body.text("prompt")?.filter(|prompt| !prompt.is_empty());
        let suffix = body.text("suffix")?.is_some_and(|suffix| !suffix.is_empty());
        let Some(prompt) = prompt.filter(|_| !suffix && body.get("raw") != Some("true")) else {
            return Ok(None);
        };
        let mut request = body.clone();
        request.retain(|name| !["prompt", "system", "images"].contains(&name));
        let mut messages = Vec::new();
        if let Some(system) = body.text("system")?.filter(|system| !system.is_empty()) {
            messages.push(message("system", &system));
        }
        let mut user = message("user", &prompt);
        body.get("images").into_iter().for_each(|images| user.set("images", images));
        messages.push(user);
        request.set("messages", chat::array(&messages));
        Ok(Some(request))
    }

    /// What is sent: the request with what is recalled.
    fn sent(self, body: &Object, line: &Object) -> Result<Object> {
        let mut sent = line.clone();
        sent.take("rsv");
        if self == Talk::Chat {
            return Ok(sent);
        }
        let user = Request::parse(sent)?.messages.pop().map(|user| chat::text(&user)).unwrap_or_default();
        let mut sent = body.clone();
        sent.take("rsv");
        sent.set_text("prompt", &user);
        Ok(sent)
    }

    /// An answer that rsv itself gives, in Ollama's shape.
    fn told(self, line: &Object, now: i64) -> Result<Object> {
        let said = chat::answer(line)?;
        let mut told = Object::default();
        told.set("model", line.get("model").unwrap_or("\"\""));
        told.set_text("created_at", &time::rfc3339(now));
        match self {
            Talk::Chat => told.set("message", said.to_json()),
            Talk::Generate => told.set_text("response", &chat::text(&said)),
        }
        told.set("done", "true");
        told.set_text("done_reason", "length");
        Ok(told)
    }

    /// What Ollama answered, piece by piece or whole, as one response; without its end it is partial.
    fn response(self, bytes: &[u8]) -> (Object, bool) {
        let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
        let (mut model, mut reason) = (None, None);
        for piece in
            serde_json::Deserializer::from_slice(bytes).into_iter::<Object>().map_while(|piece| piece.ok())
        {
            let said = match self {
                Talk::Chat => piece.object("message").ok().flatten().unwrap_or_default(),
                Talk::Generate => piece.clone(),
            };
            let word = |name| said.text(name).ok().flatten().unwrap_or_default();
            text += &word(if self == Talk::Chat { "content" } else { "response" });
            thinking += &word("thinking");
            calls.extend(said.objects("tool_calls").ok().flatten().unwrap_or_default());
            model = model.or_else(|| piece.text("model").ok().flatten());
            if piece.get("done") == Some("true") {
                let why = piece.text("done_reason").ok().flatten();
                reason = Some(why.unwrap_or_else(|| "stop".to_owned()));
            }
        }
        let mut said = message("assistant", &text);
        if !thinking.is_empty() {
            said.set_text("thinking", &thinking);
        }
        if !calls.is_empty() {
            said.set("tool_calls", chat::array(&calls));
        }
        let finish = reason.as_deref().map_or("null".to_owned(), quote);
        let mut response = Object::default();
        model.into_iter().for_each(|model| response.set_text("model", &model));
        let said = said.to_json();
        response.set("choices", format!("[{{\"index\":0,\"message\":{said},\"finish_reason\":{finish}}}]"));
        (response, reason.is_none())
    }
}

/// The window that a request asks for itself, and what it keeps free in it, as settings.
fn window(body: &Object) -> Vec<(String, &'static str, String)> {
    let options = body.object("options").ok().flatten().unwrap_or_default();
    let model = quote(&body.text("model").ok().flatten().unwrap_or_default());
    let asked = [("num_ctx", "max_context_tokens"), ("num_predict", "reserve_tokens")].into_iter();
    let asked = asked.filter_map(|(option, setting)| {
        let tokens = options.integer(option).ok()?.filter(|tokens| *tokens > 0)?;
        Some((format!("models.{model}.{setting}"), option, tokens.to_string()))
    });
    asked.collect()
}

/// What a line of ours says of its scope is nobody else's affair.
fn without_rsv(bytes: Bytes) -> Bytes {
    if memchr::memmem::find(&bytes, b"\"rsv\"").is_none() {
        return bytes;
    }
    let Ok(mut body) = Object::parse_bytes(&bytes) else { return bytes };
    if body.take("rsv").is_some() { body.to_json().into() } else { bytes }
}

/// Whether the last piece says what went wrong.
fn ends_in_error(pieces: &[u8]) -> bool {
    let last = pieces.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
    last.is_some_and(|last| Object::parse_bytes(last).is_ok_and(|piece| piece.has("error")))
}

fn message(role: &str, text: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set_text("content", text);
    message
}

impl Proxy {
    /// One turn in Ollama's words. `asked` has the whole body, from which what enrichment is to see is made.
    pub(super) async fn ollama_turn(
        self: &Arc<Proxy>,
        talk: Talk,
        mut asked: Asked,
        client: Arc<()>,
        head: &Parts,
        bytes: Bytes,
    ) -> Answer {
        let body = asked.body.clone();
        let request = match talk.request(&body) {
            Ok(request) => request,
            Err(error) => return answer::bad_request(&error),
        };
        let memory = asked.memory;
        let Some(request) = request.filter(|_| memory != Memory::Off) else {
            return self.to_ollama(talk.name(), head, bytes).await;
        };
        asked.body = request;
        if talk == Talk::Generate {
            // A prompt has no other place for it.
            asked.overrules.push(("enrich.placement".to_owned(), "/api/generate", "tail".to_owned()));
        }
        asked.overrules.extend(window(&body));
        let mut answer = match self.begin(asked).await {
            Ok((begun, enriched)) => {
                let account = enriched.account.clone();
                let answered = self.ollama_answers(talk, &body, enriched, (begun, client), head).await;
                let mut answer = answered.unwrap_or_else(|failure| answer::failure(&failure));
                answer::account(&mut answer, &account);
                answer
            }
            Err(failure) => answer::failure(&failure),
        };
        self.writer.trouble().iter().for_each(|why| answer::tell(&mut answer, answer::DEGRADED, why));
        answer::tell(&mut answer, memory::HEADER, memory.word());
        answer
    }

    async fn ollama_answers(
        self: &Arc<Proxy>,
        talk: Talk,
        body: &Object,
        enriched: Enriched,
        (begun, client): (Begun, Arc<()>),
        head: &Parts,
    ) -> std::result::Result<Answer, Failure> {
        if let Some(error) = enriched.too_long {
            if self.settings.boolean("enrich.strict") == Some(true) {
                return Err(Failure::too_long(&error));
            }
            let told = talk.told(&enriched.line, self.clock.now())?.to_json() + "\n";
            self.keep(begun, &enriched.line).await;
            return Ok(answer::json(StatusCode::OK, told));
        }
        let sent = talk.sent(body, &enriched.line)?;
        let passing = upstream::readable(upstream::passing(head, sent.to_json().into()));
        let begin = self.clock.now();
        let target = self.upstream.ollama()?;
        let address = upstream::of_ollama(target.address(), talk.name(), head.uri.query());
        forward::tell(&self.notes, "the request to", &target, &passing.body, None);
        let response = self.upstream.ask(&target, &address, None, passing).await?;
        if response.status() != StatusCode::OK {
            return self.refused(&target, response).await;
        }
        let mut answer = upstream::relayed(response);
        let encoding = answer.headers().get(CONTENT_ENCODING).and_then(|encoding| encoding.to_str().ok());
        let mut decoder = Decoder::of(encoding);
        let mut rsv = enriched.line.object("rsv")?.unwrap_or_default();
        let proxy = self.clone();
        // What is encoded cannot be added to.
        let speaks = encoding.is_none() && body.get("stream") != Some("false");
        let inner = std::mem::take(answer.body_mut());
        let stored = move |bytes: Vec<u8>, whole: bool| {
            let mut plain = Vec::new();
            let undone = decoder.decode(&bytes, &mut plain, proxy.settings.max_line()).is_err();
            let (mut response, broken) = talk.response(&plain);
            forward::tell(&proxy.notes, "the answer of", &target, &plain, None);
            rsv.set_text("provider", "ollama");
            rsv.set("status", "200");
            rsv.set("latency_ms", (proxy.clock.now() - begin).max(0).to_string());
            if broken || undone || !whole {
                rsv.set("partial", "true");
            }
            response.set("rsv", rsv.to_json());
            // A client that got all of it waited for it.
            let client = Some(client).filter(|_| whole);
            tokio::spawn(async move {
                proxy.keep(begun, &response).await;
                drop(client);
            });
            let why = || answer::ollamas_error("the answer of Ollama broke off: it came to no end");
            (speaks && broken && !ends_in_error(&plain)).then(|| format!("\n{}", why()).into())
        };
        *answer.body_mut() = Body::new(Tee::new(inner, self.settings.max_line(), stored).map_err(Into::into));
        Ok(answer)
    }

    /// What Ollama refused, in its own words if they are as its clients read them.
    async fn refused(
        &self,
        target: &Target,
        response: Response<Passed>,
    ) -> std::result::Result<Answer, Failure> {
        let (head, body) = response.into_parts();
        let encoding = head.headers.get(CONTENT_ENCODING).and_then(|encoding| encoding.to_str().ok());
        let mut decoder = Decoder::of(encoding);
        let sent =
            Limited::new(body, LONGEST).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let mut plain = Vec::new();
        let _ = decoder.decode(&sent, &mut plain, LONGEST);
        let error = Object::parse_bytes(&plain).and_then(|body| body.text("error"));
        if error.is_ok_and(|error| error.is_some()) {
            return Ok(answer::beside(answer::json(head.status, plain), &head.headers));
        }
        let failure = Failure::refused(target, head.status.as_u16(), &plain, None);
        Err(Failure { headers: Some(Box::new(head.headers)), ..failure })
    }

    /// Passes a request on to Ollama, unchanged.
    pub(super) async fn to_ollama(&self, name: &str, head: &Parts, bytes: Bytes) -> Answer {
        let passing = upstream::passing(head, without_rsv(bytes));
        self.pass_to_ollama(name, head.uri.query(), passing).await
    }

    pub(super) async fn pass_to_ollama(
        &self,
        name: &str,
        query: Option<&str>,
        passing: Passing<impl Into<Sent>>,
    ) -> Answer {
        let mut answer = match self.upstream.ollama() {
            Ok(target) => {
                let address = upstream::of_ollama(target.address(), name, query);
                self.upstream.pass(&target, Some(address), None, passing).await
            }
            Err(failure) => answer::failure(&failure),
        };
        answer::tell(&mut answer, memory::HEADER, Memory::Off.word());
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Object {
        Object::parse(json).unwrap()
    }

    #[test]
    fn what_is_asked_of_ollama_stays_as_it_was_but_for_the_prompt() {
        let body = object(
            r#"{"model":"m","prompt":"why?","system":"Be brief","images":["aGk="],"options":{"seed":1.0}}"#,
        );
        let mut request = Talk::Generate.request(&body).unwrap().unwrap();
        assert_eq!(
            request.get("messages").unwrap(),
            r#"[{"role":"system","content":"Be brief"},{"role":"user","content":"why?","images":["aGk="]}]"#
        );
        request.set("messages", r#"[{"role":"user","content":"block why?"}]"#);
        request.set("rsv", "{}");
        let mut body = body;
        body.set("rsv", "{}");
        let sent = Talk::Generate.sent(&body, &request).unwrap().to_json();
        body.take("rsv");
        assert_eq!(sent, body.to_json().replace("why?", "block why?"));
        for nothing in [
            r#"{"model":"m"}"#,
            r#"{"model":"m","prompt":""}"#,
            r#"{"prompt":"x","raw":true}"#,
            r#"{"prompt":"x","suffix":"y"}"#,
        ] {
            assert!(Talk::Generate.request(&object(nothing)).unwrap().is_none(), "{nothing}");
        }
        assert!(Talk::Chat.request(&object(r#"{"messages":[]}"#)).unwrap().is_none());
        assert!(Talk::Chat.request(&object(r#"{"messages":"x"}"#)).is_err());
    }

    #[test]
    fn pieces_become_one_response() {
        let pieces = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\",\"thinking\":\"h\"},\"done\":false}\n\
            {\"message\":{\"content\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1.0}}}]},\"done\":true,\"done_reason\":\"stop\"}\n";
        let whole = r#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ab","thinking":"h","tool_calls":[{"function":{"name":"f","arguments":{"x":1.0}}}]},"finish_reason":"stop"}]}"#;
        let (response, partial) = Talk::Chat.response(pieces.as_bytes());
        assert_eq!((response.to_json().as_str(), partial), (whole, false));
        let (response, partial) = Talk::Chat.response(&pieces.as_bytes()[..120]);
        assert!(partial && response.to_json().contains("\"content\":\"a\""), "{}", response.to_json());
        let (response, partial) = Talk::Generate.response(br#"{"response":"yes","done":true}"#);
        assert!(!partial && response.to_json().contains("\"content\":\"yes\""));
    }
}
