//! The marks by which an answer of ChatGPT cites, which become their sources.

use serde_json::Value;

/// The characters that begin, divide and end a mark.
const BEGIN: char = '\u{e200}';
const DIVIDER: char = '\u{e202}';
const END: char = '\u{e201}';

/// The first character of an older mark, such as `【4†source】`, the one in it, and the last.
const OLD_MARK: [char; 3] = ['【', '†', '】'];

/// The text with sources in the place of marks, as the metadata of its message names them. A mark without a
/// source goes.
pub(super) fn with_sources(text: String, metadata: &Value) -> String {
    if !text.contains([BEGIN, OLD_MARK[0]]) {
        return text;
    }
    let mut text = with_ranges(text, metadata);
    for reference in list(metadata, "content_references") {
        let mark = reference.get("matched_text").and_then(Value::as_str).unwrap_or_default();
        if mark.contains([BEGIN, OLD_MARK[0]]) {
            text = text.replace(mark, &source(reference));
        }
    }
    without_marks(&text)
}

/// The text with the sources of older marks, which are named by their places in characters.
fn with_ranges(text: String, metadata: &Value) -> String {
    let citations = list(metadata, "citations");
    if citations.is_empty() {
        return text;
    }
    let place = |citation: &Value, member: &str| usize::try_from(citation.get(member)?.as_u64()?).ok();
    let mut places: Vec<(usize, usize, String)> = citations
        .iter()
        .filter_map(|one| {
            let of = one.get("metadata").unwrap_or(one);
            Some((place(one, "start_ix")?, place(one, "end_ix")?, source(of)))
        })
        .collect();
    places.sort_unstable();
    let mut characters: Vec<char> = text.chars().collect();
    for (begin, end, source) in places.into_iter().rev() {
        if begin < end
            && characters.get(begin..end).is_some_and(|mark| [BEGIN, OLD_MARK[0]].contains(&mark[0]))
        {
            characters.splice(begin..end, source.chars());
        }
    }
    characters.into_iter().collect()
}

fn list<'a>(of: &'a Value, member: &str) -> &'a [Value] {
    of.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The source of a reference in Markdown, as the program shows it or made of titles and addresses.
fn source(reference: &Value) -> String {
    let text = |of: &Value, member: &str| {
        of.get(member).and_then(Value::as_str).map(str::to_owned).filter(|text| !text.trim().is_empty())
    };
    if let Some(shown) = text(reference, "alt") {
        return shown;
    }
    let items = list(reference, "items");
    let items = if items.is_empty() { std::slice::from_ref(reference) } else { items };
    let links = items.iter().filter_map(|item| {
        match (text(item, "title").or(text(item, "name")), text(item, "url")) {
            (Some(title), Some(url)) => Some(format!("[{title}]({url})")),
            (title, url) => url.or(title),
        }
    });
    let links: Vec<String> = links.collect();
    if links.is_empty() { String::new() } else { format!("({})", links.join(", ")) }
}

/// The text without the marks of which no source is known; of one that stands for a name, the name stays.
fn without_marks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([BEGIN, OLD_MARK[0]]) {
        kept += &rest[..at];
        let mark = &rest[at..];
        let first = mark.chars().next().unwrap_or(BEGIN);
        let last = if first == BEGIN { END } else { OLD_MARK[2] };
        let length = mark.find(last).map(|end| end + last.len_utf8());
        let is_mark = first == BEGIN || length.is_some_and(|length| mark[..length].contains(OLD_MARK[1]));
        let Some(length) = length.filter(|_| is_mark) else {
            kept.push(first);
            rest = &mark[first.len_utf8()..];
            continue;
        };
        let inner = mark[..length].trim_matches([BEGIN, END]);
        if let Some(("entity", names)) = inner.split_once(DIVIDER) {
            let names: Vec<Value> = serde_json::from_str(names).unwrap_or_default();
            kept += names.get(1).and_then(Value::as_str).unwrap_or_default();
        }
        rest = &mark[length..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_become_their_sources() {
        let mark = "\u{e200}cite\u{e202}turn0search1\u{e201}";
        let item = json!({"title": "Owls", "url": "https://owl.example/a"});
        let told = |text: &str, metadata: Value| with_sources(text.to_owned(), &metadata);
        let references =
            json!({"content_references": [{"matched_text": mark, "alt": null, "items": [item]}]});
        assert_eq!(
            told(&format!("At night {mark}."), references),
            "At night ([Owls](https://owl.example/a))."
        );
        let shown = json!({"content_references": [{"matched_text": mark, "alt": "(owl.example)"}]});
        assert_eq!(told(&format!("At night {mark}."), shown), "At night (owl.example).");
        assert_eq!(told(&format!("At night{mark}."), Value::Null), "At night.");
        let old = json!({"citations": [{"start_ix": 8, "end_ix": 18, "metadata": item}]});
        assert_eq!(told("At night【4†source】.", old), "At night([Owls](https://owl.example/a)).");
        assert_eq!(told("【Owls】 hunt【5†L1-L3】.", Value::Null), "【Owls】 hunt.");
        let entity = "\u{e200}entity\u{e202}[\"bird\",\"Barn owl\",\"bird\"]\u{e201}";
        assert_eq!(told(&format!("The {entity} hunts."), Value::Null), "The Barn owl hunts.");
    }
}
