//! The memory lists of mem0 and contextd, as their programs print them: an array, or an object with the array
//! in `results` or `memories`, which may be the result of a tool.

use super::conversation::ImportOptions;
use super::error::ImportError;
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, has_all};
use super::times;
use crate::error::Result;
use crate::record::{ARCHIVED_INTO, Object, SIGNAL, SignalType, day_of, id, missing, quote, time, usage_id};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

pub(super) const MEM0: ImportFormat = ImportFormat {
    name: "mem0",
    about: "memories of mem0: get_all",
    places: &[],
    timeless: false,
    recognize: |sample| {
        let members = ["id", "memory"];
        sample
            .first()
            .is_some_and(|object| has_all(object, &members) || first_has_all(object, "results", &members))
    },
    read: ReadFormat::Objects(|options, _| Box::new(Memories::new(options, mem0))),
};

pub(super) const CONTEXTD: ImportFormat = ImportFormat {
    name: "contextd",
    about: "memories of contextd, and the output of its memory_search",
    places: &[],
    timeless: false,
    recognize: |sample| {
        let members = ["id", "title", "content", "outcome"];
        sample.first().is_some_and(|object| {
            has_all(object, &members) && object.has("project_id") && !object.has("kind")
                || first_has_all(object, "memories", &members)
                || RESULTS.iter().any(|member| {
                    object.get(member).is_some_and(|result| {
                        first_has_all(object, member, &["memories"])
                            || result.contains("memories") && result.contains("outcome")
                    })
                })
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Memories::new(options, contextd))),
};

/// The members of the result of a tool that have its output: as an object, and as blocks of text.
const RESULTS: [&str; 3] = ["structuredContent", "result", "content"];

struct Memories {
    options: ImportOptions,
    read: fn(&ImportOptions, Object, &mut Vec<Object>) -> Result<Object>,
    /// The lines about memories, which come after all of them.
    later: Vec<Object>,
}

impl Memories {
    fn new(
        options: &ImportOptions,
        read: fn(&ImportOptions, Object, &mut Vec<Object>) -> Result<Object>,
    ) -> Memories {
        Memories { options: options.clone(), read, later: Vec::new() }
    }
}

impl Convert for Memories {
    fn convert(&mut self, object: Object, lines: &mut Vec<Object>) -> Result<()> {
        self.options.has_memories.store(true, Ordering::Relaxed);
        let object = output(&object).unwrap_or(object);
        let list = |member| object.valid_objects(member);
        for signal in list("signals").unwrap_or_default() {
            self.later.extend(signal_line(&self.options, &signal, None)?);
        }
        let memories = match list("results").or_else(|| list("memories")) {
            Some(memories) => memories,
            None if object.has("signals") => Vec::new(),
            None => vec![object],
        };
        for memory in memories {
            // One that mem0 reports as deleted is there no more.
            if memory.get("event") != Some("\"DELETE\"") {
                lines.push((self.read)(&self.options, memory, &mut self.later)?);
            }
        }
        Ok(())
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        identify(&mut self.later)?;
        lines.append(&mut self.later);
        Ok(())
    }
}

/// The output in the result of a tool; `None` if an object is none.
fn output(object: &Object) -> Option<Object> {
    let has_list = |object: &Object| object.has("memories") || object.has("results");
    if has_list(object) || object.has("title") {
        return None;
    }
    for member in RESULTS {
        if let Some(inner) = object.valid_object(member) {
            return if has_list(&inner) { Some(inner) } else { output(&inner) };
        }
        for block in object.valid_objects(member).unwrap_or_default() {
            let text = block.valid_text("text");
            if let Some(inner) = text.and_then(|text| Object::parse(&text).ok()).filter(has_list) {
                return Some(inner);
            }
        }
    }
    None
}

/// The length of a title that is made of a text, in characters, at most.
const TITLE_CHARS: usize = 80;

/// A memory of mem0 is one sentence about a user, an agent or a run. A later version of it is another memory,
/// which stays beside the earlier one.
fn mem0(options: &ImportOptions, memory: Object, _: &mut Vec<Object>) -> Result<Object> {
    let text = memory.text("memory")?.ok_or_else(|| missing("memory"))?;
    let first = text.trim().lines().next().unwrap_or_default();
    let title: String = first.chars().take(TITLE_CHARS).collect();
    let owner = memory.text("user_id")?.or(memory.text("agent_id")?);
    let instance = options.instance.clone().or(memory.text("run_id")?);
    let time = times::first_member(&memory, &["updated_at", "created_at"])?
        .or(options.at)
        .ok_or(ImportError::NoTime { member: "created_at", of: "memories" })?;
    let mut line = Object::default();
    line.set_text("kind", "memory");
    line.set_text("partition", &options.partition.clone().or(owner).unwrap_or_else(|| "mem0".to_owned()));
    if let Some(instance) = instance {
        line.set_text("instance", &instance);
    }
    line.set_text("title", &title);
    line.set_text("content", &text);
    line.set_text("category", "profile");
    let tags = memory.get("categories").filter(|tags| tags.starts_with('[')).map(str::to_owned);
    line.set("tags", tags.unwrap_or_else(|| "[]".to_owned()));
    line.set("timestamp", time.to_string());
    line.set("source", quote("mem0"));
    if let Some(id) = memory.text("id")? {
        line.set_text("source_id", &id);
    }
    for member in ["agent_id", "actor_id", "metadata"] {
        if let Some(json) = memory.get(member).filter(|json| !matches!(*json, "null" | "{}")) {
            line.set(member, json);
        }
    }
    Ok(line)
}

/// A memory of contextd has the members of rsv's own, and some that rsv derives from signals and links, which
/// it gets.
fn contextd(options: &ImportOptions, mut memory: Object, later: &mut Vec<Object>) -> Result<Object> {
    // Its id is kept, and `ingest` redacts no line with an id.
    if let Some(redactor) = &options.redactor {
        redactor.redact_foreign(&mut memory);
    }
    memory.set_text("kind", "memory");
    for (member, value) in [("partition", &options.partition), ("instance", &options.instance)] {
        if let Some(value) = value {
            memory.set_text(member, value);
        }
    }
    if !memory.has("partition") && !memory.has("project_id") {
        memory.set_text("partition", "contextd");
    }
    let created = times::first_member(&memory, &["timestamp", "created_at"])?;
    let updated = times::member(&memory, "updated_at")?.or(created).or(options.at);
    // The output of a search has no times.
    memory.set("timestamp", created.or(options.at).unwrap_or(options.now).to_string());
    memory.take("created_at");
    let Some(id) = memory.text("id")? else { return Ok(memory) };
    let into = memory.text("consolidation_id")?.filter(|into| !into.is_empty());
    if into.is_some() || memory.get("state") == Some("\"archived\"") {
        memory.set_text(ARCHIVED_INTO, into.as_deref().unwrap_or_default());
    }
    let mut signals = Vec::new();
    if let Some(count) = memory.integer("usage_count")?.filter(|count| *count > 0) {
        let mut uses = Object::default();
        uses.set_text("type", SignalType::Usage.name());
        uses.set("positive", "true");
        uses.set("count", count.to_string());
        // Of the day of the memory, so that a later count of all its uses takes the place of this one.
        signals.push((uses, created));
    }
    for member in ["signals", "feedback"] {
        let given = memory.valid_objects(member).unwrap_or_default();
        signals.extend(given.into_iter().map(|signal| (signal, updated)));
        memory.take(member);
    }
    for (signal, time) in signals {
        later.extend(signal_line(options, &signal, Some((&id, time)))?);
    }
    Ok(memory)
}

/// The name of the store in which contextd's uses were counted.
const STORE: &str = "contextd";

/// The member of the line of a signal without an id that has the time from which its id follows, until that
/// is known.
const DERIVED_FROM: &str = "derived_from";

/// Gives the signals without an id theirs: those that are equal are counted, so that each has its own.
fn identify(signals: &mut [Object]) -> Result<()> {
    let mut counts: HashMap<Vec<String>, u32> = HashMap::new();
    for line in signals {
        let Some(at) = line.integer(DERIVED_FROM)? else { continue };
        line.take(DERIVED_FROM);
        let member = |name| line.text(name).map(Option::unwrap_or_default);
        let positive = line.get("positive").unwrap_or_default().to_owned();
        let mut parts = vec![STORE.to_owned(), member("of")?, member("type")?, positive];
        let count = counts.entry([&parts[..], &[at.to_string()]].concat()).or_default();
        if *count > 0 {
            parts.push(count.to_string());
        }
        *count += 1;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        line.set_text("id", &id::derived(at, &parts));
    }
    Ok(())
}

/// The line of a signal of contextd; `of` is the memory that it is about, with a time for a signal without
/// one.
fn signal_line(
    options: &ImportOptions,
    signal: &Object,
    of: Option<(&str, Option<i64>)>,
) -> Result<Option<Object>> {
    let named = signal.text("memory_id")?.or(signal.text("of")?);
    let Some(memory) = of.map(|(id, _)| id.to_owned()).or(named) else {
        return Err(missing("memory_id"));
    };
    let positive = ["positive", "helpful", "succeeded"].iter().find_map(|member| signal.get(member));
    let Some(positive) = positive.filter(|json| matches!(*json, "true" | "false")) else { return Ok(None) };
    let given = signal.text("type")?;
    let kind = given.unwrap_or_else(|| {
        let by_outcome = signal.has("succeeded");
        if by_outcome { SignalType::Outcome } else { SignalType::Explicit }.name().to_owned()
    });
    let time = times::first_member(signal, &["timestamp", "created_at"])?.or(of.and_then(|(_, time)| time));
    let mut line = Object::default();
    line.set_text("kind", SIGNAL.name);
    let at = time.or(options.at).unwrap_or(options.now);
    match signal.text("id")? {
        Some(id) => line.set_text("id", &id),
        // A count of uses is known by its day, or, without a time, is one at each import.
        None if kind == SignalType::Usage.name() && positive == "true" => {
            if time.or(options.at).is_none() {
                line.set_text("id", &usage_id(&memory, &day_of(0), STORE)?);
            }
        }
        // One without a time has the same id at each import.
        None => line.set(DERIVED_FROM, time.or(options.at).unwrap_or_default().to_string()),
    }
    for (member, text) in [("of", &memory), ("type", &kind)] {
        line.set_text(member, text);
    }
    line.set("positive", positive);
    if let Some(session) = signal.text("session_id")?.filter(|session| !session.is_empty()) {
        line.set_text("session_id", &session);
    }
    if kind == SignalType::Usage.name() {
        line.set("count", signal.get("count").unwrap_or("1"));
        line.set_text("day", &day_of(at));
        line.set_text("store", STORE);
    }
    line.set_text("created_at", &time::rfc3339(at));
    Ok(Some(line))
}
