//! rsv-proxy, by HTTP as its clients speak it.

use crate::fake::{Answer, Fake, dead};
use crate::support::{Home, PATIENCE, lines_of, wait_for};
use rsv::record::Object;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

pub(crate) const NOW: &str = "2026-11-21T07:03:00Z";
pub(crate) const REPLY: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1.0,"model":"llama3.1","choices":[{"index":0,"message":{"role":"assistant","content":"In \u00c9vora."},"finish_reason":"stop"}],"usage":{"total_tokens":12345678901234567890}}"#;

/// A proxy on a port of its own.
pub(crate) struct Proxy {
    child: Child,
    port: u16,
    /// Its messages before it listened, which nobody has read.
    before: VecDeque<String>,
    stderr: BufReader<ChildStderr>,
}

impl Proxy {
    pub(crate) fn start(home: &Home) -> Proxy {
        Proxy::start_with(home, &[])
    }

    pub(crate) fn start_with(home: &Home, words: &[&str]) -> Proxy {
        let mut command = home.command("rsv-proxy");
        command.args(["--port", "0"]).args(words);
        Proxy::spawn(command)
    }

    /// Starts a proxy by a command of its own.
    pub(crate) fn spawn(mut command: Command) -> Proxy {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut proxy = Proxy { child, port: 0, before: VecDeque::new(), stderr };
        while proxy.port == 0 {
            let line = proxy.next_line();
            assert!(!line.is_empty(), "the proxy ended: {:?}", proxy.before);
            match line.trim().split_once("listening on http://") {
                Some((_, address)) => proxy.port = address.rsplit(':').next().unwrap().parse().unwrap(),
                None => proxy.before.push_back(line),
            }
        }
        proxy
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The next line that it says on standard error.
    pub(crate) fn hear(&mut self) -> String {
        self.before.pop_front().unwrap_or_else(|| self.next_line())
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    /// Reads standard error up to a line with this text.
    pub(crate) fn hear_until(&mut self, text: &str) {
        loop {
            let line = self.hear();
            assert!(!line.is_empty(), "the proxy ended without: {text}");
            if line.contains(text) {
                return;
            }
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes; all of the answer.
    pub(crate) fn whole(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // The proxy may refuse before it has read all.
        let _ = stream.write_all(request);
        text_of(stream)
    }

    /// Sends these bytes; all bytes of the answer.
    pub(crate) fn bytes(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Sends these bytes; the status and body of the answer.
    pub(crate) fn raw(&self, request: &[u8]) -> (u16, String) {
        parts(&self.whole(request))
    }

    /// Posts, and waits until what was answered is stored, or cannot be.
    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> (u16, String) {
        let answered = self.raw(&post(path, headers, body));
        self.settle();
        answered
    }

    /// Waits until nothing waits to be stored, or the store fails; a slow one does not.
    pub(crate) fn settle(&self) {
        wait_for("turns to be stored", || {
            let (status, body) = self.get("/health");
            let fails = status != 200 && !body.contains("has kept a turn waiting");
            fails || body.contains("\"pending\":0,")
        });
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.raw(&asked("GET", path, ""))
    }

    /// Terminates it, and waits for the exit status.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.terminate();
        self.wait()
    }

    /// Waits until it ends; the exit status.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Terminates it; what it says to its end, and the exit status.
    pub(crate) fn last_words(&mut self) -> (String, Option<i32>) {
        self.terminate();
        let mut words = String::new();
        words.extend(std::mem::take(&mut self.before));
        self.stderr.read_to_string(&mut words).unwrap();
        (words, self.child.wait().unwrap().code())
    }

    /// How large it may make a file from now on, in bytes.
    pub(crate) fn may_write(&self, most: Option<u64>) {
        let limit = Rlimit { current: most, maximum: None };
        prlimit(Pid::from_raw(self.child.id().cast_signed()), Resource::Fsize, limit).unwrap();
    }

    /// The number of its descriptors, where the system tells it.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }

    /// The most memory that it had at once, in bytes, where the system tells it.
    pub(crate) fn peak_memory(&self) -> usize {
        let peak = self.status("VmHWM:");
        peak.map_or(0, |kib| kib.trim_end_matches(" kB").parse::<usize>().unwrap() * 1024)
    }

    /// The line of proc(5) with this beginning, where the system has one.
    pub(crate) fn status(&self, name: &str) -> Option<String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    }

    /// Kills it, with no time to store anything.
    pub(crate) fn kill(&self) {
        let _ = kill_process(Pid::from_raw(self.child.id().cast_signed()).unwrap(), Signal::KILL);
    }

    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A proxy with these limits, in the words of `ulimit`.
pub(crate) fn limited(home: &Home, limits: &str, words: &str) -> Command {
    let tool = home.command("rsv-proxy");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limits}; exec \"$0\" --port 0 {words}")]).arg(tool.get_program());
    command.env_clear().envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// A request without a body.
pub(crate) fn asked(method: &str, path: &str, headers: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n").into_bytes()
}

/// A request with a body in JSON.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

fn text_of(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8(text).unwrap()
}

fn parts(text: &str) -> (u16, String) {
    let status = text.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

pub(crate) fn answer(stream: TcpStream) -> (u16, String) {
    parts(&text_of(stream))
}

/// A home whose Ollama is this provider.
pub(crate) fn home(provider: &Fake) -> Home {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_TEST_NOW", NOW);
    patient(home)
}

/// A home in which memory is waited for, however much else the machine does.
fn patient(home: Home) -> Home {
    home.env("RSV_ENRICH_TIMEOUT", "60s")
}

pub(crate) fn asking(text: &str) -> String {
    format!(r#"{{"model":"llama3.1","messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

/// Keeps: The pipe and the proxy give the same bytes.
#[test]
fn the_pipe_and_the_proxy_give_the_same_bytes() {
    let past = r#"{"role":"user","content":"The bones chapel is in Évora","trace_id":"1","timestamp":1700000000000}
{"role":"assistant","content":"I know it","trace_id":"1","timestamp":1700000001000}
"#;
    for request in [
        asking("Where is the bones chapel?"),
        r#"{ "model" : "llama3.1", "temperature": 1.0, "seed": 123456789012345678901234567890, "x": {"b": [1, 2e5], "a": null},
            "messages": [ {"role":"system","content":"Be brief"}, {"role":"user","content":"Hello"},
              {"role":"assistant","content":"Hi \u00e9"}, {"role":"user","name":"ann","content":[{"type":"text","text":"And the bones chapel?"},{"type":"image_url","image_url":{"url":"data:,"}}]} ] }"#
            .to_owned(),
        r#"{"model":"llama3.1","messages":[{"role":"user","content":"weather?"},{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},{"role":"tool","tool_call_id":"1","content":"rain"}]}"#
            .to_owned(),
    ] {
        let (by_pipe, by_proxy) = (Fake::new([Answer::new(200, REPLY)]), Fake::new([Answer::new(200, REPLY)]));
        let (pipe, proxied) = (home(&by_pipe), home(&by_proxy));
        for home in [&pipe, &proxied] {
            home.run("rsv-ingest", &["-p", "p", "-i", "i/ä"], past).ok();
        }
        let enriched = pipe.run("rsv-enrich", &["-p", "p", "-i", "i/ä"], &request).ok();
        let answered = pipe.run("rsv-forward", &[], enriched).ok();
        let piped = pipe.run("rsv-ingest", &[], answered).ok();

        let proxy = Proxy::start(&proxied);
        let (status, body) = proxy.post("/partition/p/instance/i%2F%C3%A4/v1/chat/completions", "", &request);
        assert_eq!(status, 200, "{body}");
        assert_eq!(body, piped);
        assert_eq!(by_proxy.one().text(), by_pipe.one().text());
        assert!(!by_pipe.one().text().contains("\"rsv\""));
        let stored = |home: &Home| home.run("rsv-export", &["--vectors"], "").ok();
        assert_eq!(stored(&proxied), stored(&pipe));
        let user = request.contains("bones");
        assert!(by_pipe.one().text().contains("<rsv-memory>"), "{}", by_pipe.one().text());
        assert_eq!(stored(&pipe).lines().count(), if user { 7 } else { 5 }, "{}", stored(&pipe));
    }
}

/// A provider that answers as it is asked to: whole or in pieces.
fn either() -> Fake {
    Fake::answering(|seen| {
        if seen.text().contains("\"stream\":true") {
            Answer::new(200, EVENTS).header("Content-Type", "text/event-stream")
        } else {
            Answer::new(200, REPLY)
        }
    })
}

const EVENTS: &str = r#"data: {"object":"chat.completion.chunk","model":"llama3.1","choices":[{"index":0,"delta":{"role":"assistant","content":"In "}}]}

data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"\u00c9vora."},"finish_reason":"stop"}]}

