//! Documents: versions, mirrors, the tree as it is shown, and what is forgotten of it.

use crate::examples::{blocks, crontab_commands, unescaped};
use crate::support::{Dice, Home, lines_of, number_from, on_each_store, text, tries};
use rsv::record::{Embedding, Object};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

/// A leaf as a parser prints it.
fn leaf(uri: &str, content: &str) -> Value {
    let (title, first) = (uri.rsplit('/').next().unwrap(), content.lines().next().unwrap_or_default());
    json!({"kind": "document", "uri": uri, "title": title, "abstract": first, "content": content,
           "source_sha256": sha256(content), "made_by": "rule"})
}

/// A directory as a parser prints it, of its children.
fn directory(uri: &str, children: &[&Value]) -> Value {
    let names: Vec<String> = children.iter().map(|child| name(child)).collect();
    let hash: String = children
        .iter()
        .map(|child| format!("{}\0{}\n", name(child), text(&child["source_sha256"])))
        .collect();
    json!({"kind": "document", "uri": uri, "title": uri.rsplit('/').next().unwrap(),
           "abstract": format!("{} entries", names.len()), "overview": names.join("\n"),
           "source_sha256": sha256(&hash), "children": names.len(), "made_by": "rule"})
}

fn name(document: &Value) -> String {
    text(&document["uri"]).rsplit('/').next().unwrap().to_owned()
}

