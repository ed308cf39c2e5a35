//! Uploads to rsv-proxy: files become documents of their user, or say why not, and nothing is half-stored.

use crate::neo4j_trouble::Wire;
use crate::proxy::{Proxy, answer, asked};
use crate::support::{Home, lines_of, on_each_store, on_graph, text, tries, wait_for};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

const NOTES: &str = "# The garden\n\nTomatoes stand by the warm wall.\n";

/// A form with a file.
pub(crate) fn form(path: &str, headers: &str, name: &str, file: &[u8]) -> Vec<u8> {
    let name = name.replace('\n', "%0A").replace('"', "%22");
    let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n");
    form_of(path, headers, &[(&disposition, file)])
}

/// A form with these parts: their headers, and what they have.
fn form_of(path: &str, headers: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (about, content) in parts {
        body.extend_from_slice(format!("--XX\r\n{about}\r\n").as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XX--\r\n");
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    request.extend(body);
    request
}

fn json((status, body): (u16, String)) -> (u16, Value) {
    let parsed = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {status} {body}"));
    (status, parsed)
}

/// Uploads a file that is taken; its entry.
pub(crate) fn upload(proxy: &Proxy, headers: &str, name: &str, file: &[u8]) -> Value {
    let (status, entry) = json(proxy.raw(&form("/api/documents/upload", headers, name, file)));
    assert_eq!((status, &entry["state"]), (202, &"queued".into()), "{entry}");
    entry
}

/// Waits until a document is stored or cannot be; its entry.
pub(crate) fn settled(proxy: &Proxy, headers: &str, doc_id: &str) -> Value {
    let path = format!("/api/documents/{doc_id}");
    let mut found = Value::Null;
    wait_for("a document", || {
        let (status, entry) = json(proxy.raw(&asked("GET", &path, headers)));
        assert_eq!(status, 200, "{entry}");
        found = entry;
        !["queued", "parsing"].contains(&found["state"].as_str().unwrap())
    });
    found
}

/// The names of what is in the spool.
fn spooled(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.path(".local/share/rsv/store.db.uploads"));
    entries.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Waits until nothing is in the spool: what is stored leaves it a moment later.
fn until_spool_is_empty(home: &Home) {
    wait_for("an empty spool", || spooled(home).is_empty());
}

fn documents(home: &Home, partition: &str) -> Vec<Value> {
    let exported = lines_of(&home.run("rsv-export", &["-p", partition, "--kind", "document"], "").ok());
    exported.into_iter().filter(|line| line["kind"] == "document").collect()
}

on_each_store!(an_upload_becomes_documents_of_its_user_and_of_no_other);
/// Keeps: A user sees only what is the user's.
fn an_upload_becomes_documents_of_its_user_and_of_no_other(home: Home) {
    let proxy = Proxy::start(&home);
    let ann = "X-User-Id: ann\r\n";
    let entry = upload(&proxy, ann, "notes.md", NOTES.as_bytes());
    let doc_id = text(&entry["doc_id"]);
    let uri = format!("viking://resources/users/ann/documents/{doc_id}");
    assert_eq!((&entry["uri"], &entry["user_id"]), (&uri.as_str().into(), &"ann".into()));
    let ready = settled(&proxy, ann, &doc_id);
    assert_eq!(
        (&ready["state"], &ready["sections"], &ready["name"]),
        (&"ready".into(), &1.into(), &"notes.md".into())
    );
    let stored = documents(&home, "ann");
    assert_eq!(stored.len(), 1);
    assert_eq!((&stored[0]["uri"], &stored[0]["source"]), (&uri.as_str().into(), &"notes.md".into()));
    assert_eq!(stored[0]["content"], NOTES.trim_end());
    until_spool_is_empty(&home);

    let path = format!("/api/documents/{doc_id}");
    let by_path = format!("/partition/ann{path}");
    for (path, headers, status) in [
        (path.clone(), "x-rsv-partition: ann\r\n", 200),
        (by_path, "X-User-Id: bob\r\n", 200),
        (format!("{path}?user_id=ann"), "", 200),
        (path.clone(), "", 404),
        (path.clone(), "X-User-Id: bob\r\n", 404),
        (path.clone(), "x-rsv-partition: bob\r\nX-User-Id: ann\r\n", 404),
        (format!("/partition/bob{path}"), ann, 404),
        ("/api/documents/nothing".to_owned(), ann, 404),
        ("/api/documents/%2e%2e".to_owned(), ann, 404),
        ("/api/documents/..%2fann".to_owned(), ann, 404),
        (format!("/api/documents/{doc_id}%2f."), ann, 404),
        ("/api/documents".to_owned(), "X-User-Id: a/b\r\n", 400),
    ] {
        for method in ["GET", "DELETE"] {
            if status == 200 && method == "DELETE" {
                continue;
            }
            let expected = if path == "/api/documents" && method == "DELETE" { 405 } else { status };
            let (found, body) = json(proxy.raw(&asked(method, &path, headers)));
            assert_eq!(found, expected, "{method} {path} {headers}: {body}");
            assert!(found == 200 || body["error"]["message"].is_string(), "{body}");
        }
    }
    for (headers, count) in [(ann, 1), ("X-User-Id: bob\r\n", 0), ("", 0)] {
        let (_, listed) = json(proxy.raw(&asked("GET", "/api/documents", headers)));
        assert_eq!(listed["documents"].as_array().unwrap().len(), count, "{listed}");
    }
    let (status, _) = json(proxy.raw(&asked("DELETE", &path, ann)));
    assert_eq!(status, 200);
    assert_eq!(json(proxy.raw(&asked("DELETE", &path, ann))).0, 404);
    assert!(documents(&home, "ann").is_empty());
}

#[test]
fn the_form_may_name_the_user_after_the_file() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    let file = ("Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n", &b"Beans."[..]);
    let user = ("Content-Disposition: form-data; name=\"user_id\"\r\n", &b"cem"[..]);
    let (status, entry) = json(proxy.raw(&form_of("/api/documents/upload", "", &[file, user])));
    assert_eq!((status, &entry["user_id"]), (202, &"cem".into()));
    let ready = settled(&proxy, "X-User-Id: cem\r\n", entry["doc_id"].as_str().unwrap());
    assert_eq!(ready["state"], "ready", "{ready}");
    until_spool_is_empty(&home);
    let (status, _) = json(proxy.raw(&form_of("/api/documents/upload", "", &[file, (user.0, &b"a/b"[..])])));
    assert_eq!((status, spooled(&home).len()), (400, 0));
}

#[test]
fn what_is_no_document_is_refused_or_says_why() {
    let home = Home::new().env("RSV_CHAT_UPLOAD_BYTES", "100000").env("RSV_PROXY_IDLE_TIMEOUT", "1s");
    let proxy = Proxy::start(&home);
    let path = "/api/documents/upload";
    let other = ("Content-Disposition: form-data; name=\"other\"\r\n", &b"x"[..]);
    let file = ("Content-Disposition: form-data; name=\"file\"\r\n", &b"x"[..]);
    for (request, status, words) in [
        (form(path, "", "empty.md", b""), 400, "the file is empty"),
        (form(path, "", "big.md", &[b'x'; 100_001]), 413, "chat.upload_bytes"),
        (form(path, "", "big.md", &[b'x'; 1_000_000]), 413, "chat.upload_bytes"),
        (form_of(path, "", &[]), 400, "no file"),
        (form_of(path, "", &[other]), 400, "no file"),
        (form_of(path, "", &[file, file]), 400, "more than one file"),
        (crate::proxy::post(path, "", "{}"), 415, "multipart/form-data"),
        (asked("GET", path, ""), 405, "use POST"),
    ] {
        let (found, body) = json(proxy.raw(&request));
        let message = body["error"]["message"].as_str().unwrap();
        assert_eq!(found, status, "{body}");
        assert!(message.contains(words), "{body}");
    }
    // Cut in the middle, and stalled.
    let whole = form(path, "", "notes.md", NOTES.as_bytes());
    let mut client = proxy.connect();
    client.write_all(&whole[..whole.len() - 30]).unwrap();
    assert_eq!(answer(client).0, 408);
    let mut client = proxy.connect();
    client.write_all(&whole[..whole.len() - 30]).unwrap();
    drop(client);
    let taken = upload(&proxy, "", "a.png", b"\x89PNG\r\n\x1a\n0000000");
    let failed = settled(&proxy, "", taken["doc_id"].as_str().unwrap());
    assert_eq!(failed["state"], "failed");
    assert_eq!(failed["error"], "a picture (image/png), which has no text");
    assert_eq!(spooled(&home).len(), 1, "{:?}", spooled(&home));
    let path = format!("/api/documents/{}", taken["doc_id"].as_str().unwrap());
    assert_eq!(proxy.raw(&asked("DELETE", &path, "X-User-Id: bob\r\n")).0, 404);
    assert_eq!(proxy.raw(&asked("DELETE", &path, "")).0, 200);
    assert!(spooled(&home).is_empty() && documents(&home, "default").is_empty());
}

#[test]
fn names_of_files_name_no_other_place() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    for (sent, kept) in [
        ("../../../../canary.md", "canary.md"),
        ("/etc/canary.md", "canary.md"),
        ("..\\canary.md", "canary.md"),
        ("a%0Ab\tc.md", "a%0Ab_c.md"),
        ("-rf.md", "-rf.md"),
        ("$(touch canary).md", "$(touch canary).md"),
        (&format!("{}.md", "n".repeat(4000)), &format!("{}.md", "n".repeat(140))),
        ("", "upload"),
        ("..", "upload"),
    ] {
        let taken = upload(&proxy, "", sent, NOTES.as_bytes());
        assert_eq!(taken["name"], kept);
        let ready = settled(&proxy, "", taken["doc_id"].as_str().unwrap());
        assert_eq!((&ready["state"], &ready["name"]), (&"ready".into(), &kept.into()), "{ready}");
    }
    until_spool_is_empty(&home);
    assert!(!home.path("canary").exists());
}

