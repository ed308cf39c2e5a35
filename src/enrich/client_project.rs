//! The project of a client, if it works on this machine in a known directory.

use crate::config::{self, Settings};
use crate::project::Projects;
use crate::record::Scope;
use crate::worktree::{GitProgram, Worktree};

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
        // Without it no file is compared; a tool that needs the partition reports the fault.
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
