//! The descriptors that the proxy may have. A turn needs several, and the usual soft limit of 1,024 is for programs that
//! call `select`.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one.
pub(super) fn raise_limit() {
    let limit = current_limit();
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Some systems refuse, and the soft limit stays.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// The limits of this process.
pub(super) fn current_limit() -> Rlimit {
    getrlimit(Resource::Nofile)
}

/// Runs `start` with the limits of `other`, for a process that inherits them.
pub(super) fn with_limit<T>(other: &Rlimit, start: impl FnOnce() -> T) -> T {
    let own = current_limit();
    // The hard limit stays: an unprivileged process could not raise it again.
    let lowered = Rlimit { current: other.current, maximum: own.maximum };
    let _ = setrlimit(Resource::Nofile, lowered);
    let started = start();
    let _ = setrlimit(Resource::Nofile, own);
    started
}