data: [DONE]

"#;

/// Keeps: The pipe and the proxy give the same bytes, streamed or whole.
#[test]
fn requests_of_clients_give_the_same_bytes_by_pipe_and_proxy() {
    // Requests as the clients of the module `clients` sent them.
    let requests: Vec<Object> =
        include_str!("clients/requests.jsonl").lines().map(|line| Object::parse(line).unwrap()).collect();
    assert_eq!(requests.len(), 30);
    let (by_pipe, by_proxy) = (either(), either());
    let (pipe, proxied) = (home(&by_pipe), home(&by_proxy));
    let proxy = Proxy::start(&proxied);
    for (number, request) in requests.iter().enumerate() {
        let scope = ["-p", "p", "-i", &(number % 3).to_string()];
        let path = format!("/partition/p/instance/{}/v1/chat/completions", number % 3);
        let mut request = request.clone();
        for streamed in [false, true] {
            request.set("stream", streamed.to_string());
            let enriched = pipe.run("rsv-enrich", &scope, request.to_json()).ok();
            let words: &[&str] = if streamed { &["--stream"] } else { &[] };
            let answered = pipe.run("rsv-forward", words, enriched).ok();
            let piped = pipe.run("rsv-ingest", &[], answered).ok();
            let (status, body) = proxy.post(&path, "", &request.to_json());
            assert_eq!(status, 200, "{body}");
            if streamed {
                // An event's line says whose it is, and after the last comes the whole.
                let reported: Vec<&str> =
                    body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                let mut lines: Vec<Object> = piped.lines().map(|line| Object::parse(line).unwrap()).collect();
                assert!(lines.pop().is_some_and(|whole| whole.has("choices")) && !lines.is_empty());
                for line in &mut lines {
                    drop(line.take("rsv"));
                }
                let events = lines.iter().map(Object::to_json).chain(["[DONE]".to_owned()]);
                assert!(events.eq(reported.iter().copied()), "{body} and {piped}");
            } else {
                assert_eq!(body, piped);
            }
        }
    }
    let sent = |provider: &Fake| provider.seen().into_iter().map(|seen| seen.body).collect::<Vec<_>>();
    assert_eq!(sent(&by_proxy), sent(&by_pipe));
    assert_eq!(proxied.export(), pipe.export());
    assert!(by_pipe.seen().iter().any(|seen| seen.text().contains("<rsv-memory>")));
}

