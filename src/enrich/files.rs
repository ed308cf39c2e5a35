//! Marks recalled messages that name files or commits of the client's project which are not as they were.

use super::candidate::{Block, Candidate};
use crate::config::{self, Settings};
use crate::project::Projects;
use crate::record::Scope;
use crate::worktree::{DatedText, GitProgram, Worktree};
use std::time::Duration;

/// The project of clients that work in the same directory as this process.
#[derive(Clone, Debug)]
pub struct ClientProject {
    partition: String,
    worktree: Worktree,
}

impl ClientProject {
    /// The project that the working directory belongs to, if its partition is decided.
    pub fn here(settings: &Settings) -> Option<ClientProject> {
        let places = settings.places();
        let directory = config::working_directory().ok()?;
        let projects = Projects::open(places.data.as_deref()).ok()?;
        let (partition, root) = projects.known(&directory)?;
        let git = GitProgram::find(&places.programs, places.home);
        Some(ClientProject { partition, worktree: Worktree::new(&root, git)? })
    }

    /// The worktree, if a scope is one of the project.
    pub(super) fn worktree_of(&self, scope: &Scope) -> Option<&Worktree> {
        (self.partition == scope.partition).then_some(&self.worktree)
    }
}

/// Notes the files and commits that messages among candidates name, as they are quoted, and that are not as they were
/// when these were written. Git takes at most `limit`.
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
