//! Redaction finds the secrets of documented shapes, and leaves alone what looks like them. The shapes are data:
//! `secrets/shapes.txt` with the documents of those who issue them, and `secrets/lookalikes.txt`.

use crate::redact::redacting;
use crate::support::{Dice, lines_of, number_from, text, tries};
use serde_json::json;

const SHAPES: &str = include_str!("secrets/shapes.txt");
const LOOKALIKES: &str = include_str!("secrets/lookalikes.txt");

/// The surroundings of a secret that is known by itself.
const AROUND: [(&str, &str); 8] = [
    ("", ""),
    ("My key is ", ", keep it."),
    ("export KEY='", "'\n"),
    ("{\"value\": \"", "\"}"),
    ("value: ", "\nnext: 1"),
    ("(", ")"),
    ("curl -H 'Authorization: Bearer ", "' https://api.example.org"),
    ("see `", "` above"),
];

/// A text that has a made-up secret.
struct Sample {
    shape: &'static str,
    text: String,
    secret: String,
}

fn rows(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Samples of every shape, one for each of `AROUND`.
fn samples(dice: &mut Dice) -> Vec<Sample> {
    let mut samples = Vec::new();
    for shape in rows(SHAPES) {
        let template = shape.splitn(3, " | ").nth(2).unwrap();
        for (before, after) in AROUND {
            let made = filled(template, dice);
            let (text, secret) = match made.split_once('«') {
                Some((before, rest)) => {
                    let (secret, after) = rest.split_once('»').unwrap();
                    (format!("{before}{secret}{after}"), secret.to_owned())
                }
                None => (format!("{before}{made}{after}"), made),
            };
            samples.push(Sample { shape, text, secret });
        }
    }
    samples
}

/// The text of a template, with random letters in place of `{CLASS,LENGTH}`.
fn filled(template: &str, dice: &mut Dice) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (inner, next) = after.split_once('}').unwrap_or_default();
        match inner.split_once(',').map(|(class, length)| (class, length.parse())) {
            Some((class, Ok(length))) if class.len() == 1 && class.as_bytes()[0].is_ascii_alphabetic() => {
                text += &letters(class, length, dice);
                rest = next;
            }
            _ if inner == "U" => {
                let groups = [8, 4, 4, 4, 12].map(|length| letters("h", length, dice));
                text += &groups.join("-");
                rest = next;
            }
            _ => {
                text.push('{');
                rest = after;
            }
        }
    }
    (text + rest).replace("\\n", "\n")
}

/// Random letters of a class, which `shapes.txt` names.
fn letters(class: &str, length: usize, dice: &mut Dice) -> String {
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const DIGITS: &str = "0123456789";
    let of_class = match class {
        "a" => [UPPER, LOWER, DIGITS].concat(),
        "l" => [LOWER, DIGITS].concat(),
        "u" => [UPPER, DIGITS].concat(),
        "s" => [UPPER, LOWER].concat(),
        "d" => DIGITS.to_owned(),
        "h" => [DIGITS, "abcdef"].concat(),
        "H" => [DIGITS, "ABCDEF"].concat(),
        "z" => [UPPER, "234567"].concat(),
        "w" => [UPPER, LOWER, DIGITS, "-_"].concat(),
        "b" => [UPPER, LOWER, DIGITS, "+/"].concat(),
        "p" => [UPPER, LOWER, DIGITS, "!?#%&*+-.^_~@"].concat(),
        "q" => [UPPER, LOWER, DIGITS, "!~*._-"].concat(),
        _ => panic!("no class {class}"),
    };
    loop {
        let letters: String =
            (0..length).map(|_| char::from(of_class.as_bytes()[dice.below(of_class.len())])).collect();
        // A password begins and ends with a letter, and has a digit.
        let is_password = letters.bytes().any(|byte| byte.is_ascii_digit())
            && letters.starts_with(|c: char| c.is_ascii_alphabetic())
            && letters.ends_with(|c: char| c.is_ascii_alphabetic());
        if !matches!(class, "p" | "q") || is_password {
            return letters;
        }
    }
}

/// The stored form of texts.
fn stored(texts: &[&str]) -> Vec<String> {
    let line = |text: &&str| format!("{}\n", json!({"role": "user", "content": text}));
    let ran = redacting().run("rsv-ingest", &["-q"], texts.iter().map(line).collect::<String>());
    assert_eq!(ran.status, 0, "{ran}");
    lines_of(&ran.stdout).iter().map(|line| text(&line["content"])).collect()
}