/// Keeps: The pipe and the proxy give the same bytes.
#[test]
fn by_meaning_too_the_pipe_and_the_proxy_give_the_same_bytes() {
    let texts = [
        "The bones chapel is in Evora",
        "My dog fears thunder",
        "Trams leave at nine",
        "We ate sardines",
        "The roof leaks",
        "Ilse is eighty four",
        "A ticket costs six euros",
        "It rained all of Tuesday",
    ];
    let lines: String = texts.iter().enumerate().map(|(n, text)| {
        json!({"role": "user", "content": text, "trace_id": n.to_string(), "timestamp": 1_700_000_000_000_u64 + n as u64})
            .to_string() + "\n"
    }).collect();
    for question in [
        "Where are the skeletons kept?",
        "Is the puppy afraid of storms, and what is the price of admission?",
    ] {
        let (by_pipe, by_proxy) =
            (Fake::new([Answer::new(200, REPLY)]), Fake::new([Answer::new(200, REPLY)]));
        let recalling = |provider: &Fake| {
            let home = Home::with_model().at(NOW).env("RSV_OLLAMA_BASE_URL", &provider.url());
            let home = patient(home);
            home.write(".config/rsv/config.toml", "recent_context_size = 0\n");
            home.ingest(&[], &lines);
            home.run("rsv-embed", &["--pending"], "").ok();
            home
        };
        let (pipe, proxied) = (recalling(&by_pipe), recalling(&by_proxy));
        let enriched = pipe.run("rsv-enrich", &[], asking(question)).ok();
        let answered = pipe.run("rsv-forward", &[], enriched).ok();
        let piped = pipe.run("rsv-ingest", &[], answered).ok();
        let proxy = Proxy::start(&proxied);
        assert_eq!(proxy.post("/v1/chat/completions", "", &asking(question)), (200, piped.clone()));
        assert_eq!(by_proxy.one().text(), by_pipe.one().text());
        assert!(piped.contains("\"score\":") && by_pipe.one().text().contains("<rsv-memory>"), "{piped}");
    }
}

