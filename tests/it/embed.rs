//! rsv-embed with a real model: vectors for lines, and for what a store holds.

use crate::fake::{Answer, Fake, Seen, dead};
use crate::shared::made_once;
use crate::support::{Home, MODEL, lines_of, model_files, on_each_store, text};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

/// A model of one's own: the files of the tests' model, of which the first token's vector is taken, and which
/// wants questions worded otherwise.
const OTHER: &str = "other";

/// A home with two models; the tests' own is the better one.
fn two_models() -> Home {
    let installed = made_once("two-models", |directory| {
        let home = Home::kept_in(directory);
        home.fetch(&[MODEL, "--from", model_files().to_str().unwrap()]).ok();
        home.write("other/1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
        home.write("other/config_sentence_transformers.json", r#"{"prompts": {"query": "find: "}}"#);
        for file in ["model.onnx", "tokenizer.json"] {
            symlink(model_files().join(file), home.path(OTHER).join(file)).unwrap();
        }
        home.fetch(&[OTHER]).ok();
    });
    Home::new().and_models_of(&installed.join("home"))
}

fn named(home: &Home, model: &str) -> Home {
    home.env("RSV_EMBED_MODEL", model)
}

/// A line as it was, but for its vector, and that vector.
fn without_vector(line: &str) -> (String, Vec<f64>) {
    let begin = line.find("\"embedding\":[").unwrap() + 12;
    let end = begin + line[begin..].find(']').unwrap() + 1;
    (format!("{}#{}", &line[..begin], &line[end..]), serde_json::from_str(&line[begin..end]).unwrap())
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The vector of a text, worded as it is.
fn vector(home: &Home, text: &str) -> Vec<f64> {
    without_vector(home.run("rsv-embed", &["--text"], text).ok().trim_end()).1
}

/// The messages of the store that have a vector of a model, and the vectors, as export writes them.
fn stored(home: &Home, model: &str) -> Vec<String> {
    let lines = home.export();
    let (kind, model) = ("\"kind\":\"embedding\"", format!("\"model\":\"{model}\""));
    lines.lines().filter(|line| line.contains(kind) && line.contains(&model)).map(str::to_owned).collect()
}

fn database(home: &Home) -> Connection {
    Connection::open(home.store()).unwrap()
}

/// A number that a statement gives.
fn number(store: &Connection, sql: &str) -> i64 {
    store.query_row(sql, [], |row| row.get(0)).unwrap_or_default()
}

/// Ingests messages of different texts, oldest first, into the scope p.
fn ingest_many(home: &Home, count: usize) {
    let line = |n: usize| {
        let content = format!("Invoice {n} for {} boxes was paid after {} days.", n % 17, n % 29);
        json!({"role": "user", "content": content, "trace_id": "t", "timestamp": n + 1}).to_string() + "\n"
    };
    home.ingest(&["-p", "p"], &(0..count).map(line).collect::<String>());
}

/// Fails unless a text that is stored is what a search by meaning finds first, as near as can be: vectors of
/// two models would be far apart. Returns the search's standard error.
fn finds(home: &Home, question: &str) -> String {
    let ran = home.run("rsv-search", &["-p", "p", "--semantic", "--limit", "1", question], "");
    let hit = &lines_of(&ran.stdout)[0];
    assert_eq!(text(&hit["content"]), question, "{ran}");
    assert!(hit["score"].as_f64() > Some(0.9) && hit["score"] == hit["why"]["similarity"], "{ran}");
    ran.stderr
}

/// Starts rsv-embed and kills it once a condition holds in the store.
fn kill_when(home: &Home, words: &[&str], sql: &str) {
    let mut command = home.command("rsv-embed");
    let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let store = database(home);
    while number(&store, sql) == 0 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it could be killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_line_gets_its_vector_and_stays_as_it_was() {
    let home = named(&two_models(), OTHER);
    let model = r#""embedding_model":"other""#;
    // The line, what is embedded of it as this model words it, and how it comes out.
    let cases = [
        (
            r#"{"kind":"message", "mood":1.0,"role":"user","content":"a wall","title":7,"n":123456789012345678901}"#,
            "a wall",
            r#"{"kind":"message","mood":1.0,"role":"user","content":"a wall","title":7,"n":123456789012345678901,"embedding":#,M}"#,
        ),
        (
            r#"{"embedding":[1,2],"role":"user","embedding_model":"m","content":[{"type":"text","text":"a wall"}],"z":1}"#,
            "a wall",
            r#"{"embedding":#,"role":"user",M,"content":[{"type":"text","text":"a wall"}],"z":1}"#,
        ),
        (
            r#"{"title":"walls","content":"of stone"}"#,
            "walls\nof stone",
            r#"{"title":"walls","content":"of stone","embedding":#,M}"#,
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"a wall"},{"role":"tool","content":"x"}]}"#,
            "find: a wall",
            r#"{"model":"m","messages":[{"role":"user","content":"a wall"},{"role":"tool","content":"x"}],"embedding":#,M}"#,
        ),
        (
            r#"{"kind":"query","query":"a wall"}"#,
            "find: a wall",
            r#"{"kind":"query","query":"a wall","embedding":#,M}"#,
        ),
    ];
    let input: Vec<&str> = cases.iter().map(|(line, ..)| *line).collect();
    let out = home.run("rsv-embed", &[], input.join("\n")).ok();
    let out: Vec<&str> = out.lines().collect();
    assert_eq!(out.len(), cases.len());
    for (line, (_, said, wanted)) in out.iter().zip(cases) {
        let (line, made) = without_vector(line);
        assert_eq!(line, wanted.replace('M', model), "{said}");
        assert!(cosine(&made, &worded(&home, said)) > 0.9999, "{said}");
    }
}

/// The vector of a text that may have line ends.
fn worded(home: &Home, text: &str) -> Vec<f64> {
    let line = json!({"role": "user", "content": text}).to_string();
    without_vector(home.run("rsv-embed", &[], line).ok().trim_end()).1
}

#[test]
fn lines_without_text_pass_unchanged() {
    let home = Home::with_model();
    let lines = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]}
{"role":"assistant","tool_calls":[{"id":"c"}]}
{"role":"user","content":" \n"}
{"kind":"link","rel":"SYNAPSE","from":"a","to":"b"}
{"messages":[{"role":"system","content":"Be brief."}]}
"#;
    assert_eq!(home.run("rsv-embed", &[], lines).ok(), lines);
    assert_eq!(home.run("rsv-embed", &[], "").ok(), "");
    // In raw output, a missing vector would go unnoticed.
    let said =
        home.run("rsv-embed", &["--format", "raw"], "{\"role\":\"user\",\"content\":\"\"}\n").trouble();
    assert_eq!(said, "rsv-embed: error: <stdin>:1: there is no text to embed\n");
}

