use super::*;

fn assembled(chunks: &[&str]) -> String {
    let mut assembler = Assembler::new(1, Some(10_000));
    for chunk in chunks {
        assembler.add(&Object::parse(chunk).unwrap());
    }
    assembler.finish().map_or(String::new(), |response| response.to_json())
}

fn message(deltas: &[&str]) -> String {
    let chunks: Vec<String> = deltas.iter().map(|d| format!("{{\"choices\":[{{\"delta\":{d}}}]}}")).collect();
    let response = assembled(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
    let message = response.split_once("\"message\":").unwrap().1;
    message.split_once(",\"finish_reason\"").unwrap().0.to_owned()
}

#[test]
fn text_is_joined_and_the_head_kept() {
    let response = assembled(&[
        r#"{"id":"a","object":"chat.completion.chunk","created":1.0,"model":"m","citations":null,"rsv":{},"usage":null,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
        r#"{"id":"b","created":2,"model":"n","choices":[{"index":0,"delta":{"content":"Hé\u00e9"},"logprobs":{"content":[{"token":"H","logprob":-0.10}]},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"\n🦉"},"logprobs":{"content":[{"token":"o","logprob":-1}]},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"total_tokens":7},"citations":["x"],"timings":{"ms":1.50}}"#,
    ]);
    assert_eq!(
        response,
        r#"{"id":"a","object":"chat.completion","created":1.0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Héé\n🦉"},"finish_reason":"stop","logprobs":{"content":[{"token":"H","logprob":-0.10},{"token":"o","logprob":-1}]}}],"usage":{"total_tokens":7},"citations":["x"],"timings":{"ms":1.50}}"#
    );
}

#[test]
fn choices_are_told_apart() {
    let response = assembled(&[
        r#"{"choices":[{"index":1,"delta":{"content":"b"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"},{"index":1,"delta":{"content":"B"}}]}"#,
    ]);
    assert_eq!(
        response,
        r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":"bB"},"finish_reason":null}]}"#
    );
    assert_eq!(assembled(&[r#"{"choices":[],"usage":{}}"#]), "");
}

#[test]
fn an_answer_is_finished_by_its_reason() {
    let finished = |choices: &[&str], is_done: bool| {
        let mut assembler = Assembler::new(1, None);
        for choice in choices {
            assembler.add(&Object::parse(&format!("{{\"choices\":[{{{choice}}}]}}")).unwrap());
        }
        if is_done {
            assembler.done();
        }
        assembler.is_finished()
    };
    let (unnamed, no_reason, empty, reason) =
        ("\"delta\":{}", "\"finish_reason\":null", "\"finish_reason\":\"\"", "\"finish_reason\":\"stop\"");
    for (choices, without_end, with_end) in [
        (&[][..], false, false),
        (&[unnamed], false, true),
        (&[no_reason], false, false),
        (&[empty], false, false),
        (&[no_reason, reason], true, true),
        (&[reason, "\"index\":1"], false, false),
        (&[reason, "\"finish_reason\":\"error\""], false, false),
        (&["\"finish_reason\":\"abort\""], false, false),
        (&["\"finish_reason\":false"], false, false),
        (&["\"finish_reason\":0"], false, false),
    ] {
        assert_eq!(
            (finished(choices, false), finished(choices, true)),
            (without_end, with_end),
            "{choices:?}"
        );
    }
    let mut one_of_two = Assembler::new(2, None);
    one_of_two.add(&Object::parse(&format!("{{\"choices\":[{{{reason}}}]}}")).unwrap());
    assert!(!one_of_two.is_finished());
    one_of_two.done();
    assert!(one_of_two.is_finished());
    let twice = format!("{{\"choices\":[{{{reason}}}]}}");
    assert!(assembled(&[&twice, &twice]).contains("\"finish_reason\":\"stop\""));
}

#[test]
fn tool_calls_are_joined_by_their_index() {
    let joined = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]}"#;
    for (case, deltas) in [
        (
            "as OpenAI does",
            &[
                r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}"#,
                r#"{"tool_calls":[{"index":1,"id":"y","type":"function","function":{"name":"g","arguments":"{"}},{"index":0,"function":{"arguments":":1}"}}]}"#,
                r#"{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}"#,
            ][..],
        ),
        (
            "who names it again",
            &[
                r#"{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\""}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":":1}"}}]}"#,
                r#"{"tool_calls":[{"index":1,"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
            ],
        ),
        (
            "who numbers all 0",
            &[
                r#"{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
            ],
        ),
        (
            "who does not number",
            &[
                r#"{"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\""}}]}"#,
                r#"{"tool_calls":[{"function":{"arguments":":1}"}},{"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
            ],
        ),
    ] {
        assert_eq!(message(deltas), joined, "{case}");
    }
}

#[test]
fn reasoning_refusals_parts_and_unknown_members_are_kept() {
    assert_eq!(
        message(&[
            r#"{"role":"assistant","reasoning":"a","reasoning_content":"x","new":{"n":1.0,"t":"p"}}"#,
            r#"{"reasoning":"b","reasoning_content":"y","refusal":"no","role":"assistant","new":{"n":2,"t":"q"}}"#,
            r#"{"content":[{"type":"thinking","thinking":"hm"}],"refusal":null}"#,
            r#"{"content":"text"}"#,
        ]),
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"text"}],"reasoning":"ab","reasoning_content":"xy","new":{"n":2,"t":"pq"},"refusal":"no"}"#
    );
    assert_eq!(
        message(&[r#"{"content":"a"}"#, r#"{"content":[{"type":"x"}]}"#]),
        r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"x"}]}"#
    );
}

#[test]
fn no_more_is_gathered_than_there_is_room_for() {
    let chunk = Object::parse(r#"{"choices":[{"delta":{"content":"12345678"}}]}"#).unwrap();
    let end = Object::parse(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#).unwrap();
    let mut assembler = Assembler::new(1, Some(25));
    for _ in 0..5 {
        assembler.add(&chunk);
    }
    assembler.add(&end);
    assert!(assembler.is_truncated() && assembler.is_finished());
    assert!(assembler.finish().unwrap().to_json().contains(r#""1234567812345678""#));
    let mut none = Assembler::new(1, None);
    none.add(&chunk);
    assert!(!none.is_finished() && !none.is_truncated());
    none.add(&end);
    assert!(none.is_finished() && none.finish().is_none());
}
