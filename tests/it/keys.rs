//! Which key reaches which provider, by rsv-forward and by rsv-proxy.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, post};
use crate::support::Home;

/// Keys of the shapes that the providers issue.
const OPENAI_KEY: &str = "sk-proj-callers";
const ANTHROPIC_KEY: &str = "sk-ant-callers";
const GEMINI_KEY: &str = "AIzaSyCallers";
const MISTRAL_KEY: &str = "CallersCallersCallersCallers0123";

const OWN_KEYS: [(&str, &str); 5] = [
    ("OPENAI_API_KEY", "own-openai"),
    ("MISTRAL_API_KEY", "own-mistral"),
    ("GEMINI_API_KEY", "own-gemini"),
    ("ANTHROPIC_API_KEY", "own-anthropic"),
    ("CUSTOM_API_KEY", "own-custom"),
];

/// A provider for each of the models, which records the keys that reach it.
struct Providers {
    all: Vec<(&'static str, Fake)>,
}

impl Providers {
    fn start() -> Providers {
        let models =
            ["gpt-4o", "mistral-large", "gemini-2.0-flash", "claude-sonnet-4-5", "custom/m", "llama3"];
        Providers { all: models.map(|model| (model, Fake::answering(|_| Answer::new(200, REPLY)))).into() }
    }

    fn home(&self) -> Home {
        let variables = ["OPENAI", "MISTRAL", "GEMINI", "ANTHROPIC", "CUSTOM", "OLLAMA"];
        { variables.iter() }.zip(&self.all).fold(Home::new(), |home, (name, (_, fake))| {
            home.env(&format!("RSV_{name}_BASE_URL"), &fake.url())
        })
    }

    /// The key that reached the provider of a model, `-` if none; nothing reached another provider.
    fn reached(&self, model: &str, before: usize) -> String {
        let seen: usize = self.all.iter().map(|(_, fake)| fake.seen().len()).sum();
        let (_, fake) = self.all.iter().find(|(other, _)| *other == model).unwrap();
        match seen - before {
            0 => "refused".to_owned(),
            1 => {
                let last = fake.seen().pop().unwrap_or_else(|| panic!("{model} reached another provider"));
                assert_eq!(last.header("x-api-key"), None);
                let key =
                    last.header("authorization").map(|key| key.strip_prefix("Bearer ").unwrap().to_owned());
                key.unwrap_or("-".to_owned())
            }
            _ => panic!("{model} was sent more than once"),
        }
    }

    fn seen(&self) -> usize {
        self.all.iter().map(|(_, fake)| fake.seen().len()).sum()
    }
}

fn ask(model: &str) -> String {
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]}}"#)
}

fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}\r\n")
}

/// The keys that reach the providers of OpenAI's, Mistral's, Gemini's, Anthropic's, a custom and Ollama's model.
fn keys_by_proxy(providers: &Providers, proxy: &Proxy, path: &str, headers: &str) -> Vec<String> {
    let models = providers.all.iter().map(|(model, _)| *model);
    let reached = models.map(|model| {
        let before = providers.seen();
        let (status, body) = proxy.raw(&post(path, headers, &ask(model)));
        let reached = providers.reached(model, before);
        match reached.as_str() {
            "refused" => assert!(status == 401 && body.contains("_API_KEY is not set"), "{status} {body}"),
            _ => assert_eq!(status, 200, "{body}"),
        }
        reached
    });
    reached.collect()
}

/// Keeps: A key is sent only to its provider.
#[test]
fn a_callers_key_reaches_only_the_provider_that_it_is_for() {
    let providers = Providers::start();
    let none = "refused";
    for path in ["/v1/chat/completions", "/v1/responses"] {
        let proxy = Proxy::start(&providers.home());
        for (key, reached) in [
            (OPENAI_KEY, [OPENAI_KEY, none, none, none, "-", "-"]),
            (MISTRAL_KEY, [none, MISTRAL_KEY, none, none, "-", "-"]),
            (GEMINI_KEY, [none, none, GEMINI_KEY, none, "-", "-"]),
            (ANTHROPIC_KEY, [none, none, none, ANTHROPIC_KEY, "-", "-"]),
            (
                "of-no-known-shape",
                ["of-no-known-shape"; 5].into_iter().chain(["-"]).collect::<Vec<_>>().try_into().unwrap(),
            ),
        ] {
            assert_eq!(keys_by_proxy(&providers, &proxy, path, &bearer(key)), reached, "{path} {key}");
        }
        // A key that only fills a field is no key.
        for key in ["not-needed", "not-needed-here", "ollama", "none", "x", ""] {
            let reached = keys_by_proxy(&providers, &proxy, path, &bearer(key));
            assert_eq!(reached, [none, none, none, none, "-", "-"], "{path} {key}");
        }
    }
}

