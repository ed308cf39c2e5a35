//! Retention: rsv-forget --expired removes what is older than its partition keeps it.

use crate::support::{Home, lines_of, on_each_store, text};

const NOW: &str = "2026-11-28T12:00:00Z";

/// A line of a message or a memory of a partition, said at a time.
fn line(kind: &str, id: &str, partition: &str, time: &str) -> String {
    let own = if kind == "message" { r#""role":"user""# } else { r#""title":"Learnt","outcome":"success""# };
    format!(
        r#"{{"kind":"{kind}","id":"{id}","partition":"{partition}",{own},"content":"About {id}.","timestamp":"{time}"}}"#
    ) + "\n"
}

fn with_past(home: Home) -> Home {
    let home = home.at(NOW);
    let past = [
        line("message", "old-home", "home", "2024-11-27T12:00:00Z"),
        line("message", "aged-home", "home", "2026-06-01T00:00:00Z"),
        line("message", "old-work", "work", "2026-08-30T11:59:59.999Z"),
        line("message", "edge-work", "work", "2026-08-30T12:00:00Z"),
        line("memory", "learnt-work", "work", "2020-01-01T00:00:00Z"),
        line("message", "old-law", "law", "2001-01-01T00:00:00Z"),
    ];
    home.run("rsv-import", &[], past.concat()).ok();
    for (key, age) in
        [("retention", "2y"), ("partitions.work.retention", "90d"), ("partitions.law.retention", "off")]
    {
        home.run("rsv-config", &["set", key, age], "").ok();
    }
    home
}

/// The ids in lines, in order of their names.
fn ids(lines: &str) -> Vec<String> {
    let mut ids: Vec<String> = lines_of(lines).iter().map(|line| text(&line["id"])).collect();
    ids.sort();
    ids
}

on_each_store!(what_is_older_than_its_partition_keeps_it_goes);
fn what_is_older_than_its_partition_keeps_it_goes(home: Home) {
    let home = with_past(home);
    let left = || ids(&home.run("rsv-view", &["--all", "100", "--kind", "message,memory"], "").ok());
    let all = left();
    assert_eq!(all.len(), 6);
    assert_eq!(ids(&home.run("rsv-forget", &["--expired", "--dry-run"], "").ok()), ["old-home", "old-work"]);
    assert_eq!(left(), all, "a dry run removes nothing");

    assert_eq!(ids(&home.run("rsv-forget", &["--expired", "-p", "work"], "").ok()), ["old-work"]);
    let lines = home.run("rsv-forget", &["--expired"], "").ok();
    assert_eq!(ids(&lines), ["old-home"]);
    assert_eq!(left(), ["aged-home", "edge-work", "learnt-work", "old-law"]);
    assert_eq!(home.run("rsv-forget", &["--expired"], "").status, 1, "nothing is left to remove");
    // Removed records stay out.
    let said = home.run("rsv-import", &[], &lines).stderr;
    assert!(said.contains("1 record was forgotten and is kept out"), "{said}");
    assert_eq!(left(), ["aged-home", "edge-work", "learnt-work", "old-law"]);

    let memories = home.run("rsv-forget", &["--expired", "--kind", "memory"], "").ok();
    assert_eq!(ids(&memories), ["learnt-work"]);
}

#[test]
fn a_retention_that_is_not_set_is_an_error_and_a_bad_one_names_the_place() {
    let home = Home::new();
    home.ingest(&[], &line("message", "m", "default", "2001-01-01T00:00:00Z"));
    let no_retention = home.run("rsv-forget", &["--expired"], "").trouble();
    assert!(no_retention.contains("no retention is set"), "{no_retention}");
    assert!(no_retention.contains("rsv-config set retention"), "{no_retention}");
    home.run("rsv-config", &["set", "partitions.home.retention", "1y"], "").ok();
    let of_another = home.run("rsv-forget", &["--expired", "-p", "default"], "").trouble();
    assert!(of_another.contains("no retention is set for the partition default"), "{of_another}");
    let bad = home.run("rsv-config", &["set", "retention", "30s"], "").trouble();
    assert!(bad.contains("expected an age such as 90d or 2y, at most 100y, or off, found \"30s\""), "{bad}");
    home.run("rsv-forget", &["--expired", "--since", "2001"], "").trouble();
    assert_eq!(ids(&home.run("rsv-view", &["--all"], "").ok()), ["m"]);
}
