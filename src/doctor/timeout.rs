//! How long a check waits.

use std::time::Duration;

/// How long a check waits for a provider, a database server, or the proxy.
pub(super) const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