#[test]
fn a_key_of_the_settings_wins_over_one_of_a_foreign_shape() {
    let providers = Providers::start();
    let home = OWN_KEYS.iter().fold(providers.home(), |home, (name, key)| home.env(name, key));
    let proxy = Proxy::start(&home);
    let own = ["own-openai", "own-mistral", "own-gemini", "own-anthropic", "own-custom", "-"];
    for (headers, at, key) in [
        (String::new(), None, ""),
        (bearer("not-needed"), None, ""),
        (bearer("of-no-known-shape"), None, ""),
        (bearer(OPENAI_KEY), Some(0), OPENAI_KEY),
        (bearer(MISTRAL_KEY), Some(1), MISTRAL_KEY),
        (bearer(GEMINI_KEY), Some(2), GEMINI_KEY),
        (bearer(ANTHROPIC_KEY), Some(3), ANTHROPIC_KEY),
        // The header of Anthropic's clients is read for Anthropic only.
        (format!("x-api-key: {ANTHROPIC_KEY}\r\n"), Some(3), ANTHROPIC_KEY),
        (format!("x-api-key: {OPENAI_KEY}\r\n"), None, ""),
    ] {
        let mut wanted = own;
        if let Some(at) = at {
            wanted[at] = key;
        }
        let reached = keys_by_proxy(&providers, &proxy, "/v1/chat/completions", &headers);
        assert_eq!(reached, wanted, "{headers}");
    }
    // A provider's key in the settings is known by its text, whatever its shape.
    let only = Proxy::start(&providers.home().env("OPENAI_API_KEY", "own-openai"));
    let reached = keys_by_proxy(&providers, &only, "/v1/chat/completions", &bearer("own-openai"));
    assert_eq!(reached, ["own-openai", "refused", "refused", "refused", "-", "-"]);
    // It needs no key of its own for one that a client sends in Anthropic's header, of any shape but a foreign one.
    let without = Proxy::start(&providers.home());
    let headers = "x-api-key: of-no-known-shape\r\n";
    let reached = keys_by_proxy(&providers, &without, "/v1/chat/completions", headers);
    assert_eq!(reached, ["refused", "refused", "refused", "of-no-known-shape", "-", "-"]);
}

#[test]
fn a_refusal_says_whose_key_was_sent() {
    let providers = Providers::start();
    let proxy = Proxy::start(&providers.home());
    let sent = |model| proxy.raw(&post("/v1/chat/completions", &bearer(OPENAI_KEY), &ask(model)));
    let (status, body) = sent("mistral-large");
    let said = "no key for Mistral: MISTRAL_API_KEY is not set, and the caller's key is for OpenAI";
    assert!(status == 401 && body.contains(said) && !body.contains(OPENAI_KEY), "{body}");
}

#[test]
fn a_route_may_take_the_callers_key() {
    let (providers, gateway) = (Providers::start(), Fake::answering(|_| Answer::new(200, REPLY)));
    let home = providers.home().env("GATEWAY_KEY", "own-gateway");
    let set = |key: &str, value: &str| home.run("rsv-config", &["set", key, value], "").ok();
    set("routes.'mistral-*'.base_url", &gateway.url());
    set("routes.'mistral-*'.key_variable", "GATEWAY_KEY");
    let reached = |key: &str| {
        let proxy = Proxy::start(&home);
        let (status, body) = proxy.raw(&post("/v1/chat/completions", &bearer(key), &ask("mistral-large")));
        assert_eq!(status, 200, "{body}");
        gateway.seen().pop().unwrap().header("authorization").map(str::to_owned)
    };
    assert_eq!(reached(OPENAI_KEY).as_deref(), Some("Bearer own-gateway"));
    set("routes.'mistral-*'.caller_key", "true");
    assert_eq!(reached(OPENAI_KEY), Some(format!("Bearer {OPENAI_KEY}")));
    assert_eq!(reached("not-needed").as_deref(), Some("Bearer own-gateway"));
    assert_eq!(providers.seen(), 0);
}

#[test]
fn rsv_forward_sends_each_provider_its_own_key() {
    let providers = Providers::start();
    let only = providers.home().env("OPENAI_API_KEY", OPENAI_KEY);
    let every = OWN_KEYS.iter().fold(providers.home(), |home, (name, key)| home.env(name, key));
    let reached = |home: &Home| -> Vec<String> {
        let models = providers.all.iter().map(|(model, _)| *model);
        let reached = models.map(|model| {
            let before = providers.seen();
            home.run("rsv-forward", &[], ask(model));
            providers.reached(model, before)
        });
        reached.collect()
    };
    assert_eq!(reached(&only), [OPENAI_KEY, "refused", "refused", "refused", "-", "-"]);
    let own = ["own-openai", "own-mistral", "own-gemini", "own-anthropic", "own-custom", "-"];
    assert_eq!(reached(&every), own);
    // A local server in OpenAI's place may want any key, and gets the one that is set.
    let placeholder = providers.home().env("OPENAI_API_KEY", "not-needed");
    assert_eq!(reached(&placeholder), ["not-needed", "refused", "refused", "refused", "-", "-"]);
}
