//! Every setting as one row, and the keys that name them.

use super::error::ConfigError;
use super::value::ValueType::{
    self, Age, Boolean, Choice, Duration, Integer, List, OptionalDuration, Percent, Real, Secret, Store,
    Text, Url, Variable,
};
use crate::error::{Error, Result};
use std::fmt;

/// One setting. A `*` in the key stands for any name: of a model, a partition, a pattern.
#[derive(Debug)]
pub(super) struct SettingRow {
    pub(super) key: &'static str,
    /// The environment variables: the first that is set wins, the others are aliases.
    pub(super) variables: &'static [&'static str],
    pub(super) kind: ValueType,
    /// As it would be set; the default of `store` depends on the home directory.
    pub(super) default: Option<&'static str>,
    pub(super) doc: &'static str,
}

const HTTP_URL: ValueType = Url(&["http://", "https://"]);
const BOLT_URL: ValueType =
    Url(&["bolt://", "bolt+s://", "bolt+ssc://", "neo4j://", "neo4j+s://", "neo4j+ssc://"]);
/// A memory mode of the proxy.
const REACH: ValueType = Choice(&["auto", "instance", "partition"]);
const MEMORY_MODE: ValueType = Choice(&["full", "readonly", "store", "off"]);
/// A ranking of a search.
const SEARCH_BY: ValueType = Choice(&["keyword", "semantic", "hybrid", "auto"]);
/// The kinds of recall.
const RECALLED: ValueType = List(&["similar", "recent", "memories", "documents", "archives", "actions"]);
/// A number of messages.
const MESSAGE_COUNT: ValueType = Integer(0, 10_000);
/// A number of tokens.
const TOKEN_COUNT: ValueType = Integer(0, 1_000_000_000);

const fn row(
    key: &'static str,
    variables: &'static [&'static str],
    kind: ValueType,
    default: Option<&'static str>,
    doc: &'static str,
) -> SettingRow {
    SettingRow { key, variables, kind, default, doc }
}

