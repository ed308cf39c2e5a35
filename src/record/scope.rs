//! The scope of a record: a partition (a project, a person) and an instance in it (a task, a device).

use super::PartitionFilter;
use super::error::RecordError;
use crate::error::Result;
use std::fmt;

/// One partition and instance. A scope sees nothing of another unless the user asks for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Scope {
    pub partition: String,
    pub instance: String,
}

/// The name of a partition or an instance where none is given.
const DEFAULT_NAME: &str = "default";

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.partition, self.instance)
    }
}

impl Scope {
    /// The scope to write to: a missing instance has the partition's name; with neither, default/default; an
    /// instance alone is in partition default. Fails if a name is empty.
    pub fn new(partition: Option<&str>, instance: Option<&str>) -> Result<Scope> {
        for (member, value) in [("partition", partition), ("instance", instance)] {
            if value == Some("") {
                return Err(RecordError::UnnamedScope { member }.into());
            }
        }
        let partition = partition.unwrap_or(DEFAULT_NAME);
        let instance = instance.unwrap_or(partition);
        Ok(Scope { partition: partition.to_owned(), instance: instance.to_owned() })
    }

    /// Whether its instance is the one of a partition that is named alone.
    pub fn is_of_partition_alone(&self) -> bool {
        self.instance == self.partition
    }
}

/// How far recall reaches around the scope of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Its instance alone.
    Instance,
    /// Every instance of its partition.
    Partition,
}

impl Reach {
    /// By its name in the settings and in lines.
    pub fn named(name: &str) -> Option<Reach> {
        [Reach::Instance, Reach::Partition].into_iter().find(|reach| reach.name() == name)
    }

    /// Its name in the settings and in lines.
    pub fn name(self) -> &'static str {
        match self {
            Reach::Instance => "instance",
            Reach::Partition => "partition",
        }
    }

    /// The scopes around one.
    pub fn around(self, scope: &Scope) -> Scopes {
        match self {
            Reach::Instance => Scopes::One(scope.clone()),
            Reach::Partition => Scopes::Partition(scope.partition.clone()),
        }
    }
}

/// The scope of a request, to which its turn is written, and the reach of its recall.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestScope {
    pub scope: Scope,
    pub reach: Reach,
}

impl RequestScope {
    /// By the names that the caller gives. A partition alone asks for all of it. Fails if one is empty.
    pub fn named(partition: Option<&str>, instance: Option<&str>) -> Result<RequestScope> {
        let reach = match (partition, instance) {
            (Some(_), None) => Reach::Partition,
            _ => Reach::Instance,
        };
        Ok(RequestScope { scope: Scope::new(partition, instance)?, reach })
    }

    /// The scopes that it reads.
    pub fn scopes(&self) -> Scopes {
        self.reach.around(&self.scope)
    }
}

/// The scopes that a tool reads.
#[derive(Clone, PartialEq, Debug)]
pub enum Scopes {
    /// The whole store.
    All,
    /// Every instance of some partitions.
    Matching(PartitionFilter),
    /// Every instance of a partition.
    Partition(String),
    /// One partition and instance.
    One(Scope),
}

impl Scopes {
    /// The scopes that rsv-search and rsv-view read: a partition alone means all of it, nothing
    /// default/default. Fails if one is empty.
    pub fn to_read(partition: Option<&str>, instance: Option<&str>) -> Result<Scopes> {
        Ok(RequestScope::named(partition, instance)?.scopes())
    }

    /// The partition, if they are of one.
    pub fn partition(&self) -> Option<&str> {
        match self {
            Scopes::All | Scopes::Matching(_) => None,
            Scopes::Partition(partition) => Some(partition),
            Scopes::One(scope) => Some(&scope.partition),
        }
    }

    /// Whether a scope is one of these.
    pub fn contains(&self, scope: &Scope) -> bool {
        match self {
            Scopes::All => true,
            Scopes::Matching(filter) => filter.contains(&scope.partition),
            Scopes::Partition(partition) => *partition == scope.partition,
            Scopes::One(one) => one == scope,
        }
    }

    /// The scopes that the tools for the whole store cover: everything, unless narrowed.
    pub fn to_cover(partition: Option<&str>, instance: Option<&str>) -> Result<Scopes> {
        match (partition, instance) {
            (None, None) => Ok(Scopes::All),
            _ => Scopes::to_read(partition, instance),
        }
    }
}
