//! Whether all is there that the tools need, and what to do where it is not.

mod files;
mod installed;
mod network;

pub use installed::TOOLS;

use crate::cli::{Common, Io, Layout, Notes, Outcome, Style};
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::record::Object;
use crate::view::visible;
use std::time::Duration;

/// How long anybody else may take: a provider, a database server, the proxy.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What was found of one thing.
#[derive(Clone, Debug)]
pub struct Finding {
    check: &'static str,
    state: State,
    told: String,
    remedy: Option<String>,
}

/// How it is with one thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ok,
    /// The tools do their work without it; it may be wanted.
    Advice,
    /// Something needs doing.
    Trouble,
}

impl Finding {
    /// That a thing is as it must be.
    pub fn ok(check: &'static str, told: impl Into<String>) -> Finding {
        Finding { check, state: State::Ok, told: told.into(), remedy: None }
    }

    /// What may be wanted.
    pub fn advice(check: &'static str, error: &Error) -> Finding {
        Finding { state: State::Advice, ..Finding::trouble(check, error) }
    }

    /// What needs doing.
    pub fn trouble(check: &'static str, error: &Error) -> Finding {
        let remedy = error.remedy().map(str::to_owned);
        Finding { check, state: State::Trouble, told: error.to_string(), remedy }
    }

    /// What was found, or what needs doing.
    pub fn of(check: &'static str, found: Result<String>) -> Finding {
        found.map_or_else(|error| Finding::trouble(check, &error), |told| Finding::ok(check, told))
    }

    /// Whether nothing needs doing.
    pub fn is_good(&self) -> bool {
        self.state != State::Trouble
    }

    /// A line for people, and one more with what helps.
    pub fn to_text(&self, layout: &Layout) -> String {
        let (word, style) = self.state.word();
        let mut text = format!(
            "{}: {}: {}\n",
            self.check,
            layout.paint(style, word),
            visible(&self.told).replace('\n', " ")
        );
        if let Some(remedy) = &self.remedy {
            text.push_str(&format!("  {}\n", visible(remedy)));
        }
        text
    }

    /// As a line of JSON.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("check", self.check);
        line.set_text("state", self.state.word().0);
        line.set_text("found", &self.told);
        if let Some(remedy) = &self.remedy {
            line.set_text("remedy", remedy);
        }
        line
    }
}

impl State {
    fn word(self) -> (&'static str, Style) {
        match self {
            State::Ok => ("ok", Style::Green),
            State::Advice => ("advice", Style::Yellow),
            State::Trouble => ("trouble", Style::Red),
        }
    }
}

/// Looks at everything that a user could have wrong, all at once. Where the settings cannot be read, that comes
/// first, and what depends on them is left out.
pub async fn examine(common: &Common, settings: Result<Settings>, notes: &Notes) -> Vec<Finding> {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => return [vec![Finding::trouble("settings", &error)], installed::examine()].concat(),
    };
    let programs = aside(&settings, |_| installed::examine());
    let (memory, proxy, providers, programs) =
        tokio::join!(memory(&settings, notes), network::proxy(&settings), providers(&settings), programs);
    let own = [Some(files::settings(&settings)), files::secrets(common, &settings)];
    own.into_iter().flatten().chain(memory).chain([proxy]).chain(providers).chain(programs).collect()
}

/// Tells what was found: people in text, programs in lines of JSON. The answer is yes if nothing needs doing.
pub fn tell(found: &[Finding], io: &mut Io) -> Result<Outcome> {
    let layout = io.for_people().then(|| io.layout());
    for finding in found {
        let line = match &layout {
            Some(layout) => finding.to_text(layout),
            None => finding.to_object().to_json() + "\n",
        };
        io.out.write(line.as_bytes())?;
    }
    Ok(if found.iter().all(Finding::is_good) { Outcome::Yes } else { Outcome::No })
}

/// Looks at the settings' keys.
pub fn settings(settings: &Settings) -> Finding {
    files::settings(settings)
}

/// Looks at the store, and at the embedding model.
pub async fn memory(settings: &Settings, notes: &Notes) -> Vec<Finding> {
    let notes = notes.clone();
    aside(settings, move |settings| match hasty(settings) {
        Ok(settings) => files::memory(&settings, &notes),
        Err(error) => vec![Finding::trouble("settings", &error)],
    })
    .await
}

/// The same settings for somebody who does not wait long, and asks once: a server may be what embeds.
fn hasty(settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    let limit = format!("{}s", PATIENCE.as_secs());
    for key in ["connect_timeout", "first_byte_timeout", "idle_timeout", "request_timeout"] {
        settings.overrule(key, key, &limit)?;
    }
    settings.overrule("retries", "retries", "0")?;
    Ok(settings)
}

/// Looks at the providers.
pub async fn providers(settings: &Settings) -> Vec<Finding> {
    network::providers(settings).await
}

/// Does on a thread of its own what may wait.
async fn aside<T: Default + Send + 'static>(
    settings: &Settings,
    work: impl FnOnce(&Settings) -> T + Send + 'static,
) -> T {
    let settings = settings.clone();
    tokio::task::spawn_blocking(move || work(&settings)).await.unwrap_or_default()
}