#[test]
fn twenty_uploads_at_once_are_all_stored() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let one = |at: usize| text(&upload(&proxy, "", &format!("{at}.md"), NOTES.as_bytes())["doc_id"]);
        let running: Vec<_> = (0..20).map(|at| scope.spawn(move || one(at))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for id in &ids {
        assert_eq!(settled(&proxy, "", id)["state"], "ready");
    }
    assert_eq!(documents(&home, "default").len(), 20);
}

/// Keeps: An upload is stored whole, or says why not, also after a kill.
#[test]
fn a_proxy_that_is_killed_leaves_no_upload_behind() {
    let home = Home::new();
    let count = crate::support::number_from("RSV_TEST_KILLS").unwrap_or(8);
    tries(count, |mut dice| {
        let long = format!("{NOTES}\n{}", "## More\n\nBeans go up the fence.\n\n".repeat(2000));
        let proxy = Proxy::start(&home);
        let doc_id = text(&upload(&proxy, "", "long.md", long.as_bytes())["doc_id"]);
        // Another is cut off by the kill.
        let mut client = proxy.connect();
        let cut = form("/api/documents/upload", "", "cut.md", long.as_bytes());
        client.write_all(&cut[..cut.len() / 2]).unwrap();
        std::thread::sleep(Duration::from_micros(dice.below(300_000) as u64));
        proxy.kill();
        drop(proxy);
        let proxy = Proxy::start(&home);
        let ready = settled(&proxy, "", &doc_id);
        assert_eq!(ready["state"], "ready", "{ready}");
        until_spool_is_empty(&home);
        let path = format!("/api/documents/{doc_id}");
        assert_eq!(proxy.raw(&asked("DELETE", &path, "")).0, 200);
        assert!(documents(&home, "default").is_empty());
    });
    home.check();
}

