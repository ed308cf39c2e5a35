//! Questions with their answers, as OpenAI's files for fine-tuning have them: a line each.

use crate::record::{Role, Scope, StoredRecord, quote};
use std::collections::HashMap;

/// Pairs the messages of a walk, which come by time.
#[derive(Default)]
pub struct FineTuning {
    /// The trace and the text of the last question of each scope.
    questions: HashMap<Scope, (String, String)>,
}

impl FineTuning {
    /// Appends the line of an answer, if the message is the first one to a question.
    pub fn message(&mut self, message: &StoredRecord, out: &mut Vec<u8>) {
        if message.text.is_empty() {
            return;
        }
        match message.role {
            Some(Role::User) => {
                let question = (message.trace_id.clone(), message.text.clone());
                self.questions.insert(message.scope.clone(), question);
            }
            Some(Role::Assistant) => {
                let question = self.questions.remove(&message.scope);
                if let Some((_, question)) = question.filter(|(trace, _)| *trace == message.trace_id) {
                    let (question, answer) = (quote(&question), quote(&message.text));
                    let line = format!(
                        "{{\"messages\":[{{\"role\":\"user\",\"content\":{question}}},{{\"role\":\"assistant\",\"content\":{answer}}}]}}\n"
                    );
                    out.extend_from_slice(line.as_bytes());
                }
            }
            _ => {}
        }
    }
}