/// SHA-256 in hexadecimal.
fn sha256(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The line that ends a tree.
fn end(uri: &str, nodes: usize) -> Value {
    json!({"kind": "tree", "uri": uri, "nodes": nodes, "complete": true})
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

pub(crate) const NOTES: &str = "viking://resources/notes";

/// The lines of a mirror of notes: each a name in `garden` and a text.
pub(crate) fn notes(files: &[(&str, &str)]) -> Vec<Value> {
    let garden = format!("{NOTES}/garden");
    let mut nodes: Vec<Value> =
        files.iter().map(|(name, content)| leaf(&format!("{garden}/{name}"), content)).collect();
    let above = directory(&garden, &nodes.iter().collect::<Vec<_>>());
    nodes.push(above);
    let top = directory(NOTES, &[nodes.last().unwrap()]);
    nodes.push(top);
    nodes.push(end(NOTES, nodes.len()));
    nodes
}

pub(crate) fn mirror(home: &Home, lines_: &[Value]) {
    home.run("rsv-ingest", &["-p", "p", "--mirror"], lines(lines_)).ok();
}

/// The documents of the store, by address: their contents.
pub(crate) fn stored(home: &Home) -> Vec<(String, String)> {
    let exported = home.run("rsv-export", &["--kind", "document"], "").ok();
    let documents = lines_of(&exported).into_iter().filter(|line| line["kind"] == "document");
    let mut all: Vec<(String, String)> = documents
        .map(|line| (text(&line["uri"]), line["content"].as_str().unwrap_or_default().to_owned()))
        .collect();
    all.sort();
    all
}

fn names(home: &Home) -> Vec<String> {
    let names = stored(home).into_iter().map(|(uri, _)| uri.rsplit('/').next().unwrap().to_owned());
    names.collect()
}

on_each_store!(a_version_takes_the_place_of_the_one_before);
/// Keeps: A version replaces the one before in every index.
fn a_version_takes_the_place_of_the_one_before(home: Home) {
    let uri = format!("{NOTES}/a");
    let put = |document: &Value| home.ingest(&["-p", "p"], &lines(std::slice::from_ref(document))).remove(0);
    let first = put(&leaf(&uri, "Tomatoes need warmth."));
    let exported = home.export();
    assert_eq!(put(&leaf(&uri, "Tomatoes need warmth."))["id"], first["id"]);
    assert_eq!(home.export(), exported);
    let second = put(&leaf(&uri, "Cucumbers need water."));
    assert_eq!(second["id"], first["id"]);
    assert_ne!(second["sha256"], first["sha256"]);
    assert!(second["timestamp"].as_i64() > first["timestamp"].as_i64());
    // A text that is as it was once is taken in.
    put(&leaf(&uri, "Tomatoes need warmth."));
    assert_eq!(stored(&home), [(uri.clone(), "Tomatoes need warmth.".to_owned())]);
    let found = |word: &str| home.run("rsv-search", &["-p", "p", "--kind", "document", word], "").stdout;
    assert!(found("cucumbers").is_empty());
    assert_eq!(lines_of(&found("tomatoes"))[0]["uri"], uri.as_str());
    assert!(home.run("rsv-search", &["-p", "p", "tomatoes"], "").stdout.is_empty());
    home.check();
}

on_each_store!(what_a_model_made_stays_until_its_source_changes);
/// Keeps: The better version of a document stays until its source changes.
fn what_a_model_made_stays_until_its_source_changes(home: Home) {
    let uri = format!("{NOTES}/a");
    let by_rule = leaf(&uri, "One.\nTwo.");
    let mut by_model = by_rule.clone();
    by_model["abstract"] = json!("Numbers up to two.");
    by_model["made_by"] = json!("a-model");
    let put = |document: &Value| {
        home.ingest(&["-p", "p"], &lines(std::slice::from_ref(document)));
        text(&lines_of(&home.run("rsv-view", &["-p", "p", &uri], "").ok())[0]["abstract"])
    };
    assert_eq!(put(&by_rule), "One.");
    assert_eq!(put(&by_model), "Numbers up to two.");
    assert_eq!(put(&by_rule), "Numbers up to two.");
    assert_eq!(put(&leaf(&uri, "Three.")), "Three.");
}

on_each_store!(a_mirror_takes_away_what_a_complete_tree_does_not_have);
/// Keeps: A mirror removes only documents that a complete tree does not have.
fn a_mirror_takes_away_what_a_complete_tree_does_not_have(home: Home) {
    home.ingest(
        &["-p", "p"],
        &lines(&[leaf("viking://resources/notes2", "Beside."), leaf("viking://resources/x", "Y")]),
    );
    mirror(&home, &notes(&[("a", "One"), ("b", "Two"), ("c", "Three")]));
    let all = ["notes", "a", "b", "c", "garden"];
    let beside = ["notes2", "x"];
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    let there = || {
        let mut names = names(&home);
        names.sort();
        names
    };
    let with = |more: &[&str]| sorted(&[&beside[..], more].concat());
    assert_eq!(there(), with(&all));
    // Without the flag, without an end, with a bad line, or with more after the end, nothing goes.
    let less = notes(&[("a", "One")]);
    home.ingest(&["-p", "p"], &lines(&less));
    for torn in [
        lines(&less[..less.len() - 1]),
        lines(&less) + "{\"kind\":\"document\",\"uri\":\"viking://resources/notes/../x\"}\n",
        lines(&[&less[..], &[leaf("viking://resources/notes/z/1", "Z")]].concat()),
        lines(&less).replace("\"complete\":true", "\"complete\":false"),
    ] {
        let ran = home.run("rsv-ingest", &["-p", "p", "--mirror"], torn);
        assert!(ran.status == 2 && ran.stderr.contains("nothing is taken away"), "{ran}");
    }
    assert_eq!(there(), with(&[&all[..], &["1"]].concat()));
    // Nodes that are kept, and those below a place that could not be read, stay.
    let mut kept = less.clone();
    let last = kept.len() - 1;
    kept[last]["kept"] = json!([format!("{NOTES}/garden/b")]);
    kept[last]["unread"] = json!([format!("{NOTES}/z")]);
    mirror(&home, &kept);
    assert_eq!(there(), with(&["notes", "a", "b", "garden", "1"]));
    mirror(&home, &less);
    assert_eq!(there(), with(&["notes", "a", "garden"]));
    // A removed node comes back with its file.
    mirror(&home, &notes(&[("a", "One"), ("c", "Three")]));
    assert_eq!(there(), with(&["notes", "a", "c", "garden"]));
    home.check();
}

on_each_store!(what_is_forgotten_stays_out_until_its_source_changes);
fn what_is_forgotten_stays_out_until_its_source_changes(home: Home) {
    let both = notes(&[("a", "Saffron"), ("b", "Two")]);
    mirror(&home, &both);
    let gone = home.run("rsv-forget", &["-p", "p", &format!("{NOTES}/garden")], "").ok();
    assert_eq!(lines_of(&gone).iter().filter(|line| line["kind"] == "document").count(), 3);
    assert_eq!(names(&home), ["notes"]);
    if !home.is_at_server() {
        for file in home.store().parent().unwrap().read_dir().unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
            assert!(memchr::memmem::find(&bytes, b"Saffron").is_none());
        }
    }
    let ran = home.run("rsv-ingest", &["-p", "p", "--mirror"], lines(&both));
    assert!(ran.status == 0 && ran.stderr.contains("were forgotten"), "{ran}");
    assert_eq!(names(&home), ["notes"]);
    let ran =
        home.run("rsv-ingest", &["-p", "p", "--mirror"], lines(&notes(&[("a", "Saffron"), ("b", "Other")])));
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(names(&home), ["notes", "garden", "b"]);
    // The undo.
    home.run("rsv-import", &["--allow-return"], &gone).ok();
    assert_eq!(names(&home), ["notes", "garden", "a", "b"]);
    home.check();
}

#[test]
fn the_tree_is_shown() {
    let home = Home::new();
    mirror(&home, &notes(&[("a", "One"), ("b", "Two words")]));
    let uris = |words: &[&str]| -> Vec<String> {
        let printed = home.run("rsv-view", &[&["-p", "p"], words].concat(), "").ok();
        lines_of(&printed).iter().map(|line| text(&line["uri"]).replacen(NOTES, "", 1)).collect()
    };
    assert_eq!(uris(&[NOTES]), ["/garden"]);
    assert_eq!(uris(&["viking://resources"]), [""]);
    assert_eq!(uris(&[NOTES, "--tree"]), ["", "/garden", "/garden/a", "/garden/b"]);
    assert_eq!(uris(&[NOTES, "--tree", "--depth", "1"]), ["", "/garden"]);
    assert_eq!(uris(&[NOTES, "--stale"]), ["/garden/b", "/garden/a", "/garden", ""]);
    assert_eq!(uris(&[&format!("{NOTES}/garden/a")]), ["/garden/a"]);
    assert_eq!(home.run("rsv-view", &["-p", "p", "viking://resources/none", "--tree"], "").status, 1);
    let stale = lines_of(&home.run("rsv-view", &["-p", "p", NOTES, "--stale"], "").ok());
    assert_eq!(
        stale[2]["child_abstracts"],
        json!([{"name": "a", "abstract": "One"}, {"name": "b", "abstract": "Two words"}])
    );
    let level = |level: &str| {
        let words = ["-p", "p", &format!("{NOTES}/garden/b"), "--level", level];
        lines_of(&home.run("rsv-view", &words, "").ok()).remove(0)
    };
    assert_eq!((&level("0")["abstract"], &level("0")["content"]), (&json!("Two words"), &Value::Null));
    assert_eq!(level("2")["content"], "Two words");
    let text =
        |words: &[&str]| home.run("rsv-view", &[&["-p", "p", "--format", "text"], words].concat(), "").ok();
    assert_eq!(text(&[&format!("{NOTES}/garden/b")]), "Two words\n");
    assert_eq!(
        text(&[NOTES, "--tree"]).replace("1 min", "0 min"),
        "notes/      1 node  0 min  1 entries\n  garden/  2 nodes  0 min  2 entries\n    a          3 B  0 min  One\n    b          9 B  0 min  Two words\n"
    );
}

#[test]
fn a_directory_that_a_model_wrote_is_stale_once_its_children_change() {
    let home = Home::new();
    let mut nodes = notes(&[("a", "One")]);
    for node in &mut nodes {
        node["made_by"] = json!("a-model");
    }
    mirror(&home, &nodes);
    let stale = || {
        let printed = home.run("rsv-view", &["-p", "p", NOTES, "--stale"], "").ok();
        lines_of(&printed).iter().map(name).collect::<Vec<_>>()
    };
    assert!(stale().is_empty());
    let mut changed = leaf(&format!("{NOTES}/garden/a"), "Another");
    changed["made_by"] = json!("a-model");
    home.ingest(&["-p", "p"], &lines(&[changed]));
    assert_eq!(stale(), ["garden", "notes"]);
}

on_each_store!(no_spelling_of_an_address_reaches_another_partition);
/// Keeps: No address reaches another partition.
fn no_spelling_of_an_address_reaches_another_partition(home: Home) {
    home.ingest(
        &["-p", "bob"],
        &lines(&[leaf("viking://~/d", "Bob's"), leaf("viking://resources/d", "His too")]),
    );
    let refused = home.run("rsv-ingest", &["-p", "ann"], lines(&[leaf("viking://user/bob/d", "Mine?")]));
    assert!(refused.trouble().contains("belongs to the partition bob"));
    home.ingest(&["-p", "ann"], &lines(&[leaf("viking://resources/d", "Ann's")]));
    assert_eq!(stored(&home).len(), 3);
    for (words, status) in
        [(&["viking://~"][..], 1), (&["viking://~", "--tree"], 1), (&["viking://~", "--stale"], 0)]
    {
        let ran = home.run("rsv-view", &[&["-p", "ann"], words].concat(), "");
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{words:?}");
    }
    for uri in
        ["viking://user/bob", "viking://user/bob/d", "viking://resources/users/bob", "viking://user/./bob"]
    {
        home.run("rsv-view", &["-p", "ann", uri], "").trouble();
        home.run("rsv-forget", &["-p", "ann", uri], "").trouble();
        home.run("rsv-link", &["-p", "ann", uri, "viking://resources/d"], "").trouble();
        let found = home.run("rsv-search", &["-p", "ann", "--target", uri, "bob"], "");
        assert!(found.stdout.is_empty() && found.status > 0, "{uri}: {found}");
    }
    let copy = home.run("rsv-import", &["-p", "ann"], home.run("rsv-export", &["-p", "bob"], "").ok()).ok();
    assert!(copy.is_empty() && !home.run("rsv-export", &["-p", "ann"], "").ok().contains("Bob's"));
    let printed = lines_of(&home.run("rsv-view", &["-p", "ann", "viking://", "--tree"], "").ok());
    assert_eq!(printed.iter().map(|line| text(&line["content"])).collect::<Vec<_>>(), ["Ann's"]);
    home.run("rsv-forget", &["-p", "ann", "viking://"], "").ok();
    assert_eq!(stored(&home).len(), 2);
}

on_each_store!(stores_that_exchange_exports_agree_to_the_byte);
/// Keeps: Stores that exchange exports agree.
fn stores_that_exchange_exports_agree_to_the_byte(home: Home) {
    let (one, other) = (Home::new(), Home::new());
    mirror(&one, &notes(&[("a", "One"), ("b", "Two"), ("d", "Only here")]));
    mirror(&other, &notes(&[("a", "One, changed"), ("c", "Three")]));
    mirror(&one, &notes(&[("a", "One"), ("b", "Two, changed")]));
    other.run("rsv-forget", &["-p", "p", &format!("{NOTES}/garden/c")], "").ok();
    let (of_one, of_other) = (one.export(), other.export());
    one.run("rsv-import", &[], &of_other);
    other.run("rsv-import", &[], &of_one);
    assert_eq!(one.export(), other.export());
    assert_eq!(names(&one).len(), 4, "{:?}", stored(&one));
    // The same in another store, and back.
    home.run("rsv-import", &[], one.export()).ok();
    assert_eq!(home.export(), one.export());
    let garden = format!("{NOTES}/garden");
    if home.is_at_server() {
        let edges = "MATCH (c:DocumentNode)-[:CHILD_OF]->(p:DocumentNode) RETURN c.key + ' ' + p.key AS text ORDER BY text";
        assert_eq!(
            home.graph().texts(edges),
            [format!("{garden} {NOTES}"), format!("{garden}/a {garden}"), format!("{garden}/b {garden}")]
        );
    }
    // Links of documents go back into a file.
    home.run("rsv-link", &["-p", "p", &format!("{garden}/a"), &garden, "--reason", "It is there."], "").ok();
    let back = Home::new();
    back.run("rsv-import", &[], home.export()).ok();
    assert_eq!(back.export(), home.export());
    assert!(back.export().contains("It is there."));
    home.check();
}

on_each_store!(a_vector_counts_only_for_the_version_that_it_was_made_of);
/// Keeps: A vector counts only for its version.
fn a_vector_counts_only_for_the_version_that_it_was_made_of(home: Home) {
    let home = home.and_model();
    let uri = format!("{NOTES}/a");
    home.ingest(&["-p", "p"], &lines(&[leaf(&uri, "The tomatoes ripen.")]));
    home.run("rsv-embed", &["--pending"], "");
    let before = home.export();
    let vectors = |text: &str| {
        lines_of(text).into_iter().filter(|line| line["kind"] == "embedding").collect::<Vec<_>>()
    };
    let old = vectors(&before);
    assert_eq!((old.len(), old[0]["sha256"].as_str().map(str::len)), (1, Some(64)));
    home.ingest(&["-p", "p"], &lines(&[leaf(&uri, "The rent is due.")]));
    assert!(vectors(&home.export()).is_empty());
    home.run("rsv-import", &[], &before).ok();
    assert!(vectors(&home.export()).is_empty());
    home.run("rsv-embed", &["--pending"], "");
    assert_ne!(vectors(&home.export())[0]["sha256"], old[0]["sha256"]);
    // A vector comes with its version, also that of a directory.
    let embedded = home.run("rsv-embed", &[], lines(&notes(&[("b", "Two")]))).ok();
    home.run("rsv-ingest", &["-p", "p", "--mirror"], embedded).ok();
    assert_eq!(vectors(&home.export()).len(), 3);
    home.check();
}

on_each_store!(vectors_that_are_replaced_are_of_the_stored_version);
fn vectors_that_are_replaced_are_of_the_stored_version(home: Home) {
    let put = |content: &str| {
        home.ingest(&["-p", "p"], &lines(&[leaf(&format!("{NOTES}/a"), content)]));
        let exported = lines_of(&home.export());
        exported.into_iter().find(|line| line["kind"] == "document").unwrap()
    };
    let replace = |document: &Value, vector: [f32; 2]| {
        let mut extra = Object::default();
        extra.set_text("sha256", document["sha256"].as_str().unwrap());
        let (of, model) = (text(&document["id"]), "m".to_owned());
        let embedding = Embedding { of, model, vector: vector.to_vec(), extra };
        home.open().put_vectors(&[embedding], None).unwrap();
        let exported = lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "embedding");
        exported.map(|line| line["vector"].clone()).collect::<Vec<_>>()
    };
    let first = put("Tomatoes need warmth.");
    assert_eq!(replace(&first, [1.0, 0.0]), [json!([1.0, 0.0])]);
    let second = put("Cucumbers need water.");
    assert!(replace(&first, [1.0, 0.0]).is_empty());
    assert_eq!(replace(&second, [0.0, 1.0]), [json!([0.0, 1.0])]);
    assert_eq!(replace(&first, [1.0, 0.0]), [json!([0.0, 1.0])]);
    home.check();
}

