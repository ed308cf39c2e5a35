//! The parts of what was found that the model gets: of documents and long messages, those which answer the
//! question.

use super::candidate::{Block, Candidate, Recalled};
use super::files;
use super::options::Options;
use super::question::text_of;
use crate::record::{LeftOut, Object};
use crate::search::tree::set_passage;
use crate::text::{Languages, Phrasing, Quotations, SoughtWords};

/// Cuts the texts of what was found to what answers a question, and marks those that are out of date.
pub(super) fn cut(found: &mut Recalled, question: &Object, options: &Options) {
    set_passages(&mut found.candidates, question);
    // A repeated turn has the passages and the checks of the first: a provider caches equal bytes.
    if !found.is_cached {
        quote_passages(found, question);
        if let (Some(worktree), Some(limit)) = (&options.worktree, options.check) {
            files::check(&mut found.candidates, worktree, limit);
        }
    }
    found.candidates.iter_mut().for_each(Candidate::mark);
}

/// Sets the passages of the documents except archives for a question: the same in all requests of a turn.
fn set_passages(candidates: &mut [Candidate], question: &Object) {
    let text = text_of(question);
    let phrasing = Phrasing::of(&text, Languages::of_text(&text));
    for candidate in candidates.iter_mut().filter(|one| one.block() == Block::Documents) {
        set_passage(&mut candidate.record, &phrasing);
    }
}

/// Quotes of each long message that was found, or is pinned, those passages which answer a question; one that
/// was found and repeats what better messages or memories say is left out.
fn quote_passages(found: &mut Recalled, question: &Object) {
    let text = text_of(question);
    let words = SoughtWords::of(&text, Languages::of_text(&text));
    let mut quotations = Quotations::new(&words);
    let Recalled { candidates, left_out, .. } = found;
    for memory in candidates.iter().filter(|candidate| candidate.block() == Block::Memories) {
        quotations.add(&memory.record.text);
    }
    candidates.retain_mut(|candidate| {
        if candidate.block() != Block::Messages || candidate.is_recent() {
            return true;
        }
        let is_repeated = !candidate.pinned && candidate.newer.is_empty();
        if is_repeated && quotations.have(&candidate.record.text) {
            let id = candidate.record.id.clone();
            left_out.push(LeftOut { id, reason: "duplicate".to_owned() });
            return false;
        }
        match quotations.ranges(&candidate.record.text) {
            Some(ranges) if ranges.is_empty() => {
                let id = candidate.record.id.clone();
                left_out.push(LeftOut { id, reason: "duplicate".to_owned() });
                return false;
            }
            Some(ranges) => candidate.quote(ranges),
            None => {}
        }
        true
    });
}
