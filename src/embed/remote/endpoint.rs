//! The endpoint that `embed.via` names, and its requests.

use super::super::input_type::InputType;
use crate::config::{Secret, Settings};
use crate::embed::error::EmbedError;
use crate::error::Result;
use crate::http::Address;
use crate::record::quote;

/// The protocol of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EmbeddingApi {
    /// `/v1/embeddings` as OpenAI has it.
    OpenAi,
    /// `/api/embed`.
    Ollama,
    /// `/v1/embeddings` of rsv-proxy, which words questions and answers for its model itself.
    Proxy,
}

/// A server, and the key that it is sent.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) kind: EmbeddingApi,
    pub(super) address: Address,
    pub(super) key: Option<Secret>,
    /// The setting that has the address, for hints.
    pub(super) setting: &'static str,
    /// The variable that has the key, for hints.
    pub(super) key_variable: Option<String>,
}

impl Endpoint {
    /// The server that the settings name; `None` if they name none. Errors if it is no address, or if a key
    /// is missing or would go to another machine in the clear.
    pub(super) fn from_settings(settings: &Settings) -> Result<Option<Endpoint>> {
        let endpoint = match settings.text("embed.via").as_deref() {
            None | Some("local") => return Ok(None),
            Some("proxy") => proxy(settings)?,
            Some("openai") => Endpoint {
                kind: EmbeddingApi::OpenAi,
                address: embeddings_address(configured(settings, "openai_base_url")?, "/v1", "/embeddings"),
                key: settings.secret("openai_api_key"),
                setting: "openai_base_url",
                key_variable: Some("OPENAI_API_KEY".to_owned()),
            },
            Some("ollama") => Endpoint {
                kind: EmbeddingApi::Ollama,
                address: embeddings_address(configured(settings, "ollama_base_url")?, "", "/api/embed"),
                key: settings.secret("ollama_api_key"),
                setting: "ollama_base_url",
                key_variable: None,
            },
            Some(text) => named(settings, text)?,
        };
        endpoint.check().map(Some)
    }

    fn check(self) -> Result<Endpoint> {
        let address = &self.address;
        match (&self.key, &self.key_variable) {
            (None, Some(variable)) => {
                Err(EmbedError::NoKey { address: self.address, variable: variable.clone() }.into())
            }
            (Some(_), _) if address.is_plaintext() && !address.is_loopback() => {
                Err(EmbedError::Plaintext { address: self.address, setting: self.setting }.into())
            }
            _ => Ok(self),
        }
    }

    /// The greatest number of texts, and of bytes, in one request. OpenAI takes 2048 texts of together 300
    /// 000 tokens, none of which is shorter than a byte; other servers compute while the client waits.
    pub(super) fn limits(&self) -> (usize, usize) {
        match self.kind {
            EmbeddingApi::OpenAi => (2048, 256 << 10),
            EmbeddingApi::Ollama | EmbeddingApi::Proxy => (64, 256 << 10),
        }
    }

    /// The body of a request. Ollama would cut a long text without a word; `base64` is a third of the bytes.
    pub(super) fn request(
        &self,
        model: &str,
        texts: &[&str],
        input_type: InputType,
        base64: bool,
    ) -> Vec<u8> {
        let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
        let more = match (self.kind, input_type) {
            (EmbeddingApi::Ollama, _) => ",\"truncate\":false",
            (_, _) if !base64 => "",
            (EmbeddingApi::OpenAi, _) => ",\"encoding_format\":\"base64\"",
            (EmbeddingApi::Proxy, InputType::Query) => {
                ",\"encoding_format\":\"base64\",\"input_type\":\"query\""
            }
            (EmbeddingApi::Proxy, InputType::Passage) => {
                ",\"encoding_format\":\"base64\",\"input_type\":\"passage\""
            }
        };
        format!("{{\"model\":{},\"input\":[{}]{more}}}", quote(model), texts.join(",")).into_bytes()
    }
}

fn configured(settings: &Settings, setting: &str) -> Result<Address> {
    settings.check(setting)?;
    Address::parse(&settings.text(setting).unwrap_or_default()).map_err(|e| e.at(setting))
}

fn proxy(settings: &Settings) -> Result<Endpoint> {
    let host = settings.text("reservoir_host").unwrap_or_else(|| "127.0.0.1".to_owned());
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let port = settings.integer("reservoir_port").unwrap_or(3017);
    let address = Address::parse(&format!("http://{host}:{port}/v1/embeddings"));
    Ok(Endpoint {
        kind: EmbeddingApi::Proxy,
        address: address.map_err(|e| e.at("reservoir_host"))?,
        key: None,
        setting: "reservoir_port",
        key_variable: None,
    })
}

fn named(settings: &Settings, text: &str) -> Result<Endpoint> {
    if !text.contains("://") {
        return Err(EmbedError::NotAServer { text: text.to_owned() }.into());
    }
    let address = Address::parse(text).map_err(|e| e.at("embed.via"))?;
    let ollama = address.path().ends_with("/api/embed");
    let key_variable = settings.text("embed.key_variable");
    Ok(Endpoint {
        kind: if ollama { EmbeddingApi::Ollama } else { EmbeddingApi::OpenAi },
        address: if ollama { address } else { embeddings_address(address, "/v1", "/embeddings") },
        key: key_variable.as_ref().and_then(|name| settings.variable(name)),
        setting: "embed.via",
        key_variable,
    })
}

