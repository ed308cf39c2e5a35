//! rsv-forward before providers that answer well, badly, late or not at all.

use crate::fake::{Answer, Call, Fake, Wire, dead, raw};
use crate::support::{Home, Ran};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The key that only the provider may see.
const CANARY: &str = "sk-canary-7f3a";

/// The least body that is a request.
const ASK: &str = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}"#;

/// The least body that is an answer.
const YES: &str = r#"{"choices":[{"message":{"role":"assistant","content":"yes"}}]}"#;

/// A home in which OpenAI is at `url`, nothing is sent twice and time stands still.
fn home(url: &str) -> Home {
    Home::new()
        .env("RSV_OPENAI_BASE_URL", url)
        .env("OPENAI_API_KEY", CANARY)
        .env("RSV_RETRIES", "0")
        .env("RSV_TEST_NOW", "1700000000000")
}

fn forward(home: &Home, input: impl AsRef<[u8]>) -> Ran {
    home.run("rsv-forward", &[], input)
}

/// The only line on standard output, for a run that ended with 2.
fn failed(ran: &Ran) -> serde_json::Value {
    assert_eq!(ran.status, 2, "{ran}");
    assert_eq!(ran.stdout.lines().count(), 1, "{ran}");
    let line: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(line["kind"], "error");
    line
}

