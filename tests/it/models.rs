//! Models on this machine: how they are fetched, and that their vectors are what they should be.

use crate::hub::Hub;
use crate::install::executable;
use crate::support::{Home, MODEL, lines_of, model_files, text};
use base64::Engine as _;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The vectors that rsv-embed makes of lines of text.
fn vectors(home: &Home, words: &[&str], texts: &[&str]) -> Vec<Vec<f64>> {
    let words = [&["--field", "text"], words].concat();
    let lines: String = texts.iter().map(|text| json!({"text": text}).to_string() + "\n").collect();
    let made = lines_of(&home.run("rsv-embed", &words, lines).ok());
    assert_eq!(made.iter().map(|line| text(&line["text"])).collect::<Vec<_>>(), texts);
    made.iter().map(numbers).collect()
}

fn numbers(line: &Value) -> Vec<f64> {
    line["embedding"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

pub(crate) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// A directory with the files of the tests' model, of which some may be changed.
fn files(home: &Home, name: &str) -> PathBuf {
    let directory = home.path(name);
    fs::create_dir_all(&directory).unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        symlink(model_files().join(file), directory.join(file)).unwrap();
    }
    directory
}

/// A home that has ONNX Runtime and no model.
pub(crate) fn with_library() -> Home {
    let (home, model) = (Home::new(), Home::with_model());
    let library = model.path(".local/share/rsv/onnxruntime");
    fs::create_dir_all(home.path(".local/share/rsv")).unwrap();
    symlink(fs::canonicalize(library).unwrap(), home.path(".local/share/rsv/onnxruntime")).unwrap();
    home
}

/// Everything below a directory, files and directories, without what only locks.
fn tree(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            found.push(path.strip_prefix(directory).unwrap().display().to_string());
            if path.is_dir() && !path.is_symlink() {
                left.push(path);
            }
        }
    }
    found.retain(|name| !name.ends_with(".lock"));
    found.sort();
    found
}

#[test]
fn vectors_are_those_of_the_reference() {
    let reference = include_str!("reference.jsonl");
    let reference: Vec<(String, Vec<f64>)> = lines_of(reference)
        .iter()
        .map(|line| {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text(&line["vector"])).unwrap();
            let number = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            (text(&line["text"]), bytes.chunks_exact(4).map(number).collect())
        })
        .collect();
    let texts: Vec<&str> = reference.iter().map(|(text, _)| text.as_str()).collect();
    for (made, (text, wanted)) in vectors(&Home::with_model(), &[], &texts).iter().zip(&reference) {
        assert!(cosine(made, wanted) >= 0.9999, "{text}");
        let far = made.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-3, "{text}: {far}");
    }
}

#[test]
fn paraphrases_are_nearer_than_other_sentences() {
    let pairs = [
        ("My dog is afraid of thunder.", "Storms frighten the puppy."),
        ("How much does the ticket cost?", "What is the price of admission?"),
        ("She resigned from her job last week.", "A few days ago she quit working there."),
        ("The server is out of memory.", "There is no RAM left on the machine."),
        ("He plays the violin in an orchestra.", "He is a musician with a string instrument."),
        ("We moved to Oslo in spring.", "In April our family relocated to Norway."),
    ];
    let texts: Vec<&str> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let made = vectors(&Home::with_model(), &[], &texts);
    for at in (0..made.len()).step_by(2) {
        let near = cosine(&made[at], &made[at + 1]);
        for other in (0..made.len()).filter(|other| other / 2 != at / 2) {
            assert!(near > cosine(&made[at], &made[other]), "{} / {}", texts[at], texts[other]);
        }
    }
}

/// Keeps: The vector of a text does not depend on the batch.
#[test]
fn a_text_has_one_vector_in_any_company() {
    let home = Home::with_model();
    let words = ["wall", "garden", "beans", "the", "tomato", "rain", "über", "zwölf", "犬", "3.14"];
    let texts: Vec<String> = (0..60)
        .map(|n| (0..1 + n * 7 % 90).map(|w| words[(n * w + w) % 10]).collect::<Vec<_>>().join(" "))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = vectors(&home, &[], &texts);
    let one_thread = vectors(&home.env("RSV_EMBED_THREADS", "1"), &[], &texts);
    // Without the fast form, from the files as they were fetched.
    let plain = home.env("XDG_CACHE_HOME", &home.path("empty").display().to_string());
    let plain = vectors(&plain, &[], &texts);
    for at in 0..texts.len() {
        assert!(cosine(&together[at], &one_thread[at]) > 0.99999, "{}", texts[at]);
        assert!(cosine(&together[at], &plain[at]) > 0.99999, "{}", texts[at]);
    }
    for at in [0, 1, 13, 37, 59] {
        let alone = vectors(&home, &[], &texts[at..=at]);
        assert!(cosine(&together[at], &alone[0]) > 0.99999, "{}", texts[at]);
    }
}