/// Kills a mirror at a random moment, and mirrors again: the store has what the last mirror says. `RSV_TEST_KILLS` says how
/// often.
/// Keeps: A mirror removes only documents that a complete tree does not have, also after a kill.
#[test]
fn a_killed_mirror_run_again_is_exact() {
    tries(number_from("RSV_TEST_KILLS").unwrap_or(6), |mut dice| {
        let home = Home::new();
        let files = |dice: &mut Dice| -> Vec<(String, String)> {
            let some = (0..60).filter(|_| dice.below(3) > 0).collect::<Vec<_>>();
            some.into_iter().map(|n| (format!("f{n:02}"), format!("Text {} of {n}", dice.below(3)))).collect()
        };
        let tree = |files: &[(String, String)]| {
            notes(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>())
        };
        mirror(&home, &tree(&files(&mut dice)));
        let before = stored(&home);
        let next = files(&mut dice);
        let all = lines(&tree(&next));
        let mut command = home.command("rsv-ingest");
        command
            .args(["-p", "p", "--mirror"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // The parser is killed at some byte, or rsv-ingest is: at once, or when it has stored and printed some lines and
        // is about to store others.
        let cut = dice.below(all.trim_end().rfind('\n').unwrap());
        let way = dice.below(3);
        if way == 2 {
            let first = all[..cut].rfind('\n').map_or(0, |at| at + 1);
            input.write_all(&all.as_bytes()[..first]).unwrap();
            let stored = all[..first].lines().count();
            let printed = BufReader::new(child.stdout.take().unwrap()).lines().take(stored);
            assert_eq!(printed.map(Result::unwrap).count(), stored);
            input.write_all(&all.as_bytes()[first..cut]).ok();
        } else {
            input.write_all(&all.as_bytes()[..cut]).ok();
        }
        if way > 0 {
            child.kill().unwrap();
        }
        drop(input);
        child.wait().unwrap();
        let names = |all: &[(String, String)]| all.iter().map(|(uri, _)| uri.clone()).collect::<Vec<_>>();
        let there = names(&stored(&home));
        assert!(names(&before).iter().all(|uri| there.contains(uri)), "a torn tree takes nothing away");
        mirror(&home, &tree(&next));
        let fresh = Home::new();
        mirror(&fresh, &tree(&next));
        assert_eq!(stored(&home), stored(&fresh));
        home.check();
    });
}

#[test]
fn two_mirrors_of_one_directory_at_once_lose_nothing() {
    let home = Home::new();
    let files: Vec<(String, String)> = (0..300).map(|n| (format!("f{n}"), format!("Text {n}"))).collect();
    let tree = notes(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| mirror(&home, &tree));
        }
    });
    assert_eq!(stored(&home).len(), 302);
    home.check();
}

