//! The order in which a chat with an assistant is found: what a user said in a few words comes before the long answers
//! that repeat them.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

/// Short messages of users.
const FACTS: [&str; 6] = [
    "My landlord has raised the rent to 940 euros since March. Is that allowed?",
    "I bake the rye bread in the blue pot now, 50 minutes with the lid on.",
    "The vet says Tilda needs her second vaccination on the ninth of June.",
    "I chose the night train to Vienna, it leaves at 21:47 from platform 8.",
    "Our team moved the database to port 6543. What should I check first?",
    "My sister Noor plays the cello in the city's youth orchestra.",
];

/// Long answers, each about a fact before it: they repeat its words, and do not say what a question asks for.
const ANSWERS: [&str; 6] = [
    "Whether a landlord may raise the rent depends on the contract and on the rent that is usual in the place. First look \
     whether the rent was raised before: between two letters in which the landlord raises the rent there must be some \
     time. Then compare the rent with the table of the town. If the rent is above it, write to the landlord that you do \
     not agree to pay the rent since March, and why.",
    "Rye bread wants patience. The dough of a rye bread is sticky, so flour the pot well before you bake. The lid of the \
     pot keeps the steam, which keeps the bread soft at first; take the lid off towards the end of the minutes in which \
     you bake, so that the crust of the bread gets dark. Let the rye bread cool on a grid, and do not cut the bread \
     before the next day. A pot of iron keeps the heat of the oven better than a pot of clay.",
    "A second vaccination is what makes the protection last. Ask the vet which vaccination the first one was, and bring \
     the passport, so that the vet can write down the second one. After a vaccination some animals sleep more for a day \
     or two. If it is longer, the vet should see the animal again. The needs of young animals differ, so the vet says \
     when the next vaccination is due.",
    "A night train saves a day, and the train is quiet. In the night train take the lower bed if you get up early. The \
     train is often full before holidays, so book the train in time. From the platform look for the number of the \
     carriage, since the train is split during the night, and only some carriages of the train go to Vienna. When it \
     leaves late, the conductor knows the next train.",
    "After a team moved a database to another port, look at whatever has the old port in its settings: the pool of the \
     database, the health checks, the backups of the database. The firewall must let the port through. Restart what \
     keeps connections to the database open, since they go to the old port until then. Then close the old port, and see \
     in the log of the database whether anything of the team still asks for it.",
    "A youth orchestra is a good place for a cello: there are many who play the cello, and the city often lends one. In \
     the orchestra the cello plays the low voice, and whoever plays it hears the whole orchestra. Ask the city whether \
     the orchestra plays for families too. A sister or a brother who plays is proud of it, and a cello wants to be heard.",
];

/// Said in between, twice as often as it takes to part the facts.
const ASIDE: [&str; 2] =
    ["Thanks, that helps a lot.", "You are welcome. Shall we go on with something else?"];

/// Questions, each with the fact that answers it.
const QUESTIONS: [(&str, usize); 6] = [
    ("How much rent does my landlord want since March?", 0),
    ("How long do I bake the rye bread in the pot?", 1),
    ("When is the second vaccination of Tilda at the vet?", 2),
    ("From which platform does the night train to Vienna leave?", 3),
    ("To which port did our team move the database?", 4),
    ("Who plays the cello in the youth orchestra?", 5),
];

/// Stores the chat; the fact N is `fact-N`, its answer `answer-N`.
fn chat(home: &Home) {
    let mut lines = Vec::new();
    let mut say = |id: String, role: &str, content: &str| {
        let at = lines.len();
        let line = json!({"id": id, "role": role, "content": content, "timestamp": at, "trace_id": format!("t{}", at / 2)});
        lines.push(line.to_string());
    };
    for (n, (fact, answer)) in FACTS.iter().zip(ANSWERS).enumerate() {
        say(format!("fact-{n}"), "user", fact);
        // Three times as long.
        say(format!("answer-{n}"), "assistant", &[answer; 3].join("\n\n"));
        say(format!("thanks-{n}"), "user", ASIDE[0]);
        say(format!("welcome-{n}"), "assistant", ASIDE[1]);
    }
    home.ingest(&[], &lines.join("\n"));
}

/// The first four hits of each question.
fn found(home: &Home, by: &[&str]) -> Vec<Vec<Value>> {
    let hits = |(question, _): &(&str, usize)| {
        lines_of(&home.run("rsv-search", &[&["--limit", "4", "--explain", question], by].concat(), "").ok())
    };
    QUESTIONS.iter().map(hits).collect()
}

on_each_store!(a_fact_comes_before_the_long_answers_that_repeat_it);
/// Keeps: A user's few words are found before the long answers that repeat them.
fn a_fact_comes_before_the_long_answers_that_repeat_it(home: Home) {
    let home = home.and_model();
    chat(&home);
    for by in [&["--by", "any"][..], &["--hybrid"]] {
        for ((question, fact), hits) in QUESTIONS.iter().zip(found(&home, by)) {
            assert_eq!(hits[0]["id"], format!("fact-{fact}"), "{by:?} {question}: {hits:?}");
            let answer = hits.iter().find(|hit| hit["id"] == format!("answer-{fact}"));
            assert!(answer.is_some(), "{by:?} {question}: {hits:?}");
        }
    }
}

on_each_store!(every_store_ranks_a_chat_the_same);
/// Keeps: Every store ranks the same: by words to the digit, by meaning but for the seventh digit of a cosine.
fn every_store_ranks_a_chat_the_same(home: Home) {
    let (home, in_file) = (home.and_model(), Home::with_model());
    chat(&home);
    chat(&in_file);
    assert_eq!(found(&home, &["--by", "any"]), found(&in_file, &["--by", "any"]));
    let ranked = |home: &Home| -> Vec<(String, f64)> {
        let hits = found(home, &["--hybrid"]).into_iter().flatten();
        hits.map(|hit| (text(&hit["id"]), hit["score"].as_f64().unwrap())).collect()
    };
    for (one, other) in ranked(&home).iter().zip(ranked(&in_file)) {
        assert!(one.0 == other.0 && (one.1 - other.1).abs() < 1e-6, "{one:?} and {other:?}");
    }
}
