//! The locks of the proxy.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also one that a panicking thread held: `proxy.rs` says why that is safe.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
