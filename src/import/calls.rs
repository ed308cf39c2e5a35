//! Calls of tools, each of which becomes an action once its result is there, or once the next question shows that it was
//! interrupted.

use super::conversation::ImportedMessage;
use crate::api::{self, CalledTool, ToolOutcome};
use crate::record::{Object, Role};

/// The calls without a result.
#[derive(Default)]
pub(super) struct OpenCalls(Vec<OpenCall>);

struct OpenCall {
    called: CalledTool,
    /// Milliseconds since 1970, UTC.
    time: Option<i64>,
    /// The turn that it belongs to.
    trace_id: Option<String>,
}

impl OpenCalls {
    pub(super) fn begin(&mut self, called: CalledTool, time: Option<i64>, trace_id: Option<String>) {
        self.0.push(OpenCall { called, time, trace_id });
    }

    /// The action of the call that has an id; none if no open call has it.
    pub(super) fn end(&mut self, program: &str, id: &str, outcome: &ToolOutcome) -> Option<ImportedMessage> {
        let at = self.0.iter().position(|open| open.called.id == id)?;
        self.0.remove(at).finish(program, Some(outcome))
    }

    /// Takes a message with a call of a tool, or with a result: then the action of its call is complete.
    pub(super) fn take(&mut self, program: &str, message: &ImportedMessage) -> Option<ImportedMessage> {
        if let Some(id) = &message.tool_call_id {
            return self.end(program, id, &ToolOutcome { text: message.text.clone(), failed: None });
        }
        let calls: Vec<Object> = serde_json::from_str(message.tool_calls.as_ref()?).ok()?;
        for call in calls {
            let function = call.object("function").ok().flatten()?;
            let text = |of: &Object, member: &str| of.text(member).ok().flatten().unwrap_or_default();
            let (name, arguments) = (text(&function, "name"), text(&function, "arguments"));
            let called = CalledTool { id: text(&call, "id"), name, arguments };
            self.begin(called, message.time, message.trace_id.clone());
        }
        None
    }

    /// The actions of the calls that no result has followed, which are open no longer.
    pub(super) fn interrupt(&mut self, program: &str) -> Vec<ImportedMessage> {
        self.0.drain(..).filter_map(|open| open.finish(program, None)).collect()
    }
}

impl OpenCall {
    fn finish(self, program: &str, outcome: Option<&ToolOutcome>) -> Option<ImportedMessage> {
        let action = api::action(Some(program), &self.called, outcome)?;
        let OpenCall { time, trace_id, .. } = self;
        Some(ImportedMessage {
            action: Some(action),
            time,
            trace_id,
            ..ImportedMessage::new(Role::Assistant, "")
        })
    }
}
