//! The class of value that the name of a setting implies.

use super::words::Words;
use std::ops::Range;

/// The class of the value that a name implies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameClass {
    /// People make it up.
    Password,
    /// A program makes it.
    Token,
}

/// The class of the value that the last words of a name imply.
pub(super) fn class_of(name: &str) -> Option<NameClass> {
    const AFTER: [&str; 9] =
        ["base", "data", "value", "string", "prod", "production", "live", "dev", "staging"];
    const NOUNS: [&str; 9] = [
        "secret",
        "apikey",
        "secretkey",
        "accesskey",
        "authkey",
        "privatekey",
        "credential",
        "credentials",
        "passkey",
    ];
    // Most names have none of the words, and no other name is taken apart.
    static PARTS: Words =
        Words::of(&["pass", "pwd", "pw", "psk", "secret", "token", "key", "cred", "auth", "pat", "sid"]);
    if !PARTS.are_in(name) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let words: Vec<&str> = words(name).into_iter().map(|word| &lower[word]).collect();
    let is_after = |word: &&str| AFTER.contains(word) || word.bytes().all(|byte| byte.is_ascii_digit());
    let at = (1..words.len()).rev().find(|at| !is_after(&words[*at])).unwrap_or(0);
    let last = words.get(at)?.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    if is_password_word(last) {
        return Some(NameClass::Password);
    }
    let is_token = match last {
        _ if words.iter().any(|word| ["public", "publishable"].contains(word)) => false,
        "auth" | "authorization" | "creds" | "phpsessid" | "jsessionid" => true,
        "sid" => before == "connect",
        "pat" => is_variable(name),
        "key" => is_key(name, before),
        _ if last.ends_with("token") => !COUNTED.contains(&before),
        _ => NOUNS.iter().any(|noun| last.ends_with(noun)),
    };
    is_token.then_some(NameClass::Token)
}

fn is_password_word(word: &str) -> bool {
    const OTHERS: [&str; 7] =
        ["bypass", "compass", "trespass", "surpass", "overpass", "underpass", "encompass"];
    ["password", "passwd", "passphrase", "passwort", "passcode", "pwd", "bindpw"]
        .iter()
        .any(|noun| word.ends_with(noun))
        || ["pw", "psk"].contains(&word)
        || word.ends_with("pass") && !OTHERS.contains(&word)
}

/// The words before `token` in names of no secret.
#[rustfmt::skip]
const COUNTED: [&str; 20] = [
    "csrf", "xsrf", "page", "next", "previous", "continuation", "cancellation", "cancel", "sync",
    "pagination", "cursor", "stop", "eos", "bos", "pad", "unk", "mask", "sep", "cls", "lex",
];

/// Whether a key is a credential, and no key of a table or a map.
fn is_key(name: &str, before: &str) -> bool {
    #[rustfmt::skip]
    const OPENING: [&str; 46] = [
        "api", "access", "secret", "tls", "ssl", "ssh", "rsa", "private", "auth", "authentication",
        "encryption", "encrypt", "crypto", "signing", "signature", "master", "service", "admin",
        "account", "subscription", "shared", "preshared", "app", "application", "client", "license",
        "deploy", "webhook", "hmac", "jwt", "storage", "function", "functions", "ingest", "ingestion",
        "write", "server", "insert", "integration", "host", "root", "token", "user", "personal",
        "project", "session",
    ];
    #[rustfmt::skip]
    const OTHERS: [&str; 25] = [
        "primary", "foreign", "cache", "partition", "sort", "idempotency", "row", "hash", "index", "map",
        "unique", "composite", "natural", "object", "group", "registry", "hot", "short", "arrow",
        "search", "site", "pub", "lookup", "routing", "range",
    ];
    OPENING.contains(&before) || is_variable(name) && !before.is_empty() && !OTHERS.contains(&before)
}

/// Whether a name is written as that of a variable of the environment.
pub(super) fn is_variable(name: &str) -> bool {
    !name.contains(' ') && name.bytes().all(|byte| !byte.is_ascii_lowercase())
}

/// The words of a name: between signs, and from each capital after a small letter on.
fn words(name: &str) -> Vec<Range<usize>> {
    let bytes = name.as_bytes();
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()) {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let is_next_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let begins = !before.is_ascii_alphanumeric()
            || byte.is_ascii_uppercase()
                && (before.is_ascii_lowercase() || before.is_ascii_uppercase() && is_next_small);
        match words.last_mut().filter(|_| !begins) {
            Some(word) => word.end = at + 1,
            None => words.push(at..at + 1),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_value_is() {
        for name in [
            "password",
            "DB_PASSWORD",
            "PGPASSWORD",
            "dbPassword",
            "spring.mail.password",
            "smtp-pass",
            "pwd2",
        ] {
            assert_eq!(class_of(name), Some(NameClass::Password), "{name}");
        }
        for name in [
            "token",
            "API_KEY",
            "apiKey",
            "X-Api-Key",
            "secret_key_base",
            "client_secret",
            "Ocp-Apim-Subscription-Key",
            "STRIPE_KEY",
            "accessKey",
            "APIKEY",
            "Authorization",
            "authtoken",
            "client-key-data",
            "API key",
        ] {
            assert_eq!(class_of(name), Some(NameClass::Token), "{name}");
        }
        for name in [
            "key",
            "monkey",
            "keyboard",
            "primary_key",
            "CACHE_KEY",
            "public_key",
            "NEXT_PUBLIC_KEY",
            "csrf_token",
            "tokens",
            "max_tokens",
            "password_hash",
            "key_id",
            "secretName",
            "compass",
            "author",
            "path",
            "the key",
        ] {
            assert_eq!(class_of(name), None, "{name}");
        }
    }
}