#[test]
fn any_text_has_a_vector_of_length_one() {
    let long = "tomato and bean ".repeat(6250);
    let word = "a".repeat(100_000);
    let odd = [
        "",
        " \n\t",
        "\u{1F600}\u{1F468}\u{200D}\u{1F469}",
        "a\u{0}b\u{0}",
        "the of and to",
        "שלום עולם مرحبا",
        "你好，世界。",
        &long,
        &word,
        "[CLS] [SEP] [PAD] [MASK] [UNK]",
        "\u{feff}\u{202e}\u{fffd}",
    ];
    for (vector, text) in vectors(&Home::with_model(), &[], &odd).iter().zip(odd) {
        let length: f64 = vector.iter().map(|x| x * x).sum();
        assert!(vector.len() == 384 && (length - 1.0).abs() < 1e-4, "{text:.40}: {length}");
    }
}

/// Keeps: No part of a long text is ignored.
#[test]
fn nothing_of_a_long_text_is_left_out() {
    let home = Home::with_model();
    let filler = "The weather was quite ordinary that day and nobody said much about it. ".repeat(60);
    let end = format!("{filler} The submarine surfaced near Iceland with a cargo of oranges.");
    let made = vectors(&home, &[], &[&filler, &end, "A submarine with oranges at Iceland"]);
    assert!(cosine(&made[0], &made[1]) < 0.9999, "the end of the text does not count");
    assert!(cosine(&made[1], &made[2]) > cosine(&made[0], &made[2]));
}

#[test]
fn a_model_is_fetched_from_a_directory_and_kept_to_oneself() {
    let home = Home::new();
    let from = model_files();
    home.fetch(&["AllMiniLML6V2 int8", "--from", from.to_str().unwrap()]).ok();
    let files = tree(&home.path(""));
    // Nothing is left of the fetching, and no library keeps notes of its own in the home.
    let foreign = |name: &&String| {
        !name.contains("rsv") && ![".local", ".local/share", ".cache"].contains(&name.as_str())
    };
    assert_eq!(files.iter().find(foreign), None);
    assert!(!files.iter().any(|name| name.contains(".part") || name.contains("/models/.")), "{files:?}");
    vectors(&home, &[], &["a"]);
    assert_eq!(tree(&home.path("")), files);
    let listed = lines_of(&home.run("rsv-embed", &["--models"], "").ok());
    let ours = listed.iter().find(|line| line["model"] == MODEL).unwrap();
    assert_eq!((&ours["in_use"], &ours["dim"]), (&json!(true), &json!(384)));
    assert!(
        ours["installed"].as_u64() > Some(20_000_000) && ours["prepared"].as_u64() > Some(20_000_000),
        "{ours}"
    );
    for known in
        ["bge-large-en-v1.5", "bge-m3", "nomic-embed-text-v1.5", "multilingual-e5-small", "all-minilm-l6-v2"]
    {
        let line = listed.iter().find(|line| line["model"] == known).unwrap();
        assert_eq!((&line["installed"], &line["in_use"]), (&json!(null), &json!(false)), "{known}");
    }
    // A second time finds all in order.
    home.fetch(&[MODEL]).ok();
    assert_eq!(tree(&home.path("")), files);
}

