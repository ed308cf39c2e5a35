//! Texts in many languages: words are found by another form of them, and conversations pass through every tool.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, asking, home as home_of_proxy};
use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

/// By language: a text, another one, and a question in which a word of the first has another form.
const INFLECTED: [(&str, [&str; 2], &str); 10] = [
    (
        "de",
        [
            "Die Katzen schlafen auf dem warmen Ofen, weil es in dem Zimmer so kalt ist.",
            "Der Hund liegt unter dem Tisch und wartet auf das Essen, das wir ihm geben.",
        ],
        "Wo ist die Katze?",
    ),
    (
        "es",
        [
            "Las llaves de la bodega están en el cajón de la cocina, al lado de los platos.",
            "El perro duerme debajo de la mesa y espera la comida que le damos por la noche.",
        ],
        "¿Dónde está la llave?",
    ),
    (
        "fr",
        [
            "Les tomates sont plantées contre le mur du jardin, parce que le soleil y est plus chaud.",
            "Le chien dort sous la table et il attend le repas que nous lui donnons le soir.",
        ],
        "Où est la tomate ?",
    ),
    (
        "ru",
        [
            "Ключи от сарая висят за дверью, а не на стене, как это было раньше.",
            "Собака лежит под столом и ждёт, когда мы дадим ей поесть.",
        ],
        "Где у нас ключ?",
    ),
    (
        "it",
        [
            "I libri della nonna sono nel cassetto della cucina, vicino ai piatti che usiamo.",
            "Il cane dorme sotto il tavolo e aspetta il cibo che gli diamo di sera.",
        ],
        "Dove è il libro?",
    ),
    (
        "pt",
        [
            "As chaves da garagem estão na gaveta da cozinha, ao lado dos pratos que usamos.",
            "O cachorro dorme embaixo da mesa e espera a comida que nós damos para ele.",
        ],
        "Onde está a chave?",
    ),
    (
        "nl",
        [
            "De katten slapen op de warme kachel, omdat het in de kamer zo koud is.",
            "De hond ligt onder de tafel en wacht op het eten dat wij hem geven.",
        ],
        "Waar is de kat?",
    ),
    (
        "sv",
        [
            "Katterna sover på den varma spisen, eftersom det är så kallt i rummet där vi bor.",
            "Hunden ligger under bordet och väntar på maten som vi ger honom.",
        ],
        "Var är katten?",
    ),
    (
        "ar",
        [
            "وضعت الكتاب على الطاولة في غرفة الجلوس قبل أن أذهب إلى العمل.",
            "ينام الكلب تحت السرير وينتظر الطعام الذي نقدمه له في المساء.",
        ],
        "أين كتابي؟",
    ),
    (
        "en",
        [
            "The tomatoes stand by the warm wall, because it is so cold in the other part.",
            "The dog lies under the table and waits for the food that we give him.",
        ],
        "Where is my tomato?",
    ),
];

/// Keeps: A word is found by another form of it, in each of many languages, in a file as in a graph.
fn words_are_found_by_another_form(home: Home) {
    for (code, texts, _) in INFLECTED {
        for text in texts {
            home.ingest(&["-p", code], text);
        }
    }
    for (code, [text, _], question) in INFLECTED {
        assert_eq!(
            home.contents("rsv-search", &["--by", "any", "-n", "1", "-p", code, question]),
            [text],
            "{question}"
        );
    }
    // A stop word of another language is a word like others.
    home.ingest(&["-p", "en"], "Old soldiers never die.");
    assert_eq!(
        home.contents("rsv-search", &["--by", "any", "-n", "1", "-p", "en", "When do they die?"]),
        ["Old soldiers never die."]
    );
}
on_each_store!(words_are_found_by_another_form);

/// Keeps: Turns of a few words each tell the language of a conversation together, in a file as in a graph.
fn short_turns_tell_their_language_together(home: Home) {
    let turns = [
        "Wo liegt mein Pass?",
        "In der Kommode.",
        "Und die Schlüssel?",
        "An der Wand.",
        "Auch mein Fahrrad?",
        "Nein.",
    ];
    for turn in turns {
        home.ingest(&["-p", "kurz"], turn);
    }
    assert_eq!(
        home.contents("rsv-search", &["--by", "any", "-n", "1", "-p", "kurz", "Fahrräder"]),
        [turns[4]]
    );
}
on_each_store!(short_turns_tell_their_language_together);

/// Texts of a language do not change how a question in another one is answered.
#[test]
fn english_is_ranked_as_without_other_languages() {
    let (alone, among) = (Home::new(), Home::new());
    let english = [
        "The painter painted the walls of the old gallery.",
        "Painting a wall takes two days, said the painter.",
        "Galleries with paintings are open in the afternoon.",
        "He was in the pub with the man who told us so.",
    ];
    // Hits of one score come by time.
    let line = |(n, text): (usize, &&str)| {
        json!({"role": "user", "content": text, "timestamp": 1_700_000_000_000 + n}).to_string() + "\n"
    };
    let lines: String = english.iter().enumerate().map(line).collect();
    for (_, texts, _) in INFLECTED {
        for text in texts {
            among.ingest(&["-p", "others"], text);
        }
    }
    for home in [&alone, &among] {
        home.ingest(&["-p", "p"], &lines);
    }
    for question in
        ["What did he paint in the galleries?", "who was the man in the pub", "Is the painting old?"]
    {
        let hits = |home: &Home| -> Vec<Value> {
            let found = home.run("rsv-search", &["--by", "any", "-p", "p", question], "").ok();
            lines_of(&found).iter().map(|hit| json!([hit["content"], hit["score"]])).collect()
        };
        assert!(!hits(&alone).is_empty());
        assert_eq!(hits(&among), hits(&alone), "{question}");
    }
}

