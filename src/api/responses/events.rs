//! Writes an answer as the events of OpenAI's Responses.

use super::types::{
    OutputContent, OutputItem, PartPlace, RepeatedMembers, Response, ResponseError,
    ResponseStreamEvent as Event, item_id, text_argument,
};
use crate::api::answer_parts::{AnswerEnd, AnswerHead, AnswerPart, COMPLETED, Call};
use crate::api::dialect::{EventWriter, Translation};
use crate::record::Object;

/// The status of a growing part.
const IN_PROGRESS: &str = "in_progress";

/// Writes the events of a response.
pub(super) struct ResponseEventWriter {
    text_tools: Vec<String>,
    repeated: Option<RepeatedMembers>,
    /// The number of the next event.
    sequence: usize,
    /// The items that are complete.
    items: Vec<OutputItem>,
    events: Vec<Object>,
}

impl ResponseEventWriter {
    pub(super) fn new(translation: Translation) -> ResponseEventWriter {
        let Translation { text_tools, repeated, .. } = translation;
        ResponseEventWriter { text_tools, repeated, sequence: 0, items: Vec::new(), events: Vec::new() }
    }

    fn takes_text(&self, call: &Call) -> bool {
        self.text_tools.contains(&call.name)
    }

    fn item(&self, head: &AnswerHead, part: &AnswerPart, status: &'static str) -> OutputItem {
        OutputItem::new(head, self.items.len(), part, &self.text_tools, status)
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

    fn add(&mut self, event: &Event) {
        self.events.push(Object::of_value(event));
        self.sequence += 1;
    }
}

impl EventWriter for ResponseEventWriter {
    fn begin(&mut self, head: &AnswerHead) {
        let end = AnswerEnd::new("", []);
        let mut response = Response::new(head, &[], self.repeated.as_ref(), &end);
        (response.status, response.usage) = (IN_PROGRESS, None);
        let events = [
            Event::Created { sequence_number: self.sequence, response: &response },
            Event::InProgress { sequence_number: self.sequence + 1, response: &response },
        ];
        self.events.extend(events.iter().map(Object::of_value));
        self.sequence += events.len();
    }

    fn open(&mut self, head: &AnswerHead, part: &AnswerPart) {
        let mut empty = part.clone();
        empty.text_mut().clear();
        let mut item = self.item(head, &empty, IN_PROGRESS);
        if let OutputItem::Message { content, .. } = &mut item {
            content.clear();
        }
        let (sequence_number, output_index) = (self.sequence, self.items.len());
        self.add(&Event::OutputItemAdded { sequence_number, output_index, item: &item });
        if let Some(part) = OutputContent::of(&empty) {
            self.add(&Event::ContentPartAdded { place: self.place(head, &empty), part });
        }
    }

    fn extend(&mut self, head: &AnswerHead, part: &AnswerPart, delta: &str) {
        let place = self.place(head, part);
        self.add(&match part {
            AnswerPart::Text(_) => Event::OutputTextDelta { place, delta, logprobs: [] },
            AnswerPart::Refusal(_) => Event::RefusalDelta { place, delta },
            // The input of the tool is in the arguments, and is known when they are whole.
            AnswerPart::Call(call) if self.takes_text(call) => return,
            AnswerPart::Call(_) => Event::FunctionCallArgumentsDelta { place, delta },
        });
    }

    fn close(&mut self, head: &AnswerHead, part: &AnswerPart, status: &'static str) {
        let place = self.place(head, part);
        match part {
            AnswerPart::Text(text) => self.add(&Event::OutputTextDone { place, text, logprobs: [] }),
            AnswerPart::Refusal(refusal) => self.add(&Event::RefusalDone { place, refusal }),
            AnswerPart::Call(call) if self.takes_text(call) => {
                let input = &*text_argument(&call.arguments);
                self.add(&Event::CustomToolCallInputDelta { place, delta: input });
                self.add(&Event::CustomToolCallInputDone { place: self.place(head, part), input });
            }
            AnswerPart::Call(Call { name, arguments, .. }) => {
                self.add(&Event::FunctionCallArgumentsDone { place, name, arguments });
            }
        }
        if let Some(content) = OutputContent::of(part) {
            self.add(&Event::ContentPartDone { place: self.place(head, part), part: content });
        }
        let item = self.item(head, part, status);
        let (sequence_number, output_index) = (self.sequence, self.items.len());
        self.add(&Event::OutputItemDone { sequence_number, output_index, item: &item });
        self.items.push(item);
    }

    fn finish(&mut self, head: &AnswerHead, end: &AnswerEnd) {
        let (sequence_number, items) = (self.sequence, std::mem::take(&mut self.items));
        let repeated = self.repeated.take();
        let response = &Response::new(head, &items, repeated.as_ref(), end);
        self.add(&match end.status() {
            COMPLETED => Event::Completed { sequence_number, response },
            _ => Event::Incomplete { sequence_number, response },
        });
    }

    fn fail(&mut self, head: &AnswerHead, is_begun: bool, message: &str) {
        if !is_begun {
            // A client reads no failure of a response that it does not know.
            self.begin(head);
        }
        let (repeated, items) = (self.repeated.take(), std::mem::take(&mut self.items));
        let mut response = Response::new(head, &items, repeated.as_ref(), &AnswerEnd::new("", []));
        response.status = "failed";
        response.error = Some(ResponseError { code: "server_error", message });
        response.usage = response.usage.filter(|_| head.usage.is_some());
        self.add(&Event::Failed { sequence_number: self.sequence, response: &response });
    }

    fn take(&mut self) -> Vec<Object> {
        std::mem::take(&mut self.events)
    }
}