/// The one table of all settings.
#[rustfmt::skip]
pub(super) static ROWS: &[SettingRow] = &[
    row("store", &["RSV_STORE"], Store, None, "the store: sqlite:PATH, a path, or neo4j for the server at neo4j_uri"),
    row("scope", &["RSV_SCOPE"], Choice(&["default", "auto"]), Some("default"), "the partition that is read and written without -p: default, or auto (that of the project of the working directory)"),
    row("max_line_bytes", &["RSV_MAX_LINE_BYTES"], Integer(1, 1 << 40), Some("33554432"), "the longest line or text that a tool accepts, in bytes"),

    row("neo4j_uri", &["NEO4J_URI"], BOLT_URL, Some("bolt://localhost:7687"), "the address of the Neo4j server, used if the store is neo4j"),
    row("neo4j_user", &["NEO4J_USERNAME", "NEO4J_USER"], Text, Some("neo4j"), "the user name for Neo4j"),
    row("neo4j_password", &["NEO4J_PASSWORD"], Secret, Some("password"), "the password for Neo4j"),
    row("neo4j_database", &["NEO4J_DATABASE"], Text, None, "the Neo4j database; unset, the server's default"),
    row("neo4j_max_connections", &["NEO4J_MAX_CONNECTIONS"], Integer(1, 10_000), Some("20"), "the maximum number of open connections to Neo4j"),
    row("neo4j_connection_timeout", &["NEO4J_CONNECTION_TIMEOUT"], Duration, Some("30s"), "the timeout for connecting to Neo4j"),
    row("neo4j_query_timeout", &["NEO4J_QUERY_TIMEOUT"], Duration, Some("60s"), "the timeout for a query to Neo4j"),

    row("reservoir_port", &["RESERVOIR_PORT"], Integer(1, 65535), Some("3017"), "the port that rsv-proxy listens on"),
    row("reservoir_host", &["RESERVOIR_HOST"], Text, Some("127.0.0.1"), "the address that rsv-proxy listens on"),
    row("proxy.token", &["RSV_PROXY_TOKEN"], Secret, None, "the owner's token, which may do everything at rsv-proxy; without any token, none is needed"),
    row("proxy.hosts", &["RSV_PROXY_HOSTS"], Text, None, "the host names that rsv-proxy answers to, separated by commas"),
    row("proxy.origins", &["RSV_PROXY_ORIGINS"], Text, None, "the origins of web pages that may call rsv-proxy, separated by commas"),
    row("proxy.public_url", &["RSV_PROXY_PUBLIC_URL"], HTTP_URL, None, "the address at which people reach rsv-proxy behind another server, without a path"),
    row("proxy.trusted_proxies", &["RSV_PROXY_TRUSTED_PROXIES"], Text, None, "the addresses of servers before rsv-proxy whose X-Forwarded-For is believed, separated by commas"),
    row("proxy.page", &["RSV_PROXY_PAGE"], Boolean, Some("true"), "whether rsv-proxy serves the page that shows the memory"),
    row("proxy.connections", &["RSV_PROXY_CONNECTIONS"], Integer(1, 1_000_000), Some("4096"), "the maximum number of connections to rsv-proxy; others wait"),
    row("proxy.header_bytes", &["RSV_PROXY_HEADER_BYTES"], Integer(8192, 1 << 24), Some("65536"), "the longest header of a request to rsv-proxy, in bytes"),
    row("proxy.idle_timeout", &["RSV_PROXY_IDLE_TIMEOUT"], Duration, Some("60s"), "the timeout for a client's header, for each piece of its body and of its answer, and for its next request"),
    row("proxy.queue", &["RSV_PROXY_QUEUE"], Integer(1, 1_000_000), Some("1000"), "the maximum number of turns that wait to be stored"),
    row("proxy.queue_bytes", &["RSV_PROXY_QUEUE_BYTES"], Integer(1, 1 << 40), Some("67108864"), "the maximum size of the turns that wait to be stored, in bytes"),
    row("proxy.audit", &["RSV_PROXY_AUDIT"], Boolean, Some("false"), "whether rsv-proxy records in the store what each token reads and changes"),
    row("proxy.audit_days", &["RSV_PROXY_AUDIT_DAYS"], Integer(1, 36_500), Some("90"), "the number of days for which rows of the audit are kept"),
    row("proxy.store_first", &["RSV_PROXY_STORE_FIRST"], Boolean, Some("false"), "whether a turn is stored before its answer ends, instead of after"),

    row("semantic_context_size", &[], MESSAGE_COUNT, Some("15"), "the number of related messages to recall"),
    row("recent_context_size", &[], MESSAGE_COUNT, Some("15"), "the number of recent messages to recall"),
    row("token_reserve", &[], TOKEN_COUNT, None, "the tokens kept free for the answer; unset, the model's own reserve"),
    row("model", &[], Text, None, "the model for requests that name none"),
    row("keep_tools", &["RSV_KEEP_TOOLS"], Boolean, Some("false"), "whether the results of tools are stored with the turn"),

    row("web_search_enabled", &["RSV_WEB_SEARCH_ENABLED"], Boolean, Some("false"), "whether requests to models that search the web ask for a search"),
    row("web_search_max_results", &["RSV_WEB_SEARCH_MAX_RESULTS"], Integer(1, 1000), None, "the maximum number of results of a web search"),
    row("web_search_time_range", &["RSV_WEB_SEARCH_TIME_RANGE"], Choice(&["recent", "week", "month", "any"]), None, "the age of the results of a web search: recent, week, month or any"),
    row("search_api_key", &["SEARCH_API_KEY"], Secret, None, "the key for web search"),

    row("openai_base_url", &["RSV_OPENAI_BASE_URL"], HTTP_URL, Some("https://api.openai.com/v1/chat/completions"), "the address of OpenAI's API"),
    row("ollama_base_url", &["RSV_OLLAMA_BASE_URL", "OLLAMA_BASE_URL"], HTTP_URL, Some("http://localhost:11434/v1/chat/completions"), "the address of Ollama"),
    row("mistral_base_url", &["RSV_MISTRAL_BASE_URL"], HTTP_URL, Some("https://api.mistral.ai/v1/chat/completions"), "the address of Mistral's API"),
    row("gemini_base_url", &["RSV_GEMINI_BASE_URL"], HTTP_URL, Some("https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"), "the address of Gemini's API"),
    row("anthropic_base_url", &["RSV_ANTHROPIC_BASE_URL"], HTTP_URL, Some("https://api.anthropic.com/v1/chat/completions"), "the address of Anthropic's API"),
    row("custom_base_url", &["RSV_CUSTOM_BASE_URL"], HTTP_URL, None, "the address of your own provider"),
    row("openai_api_key", &["OPENAI_API_KEY"], Secret, None, "the key for OpenAI"),
    row("mistral_api_key", &["MISTRAL_API_KEY"], Secret, None, "the key for Mistral"),
    row("gemini_api_key", &["GEMINI_API_KEY"], Secret, None, "the key for Gemini"),
    row("anthropic_api_key", &["ANTHROPIC_API_KEY"], Secret, None, "the key for Anthropic"),
    row("ollama_api_key", &["OLLAMA_API_KEY"], Secret, None, "the key for Ollama, if it needs one"),
    row("custom_api_key", &["CUSTOM_API_KEY"], Secret, None, "the key for your own provider"),
    row("connect_timeout", &["RSV_CONNECT_TIMEOUT"], Duration, Some("10s"), "the timeout for connecting to a provider"),
    row("first_byte_timeout", &["RSV_FIRST_BYTE_TIMEOUT"], Duration, Some("600s"), "the timeout for the beginning of a provider's answer"),
    row("idle_timeout", &["RSV_IDLE_TIMEOUT"], Duration, Some("300s"), "the timeout for the next piece of a provider's answer"),
    row("request_timeout", &["RSV_REQUEST_TIMEOUT"], Duration, Some("600s"), "the timeout for a provider's whole answer, if it is not streamed"),
    row("retries", &["RSV_RETRIES"], Integer(0, 10), Some("2"), "the maximum number of times that a request is retried"),

    row("embed.model", &["RSV_EMBED_MODEL"], Text, None, "the embedding model; unset, the best that is installed"),
    row("embed.via", &["RSV_EMBED_VIA"], Text, Some("local"), "the embedder: local, proxy, openai, ollama, or the address of a server"),
    row("embed.key_variable", &[], Variable, None, "the environment variable that holds the key for the server in embed.via"),
    row("embed.catch_up", &["RSV_EMBED_CATCH_UP"], Integer(0, 1_000_000), Some("64"), "the maximum number of messages without a vector that a search embeds first"),
    row("embed.threads", &["RSV_EMBED_THREADS"], Integer(1, 1024), None, "the number of threads that embed; unset, one for each processor"),
    row("embed.library", &["RSV_EMBED_LIBRARY"], Text, None, "the path of ONNX Runtime's library; unset, the tools look for it"),
    row("embed.hub", &["RSV_EMBED_HUB", "HF_ENDPOINT"], HTTP_URL, Some("https://huggingface.co"), "the hub from which rsv-embed --fetch downloads models"),

    row("enrich.recall", &["RSV_ENRICH_RECALL"], RECALLED, Some("similar,recent,memories,actions"), "the records to recall: some of similar (related messages), recent (the last messages), memories, documents, archives (of the session) and actions, separated by commas, or none"),
    row("enrich.reach", &["RSV_ENRICH_REACH"], REACH, Some("auto"), "the reach of recall: instance, partition, or auto (the partition, unless an instance is named)"),
    row("enrich.memories", &["RSV_ENRICH_MEMORIES"], MESSAGE_COUNT, Some("3"), "the maximum number of memories to recall"),
    row("enrich.documents", &["RSV_ENRICH_DOCUMENTS"], MESSAGE_COUNT, Some("5"), "the maximum number of documents to recall"),
    row("enrich.target", &["RSV_ENRICH_TARGET"], Text, Some("viking://resources"), "the address at and below which documents are recalled"),
    row("enrich.min_score", &["RSV_ENRICH_MIN_SCORE"], Real(0.0, 1_000_000.0), None, "the lowest score of a document to recall; unset, any"),
    row("enrich.selective", &["RSV_ENRICH_SELECTIVE"], Boolean, Some("true"), "whether only messages that are likely to help are recalled, instead of as many as the limits allow"),
    row("enrich.recent_gap", &["RSV_ENRICH_RECENT_GAP"], Duration, Some("30m"), "the pause after which a new sitting begins; with enrich.selective, recent messages are those of the present sitting"),
    row("enrich.share", &["RSV_ENRICH_SHARE"], Real(0.0, 1.0), Some("0.25"), "the largest share of the model's window that recalled messages take"),
    row("enrich.half_life", &["RSV_ENRICH_HALF_LIFE"], Duration, Some("30d"), "the age at which a related message counts half as recent, if not all related messages fit"),
    row("enrich.placement", &["RSV_ENRICH_PLACEMENT"], Choice(&["tail", "head", "system"]), Some("tail"), "the place of recalled messages: tail (in the last user message), head (before all turns) or system (in the system message)"),
    row("enrich.compress", &["RSV_ENRICH_COMPRESS"], Boolean, Some("true"), "whether head merges all messages up to the last system message into one"),
    row("enrich.note", &["RSV_ENRICH_NOTE"], Text, None, "the note that introduces recalled messages to the model; unset, rsv's own"),
    row("enrich.check", &["RSV_ENRICH_CHECK"], Choice(&["auto", "off"]), Some("auto"), "whether the files and commits that a recalled message names are compared with those of the project: auto (where its directory is known) or off (never)"),
    row("enrich.compaction", &["RSV_ENRICH_COMPACTION"], Boolean, Some("true"), "whether the actions, decisions and open points of a session before a compaction are carried over, to the end of the next turn that the user begins"),
    row("enrich.strict", &["RSV_ENRICH_STRICT"], Boolean, Some("false"), "whether a request that is too long is an error, instead of an answer that says so"),
    row("enrich.timeout", &["RSV_ENRICH_TIMEOUT"], Duration, Some("2s"), "the time limit of recall; records found by then are used"),
    row("enrich.holdout", &["RSV_ENRICH_HOLDOUT"], Percent(50.0), Some("0%"), "the share of sessions that get no recall, from 0% to 50%, so that rsv-config status can compare them with the others"),

    row("ingest.actions", &["RSV_INGEST_ACTIONS"], Boolean, Some("true"), "whether the actions of programs are stored: the name of each tool call, its command, paths or pattern, and whether it failed"),
    row("ingest.redact", &["RSV_INGEST_REDACT"], Boolean, Some("false"), "whether secrets (keys, tokens, passwords, card numbers) are replaced by [redacted:KIND] before anything is stored"),
    row("ingest.redact_patterns", &["RSV_INGEST_REDACT_PATTERNS"], Text, None, "the path of a file with your own patterns of secrets, KIND: REGEX on each line, in addition to rsv's"),

    row("memory.prior", &["RSV_MEMORY_PRIOR"], Choice(&["given", "uniform"]), Some("given"), "the confidence in a memory before any signal: given (its own prior) or uniform (0.5, as one observation for it and one against it)"),
    row("memory.prior_strength", &["RSV_MEMORY_PRIOR_STRENGTH"], Real(0.0, 1_000_000.0), Some("4"), "the number of observations that the prior of a memory counts as"),
    row("search.newer", &["RSV_SEARCH_NEWER"], Choice(&["auto", "off"]), Some("auto"), "whether searches and recall look for later messages that supersede a message of the user: auto, or off (only corrections count)"),
    row("search.by", &["RSV_SEARCH_BY"], SEARCH_BY, Some("keyword"), "the ranking of rsv-search on a terminal, without a flag: keyword, semantic, hybrid or auto (hybrid where a model is installed, else keyword)"),

    row("chat.recall", &["RSV_CHAT_RECALL"], RECALLED, Some("similar,recent,memories,documents"), "the records that the chat backend recalls, as enrich.recall; similar are messages of all sessions of the user"),
    row("chat.documents", &["RSV_CHAT_DOCUMENTS"], MESSAGE_COUNT, Some("5"), "the number of sections of documents that the chat backend recalls"),
    row("chat.min_score", &["RSV_CHAT_MIN_SCORE"], Real(0.0, 1_000_000.0), None, "the lowest score of a section that the chat backend recalls; unset, any"),
    row("chat.mood", &["RSV_CHAT_MOOD"], Boolean, Some("false"), "whether the chat backend asks the model for its mood, in a last line"),
    row("chat.system", &["RSV_CHAT_SYSTEM"], Text, None, "the system message of the chat backend; unset, none"),
    row("chat.upload_bytes", &["RSV_CHAT_UPLOAD_BYTES"], Integer(1, 1 << 40), Some("268435456"), "the longest file that the chat backend accepts, in bytes"),

    row("documents.describe", &["RSV_DOCUMENTS_DESCRIBE"], Choice(&["rule", "model"]), Some("rule"), "the writer of the abstracts and overviews of uploaded documents: rule (only rsv-parse) or model (rsv-proxy also has documents.model write them, in the background)"),
    row("documents.model", &["RSV_DOCUMENTS_MODEL"], Text, None, "the model that describes uploaded documents; unset, that of the setting model"),
    row("documents.tokens_per_day", &["RSV_DOCUMENTS_TOKENS_PER_DAY"], TOKEN_COUNT, Some("100000"), "the maximum number of tokens, of requests and answers, that rsv-proxy spends on describing documents in a day (UTC); one answer may exceed it"),

    row("session.auto", &["RSV_SESSION_AUTO"], Boolean, Some("false"), "whether rsv-proxy commits all sessions automatically, instead of only those of the chat backend"),
    row("session.commit_turns", &["RSV_SESSION_COMMIT_TURNS"], Integer(0, 1_000_000), Some("10"), "the number of uncommitted turns at which rsv-proxy commits a session; 0 for never"),
    row("session.commit_tokens", &["RSV_SESSION_COMMIT_TOKENS"], TOKEN_COUNT, Some("8000"), "the tokens of uncommitted messages at which rsv-proxy commits a session; 0 for never"),
    row("session.commit_idle", &["RSV_SESSION_COMMIT_IDLE"], OptionalDuration, Some("1d"), "the time after the last turn at which rsv-proxy commits a session"),
    row("session.model", &["RSV_SESSION_MODEL"], Text, None, "the model that writes archives and memories when rsv-proxy commits a session; unset, they are made by rule"),
    row("session.patterns", &["RSV_SESSION_PATTERNS"], Text, None, "the path of a file with patterns of statements to remember, for rsv-distill --commit, which are tried before rsv's"),

    row("ask.history", &["RSV_ASK_HISTORY"], Integer(0, 1_000_000), Some("1000"), "the number of lines in the history of the rsv-ask prompt; 0 for no history file"),

    row("mcp.projects", &["RSV_MCP_PROJECTS"], Text, None, "the partitions that calls of rsv-mcp may name as their project_id in addition to the client's, separated by commas; unset, none"),

    row("link.threshold", &["RSV_LINK_THRESHOLD"], Real(0.0, 1.0), None, "the lowest similarity (cosine) at which two messages are linked; unset, the embedding model's own"),
    row("link.reach", &["RSV_LINK_REACH"], REACH, Some("auto"), "the reach of links between similar messages: instance, partition, or auto (the partition, unless it was linked otherwise)"),
    row("link.max_degree", &["RSV_LINK_MAX_DEGREE"], Integer(1, 1000), Some("32"), "the maximum number of synapses of a message"),

    row("retention", &["RSV_RETENTION"], Age, Some("off"), "the age at which rsv-forget --expired removes messages, or off"),
    row("log", &["RUST_LOG"], Text, None, "the level of messages on standard error; one with debug or trace in it means -v"),

    row("models.*.max_context_tokens", &[], TOKEN_COUNT, None, "the model's context window, in tokens"),
    row("models.*.reserve_tokens", &[], TOKEN_COUNT, None, "the tokens kept free for the model's answer"),
    row("models.*.semantic_context_size", &[], MESSAGE_COUNT, None, "the number of related messages to recall for the model"),
    row("partitions.*.semantic_context_size", &[], MESSAGE_COUNT, None, "the number of related messages to recall in the partition"),
    row("partitions.*.recent_context_size", &[], MESSAGE_COUNT, None, "the number of recent messages to recall in the partition"),
    row("partitions.*.token_multiplier", &[], Real(0.0, 100.0), None, "the factor for estimates of tokens in the partition"),
    row("partitions.*.reach", &[], REACH, None, "the reach of recall in the partition, as enrich.reach"),
    row("partitions.*.memory", &[], MEMORY_MODE, None, "the memory mode of rsv-proxy for the partition: full, readonly (recall only), store (store only) or off"),
    row("partitions.*.actions", &[], Boolean, None, "whether actions are stored in the partition, as ingest.actions"),
    row("partitions.*.retention", &[], Age, None, "the age at which rsv-forget --expired removes messages of the partition, or off"),
    row("partitions.*.private", &[], Boolean, None, "whether the partition is left out of every rsv-sync, and no token but the owner's reaches it"),
    row("routes.*.base_url", &[], HTTP_URL, None, "the address of the provider for models that match the pattern"),
    row("routes.*.key_variable", &[], Variable, None, "the environment variable that holds the key for the route"),
    row("routes.*.caller_key", &[], Boolean, None, "whether the key that a client of rsv-proxy sends goes to the route's provider"),
    row("routes.*.headers.*", &[], Text, None, "a header to add to every request of the route"),
];

