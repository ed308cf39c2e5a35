//! The part of a turn in the comparison of turns with and without recall, as its account names it.

use super::object::Object;

/// An arm of the comparison of turns with and without recall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arm {
    Recall,
    Holdout,
}

impl Arm {
    pub const ALL: [Arm; 2] = [Arm::Recall, Arm::Holdout];

    /// Its name in accounts.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Recall => "recall",
            Arm::Holdout => "holdout",
        }
    }
}

/// The sign of a turn about a user's turn before it in its conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FollowUp {
    /// It corrects the answer.
    Correction,
    /// It asks the same again.
    Repetition,
}

impl FollowUp {
    pub const ALL: [FollowUp; 2] = [FollowUp::Correction, FollowUp::Repetition];

    /// Its name in accounts.
    pub fn name(self) -> &'static str {
        match self {
            FollowUp::Correction => "correction",
            FollowUp::Repetition => "repetition",
        }
    }
}

/// The part of a turn in the comparison of turns with and without recall.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    pub arm: Arm,
    /// The digest of the conversation, all turns of which are in one arm: 16 hexadecimal digits.
    pub conversation: String,
    pub follow_up: Option<FollowUp>,
}

impl Comparison {
    pub(super) fn parse(members: &Object) -> Option<Comparison> {
        let named = |name| members.valid_text(name);
        let arm = named("arm")?;
        let follow_up = named("follow_up");
        Some(Comparison {
            arm: Arm::ALL.into_iter().find(|one| one.name() == arm)?,
            conversation: named("conversation")?,
            follow_up: FollowUp::ALL.into_iter().find(|one| Some(one.name()) == follow_up.as_deref()),
        })
    }

    pub(super) fn set_members(&self, members: &mut Object) {
        members.set_text("arm", self.arm.name());
        members.set_text("conversation", &self.conversation);
        if let Some(follow_up) = self.follow_up {
            members.set_text("follow_up", follow_up.name());
        }
    }
}
