//! The memory lists of mem0 and contextd, as their programs print them: an array, or an object with the array in
//! `results` or `memories`.

use super::conversation::ImportOptions;
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::has_all;
use crate::error::{Error, Result};
use crate::record::{Object, quote, time_member};

pub(super) const MEM0: ImportFormat = ImportFormat {
    name: "mem0",
    about: "memories of mem0: get_all",
    places: &[],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["id", "memory"])
                || object.get("results").is_some_and(|results| results.contains("\"memory\":"))
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Memories { options: options.clone(), read: mem0 })),
};

pub(super) const CONTEXTD: ImportFormat = ImportFormat {
    name: "contextd",
    about: "memories of contextd",
    places: &[],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            has_all(object, &["title", "content", "outcome", "project_id"])
                || object.get("memories").is_some_and(|memories| memories.contains("\"project_id\":"))
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Memories { options: options.clone(), read: contextd })),
};

struct Memories {
    options: ImportOptions,
    read: fn(&ImportOptions, Object) -> Result<Object>,
}

impl Convert for Memories {
    fn convert(&mut self, object: Object, lines: &mut Vec<Object>) -> Result<()> {
        let list = object.objects("results").ok().flatten().or(object.objects("memories").ok().flatten());
        for memory in list.unwrap_or_else(|| vec![object]) {
            lines.push((self.read)(&self.options, memory)?);
        }
        Ok(())
    }
}

/// The length of a title that is made of a text, in characters, at most.
const TITLE_CHARS: usize = 80;

/// A memory of mem0 is one sentence about a user, an agent or a run. A later version of it is another memory, which
/// stays beside the earlier one.
fn mem0(options: &ImportOptions, memory: Object) -> Result<Object> {
    let text = memory.text("memory")?.ok_or_else(|| Error::new("memory: is missing"))?;
    let first = text.trim().lines().next().unwrap_or_default();
    let title: String = first.chars().take(TITLE_CHARS).collect();
    let owner = memory.text("user_id")?.or(memory.text("agent_id")?);
    let instance = options.instance.clone().or(memory.text("run_id")?);
    let changed = time_member(&memory, "updated_at")?.or(time_member(&memory, "created_at")?);
    let time = changed.or(options.at).ok_or_else(|| Error::new("created_at: is missing"))?;
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
    Ok(line)
}

/// A memory of contextd has the members of rsv's own.
fn contextd(options: &ImportOptions, mut memory: Object) -> Result<Object> {
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
    Ok(memory)
}