/// The name of one setting: `model`, `models."gpt-4o".reserve_tokens`.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    pub(super) path: Vec<String>,
    /// The place of its row in the table.
    pub(super) row: usize,
}

impl Key {
    /// Reads a key as TOML writes it. Errors hint at the nearest key.
    pub fn parse(text: &str) -> Result<Key> {
        let unknown = || unknown_key(text.to_owned());
        let parts = toml_edit::Key::parse(text).map_err(|_| unknown())?;
        let path = parts.iter().map(|part| part.get().to_owned()).collect();
        Key::from_path(path).ok_or_else(unknown)
    }

    /// Finds the row of a path of names.
    pub(super) fn from_path(path: Vec<String>) -> Option<Key> {
        let fits = |row: &SettingRow| {
            let parts = row.key.split('.');
            parts.clone().count() == path.len()
                && parts.zip(&path).all(|(part, name)| part == "*" || part == name)
        };
        let row = ROWS.iter().position(fits)?;
        Some(Key { path, row })
    }

    /// The same setting of a partition under another name, if it is one of a partition.
    pub(super) fn of_partition(&self, from: &str, to: &str) -> Option<Key> {
        let mut path = self.path.clone();
        match &mut path[..] {
            [section, name, _] if section == "partitions" && name == from => to.clone_into(name),
            _ => return None,
        }
        Some(Key { path, row: self.row })
    }

