//! The descriptors that the proxy may have. A turn needs several, and the usual soft limit of 1,024 is for
//! programs that call `select`. Clients and answers of providers wait for each other's, so that none fails
//! for lack of them.

use crate::http::{self, MAX_IDLE_TIME};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fmt;
use tokio::sync::Semaphore;

/// The descriptors that are neither connections of clients nor answers of providers: of the store, of models,
/// of event loops, and idle connections to providers.
const RESERVE: u64 = 128;
/// The HTTP clients for providers: one for turns, one for all else.
const CLIENTS: usize = 2;

/// The limits that follow from the limit of descriptors.
#[derive(Clone, Copy)]
pub struct ConnectionLimits {
    pub(in crate::proxy) descriptors: Option<u64>,
    /// The greatest number of clients.
    pub(in crate::proxy) clients: usize,
    /// The greatest number of answers of providers in transit.
    pub(in crate::proxy) answers: usize,
    /// The greatest number of idle connections to a provider.
    pub(in crate::proxy) idle: usize,
}

impl ConnectionLimits {
    /// Shares the descriptors, after raising the limit: clients are at most `max_clients`.
    pub(in crate::proxy) fn claim(max_clients: usize) -> ConnectionLimits {
        raise_limit();
        let descriptors = current_limit().current;
        let share = descriptors.map_or(usize::MAX, share);
        let answers = Semaphore::MAX_PERMITS.min(share);
        let idle = CLIENTS * http::max_idle_of_server(answers);
        ConnectionLimits { descriptors, clients: max_clients.min(share), answers, idle }
    }
}

impl fmt::Display for ConnectionLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConnectionLimits { descriptors, clients, answers, idle } = self;
        let seconds = MAX_IDLE_TIME.as_secs();
        match descriptors {
            Some(descriptors) => write!(f, "{descriptors} descriptors: ")?,
            None => write!(f, "no limit of descriptors: ")?,
        }
        write!(
            f,
            "at most {clients} connections of clients, and {answers} requests to providers, at once; \
             at most {idle} idle connections to a provider, for {seconds} s"
        )
    }
}

/// The descriptors for either kind.
fn share(descriptors: u64) -> usize {
    let rest = descriptors - RESERVE.min(descriptors / 2);
    usize::try_from(rest / 2).unwrap_or(usize::MAX).max(1)
}

/// Raises the soft limit to the hard one.
fn raise_limit() {
    let limit = current_limit();
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Some systems refuse, and the soft limit stays.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// The limits of this process.
pub(in crate::proxy) fn current_limit() -> Rlimit {
    getrlimit(Resource::Nofile)
}

/// Runs `start` with the limits of `other`, for a process that inherits them.
pub(in crate::proxy) fn with_limit<T>(other: &Rlimit, start: impl FnOnce() -> T) -> T {
    let own = current_limit();
    // The hard limit stays: an unprivileged process could not raise it again.
    let lowered = Rlimit { current: other.current, maximum: own.maximum };
    // Where the system refuses, the process has the limits of this one.
    let _ = setrlimit(Resource::Nofile, lowered);
    let started = start();
    let _ = setrlimit(Resource::Nofile, own);
    started
}