/// The demo's conversation, of which only a few messages help.
#[test]
fn with_selective_recall_too_the_pipe_and_the_proxy_give_the_same_bytes() {
    let before = r#"{"model":"llama3.1","messages":[{"role":"system","content":"Be \u0062rief."},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi \u00e9"},{"role":"user","content":""#;
    let request = format!("{before}What did the hotel in Lisbon cost?\"}}]}}");
    let sent = |selective: &str| {
        // A long request is worth the question how large the model's window is.
        let provider = || {
            Fake::answering(|seen| match seen.path.as_str() {
                "/api/show" => Answer::new(200, "{}"),
                _ => Answer::new(200, REPLY),
            })
        };
        let (by_pipe, by_proxy) = (provider(), provider());
        let recalling = |provider: &Fake| {
            let home = home(provider).and_model().env("RSV_ENRICH_SELECTIVE", selective);
            home.ingest(&[], &crate::docs::read("scripts/demo.jsonl"));
            home.run("rsv-embed", &["--pending"], "").ok();
            home
        };
        let (pipe, proxied) = (recalling(&by_pipe), recalling(&by_proxy));
        let enriched = pipe.run("rsv-enrich", &[], &request).ok();
        let answered = pipe.run("rsv-forward", &[], enriched).ok();
        let piped = pipe.run("rsv-ingest", &[], answered).ok();
        let proxy = Proxy::start(&proxied);
        assert_eq!(proxy.post("/v1/chat/completions", "", &request), (200, piped));
        let chat = |provider: &Fake| {
            let seen = provider.seen();
            seen.iter().find(|seen| seen.path == "/v1/chat/completions").unwrap().text().to_owned()
        };
        let sent = chat(&by_pipe);
        assert_eq!(chat(&by_proxy), sent, "enrich.selective = {selective}");
        let stored = |home: &Home| home.run("rsv-view", &["--accounts"], "").ok();
        assert_eq!(stored(&proxied), stored(&pipe));
        // The part that a provider caches stays the same.
        assert!(sent.starts_with(&format!("{before}<rsv-memory>")), "{sent}");
        assert!(sent.contains("140 euros a night"), "{sent}");
        sent
    };
    let (selective, everything) = (sent("true"), sent("false"));
    assert!(selective.len() * 2 < everything.len(), "{selective}");
}

