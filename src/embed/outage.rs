//! Remembers that a server failed, so that no later question waits for it: in this process, and for the next
//! ones in the cache directory.

use super::error::EmbedError;
use crate::config::EnvironmentPaths;
use crate::error::Error;
use crate::record::{Object, hexadecimal};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The pauses before a server that failed is asked again: each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The last failures of a server.
pub(super) struct Outage {
    /// The file that holds them; `None` without a cache directory.
    file: Option<PathBuf>,
    failure: Option<Failure>,
}

/// Failures one after the other.
struct Failure {
    count: u32,
    /// The time of the last, in milliseconds since 1970, UTC.
    at: u64,
    /// The last error, and what helps.
    cause: String,
    remedy: Option<String>,
}

impl Outage {
    /// The failures of the server at an address, of this process and of earlier ones.
    pub(super) fn of_server(address: &str) -> Outage {
        let digest = &hexadecimal(&Sha256::digest(address))[..16];
        let file =
            EnvironmentPaths::find().cache.map(|cache| cache.join(format!("embedding-server-{digest}.json")));
        // Without a file that can be read, the server is asked.
        let failure = file.as_ref().and_then(|file| Failure::read(&std::fs::read_to_string(file).ok()?));
        Outage { file, failure }
    }

    /// The error of the last attempt, if that failed.
    pub(super) fn error(&self) -> Option<Error> {
        self.failure.as_ref().map(Failure::error)
    }

    /// The time until the server may be asked again.
    pub(super) fn pause(&self) -> Duration {
        let Some(Failure { count, at, .. }) = &self.failure else { return Duration::ZERO };
        let pause = FIRST_PAUSE.saturating_mul(1 << count.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
        // A clock that was set back makes no pause longer.
        let elapsed = Duration::from_millis(now().saturating_sub(*at));
        if now() < *at { Duration::ZERO } else { pause.saturating_sub(elapsed) }
    }

    /// Remembers a failure. One that cannot be written down is forgotten with the process.
    pub(super) fn fail(&mut self, error: &Error) {
        let count = self.failure.as_ref().map_or(0, |failure| failure.count).saturating_add(1);
        let remedy = error.remedy().map(str::to_owned);
        let failure = Failure { count, at: now(), cause: error.to_string(), remedy };
        if let Some(file) = &self.file {
            let _ = file.parent().map(std::fs::create_dir_all);
            let _ = std::fs::write(file, failure.to_json());
        }
        self.failure = Some(failure);
    }

    /// Forgets the failures: the server has answered.
    pub(super) fn end(&mut self) {
        if self.failure.take().is_some()
            && let Some(file) = &self.file
        {
            // Where it stays, the next process only waits before it tries again.
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Failure {
    /// Reads a file; `None` if another program wrote it, or only a part.
    fn read(json: &str) -> Option<Failure> {
        let object = Object::parse(json).ok()?;
        Some(Failure {
            count: u32::try_from(object.integer("failures").ok()??).ok()?,
            at: u64::try_from(object.integer("at").ok()??).ok()?,
            cause: object.text("cause").ok()??,
            remedy: object.text("remedy").ok()?,
        })
    }

    fn to_json(&self) -> String {
        let mut object = Object::default();
        object.set("failures", self.count.to_string());
        object.set("at", self.at.to_string());
        object.set_text("cause", &self.cause);
        if let Some(remedy) = &self.remedy {
            object.set_text("remedy", remedy);
        }
        object.to_json() + "\n"
    }

    fn error(&self) -> Error {
        let error = Error::from(EmbedError::Outage { cause: self.cause.clone() });
        self.remedy.iter().fold(error, Error::hint)
    }
}

/// Milliseconds since 1970, UTC.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
