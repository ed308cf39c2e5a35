//! The tools as their users meet them: the real binaries, in an empty environment.
#![allow(clippy::unwrap_used)]

mod config;
mod conversations;
mod door;
mod embed;
mod embed_remote;
mod enrich;
mod enrich_any;
mod enrich_order;
mod enrich_related;
mod enrich_shapes;
mod enrich_trouble;
mod enrich_turns;
mod fake;
mod forward;
mod hub;
mod ingest;
mod levels;
mod link;
mod models;
mod papers;
mod port;
mod proxy;
mod proxy_ollama;
mod proxy_routes;
mod proxy_safety;
mod proxy_storing;
mod proxy_stream;
mod robust;
mod scopes;
mod search;
mod store;
mod stream;
mod support;
mod vectors;
mod view;