#[test]
fn the_first_line_comes_out_before_the_last_goes_in() {
    let home = Home::with_model();
    for words in [&["--text"][..], &["--field", "text"]] {
        let mut talk = home.talk("rsv-embed", words);
        for said in ["a wall", "a dog", "a wall"] {
            talk.say(&if words.len() == 1 { said.to_owned() } else { json!({"text": said}).to_string() });
            let heard: Value = serde_json::from_str(&talk.hear().unwrap()).unwrap();
            assert_eq!((&heard["text"], &heard["embedding_model"]), (&json!(said), &json!(MODEL)));
        }
        let (status, stderr) = talk.end();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn lines_keep_their_order_however_many() {
    let home = Home::with_model();
    let lines: String = (0..300).map(|n| format!("{n} {}\n", "word ".repeat(n * 7 % 23))).collect();
    let out = lines_of(&home.run("rsv-embed", &["--text"], &lines).ok());
    let texts: Vec<String> = out.iter().map(|line| text(&line["text"])).collect();
    assert_eq!(texts, lines.lines().collect::<Vec<_>>());
}

#[test]
fn plain_lines_are_embedded_and_raw_vectors_printed() {
    let home = Home::with_model();
    home.write("one.txt", "\u{feff}a wall\r\n\nlast");
    let lines = lines_of(&home.run("rsv-embed", &["--text", "one.txt", "-"], "more\n").ok());
    let texts: Vec<String> = lines.iter().map(|line| text(&line["text"])).collect();
    assert_eq!(texts, ["a wall", "", "last", "more"]);
    let mut command = home.command("rsv-embed");
    let raw = command.args(["--text", "--format", "raw", "one.txt"]).output().unwrap().stdout;
    let raw: Vec<f32> = raw.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let numbers = |line: &Value| -> Vec<f32> { serde_json::from_value(line["embedding"].clone()).unwrap() };
    let wanted: Vec<f32> = lines[..3].iter().flat_map(numbers).collect();
    assert_eq!(raw.len(), 3 * 384);
    assert!(raw.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn a_bad_line_is_named_and_the_others_are_done() {
    let home = Home::with_model();
    let lines = "{\"role\":\"user\",\"content\":\"a\"}\nnot json\n{\"foo\":\"b\"}\n{\"content\":5}\n\
                 {\"content\":\"z\"}\n";
    let ran = home.run("rsv-embed", &["-q"], lines);
    let out = lines_of(&ran.stdout);
    assert_eq!(out.iter().map(|line| text(&line["content"])).collect::<Vec<_>>(), ["a", "z"]);
    assert_eq!(
        ran.trouble(),
        "rsv-embed: error: <stdin>:2: expected a JSON object, found 'n'\n\
         rsv-embed: hint: each line is a JSON object: man 5 rsv-record\n\
         rsv-embed: error: <stdin>:3: content: is missing\n\
         rsv-embed: hint: name another member with --field\n\
         rsv-embed: error: <stdin>:4: content: expected a string or an array of parts, found 5\n"
    );
    let ran = home.run("rsv-embed", &["--field", "foo"], lines);
    assert_eq!(lines_of(&ran.stdout).len(), 1);
    let said = ran.trouble();
    assert!(
        said.contains("<stdin>:1: foo: is missing") && said.contains("<stdin>:5: foo: is missing"),
        "{said}"
    );
}

#[test]
fn flags_of_different_tasks_conflict() {
    let home = Home::with_model();
    for words in [
        &["--pending", "--models"][..],
        &["--pending", "--text"],
        &["--replay", "m", "--pending"],
        &["--fetch", "m", "--format", "raw"],
        &["--text", "--field", "x"],
        &["--keep"],
        &["--from", "d"],
        &["-", "-"],
    ] {
        let ran = home.run("rsv-embed", words, "");
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{words:?}");
    }
}

#[test]
fn a_closed_pipe_ends_embedding() {
    let home = Home::with_model();
    let input = home.write("input", &"a wall\n".repeat(2000));
    let mut command = home.command("rsv-embed");
    command.arg("--text").stdin(File::open(input).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn pending_messages_get_vectors() {
    let home = Home::with_model();
    home.run("rsv-embed", &["--pending"], "").ok();
    assert!(!home.store().exists(), "a store was made for nothing");
    ingest_many(&home, 40);
    let more = r#"{"role":"user","content":"elsewhere","trace_id":"1","timestamp":1,"partition":"q"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c"}],"trace_id":"1","timestamp":2,"partition":"q"}
"#;
    home.ingest(&[], more);
    home.run("rsv-embed", &["--pending", "-p", "q"], "").ok();
    assert_eq!(stored(&home, MODEL).len(), 1);
    home.run("rsv-embed", &["--pending"], "").ok();
    let all = stored(&home, MODEL);
    assert_eq!(all.len(), 41);
    home.run("rsv-embed", &["--pending"], "").ok();
    assert_eq!(stored(&home, MODEL), all);
    home.check();
}

#[test]
fn a_second_backfill_waits_and_says_so() {
    let home = Home::with_model();
    ingest_many(&home, 5);
    let lock = File::create(home.path(".local/share/rsv/store.db-embed")).unwrap();
    lock.lock().unwrap();
    for words in [&["--pending"][..], &["--replay"]] {
        let mut command = home.command("rsv-embed");
        let mut child: Child =
            command.args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = said.next().unwrap().unwrap();
        assert_eq!(line, "rsv-embed: waiting for another rsv-embed that works on this store");
        // A search does not wait.
        finds(&home, "Invoice 3 for 3 boxes was paid after 3 days.");
        lock.unlock().unwrap();
        assert!(said.next().is_none() && child.wait().unwrap().success());
        lock.lock().unwrap();
    }
    assert_eq!(stored(&home, MODEL).len(), 5);
}

#[test]
fn a_search_embeds_some_first_and_says_what_is_left() {
    let home = Home::with_model().env("RSV_EMBED_CATCH_UP", "2");
    ingest_many(&home, 5);
    let newest = "Invoice 4 for 4 boxes was paid after 4 days.";
    assert_eq!(finds(&home, newest), "rsv-search: 3 messages have no vector yet: rsv-embed --pending\n");
    assert_eq!(finds(&home, newest), "rsv-search: 1 message has no vector yet: rsv-embed --pending\n");
    assert_eq!(finds(&home, newest), "");
    assert_eq!(stored(&home, MODEL).len(), 5);
    // The model is chosen before anything is loaded, and its absence is reported.
    let none = home.env("XDG_DATA_HOME", &home.path("none").display().to_string());
    let none = none.env("RSV_STORE", home.store().to_str().unwrap());
    let search = |words: &[&str]| none.run("rsv-search", &[&["-p", "p", "invoice"], words].concat(), "");
    let said = search(&["--semantic"]).trouble();
    assert!(said.contains(&format!("hint: rsv-embed --fetch {MODEL}")), "{said}");
    let words = search(&["--semantic", "--fallback", "keyword"]);
    assert_eq!((words.status, words.stdout.lines().count()), (0, 5));
    assert!(words.stderr.starts_with("rsv-search: searching by words: "), "{words}");
}

#[test]
fn many_questions_are_answered_by_meaning() {
    let home = Home::with_model();
    let lines = r#"{"role":"user","content":"My dog fears thunder.","id":"m1","trace_id":"1","timestamp":1,"partition":"p"}
{"role":"user","content":"The ticket costs ten euros.","id":"m2","trace_id":"1","timestamp":2,"partition":"p"}
{"role":"user","content":"A storm at sea.","id":"m3","trace_id":"2","timestamp":3,"partition":"q"}
"#;
    home.ingest(&[], lines);
    let queries = r#"{"query":"a pet in a storm","id":"a"}
{"query":"a pet in a storm","partition":"q"}
{"query":"the price of admission","since":3}
{"query":"the price of admission","limit":2}
"#;
    for by in ["--semantic", "--hybrid"] {
        let found = lines_of(&home.run("rsv-search", &["-p", "p", by, "--limit", "1"], queries).ok());
        let ids: Vec<&Value> = found.iter().map(|line| &line["id"]).collect();
        assert_eq!(ids[..2], ["m1", "m3"], "{by}");
        assert_eq!((&found[2]["hits"], &found[3]["id"]), (&json!(0), &json!("m2")), "{by}");
    }
}

#[test]
fn a_killed_replay_is_resumed() {
    let home = Home::with_model();
    ingest_many(&home, 500);
    home.run("rsv-embed", &["--pending"], "").ok();
    let right = stored(&home, MODEL);
    let damage = |which: &str| {
        let sql = format!("UPDATE embedding SET vector = zeroblob(length(vector)) WHERE {which}");
        assert!(database(&home).execute(&sql, []).unwrap() > 0);
    };
    damage("TRUE");
    kill_when(&home, &["--replay"], "SELECT count(*) FROM fact WHERE name = 'replay'");
    let half = stored(&home, MODEL);
    let done: Vec<bool> = half.iter().zip(&right).map(|(made, right)| made == right).collect();
    assert!(done.contains(&true) && done.contains(&false));
    // The newest was embedded first, and the resumed run does not embed it again.
    damage("record = (SELECT n FROM record ORDER BY timestamp DESC LIMIT 1)");
    home.run("rsv-embed", &["--replay"], "").ok();
    let whole = stored(&home, MODEL);
    let wrong: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != right[*at]).collect();
    assert_eq!((whole.len(), wrong.len()), (500, 1));
    home.run("rsv-embed", &["--replay", MODEL, "-p", "p"], "").ok();
    assert_eq!(stored(&home, MODEL), right);
    assert_eq!(number(&database(&home), "SELECT count(*) FROM fact WHERE name = 'replay'"), 0);
    assert_eq!(finds(&home, "Invoice 7 for 7 boxes was paid after 7 days."), "");
    home.check();
}

#[test]
fn a_store_changes_its_model_twice() {
    let question = "Invoice 250 for 12 boxes was paid after 18 days.";
    let home = two_models();
    let other = named(&home, OTHER).env("RSV_EMBED_CATCH_UP", "0");
    ingest_many(&home, 500);
    home.run("rsv-embed", &["--pending"], "").ok();
    assert_eq!(finds(&home, question), "");

    // The change is reported once, and searches continue with the store's own model.
    let reported = finds(&other, question);
    assert!(reported.contains("are of all-minilm-l6-v2-int8, but the model is set to other"), "{reported}");
    assert!(reported.contains("rsv-embed --replay") && reported.lines().count() == 1, "{reported}");
    assert_eq!(finds(&other, question), "");

    // Killed half way: the store has vectors of both models, and searches use the previous ones.
    let some = "SELECT count(*) FROM embedding JOIN model ON model.n = model WHERE name = 'other'";
    kill_when(&other, &["--replay"], some);
    let half = stored(&home, OTHER).len();
    assert!(half > 0 && half < 500 && stored(&home, MODEL).len() == 500, "{half}");
    assert_eq!(finds(&other, question), "");
    let narrowed = other.run("rsv-embed", &["--replay", "-p", "nobody"], "");
    assert!(narrowed.stderr.contains(" records have no vector of other yet; until they do, "), "{narrowed}");

    other.run("rsv-embed", &["--replay"], "").ok();
    assert_eq!((stored(&home, OTHER).len(), stored(&home, MODEL).len()), (500, 0));
    assert_eq!(model_of(&home), OTHER);
    // A question is worded otherwise than what answers it, by this model.
    let nearest = lines_of(&other.run("rsv-search", &["-p", "p", "--semantic", question], "").ok());
    let found: Vec<f64> = nearest.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    let asked = vector(&other, &format!("find: {question}"));
    let best = vector(&other, nearest[0]["content"].as_str().unwrap());
    assert!((cosine(&asked, &best) - found[0]).abs() < 1e-4 && found.is_sorted_by(|a, b| a >= b));

    // And back, keeping the previous vectors.
    home.run("rsv-embed", &["--replay", MODEL, "--keep"], "").ok();
    assert_eq!((stored(&home, OTHER).len(), stored(&home, MODEL).len()), (500, 500));
    assert_eq!(model_of(&home), MODEL);
    assert_eq!(finds(&home, question), "");
    home.check();
}

/// The model that a store remembers.
fn model_of(home: &Home) -> String {
    let sql = "SELECT value FROM fact WHERE name = 'model'";
    database(home).query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn an_interrupted_change_of_the_model_is_completed() {
    let home = two_models();
    ingest_many(&home, 20);
    home.run("rsv-embed", &["--pending"], "").ok();
    home.run("rsv-embed", &["--replay", OTHER, "--keep"], "").ok();
    // As it stands when the change is made and nothing is removed yet.
    let fact = format!("INSERT INTO fact (name, value) VALUES ('leaving', '{MODEL}')");
    database(&home).execute(&fact, []).unwrap();
    home.run("rsv-embed", &["--replay", OTHER], "").ok();
    assert_eq!((stored(&home, OTHER).len(), stored(&home, MODEL).len()), (20, 0));
    // Once it is at its end, nothing else is removed.
    home.run("rsv-embed", &["--replay", MODEL, "--keep"], "").ok();
    assert_eq!((stored(&home, OTHER).len(), stored(&home, MODEL).len()), (20, 20));
}

#[test]
fn a_store_whose_model_is_missing_is_searched_by_another() {
    let home = two_models();
    ingest_many(&home, 10);
    named(&home, OTHER).run("rsv-embed", &["--pending"], "").ok();
    let question = "Invoice 7 for 7 boxes was paid after 7 days.";
    let gone = Home::with_model().env("RSV_STORE", home.store().to_str().unwrap());
    for _ in 0..2 {
        let said = finds(&gone, question);
        assert!(
            said.contains("are of other, which is not installed") && said.contains("rsv-embed --replay"),
            "{said}"
        );
    }
    gone.run("rsv-embed", &["--replay"], "").ok();
    assert_eq!((stored(&home, OTHER).len(), stored(&home, MODEL).len()), (0, 10));
    assert_eq!(finds(&gone, question), "");
}

#[test]
fn a_message_that_a_server_rejects_does_not_block_others() {
    let vectors = |count: usize| {
        let data: Vec<Value> =
            (0..count).map(|n| json!({"index": n, "embedding": [0.6, 0.8, n as f64]})).collect();
        Answer::new(200, json!({"data": data}).to_string())
    };
    let long = || Answer::new(413, r#"{"error":{"message":"too many tokens"}}"#);
    // All three; the first alone, and the second; then each by itself.
    let fake = Fake::new([long(), vectors(1), long(), vectors(1), long(), vectors(1)]);
    let home = named(&Home::new().env("RSV_EMBED_VIA", &(fake.url() + "/v1")), "m");
    ingest_many(&home, 3);
    let said = home.run("rsv-embed", &["--pending"], "").trouble();
    assert!(said.contains("rsv-embed: error: message ") && said.contains("too many tokens"), "{said}");
    assert_eq!((said.matches("error: ").count(), stored(&home, "m").len()), (1, 2));
}

#[test]
fn a_store_is_searched_by_its_own_model_though_the_settings_name_a_server() {
    let home = Home::with_model();
    ingest_many(&home, 5);
    home.run("rsv-embed", &["--pending"], "").ok();
    let away = named(&home.env("RSV_EMBED_VIA", &(dead() + "/v1")), "m");
    let question = "Invoice 2 for 2 boxes was paid after 2 days.";
    let reported = finds(&away, question);
    assert!(reported.contains("the model is set to m") && reported.lines().count() == 1, "{reported}");
    assert_eq!(finds(&away, question), "");
}

/// The answer of a server that makes vectors.
fn vectors_for(asked: &Seen) -> Answer {
    let body: Value = serde_json::from_str(asked.text()).unwrap();
    let count = body["input"].as_array().map_or(1, Vec::len);
    let data: Vec<Value> =
        (0..count).map(|n| json!({"index": n, "embedding": [0.6, 0.8, n as f64]})).collect();
    Answer::new(200, json!({"data": data}).to_string())
}

on_each_store!(a_record_that_goes_while_its_vector_is_made_is_no_fault);
fn a_record_that_goes_while_its_vector_is_made_is_no_fault(home: Home) {
    let notes = |names: &[&str]| -> String {
        let node = |name: &str| json!({"kind": "document", "uri": format!("viking://resources/notes{name}"), "content": format!("Bats {name}")});
        let nodes = [""].iter().chain(names).map(|name| node(name));
        let end = json!({"kind": "tree", "uri": "viking://resources/notes", "nodes": 1, "complete": true});
        nodes.chain([end]).map(|line| format!("{line}\n")).collect()
    };
    home.run("rsv-ingest", &["--mirror"], notes(&["/a", "/b"])).ok();
    let lines = [
        json!({"kind": "message", "id": "m1", "role": "user", "content": "Bats sleep", "timestamp": 1}),
        json!({"kind": "message", "id": "m2", "role": "user", "content": "Bats hunt", "timestamp": 2}),
        json!({"kind": "memory", "id": "y1", "title": "On bats", "content": "They hang", "outcome": "success"}),
    ];
    home.ingest(&[], &lines.map(|line| format!("{line}\n")).concat());
    // A mirror takes a document away, and a message and a memory are forgotten.
    let (other, mut is_gone) = (home.clone(), false);
    let fake = Fake::answering(move |asked| {
        if !std::mem::replace(&mut is_gone, true) {
            other.run("rsv-ingest", &["--mirror"], notes(&["/a"])).ok();
            other.run("rsv-forget", &["m1", "y1"], "").ok();
        }
        vectors_for(asked)
    });
    let embedding = named(&home.env("RSV_EMBED_VIA", &(fake.url() + "/v1")), "m");
    let ran = embedding.run("rsv-embed", &["--pending"], "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran}");
    assert_eq!(lines_of(&home.export()).iter().filter(|line| line["kind"] == "embedding").count(), 3);
    home.check();
}

on_each_store!(a_record_that_cannot_be_embedded_is_named_with_its_kind);
fn a_record_that_cannot_be_embedded_is_named_with_its_kind(home: Home) {
    let lines = [
        json!({"kind": "message", "id": "m1", "role": "user", "content": "Bats", "timestamp": 1}),
        json!({"kind": "memory", "id": "y1", "title": "On bats", "content": "Bats", "outcome": "success"}),
        json!({"kind": "document", "uri": "viking://resources/bats", "content": "Bats"}),
    ];
    let stored = home.ingest(&[], &lines.each_ref().map(|line| format!("{line}\n")).concat());
    let fake = Fake::answering(|asked| {
        let too_long = Answer::new(413, r#"{"error":{"message":"too many tokens"}}"#);
        if asked.text().contains("Bats") { too_long } else { vectors_for(asked) }
    });
    home.ingest(&[], "An owl");
    let home = named(&home.env("RSV_EMBED_VIA", &(fake.url() + "/v1")), "m");
    let ran = home.run("rsv-embed", &["--pending"], "");
    assert_eq!(ran.status, 2, "{ran}");
    for line in stored {
        let named = format!("{} {}: ", text(&line["kind"]), text(&line["id"]));
        assert!(ran.stderr.contains(&named), "{named}: {ran}");
    }
}
