//! One line of a pipe: a request becomes its answer, as it is wanted; anything else passes.

use super::{Caller, Event, Failure, Forwarder, Stream};
use crate::error::Error;
use crate::record::{Clock, Line, Object, Scope, Value};
use tokio::sync::mpsc::Sender;

/// How answers are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As one line, when all of it is there.
    Whole,
    /// A line for each event as it comes, then the whole.
    Stream,
    /// The text of the first choice, as it comes, and nothing else.
    Text,
}

/// What a line leads to, in order.
#[derive(Debug)]
pub enum Told {
    /// A line for the next tool, with its end.
    Line(String),
    /// Some of the text of an answer.
    Text(String),
    /// A request without an answer, or with a part of one.
    Fault(Error),
    /// What is worth telling who asks for details.
    Detail(String),
}

/// Nobody listens any more.
type Gone = tokio::sync::mpsc::error::SendError<Told>;

impl Forwarder {
    /// Answers a line. `scope` is for a request that has none. Ends early when nobody listens any more.
    pub async fn line(
        &self,
        Value { location: place, object }: Value,
        form: Form,
        scope: Option<&Scope>,
        clock: &Clock,
        to: &Sender<Told>,
    ) -> Result<(), Gone> {
        let mut request = match Line::parse(object.clone()) {
            Ok(Line::Request(request)) => request,
            Ok(Line::Response(response)) if form == Form::Text => {
                let mut ended = true;
                text(Event::Whole(response).text(), &mut ended, to).await?;
                return end(ended, to).await;
            }
            Ok(_) if form == Form::Text => return Ok(()),
            Ok(_) => return to.send(line(&object)).await,
            Err(fault) => return to.send(Told::Fault(fault.at(place))).await,
        };
        if let Some(scope) = scope {
            put(scope, &mut request);
        }
        let rsv = request.get("rsv").map(str::to_owned);
        let (response, failure) = match form {
            Form::Whole => match self.whole(request, &Caller::default(), clock).await {
                Ok((response, _)) => (Some(response), None),
                Err(failure) => (None, Some(failure)),
            },
            Form::Stream | Form::Text => match self.stream(request, &Caller::default(), clock).await {
                Ok(stream) => pass(stream, form, to).await?,
                Err(failure) => (None, Some(failure)),
            },
        };
        if let Some(response) = response {
            to.send(Told::Detail(format!("{place}: {}", answered(&response)))).await?;
            to.send(line(&response)).await?;
        }
        if let Some(failure) = failure {
            to.send(Told::Fault(failure.error().at(place))).await?;
            if form != Form::Text {
                to.send(Told::Line(failure.to_line(rsv.as_deref()))).await?;
            }
        }
        Ok(())
    }
}

/// Passes a stream on as it arrives, and says what came of it.
async fn pass(
    mut stream: Stream,
    form: Form,
    to: &Sender<Told>,
) -> Result<(Option<Object>, Option<Failure>), Gone> {
    let mut ended = true;
    if form == Form::Text {
        stream.forget();
    }
    while let Some(Ok(piece)) = stream.next().await {
        for event in piece.events {
            if form == Form::Text {
                text(event.text(), &mut ended, to).await?;
            } else if let Some(event) = stream.line(event) {
                to.send(line(&event)).await?;
            }
        }
    }
    end(ended, to).await?;
    let end = stream.end();
    Ok((end.response.filter(|_| form != Form::Text), end.failure))
}

/// Tells a text; `ended` is whether what was told before ended its line.
async fn text(text: String, ended: &mut bool, to: &Sender<Told>) -> Result<(), Gone> {
    if !text.is_empty() {
        *ended = text.ends_with('\n');
        to.send(Told::Text(text)).await?;
    }
    Ok(())
}

/// Ends the line of a text, unless it did so itself.
async fn end(ended: bool, to: &Sender<Told>) -> Result<(), Gone> {
    if ended { Ok(()) } else { to.send(Told::Text("\n".to_owned())).await }
}

fn line(object: &Object) -> Told {
    Told::Line(object.to_json() + "\n")
}

fn answered(response: &Object) -> String {
    let rsv = response.object("rsv").ok().flatten().unwrap_or_default();
    let member = |name| rsv.get(name).unwrap_or("null").to_owned();
    format!("{} answered {} in {} ms", member("provider"), member("status"), member("latency_ms"))
}

/// Puts a scope into a request that has none.
fn put(scope: &Scope, request: &mut Object) {
    if let Ok(rsv) = request.object("rsv") {
        let mut rsv = rsv.unwrap_or_default();
        if !rsv.has("partition") && !rsv.has("instance") {
            rsv.set_text("partition", &scope.partition);
            rsv.set_text("instance", &scope.instance);
            request.set("rsv", rsv.to_json());
        }
    }
}
