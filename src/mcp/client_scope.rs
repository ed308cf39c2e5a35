//! The scope of a client: that of the flags, else the partition of the project that its root belongs to.

use super::error::McpError;
use super::options::Options;
use crate::config::{self, Settings};
use crate::error::Result;
use crate::project::Projects;
use crate::record::{Scope, Scopes};
use percent_encoding::percent_decode_str;

/// The scope that every call of a client is in.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClientScope {
    /// The partition; `None` is that without a name.
    pub(super) partition: Option<String>,
    /// The instance, if all calls are for one.
    pub(super) instance: Option<String>,
    /// The partitions that a call may name beside it.
    pub(super) projects: Vec<String>,
}

impl ClientScope {
    /// The scope to write to; a session is an instance of the partition.
    pub(super) fn to_write(&self, session: Option<&str>) -> Result<Scope> {
        let instance = match (self.instance.as_deref(), session) {
            (Some(own), Some(session)) if own != session => {
                return Err(McpError::OtherInstance { own: own.to_owned() }.into());
            }
            (own, session) => own.or(session),
        };
        Scope::new(self.partition.as_deref(), instance)
    }

    /// The scopes to read.
    pub(super) fn to_read(&self, session: Option<&str>) -> Result<Scopes> {
        let scope = self.to_write(session)?;
        match session {
            Some(_) => Ok(Scopes::One(scope)),
            None => Scopes::to_read(self.partition.as_deref(), self.instance.as_deref()),
        }
    }

    /// The name of the partition.
    pub(super) fn partition(&self) -> Result<String> {
        self.to_write(None).map(|scope| scope.partition)
    }

    /// The scope of a call that names a project, or none. Errors if it is not allowed, whether or not there
    /// is such a partition.
    pub(super) fn of_project(&self, project: Option<&str>) -> Result<ClientScope> {
        let own = self.partition()?;
        let Some(project) = project.filter(|project| *project != own) else { return Ok(self.clone()) };
        if self.projects.iter().any(|allowed| allowed == project) {
            return Ok(ClientScope { partition: Some(project.to_owned()), ..self.clone() });
        }
        let (project, projects) = (project.to_owned(), self.names(&own).join(", "));
        Err(if self.projects.is_empty() {
            McpError::OtherProject { own, project }.into()
        } else {
            McpError::NoProject { project, projects }.into()
        })
    }

    /// The scopes of all projects that a call may name, the client's own first.
    pub(super) fn all_projects(&self) -> Result<Vec<ClientScope>> {
        let own = self.partition()?;
        self.names(&own).into_iter().map(|project| self.of_project(Some(project))).collect()
    }

    /// The names of the projects, the client's own first.
    fn names<'a>(&'a self, own: &'a str) -> Vec<&'a str> {
        let others = self.projects.iter().map(String::as_str).filter(|project| *project != own);
        std::iter::once(own).chain(others).collect()
    }
}

/// How the scope of a client is found.
#[derive(Clone, Debug)]
pub(super) enum ScopeRule {
    Fixed(ClientScope),
    /// By the root of the client, else by the working directory.
    Root {
        instance: Option<String>,
        projects: Vec<String>,
    },
}

impl ScopeRule {
    /// The rule that the flags give. Errors if a name is empty.
    pub(super) fn new(options: &Options) -> Result<ScopeRule> {
        let Options { partition, instance, by_root, projects, .. } = options.clone();
        Scope::new(partition.as_deref(), instance.as_deref())?;
        Ok(if partition.is_none() && by_root {
            ScopeRule::Root { instance, projects }
        } else {
            ScopeRule::Fixed(ClientScope { partition, instance, projects })
        })
    }
}

/// The partition of the project that the first root that is a directory belongs to; without one, the working
/// directory.
pub(super) fn partition_of(roots: &[String], settings: &Settings) -> Result<String> {
    let directory = match roots.iter().find_map(|uri| directory(uri)) {
        Some(directory) => directory,
        None => config::working_directory()?,
    };
    Projects::open(settings.places().data.as_deref())?.partition(&directory)
}

/// The path of a `file:` URI on this machine (RFC 8089).
fn directory(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file:")?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => rest,
    };
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let path = path.trim_end_matches('/');
    Some(if path.is_empty() { "/".to_owned() } else { path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_directory_of_this_machine() {
        for (uri, wanted) in [
            ("file:///home/ann/my%20notes", Some("/home/ann/my notes")),
            ("file:///home/ann/", Some("/home/ann")),
            ("file://localhost/srv", Some("/srv")),
            ("file:/srv", Some("/srv")),
            ("file:///", Some("/")),
            ("file:///%ff", None),
            ("file://host", None),
            ("https://example.org/a", None),
            ("", None),
        ] {
            assert_eq!(directory(uri).as_deref(), wanted, "{uri}");
        }
    }

    #[test]
    fn a_fixed_instance_admits_no_other_session() {
        let scope =
            ClientScope { partition: Some("p".into()), instance: Some("i".into()), projects: Vec::new() };
        assert!(scope.to_write(Some("j")).is_err() && scope.to_read(Some("j")).is_err());
        let own = Scope { partition: "p".into(), instance: "i".into() };
        assert_eq!(scope.to_write(None).unwrap(), own);
        assert_eq!(scope.to_read(Some("i")).unwrap(), Scopes::One(own));
        let partition = ClientScope { instance: None, ..scope };
        assert_eq!(partition.to_read(None).unwrap(), Scopes::Partition("p".into()));
        assert!(partition.of_project(Some("q")).is_err() && partition.of_project(Some("p")).is_ok());
    }
}
