use super::*;
use hyper::Request;
use std::collections::HashSet;

fn guard() -> Guard {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Guard {
        token: Some(Secret::new("secret")),
        tokens: LiveTokens::new(None, HashSet::new(), &Diagnostics::default()),
        public: None,
        hosts: list(&["my.example"]),
        origins: list(&["https://page.example"]),
    }
}

fn status(guard: &Guard, uri: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (head, ()) = request.body(()).unwrap().into_parts();
    let refused = guard.response_by_origin(&head).map(Ok);
    let refused = refused.or_else(|| guard.admit(&head.headers, &[], 0).err().map(Err));
    refused.map_or(200, |refused| refused.unwrap_or_else(HttpResponse::from).status().as_u16())
}

#[test]
fn only_names_of_our_own_are_answered_to() {
    let guard = Guard { token: None, ..guard() };
    for (host, wanted) in [
        ("localhost", 200),
        ("LocalHost:3017", 200),
        ("127.0.0.1:3017", 200),
        ("[::1]:3017", 200),
        ("192.168.1.2", 200),
        ("my.example:80", 200),
        ("0.0.0.0:3017", 403),
        ("[::]:3017", 403),
        ("[::ffff:7f00:1]:3017", 403),
        ("evil.example", 403),
        ("localhost.evil.example:3017", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
        ("a b", 403),
    ] {
        assert_eq!(status(&guard, "/health", &[("host", host)]), wanted, "{host}");
    }
    assert_eq!(status(&guard, "/health", &[]), 200, "HTTP/1.0 says no name");
    let with_token = Guard { token: Some(Secret::new("secret")), ..self::guard() };
    let headers = [("host", "0.0.0.0:3017"), ("authorization", "Bearer secret")];
    assert_eq!(status(&with_token, "/health", &headers), 200);
    assert_eq!(status(&guard, "http://evil.example/health", &[("host", "localhost")]), 403);
}

#[test]
fn only_pages_that_are_listed_may_ask() {
    let guard = Guard { token: None, ..guard() };
    for (origin, wanted) in [
        ("https://page.example", 200),
        ("https://other.example", 403),
        ("http://localhost:3017", 200),
        ("http://localhost:9999", 403),
        ("null", 403),
        ("app://editor", 200),
        ("chrome-extension://abcdefgh", 403),
        ("moz-extension://0-1", 403),
        ("safari-web-extension://0-1", 403),
    ] {
        let headers = [("host", "localhost:3017"), ("origin", origin)];
        assert_eq!(status(&guard, "/health", &headers), wanted, "{origin}");
    }
}

#[test]
fn pages_of_other_sites_may_ask_only_if_they_are_listed() {
    let listed = Guard { token: None, ..guard() };
    let any = Guard { origins: vec!["*".to_owned()], ..Guard { token: None, ..guard() } };
    let (page, other) = (Some("https://page.example"), Some("app://editor"));
    for (site, mode, origin, path, wanted) in [
        ("none", "navigate", None, "/command/view", (200, 200)),
        ("same-origin", "cors", None, "/command/view", (200, 200)),
        ("cross-site", "no-cors", None, "/v1/responses/x", (403, 200)),
        ("same-site", "no-cors", None, "/health", (403, 200)),
        ("cross-site", "cors", page, "/command/view", (200, 200)),
        ("cross-site", "cors", other, "/command/view", (403, 200)),
        ("cross-site", "navigate", None, "/command/view", (403, 200)),
        ("same-site", "navigate", None, "/", (403, 200)),
        ("of-tomorrow", "navigate", None, "/", (403, 200)),
        ("cross-site", "navigate", None, "/health", (200, 200)),
    ] {
        let mut headers = vec![("host", "localhost"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let found = (status(&listed, path, &headers), status(&any, path, &headers));
        assert_eq!(found, wanted, "{site} {mode} {origin:?} {path}");
    }
    let twice = [("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")];
    assert_eq!(status(&listed, "/", &twice), 403);
}

#[test]
fn a_host_or_an_origin_that_is_sent_twice_is_malformed() {
    let guard = Guard { token: None, ..guard() };
    for headers in [
        [("host", "localhost"), ("host", "localhost")],
        [("origin", "https://page.example"), ("origin", "https://page.example")],
    ] {
        assert_eq!(status(&guard, "/health", &headers), 400, "{headers:?}");
    }
}

#[test]
fn the_token_is_required_and_is_not_taken_for_a_key() {
    let guard = guard();
    let mut headers = HeaderMap::new();
    assert_eq!(status(&guard, "/", &[]), 401);
    assert_eq!(status(&guard, "/", &[("authorization", "Bearer secreT")]), 401);
    assert_eq!(status(&guard, "/", &[("authorization", "bearer  secret ")]), 200);
    assert_eq!(status(&guard, "/", &[("x-rsv-token", "secret"), ("authorization", "Bearer key")]), 200);
    for (sent, counts) in [("Bearer secret", false), ("Bearer key", true), ("Bearer rsv", false)] {
        headers.insert(AUTHORIZATION, HeaderValue::from_static(sent));
        assert_eq!(
            format!("{:?}", guard.caller_keys(&headers, &Caller::Owner)).contains("****"),
            counts,
            "{sent}"
        );
    }
}
