//! The model of many languages: its vectors are those of the original, it needs no ONNX Runtime, and it is chosen
//! where English is not spoken.

use crate::models::{cosine, with_library};
use crate::support::{Home, MODEL, MULTILINGUAL_MODEL, lines_of, model_files, multilingual_files, text};
use base64::Engine as _;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The vectors that rsv-embed makes of texts.
fn vectors(home: &Home, texts: &[&str]) -> Vec<Vec<f64>> {
    let lines: String = texts.iter().map(|text| json!({"text": text}).to_string() + "\n").collect();
    let number = |x: &Value| x.as_f64().unwrap();
    let vector = |line: &Value| line["embedding"].as_array().unwrap().iter().map(number).collect();
    lines_of(&home.run("rsv-embed", &["--field", "text"], lines).ok()).iter().map(vector).collect()
}

/// The texts of the fixture, with the vectors that the original makes of them, rounded to 8 bits a number.
fn reference() -> Vec<(String, Vec<f64>)> {
    let lines = lines_of(include_str!("../fixtures/use-multilingual-v3.jsonl"));
    let line = |line: &Value| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text(&line["vector"])).unwrap();
        (text(&line["text"]), bytes.iter().map(|byte| f64::from(byte.cast_signed())).collect())
    };
    lines.iter().map(line).collect()
}

/// The only file of the installed model that is computed with.
fn model_file(home: &Home) -> std::path::PathBuf {
    home.path(".local/share/rsv/models").join(MULTILINGUAL_MODEL).join("model.use")
}

/// A home of its own with the model, which may be changed.
fn with_own_model() -> Home {
    let home = Home::new();
    home.fetch(&[MULTILINGUAL_MODEL, "--from", multilingual_files().to_str().unwrap()]).ok();
    home
}

/// Keeps: The vectors of the multilingual model are those of the original.
#[test]
fn vectors_in_many_languages_are_those_of_the_original() {
    let reference = reference();
    let texts: Vec<&str> = reference.iter().map(|(text, _)| text.as_str()).collect();
    let home = Home::new().and_multilingual_model();
    let made = vectors(&home, &texts);
    for (made, (text, wanted)) in made.iter().zip(&reference) {
        let length: f64 = made.iter().map(|x| x * x).sum();
        assert!(made.len() == 512 && (length - 1.0).abs() < 1e-4, "{text}: {length}");
        assert!(cosine(made, wanted) >= 0.9995, "{text}: {}", cosine(made, wanted));
    }
    // Alone, and by one thread, a text has the same vector.
    for at in [0, 17, reference.len() - 1] {
        assert!(cosine(&made[at], &vectors(&home, &texts[at..=at])[0]) > 0.99999, "{}", texts[at]);
    }
    let one_thread = vectors(&home.env("RSV_EMBED_THREADS", "1"), &texts);
    assert!(made.iter().zip(&one_thread).all(|(a, b)| cosine(a, b) > 0.99999));
    assert!(!home.path(".local/share/rsv/onnxruntime").exists());
}

#[test]
fn any_text_has_a_multilingual_vector_of_length_one() {
    let long = "Помидоры стоят у тёплой стены. ".repeat(4000);
    let word = "語".repeat(50_000);
    let odd =
        ["", " \n\t", "\u{0}", "\u{feff}\u{202e}\u{fffd}", "\u{2581}\u{2581}", "<s></s><unk>", &long, &word];
    for (vector, text) in vectors(&Home::new().and_multilingual_model(), &odd).iter().zip(odd) {
        let length: f64 = vector.iter().map(|x| x * x).sum();
        assert!(vector.len() == 512 && (length - 1.0).abs() < 1e-4, "{text:.40}: {length}");
    }
}

#[test]
fn a_question_finds_its_answer_in_another_language() {
    let home = Home::new().and_multilingual_model();
    home.ingest(&[], "Ключ от сарая висит за дверью.");
    home.ingest(&[], "Die Rechnung für den Strom ist bezahlt.");
    home.ingest(&[], "Mañana vamos a la playa con los niños.");
    let first = |question| home.contents("rsv-search", &["--semantic", "--limit", "1", question]);
    assert_eq!(first("Where is the key to the shed?"), ["Ключ от сарая висит за дверью."]);
    assert_eq!(first("Has the electricity bill been paid?"), ["Die Rechnung für den Strom ist bezahlt."]);
    assert_eq!(first("我们什么时候去海滩？"), ["Mañana vamos a la playa con los niños."]);
}

