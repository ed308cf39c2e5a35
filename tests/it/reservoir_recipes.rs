//! The recipes of Reservoir's documents on its exports, by way of scripts/reservoir.

use crate::examples::can_run_examples;
use crate::reservoir::Desk;

/// The recipes of the pages on exports, and what is true when they have run. /backup is $HOME/backup here.
const RECIPES: &[(&str, &str)] = &[
    ("reservoir export > conversations.json", "jq -e 'length == 6' conversations.json"),
    ("reservoir export > backup_$(date +%Y%m%d_%H%M%S).json", "jq -e length backup_*_*.json"),
    (r#"reservoir export > "backup_$(date +%Y%m%d).json""#, "jq -e length backup_????????.json"),
    (
        r#"reservoir export | gzip > "backup_$(date +%Y%m%d).json.gz""#,
        "gzip -dc backup_*.json.gz | jq -e 'length == 6'",
    ),
    (
        r#"reservoir export | jq '.[] | select(.role=="user")' > user_questions.json"#,
        "jq -es 'length == 4' user_questions.json",
    ),
    (
        r#"reservoir export | jq '.[] | select(.role=="assistant")' > ai_responses.json"#,
        "jq -es 'length == 2' ai_responses.json",
    ),
    (
        "reservoir export | jq '.[] | select(.timestamp > 1705315800000)' > recent_messages.json",
        "jq -es 'length == 5' recent_messages.json",
    ),
    (
        "YESTERDAY=$(date -d '1 day ago' +%s)000\nreservoir export | jq \".[] | select(.timestamp > $YESTERDAY)\" > recent_conversations.json",
        "jq -es 'map(.trace_id) == [\"t3\"]' recent_conversations.json",
    ),
    (
        r#"reservoir export | jq '.[] | select(.content | test("python|programming"; "i"))' > programming_discussions.json"#,
        "jq -es 'map(.trace_id) == [\"t3\"]' programming_discussions.json",
    ),
    (
        r#"reservoir export | jq '.[] | select(.partition=="alice" and .instance=="coding")' > alice_coding.json"#,
        "jq -es 'length == 2' alice_coding.json",
    ),
    (
        r#"reservoir export | jq '.[] | select(.partition=="alice")' > alice_data.json
RSV_STORE=other.db reservoir import alice_data.json"#,
        "test $(RSV_STORE=other.db reservoir view --partition alice 10 | wc -l) = 3",
    ),
    (
        "cat conversations.json | jq '.[] | select(.timestamp > 1705315800000)' > recent.json
RSV_STORE=recent.db reservoir import recent.json",
        "RSV_STORE=recent.db reservoir export | jq -e 'length == 5'",
    ),
    (
        "reservoir export | jq -r '.[] | [.timestamp, .partition, .instance, .role, .content] | @csv' > conversations.csv",
        r#"grep -Fx '1705402215000,"alice","coding","assistant","Layers, ""deep"" ones, of weights."' conversations.csv"#,
    ),
    (
        "reservoir export | jq -r '.[] | [.timestamp, .partition, .role, (.content | length)] | @csv' > message_stats.csv",
        r#"grep -Fx '1705315800001,"old_partition","user",12' message_stats.csv"#,
    ),
    ("reservoir export | jq -r '.[] | .content' > all_messages.txt", "test $(wc -l < all_messages.txt) = 6"),
    ("reservoir export | jq -r '.[].content' > messages.txt", "cmp all_messages.txt messages.txt"),
    (
        r###"reservoir export | jq -r '.[] | "## " + (.timestamp | tostring) + " (" + .role + ")\n\n" + .content + "\n"' > conversations.md"###,
        "grep -Fx '## 1705315815000 (assistant)' conversations.md",
    ),
    (
        "reservoir export | jq -r '.[] | .partition' | sort | uniq -c | sort -nr > partitions",
        "diff -w partitions - <<< $'3 alice\\n2 default\\n1 old_partition'",
    ),
    (
        r#"reservoir export | jq -r '.[] | select(.partition=="alice") | .instance' | sort | uniq -c > instances"#,
        "diff -w instances - <<< $'2 coding\\n1 notes'",
    ),
    (
        r#"reservoir export | jq -r '.[] | "\(.partition)/\(.instance)"' | sort | uniq -c > scopes"#,
        "grep -w '2 alice/coding' scopes",
    ),
    (
        "reservoir export | jq -r 'group_by(.trace_id) | .[] | select(length == 2) | {user: .[0].content, assistant: .[1].content}' > conversation_pairs.json",
        "jq -es 'length == 2 and (.[1].assistant | startswith(\"Layers\"))' conversation_pairs.json",
    ),
    ("EXPORTED_COUNT=$(reservoir export | jq length)", "test $EXPORTED_COUNT = 6"),
    ("reservoir export | jq -c '[.[] | .embedding] | unique' > missing", "grep -Fx '[null]' missing"),
    ("EMPTY=$(reservoir export | jq '[.[] | select(.embedding | length == 0)] | length')", "test $EMPTY = 6"),
    ("reservoir replay", "true"),
    (
        "EMBEDDED_COUNT=$(reservoir export | jq '[.[] | select(.embedding | length > 0)] | length')",
        "test $EMBEDDED_COUNT = 6",
    ),
    (
        "reservoir export | jq '.[] | {content: .content, embedding: .embedding}' > ml_dataset.json",
        "jq -es 'map(.embedding | length) | unique == [384]' ml_dataset.json",
    ),
    (
        "reservoir export > complete_migration.json
RSV_STORE=target.db reservoir import complete_migration.json
SOURCE_COUNT=$(jq length complete_migration.json)
TARGET_COUNT=$(RSV_STORE=target.db reservoir export | jq length)",
        "test $SOURCE_COUNT = 6 && test $TARGET_COUNT = 6 && RSV_STORE=target.db reservoir export | cmp complete_migration.json",
    ),
    (
        "gunzip -c backup_*.json.gz | RSV_STORE=unpacked.db reservoir import /dev/stdin",
        "RSV_STORE=unpacked.db reservoir export | jq -e 'length == 6'",
    ),
    (
        r#"for file in backup_????????.json; do
    reservoir import "$file"
done"#,
        "reservoir export | jq -e 'length == 6'",
    ),
    (
        r#"reservoir export | jq -c '.[]' | split -l 4 - chunk_
for chunk in chunk_*; do
    jq -s '.' "$chunk" | RSV_STORE=chunks.db reservoir import /dev/stdin
done"#,
        "test $(ls chunk_* | wc -l) = 2 && RSV_STORE=chunks.db reservoir export | cmp complete_migration.json",
    ),
    (
        "ssh source_server 'reservoir export' | RSV_STORE=here.db reservoir import /dev/stdin",
        "RSV_STORE=here.db reservoir view 10 | grep 'said on the other machine'",
    ),
    (
        "ssh source_server 'reservoir export | gzip' | gunzip | RSV_STORE=gzipped.db reservoir import /dev/stdin",
        "RSV_STORE=gzipped.db reservoir view 10 | grep 'said on the other machine'",
    ),
    (
        "scp complete_migration.json user@newserver:/path/to/reservoir/",
        "cmp complete_migration.json newserver/complete_migration.json",
    ),
    (
        "jq '.[] | select(.trace_id and .partition and .instance and .role and .content)' conversations.json | jq length > fields",
        "jq -es 'length == 6' fields",
    ),
    ("jq -r '.[] | .trace_id' conversations.json | sort | uniq -d > double", "test $(wc -l < double) = 2"),
    (
        r#"BACKUP_DIR="$HOME/backup/reservoir"
DATE=$(date +%Y%m%d)
TIMESTAMP=$(date +%H%M%S)
mkdir -p "$BACKUP_DIR/$DATE"
touch -d '8 days ago' "$BACKUP_DIR/$DATE/week.json"; touch -d '31 days ago' "$BACKUP_DIR/$DATE/month.json.gz"
reservoir export > "$BACKUP_DIR/$DATE/reservoir_$TIMESTAMP.json"
find "$BACKUP_DIR" -name "*.json" -mtime +7 -exec gzip {} \;
find "$BACKUP_DIR" -name "*.json.gz" -mtime +30 -delete
echo "$(date): Backup completed - $BACKUP_DIR/$DATE/reservoir_$TIMESTAMP.json" >> "$HOME/reservoir_backup.log""#,
        "jq -e 'length == 6' backup/reservoir/*/*.json && test -e backup/reservoir/*/week.json.gz && ! test -e backup/reservoir/*/month.json.gz",
    ),
    (
        r#"BACKUP_DIR="$HOME/backup/reservoir"
LAST_BACKUP_TIME=$(cat "$BACKUP_DIR/.last_backup" 2>/dev/null || echo "0")
CURRENT_TIME=$(date +%s)000
reservoir export | jq ".[] | select(.timestamp > $LAST_BACKUP_TIME)" > "$BACKUP_DIR/incremental_$(date +%Y%m%d_%H%M%S).json"
echo "$CURRENT_TIME" > "$BACKUP_DIR/.last_backup"
RSV_STORE=increments.db reservoir import "$BACKUP_DIR"/incremental_*.json"#,
        "RSV_STORE=increments.db reservoir export | cmp complete_migration.json",
    ),
    // The pages on tokens and on searching.
    (
        "reservoir view 10 | while read -r line; do\n    echo \"$line (est. tokens: $((${#line}/4)))\"\ndone > estimates",
        "test $(grep -c 'est. tokens: [1-9]' estimates) = 2",
    ),
    ("SEMANTIC_SIZE=$(reservoir search --semantic \"test\" | wc -c)", "test $SEMANTIC_SIZE -gt 50"),
    (
        "TOPIC=database; reservoir search --link --semantic \"$TOPIC\" > \"search_results_$TOPIC.txt\"",
        "reservoir view 20 | grep -i \"$TOPIC\" | head -3 && test $(wc -l < search_results_database.txt) = 2",
    ),
    // Recipes that rsv does in another way: see the table in the manual.
    (
        "reservoir export --time iso | jq -r '.[] | .timestamp[0:10]' | sort | uniq -c | sort -nr > days",
        "grep -w '3 2024-01-15' days",
    ),
    (
        "rsv-view --all 1000 --since \"$(date -d '1 day ago' -Iseconds)\" > incremental_backup.json",
        "jq -es 'map(.trace_id) == [\"t3\"]' incremental_backup.json",
    ),
    (
        r#"rsv-export -p old_partition | jq -c 'select(.kind == "message") | del(.id) | .partition = "new_partition"' |
    rsv-import"#,
        "reservoir view --partition new_partition 10 | grep 'An old thing'",
    ),
];

/// Keeps: The command lines of Reservoir's documents run as they stand.
#[test]
fn the_recipes_on_exports_work() {
    if !can_run_examples() {
        return;
    }
    let desk = Desk::new();
    desk.home
        .command("rsv-ingest")
        .args(["--store", "source.db", "said on the other machine"])
        .output()
        .unwrap();
    desk.command("ssh", r#"[ "$1" = source_server ] && RSV_STORE=source.db exec sh -c "$2""#);
    desk.command("scp", r#"mkdir newserver && exec cp "$1" newserver"#);
    for (recipe, check) in RECIPES {
        desk.holds(recipe, check);
    }
}