    pub(super) fn row(&self) -> &'static SettingRow {
        &ROWS[self.row]
    }

    /// The words that the value is one of, if it is one of a few.
    pub fn choices(&self) -> &'static [&'static str] {
        match self.row().kind {
            Choice(words) | List(words) => words,
            Boolean => &["true", "false"],
            _ => &[],
        }
    }

    /// Whether the value must not be seen.
    pub fn is_secret(&self) -> bool {
        self.row().kind == Secret
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.path.iter().map(|name| quoted_key(name)).collect();
        f.pad(&parts.join("."))
    }
}

/// Whether a path of names is that of a table in which there are keys.
pub(super) fn begins_key(path: &[String]) -> bool {
    ROWS.iter().any(|row| {
        let mut parts = row.key.split('.');
        path.iter().all(|name| parts.next().is_some_and(|part| part == "*" || part == name))
            && parts.next().is_some()
    })
}

/// A name as TOML writes it, in quotes where it needs them.
pub(super) fn quoted_key(name: &str) -> String {
    toml_edit::Key::new(name).display_repr().into_owned()
}

/// The failure of a key that has no row.
pub(super) fn unknown_key(key: String) -> Error {
    let hint = unknown_key_hint(&key);
    Error::from(ConfigError::UnknownKey { key }).hint(hint)
}

