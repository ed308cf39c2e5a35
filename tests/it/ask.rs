//! rsv-ask: a turn in one process, as the pipe has it.

use crate::fake::{Answer, Fake, Wire};
use crate::proxy::NOW;
use crate::support::{Home, text};
use serde_json::{Value, json};
use std::io::Read;
use std::process::Stdio;

const EVENTS: &str = r#"data: {"object":"chat.completion.chunk","model":"llama3.1","choices":[{"index":0,"delta":{"role":"assistant","content":"In "}}]}

data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"\u00c9vora."},"finish_reason":"stop"}]}

data: [DONE]

"#;

fn streamed(body: &str) -> Answer {
    Answer::new(200, body).header("Content-Type", "text/event-stream")
}

/// A home with a message that a question about bones recalls.
fn home(url: &str) -> Home {
    let home = Home::new().at(NOW).env("RSV_OLLAMA_BASE_URL", url).env("RSV_RETRIES", "0");
    home.run("rsv-ingest", &["-p", "p", "--trace", "1", "The bones chapel is in Évora"], "").ok();
    home
}

/// The roles and contents of the messages of a scope.
fn stored(home: &Home) -> Vec<String> {
    home.contents("rsv-view", &["-p", "p"])
}

/// Keeps: The pipe and `rsv-ask` send and store the same bytes.
#[test]
fn the_pipe_and_rsv_ask_send_and_store_the_same() {
    let failing = Answer::new(400, r#"{"error":{"message":"I will not"}}"#);
    let broken = EVENTS.split_once("\n\n").unwrap().0.to_owned() + "\n\n";
    for (answer, printed, status) in [
        (streamed(EVENTS), "In Évora.\n", 0),
        (failing, "", 2),
        // A stream that breaks off.
        (streamed(&broken), "In \n", 2),
    ] {
        let (by_pipe, by_ask) = (Fake::new([answer.clone()]), Fake::new([answer]));
        let (pipe, asking) = (home(&by_pipe.url()), home(&by_ask.url()));
        let question = "Where \"is\" the bones chapel?";
        let request =
            format!(r#"{{"model":"llama3.1","messages":[{{"role":"user","content":{}}}]}}"#, json!(question));
        let scope = ["-p", "p", "-i", "p"];
        let enriched =
            pipe.run("rsv-enrich", &[&scope[..], &["--strict", "--trace", "t"]].concat(), request).ok();
        let answered = pipe.run("rsv-forward", &["--stream"], enriched);
        pipe.run("rsv-ingest", &[], answered.stdout).ok();

        let words = ["--model", "llama3.1", "--trace", "t", "Where", "\"is\" the", "bones chapel?"];
        let asked = asking.run("rsv-ask", &[&scope[..], &words].concat(), "");
        assert_eq!(
            (asked.stdout.as_str(), asked.status, answered.status),
            (printed, status, status),
            "{asked}"
        );
        assert_eq!(asked.stderr.is_empty(), status == 0, "{asked}");
        let sent: Value = serde_json::from_str(by_ask.one().text()).unwrap();
        let sent = text(&sent["messages"][0]["content"]);
        assert!(sent.contains("chapel is in Évora") && sent.ends_with(question), "{sent}");
        assert_eq!(by_ask.one().text(), by_pipe.one().text());
        assert_eq!(asking.export(), pipe.export());
        assert_eq!(stored(&asking).len(), if printed.is_empty() { 1 } else { 3 });
    }
}

#[test]
fn an_answer_without_text_is_an_error_and_not_stored() {
    let empty = r#"data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}

data: [DONE]

"#;
    let provider = Fake::new([streamed(empty)]);
    let home = home(&provider.url());
    let before = home.export();
    let asked = home.run("rsv-ask", &["-p", "p", "--model", "llama3.1", "Where?"], "");
    assert_eq!((asked.status, asked.stdout.as_str()), (2, ""), "{asked}");
    assert!(asked.stderr.starts_with("rsv-ask: error: the model gave no text\nrsv-ask: hint: "), "{asked}");
    assert_eq!(home.export(), before);
}

#[test]
fn a_question_is_words_or_what_is_piped_in_or_both() {
    let provider = Fake::answering(|_| streamed(EVENTS));
    let home = home(&provider.url()).without("RSV_TEST_NOW");
    home.run("rsv-config", &["set", "model", "llama3.1"], "").ok();
    for (words, stdin, wanted) in [
        (&["what", "is this"][..], "", "what is this"),
        (&[], "piped\n", "piped"),
        (&["explain", "this"], "a diff\n\n", "explain this\n\na diff"),
        (&["--", "-v"], "\n", "-v"),
    ] {
        home.run("rsv-ask", &[&["-p", "p", "-i", "q"], words].concat(), stdin).ok();
        let said = home.contents("rsv-view", &["2", "-p", "p", "-i", "q"]);
        assert_eq!(said, [wanted, "In Évora."]);
    }
    for stdin in ["", " \n"] {
        let said = home.run("rsv-ask", &[], stdin).trouble();
        assert!(said.contains("rsv-ask: error: there is no question\nrsv-ask: hint: "), "{said}");
    }
    let long = "many words ".repeat(30_000);
    let said = home.run("rsv-ask", &["--model", "llama3.1", "-p", "long"], &long).trouble();
    assert!(said.contains("too long"), "{said}");
    assert!(provider.seen().iter().all(|seen| !seen.text().contains("many words")), "some of it was sent");
}

#[test]
fn an_answer_is_printed_as_it_arrives_and_stored_even_if_its_reader_is_gone() {
    for reads in [true, false] {
        let wire = Wire::new();
        let home = home(&wire.url());
        let mut command = home.command("rsv-ask");
        command.args(["-p", "p", "--model", "llama3.1", "Where?"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut call = wire.accept();
        let (first, rest) = EVENTS.split_once("\n\n").unwrap();
        call.begin("");
        call.piece(first.to_owned() + "\n\n");
        let (mut out, mut begin) = (child.stdout.take().unwrap(), [0; 3]);
        out.read_exact(&mut begin).unwrap();
        assert_eq!(&begin, b"In ");
        let mut out = reads.then_some(out);
        call.piece(rest);
        call.end();
        if let Some(out) = &mut out {
            let mut end = String::new();
            out.read_to_string(&mut end).unwrap();
            assert_eq!(end, "Évora.\n");
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8(output.stderr).unwrap()),
            (Some(0), String::new())
        );
        assert_eq!(stored(&home)[1..], ["Where?", "In Évora."]);
    }
}