#[test]
fn a_file_with_another_checksum_is_refused() {
    let home = with_library();
    let from = files(&home, "from");
    let mut bytes = fs::read(from.join("model.onnx")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(from.join("model.onnx")).unwrap();
    fs::write(from.join("model.onnx"), bytes).unwrap();
    let said = home.fetch(&[MODEL, "--from", "from"]).trouble();
    assert!(said.contains("model.onnx of all-minilm-l6-v2-int8 has the wrong checksum: "), "{said}");
    assert_eq!(tree(&home.path(".local/share/rsv/models")), Vec::<String>::new());
    assert_eq!(tree(&home.path(".cache")), Vec::<String>::new());
}

#[test]
fn a_damaged_installation_is_named_and_fetched_again() {
    let home = with_library();
    let from = model_files().display().to_string();
    home.fetch(&[MODEL, "--from", &from]).ok();
    let model = home.path(".local/share/rsv/models").join(MODEL).join("model.onnx");
    let prepared = fs::read_dir(home.path(".cache/rsv/models")).unwrap().next().unwrap().unwrap().path();
    for file in [&model, &prepared.join("weights.bin"), &prepared.join("vocab.txt")] {
        let whole = fs::metadata(file).unwrap().len();
        fs::File::options().write(true).open(file).unwrap().set_len(whole / 2).unwrap();
        let said = home.run("rsv-embed", &["--text"], "a\n").trouble();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(said.contains(&format!("{name} is damaged: it has {} bytes", whole / 2)), "{said}");
        assert!(said.contains("hint: rsv-embed --fetch all-minilm-l6-v2-int8\n"), "{said}");
        home.fetch(&[MODEL, "--from", &from]).ok();
        vectors(&home, &[], &["a"]);
    }
    // A cache that cannot be read.
    let description = prepared.join("prepared.json");
    fs::remove_file(&description).unwrap();
    fs::create_dir(&description).unwrap();
    let said = home.run("rsv-embed", &["--text"], "a\n").trouble();
    assert!(said.contains("cannot read ") && said.contains("prepared.json: is a directory"), "{said}");
}

#[test]
fn without_onnx_runtime_other_tools_work_and_a_hint_is_given() {
    let home = Home::new();
    let from = files(&home, "from").display().to_string();
    let said = home.fetch(&[MODEL, "--from", &from]).trouble();
    assert!(
        said.contains("ONNX Runtime's library is not installed: tried ")
            && said.contains("rsv-embed --fetch all-minilm-l6-v2, or: rsv-config set embed.library FILE")
    );
    assert!(said.contains("of the system"), "{said}");
    let home = Home::with_model();
    let library = fs::read(home.path(".local/share/rsv/onnxruntime/libonnxruntime.so")).unwrap();
    home.write("text.so", "no library at all, though it is longer than the head of one would have to be\n");
    fs::write(home.path("short.so"), &library[..library.len() / 3]).unwrap();
    let other = PathBuf::from(env!("CARGO_BIN_EXE_rsv-config"));
    for (file, cause) in [
        ("missing.so".into(), "entity not found"),
        (home.path("text.so"), "is not a library"),
        (home.path("short.so"), "is cut short: "),
        (home.path(""), "is "),
        (other, "dlopen failed"),
    ] {
        let ran = home.env("RSV_EMBED_LIBRARY", file.to_str().unwrap()).run("rsv-embed", &["--text"], "a\n");
        let said = ran.trouble();
        assert!(said.contains("cannot load ONNX Runtime's library ") && said.contains(cause), "{said}");
    }
    home.ingest(&[], "a word\n");
    let elsewhere = home.env("RSV_EMBED_LIBRARY", "missing.so");
    assert_eq!(elsewhere.contents("rsv-search", &["word"]), ["a word"]);
}

#[test]
fn a_full_disk_while_preparing_leaves_nothing() {
    let home = with_library();
    let from = files(&home, "from").display().to_string();
    // The optimised weights have 90 MB; no file may have more than 40.
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", "ulimit -f 40000 && exec \"$0\" \"$@\""]);
    bash.arg(home.command("rsv-embed").get_program()).args(["--fetch", MODEL, "--from", &from]);
    bash.env_clear().env("HOME", home.path("")).env("PATH", std::env::var("PATH").unwrap());
    let said = home.ran(bash.current_dir(home.path("")).output().unwrap()).trouble();
    assert!(said.contains("cannot prepare all-minilm-l6-v2-int8"), "{said}");
    assert_eq!(tree(&home.path(".local/share/rsv/models")), Vec::<String>::new());
    assert_eq!(tree(&home.path(".cache/rsv/models")), Vec::<String>::new());
    home.fetch(&[MODEL, "--from", &from]).ok();
}

