//! The locks of the proxy. None is taken while another one is held, so that no order of them is to be kept.
//! Only those of a connection and of the embedder are held for longer: while the store writes, and while a
//! model is loaded.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also one that a panicking thread held: `proxy.rs` says why that is safe.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
