use super::*;

fn quoted(text: &str, question: &str) -> String {
    let ranges = quoted_ranges(text, &SoughtWords::of(question, Languages::ENGLISH));
    ranges.and_then(|ranges| quotation(text, &ranges)).unwrap_or_else(|| text.to_owned())
}

#[test]
fn the_passages_with_the_words_of_the_question_are_quoted() {
    let filler = "Nothing of the kind is in here, whatever anybody says about it. ".repeat(12);
    let text = format!("{filler}The key is under the red stone. {filler}\n\nOwls hunt at night! {filler}");
    let quote = quoted(&text, "Where is the key?");
    assert!(quote.contains("The key is under the red stone.") && quote.len() <= QUOTED_BYTES + 20, "{quote}");
    assert!(quote.ends_with(GAP), "{quote}");
    let quote = quoted(&text, "When do owls hunt, and where is the key?");
    assert!(quote.contains("the red stone.") && quote.contains("Owls hunt at night!"), "{quote}");
    // Without any of its words, the beginning.
    assert!(quoted(&text, "Snow?").starts_with("Nothing of the kind"));
    assert_eq!(quoted("A short one. With two sentences.", "key"), "A short one. With two sentences.");
    let chinese = format!(
        "{}我的钥匙在红色的石头下面。{}",
        "这里什么都没有。".repeat(60),
        "这里什么都没有。".repeat(60)
    );
    assert!(quoted(&chinese, "钥匙在哪里").contains("我的钥匙在红色的石头下面。"));
}

#[test]
fn what_stands_elsewhere_is_not_quoted_again() {
    let question = SoughtWords::of("colour of tomatoes", Languages::ENGLISH);
    let mut quotations = Quotations::new(&question);
    quotations.add("Remember: my tomatoes are red, and the beans green.");
    for (text, have) in [
        ("My tomatoes are red", true),
        ("MY TOMATOES ARE RED!", true),
        ("My tomatoes are red. So are the peppers.", false),
        ("My toma", false),
        ("The beans are red", false),
    ] {
        assert_eq!(quotations.have(text), have, "{text}");
    }
}

#[test]
fn code_keeps_its_lines_and_its_fences() {
    let filler = "Nothing of the kind is in here. ".repeat(30);
    let code = format!("```sh\n{}```", "curl --fail localhost\n".repeat(30));
    let quote = quoted(&format!("{filler}\n{code}\n{filler}"), "curl localhost");
    assert!(quote.contains(&code), "{quote}");
    let long = format!("```\n{}needle --here\n{}```\n", "x = 1\n".repeat(300), "y = 2\n".repeat(300));
    let quote = quoted(&long, "needle");
    assert!(
        quote.contains("\n[...]\n")
            && quote.contains("x = 1\nneedle --here\n")
            && quote.len() <= QUOTED_BYTES + 20,
        "{quote}"
    );
}

#[test]
fn any_text_is_cut_into_passages_that_cover_it() {
    let texts = [
        "",
        "\n\n",
        "```",
        "~~~\n```",
        "。。。",
        "a.\u{301} b",
        "\u{2028}x. y",
        "'.' '!'",
        "é".repeat(5).as_str(),
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([1, 7, 479, 480, 481, 959, 961].map(|length| "é".repeat(length)))
    .chain(["word ".repeat(1000), "「はい。」".repeat(500), format!("```\n{}", "é".repeat(2000))]);
    for text in texts {
        let (mut end, passages) = (0, passages(&text));
        for passage in &passages {
            assert!(text[end..passage.start].trim().is_empty(), "{text}");
            assert!(passage.len() <= QUOTED_BYTES && !text[passage.clone()].trim().is_empty());
            end = passage.end;
        }
        assert!(text[end..].trim().is_empty(), "{text}");
        if let Some(ranges) = quoted_ranges(&text, &SoughtWords::of("", Languages::ENGLISH)) {
            assert!(!ranges.is_empty() && quotation(&text, &ranges).unwrap().len() <= QUOTED_BYTES + 20);
        }
    }
    for [(start, end), (next, last)] in [[(1, 2), (2, 3)], [(0, 2), (2, 9)], [(2, 3), (0, 1)]] {
        assert_eq!(quotation("éa", &[start..end, next..last]), None);
    }
}
