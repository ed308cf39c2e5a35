//! Writes an answer as the events of OpenAI's Responses.

use super::types::{
    OutputContent, OutputItem, PartPlace, Response, ResponseError, ResponseStreamEvent, item_id,
    text_argument,
};
use crate::api::answer_parts::{AnswerEnd, AnswerHead, AnswerPart, COMPLETED, Call};
use crate::api::dialect::{EventWriter, Translation};
use crate::record::Object;

/// The status of a growing part.
const IN_PROGRESS: &str = "in_progress";

/// Writes the events of a response.
pub(super) struct ResponseEventWriter {
    translation: Translation,
    /// The number of the next event.
    sequence: usize,
    /// The items that are complete.
    items: Vec<OutputItem>,
    events: Vec<Object>,
}

impl ResponseEventWriter {
    pub(super) fn new(translation: Translation) -> ResponseEventWriter {
        ResponseEventWriter { translation, sequence: 0, items: Vec::new(), events: Vec::new() }
    }

    fn takes_text(&self, call: &Call) -> bool {
        self.translation.text_tools.contains(&call.name)
    }

    /// The response so far.
    fn response<'a>(&'a self, head: &'a AnswerHead, end: &AnswerEnd) -> Response<'a> {
        Response::new(head, &self.items, self.translation.repeated.as_ref(), end)
    }

    fn item(&self, head: &AnswerHead, part: &AnswerPart, status: &'static str) -> OutputItem {
        OutputItem::new(head, self.items.len(), part, &self.translation.text_tools, status)
    }

    /// The place of the next event, about the open part.
    fn place(&self, head: &AnswerHead, part: &AnswerPart) -> PartPlace {
        PartPlace {
            sequence_number: self.sequence,
            item_id: item_id(head, self.items.len(), part),
            output_index: self.items.len(),
            content_index: (!matches!(part, AnswerPart::Call(_))).then_some(0),
        }
    }

    fn add(&mut self, event: Object) {
        self.events.push(event);
        self.sequence += 1;
    }

    /// Adds the event that `make` makes of the place of the open part.
    fn add_of<'a>(
        &mut self,
        head: &AnswerHead,
        part: &AnswerPart,
        make: impl FnOnce(PartPlace) -> ResponseStreamEvent<'a>,
    ) {
        self.add(Object::of_value(&make(self.place(head, part))));
    }
}

impl EventWriter for ResponseEventWriter {
    fn begin(&mut self, head: &AnswerHead) {
        let end = AnswerEnd::new("", []);
        let mut begun = self.response(head, &end);
        (begun.status, begun.usage) = (IN_PROGRESS, None);
        let (first, second) = (self.sequence, self.sequence + 1);
        let created = ResponseStreamEvent::Created { sequence_number: first, response: &begun };
        let in_progress = ResponseStreamEvent::InProgress { sequence_number: second, response: &begun };
        let (created, in_progress) = (Object::of_value(&created), Object::of_value(&in_progress));
        self.add(created);
        self.add(in_progress);
    }

    fn open(&mut self, head: &AnswerHead, part: &AnswerPart) {
        let mut empty = part.clone();
        empty.text_mut().clear();
        let mut item = self.item(head, &empty, IN_PROGRESS);
        if let OutputItem::Message { content, .. } = &mut item {
            content.clear();
        }
        let (sequence_number, output_index) = (self.sequence, self.items.len());
        self.add(Object::of_value(&ResponseStreamEvent::OutputItemAdded {
            sequence_number,
            output_index,
            item: &item,
        }));
        if let Some(part) = OutputContent::of(&empty) {
            self.add_of(head, &empty, |place| ResponseStreamEvent::ContentPartAdded { place, part });
        }
    }

    fn extend(&mut self, head: &AnswerHead, part: &AnswerPart, text: &str) {
        let delta = text;
        match part {
            AnswerPart::Text(_) => self.add_of(head, part, |place| ResponseStreamEvent::OutputTextDelta {
                place,
                delta,
                logprobs: [],
            }),
            AnswerPart::Refusal(_) => {
                self.add_of(head, part, |place| ResponseStreamEvent::RefusalDelta { place, delta });
            }
            // The input of the tool is in the arguments, and is known when they are whole.
            AnswerPart::Call(call) if self.takes_text(call) => {}
            AnswerPart::Call(_) => self
                .add_of(head, part, |place| ResponseStreamEvent::FunctionCallArgumentsDelta { place, delta }),
        }
    }

    fn close(&mut self, head: &AnswerHead, part: &AnswerPart, status: &'static str) {
        match part {
            AnswerPart::Text(text) => self.add_of(head, part, |place| ResponseStreamEvent::OutputTextDone {
                place,
                text,
                logprobs: [],
            }),
            AnswerPart::Refusal(refusal) => {
                self.add_of(head, part, |place| ResponseStreamEvent::RefusalDone { place, refusal });
            }
            AnswerPart::Call(call) if self.takes_text(call) => {
                let input = &*text_argument(&call.arguments);
                self.add_of(head, part, |place| ResponseStreamEvent::CustomToolCallInputDelta {
                    place,
                    delta: input,
                });
                self.add_of(head, part, |place| ResponseStreamEvent::CustomToolCallInputDone {
                    place,
                    input,
                });
            }
            AnswerPart::Call(Call { name, arguments, .. }) => {
                self.add_of(head, part, |place| ResponseStreamEvent::FunctionCallArgumentsDone {
                    place,
                    name,
                    arguments,
                });
            }
        }
        if let Some(content) = OutputContent::of(part) {
            self.add_of(head, part, |place| ResponseStreamEvent::ContentPartDone { place, part: content });
        }
        let item = self.item(head, part, status);
        let (sequence_number, output_index) = (self.sequence, self.items.len());
        self.add(Object::of_value(&ResponseStreamEvent::OutputItemDone {
            sequence_number,
            output_index,
            item: &item,
        }));
        self.items.push(item);
    }

    fn finish(&mut self, head: &AnswerHead, end: &AnswerEnd) {
        let (sequence_number, response) = (self.sequence, &self.response(head, end));
        let event = match end.status() {
            COMPLETED => ResponseStreamEvent::Completed { sequence_number, response },
            _ => ResponseStreamEvent::Incomplete { sequence_number, response },
        };
        let event = Object::of_value(&event);
        self.add(event);
    }

    fn fail(&mut self, head: &AnswerHead, is_begun: bool, message: &str) {
        if !is_begun {
            // A client reads no failure of a response that it does not know.
            self.begin(head);
        }
        let mut failed = self.response(head, &AnswerEnd::new("", []));
        failed.status = "failed";
        failed.error = Some(ResponseError { code: "server_error", message });
        failed.usage = failed.usage.filter(|_| head.usage.is_some());
        let failed = ResponseStreamEvent::Failed { sequence_number: self.sequence, response: &failed };
        let failed = Object::of_value(&failed);
        self.add(failed);
    }

    fn take(&mut self) -> Vec<Object> {
        std::mem::take(&mut self.events)
    }
}