/// Conversations: turns of the user and the assistant, a question, and the turn that answers it.
const CONVERSATIONS: [(&str, [&str; 4], &str, usize); 3] = [
    (
        "de",
        [
            "Wo soll ich die Schlüssel für den Keller aufbewahren, damit die Kinder sie nicht finden?",
            "Hängen Sie die Schlüssel an einen Haken hinter der Tür, dort suchen die Kinder nicht.",
            "Und wann muss die Rechnung für den Strom bezahlt werden?",
            "Die Rechnung muss bis zum Ende des Monats bezahlt werden, sonst wird es teurer.",
        ],
        "Bis wann sind die Rechnungen zu bezahlen",
        3,
    ),
    (
        "zh",
        [
            "我应该把地下室的钥匙放在哪里，才不会被孩子们找到？",
            "把钥匙挂在门后面的钩子上，孩子们不会去那里找。",
            "那么电费账单什么时候要付清呢？",
            "账单要在这个月底之前付清，不然会更贵。",
        ],
        "电费账单什么时候付",
        2,
    ),
    (
        "ar",
        [
            "أين أضع مفتاح القبو حتى لا يجده الأطفال في البيت؟",
            "علق المفتاح على خطاف خلف الباب، فالأطفال لا يبحثون هناك.",
            "ومتى يجب أن أدفع فاتورة الكهرباء لهذا الشهر؟",
            "يجب أن تدفع الفاتورة قبل نهاية الشهر، وإلا أصبحت أغلى.",
        ],
        "متى أدفع الفاتورة",
        2,
    ),
];

fn talk(home: &Home) {
    for (code, turns, ..) in CONVERSATIONS {
        let line = |(at, text): (usize, &&str)| {
            let role = ["user", "assistant"][at % 2];
            let (trace, timestamp) = (format!("{code}{}", at / 2), 1_700_000_000_000 + 60_000 * at as i64);
            json!({"role": role, "content": text, "trace_id": trace, "timestamp": timestamp}).to_string()
        };
        home.ingest(&["-p", code], &turns.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    }
}

/// Keeps: A German, a Chinese and an Arabic conversation pass through every tool, in a file as in a graph.
fn conversations_pass_through_every_tool(home: Home) {
    talk(&home);
    let copy = Home::new();
    copy.run("rsv-import", &["--quiet"], home.export()).ok();
    assert_eq!(copy.export(), home.export());
    for (code, turns, question, answer) in CONVERSATIONS {
        let search = ["--by", "any", "-p", code, question];
        let found = home.contents("rsv-search", &search);
        assert!(found[..2].contains(&turns[answer].to_owned()), "{question}: {found:?}");
        let hits = |home: &Home| -> Vec<Value> {
            let found = lines_of(&home.run("rsv-search", &search, "").ok());
            found.iter().map(|hit| json!([hit["id"], hit["score"]])).collect()
        };
        // To the digit.
        assert_eq!(hits(&copy), hits(&home), "{question}");
        let request = json!({"model": "m", "messages": [{"role": "user", "content": question}]}).to_string();
        let enriched = home.run("rsv-enrich", &["-p", code], &request).ok();
        let block = text(&serde_json::from_str::<Value>(&enriched).unwrap()["messages"][0]["content"]);
        assert!(block.contains(turns[answer]), "{block}");
    }
}
on_each_store!(conversations_pass_through_every_tool);

#[test]
fn the_proxy_recalls_in_the_language_of_the_question() {
    for (code, turns, question, answer) in CONVERSATIONS {
        let provider = Fake::new([Answer::new(200, REPLY)]);
        let home = home_of_proxy(&provider);
        talk(&home);
        let proxy = Proxy::start(&home);
        let path = format!("/partition/{code}/v1/chat/completions");
        let (status, body) = proxy.post(&path, "", &asking(question));
        assert_eq!(status, 200, "{body}");
        let sent: Value = serde_json::from_str(provider.one().text()).unwrap();
        assert!(text(&sent["messages"][0]["content"]).contains(turns[answer]), "{sent}");
    }
}

/// Keeps: A question that names a time before the present finds what was said then first.
#[test]
fn times_before_the_present_are_found() {
    let home = Home::new();
    let days = [
        ("2026-03-09", "Wir haben in der Stadt am Fluss gegessen, und es war sehr schön."),
        ("2026-03-16", "Wir haben in der Stadt am Markt gegessen, und es war sehr schön."),
        ("2026-03-18", "Wir haben in der Stadt am Hafen gegessen, und es war sehr schön."),
    ];
    for (at, (day, said)) in days.iter().enumerate() {
        let line = json!({"role": "user", "content": said, "trace_id": at.to_string(),
            "timestamp": format!("{day}T12:00:00Z")});
        home.ingest(&["-p", "de", "-i", &at.to_string()], &line.to_string());
    }
    // A Thursday.
    let home = home.at("2026-03-19T12:00:00Z");
    for (question, at) in [
        ("Wo haben wir gestern in der Stadt gegessen?", 2),
        ("Wo haben wir letzten Montag in der Stadt gegessen?", 1),
        ("Wo haben wir letzte Woche in der Stadt gegessen?", 0),
    ] {
        let found = home.contents("rsv-search", &["--by", "any", "-p", "de", question]);
        assert_eq!((found.len(), &found[0][..]), (3, days[at].1), "{question}");
    }
}