/// Keeps: Members that a tool does not know pass unchanged.
#[test]
fn the_body_reaches_the_provider_as_it_was_but_for_rsv() {
    let before = r#"{"zeta":1.0,"n":123456789012345678901234567890,"model":"gpt-4o","e":1E-2,"rsv":"#;
    let after = r#","messages":[{"role":"user","content":"A\u00e9\ud83d / \/"}],"s":"\u0041é","stream":false,"deep":{"rsv":[1.50,null,{"b":1,"a":2}]}}"#;
    let rsv = r#"{"partition":"p","instance":"i","trace_id":"t","user":null,"more":[1.0]}"#;
    let fake = Fake::new([Answer::new(200, YES)]);
    let out = forward(&home(&fake.url()), format!("{before}{rsv}{after}\n")).ok();
    let seen = fake.one();
    assert_eq!(seen.text(), format!("{}{after}", before.strip_suffix(r#","rsv":"#).unwrap()));
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(seen.header("user-agent"), Some(concat!("rsv/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(seen.header("accept-encoding"), Some("identity"));
    let rsv = rsv.replace("[1.0]}", r#"[1.0],"provider":"openai","status":200,"latency_ms":0}"#);
    assert_eq!(out, format!("{},\"rsv\":{rsv}}}\n", YES.strip_suffix('}').unwrap()));
}

#[test]
fn the_answer_comes_as_it_was_with_our_rsv_and_never_the_providers() {
    let sent = "{ \"id\": \"x\", \"rsv\": {\"partition\":\"stolen\"},\n \"t\": 1.0, \"choices\": [ {\"index\":0} ],\r\n \
                \"n\": 1e400, \"logprobs\": -0.0 }";
    let fake = Fake::new([Answer::new(201, sent)]);
    assert_eq!(
        forward(&home(&fake.url()), ASK).ok(),
        "{\"id\":\"x\",\"t\":1.0,\"choices\":[{\"index\":0}],\"n\":1e400,\"logprobs\":-0.0,\
         \"rsv\":{\"provider\":\"openai\",\"status\":201,\"latency_ms\":0}}\n"
    );
}

#[test]
fn an_answer_cannot_pass_for_a_record() {
    for (sent, out) in [
        (
            r#"{"kind":"message","role":"user","content":"x","choices":[{}]}"#,
            r#"{"kind":"response","role":"user","content":"x","choices":[{}]"#,
        ),
        (r#"{"messages":[],"choices":[{}]}"#, r#"{"messages":[],"choices":[{}],"kind":"response""#),
        (r#"{"object":"chat.completion","choices":[{}]}"#, r#"{"object":"chat.completion","choices":[{}]"#),
    ] {
        let fake = Fake::new([Answer::new(200, sent)]);
        let ran = forward(&home(&fake.url()), ASK).ok();
        let rsv = r#","rsv":{"provider":"openai","status":200,"latency_ms":0}}"#;
        assert_eq!(ran, format!("{out}{rsv}\n"));
    }
}

#[test]
fn what_has_nothing_of_an_answer_is_an_error_that_quotes_it_without_the_key() {
    let long = "x".repeat(400);
    for (sent, said) in [
        (r#"{"detail":"boom for sk-canary"}"#.to_owned(), "boom for ****".to_owned()),
        (r#"{"key":"sk-canary","choices":[]}"#.to_owned(), r#"{"key":"****","choices":[]}"#.to_owned()),
        (r#"{"choices":null}"#.to_owned(), r#"{"choices":null}"#.to_owned()),
        (format!("{{\"text\":\"{long}\"}}"), format!("{{\"text\":\"{}…", &long[..291])),
    ] {
        let fake = Fake::new(vec![Answer::new(200, sent); 3]);
        let home = home(&fake.url()).env("OPENAI_API_KEY", "sk-canary");
        for flag in [&[][..], &["--stream"], &["--text"]] {
            let ran = home.run("rsv-forward", flag, ASK);
            assert!(ran.stderr.contains(&format!("the answer of OpenAI has no choices: {said}\n")), "{ran}");
            assert!(ran.status == 2 && !ran.to_string().contains("canary"), "{ran}");
        }
    }
}

#[test]
fn answers_stand_in_the_order_of_the_requests_and_all_else_is_passed_on() {
    let fake =
        Fake::new(["a", "b", "c"].map(|id| Answer::new(200, format!(r#"{{"id":"{id}","choices":[{{}}]}}"#))));
    let home = home(&fake.url());
    let file = home.write("more.json", &format!("[\n {ASK},\n {{\"kind\": \"chunk\", \"data\": 1.0}}\n]"));
    let other = r#"{"kind":"link","rel":"SYNAPSE","from":"a","to":"b","score":1.0}"#;
    let file = file.to_str().unwrap();
    let out = home.run(
        "rsv-forward",
        &["-", file],
        format!("{ASK}\n{other}\n{{\"kind\":\"request\",{}", &ASK[1..]),
    );
    let lines: Vec<String> = out.ok().lines().map(|line| line[..line.len().min(20)].to_owned()).collect();
    assert_eq!(
        lines,
        [
            r#"{"id":"a","choices":"#,
            r#"{"kind":"link","rel""#,
            r#"{"id":"b","choices":"#,
            r#"{"id":"c","choices":"#,
            r#"{"kind":"chunk","dat"#
        ]
    );
    // `kind` is ours and no provider's.
    assert_eq!(fake.seen()[1].text(), ASK);
}

#[test]
fn bad_lines_are_named_and_the_next_is_read() {
    let fake = Fake::new([Answer::new(200, YES)]);
    let input =
        format!("nonsense\n{{\"a\":1}}\n{{\"role\":\"king\",\"content\":\"x\"}}\n{ASK}\n{{\"messages\":");
    let ran = forward(&home(&fake.url()), input);
    assert_eq!(ran.status, 2);
    assert!(ran.stdout.starts_with(YES.strip_suffix('}').unwrap()), "{ran}");
    assert_eq!(
        ran.stderr,
        "rsv-forward: error: <stdin>:1: expected a JSON object, found 'n'\n\
         rsv-forward: hint: this looks like plain text; each line is a JSON object: man 5 rsv-record\n\
         rsv-forward: error: <stdin>:2: kind: is missing, and no known kind has this shape\n\
         rsv-forward: hint: a message needs at least role and content, a request messages; man 5 rsv-record has the kinds\n\
         rsv-forward: error: <stdin>:3: role: expected user, assistant, system or tool, found \"king\"\n\
         rsv-forward: error: <stdin>:5: the input ends inside an object\n"
    );
    assert_eq!(forward(&home(&fake.url()), "").ok(), "");
}

#[test]
fn requests_without_a_usable_provider_are_not_sent() {
    let fake = Fake::new([]);
    for (ask, said) in [
        (r#"{"kind":"request","model":"gpt-4o"}"#, "messages: is missing"),
        (r#"{"model":"gpt-4o","messages":null}"#, "messages: is missing"),
        (r#"{"model":"gpt-4o","messages":[ ]}"#, "messages: is empty"),
        (r#"{"model":"gpt-4o","messages":"hi"}"#, r#"messages: expected an array, found "hi""#),
        (r#"{"messages":[1]}"#, "model: is missing"),
        (r#"{"model":null,"messages":[1]}"#, "model: is missing"),
        (r#"{"model":4,"messages":[1]}"#, "model: expected a string, found 4"),
        (r#"{"model":"","messages":[1]}"#, "model: is empty"),
        (r#"{"model":"custom/x","messages":[1]}"#, "model: the custom provider has no address"),
        (r#"{"rsv":7,"messages":[1]}"#, "rsv: expected an object, found 7"),
    ] {
        let ran = forward(&home(&fake.url()), ask);
        let line = failed(&ran);
        assert_eq!((&line["code"], &line["status"]), (&"invalid_request".into(), &400.into()));
        assert_eq!(line["message"], said);
        assert!(ran.stderr.starts_with(&format!("rsv-forward: error: <stdin>:1: {said}\n")), "{ran}");
    }
    assert!(fake.seen().is_empty());
}

#[test]
fn a_request_without_a_model_gets_that_of_the_settings() {
    let fake = Fake::new([Answer::new(200, YES)]);
    let home = home("http://127.0.0.1:9").env("OLLAMA_BASE_URL", &fake.url());
    home.write(".config/rsv/rsv.toml", "");
    home.run("rsv-config", &["set", "model", "ollama/gemma3"], "");
    forward(&home, r#"{"messages":[1]}"#).ok();
    assert_eq!(fake.one().text(), r#"{"messages":[1],"model":"gemma3"}"#);
}

#[test]
fn the_prefix_of_a_provider_is_taken_off_and_ollama_gets_no_key() {
    let fake = Fake::new([Answer::new(200, YES), Answer::new(200, YES)]);
    let home = home("http://127.0.0.1:9").env("RSV_OLLAMA_BASE_URL", &fake.url());
    let out = forward(
        &home,
        "{\"model\":\"ollama/gpt-4o\",\"messages\":[1]}\n{\"model\":\"x/\\u0041\",\"messages\":[1]}\n",
    );
    assert!(out.ok().contains(r#""rsv":{"provider":"ollama","status":200"#));
    let seen = fake.seen();
    assert_eq!(seen[0].text(), r#"{"model":"gpt-4o","messages":[1]}"#);
    assert_eq!(seen[1].text(), r#"{"model":"x/\u0041","messages":[1]}"#);
    assert!(seen.iter().all(|seen| seen.header("authorization").is_none()));
}

#[test]
fn ollama_and_a_custom_provider_get_their_own_key_if_there_is_one() {
    let fake = Fake::new(vec![Answer::new(200, YES); 3]);
    let home = home("http://127.0.0.1:9").env("OLLAMA_BASE_URL", &fake.url()).env("OLLAMA_API_KEY", "o-key");
    let home = home.env("RSV_CUSTOM_BASE_URL", &format!("http://u:p@{}/api/v1/", &fake.url()[7..]));
    forward(&home, ASK.replace("gpt-4o", "llama3")).ok();
    forward(&home, ASK.replace("gpt-4o", "custom/m")).ok();
    forward(&home.env("CUSTOM_API_KEY", "c-key"), ASK.replace("gpt-4o", "custom/m")).ok();
    let seen = fake.seen();
    let keys: Vec<_> = seen.iter().map(|seen| seen.header("authorization").unwrap()).collect();
    assert_eq!(keys, ["Bearer o-key", "Basic dTpw", "Bearer c-key"]);
    assert_eq!(seen[1].path, "/api/v1/chat/completions");
}

#[test]
fn a_route_goes_first_and_has_a_key_of_its_own() {
    let fake = Fake::new([Answer::new(200, YES), Answer::new(200, YES)]);
    let home = home("http://127.0.0.1:9");
    let url = fake.url();
    home.write(
        "r.toml",
        &format!(
            "[routes]\n'gpt-4*' = {{ base_url = '{url}/a?v=1', key_variable = 'HOUSE_KEY' }}\n\
             '*' = {{ base_url = '{url}' }}"
        ),
    );
    let run =
        |home: &Home, model| home.run("rsv-forward", &["--config", "r.toml"], ASK.replace("gpt-4o", model));
    let line = failed(&run(&home, "gpt-4o"));
    assert_eq!((&line["code"], &line["status"]), (&"missing_api_key".into(), &401.into()));
    assert_eq!(line["message"], "no key for custom: HOUSE_KEY is not set");
    run(&home.env("HOUSE_KEY", "h-key"), "GPT-4o").ok();
    run(&home, "openai/o3").ok();
    let seen = fake.seen();
    assert_eq!((seen[0].path.as_str(), seen[0].header("authorization")), ("/a?v=1", Some("Bearer h-key")));
    assert_eq!(seen[1].header("authorization"), None);
    assert!(seen[1].text().contains(r#""model":"openai/o3""#));
}

#[test]
fn a_route_has_headers_of_its_own_which_are_no_place_for_a_key() {
    let fake = Fake::new([Answer::new(200, YES)]);
    let home = home("http://127.0.0.1:9");
    let set = |key: &str, value: &str| home.run("rsv-config", &["set", key, value], "").ok();
    set("routes.\"gpt-*\".base_url", &fake.url());
    set("routes.\"gpt-*\".headers.\"X-Title\"", "My Tool");
    set("routes.\"gpt-*\".headers.x-other", "1.0");
    forward(&home, ASK).ok();
    let seen = fake.one();
    assert_eq!((seen.header("x-title"), seen.header("x-other")), (Some("My Tool"), Some("1.0")));
    for name in ["Authorization", "x-api-key", "Content-Length"] {
        set(&format!("routes.\"gpt-*\".headers.{name}"), CANARY);
        let ran = forward(&home, ASK);
        let said = format!(
            "rsv-forward: error: routes.\"gpt-*\".headers.\"{name}\": this header cannot be set here\n\
             rsv-forward: hint: name the variable that holds a key in key_variable\n[2]"
        );
        assert_eq!(ran.to_string(), said);
        home.run("rsv-config", &["unset", &format!("routes.\"gpt-*\".headers.{name}")], "").ok();
    }
    set("routes.\"gpt-*\".headers.\"a b\"", "x");
    assert!(forward(&home, ASK).trouble().contains("is not the name of a header"));
}

#[test]
fn anthropic_is_spoken_to_as_openai_is() {
    let fake = Fake::new([Answer::new(200, YES)]);
    let home = home("http://127.0.0.1:9").env("RSV_ANTHROPIC_BASE_URL", &fake.url());
    let out = forward(&home.env("ANTHROPIC_API_KEY", "a-key"), ASK.replace("gpt-4o", "claude-sonnet-4-5"));
    assert!(out.ok().contains(r#""rsv":{"provider":"anthropic""#));
    let seen = fake.one();
    assert_eq!(
        (seen.path.as_str(), seen.header("authorization")),
        ("/v1/chat/completions", Some("Bearer a-key"))
    );
}

#[test]
fn rejected_requests_are_retried() {
    let soon = |status| Answer::new(status, "later").header("Retry-After", "0");
    for script in [
        vec![soon(429), Answer::new(200, YES)],
        vec![soon(502), soon(503), Answer::new(200, YES)],
        vec![Answer::new(504, "<html>"), Answer::new(200, YES)],
    ] {
        let (answers, fake) = (script.len(), Fake::new(script));
        let home = home(&fake.url()).env("RSV_RETRIES", "2");
        assert!(forward(&home, ASK).ok().starts_with("{\"choices\""));
        let seen = fake.seen();
        assert_eq!(seen.len(), answers);
        assert!(seen.iter().all(|seen| seen.text() == ASK), "{seen:?}");
    }
}

#[test]
fn retries_are_limited() {
    let soon = |status| Answer::new(status, "").header("Retry-After", "0");
    for (retries, script, asked, status) in [
        ("2", vec![soon(503), soon(429), soon(503), Answer::new(200, YES)], 3, 503),
        ("0", vec![soon(429), Answer::new(200, YES)], 1, 429),
        // It may have been worked on.
        ("2", vec![soon(500), Answer::new(200, YES)], 1, 500),
        ("2", vec![soon(408), Answer::new(200, YES)], 1, 408),
        // The provider wants to be left alone for longer than anybody waits here.
        ("2", vec![Answer::new(429, "").header("Retry-After", "31"), Answer::new(200, YES)], 1, 429),
    ] {
        let fake = Fake::new(script);
        let line = failed(&forward(&home(&fake.url()).env("RSV_RETRIES", retries), ASK));
        assert_eq!((fake.seen().len(), &line["status"]), (asked, &status.into()));
    }
    let late = Fake::new([Answer::new(200, YES).after(Duration::from_millis(600)), Answer::new(200, YES)]);
    let home = home(&late.url()).env("RSV_RETRIES", "2").env("RSV_FIRST_BYTE_TIMEOUT", "200ms");
    let line = failed(&forward(&home, ASK));
    assert_eq!((&line["code"], late.seen().len()), (&"timeout".into(), 1));
    assert_eq!(line["hint"], "raise the limit with: rsv-config set first_byte_timeout 20m");
}

#[test]
fn an_unreachable_provider_is_retried() {
    let url = dead();
    let home = home(&url).env("RSV_RETRIES", "9");
    let mut command = home.command("rsv-forward");
    command.arg("-v").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{ASK}").unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("rsv-forward: OpenAI: connection refused; retrying in "), "{line}");
    let wire = Wire::at(&url);
    let mut call = wire.accept();
    call.send("HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"choices\":[{}]}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"{\"choices\":[{}]"));
}

#[test]
fn a_stalled_answer_times_out() {
    let stalled = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":", Duration::from_secs(5));
    let line = failed(&forward(&home(&stalled).env("RSV_IDLE_TIMEOUT", "100ms"), ASK));
    assert_eq!(line["message"], "the answer of OpenAI broke off: nothing more arrived within 100ms");
}

#[test]
fn a_request_for_a_stream_is_answered_as_a_whole_unless_it_is_wanted() {
    let fake = Fake::new([Answer::new(200, YES)]);
    let ask = format!(
        "{},\"stream\":true,\"stream_options\":{{\"include_usage\":true}}}}",
        ASK.strip_suffix('}').unwrap()
    );
    forward(&home(&fake.url()), ask).ok();
    assert_eq!(fake.one().text(), ASK);
}

#[test]
fn many_are_asked_at_once_and_answers_stay_in_order() {
    let wire = Wire::new();
    let mut tool = home(&wire.url()).talk("rsv-forward", &["-j", "3"]);
    for model in ["gpt-1", "gpt-2", "gpt-3", "gpt-4"] {
        tool.say(&ASK.replace("gpt-4o", model));
    }
    tool.say(r#"{"kind":"other"}"#);
    let mut calls: Vec<Call> = (0..3).map(|_| wire.accept()).collect();
    let answer = |call: &mut Call| {
        let model = call.request.split("gpt-").nth(1).unwrap()[..1].to_owned();
        let body = format!("{{\"id\":\"{model}\",\"choices\":[{{}}]}}");
        call.send(format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
    };
    calls.sort_by_key(|call| std::cmp::Reverse(call.request.clone()));
    for call in &mut calls {
        answer(call);
    }
    // The fourth is asked only when one of the first three is through.
    answer(&mut wire.accept());
    let ids: Vec<String> = (0..5).map(|_| tool.hear().unwrap()[..9].to_owned()).collect();
    assert_eq!(ids, [r#"{"id":"1""#, r#"{"id":"2""#, r#"{"id":"3""#, r#"{"id":"4""#, r#"{"kind":""#]);
    let (status, stderr) = tool.end();
    assert!(status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn a_missing_key_is_named() {
    for (model, variable) in [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("mistral-small", "MISTRAL_API_KEY"),
        ("gemini-2.0-flash", "GEMINI_API_KEY"),
        ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ] {
        let ran = forward(&Home::new(), ASK.replace("gpt-4o", model));
        let line = failed(&ran);
        assert_eq!((&line["code"], &line["status"]), (&"missing_api_key".into(), &401.into()));
        assert!(ran.stderr.contains(&format!(": {variable} is not set\n")), "{ran}");
    }
}

/// Keeps: A key is never sent in the clear.
#[test]
fn no_key_goes_to_another_machine_in_the_clear() {
    // Requests that would leave the machine go to this proxy instead.
    let fake = Fake::new([Answer::new(200, YES)]);
    let home = home("http://gateway.example/v1").env("HTTP_PROXY", &fake.url());
    let home = home.env("OLLAMA_BASE_URL", "http://ollama.example:11434");
    let line = failed(&forward(&home, ASK));
    assert_eq!((&line["code"], &line["status"]), (&"insecure_address".into(), &502.into()));
    assert_eq!(
        line["message"],
        "the key for OpenAI would be sent to http://gateway.example/v1/chat/completions in the clear"
    );
    assert!(fake.seen().is_empty());
    forward(&home, ASK.replace("gpt-4o", "llama3")).ok();
    let seen = fake.one();
    assert_eq!(seen.path, "http://ollama.example:11434/v1/chat/completions");
    assert_eq!(seen.header("authorization"), None);
}

#[test]
fn loopback_addresses_bypass_the_network_proxy() {
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"] {
        let fake = Fake::new(vec![Answer::new(200, YES); 2]);
        for url in [fake.url(), fake.url().replace("127.0.0.1", "localhost")] {
            forward(&home(&url).env(variable, &dead()), ASK).ok();
        }
    }
}

#[test]
fn web_search_options_are_added_only_for_models_that_search() {
    let fake = Fake::answering(|_| Answer::new(200, YES));
    let home =
        home(&fake.url()).env("RSV_CUSTOM_BASE_URL", &fake.url()).env("RSV_OLLAMA_BASE_URL", &fake.url());
    let limits = home.env("RSV_WEB_SEARCH_MAX_RESULTS", "5").env("RSV_WEB_SEARCH_TIME_RANGE", "recent");
    let (on, full) = ("RSV_WEB_SEARCH_ENABLED", limits.env("RSV_WEB_SEARCH_ENABLED", "true"));
    // The options that a request with these arrives with.
    let sent = |home: &Home, model: &str, options: &str| {
        let own =
            if options.is_empty() { String::new() } else { format!(",\"web_search_options\":{options}") };
        let ask = format!(r#"{{"model":"{model}","messages":[1]{own}}}"#);
        forward(home, &ask).ok();
        let seen = fake.seen().pop().unwrap().text().to_owned();
        let rest = seen.split_once(r#","messages":[1]"#).unwrap().1.strip_suffix('}').unwrap();
        rest.strip_prefix(r#","web_search_options":"#).unwrap_or(rest).to_owned()
    };
    let (search, given) = ("gpt-4o-search-preview", r#"{"enabled":true,"max_results":8}"#);
    assert_eq!(sent(&home.env(on, "true"), search, ""), "{}");
    let documented = r#"{"enabled":true,"max_results":5,"time_range":"recent"}"#;
    assert_eq!(sent(&full, search, ""), documented);
    assert_eq!(sent(&full, "custom/sonar-pro", ""), documented);
    assert_eq!(sent(&limits, search, ""), "");
    assert_eq!(sent(&home.env(on, "false"), search, ""), "");
    for model in ["gpt-4o", "custom/m", "llama3"] {
        assert_eq!(sent(&full, model, ""), "", "{model}");
        assert_eq!(sent(&full, model, given), given, "{model}");
    }
    // A client's own options get the limits that they leave open, whether or not others get options.
    for home in [&full, &limits] {
        let wanted = r#"{"enabled":true,"max_results":8,"time_range":"recent"}"#;
        assert_eq!(sent(home, search, given), wanted);
        assert_eq!(sent(home, search, "{}"), r#"{"max_results":5,"time_range":"recent"}"#);
        assert_eq!(sent(home, search, r#"{"enabled":false}"#), r#"{"enabled":false}"#);
        assert_eq!(sent(home, search, "null"), "null");
    }
    assert_eq!(sent(&home.env(on, "true"), search, given), given);
    let said = forward(&home.env("RSV_WEB_SEARCH_TIME_RANGE", "today"), ASK).trouble();
    assert!(said.contains("RSV_WEB_SEARCH_TIME_RANGE: expected recent or week or month or any"), "{said}");
}

#[test]
fn a_refusal_is_reported_with_its_body() {
    let html = "<html>\n<b>502</b></html>";
    for (answer, said, body) in [
        (
            Answer::new(500, "{ \"error\": {\"message\": \"at\\u0000 sea\", \"code\": 1.0} }"),
            "OpenAI answered 500 Internal Server Error: at\0 sea",
            r#"{"error":{"message":"at\u0000 sea","code":1.0}}"#,
        ),
        (Answer::new(429, "slow down"), "OpenAI answered 429 Too Many Requests", r#""slow down""#),
        (
            Answer::new(404, "{\"error\":\"no such model\"}"),
            "OpenAI answered 404 Not Found: no such model",
            r#"{"error":"no such model"}"#,
        ),
        (Answer::new(400, "[ {\"error\": {}} ]"), "OpenAI answered 400 Bad Request", r#"[{"error":{}}]"#),
        (Answer::new(503, ""), "OpenAI answered 503 Service Unavailable", r#""""#),
        (
            Answer::new(520, html).header("Content-Type", "text/html"),
            "OpenAI answered 520",
            r#""<html>\n<b>502</b></html>""#,
        ),
        (
            Answer::new(307, "").header("Location", "http://127.0.0.1:9/"),
            "OpenAI answered 307 Temporary Redirect",
            r#""""#,
        ),
        (Answer::new(400, b"a\xffb".to_vec()), "OpenAI answered 400 Bad Request", "\"a\u{fffd}b\""),
    ] {
        let status = answer.status;
        let fake = Fake::new([answer]);
        let asked = format!("{},\"rsv\":{{\"trace_id\":\"t\"}}}}", ASK.strip_suffix('}').unwrap());
        let ran = forward(&home(&fake.url()), asked);
        let line = failed(&ran);
        assert_eq!((&line["code"], &line["message"]), (&"provider_error".into(), &said.into()));
        let members = format!("\"status\":{status},\"body\":{body},\"rsv\":{{\"trace_id\":\"t\"}}");
        assert!(ran.stdout.contains(&members), "{ran}");
        let reported = ran.stderr.lines().next().unwrap();
        assert_eq!(reported, format!("rsv-forward: error: <stdin>:1: {}", said.replace('\0', "\\u{0}")));
        assert_eq!(fake.seen().len(), 1);
    }
}

#[test]
fn the_hint_about_an_answer_names_the_api_that_was_asked() {
    let fake = Fake::answering(|_| Answer::new(200, "<html>"));
    let home =
        Home::new().env("RSV_ANTHROPIC_BASE_URL", &fake.url()).env("ANTHROPIC_API_KEY", "sk-ant-api03-own");
    let ask = r#"{"model":"claude-opus-4","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    for (api, title) in [("messages", "the Messages API"), ("chat", "chat completions")] {
        let ran = home.run("rsv-forward", &["--api", api], ask);
        let hint = format!("hint: does RSV_ANTHROPIC_BASE_URL give the address of {title}?");
        assert!(ran.status == 2 && ran.stderr.contains(&hint), "{ran}");
    }
}

#[test]
fn a_long_body_is_cut() {
    let fake = Fake::new([Answer::new(500, "é".repeat(100_000))]);
    let line = failed(&forward(&home(&fake.url()), ASK));
    assert_eq!(line["body"].as_str().unwrap().len(), 64 << 10);
}

#[test]
fn an_answer_that_is_no_json_object_is_refused() {
    for (sent, said, body) in [
        ("<html>", "no JSON object: invalid JSON: expected value at column 1", "<html>"),
        ("", "empty", ""),
        (" \n", "empty", " \n"),
        ("[1]", "no JSON object: invalid type: sequence, expected a JSON object", "[1]"),
        ("{\"a\":1", "no JSON object: invalid JSON: EOF while parsing an object at column 6", "{\"a\":1"),
        ("{\"a\":1,\"a\":2}", "no JSON object: a: given twice", "{\"a\":1,\"a\":2}"),
    ] {
        let fake = Fake::new([Answer::new(200, sent)]);
        let line = failed(&forward(&home(&fake.url()), ASK));
        assert_eq!((&line["code"], &line["status"]), (&"invalid_answer".into(), &502.into()));
        assert_eq!(line["message"], format!("the answer of OpenAI is {said}"));
        assert_eq!(line["body"], body);
    }
}

#[test]
fn an_answer_longer_than_a_line_may_be_is_refused() {
    let long = format!("{{\"choices\":[{{}}],\"x\":\"{}\"}}", "x".repeat(70_000));
    let fake = Fake::new(vec![Answer::new(200, long.clone()); 2]);
    let home = home(&fake.url());
    let line = failed(&forward(&home.env("RSV_MAX_LINE_BYTES", "65536"), ASK));
    assert_eq!(line["code"], "invalid_answer");
    assert_eq!(line["message"], "the answer of OpenAI is longer than the limit of 0.0625 MiB");
    assert_eq!(line["hint"], "raise it with: rsv-config set max_line_bytes BYTES");
    forward(&home.env("RSV_MAX_LINE_BYTES", &long.len().to_string()), ASK).ok();
}

#[test]
fn a_provider_that_cannot_be_reached_is_named_without_its_secrets() {
    let url = dead();
    let secret = url.replace("http://", "http://me:pw-canary@") + "/x/v1?token=t-canary";
    let ran = forward(&home(&secret), ASK);
    let line = failed(&ran);
    assert_eq!((&line["code"], &line["status"]), (&"provider_unreachable".into(), &502.into()));
    let said = format!(
        "Failed to connect to OpenAI API: connection refused. Using model 'gpt-4o' at '{url}/x/v1/chat/completions'"
    );
    assert_eq!(line["message"], said);
    assert!(!ran.to_string().contains("canary"), "{ran}");
}

#[test]
fn an_unresolvable_provider_is_named() {
    let failed = failed(&forward(&home("https://provider.invalid"), ASK));
    assert_eq!((&failed["code"], &failed["status"]), (&"provider_unreachable".into(), &502.into()));
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("lookup") && message.contains("https://provider.invalid"), "{message}");
}

#[test]
fn a_broken_connection_is_distinguished_from_a_refused_one() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"choices\":";
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n";
    for (bytes, code, said) in [
        (&half[..], "invalid_answer", "the answer of OpenAI broke off: "),
        (&chunked[..], "invalid_answer", "the answer of OpenAI broke off: "),
        (
            b"",
            "provider_unreachable",
            "No answer from OpenAI API: connection closed before message completed. ",
        ),
        (b"SSH-2.0-x\r\n", "provider_unreachable", "No answer from OpenAI API: "),
    ] {
        let ran = forward(&home(&raw(bytes, Duration::ZERO)), ASK);
        let line = failed(&ran);
        assert_eq!((&line["code"], &line["status"]), (&code.into(), &502.into()));
        assert!(line["message"].as_str().unwrap().starts_with(said), "{ran}");
    }
    // The status is known, so it is reported.
    let half = b"HTTP/1.1 429 Slow\r\nContent-Length: 100\r\n\r\n{\"e\":";
    let line = failed(&forward(&home(&raw(half, Duration::ZERO)), ASK));
    assert_eq!((&line["code"], &line["status"]), (&"provider_error".into(), &429.into()));
}

#[test]
fn a_late_provider_times_out() {
    let late = Fake::new([Answer::new(200, YES).after(Duration::from_millis(900))]);
    let stalled = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":", Duration::from_secs(5));
    for (url, said) in [
        (late.url(), "No answer from OpenAI API: not done within 300ms. Using model 'gpt-4o' at "),
        (stalled, "the answer of OpenAI broke off: not done within 300ms"),
    ] {
        let begin = Instant::now();
        let line = failed(&forward(&home(&url).env("RSV_REQUEST_TIMEOUT", "300ms"), ASK));
        assert!(begin.elapsed() < Duration::from_secs(3));
        assert_eq!((&line["code"], &line["status"]), (&"timeout".into(), &504.into()));
        assert!(line["message"].as_str().unwrap().starts_with(said), "{line}");
    }
}

#[test]
fn a_connection_attempt_times_out() {
    // It waits for the end of a request head, and never greets as TLS would.
    let url = raw(b"", Duration::ZERO).replace("http", "https");
    let line = failed(&forward(&home(&url).env("RSV_CONNECT_TIMEOUT", "100ms"), ASK));
    assert_eq!((&line["code"], &line["status"]), (&"provider_unreachable".into(), &502.into()));
    let said =
        "Failed to connect to OpenAI API: no connection within 100ms. Using model 'gpt-4o' at 'https://";
    assert!(line["message"].as_str().unwrap().starts_with(said), "{line}");
}

#[test]
fn a_failed_connection_names_the_address_of_the_api_that_was_asked() {
    let message = r#"{"role":"user","content":"hi"}"#;
    let base = dead() + "/v1";
    for (body, path) in [
        (format!(r#"{{"model":"claude-x","max_tokens":9,"messages":[{message}]}}"#), "messages"),
        (r#"{"model":"gpt-x","input":"hi"}"#.to_owned(), "responses"),
    ] {
        let home = home(&base).env("RSV_ANTHROPIC_BASE_URL", &base).env("ANTHROPIC_API_KEY", "k");
        let said = format!("at '{base}/{path}'");
        let line = failed(&home.run("rsv-forward", &["--api", path], &body));
        assert!(line["message"].as_str().unwrap().contains(&said), "{line}");
    }
}

#[test]
fn no_failure_shows_the_key() {
    let echo = format!("{{\"error\":{{\"message\":\"bad key {CANARY}\"}},\"k\":\"{CANARY}\"}}");
    let fake = Fake::new([
        Answer::new(401, echo.clone()),
        Answer::new(500, format!("key {CANARY}")),
        Answer::new(200, format!("<p>{CANARY}")),
        Answer::new(302, echo).header("Location", &format!("http://{CANARY}.example/")),
        Answer::new(200, YES),
    ]);
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(home(&fake.url()));
    }
    runs.push(home(&dead()));
    runs.push(home(&raw(b"", Duration::ZERO)));
    runs.push(home("http://gateway.example"));
    runs.push(home(&dead().replace("http", "https")));
    runs.push(home(&raw(b"", Duration::ZERO).replace("http", "https")).env("RSV_CONNECT_TIMEOUT", "50ms"));
    runs.push(home("http://[bad"));
    runs.push(home(&fake.url()).env("RUST_LOG", "trace"));
    for home in runs {
        let ran = home.run("rsv-forward", &["-v"], ASK);
        assert!(!ran.to_string().contains("canary"), "{ran}");
    }
    let ran = forward(&home(&fake.url()).env("OPENAI_API_KEY", "canary\u{e9}\u{1}"), ASK);
    assert!(ran.status == 2 && !ran.to_string().contains("canary"), "{ran}");
}

#[test]
fn verbose_prints_details() {
    let fake = Fake::new([Answer::new(200, YES)]);
    let ran = home(&fake.url()).run("rsv-forward", &["-v"], ASK);
    let reported = [
        "the request to OpenAI: {\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
        "the answer of OpenAI: {\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"yes\"}}]}",
        "<stdin>:1: \"openai\" answered 200 in 0 ms",
    ];
    assert_eq!(ran.stderr, reported.map(|line| format!("rsv-forward: {line}\n")).concat());
}

#[test]
fn the_scope_of_the_flags_is_for_requests_that_have_none() {
    let fake = Fake::new(vec![Answer::new(200, YES); 2]);
    let own = format!("{},\"rsv\":{{\"partition\":\"p\"}}}}", ASK.strip_suffix('}').unwrap());
    let out = home(&fake.url()).run("rsv-forward", &["-p", "work"], format!("{ASK}\n{own}\n")).ok();
    let scopes: Vec<&str> = out.lines().map(|line| &line[line.find("\"rsv\"").unwrap()..]).collect();
    let rest = r#""provider":"openai","status":200,"latency_ms":0}}"#;
    assert_eq!(
        scopes,
        [
            format!(r#""rsv":{{"partition":"work","instance":"work",{rest}"#),
            format!(r#""rsv":{{"partition":"p",{rest}"#)
        ]
    );
    assert!(!fake.seen()[0].text().contains("work"));
}

#[test]
fn an_answer_is_out_before_the_next_request_is_there() {
    let fake = Fake::new(vec![Answer::new(200, YES); 2]);
    let home = home(&fake.url());
    let mut command = home.command("rsv-forward");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        writeln!(input, "{ASK}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("{\"choices\""), "{line}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_connection_that_the_provider_closed_is_not_reused() {
    let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"choices\":[{}]}";
    let home = home(&raw(whole, Duration::from_millis(50)));
    let mut command = home.command("rsv-forward");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for pause in [0, 200, 200] {
        std::thread::sleep(Duration::from_millis(pause));
        writeln!(input, "{ASK}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("{\"choices\""), "{line}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn bad_operands_are_reported_before_any_request() {
    let home = home("http://127.0.0.1:9");
    let ran = home.run("rsv-forward", &["missing.json"], ASK);
    assert_eq!(
        ran.to_string(),
        "rsv-forward: error: cannot open missing.json: no such file or directory\n\
         rsv-forward: hint: operands are names of files; check the directory, and the name\n[2]"
    );
    let ran = home.env("OLLAMA_BASE_URL", "http://x:y:z").run("rsv-forward", &[], ASK);
    assert_eq!(
        ran.to_string(),
        "rsv-forward: error: ollama_base_url: invalid address: invalid port number\n[2]"
    );
}
