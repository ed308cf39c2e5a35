//! The time limit of a check.

use std::time::Duration;

/// The time limit for the answer of a provider, a database server, or the proxy.
pub(super) const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
