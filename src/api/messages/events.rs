//! Writes an answer as the events of Anthropic's Messages.

use super::types::{
    ContentBlock, ContentBlockDelta, Message, MessageDelta, MessageError, MessageStreamEvent, MessageUsage,
};
use crate::api::answer_parts::{AnswerEnd, AnswerHead, AnswerPart, Call};
use crate::api::dialect::EventWriter;
use crate::api::lenient::Tokens;
use crate::record::Object;

/// Writes the events of a message.
pub(super) struct MessageEventWriter {
    /// The approximate tokens of the request.
    prompt_tokens: usize,
    /// The number of the open block.
    index: usize,
    events: Vec<Object>,
}

impl MessageEventWriter {
    pub(super) fn new(prompt_tokens: usize) -> MessageEventWriter {
        MessageEventWriter { prompt_tokens, index: 0, events: Vec::new() }
    }

    fn add(&mut self, event: &MessageStreamEvent) {
        self.events.push(Object::of_value(event));
    }

    fn add_delta(&mut self, stop_reason: Option<&'static str>, usage: MessageUsage) {
        let delta = MessageDelta { stop_reason, stop_sequence: None };
        self.add(&MessageStreamEvent::MessageDelta { delta, usage });
    }
}

impl EventWriter for MessageEventWriter {
    fn begin(&mut self, head: &AnswerHead) {
        let (input, output) = (Tokens(Some(self.prompt_tokens)), Tokens(Some(0)));
        let usage = MessageUsage { input_tokens: input, output_tokens: output, ..MessageUsage::default() };
        self.add(&MessageStreamEvent::MessageStart { message: Message::new(head, Vec::new(), usage) });
    }

    fn open(&mut self, _head: &AnswerHead, part: &AnswerPart) {
        let empty = match part {
            AnswerPart::Text(_) | AnswerPart::Refusal(_) => AnswerPart::Text(String::new()),
            AnswerPart::Call(Call { id, name, .. }) => {
                AnswerPart::Call(Call { id: id.clone(), name: name.clone(), arguments: "{}".to_owned() })
            }
        };
        let content_block = ContentBlock::of(&empty);
        self.add(&MessageStreamEvent::ContentBlockStart { index: self.index, content_block });
    }

    fn extend(&mut self, _head: &AnswerHead, part: &AnswerPart, text: &str) {
        let delta = match part {
            AnswerPart::Call(_) => ContentBlockDelta::InputJsonDelta { partial_json: text },
            _ => ContentBlockDelta::TextDelta { text },
        };
        self.add(&MessageStreamEvent::ContentBlockDelta { index: self.index, delta });
    }

    fn close(&mut self, _head: &AnswerHead, _part: &AnswerPart, _status: &'static str) {
        self.add(&MessageStreamEvent::ContentBlockStop { index: self.index });
        self.index += 1;
    }

    fn finish(&mut self, head: &AnswerHead, end: &AnswerEnd) {
        // The count of the beginning holds if the provider counts nothing.
        let none = MessageUsage { output_tokens: Tokens(Some(0)), ..MessageUsage::default() };
        self.add_delta(Some(end.stop_reason), head.usage.as_ref().map_or(none, MessageUsage::from));
        self.add(&MessageStreamEvent::MessageStop);
    }

    fn fail(&mut self, head: &AnswerHead, is_begun: bool, message: &str) {
        if let Some(usage) = head.usage.as_ref().filter(|_| is_begun) {
            self.add_delta(None, usage.into());
        }
        self.add(&MessageStreamEvent::Error { error: MessageError { r#type: "api_error", message } });
    }

    fn take(&mut self) -> Vec<Object> {
        std::mem::take(&mut self.events)
    }
}
