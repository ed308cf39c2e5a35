//! What a response line stores: the user's turn or what tools gave, the answer and the account.

use super::Ingest;
use crate::chat::{self, Rsv, fence};
use crate::error::Result;
use crate::record::{Draft, Object, Record, Role};

impl Ingest {
    /// The records of a response line. Without `rsv.user` that is the answer alone; an answer with neither
    /// words nor tool calls is not stored.
    pub(super) fn turn(&mut self, response: &Object) -> Result<Vec<Record>> {
        let rsv = response.get("rsv").map_or(Ok(Rsv::default()), Rsv::parse)?;
        if rsv.is_answered_here() {
            return Ok(rsv.account.map(Record::Account).into_iter().collect());
        }
        let mut answer = chat::answer(response)?;
        // Whatever the provider calls itself.
        answer.set_text("role", Role::Assistant.name());
        // A turn without a trace of its own still is one trace.
        let trace_id = match rsv.trace_id.clone().or_else(|| self.options.trace_id.clone()) {
            Some(trace) => trace,
            None => crate::record::id::fresh(&self.clock, &response.to_json())?,
        };
        let scoped = |message: Object| -> Result<Draft> {
            let mut draft = Draft::of_body(message)?;
            (draft.partition, draft.instance) = (rsv.partition.clone(), rsv.instance.clone());
            draft.trace_id = Some(trace_id.clone());
            Ok(draft)
        };
        let asked =
            rsv.account.as_ref().map(|account| account.timestamp).filter(|asked| *asked < self.clock.now());
        let mut records = Vec::new();
        for said in rsv.user.iter().chain(&rsv.tools) {
            let mut draft = scoped(said.clone())?;
            draft.timestamp = asked;
            // An answer to nothing, or to a recalled block alone, is the answer alone.
            draft.content = fence::strip(draft.content);
            if draft.says_something() {
                records.push(Record::Message(self.complete(draft)?));
            }
        }
        let mut draft = scoped(answer)?;
        if draft.says_something() {
            for (name, json) in [("model", response.get("model")), ("partial", rsv.more.get("partial"))] {
                if let Some(json) = json.filter(|json| *json != "null") {
                    draft.extra.set(name, json);
                }
            }
            records.push(Record::Message(self.complete(draft)?));
        }
        records.extend(rsv.account.map(Record::Account));
        Ok(records)
    }
}