on_each_store!(a_link_that_was_removed_stays_out_of_other_stores_too);
fn a_link_that_was_removed_stays_out_of_other_stores_too(home: Home) {
    mirror(&home, &notes(&[("a", "One"), ("b", "Two")]));
    let (a, b) = (format!("{NOTES}/garden/a"), format!("{NOTES}/garden/b"));
    let tie = |more: &[&str]| home.run("rsv-link", &[&["-p", "p", &a, &b], more].concat(), "");
    let links = |home: &Home| {
        lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "link").collect::<Vec<_>>()
    };
    let made = lines_of(&tie(&["--reason", "They are neighbours."]).ok()).remove(0);
    assert_eq!((&made["rel"], &made["reason"]), (&json!("RELATED"), &json!("They are neighbours.")));
    assert_eq!(links(&home), [made]);
    // A link survives a new version of its end.
    mirror(&home, &notes(&[("a", "Another"), ("b", "Two")]));
    assert_eq!(links(&home).len(), 1);
    let before = home.export();
    let other = Home::new();
    other.run("rsv-import", &[], &before).ok();
    assert_eq!(tie(&["--unlink"]).status, 0);
    assert_eq!(tie(&["--unlink"]).status, 1);
    home.run("rsv-import", &[], &before).ok();
    assert!(links(&home).is_empty());
    other.run("rsv-import", &[], home.export());
    assert!(links(&other).is_empty());
    assert_eq!(other.export(), home.export());
    tie(&[]).ok();
    assert_eq!(links(&home).len(), 1);
    assert!(home.run("rsv-link", &["-p", "q", &a, &b], "").trouble().contains("no record"));
    home.check();
}