/// The answer to a command, as JSON.
fn command(proxy: &Proxy, path: &str) -> Vec<Value> {
    let (status, body) = proxy.get(path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn http_commands_return_what_the_tools_print() {
    let home = Home::with_model();
    let lines: String = [
        ("user", "The bones chapel is in Evora", "i"),
        ("assistant", "Skeletons are kept there, I know", "i"),
        ("user", "My dog fears thunder", "i"),
        ("user", "my dog fears thunder", "elsewhere"),
        ("user", " My dog fears thunder ", "i"),
        ("user", "Trams leave at nine + ten", "i"),
    ]
    .iter()
    .enumerate()
    .map(|(n, (role, said, instance))| {
        json!({"role": role, "content": said, "partition": "p", "instance": instance, "trace_id": "t",
            "timestamp": 1_700_000_000_000_u64 + n as u64})
        .to_string()
            + "\n"
    })
    .collect();
    home.ingest(&[], &lines);
    let proxy = Proxy::start(&home);
    let base = "/partition/p/instance/i/command";
    let scope = ["-p", "p", "-i", "i"];
    for (query, words) in [
        ("5?term=dog", &["dog", "--limit", "5"][..]),
        ("1?term=dog&semantic=false", &["dog", "--limit", "1"]),
        ("?term=dog&deduplicate=1&link=true", &["dog", "-d", "--link", "--limit", "5"]),
        ("?term=%22nine+%2B%22+trams", &["\"nine +\" trams"]),
        (
            "2?semantic=true&term=where%20do%20the%20dead%20lie",
            &["where do the dead lie", "--limit", "2", "--semantic"],
        ),
        ("4?term=is+the+puppy+afraid%3F&hybrid=1", &["is the puppy afraid?", "--limit", "4", "--hybrid"]),
        ("?term=nothing", &["nothing"]),
    ] {
        let ran = home.run("rsv-search", &[&scope, words].concat(), "");
        let reported = command(&proxy, &format!("{base}/search/{query}"));
        let hits = lines_of(&ran.stdout).into_iter();
        let member = |hit: &Value, name: &str| hit[name].clone();
        let names = ["role", "content", "id", "trace_id", "timestamp", "score"];
        let told_of = |hit: &Value| names.map(|name| member(hit, name));
        let wanted: Vec<_> = hits.map(|hit| told_of(&hit)).collect();
        assert_eq!(reported.iter().map(told_of).collect::<Vec<_>>(), wanted, "{query}");
    }
    assert_eq!(command(&proxy, &format!("{base}/search?term=dog")).len(), 2);
    for (path, count, last) in [
        ("/view", 5, "Trams leave at nine + ten"),
        ("/view/2", 2, "Trams leave at nine + ten"),
        ("/view/0", 0, ""),
    ] {
        let reported = command(&proxy, &format!("{base}{path}"));
        assert_eq!(reported.len(), count);
        assert!(reported.last().is_none_or(|message| message["content"] == last), "{reported:?}");
    }
    let (_, body) = proxy.get("/v1/partition/p/instance/elsewhere/command/view/1");
    let id = lines_of(&home.run("rsv-view", &["-p", "p", "-i", "elsewhere"], "").ok())[0]["id"].clone();
    let wanted = format!(
        "[{{\"role\":\"user\",\"content\":\"my dog fears thunder\",\"id\":{id},\"trace_id\":\"t\",\"timestamp\":1700000000003}}]\n"
    );
    assert_eq!(body, wanted);
    assert!(command(&proxy, "/v1/command/view").is_empty());
    let everywhere = command(&proxy, "/partition/p/v1/command/search/9?term=dog");
    assert_eq!(everywhere.len(), lines_of(&home.run("rsv-search", &["-p", "p", "dog"], "").ok()).len());
}

#[test]
fn a_failing_http_command_says_why() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    for (path, wanted, says) in [
        ("/v1/command/search/5", 400, "Missing 'term' query parameter"),
        ("/v1/command/search/5?term=", 400, "term: is empty"),
        ("/v1/command/search/x?term=a", 400, "expected a count, found x"),
        ("/v1/command/search?term=a&hybrid=perhaps", 400, "hybrid: expected true or false"),
        ("/partition/%FF/command/view", 400, "UTF-8"),
        ("/v1/command/search?term=a&semantic=1", 503, "no embedding model is installed"),
        ("/v1/command/search?term=a&hybrid=1", 503, "rsv-embed --fetch"),
        ("/v1/command/nothing", 404, "/v1/command/nothing"),
    ] {
        let (status, body) = proxy.get(path);
        assert_eq!(status, wanted, "{path}: {body}");
        for member in ["\"error\":{", "\"message\":", "\"type\":", "\"code\":", says] {
            assert!(body.contains(member), "{path}: {member} is not in {body}");
        }
    }
    assert_eq!(proxy.post("/v1/command/view", "", "").0, 405);
    assert_eq!(proxy.get("/v1/command/search?term=a"), (200, "[]\n".to_owned()));
    assert!(!home.store().exists(), "asking makes no store");
}

#[test]
fn proxy_errors_have_openais_shape() {
    let provider =
        Fake::new([Answer::new(429, r#"{"error":{"message":"slow down","type":"t","code":null}}"#)]);
    let home = home(&provider).env("RSV_MISTRAL_BASE_URL", &dead()).env("MISTRAL_API_KEY", "canary-key");
    let proxy = Proxy::start(&home.env("RSV_RETRIES", "0"));
    let chat = "/v1/chat/completions";
    let to = |model: &str| format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"x"}}]}}"#);
    for (what, (status, body), wanted, says) in [
        ("not JSON", proxy.post(chat, "", "{\"model\": nonsense"), 400, "invalid JSON"),
        ("no messages", proxy.post(chat, "", "{\"model\":\"m\"}"), 400, "messages: is missing"),
        ("no message", proxy.post(chat, "", "{\"model\":\"m\",\"messages\":[]}"), 400, "messages: is empty"),
        ("not UTF-8 in a name", proxy.post("/partition/%FF/v1/chat/completions", "", "{}"), 400, "UTF-8"),
        ("unknown path", proxy.post("/v2/nothing", "", "{}"), 404, "/v2/nothing"),
        ("wrong method", proxy.get(chat), 405, "use POST"),
        ("no key", proxy.post(chat, "", &to("gpt-4o")), 401, "OPENAI_API_KEY"),
        ("nobody there", proxy.post(chat, "", &to("mistral-small")), 502, "Failed to connect to Mistral API"),
        ("refused", proxy.post(chat, "", &to("llama3.1")), 429, "slow down"),
    ] {
        assert_eq!(status, wanted, "{what}: {body}");
        for member in ["\"error\":{", "\"message\":", "\"type\":", "\"code\":", says] {
            assert!(body.contains(member), "{what}: {member} is not in {body}");
        }
        assert!(!body.contains("canary-key"), "{body}");
    }
    assert_eq!(home.run("rsv-view", &["--all"], "").ok(), "");
}