/// The address for embeddings, derived from the address of the chat completions, or from a base address with
/// or without `/v1`. Any other address is used unchanged.
fn embeddings_address(address: Address, version: &str, endpoint: &str) -> Address {
    let path = address.path().trim_end_matches('/');
    let base = path.strip_suffix("/chat/completions").unwrap_or(path);
    match base.strip_suffix("/v1") {
        Some(root) => address.clone().with_path(&format!("{root}{version}{endpoint}")),
        None if base.is_empty() => address.clone().with_path(&format!("{version}{endpoint}")),
        None if base != path => address.clone().with_path(&format!("{base}{endpoint}")),
        None => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;
    use crate::config;

    /// The site of these lines of a settings' file.
    fn endpoint(lines: &str) -> Result<Option<Endpoint>> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rsv.toml");
        std::fs::write(&file, lines).unwrap();
        let common = Common { config: Some(file), ..Common::default() };
        Endpoint::from_settings(&config::load(&common).unwrap())
    }

    #[test]
    fn an_address_is_found_from_every_setting() {
        for (lines, kind, address) in [
            ("embed.via = 'proxy'", EmbeddingApi::Proxy, "http://127.0.0.1:3017/v1/embeddings"),
            (
                "embed.via = 'proxy'\nreservoir_host = '::1'\nreservoir_port = 9",
                EmbeddingApi::Proxy,
                "http://[::1]:9/v1/embeddings",
            ),
            ("embed.via = 'ollama'", EmbeddingApi::Ollama, "http://localhost:11434/api/embed"),
            (
                "embed.via = 'ollama'\nollama_base_url = 'https://h/x/v1'",
                EmbeddingApi::Ollama,
                "https://h/x/api/embed",
            ),
            (
                "embed.via = 'ollama'\nollama_base_url = 'http://h'",
                EmbeddingApi::Ollama,
                "http://h/api/embed",
            ),
            ("embed.via = 'http://h'", EmbeddingApi::OpenAi, "http://h/v1/embeddings"),
            ("embed.via = 'http://h/v1/'", EmbeddingApi::OpenAi, "http://h/v1/embeddings"),
            ("embed.via = 'http://h/v1/embeddings'", EmbeddingApi::OpenAi, "http://h/v1/embeddings"),
            ("embed.via = 'https://h/openai/v1?x=1'", EmbeddingApi::OpenAi, "https://h/openai/v1/embeddings"),
            (
                "embed.via = 'https://h/v1beta/openai/chat/completions'",
                EmbeddingApi::OpenAi,
                "https://h/v1beta/openai/embeddings",
            ),
            ("embed.via = 'https://h/other'", EmbeddingApi::OpenAi, "https://h/other"),
            ("embed.via = 'http://h:1/api/embed'", EmbeddingApi::Ollama, "http://h:1/api/embed"),
        ] {
            let endpoint = endpoint(lines).unwrap().unwrap();
            assert_eq!((endpoint.kind, endpoint.address.to_string().as_str()), (kind, address), "{lines}");
        }
        assert!(endpoint("").unwrap().is_none() && endpoint("embed.via = 'local'").unwrap().is_none());
    }

    #[test]
    fn a_key_is_asked_for_and_goes_nowhere_in_the_clear() {
        let error_text = |lines| endpoint(lines).err().map(|e| e.to_string());
        // HOME is a variable that exists, and holds no secret.
        let with_key = "\nembed.key_variable = 'HOME'";
        for (lines, error) in [
            ("embed.via = 'http://h'", None),
            ("embed.via = 'https://h'\nembed.key_variable = 'HOME'", None),
            ("embed.via = 'http://127.0.0.1:1'\nembed.key_variable = 'HOME'", None),
            (
                "embed.via = 'https://h'\nembed.key_variable = 'RSV_NOT_SET'",
                Some("no key for https://h/v1/embeddings: RSV_NOT_SET is not set"),
            ),
            ("embed.via = 'Remote'", Some("embed.via: \"Remote\" is not a server")),
            (
                "embed.via = 'ftp://h'",
                Some("embed.via: invalid address: expected http://HOST or https://HOST"),
            ),
        ] {
            assert_eq!(error_text(lines).as_deref(), error, "{lines}");
        }
        let plain = error_text(&format!("embed.via = 'http://u:pw@h'{with_key}")).unwrap();
        assert_eq!(plain, "the key for http://h/v1/embeddings would be sent there in the clear");
    }

    #[test]
    fn each_kind_is_asked_in_its_own_words() {
        let body = |kind, input_type, base64| {
            let address = Address::parse("http://h").unwrap();
            let endpoint = Endpoint { kind, address, key: None, setting: "", key_variable: None };
            String::from_utf8(endpoint.request("m", &["a\"", "b"], input_type, base64)).unwrap()
        };
        let all = r#"{"model":"m","input":["a\"","b"]"#;
        for (kind, input_type, base64, more) in [
            (EmbeddingApi::OpenAi, InputType::Query, true, r#","encoding_format":"base64"}"#),
            (EmbeddingApi::OpenAi, InputType::Query, false, "}"),
            (EmbeddingApi::Ollama, InputType::Query, true, r#","truncate":false}"#),
            (
                EmbeddingApi::Proxy,
                InputType::Query,
                true,
                r#","encoding_format":"base64","input_type":"query"}"#,
            ),
            (
                EmbeddingApi::Proxy,
                InputType::Passage,
                true,
                r#","encoding_format":"base64","input_type":"passage"}"#,
            ),
        ] {
            assert_eq!(body(kind, input_type, base64), format!("{all}{more}"));
        }
    }
}
