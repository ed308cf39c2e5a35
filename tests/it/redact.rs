//! Redaction: secrets of every kind are recognized, and lookalikes are left alone.

use crate::support::{Dice, Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

/// A home in which secrets are redacted.
pub(crate) fn redacting() -> Home {
    Home::new().env("RSV_INGEST_REDACT", "true")
}

/// Letters and digits as they stand in tokens, the same for the same seed.
pub(crate) fn token(seed: usize, length: usize) -> String {
    signs(seed, length, b"aB3dE7gH1jK9mN5pQ2rS8tU4vW6xY0zCfIlLoOqQyZ")
}

fn signs(seed: usize, length: usize, signs: &[u8]) -> String {
    let mut dice = Dice(seed as u64);
    (0..length).map(|_| char::from(signs[dice.below(signs.len())])).collect()
}

fn hex(seed: usize, length: usize) -> String {
    signs(seed, length, b"0123456789abcdef")
}

/// Secrets, each with its kind. They are put together here, so that no scanner takes them for some of ours.
pub(crate) fn secrets() -> Vec<(&'static str, String)> {
    let pem = |name: &str| {
        let lines: Vec<String> = (0..6).map(|at| token(at, 64)).collect();
        format!("-----BEGIN {name}-----\n{}\n-----END {name}-----", lines.join("\n"))
    };
    vec![
        ("openai-api-key", format!("sk-{}T3BlbkFJ{}", token(1, 20), token(2, 20))),
        ("openai-api-key", format!("sk-proj-{}", token(3, 80))),
        ("rsv-token", format!("rsv_{}", hex(2, 64))),
        ("anthropic-api-key", format!("sk-ant-api03-{}AA", token(4, 93))),
        ("openrouter-api-key", format!("sk-or-v1-{}", hex(5, 64))),
        ("google-api-key", format!("AIza{}", token(6, 35))),
        ("groq-api-key", format!("gsk_{}", token(7, 52))),
        ("xai-api-key", format!("xai-{}", token(8, 80))),
        ("perplexity-api-key", format!("pplx-{}", token(9, 48))),
        ("huggingface-access-token", format!("hf_{}", token(10, 34))),
        ("aws-access-token", "AKIA".to_owned() + "IOSFODNN7EXAMPLE"),
        ("github-token", format!("ghp_{}", token(11, 36))),
        ("github-fine-grained-pat", format!("github_pat_{}", token(12, 82))),
        ("gitlab-pat", format!("glpat-{}", token(13, 20))),
        ("npm-access-token", format!("npm_{}", token(14, 36))),
        ("slack-token", format!("xoxb-123456789012-123456789012-{}", token(15, 24))),
        ("stripe-access-token", format!("sk_live_{}", token(16, 24))),
        ("sendgrid-api-token", format!("SG.{}.{}", token(17, 22), token(18, 43))),
        ("digitalocean-pat", format!("dop_v1_{}", hex(19, 64))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", token(20, 33), token(21, 60), token(22, 43))),
        ("private-key", pem("RSA PRIVATE KEY")),
        ("private-key", pem("OPENSSH PRIVATE KEY")),
        ("card", "4111 1111 1111 1111".to_owned()),
        ("card", "5555555555554444".to_owned()),
        ("card", "3782-822463-10005".to_owned()),
    ]
}

#[test]
fn a_secret_is_replaced_wherever_it_stands() {
    let home = redacting();
    let around = [("", ""), ("My key is ", ", keep it."), ("export KEY='", "'\n"), ("(", ")."), ("\n", "\n")];
    let mut lines = String::new();
    let mut wanted = Vec::new();
    for (kind, secret) in secrets() {
        for (before, after) in around {
            lines +=
                &format!("{}\n", json!({"role": "user", "content": format!("{before}{secret}{after} Owl")}));
            wanted.push(format!("{before}[redacted:{kind}]{after} Owl"));
        }
    }
    let ran = home.run("rsv-ingest", &[], lines);
    assert_eq!(ran.status, 0, "{ran}");
    let found: Vec<String> = lines_of(&ran.stdout).iter().map(|line| text(&line["content"])).collect();
    assert_eq!(found, wanted);
    let told = format!("rsv-ingest: {} secrets were redacted before storing: ", wanted.len());
    assert!(ran.stderr.starts_with(&told) && ran.stderr.contains("15 card"), "{}", ran.stderr);
    // A word of another script may stand before and after one.
    let (_, key) = secrets().remove(4);
    let stored = home.run("rsv-ingest", &["-q", &format!("我的密钥{key}和é")], "").ok();
    assert_eq!(text(&lines_of(&stored)[0]["content"]), "我的密钥[redacted:openrouter-api-key]和é");
    // The text before a secret reveals some.
    for (said, wanted) in [
        (format!("Authorization: Bearer {}", token(30, 30)), "Authorization: Bearer [redacted:bearer-token]"),
        (format!("MISTRAL_API_KEY={}", token(31, 32)), "MISTRAL_API_KEY=[redacted:secret]"),
        (
            format!("aws_secret_access_key = {}", token(32, 40)),
            "aws_secret_access_key = [redacted:aws-secret-key]",
        ),
    ] {
        let stored = home.run("rsv-ingest", &["-q", &said], "").ok();
        assert_eq!(text(&lines_of(&stored)[0]["content"]), wanted);
        // A redacted text has no secret any more.
        let again = home.run("rsv-ingest", &[wanted], "").ok();
        assert_eq!(text(&lines_of(&again)[0]["content"]), wanted);
    }
}

/// Texts that hold no secret.
fn innocent() -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for n in 0..30 {
        texts.push(format!("commit {} of {}", hex(n, 40), hex(n + 1, 7)));
        texts.push(format!("sha256:{} sha512-{}==", hex(n, 64), token(n, 86)));
        let uuid = format!("{}-{}-4{}-8{}-{}", hex(n, 8), hex(n, 4), hex(n, 3), hex(n + 2, 3), hex(n, 12));
        texts.push(format!("id {uuid}, urn:uuid:{uuid}"));
        // A picture, whose letters come by chance: all prefixes of tokens are in it.
        let chance = ["AKIA", "/sk-", "eyJ", "EAAA", "+ghp_", "/SK", "AIza", "LTAI"];
        let picture: String = chance.iter().enumerate().map(|(at, word)| token(n + at, 700) + word).collect();
        texts.push(format!("![owl](data:image/png;base64,iVBORw0KGgo{})", picture.replace(['-', '_'], "/")));
        texts.push(format!(
            "order {} of {}",
            9_111_111_111_111_112_u64 + n as u64,
            1_700_000_000_000_u64 + n as u64
        ));
    }
    let others = [
        "4111 1111 1111 1112 is one digit off, 4111-1111 1111-1111 is grouped by nobody",
        "at 1764043200123456 us, 20261125 040506, +49 30 1234567, 3.4111111111111111, ISBN 978-3-16-148410-0",
        "1111 4111 1111 1111 1111 0000 1234 is a table",
        "const KEY: &str = \"sk-\"; let key = format!(\"sk-{id}\");",
        ".sk-fading-circle .sk-circle-fade-dot { animation-delay: -1.1s }",
        "the task-management-system-of-the-desk-and-disk-drive-controllers",
        "export OPENAI_API_KEY=$KEY; MISTRAL_API_KEY=... ; API_KEY=your-key-here; TOKEN=<token>",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is a placeholder, so is ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "fn bearer(token: &str) -> String { format!(\"Bearer {token}\") }",
        "Authorization: Bearer $TOKEN, Bearer of good news, the bearer token of a request",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6n0Zr8q8m3v1n2b4c5d6e7f8g9h0i1j2k3l4m5n6o7 owl@nest",
        "MAX_TOKENS=4096 CSRF_TOKEN = get_token(request) SECRET_SANTA=1",
        "npm_config_registry npm_package_name hf_hub_download github_patched glpatched ghp_ gho_",
        "The password is swordfish. My PIN is 1234.",
        "eyJ is how a token begins; eyJhbGciOiJIUzI1NiJ9 alone is a header",
        "trace 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "msg_01XFDUDYJgAACzvnptvVoYEL toolu_01A09q90qw90lq917835lq9 call_abc123DEF456 chatcmpl-9abcDEFghiJKLmnoPQRstuVWX",
        "01HZX3NDEKTSV4RRFFQ69G5FAV 507f1f77bcf86cd799439011 V1StGXR8_Z5jdHi6B-myT",
        "https://example.org/a/b?q=1&hash=5d41402abc4b2a76b9719d911017c592#L10",
        "10.1038/s41586-021-03819-2 arXiv:2106.09685 RFC 3339",
        "let x = [0x41, 0x4b, 0x49, 0x41]; // AKIA",
        "git diff --git a/SKILL.md b/SKILLS.md index 83db48f..bf2a1c9 100644",
        "SK0 SKU-12345 ASIAN AKIAK ABBA ACCADEMIA LTAIX",
        "pip install torch==2.3.1 --hash=sha256:c4b4a5a5a1e9d4d5f2b2c9e9b1c1f3f8a8f4a2d3b4e5f6a7b8c9d0e1f2a3b4c5",
        "0x52908400098527886E0F7030069857D2E4169EE7 is an address on a chain",
        "Card holders: see 4.1.1.1.1, 4111/1111, A4111111111111111, 41111111111111110",
        "data:font/woff2;base64,d09GMgABAAAAAAEAAA",
        "Lorem ipsum dolor sit amet, [redacted:card] and [redacted:openai-api-key] stay.",
    ];
    texts.extend(others.map(str::to_owned));
    texts.extend((0..30).map(|n| format!("fn token_{n}() -> &'static str {{ \"{}\" }} // {n}", hex(n, 32))));
    texts
}

/// Keeps: Hashes, ids, pictures and placeholders are no secrets.
#[test]
fn what_only_looks_like_a_secret_passes_untouched() {
    let (home, texts) = (redacting(), innocent());
    assert!(texts.len() >= 200, "{}", texts.len());
    let lines: String =
        texts.iter().map(|text| format!("{}\n", json!({"role": "user", "content": text}))).collect();
    let found: Vec<Value> = home.ingest(&[], &lines);
    for (found, text) in found.iter().zip(&texts) {
        assert_eq!(found["content"].as_str(), Some(text.as_str()));
    }
    assert_eq!(found.len(), texts.len());
    assert_eq!(home.run("rsv-search", &["--secrets"], "").status, 1);
}

#[test]
fn patterns_can_be_added_and_a_bad_one_is_named() {
    let home = redacting();
    let file = home.write("patterns", "# of the gate\nbadge: \\bBADGE-[0-9]{6}\\b\npin: PIN (\\d{4})\n");
    let home = home.env("RSV_INGEST_REDACT_PATTERNS", file.to_str().unwrap());
    let ran = home.run("rsv-ingest", &["BADGE-123456 with PIN 4711, not BADGE-1"], "");
    assert_eq!(
        text(&lines_of(&ran.stdout)[0]["content"]),
        "[redacted:badge] with PIN [redacted:pin], not BADGE-1"
    );
    assert_eq!(ran.stderr, "rsv-ingest: 2 secrets were redacted before storing: 1 badge, 1 pin\n");
    for (bad, wanted) in [
        ("\nbadge [0-9]", "2: expected a kind, a colon and a pattern"),
        ("Badge: x", "1: a kind has lower-case letters, digits and dashes, not \"Badge\""),
        ("badge: (x", "1: the pattern: unclosed group"),
    ] {
        home.write("patterns", bad);
        for (tool, words) in
            [("rsv-ingest", vec!["Owl"]), ("rsv-import", vec![]), ("rsv-search", vec!["--secrets"])]
        {
            home.write(".keep", "");
            let said = home.run(tool, &words, "").trouble();
            assert!(said.contains("patterns:") && said.contains(wanted), "{said}");
        }
    }
    home.run("rsv-ingest", &["Owl"], "").trouble();
    std::fs::remove_file(file).unwrap();
    assert!(home.run("rsv-ingest", &["Owl"], "").trouble().contains("patterns: cannot be read: "));
}

on_each_store!(off_unless_set_and_lines_with_an_id_stay);
fn off_unless_set_and_lines_with_an_id_stay(home: Home) {
    let (_, key) = secrets().remove(0);
    assert_eq!(text(&home.ingest(&[], &key)[0]["content"]), key);
    let exported = home.export();
    let home = home.env("RSV_INGEST_REDACT", "true");
    // A line that has an id is rsv's own, or a program's that names its messages.
    let own = json!({"id": "m1", "role": "user", "content": format!("Mine: {key}")}).to_string();
    assert_eq!(text(&home.ingest(&[], &own)[0]["content"]), format!("Mine: {key}"));
    home.run("rsv-import", &["-q"], &exported).ok();
    assert!(home.export().contains(&exported), "an import of rsv's own lines changes nothing");
    home.run("rsv-ingest", &["-q"], &exported).ok();
    // All other members of a message are redacted, but for names; a vector of the whole text goes.
    let line = json!({"role": "assistant", "content": null, "partition": "p", "note": key.clone(),
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": format!("{{\"key\":\"{key}\"}}")}}],
        "embedding": [1, 0], "embedding_model": "tiny"});
    let ran = home.run("rsv-ingest", &[], line.to_string());
    let stored = &lines_of(&ran.stdout)[0];
    assert_eq!(stored["tool_calls"][0]["function"]["arguments"], "{\"key\":\"[redacted:openai-api-key]\"}");
    assert!(stored["note"] == "[redacted:openai-api-key]" && stored.get("embedding").is_none(), "{stored}");
    assert!(ran.stderr.contains("2 openai-api-key"), "{}", ran.stderr);
    let parts = json!({"role": "user", "content": [{"type": "text", "text": key.clone()},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", key.replace('-', "/"))}}]});
    let stored = &lines_of(&home.run("rsv-ingest", &["-q"], parts.to_string()).stdout)[0];
    assert_eq!(stored["content"][0]["text"], "[redacted:openai-api-key]");
    assert_eq!(stored["content"][1], parts["content"][1]);
}

on_each_store!(what_is_stored_already_is_found_and_forgotten);
fn what_is_stored_already_is_found_and_forgotten(home: Home) {
    let all = secrets();
    for (at, (_, secret)) in all.iter().enumerate() {
        home.run("rsv-ingest", &["-q", "-p", "p", &format!("Secret {at}: {secret}")], "").ok();
    }
    let memory = json!({"kind": "memory", "partition": "p", "title": "Key", "content": all[0].1, "outcome": "success"});
    let document =
        json!({"kind": "document", "partition": "p", "uri": "viking://resources/env", "content": all[1].1});
    let address = json!({"kind": "document", "partition": "p", "content": "Owls",
        "uri": format!("viking://resources/{}", all[2].1)});
    home.ingest(&["-q"], &format!("{memory}\n{document}\n{address}\n"));
    home.ingest(&["-p", "p"], "Owls see well.");
    let found = home.run("rsv-search", &["-p", "p", "--secrets"], "");
    let hits = lines_of(&found.stdout);
    assert_eq!(hits.len(), all.len() + 3, "{found}");
    for (_, secret) in &all {
        assert!(!found.stdout.contains(secret.lines().nth(1).unwrap_or(secret)), "a hit has the secret");
    }
    let kinds: Vec<String> = hits.iter().map(|hit| text(&hit["why"]["secrets"][0])).collect();
    for (kind, _) in &all {
        assert!(kinds.contains(&(*kind).to_owned()), "{kind}");
    }
    assert_eq!(lines_of(&home.run("rsv-search", &["-p", "p", "--secrets", "-n", "3"], "").ok()).len(), 3);
    home.run("rsv-forget", &["-q", "-p", "p"], &found.stdout).ok();
    assert_eq!(home.run("rsv-search", &["-p", "p", "--secrets"], "").status, 1);
    assert_eq!(home.contents("rsv-view", &["-p", "p"]), ["Owls see well."]);
}
