//! How many questions about what was done the text answers that is carried over a compaction: beside the program's own
//! summary, and a list of the newest actions of the same size.

use crate::compaction::{Done, Provider, Session, bash, carried, edit, parted, texts};
use crate::proxy::Proxy;
use crate::support::{Dice, number_from};
use std::collections::{BTreeMap, BTreeSet};

/// A question about what was done: texts of which each stands on one line with the others.
struct Question {
    sort: &'static str,
    needles: Vec<String>,
}

impl Question {
    fn new(sort: &'static str, needles: &[&str]) -> Question {
        Question { sort, needles: needles.iter().map(|needle| (*needle).to_owned()).collect() }
    }

    fn is_answered(&self, text: &str) -> bool {
        text.lines().any(|line| self.needles.iter().all(|needle| has(line, needle)))
    }
}

/// Whether a line has some words: a path may stand below a directory that is named once.
fn has(line: &str, needle: &str) -> bool {
    let whole = line.match_indices(needle).any(|(at, _)| {
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        ends(line[..at].chars().next_back()) && ends(line[at + needle.len()..].chars().next())
    });
    let below = needle.rfind('/').is_some_and(|slash| {
        let (directory, name) = needle.split_at(slash + 1);
        line.starts_with(&format!("> {directory}:")) && line.contains(&format!(" {name} "))
    });
    whole || below
}

const NAMES: [&str; 24] = [
    "cart", "refund", "ledger", "invoice", "webhook", "stock", "price", "coupon", "basket", "courier",
    "parcel", "tariff", "voucher", "receipt", "payout", "dispute", "merchant", "catalog", "supplier",
    "quota", "session", "token", "mailer", "report",
];
const AREAS: [&str; 8] = ["api", "core", "store", "jobs", "web", "auth", "billing", "search"];

/// The files of the project, and in how many steps, of how many texts, something fails, is decided, is left open.
const FILES: usize = 30;
const FAILS: usize = 16;
const DECIDES: usize = 6;
const LEAVES_OPEN: usize = 8;

/// Makes the words and the actions of a session.
struct Script {
    dice: Dice,
    serial: usize,
    /// The files of the project.
    files: Vec<String>,
    decisions: Vec<String>,
    open: Vec<String>,
    /// Errors with the file whose change mended them.
    mended: Vec<(String, String)>,
}

impl Script {
    fn any<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.dice.below(of.len())]
    }

    fn path(&mut self) -> String {
        while self.files.len() < FILES {
            let path = format!("src/{}/{}.rs", self.any(&AREAS), self.any(&NAMES));
            if !self.files.contains(&path) {
                self.files.push(path);
            }
        }
        self.files[self.dice.below(FILES)].clone()
    }

    /// The words of a user, or the last ones of an answer, with what they decide or leave open.
    fn words(&mut self, of_user: bool) -> String {
        self.serial += 1;
        let (one, other, area) = (self.any(&NAMES), self.any(&NAMES), self.any(&AREAS));
        let decision = match self.dice.below(4) {
            0 => format!("We decided to keep the {one} table in {area} as version {}.", self.serial),
            1 => format!("From now on the {one} service calls {other} number {}.", self.serial),
            2 => format!("Use the {one} cache {} instead of the {other} queue.", self.serial),
            _ => format!("Never write to the {one} log {} from {area}.", self.serial),
        };
        let open = match self.dice.below(3) {
            0 => format!("TODO: the {one} limits of {area} need case {}.", self.serial),
            1 => format!("The {one} import {} is not yet covered.", self.serial),
            _ => format!("Still open: who owns the {other} export {}.", self.serial),
        };
        let mut words =
            if of_user { format!("Please look at the {one}.") } else { format!("The {one} works now.") };
        if self.dice.below(DECIDES) == 0 {
            words += &format!(" {decision}");
            self.decisions.push(decision);
        }
        if self.dice.below(LEAVES_OPEN) == 0 {
            words += &format!(" {open}");
            self.open.push(open);
        }
        words
    }

    /// The next actions, at most this many.
    fn acts(&mut self, most: usize) -> Vec<Done> {
        let path = self.path();
        let lines = 1 + self.dice.below(60);
        let name = self.any(&NAMES);
        if most >= 3 && self.dice.below(FAILS) == 0 {
            self.serial += 1;
            let error = format!(
                "error[E{:04}]: cannot find `{name}_{}` in this scope",
                self.dice.below(999),
                self.serial
            );
            let command = format!("cargo test -p {}", self.any(&AREAS));
            self.mended.push((error.clone(), path.clone()));
            return vec![bash(&command, Some(&error)), edit(&path, lines), bash(&command, None)];
        }
        match self.dice.below(8) {
            0..=2 => vec![edit(&path, lines)],
            3 | 4 => vec![Done { tool: "Read", what: path, lines: None, error: None }],
            5 => vec![Done { tool: "Grep", what: format!("fn {name}_"), lines: None, error: None }],
            _ => vec![bash(&format!("cargo check -p {name}"), None)],
        }
    }
}

