//! Calls of tools, each of which becomes an action once its result is there, or once the next question shows
//! that it was interrupted.

use super::contents::text_or_empty;
use super::conversation::ImportedMessage;
use crate::api::{self, CalledTool, ToolOutcome};
use crate::record::{Object, Role};

/// The calls without a result.
#[derive(Default)]
pub(super) struct OpenCalls {
    calls: Vec<OpenCall>,
    places: Places,
}

/// The places of calls among those of their time, which come one after the other.
#[derive(Default)]
pub(super) struct Places(Option<(Option<i64>, u32)>);

impl Places {
    /// The place of the next call, which is of a time.
    pub(super) fn next(&mut self, time: Option<i64>) -> u32 {
        let seq = self.0.filter(|last| last.0 == time).map_or(0, |last| last.1 + 1);
        self.0 = Some((time, seq));
        seq
    }
}

struct OpenCall {
    called: CalledTool,
    /// Milliseconds since 1970, UTC.
    time: Option<i64>,
    /// Its place among those of its time.
    seq: u32,
    /// The turn that it belongs to.
    trace_id: Option<String>,
}

impl OpenCalls {
    pub(super) fn begin(&mut self, called: CalledTool, time: Option<i64>, trace_id: Option<String>) {
        let seq = self.places.next(time);
        self.calls.push(OpenCall { called, time, seq, trace_id });
    }

    /// The action of the call that has an id; none if no open call has it.
    pub(super) fn end(&mut self, program: &str, id: &str, outcome: &ToolOutcome) -> Option<ImportedMessage> {
        let at = self.calls.iter().position(|open| open.called.id == id)?;
        self.calls.remove(at).finish(program, Some(outcome))
    }

    /// Takes a message with a call of a tool, or with a result: then the action of its call is complete.
    /// `failed` is as in [`ToolOutcome`].
    pub(super) fn take(
        &mut self,
        program: &str,
        message: &ImportedMessage,
        failed: Option<bool>,
    ) -> Option<ImportedMessage> {
        if let Some(id) = &message.tool_call_id {
            return self.end(program, id, &ToolOutcome { text: message.text.clone(), failed });
        }
        let calls: Vec<Object> = serde_json::from_str(message.tool_calls.as_ref()?).ok()?;
        for call in calls {
            let function = call.valid_object("function")?;
            let (name, arguments) = (text_or_empty(&function, "name"), text_or_empty(&function, "arguments"));
            let called = CalledTool { id: text_or_empty(&call, "id"), name, arguments };
            self.begin(called, message.time, message.trace_id.clone());
        }
        None
    }

    /// The actions of the calls that no result has followed, which are open no longer.
    pub(super) fn interrupt(&mut self, program: &str) -> Vec<ImportedMessage> {
        self.calls.drain(..).filter_map(|open| open.finish(program, None)).collect()
    }
}

impl OpenCall {
    fn finish(self, program: &str, outcome: Option<&ToolOutcome>) -> Option<ImportedMessage> {
        let action = api::action(Some(program), &self.called, outcome)?;
        let OpenCall { time, seq, trace_id, .. } = self;
        Some(ImportedMessage {
            action: Some(action),
            time,
            seq,
            trace_id,
            ..ImportedMessage::new(Role::Assistant, "")
        })
    }
}
