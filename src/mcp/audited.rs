//! The effect of a request of the protocol on the memory, for the audit of a server.

use super::tool_table::{Effect, PROJECT, TOOLS};
use crate::record::{AuditAction, Object};

/// The methods beside calls of tools that read what is stored.
const READING: [&str; 3] = ["prompts/get", "resources/list", "resources/read"];

/// A request that has to do with what is stored.
#[derive(Clone, Debug)]
pub struct AuditedCall {
    pub action: AuditAction,
    /// The name of the tool, else the method.
    pub name: &'static str,
    /// The partition, if the call names one.
    pub project: Option<String>,
}

impl AuditedCall {
    /// Reads a request; `None` if it does nothing with what is stored.
    pub fn read(body: &[u8]) -> Option<AuditedCall> {
        let request = Object::parse_bytes(body).ok()?;
        let method = request.text("method").ok()??;
        if let Some(name) = READING.into_iter().find(|name| *name == method) {
            return Some(AuditedCall { action: AuditAction::Read, name, project: None });
        }
        let params = request.object("params").ok()?.filter(|_| method == "tools/call")?;
        let called = params.text("name").ok()??;
        let tool = TOOLS.iter().find(|tool| tool.name == called)?;
        let arguments = params.valid_object("arguments").unwrap_or_default();
        let action = match tool.effect {
            Effect::Reads => AuditAction::Read,
            Effect::Adds => AuditAction::Write,
            Effect::Removes => AuditAction::Forget,
        };
        let project = arguments.valid_text(PROJECT.name);
        Some(AuditedCall { action, name: tool.name, project })
    }
}