/// The hint for a key that does not exist.
fn unknown_key_hint(text: &str) -> String {
    let parts: Vec<&str> = text.split('.').collect();
    if let [section, name @ .., member] = &parts[..]
        && let Some(key) = Key::from_path(vec![(*section).into(), name.join("."), (*member).into()])
    {
        return format!("quote the name: '{key}'");
    }
    // A name in the middle is the user's own, and no slip of the pen.
    let shape = match &parts[..] {
        [section, _, .., member] if parts.len() > 2 => format!("{section}.*.{member}"),
        _ => text.to_owned(),
    };
    let near = ROWS.iter().map(|row| (strsim::levenshtein(&shape, row.key), row.key)).min();
    match near {
        Some((edits, key)) if edits <= 1 + shape.len() / 5 => {
            format!("did you mean '{key}'? see 'rsv-config list'")
        }
        _ => "see 'rsv-config list'".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_sound() {
        for row in ROWS {
            assert_eq!(ROWS.iter().filter(|r| r.key == row.key).count(), 1, "{}", row.key);
            assert!(!row.doc.is_empty() && !row.doc.ends_with('.') && !row.doc.contains('\n'), "{}", row.key);
            if let Some(default) = row.default {
                row.kind.read(default).unwrap();
            }
        }
    }

    #[test]
    fn keys_are_found_and_written_again() {
        for key in ["store", "models.gpt-4o.reserve_tokens", "models.\"gpt-3.5-turbo\".reserve_tokens"] {
            assert_eq!(Key::parse(key).unwrap().to_string(), key);
        }
        for (key, hint) in [
            ("reservoir_prt", "did you mean 'reservoir_port'? see 'rsv-config list'"),
            ("models.x.reserve_token", "did you mean 'models.*.reserve_tokens'? see 'rsv-config list'"),
            (
                "models.gpt-3.5-turbo.reserve_tokens",
                "quote the name: 'models.\"gpt-3.5-turbo\".reserve_tokens'",
            ),
            ("routes.gpt-*.base_url", "quote the name: 'routes.\"gpt-*\".base_url'"),
            ("colour", "see 'rsv-config list'"),
            ("", "see 'rsv-config list'"),
        ] {
            assert_eq!(Key::parse(key).unwrap_err().remedy(), Some(hint), "{key}");
        }
    }
}
