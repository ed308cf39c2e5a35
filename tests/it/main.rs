//! The tools as their users meet them: the real binaries, in an empty environment.
#![allow(clippy::unwrap_used)]

mod config;
mod fake;
mod forward;
mod papers;
mod proxy;
mod support;
