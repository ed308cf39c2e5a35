//! Where the store is, and how to sign in there.

use super::{Secret, Settings};
use std::path::Path;
use std::time::Duration;

/// The place of a store.
#[derive(Clone, Debug)]
pub struct StorePlace {
    /// `sqlite:PATH`, or the address of a Neo4j server.
    pub address: String,
    pub server: Server,
}

/// How to speak to a database server, if the store is on one.
#[derive(Clone, Debug)]
pub struct Server {
    pub user: String,
    pub password: Secret,
    /// Unset, the server's default.
    pub database: Option<String>,
    /// How many connections are open at most.
    pub connections: usize,
    /// How long to wait for a connection.
    pub patience: Duration,
    /// How long to wait for the answer to a query.
    pub query_patience: Duration,
}

impl Server {
    /// As the settings say.
    pub(super) fn of(settings: &Settings) -> Server {
        let Server { user, password, database, connections, patience, query_patience } = Server::default();
        let most = settings.integer("neo4j_max_connections").and_then(|most| usize::try_from(most).ok());
        Server {
            user: settings.text("neo4j_user").unwrap_or(user),
            password: settings.secret("neo4j_password").unwrap_or(password),
            database: settings.text("neo4j_database").or(database),
            connections: most.unwrap_or(connections),
            patience: settings.duration("neo4j_connection_timeout").unwrap_or(patience),
            query_patience: settings.duration("neo4j_query_timeout").unwrap_or(query_patience),
        }
    }
}

impl StorePlace {
    /// The file, if the store is one.
    pub fn path(&self) -> Option<&Path> {
        self.address.strip_prefix("sqlite:").map(Path::new)
    }

    /// A place that has no server: that of a file.
    pub fn file(path: &Path) -> StorePlace {
        StorePlace { address: format!("sqlite:{}", path.display()), server: Server::default() }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server {
            user: "neo4j".to_owned(),
            password: Secret::new(""),
            database: None,
            connections: 20,
            patience: Duration::from_secs(30),
            query_patience: Duration::from_secs(60),
        }
    }
}