/// Runs shell commands with the built tools, and returns what they print.
fn shell(home: &Home, script: &str) -> String {
    let built = Path::new(env!("CARGO_BIN_EXE_rsv-parse")).parent().unwrap();
    let home = home.env("PATH", &format!("{}:/usr/bin:/bin", built.display()));
    home.ran(home.command("/bin/sh").args(["-ec", script]).stdin(Stdio::null()).output().unwrap()).ok()
}

#[test]
fn the_tree_of_the_manual_is_mirrored_by_its_crontab_line() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/man/rsv-tree.7")).unwrap();
    let (description, examples) = page.split_once(".Sh EXAMPLES").unwrap();
    let home = Home::new();
    let files = blocks(examples).split("rsv-parse").next().unwrap().to_owned();
    shell(&home, &files);
    let page = unescaped(examples);
    let crontab = crontab_commands(&page).next().unwrap();
    let mirror = || {
        // Of cron, no failure ends the shell: at first there is no tree to view.
        shell(&home, &format!("set +e; {crontab}"));
        home.run("rsv-view", &["--tree", "--format", "text", NOTES], "").ok()
    };
    let (tree, shown) = (mirror(), blocks(description));
    assert!(shown.trim_start().starts_with(&tree), "{tree}");
    // Unchanged nodes are kept, and removed ones go.
    let stored = mirror();
    assert_eq!(lines_of(&home.read(".mirrored"))[0]["kept"].as_array().unwrap().len(), 5);
    shell(&home, "rm notes/rent.txt");
    let fewer = mirror();
    assert!(stored.contains("rent.txt  ") && !fewer.contains("rent.txt  "), "{fewer}");
    // A parser that is killed takes nothing away.
    let killed = crontab.replace("rsv-parse", "false");
    let built = Path::new(env!("CARGO_BIN_EXE_rsv-parse")).parent().unwrap();
    let home = home.env("PATH", &format!("{}:/usr/bin:/bin", built.display()));
    let ran = home.ran(home.command("/bin/sh").args(["-c", &killed]).stdin(Stdio::null()).output().unwrap());
    assert_eq!((ran.status, mirror()), (2, fewer));
}
