//! The location of the store, and the credentials for it.

use super::environment::{EnvironmentPaths, default_store};
use super::error::ConfigError;
use super::settings::Settings;
use super::value::Secret;
use crate::error::Result;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of the uploads for servers, in which each has its own.
const SERVER_SPOOLS: &str = "uploads";

/// The characters that stay as they are in the name of a file.
const IN_FILE_NAMES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The location of a store.
#[derive(Clone, Debug)]
pub struct StoreLocation {
    /// `sqlite:PATH`, or the address of a Neo4j server.
    pub address: String,
    pub server: ServerOptions,
}

/// The options of a connection to a database server, if the store is on one.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub user: String,
    pub password: Secret,
    /// Unset, the server's default.
    pub database: Option<String>,
    /// The greatest number of open connections.
    pub connections: usize,
    /// The longest wait for a connection.
    pub connect_timeout: Duration,
    /// The longest wait for the answer to a query.
    pub query_timeout: Duration,
}

impl ServerOptions {
    /// As the settings say.
    fn from_settings(settings: &Settings) -> ServerOptions {
        let ServerOptions { user, password, database, connections, connect_timeout, query_timeout } =
            ServerOptions::default();
        let most = settings.integer("neo4j_max_connections").and_then(|most| usize::try_from(most).ok());
        ServerOptions {
            user: settings.text("neo4j_user").unwrap_or(user),
            password: settings.secret("neo4j_password").unwrap_or(password),
            database: settings.text("neo4j_database").or(database),
            connections: most.unwrap_or(connections),
            connect_timeout: settings.duration("neo4j_connection_timeout").unwrap_or(connect_timeout),
            query_timeout: settings.duration("neo4j_query_timeout").unwrap_or(query_timeout),
        }
    }
}

impl Settings {
    /// The location of the store: a path becomes `sqlite:PATH`, `neo4j` the server at `neo4j_uri`. Fails if
    /// none is set and no home directory is known.
    pub fn store(&self) -> Result<StoreLocation> {
        let address = match self.text("store") {
            Some(store) if store == "neo4j" => self.text("neo4j_uri").unwrap_or_default(),
            Some(store) if has_scheme(&store) => store,
            Some(path) => format!("sqlite:{path}"),
            None => default_store()?.ok_or(ConfigError::NoHome {
                what: "the store",
                help: "set HOME, XDG_DATA_HOME or RSV_STORE, or give --store PATH",
            })?,
        };
        Ok(StoreLocation { address, server: ServerOptions::from_settings(self) })
    }
}

impl Settings {
    /// The directory of files that are uploaded, until they are stored: each store has its own. It is beside
    /// the store, if that is a file, else one of the server's in the XDG data directory. Fails if no home
    /// directory is known.
    pub fn spool_directory(&self) -> Result<PathBuf> {
        let store = self.store()?;
        if let Some(path) = store.path() {
            // A link may name another file tomorrow.
            let target = if path.is_symlink() { fs::canonicalize(path).ok() } else { None };
            let mut name = target.unwrap_or_else(|| path.to_owned()).into_os_string();
            name.push(".uploads");
            return Ok(name.into());
        }
        let data = EnvironmentPaths::find().data;
        let help = "set HOME or XDG_DATA_HOME";
        let data = data.ok_or(ConfigError::NoHome { what: "the uploads", help })?;
        Ok(data.join(SERVER_SPOOLS).join(store.server_file_name()))
    }
}

impl StoreLocation {
    /// The file, if the store is one.
    pub fn path(&self) -> Option<&Path> {
        self.address.strip_prefix("sqlite:").map(Path::new)
    }

    /// The server and its database as the name of a file, the same for every protocol.
    fn server_file_name(&self) -> String {
        let host = self.address.split_once("://").map_or(&*self.address, |(_, host)| host);
        let host = host.trim_end_matches('/').to_lowercase();
        let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
        let port = if has_port { "" } else { ":7687" };
        let database = self.server.database.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        utf8_percent_encode(&format!("{host}{port}{database}"), IN_FILE_NAMES).to_string()
    }

    /// A place that has no server: that of a file.
    pub fn file(path: &Path) -> StoreLocation {
        StoreLocation { address: format!("sqlite:{}", path.display()), server: ServerOptions::default() }
    }
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            user: "neo4j".to_owned(),
            password: Secret::new(""),
            database: None,
            connections: 20,
            connect_timeout: Duration::from_secs(30),
            query_timeout: Duration::from_secs(60),
        }
    }
}

/// Whether a text begins as an address does (RFC 3986, 3.1): letters, digits, `+`, `-`, `.` and a colon.
fn has_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_an_address_or_a_path() {
        for (given, store) in [
            ("/tmp/a.db", "sqlite:/tmp/a.db"),
            ("a.db", "sqlite:a.db"),
            ("./a:b", "sqlite:./a:b"),
            ("sqlite:/x", "sqlite:/x"),
            ("neo4j+s://h", "neo4j+s://h"),
            ("neo4j", "bolt://localhost:7687"),
        ] {
            let mut settings = Settings::defaults();
            settings.set_override("store", "--store", given).unwrap();
            assert_eq!(settings.store().unwrap().address, store);
        }
    }

    #[test]
    fn a_server_has_one_name_and_no_other_has_it() {
        for (address, database, name) in [
            ("bolt://localhost:7687", None, "localhost%3A7687"),
            ("neo4j+ssc://LOCALHOST/", None, "localhost%3A7687"),
            ("bolt://[::1]", None, "%5B%3A%3A1%5D%3A7687"),
            ("bolt://[::1]:7688", Some("a/b"), "%5B%3A%3A1%5D%3A7688%2Fa%2Fb"),
            ("neo4j://..", None, "..%3A7687"),
        ] {
            let database = database.map(str::to_owned);
            let server = ServerOptions { database, ..ServerOptions::default() };
            let place = StoreLocation { address: address.to_owned(), server };
            assert_eq!(place.server_file_name(), name, "{address}");
        }
    }
}