#[test]
fn two_fetches_at_once_do_it_once() {
    let home = with_library();
    let from = files(&home, "from").display().to_string();
    let fetch = || {
        let mut command = home.command("rsv-embed");
        command.args(["--fetch", MODEL, "--from", &from]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [fetch(), fetch()];
    for child in both {
        assert_eq!(home.ran(child.wait_with_output().unwrap()).status, 0);
    }
    assert_eq!(vectors(&home, &[], &["a"])[0].len(), 384);
}

#[test]
fn a_custom_model_is_run_as_its_files_say() {
    let home = with_library();
    let own = files(&home, "Own-Model");
    home.write("Own-Model/1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
    home.write("Own-Model/sentence_bert_config.json", r#"{"max_seq_length": 64}"#);
    home.write("Own-Model/config_sentence_transformers.json", r#"{"prompts": {"query": "find: "}}"#);
    home.fetch(&["Own-Model"]).ok();
    let mean = vectors(&Home::with_model(), &[], &["a wall", "find: a wall"]);
    let cls = vectors(&home.env("RSV_EMBED_MODEL", "own-model"), &[], &["a wall", "find: a wall"]);
    assert!(cosine(&mean[0], &cls[0]) < 0.999);
    let asked = vectors(&home, &["--query"], &["a wall"]);
    assert!(cosine(&asked[0], &cls[1]) > 0.99999);
    assert!(own.join("model.onnx").exists());
    let lines = lines_of(&home.run("rsv-embed", &["--text"], "a\n").ok());
    assert_eq!(lines[0]["embedding_model"], "own-model");
    // It is checked and prepared again by its name; what a fetch left that was killed is gone then.
    fs::remove_dir_all(home.path(".cache/rsv/models")).unwrap();
    home.write(".cache/rsv/models/.own-model/weights.bin", "half of them");
    home.fetch(&["own-model"]).ok();
    let prepared = tree(&home.path(".cache/rsv/models"));
    assert!(
        prepared[0].starts_with("own-model@") && !prepared.iter().any(|name| name.starts_with('.')),
        "{prepared:?}"
    );
    let said = home.fetch(&["no-such-model"]).trouble();
    assert!(said.contains("unknown embedding model: no-such-model"), "{said}");
    let said = home.env("RSV_EMBED_MODEL", "bge_large_en_v15").run("rsv-embed", &["--text"], "a\n").trouble();
    assert!(said.contains("hint: rsv-embed --fetch bge-large-en-v1.5\n"), "{said}");
}

/// Keeps: A downloaded model keeps its checksums.
#[test]
fn a_model_is_fetched_from_a_hub_and_continues_where_it_ended() {
    let home = with_library();
    let hub = Hub::new(model_files(), &[1_000_000, 3_000_000]);
    let home = home.env("HF_ENDPOINT", &hub.url());
    home.fetch(&["All-MiniLM-L6-v2"]).ok();
    assert_eq!(hub.ranges(), [None, Some(1_000_000), Some(4_000_000)]);
    let mine = vectors(&home, &[], &["a wall"]);
    assert!(cosine(&mine[0], &vectors(&Home::with_model(), &[], &["a wall"])[0]) > 0.99999);
    let model = home.path(".local/share/rsv/models/all-minilm-l6-v2/model.onnx");
    assert_eq!(fs::read(&model).unwrap(), fs::read(model_files().join("model.onnx")).unwrap());

    // A file must keep its first checksum: the hub now has another one.
    let other = files(&home, "other");
    let mut bytes = fs::read(&model).unwrap();
    bytes[5_000_000] ^= 1;
    fs::remove_file(other.join("model.onnx")).unwrap();
    fs::write(other.join("model.onnx"), &bytes).unwrap();
    fs::write(&model, "damaged").unwrap();
    let changed = Hub::new(other, &[]);
    let said = home.env("HF_ENDPOINT", &changed.url()).fetch(&["all-minilm-l6-v2"]).trouble();
    assert!(said.contains("model.onnx of all-minilm-l6-v2 has the wrong checksum: "), "{said}");
    home.fetch(&["all-minilm-l6-v2"]).ok();
    assert_eq!(hub.ranges().len(), 4);
}

#[test]
fn a_fetch_that_fails_says_why_and_keeps_what_it_has() {
    let home = with_library();
    let hub = Hub::new(model_files(), &[1000, 1000, 1000, 1000]);
    let said = home.env("HF_ENDPOINT", &hub.url()).fetch(&["all-minilm-l6-v2"]).trouble();
    assert!(
        said.contains("cannot fetch all-minilm-l6-v2: ") && said.contains("run it again to continue"),
        "{said}"
    );
    assert!(!home.path(".local/share/rsv/models/all-minilm-l6-v2").exists());
    home.env("HF_ENDPOINT", &hub.url()).fetch(&["all-minilm-l6-v2"]).ok();
    assert_eq!(hub.ranges().last(), Some(&Some(4000)));

    let said = home.env("HF_ENDPOINT", &crate::fake::dead()).fetch(&["bge-small-en-v1.5"]).trouble();
    assert!(said.contains("connection refused") && !said.contains("use pip"), "{said}");
    // Where there is pip, it has the same model.
    let other = with_library();
    executable(&other.write("bin/python3", "#!/bin/sh\n"));
    let with_pip = other.env("PATH", other.path("bin").to_str().unwrap());
    let said = with_pip.env("HF_ENDPOINT", &crate::fake::dead()).fetch(&["all-minilm-l6-v2"]).trouble();
    let hint = "continue the download, or use pip: rsv-embed --fetch all-minilm-l6-v2-int8\n";
    assert!(said.ends_with(hint), "{said}");
    let empty = Hub::new(home.path("nothing"), &[]);
    let said = home.env("HF_ENDPOINT", &empty.url()).fetch(&["bge-small-en-v1.5"]).trouble();
    assert!(said.contains("status 404 Not Found"), "{said}");
    let said = home.env("PATH", home.path("").to_str().unwrap()).fetch(&[MODEL]).trouble();
    assert!(
        said.contains("is downloaded by pip, which is missing") && said.contains("--from DIRECTORY"),
        "{said}"
    );
}
