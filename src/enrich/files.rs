//! Marks recalled messages that name files or commits of the client's project which are not as they were.

use super::candidate::{Block, Candidate};
use crate::worktree::{DatedText, Worktree};
use std::time::Duration;

/// Notes the files and commits that messages among candidates name, as they are quoted, and that are not as
/// they were when these were written. Git takes at most `limit`.
pub(super) fn check(candidates: &mut [Candidate], worktree: &Worktree, limit: Duration) {
    let mut messages: Vec<&mut Candidate> =
        candidates.iter_mut().filter(|candidate| candidate.block() == Block::Messages).collect();
    let texts: Vec<DatedText> = messages
        .iter()
        .map(|candidate| DatedText { text: &candidate.record.text, since: candidate.record.timestamp })
        .collect();
    let states = worktree.states(&texts, limit);
    for (message, files) in messages.iter_mut().zip(states) {
        message.files = files;
    }
}
