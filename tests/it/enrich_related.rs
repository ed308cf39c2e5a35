//! Whether what is recalled has to do with the question: asked about something else, memory keeps silent.

use crate::support::{Home, lines_of, text};
use serde_json::{Value, json};

/// Three themes: a boat, a kitchen, an aunt. Users and assistants by turns.
const SAID: [&str; 60] = [
    "We bought an old wooden sailing boat called Marieke.",
    "Congratulations on Marieke; wooden hulls need care every spring.",
    "Her mast is made of spruce and eleven metres tall.",
    "Spruce is light and strong, a good choice for a mast.",
    "The harbour in Hoorn wants 900 euros a year for the berth.",
    "That is a usual price for a berth on the Markermeer.",
    "The diesel engine smokes blue whenever it starts cold.",
    "Blue smoke points to burnt oil: look at the piston rings.",
    "On Saturday we tore the mainsail near Enkhuizen.",
    "A sailmaker can patch a tear of that length in a day.",
    "The sailmaker Peeters asks 240 euros for the repair.",
    "Ask Peeters whether new stitching is included.",
    "We want to sail to Terschelling in July.",
    "Mind the tides in the Wadden Sea on the way to Terschelling.",
    "The bilge pump broke and there was water in the cabin.",
    "Keep a hand pump on board beside the electric one.",
    "I painted the hull dark green with two coats of varnish above.",
    "Dark green hides scratches well.",
    "Our anchor weighs twelve kilos and did not hold in mud.",
    "In mud a lighter anchor with wide flukes holds better.",
    "The kitchen is to be rebuilt, the cupboards are from 1974.",
    "Cupboards of that age often hide old water pipes.",
    "The carpenter Lindqvist offers oak worktops for 3100 euros.",
    "Oak worktops must be oiled twice a year.",
    "We have chosen an induction hob with four zones.",
    "An induction hob needs a three-phase connection.",
    "The electrician comes on the ninth of March at eight.",
    "Clear the hallway before the electrician comes.",
    "Behind the tiles we found damp and black mould.",
    "Let the wall dry for three weeks before you plaster it.",
    "The new tiles are cobalt blue and come from Portugal.",
    "Cobalt tiles look good beside oak.",
    "The dishwasher must be no wider than 45 centimetres.",
    "A narrow dishwasher holds nine place settings.",
    "The floor is crooked by two centimetres towards the window.",
    "A levelling compound will even out two centimetres.",
    "We cook on a camping stove in the bathroom meanwhile.",
    "Open the window when you use a camping stove indoors.",
    "The extractor fan rattles at its highest speed.",
    "A rattling fan usually has a loose filter.",
    "Aunt Ilse turns eighty-four on the second of May.",
    "Eighty-four is a fine age; is there to be a party?",
    "Ilse taught geography in Graz for thirty years.",
    "Then she will enjoy an atlas as a present.",
    "She takes warfarin and must not eat much spinach.",
    "Spinach has vitamin K, which works against warfarin.",
    "Her hip was replaced in the clinic at Leoben.",
    "After a new hip, physiotherapy takes some twelve weeks.",
    "Her tomcat Vaclav scratches everyone but her.",
    "Some tomcats choose one person and keep to her.",
    "Ilse refuses to give up driving her orange Beetle.",
    "A doctor can judge whether she is fit to drive.",
    "She plays bridge with three widows every Thursday.",
    "Bridge keeps the mind awake.",
    "She lent me 5000 euros, which I pay back in ten instalments.",
    "Then each instalment is 500 euros.",
    "Her hearing aid whistles on the telephone.",
    "A whistling hearing aid often sits loosely in the ear.",
    "She wants to be buried beside her brother in Murau.",
    "It helps to write down such a wish.",
];

/// Questions, each with a message that answers it; the last ten say it in other words.
const ABOUT: [(&str, usize); 40] = [
    ("How tall is the mast of Marieke?", 2),
    ("What is the name of our wooden sailing boat?", 0),
    ("How much is the berth in the harbour of Hoorn?", 4),
    ("Why does the diesel engine smoke blue?", 7),
    ("Where did we tear the mainsail?", 8),
    ("What does the sailmaker Peeters ask for the repair?", 10),
    ("When do we want to sail to Terschelling?", 12),
    ("What must I mind in the Wadden Sea?", 13),
    ("What happened when the bilge pump broke?", 14),
    ("What did I paint the hull with?", 16),
    ("How heavy is our anchor?", 18),
    ("From which year are the kitchen cupboards?", 20),
    ("What does Lindqvist want for the oak worktops?", 22),
    ("How often must oak worktops be oiled?", 23),
    ("Which hob have we chosen?", 24),
    ("On which day does the electrician come?", 26),
    ("What did we find behind the tiles?", 28),
    ("Where do the cobalt blue tiles come from?", 30),
    ("How wide may the dishwasher be?", 32),
    ("By how much is the floor crooked?", 34),
    ("Where is the camping stove now?", 36),
    ("Why does the extractor fan rattle?", 39),
    ("When does aunt Ilse turn eighty-four?", 40),
    ("What did Ilse teach in Graz?", 42),
    ("Why should she not eat spinach with warfarin?", 45),
    ("In which clinic was her hip replaced?", 46),
    ("What is the tomcat called?", 48),
    ("Which colour is the Beetle that Ilse is driving?", 50),
    ("On which day does she play bridge?", 52),
    ("How many instalments do I pay back?", 54),
    ("What does mooring our yacht cost annually?", 4),
    ("How did the canvas get ripped?", 8),
    ("Is there a leak below deck?", 14),
    ("What is the wooden spar made from?", 2),
    ("Who fits the wiring, and when?", 26),
    ("How can I make an uneven ground flat?", 35),
    ("Which fungus was growing on the damp wall?", 28),
    ("What was my elderly relative's profession?", 42),
    ("Which medication prevents her blood from clotting?", 44),
    ("How much money do I owe the old lady?", 54),
];