#[test]
fn a_proxy_takes_up_the_uploads_of_another_that_dies() {
    let home = Home::new();
    let served = home.env("RSV_STORE", "own.db");
    // A store cannot be where a directory is.
    std::fs::create_dir(home.path("own.db")).unwrap();
    let (first, second) = (Proxy::start(&served), Proxy::start(&served));
    let waiting = upload(&first, "", "notes.md", NOTES.as_bytes());
    first.kill();
    std::fs::remove_dir(home.path("own.db")).unwrap();
    assert_eq!(settled(&second, "", &text(&waiting["doc_id"]))["state"], "ready");
}

/// Uploads a file while its store is away, and serves another store; it is in none but its own, which comes back.
fn is_stored_in_its_own_store(home: &Home, own: &str, other: &str, come_back: impl FnOnce()) {
    let at = |store: &str| Proxy::start(&home.env("RSV_STORE", store));
    let names = |store: &str| -> Vec<String> {
        let stored = documents(&home.env("RSV_STORE", store), "default");
        stored.iter().map(|document| text(&document["source"])).collect()
    };
    let path = |entry: &Value| format!("/api/documents/{}", text(&entry["doc_id"]));
    let waiting = upload(&at(own), "", "own.md", NOTES.as_bytes());
    let proxy = at(other);
    assert_eq!(proxy.get(&path(&waiting)).0, 404);
    let uploaded = upload(&proxy, "", "other.md", NOTES.as_bytes());
    assert_eq!(settled(&proxy, "", &text(&uploaded["doc_id"]))["state"], "ready");
    assert_eq!(names(other), ["other.md"]);
    drop(proxy);
    come_back();
    let proxy = at(own);
    assert_eq!(settled(&proxy, "", &text(&waiting["doc_id"]))["state"], "ready");
    assert!(names(own).contains(&"own.md".to_owned()));
}

