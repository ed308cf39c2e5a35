//! The roles of a conversation.

use super::object::{quote, unexpected};
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The role of a speaker in a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

impl Role {
    /// Every role there is.
    pub const ALL: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];

    /// The names of all roles, for messages.
    pub(crate) const NAMES: &str = "user, assistant, system or tool";

    /// The name in records and in the OpenAI protocol.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Role> {
        Role::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| unexpected("role", Role::NAMES, &quote(text)))
    }
}