/// Questions that no stored message is about.
const ELSEWHERE: [&str; 40] = [
    "What is the capital of Mongolia?",
    "Write a function that reverses a linked list in Rust.",
    "Who composed the Goldberg Variations?",
    "Translate 'good morning' into Japanese.",
    "What is the derivative of x squared times sine x?",
    "Explain the offside rule in football.",
    "Which planets of the solar system have rings?",
    "Summarise the plot of Hamlet.",
    "How do vaccines train the immune system?",
    "What is the difference between TCP and UDP?",
    "Give me a recipe for sourdough bread.",
    "When did the Berlin Wall fall?",
    "What does a Kubernetes ingress do?",
    "How many players are there in a volleyball team?",
    "Convert 72 degrees Fahrenheit to Celsius.",
    "Who won the Nobel Prize in Literature in 1954?",
    "Suggest five names for a bakery.",
    "What is photosynthesis?",
    "How does a transformer neural network work?",
    "What is the boiling point of ethanol?",
    "Write a haiku about autumn leaves.",
    "How do I undo the last git commit?",
    "What are the rules of sumo wrestling?",
    "Explain inflation to a child.",
    "Which languages are spoken in Switzerland?",
    "What is the tallest mountain in Africa?",
    "How do I center a div with CSS?",
    "What causes the northern lights?",
    "List the prime numbers below fifty.",
    "Who painted Girl with a Pearl Earring?",
    "How does compound interest work?",
    "What is the plural of octopus?",
    "Recommend three science fiction novels.",
    "What is a monad?",
    "How do bees make honey?",
    "What happened at the Battle of Hastings?",
    "Parse this date: 2024-02-30.",
    "What is the airspeed of a swallow?",
    "How do I make a pivot table in a spreadsheet?",
    "Why is the sky blue?",
];

fn remembering(home: Home) -> Home {
    let home = home.at("2026-11-21T07:03:00Z").env("RSV_ENRICH_RECALL", "similar");
    let line = |(n, said): (usize, &&str)| {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        json!({"id": format!("m{n:02}"), "role": role, "content": said, "trace_id": format!("t{:02}", n / 2),
            "timestamp": 1_790_000_000_000_u64 + 3_600_000 * n as u64})
        .to_string()
    };
    home.ingest(&["-p", "w"], &SAID.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    home
}

/// The messages that are recalled for each question, as numbers, best first.
fn recalled<'a>(home: &Home, questions: impl Iterator<Item = &'a str>) -> Vec<Vec<usize>> {
    let asked =
        |question: &str| json!({"model": "gpt-4o", "messages": [{"role": "user", "content": question}]});
    let lines: String = questions.map(|question| format!("{}\n", asked(question))).collect();
    let number = |entry: &Value| text(&entry["id"])[1..].parse().unwrap();
    let of = |line: &Value| {
        let account = &line["rsv"]["account"];
        assert_eq!(account["recent"], json!([]));
        account["recalled"].as_array().unwrap().iter().map(number).collect()
    };
    lines_of(&home.run("rsv-enrich", &["-p", "w"], lines).ok()).iter().map(of).collect()
}

/// How many questions recall anything: of 40 about nothing that was said, and of 40 about something; and how many
/// of these what answers them: of the first 30, and of the last 10.
#[derive(Debug)]
struct Rates {
    elsewhere: usize,
    about: usize,
    answered: usize,
    in_other_words: usize,
}

#[allow(clippy::print_stderr, reason = "the rates are worth seeing where they are good enough, too")]
fn rates(home: &Home) -> Rates {
    let about = recalled(home, ABOUT.iter().map(|(question, _)| *question));
    let elsewhere = recalled(home, ELSEWHERE.into_iter());
    let some = |found: &[Vec<usize>]| found.iter().filter(|found| !found.is_empty()).count();
    let answered: Vec<bool> =
        about.iter().zip(&ABOUT).map(|(found, (_, answer))| found.contains(answer)).collect();
    let count = |answered: &[bool]| answered.iter().filter(|answered| **answered).count();
    let rates = Rates {
        elsewhere: some(&elsewhere),
        about: some(&about),
        answered: count(&answered[..30]),
        in_other_words: count(&answered[30..]),
    };
    eprintln!("{rates:?}");
    rates
}

/// Measured: 4 of 40, 35 of 40, 30 of 30 and 5 of 10. A model this small does not tell "Why is the sky blue?" from
/// cobalt blue tiles, nor who "fits the wiring" from anybody else.
#[test]
fn by_meaning_unrelated_messages_are_seldom_recalled() {
    let home = remembering(Home::with_model());
    home.run("rsv-embed", &["--quiet", "--pending"], "").ok();
    let rates = rates(&home);
    assert!(rates.elsewhere <= 6 && rates.about >= 33, "{rates:?}");
    assert!(rates.answered >= 29 && rates.in_other_words >= 3, "{rates:?}");
}

/// Measured: 5 of 40, 32 of 40, 30 of 30 and 1 of 10, since other words are other words.
#[test]
fn by_words_unrelated_messages_are_seldom_recalled() {
    let rates = rates(&remembering(Home::new()));
    assert!(rates.elsewhere <= 7 && rates.about >= 30 && rates.answered >= 29, "{rates:?}");
}