on_graph!(an_upload_is_stored_at_the_server_it_was_accepted_for);
fn an_upload_is_stored_at_the_server_it_was_accepted_for(home: Home) {
    let mut wire = Wire::to(home.graph().address());
    wire.stop();
    let (own, other) = (wire.address(), home.graph().address().to_owned());
    is_stored_in_its_own_store(&home, &own, &other, || wire.repair());
}

/// Keeps: An upload is in no other store than the one it was accepted for.
#[test]
fn an_upload_is_stored_where_it_was_accepted_for_and_nowhere_else() {
    // A store cannot be where a directory is.
    let home = Home::new();
    std::fs::create_dir(home.path("own.db")).unwrap();
    let come_back = || std::fs::remove_dir(home.path("own.db")).unwrap();
    is_stored_in_its_own_store(&home, "own.db", "other.db", come_back);
    // The store is the target of a link, and not the link.
    let home = Home::new();
    std::fs::create_dir(home.path("own.db")).unwrap();
    let link = |target: &str| {
        let _ = std::fs::remove_file(home.path("link.db"));
        std::os::unix::fs::symlink(home.path(target), home.path("link.db")).unwrap();
    };
    link("own.db");
    let waiting = upload(&Proxy::start(&home.env("RSV_STORE", "link.db")), "", "own.md", NOTES.as_bytes());
    home.env("RSV_STORE", "other.db").run("rsv-ingest", &["x"], "").ok();
    link("other.db");
    let doc_id = text(&waiting["doc_id"]);
    let proxy = Proxy::start(&home.env("RSV_STORE", "link.db"));
    assert_eq!(proxy.get(&format!("/api/documents/{doc_id}")).0, 404);
    std::fs::remove_dir(home.path("own.db")).unwrap();
    let proxy = Proxy::start(&home.env("RSV_STORE", "own.db"));
    assert_eq!(settled(&proxy, "", &doc_id)["state"], "ready");
}

#[test]
fn an_upload_whose_server_is_not_known_is_told_and_waits() {
    let home = Home::new().env("RSV_STORE", "bolt://localhost:1");
    let data = home.path(".local/share/rsv/uploads");
    let doc_id = text(&upload(&Proxy::start(&home), "", "a.md", NOTES.as_bytes())["doc_id"]);
    let own = data.join("localhost%3A1");
    assert!(own.join(&doc_id).exists());
    // An earlier version had no directory for each server.
    std::fs::rename(own.join(&doc_id), data.join(&doc_id)).unwrap();
    let mut proxy = Proxy::start(&home);
    proxy.hear_until(&format!("if it is for this one, move it to {}", own.display()));
    assert!(data.join(&doc_id).exists());
}

#[test]
fn a_large_upload_takes_little_memory() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    upload(&proxy, "", "a.png", b"\x89PNG\r\n\x1a\n0000000");
    let before = proxy.peak_memory();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    file.resize(100_000_000, 7);
    let taken = upload(&proxy, "", "large.png", &file);
    assert_eq!(taken["bytes"], 100_000_000);
    assert_eq!(settled(&proxy, "", taken["doc_id"].as_str().unwrap())["state"], "failed");
    let grown = proxy.peak_memory() - before;
    assert!(grown < 24 << 20, "{grown}");
}

#[test]
fn a_full_disk_keeps_nothing_of_an_upload() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    let small = upload(&proxy, "", "a.md", NOTES.as_bytes());
    assert_eq!(settled(&proxy, "", small["doc_id"].as_str().unwrap())["state"], "ready");
    until_spool_is_empty(&home);
    proxy.may_write(Some(100_000));
    let (status, body) = json(proxy.raw(&form("/api/documents/upload", "", "b.md", &[b'x'; 1_000_000])));
    assert_eq!(status, 507, "{body}");
    assert!(body["error"]["message"].as_str().unwrap().contains("cannot write to the spool"), "{body}");
    assert!(spooled(&home).is_empty(), "{:?}", spooled(&home));
    proxy.may_write(None);
    let again = upload(&proxy, "", "b.md", NOTES.as_bytes());
    assert_eq!(settled(&proxy, "", again["doc_id"].as_str().unwrap())["state"], "ready");
}
