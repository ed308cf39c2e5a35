//! `GET /v1/models`: the models of every provider, in one list.

use crate::http::RelayRequest;
use crate::provider::{CallerKeys, Target};
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpResponse, Upstream, response};
use crate::record::Object;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Duration;

/// The time limit for a provider.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Lists models.
pub(in crate::proxy) struct ModelsApi {
    config: Arc<ProxyConfig>,
    upstream: Arc<Upstream>,
}

impl ModelsApi {
    /// Lists the models of the providers that `upstream` knows.
    pub(in crate::proxy) fn new(config: &Arc<ProxyConfig>, upstream: &Arc<Upstream>) -> ModelsApi {
        ModelsApi { config: config.clone(), upstream: upstream.clone() }
    }

    /// The models of the providers for which there is a key in the settings or one that is kept for the
    /// caller, or that need none. A key that the caller sends goes to none of them: only the name of a model
    /// would tell whose it is.
    pub(in crate::proxy) async fn list(&self, keys: &CallerKeys) -> HttpResponse {
        let keys = &keys.kept_alone();
        let targets = self.upstream.all().into_iter().filter(|target| match target.key(keys) {
            Ok(key) => key.is_some() || ["ollama", "custom"].contains(&target.name()),
            Err(_) => false,
        });
        let targets: Vec<Target> = targets.collect();
        let lists = join_all(targets.iter().map(|target| self.models_of(target, keys))).await;
        let mut models = Vec::new();
        let mut failed = Vec::new();
        for (target, list) in targets.iter().zip(lists) {
            match list {
                Ok(list) => models.extend(list.into_iter().filter_map(|model| self.entry(target, model))),
                Err(why) => {
                    let title = target.title();
                    self.config.diagnostics.detail(format_args!("{title} lists no models: {why}"));
                    failed.push((target, why));
                }
            }
        }
        let is_wanted =
            |target: &Target| target.name() != "ollama" || self.config.settings.is_set("ollama_base_url");
        match failed.iter().find(|(target, _)| is_wanted(target)) {
            Some((target, why)) if failed.len() == targets.len() => {
                let text = format!("no provider lists its models; {}: {why}", target.title());
                response::error(StatusCode::BAD_GATEWAY, "provider_unreachable", &text)
            }
            _ => {
                let models = crate::chat::array(&models);
                response::json(StatusCode::OK, format!("{{\"object\":\"list\",\"data\":{models}}}\n"))
            }
        }
    }

    /// The models of a provider, with all that it says of them, in its order and spelling: hence no derived
    /// struct.
    async fn models_of(&self, target: &Target, keys: &CallerKeys) -> Result<Vec<Object>, String> {
        let address = target.sibling("models", None);
        let address = address.ok_or("its address names chat completions only")?;
        let list = async {
            let sent = self.upstream.send(target, &address, keys, RelayRequest::get()).await;
            let response = sent.map_err(|failure| failure.message)?;
            if !response.status().is_success() {
                return Err(format!("it answered {}", response.status()));
            }
            let body = Limited::new(response.into_body(), self.config.settings.max_line()).collect().await;
            let body = body.map_err(|e| e.to_string())?.to_bytes();
            let models = Object::parse_bytes(&body).and_then(|body| body.objects("data"));
            models.map_err(|e| e.to_string())?.ok_or_else(|| "data: is missing".to_owned())
        };
        let list = tokio::time::timeout(LIST_TIMEOUT, list).await;
        list.unwrap_or_else(|_| Err(format!("it did not answer within {LIST_TIMEOUT:?}")))
    }

    /// The entry of a model, under a name by which it is found: its own, or that with the provider's before
    /// it. `None` if it is found by neither.
    fn entry(&self, target: &Target, mut model: Object) -> Option<Object> {
        let id = model.valid_text("id")?;
        let is_found = |name: &String| {
            self.upstream.target_of(name).is_ok_and(|found| found.address() == target.address())
        };
        let name = [format!("{}/{id}", target.name()), id].into_iter().rev().find(is_found)?;
        model.set_text("id", &name);
        model.set_text("owned_by", target.name());
        Some(model)
    }
}