#[test]
fn retry_after_is_passed_on() {
    let busy = || Answer::new(429, "{\"error\":{\"message\":\"slow down\"}}").header("Retry-After", "120");
    let provider = Fake::new([busy(), busy(), busy()]);
    // It is not asked again after two minutes.
    let proxy = Proxy::start(&home(&provider));
    let streamed = asking("x").replace("\"messages\"", "\"stream\":true,\"messages\"");
    for (path, body) in [
        ("/v1/chat/completions", &asking("x")),
        ("/v1/chat/completions", &streamed),
        ("/api/chat", &streamed),
    ] {
        let answer = proxy.whole(&post(path, "", body));
        assert!(
            answer.starts_with("HTTP/1.1 429 ") && answer.contains("\r\nretry-after: 120\r\n"),
            "{answer}"
        );
    }
}

#[test]
fn the_member_rsv_of_a_client_chooses_no_scope() {
    let provider = Fake::new([Answer::new(200, REPLY)]);
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    let body = r#"{"model":"llama3.1","rsv":{"partition":"secret","instance":"secret","trace_id":"t"},"messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(proxy.post("/v1/chat/completions", "", body).0, 200);
    assert_eq!(home.run("rsv-view", &["-p", "secret"], "").ok(), "");
    assert_eq!(home.run("rsv-view", &[], "").ok().lines().count(), 2);
}