/// The last states of the files that were changed: the sum of changed lines.
fn states(done: &[Done]) -> BTreeMap<String, usize> {
    let mut states = BTreeMap::new();
    for done in done.iter().filter(|done| done.tool == "Edit") {
        *states.entry(done.what.clone()).or_default() += done.lines.unwrap();
    }
    states
}

/// The answers found in the summary alone, in what is carried too, and in a list of the newest actions of the same size.
#[derive(Default, Debug)]
struct Shares {
    asked: usize,
    summary: usize,
    carried: usize,
    newest: usize,
    /// The answers in what is carried, and the questions, of each sort.
    by_sort: String,
}

/// Has a session of `count` actions compacted, and asks 40 questions; `all` about anything that was done, else about
/// failures, files, decisions and open points.
fn evaluate(seed: u64, count: usize, all: bool) -> Shares {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    let (dice, serial) = (Dice(seed), 0);
    let mut script = Script {
        dice,
        serial,
        files: Vec::new(),
        decisions: Vec::new(),
        open: Vec::new(),
        mended: Vec::new(),
    };
    while session.done.len() < count {
        let words = script.words(true);
        session.user(&words);
        for _ in 0..4 + script.dice.below(8) {
            let left = count - session.done.len();
            if left > 0 {
                let acts = script.acts(left);
                // The change that fixes a failure comes after its result.
                for act in acts {
                    session.act(&[act]);
                }
            }
        }
        let words = script.words(false);
        session.send(&words);
    }
    proxy.settle();
    let summary = "The user works on a shop in Rust. Several modules were changed, and tests were run.";
    session.compact(summary);
    session.user("Go on, please.");
    let sent = session.send("Yes.");
    let text = texts(&sent);
    let blocks = parted(&sent).0;
    assert!(blocks[0].contains("was compacted since"), "{blocks:?}");
    let carried = carried(&home).pop().unwrap();
    assert!(carried["tokens"].as_u64().unwrap() <= 1500, "{carried}");
    let mut newest = String::new();
    for done in session.done.iter().rev() {
        let lines = done.lines.map_or(String::new(), |lines| format!(", {lines} lines"));
        let error = done.error.as_ref().map_or(String::new(), |error| format!("; failed: {error}"));
        let line = format!("{} {}{lines}{error}\n", done.tool, done.what);
        if newest.len() + line.len() > blocks[0].len() {
            break;
        }
        newest += &line;
    }
    let mut questions: Vec<Question> = Vec::new();
    questions.extend(script.decisions.iter().map(|decision| Question::new("decision", &[decision])));
    questions.extend(script.open.iter().map(|open| Question::new("open", &[open])));
    if all {
        for done in &session.done {
            let lines = done.lines.map(counted);
            let mut needles = vec![done.what.as_str()];
            questions.push(Question::new(done.tool, &needles));
            needles.extend(lines.as_deref());
            needles.extend(done.error.as_deref());
            if needles.len() > 1 {
                questions.push(Question::new(done.tool, &needles));
            }
        }
    } else {
        questions.extend(script.mended.iter().map(|(error, path)| Question::new("failure", &[error, path])));
        let states = states(&session.done);
        questions.extend(states.iter().map(|(path, lines)| Question::new("file", &[path, &counted(*lines)])));
    }
    let mut shares = Shares::default();
    let mut by_sort: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    // As many of each sort as there are.
    let sorts: Vec<&str> =
        questions.iter().map(|question| question.sort).collect::<BTreeSet<_>>().into_iter().collect();
    while shares.asked < 40 && !questions.is_empty() {
        let sort = sorts[shares.asked % sorts.len()];
        let of_sort: Vec<usize> =
            (0..questions.len()).filter(|at| all || questions[*at].sort == sort).collect();
        let at = match of_sort.len() {
            0 => script.dice.below(questions.len()),
            many => of_sort[script.dice.below(many)],
        };
        let question = questions.swap_remove(at);
        shares.asked += 1;
        shares.summary += usize::from(question.is_answered(summary));
        let is_answered = question.is_answered(&text);
        shares.carried += usize::from(is_answered);
        shares.newest += usize::from(question.is_answered(&newest));
        let counts = by_sort.entry(question.sort).or_default();
        *counts = (counts.0 + usize::from(is_answered), counts.1 + 1);
    }
    assert_eq!(shares.asked, 40);
    shares.by_sort = format!("{by_sort:?}");
    shares
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

/// Keeps: After a compaction the model knows what was done: 95 % of 30 actions, 70 % of 380.
#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn questions_about_what_was_done_are_answered_after_a_compaction() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(17);
    println!("RSV_TEST_SEED={seed}");
    let few = evaluate(seed, 30, true);
    println!("{few:?}");
    assert!(few.carried * 100 >= few.asked * 95, "{few:?}");
    let many = evaluate(seed, number_from("RSV_TEST_STEPS").unwrap_or(380) as usize, false);
    println!("{many:?}");
    assert!(many.carried * 100 >= many.asked * 70 && many.carried > many.newest, "{many:?}");
}