/// Keeps: The model of a store is changed by one command, and searches find by words meanwhile.
#[test]
fn a_store_changes_to_the_multilingual_model_by_one_command() {
    let home = with_library();
    home.fetch(&[MODEL, "--from", model_files().to_str().unwrap()]).ok();
    home.ingest(&[], "Ключ от сарая висит за дверью.");
    home.ingest(&[], "Die Rechnung für den Strom ist bezahlt.");
    home.run("rsv-embed", &["--pending"], "").ok();
    home.fetch(&[MULTILINGUAL_MODEL, "--from", multilingual_files().to_str().unwrap()]).ok();
    assert_eq!(home.contents("rsv-search", &["сарая"]), ["Ключ от сарая висит за дверью."]);
    home.run("rsv-embed", &["--replay", MULTILINGUAL_MODEL], "").ok();
    let vectors = lines_of(&home.run("rsv-export", &["--vectors"], "").ok());
    let mut models = vectors.iter().filter(|line| line["kind"] == "embedding").map(|line| &line["model"]);
    assert!(models.clone().count() == 2 && models.all(|model| model == MULTILINGUAL_MODEL));
    let found = home.contents("rsv-search", &["--semantic", "--limit", "1", "Where is the key to the shed?"]);
    assert_eq!(found, ["Ключ от сарая висит за дверью."]);
}

#[test]
fn the_multilingual_model_is_one_checked_file() {
    let home = with_own_model();
    let listed = lines_of(&home.run("rsv-embed", &["--models"], "").ok());
    let ours = listed.iter().find(|line| line["model"] == MULTILINGUAL_MODEL).unwrap();
    assert_eq!(
        (&ours["in_use"], &ours["dim"], &ours["prepared"], &ours["licence"]),
        (&json!(true), &json!(512), &json!(null), &json!("Apache-2.0"))
    );
    let file = model_file(&home);
    let whole = fs::read(&file).unwrap();
    let hint = format!("hint: rsv-embed --fetch {MULTILINGUAL_MODEL}\n");
    let refuse = |damaged: &[u8], text: &str| {
        fs::write(&file, damaged).unwrap();
        let said = home.run("rsv-embed", &["--text"], "a\n").trouble();
        assert!(said.contains(text) && said.contains(&hint), "{said}");
    };
    refuse(&whole[..whole.len() / 2], "model.use is damaged: it has ");
    let mut other = whole.clone();
    other[..8].copy_from_slice(b"rsv-use0");
    refuse(&other, "model.use is damaged");
    let mut lengths = whole.clone();
    lengths[9] ^= 1;
    refuse(&lengths, "model.use is damaged");
    // The search continues by words.
    home.ingest(&[], "a word");
    assert_eq!(home.contents("rsv-search", &["word"]), ["a word"]);
    fs::remove_file(&file).unwrap();
    let said = home.run("rsv-embed", &["--text"], "a\n").trouble();
    assert!(said.contains("cannot read ") && said.contains(&hint), "{said}");

    // It is fetched again; from the directory of another installation, too.
    let from = multilingual_files().display().to_string();
    home.fetch(&[MULTILINGUAL_MODEL, "--from", &from]).ok();
    assert!(fs::read(&file).unwrap() == whole);
    let copy = Home::new();
    let installed = file.parent().unwrap().display().to_string();
    copy.fetch(&[MULTILINGUAL_MODEL, "--from", &installed]).ok();
    assert!(fs::read(model_file(&copy)).unwrap() == whole);
}

#[test]
fn a_changed_download_of_the_multilingual_model_is_refused() {
    let home = Home::new();
    let from = home.path("from");
    fs::create_dir_all(&from).unwrap();
    symlink(multilingual_files().join("weights.npz"), from.join("weights.npz")).unwrap();
    let said = home.fetch(&[MULTILINGUAL_MODEL, "--from", "from"]).trouble();
    assert!(said.contains("from: there is no sp.model"), "{said}");
    let mut vocabulary = fs::read(multilingual_files().join("sp.model")).unwrap();
    vocabulary.truncate(vocabulary.len() - 1);
    fs::write(from.join("sp.model"), &vocabulary).unwrap();
    let said = home.fetch(&[MULTILINGUAL_MODEL, "--from", "from"]).trouble();
    assert!(said.contains("sp.model is not a vocabulary of SentencePiece"), "{said}");
    let mut vocabulary = fs::read(multilingual_files().join("sp.model")).unwrap();
    let place = vocabulary.windows(5).position(|bytes| bytes == b"Hello").unwrap();
    vocabulary[place] = b'Y';
    fs::write(from.join("sp.model"), &vocabulary).unwrap();
    let said = home.fetch(&[MULTILINGUAL_MODEL, "--from", "from"]).trouble();
    assert!(said.contains("model.use of use-multilingual-v3 has the wrong checksum: "), "{said}");
    assert_eq!(installed(&home), Vec::<String>::new());
}

