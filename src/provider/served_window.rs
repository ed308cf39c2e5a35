//! The context window with which a server runs a model. Ollama silently truncates requests that are longer
//! than its `num_ctx`, and its default is far below the window of most models, so rsv queries it.

use super::{Providers, Target};
use crate::config::Settings;
use crate::error::Result;
use crate::http::BlockingClient;
use crate::record::Object;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Ollama's `num_ctx` where none is set (its FAQ, "How can I specify the context window size?").
const DEFAULT_NUM_CTX: usize = 4096;
/// The time for which an answer is cached: a model may be reloaded with another window.
const CACHE_TTL: Duration = Duration::from_secs(60);
/// The time limit for Ollama's answer.
const OLLAMA_TIMEOUT: &str = "500ms";
/// The longest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Asks Ollama for windows, and caches them.
pub struct ServedWindows {
    /// None if an address is invalid, which `Forwarder` reports.
    providers: Option<Providers>,
    cache: Mutex<WindowCache>,
}

/// Ollama's answer to `/api/ps`.
#[derive(Deserialize)]
struct RunningModels {
    models: Vec<RunningModel>,
}

#[derive(Deserialize)]
struct RunningModel {
    name: Option<String>,
    model: Option<String>,
    /// In tokens.
    context_length: Option<usize>,
}

/// Ollama's answer to `/api/show`.
#[derive(Deserialize)]
struct ShownModel {
    /// Those of its Modelfile, a line each.
    parameters: Option<String>,
    /// In the order of the model's file.
    model_info: Option<Object>,
}

struct WindowCache {
    client: BlockingClient,
    windows: HashMap<String, (Instant, Option<usize>)>,
}

impl ServedWindows {
    /// Takes addresses from the settings; nothing is opened yet.
    pub fn new(settings: &Settings) -> Result<ServedWindows> {
        let mut quick = settings.clone();
        quick.set_override("request_timeout", "request_timeout", OLLAMA_TIMEOUT)?;
        quick.set_override("connect_timeout", "connect_timeout", OLLAMA_TIMEOUT)?;
        let cache = WindowCache { client: BlockingClient::new(&quick), windows: HashMap::new() };
        Ok(ServedWindows { providers: Providers::new(settings).ok(), cache: Mutex::new(cache) })
    }

    /// The window of a model in tokens, if Ollama serves and reports it. Blocks: not for a thread that runs
    /// an event loop.
    pub fn get(&self, model: &str) -> Option<usize> {
        let target =
            self.providers.as_ref()?.target(model).ok().filter(|target| target.name() == "ollama")?;
        // Held while Ollama is asked, so that many turns at once ask it once.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, window)) = cache.windows.get(&target.model)
            && at.elapsed() < CACHE_TTL
        {
            return *window;
        }
        let window = cache.ask(&target);
        cache.windows.insert(target.model.clone(), (Instant::now(), window));
        window
    }
}

impl WindowCache {
    /// The window of the running model, else the one that Ollama would load it with.
    fn ask(&mut self, target: &Target) -> Option<usize> {
        let name = &target.model;
        let running = self.get(target, "/api/ps")?;
        let same = |named: &String| named == name || named.strip_suffix(":latest") == Some(name);
        let runs = running.models.iter().find(|model| model.name.iter().chain(&model.model).any(same));
        if let Some(window) = runs.and_then(|model| model.context_length).filter(|n| *n > 0) {
            return Some(window);
        }
        let mut question = Object::default();
        question.set_text("model", name);
        let shown = self.show(target, question)?;
        let parameters = shown.parameters.unwrap_or_default();
        let set = parameters.lines().filter_map(|line| line.trim().strip_prefix("num_ctx"));
        let set = set.filter_map(|value| value.trim().parse().ok()).next_back();
        let most = shown.model_info.and_then(|info| {
            let (_, window) = info.iter().find(|(name, _)| name.ends_with(".context_length"))?;
            window.parse().ok().filter(|n| *n > 0)
        });
        Some(set.unwrap_or(DEFAULT_NUM_CTX).min(most.unwrap_or(usize::MAX)))
    }

    fn get(&mut self, target: &Target, path: &str) -> Option<RunningModels> {
        let address = target.address().clone().with_path(path);
        let reply = self.client.get(&address, target.own_key().ok()?, MAX_ANSWER_BYTES).ok()?;
        serde_json::from_slice(&reply.body.bytes).ok().filter(|_| reply.status == 200)
    }

    fn show(&mut self, target: &Target, question: Object) -> Option<ShownModel> {
        let address = target.address().clone().with_path("/api/show");
        let body = question.to_json().into_bytes();
        let reply = self.client.post(&address, target.own_key().ok()?, body, MAX_ANSWER_BYTES).ok()?;
        serde_json::from_slice(&reply.body.bytes).ok().filter(|_| reply.status == 200)
    }
}