/// Keeps: Secrets of documented shapes are found.
#[test]
fn secrets_of_documented_shapes_are_redacted() {
    tries(1, |mut dice| {
        let samples = samples(&mut dice);
        let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
        let stored = stored(&texts);
        assert_eq!(stored.len(), samples.len());
        let is_left = |text: &str, secret: &str| {
            let half = (secret.len() / 2..).find(|at| secret.is_char_boundary(*at)).unwrap();
            text.contains(secret) || text.contains(&secret[half..])
        };
        let left: Vec<&str> = { samples.iter().zip(&stored) }
            .filter(|(sample, text)| is_left(text, &sample.secret))
            .map(|(sample, _)| sample.shape)
            .collect();
        assert!(left.len() * 100 <= samples.len() * 2, "{} of {}: {left:#?}", left.len(), samples.len());
        // Chance makes words of some; no shape is missed as such.
        for shape in rows(SHAPES) {
            assert!(left.iter().filter(|left| **left == shape).count() <= AROUND.len() / 2, "{shape}");
        }
    });
}

/// Keeps: Hashes, ids, pictures and placeholders are no secrets.
#[test]
fn what_only_looks_like_a_secret_of_a_documented_shape_stays() {
    tries(1, |mut dice| {
        let mut texts: Vec<String> = Vec::new();
        for row in rows(LOOKALIKES) {
            let first = filled(row, &mut dice);
            if first != row.replace("\\n", "\n") {
                texts.extend((0..3).map(|_| filled(row, &mut dice)));
            }
            texts.push(first);
        }
        assert!(texts.len() >= 700, "{}", texts.len());
        let stored = stored(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let changed: Vec<_> = texts.iter().zip(&stored).filter(|(text, stored)| text != stored).collect();
        // Of random letters, some are a secret by chance.
        assert!(changed.len() * 150 <= texts.len(), "{changed:#?}");
    });
}

/// The beginnings of secrets, which a quote or a name may leave open.
const OPENINGS: [&str; 18] = [
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "Private-Lines: 9",
    "eyJhbGciOiJIUzI1NiJ9.eyJ",
    "Authorization: Bearer ",
    "password: \"",
    "password=",
    "\"api_key\": \"",
    "postgres://owl:",
    "https://a:b",
    "sk-",
    "AKIA",
    "curl -u owl:",
    "mysql -p",
    "token: |",
    "1/12",
    "4111 1111 1111",
    "data:image/png;base64,",
];

#[test]
fn no_secret_is_left_among_openings_of_others() {
    let count = number_from("RSV_TEST_MUTATIONS").unwrap_or(20);
    tries(count, |mut dice| {
        let samples = samples(&mut dice);
        // A shape that is missed in one of many alone is none to look for here.
        let sure: Vec<&Sample> = samples.iter().step_by(AROUND.len()).collect();
        let mut texts = Vec::new();
        let mut secrets = Vec::new();
        for _ in 0..20 {
            let (mut lines, mut own) = (String::new(), Vec::new());
            for _ in 0..dice.below(400) {
                match dice.below(8) {
                    0 => {
                        let sample = sure[dice.below(sure.len())];
                        own.push(sample);
                        lines += &sample.text;
                    }
                    1 => lines += "the tide comes in at nine",
                    // A long value, which may be cut off within a character.
                    2 => {
                        lines += OPENINGS[dice.below(OPENINGS.len())];
                        lines += ["", "a"][dice.below(2)];
                        lines += &["é", "漢", "🦉"][dice.below(3)].repeat(dice.below(900));
                    }
                    _ => (0..=dice.below(3)).for_each(|_| lines += OPENINGS[dice.below(OPENINGS.len())]),
                }
                lines.push('\n');
            }
            texts.push(lines + "end");
            secrets.push(own);
        }
        let alone: Vec<&str> = sure.iter().map(|sample| sample.text.as_str()).collect();
        let alone = stored(&alone);
        let missed: Vec<&str> = { sure.iter().zip(&alone) }
            .filter(|(sample, text)| text.contains(&sample.secret))
            .map(|(sample, _)| sample.secret.as_str())
            .collect();
        let stored = stored(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for (stored, secrets) in stored.iter().zip(&secrets) {
            for sample in secrets.iter().filter(|sample| !missed.contains(&sample.secret.as_str())) {
                assert!(!stored.contains(&sample.secret), "{}: {:?}", sample.shape, sample.text);
            }
        }
    });
}