/// The names in the directory of models, without the lock.
fn installed(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.path(".local/share/rsv/models")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != ".lock").collect()
}

/// The message of a fetch without a name.
fn fetched(home: &Home, from: &Path) -> String {
    home.run("rsv-embed", &["--fetch", "--from", from.to_str().unwrap()], "").stderr
}

/// Keeps: Without a name, the model that is fetched suits the language of what is stored, or else the locale.
#[test]
fn the_language_of_what_is_stored_chooses_the_model() {
    // The directory with the files is that of the model that is expected.
    let said = fetched(&Home::new().env("LANG", "de_DE.UTF-8"), &multilingual_files());
    assert!(said.contains("fetching use-multilingual-v3: the locale is de_DE.UTF-8\n"), "{said}");
    for (variable, value) in [("LANG", "en_GB.UTF-8"), ("LC_ALL", "C.UTF-8"), ("NOTHING", "")] {
        let home = Home::new().env("LANG", "ru_RU.UTF-8").env(variable, value);
        let home = if variable == "NOTHING" { Home::new() } else { home };
        let said = fetched(&home, &model_files());
        assert!(said.contains(": neither stored messages nor the locale name another language"), "{said}");
        assert!(
            said.contains(&format!("{MODEL} is installed")) || said.contains("all-minilm-l6-v2"),
            "{said}"
        );
    }

    let russian = [
        "Ключ от сарая висит за дверью, рядом с лопатой.",
        "Сегодня мы посадили у забора двенадцать кустов смородины.",
        "Напомни мне завтра позвонить в мастерскую насчёт велосипеда.",
    ];
    let english = [
        "The key to the shed hangs behind the door, next to the spade.",
        "Today we planted twelve currant bushes along the fence.",
        "Remind me to call the workshop about the bicycle tomorrow.",
    ];
    let home = Home::new().env("LANG", "en_US.UTF-8");
    let fill = |home: &Home, sentences: [&str; 3]| {
        let lines = (0..12).map(|n| json!({"role": "user", "content": format!("{} {n}", sentences[n % 3])}));
        home.run("rsv-ingest", &[], lines.map(|line| line.to_string() + "\n").collect::<String>()).ok();
    };
    fill(&home, russian);
    let said = fetched(&home, &multilingual_files());
    let reason = "fetching use-multilingual-v3: stored messages are in Russian\n";
    assert!(said.contains(reason) && said.contains("use-multilingual-v3 is installed\n"), "{said}");
    let home = Home::new().env("LANG", "ru_RU.UTF-8");
    fill(&home, english);
    let said = fetched(&home, &model_files());
    assert!(said.contains(": the stored messages are in English\n"), "{said}");
}

#[test]
fn a_model_that_is_fetched_beside_another_says_how_to_change_to_it() {
    let home = with_library();
    home.fetch(&[MODEL, "--from", model_files().to_str().unwrap()]).ok();
    let home = home.env("LANG", "ja_JP.UTF-8");
    let said = fetched(&home, &multilingual_files());
    let change = "the model in use is all-minilm-l6-v2-int8; to change: rsv-config set embed.model use-multilingual-v3";
    assert!(said.contains(change), "{said}");
    home.run("rsv-config", &["set", "embed.model", "USE multilingual v3"], "").ok();
    assert_eq!(vectors(&home, &["猫"])[0].len(), 512);
    let mut damaged = fs::read(model_file(&home)).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(model_file(&home), damaged).unwrap();
    let reported = lines_of(&home.run("rsv-config", &["doctor"], "").stdout);
    let of_model = reported.iter().find(|line| line["check"] == "model").unwrap();
    assert!(of_model.to_string().contains("model.use is damaged"), "{of_model}");
    assert_eq!(text(&of_model["remedy"]), "rsv-embed --fetch use-multilingual-v3");
}
