//! Numbers with their nouns.

/// `1 record`, `3 records`, `2 memories`: a number with a noun of a regular plural.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

/// As `counted`, with the verb that follows: `1 record was`, `3 records were`.
pub fn counted_verb(count: u64, noun: &str, [one, many]: [&str; 2]) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { one } else { many })
}

/// A noun with its article: `a message`, `an action`.
pub fn with_article(noun: &str) -> String {
    format!("{} {noun}", if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
}

fn plural(noun: &str) -> String {
    noun.strip_suffix('y').map_or_else(|| format!("{noun}s"), |stem| format!("{stem}ies"))
}
