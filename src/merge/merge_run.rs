//! Merges the clusters among lines, decides about commits, and prints what comes of them.

use super::{Cluster, by_model, by_rule, decide, decision_requests, requests};
use crate::cli::{BadLines, Io, Source};
use crate::error::Result;
use crate::lines::{LocatedObject, SourceLocation};
use crate::record::{Commit, Object};
use crate::structured::Method;

/// Merges by a method.
pub struct MergeRun {
    method: Method,
    /// The numbers of clusters that were merged and that failed.
    pub done: usize,
    pub failed: usize,
}

impl MergeRun {
    /// A run that has done nothing yet.
    pub fn new(method: Method) -> MergeRun {
        MergeRun { method, done: 0, failed: 0 }
    }

    /// Merges the clusters and decides about the commits among the lines of inputs, of at most `limit` bytes
    /// each. Other lines are passed on.
    pub fn lines(&mut self, sources: Vec<Source>, limit: usize, io: &mut Io) -> Result<()> {
        BadLines::of_each(sources, limit, io, &mut |line, io| self.line(line, io))?.end(io);
        Ok(())
    }

    fn line(&mut self, line: LocatedObject, io: &mut Io) -> Result<Result<()>> {
        let LocatedObject { location, object } = line;
        let failed = if Cluster::is_cluster(&object) {
            match Cluster::parse(&object) {
                Ok(cluster) => return self.merge(&cluster, &location, io).map(Ok),
                Err(error) => error,
            }
        } else if Commit::is_commit(&object) {
            match Commit::parse(object) {
                Ok(commit) => return self.decide(commit, &location, io),
                Err(error) => error,
            }
        } else {
            return print(&object, io).map(Ok);
        };
        self.failed += 1;
        Ok(Err(failed.at(location)))
    }

    /// Prints a commit with the decisions about its memories, or the requests for them. `location` is where
    /// it was read.
    fn decide(&self, commit: Commit, location: &SourceLocation, io: &mut Io) -> Result<Result<()>> {
        let decided = match &self.method {
            Method::EmitRequests(recipient) => decision_requests(&commit).and_then(|requests| {
                requests.iter().try_for_each(|request| print(&request.body(recipient), io))
            }),
            method => {
                let model = if let Method::ByModel(model) = method { Some(&**model) } else { None };
                let decided = decide(commit, model, &mut |why| io.note(format_args!("{location}: {why}")));
                decided.and_then(|decided| print(&decided.into_line(), io))
            }
        };
        match decided {
            Err(error) if error.is_closed() => Err(error),
            decided => Ok(decided.map_err(|error| error.at(location))),
        }
    }

    /// Prints the memory of a cluster, or the requests for it. `location` is where the cluster was read.
    fn merge(&mut self, cluster: &Cluster, location: &SourceLocation, io: &mut Io) -> Result<()> {
        let now = io.clock.now();
        let lines = match &self.method {
            Method::ByRule => Ok(vec![by_rule(cluster, now)]),
            Method::ByModel(model) => by_model(cluster, model, now).map(|memory| vec![memory]),
            Method::EmitRequests(recipient) => {
                let requests = requests(cluster, recipient.name());
                Ok(requests.iter().map(|request| request.body(recipient)).collect())
            }
        };
        match lines {
            Ok(lines) => {
                self.done += 1;
                lines.iter().try_for_each(|line| print(line, io))
            }
            Err(error) => {
                self.failed += 1;
                io.fault(&error.at("not merged").at(location));
                Ok(())
            }
        }
    }
}

/// Prints a line at once, since rsv-ingest may be waiting.
fn print(line: &Object, io: &mut Io) -> Result<()> {
    io.out.object(line)?;
    io.out.flush()
}
