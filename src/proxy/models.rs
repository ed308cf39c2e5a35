//! `GET /v1/models`: those of every provider, in one list.

use super::Proxy;
use super::answer::{self, Answer};
use crate::http::{self, Passing};
use crate::provider::Target;
use crate::record::Object;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use std::time::Duration;

/// How long a provider may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Proxy {
    /// The models of the providers that have a key of the settings or need none. The caller's key goes to none of
    /// them: whose it is only the name of a model would tell.
    pub(super) async fn models(&self) -> Answer {
        let asked = self.upstream.all().into_iter().filter(|target| match target.key(None) {
            Ok(key) => key.is_some() || ["ollama", "custom"].contains(&target.name()),
            Err(_) => false,
        });
        let asked: Vec<Target> = asked.collect();
        let answers = http::all(asked.iter().map(|target| self.models_of(target))).await;
        let mut models = Vec::new();
        let mut failed = Vec::new();
        for (target, told) in asked.iter().zip(answers) {
            match told {
                Ok(told) => models.extend(told.into_iter().filter_map(|model| self.listed(target, model))),
                Err(why) => {
                    self.notes.detail(format_args!("{} lists no models: {why}", target.title()));
                    failed.push((target, why));
                }
            }
        }
        let wanted = |target: &Target| target.name() != "ollama" || self.settings.is_set("ollama_base_url");
        match failed.iter().find(|(target, _)| wanted(target)) {
            Some((target, why)) if failed.len() == asked.len() => {
                let text = format!("no provider lists its models; {}: {why}", target.title());
                answer::error(StatusCode::BAD_GATEWAY, "provider_unreachable", &text)
            }
            _ => {
                let models = crate::chat::array(&models);
                answer::json(StatusCode::OK, format!("{{\"object\":\"list\",\"data\":{models}}}\n"))
            }
        }
    }

    async fn models_of(&self, target: &Target) -> Result<Vec<Object>, String> {
        let address = target.beside("models", None);
        let address = address.ok_or("its address names chat completions only")?;
        let asked = async {
            let sent = self.upstream.send(target, &address, None, Passing::get()).await;
            let response = sent.map_err(|failure| failure.message)?;
            if !response.status().is_success() {
                return Err(format!("it answered {}", response.status()));
            }
            let body = Limited::new(response.into_body(), self.settings.max_line()).collect().await;
            let body = body.map_err(|e| e.to_string())?.to_bytes();
            let models = Object::parse_bytes(&body).and_then(|body| body.objects("data"));
            models.map_err(|e| e.to_string())?.ok_or_else(|| "data: is missing".to_owned())
        };
        let told = tokio::time::timeout(PATIENCE, asked).await;
        told.unwrap_or_else(|_| Err(format!("it did not answer within {PATIENCE:?}")))
    }

    /// A model as it is listed: by a name that leads to its provider, which may have to begin with that of the
    /// provider; `None` where neither does.
    fn listed(&self, target: &Target, mut model: Object) -> Option<Object> {
        let id = model.text("id").ok().flatten()?;
        let leads =
            |name: &String| self.upstream.of(name).is_ok_and(|found| found.address() == target.address());
        let name = [format!("{}/{id}", target.name()), id].into_iter().rev().find(leads)?;
        model.set_text("id", &name);
        model.set_text("owned_by", target.name());
        Some(model)
    }
}
