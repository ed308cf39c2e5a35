//! One line of a pipe: a request is answered in the chosen format; any other line passes unchanged.

use super::{Caller, Event, Failure, Forwarder, Stream};
use crate::chat::GrowingText;
use crate::error::Error;
use crate::lines::LocatedObject;
use crate::record::{Clock, Line, Object, Scope};
use tokio::sync::mpsc::Sender;

/// The format of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerFormat {
    /// As one line, when it is complete.
    Whole,
    /// A line for each event as it comes, then the whole.
    Stream,
    /// The text of the first choice, as it comes, and nothing else.
    Text,
}

/// One output for a line; a line may have several, in order.
#[derive(Debug)]
pub enum LineOutput {
    /// A line for the next tool, with its end.
    Line(String),
    /// Some of the text of an answer.
    Text(String),
    /// A request without an answer, or with a part of one.
    Fault(Error),
    /// A detail, for `-v`.
    Detail(String),
}

/// The receiver is gone.
type ReceiverGone = tokio::sync::mpsc::error::SendError<LineOutput>;

impl Forwarder {
    /// Answers a line. `scope` is for a request that has none. Ends early if the receiver is gone.
    pub async fn line(
        &self,
        LocatedObject { location: place, object }: LocatedObject,
        format: AnswerFormat,
        scope: Option<&Scope>,
        clock: &Clock,
        to: &Sender<LineOutput>,
    ) -> Result<(), ReceiverGone> {
        let mut request = match Line::parse(object.clone()) {
            Ok(Line::Request(request)) => request,
            Ok(Line::Response(response)) if format == AnswerFormat::Text => {
                let (mut text, mut ended) = (GrowingText::default(), true);
                Event::Whole(response).push_text(&mut text);
                send_text(text.into_text(), &mut ended, to).await?;
                return end_line(ended, to).await;
            }
            Ok(_) if format == AnswerFormat::Text => return Ok(()),
            Ok(_) => return to.send(output_line(&object)).await,
            Err(fault) => return to.send(LineOutput::Fault(fault.at(place))).await,
        };
        if let Some(scope) = scope {
            set_default_scope(scope, &mut request);
        }
        let rsv = request.get("rsv").map(str::to_owned);
        let (response, failure) = match format {
            AnswerFormat::Whole => match self.whole(request, &Caller::default(), clock).await {
                Ok((response, _)) => (Some(response), None),
                Err(failure) => (None, Some(failure)),
            },
            AnswerFormat::Stream | AnswerFormat::Text => {
                match self.stream(request, &Caller::default(), clock).await {
                    Ok(stream) => send_stream(stream, format, to).await?,
                    Err(failure) => (None, Some(failure)),
                }
            }
        };
        if let Some(response) = response {
            to.send(LineOutput::Detail(format!("{place}: {}", answer_summary(&response)))).await?;
            to.send(output_line(&response)).await?;
        }
        if let Some(failure) = failure {
            to.send(LineOutput::Fault(Error::from(failure.clone()).at(place))).await?;
            if format != AnswerFormat::Text {
                to.send(LineOutput::Line(failure.to_line(rsv.as_deref()))).await?;
            }
        }
        Ok(())
    }
}

/// Sends a stream as it arrives, and returns its outcome.
async fn send_stream(
    mut stream: Stream,
    format: AnswerFormat,
    to: &Sender<LineOutput>,
) -> Result<(Option<Object>, Option<Failure>), ReceiverGone> {
    let (mut text, mut ended) = (GrowingText::default(), true);
    if format == AnswerFormat::Text {
        stream.discard_answer();
    }
    while let Some(Ok(piece)) = stream.next().await {
        for event in piece.events {
            if format == AnswerFormat::Text {
                event.push_text(&mut text);
                send_text(text.take(), &mut ended, to).await?;
            } else if let Some(event) = stream.line(event) {
                to.send(output_line(&event)).await?;
            }
        }
    }
    send_text(text.into_text(), &mut ended, to).await?;
    end_line(ended, to).await?;
    let end = stream.end();
    Ok((end.response.filter(|_| format != AnswerFormat::Text), end.failure))
}

/// Sends a text; `ended` is whether the text so far ended its line.
async fn send_text(text: String, ended: &mut bool, to: &Sender<LineOutput>) -> Result<(), ReceiverGone> {
    if !text.is_empty() {
        *ended = text.ends_with('\n');
        to.send(LineOutput::Text(text)).await?;
    }
    Ok(())
}

/// Ends the line of a text, unless the text ended it.
async fn end_line(ended: bool, to: &Sender<LineOutput>) -> Result<(), ReceiverGone> {
    if ended { Ok(()) } else { to.send(LineOutput::Text("\n".to_owned())).await }
}

fn output_line(object: &Object) -> LineOutput {
    LineOutput::Line(object.to_json() + "\n")
}

fn answer_summary(response: &Object) -> String {
    let rsv = response.valid_object("rsv").unwrap_or_default();
    let member = |name| rsv.get(name).unwrap_or("null").to_owned();
    format!("{} answered {} in {} ms", member("provider"), member("status"), member("latency_ms"))
}

/// Puts a scope into a request that has none. Sending it reports a `rsv` that is no object.
fn set_default_scope(scope: &Scope, request: &mut Object) {
    if let Ok(rsv) = request.object("rsv") {
        let mut rsv = rsv.unwrap_or_default();
        if !rsv.has("partition") && !rsv.has("instance") {
            rsv.set_text("partition", &scope.partition);
            rsv.set_text("instance", &scope.instance);
            request.set("rsv", rsv.to_json());
        }
    }
}
