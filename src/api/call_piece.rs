//! The pieces of calls in a stream of chat completions, and the calls to which they belong.
//!
//! OpenAI numbers the calls of an answer, and gives id and name with the first piece of each. Others number
//! all calls 0, or none; give no ids, one id to all, or a new one with each piece; or repeat id and name.

use super::completions::types::ToolCallDelta;
use crate::record::Object;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// A call of which pieces have arrived; unknown members are empty.
#[derive(Default)]
pub struct KnownCall<'a> {
    /// As JSON text.
    pub index: Option<&'a str>,
    pub id: &'a str,
    pub name: &'a str,
    pub arguments: &'a str,
}

/// The effect of a piece.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CallPiece {
    /// It continues the call at this place.
    Continues(usize),
    /// It begins another call.
    Begins,
    /// It has nothing, or nothing new.
    Nothing,
}

impl CallPiece {
    /// The effect of a piece of an array `tool_calls` after these calls, of which those from `new` on began
    /// in the same array.
    ///
    /// It continues the call with its index and its id; where it has no index, that with its id, and with
    /// neither the last. It begins a call if it names a function of another id or of another name, one that
    /// its array has named before, or one whose call has whole arguments; that call may turn out to be
    /// repeated, see `is_repeated`.
    pub fn of<'a>(piece: &Object, calls: impl Iterator<Item = KnownCall<'a>>, new: usize) -> CallPiece {
        CallPiece::of_delta(&serde_json::from_str(&piece.to_json()).unwrap_or_default(), calls, new)
    }

    pub(super) fn of_delta<'a>(
        piece: &ToolCallDelta,
        calls: impl Iterator<Item = KnownCall<'a>>,
        new: usize,
    ) -> CallPiece {
        let calls: Vec<KnownCall> = calls.collect();
        let (id, name) = (piece.id.text(), piece.name());
        let arguments = arguments_of(piece);
        let index = piece.index.map(RawValue::get);
        let fits = |call: &KnownCall| match (index, call.index) {
            (Some(index), Some(known)) => index == known,
            _ => true,
        };
        let same_id = |call: &KnownCall| fits(call) && !id.is_empty() && call.id == id;
        let may_be =
            |call: &KnownCall| fits(call) && (id.is_empty() || call.id.is_empty() || name.is_empty());
        let Some(at) = calls.iter().rposition(same_id).or_else(|| calls.iter().rposition(may_be)) else {
            let is_empty = id.is_empty() && name.is_empty() && arguments.is_empty();
            return if is_empty { CallPiece::Nothing } else { CallPiece::Begins };
        };
        let call = &calls[at];
        let both_named = !name.is_empty() && !call.name.is_empty();
        let names_another = both_named && (name != call.name || at >= new);
        let names_again =
            (both_named || !name.is_empty() && !arguments.is_empty()) && is_whole(call.arguments);
        if names_again && !names_another && same_id(call) && arguments == call.arguments {
            CallPiece::Nothing
        } else if names_another || names_again {
            CallPiece::Begins
        } else {
            CallPiece::Continues(at)
        }
    }
}

/// Whether a call that got no arguments only names an `earlier` one again: providers that give id and name
/// with each piece may end with one that has nothing else.
pub fn is_repeated<'a>(call: &KnownCall, mut earlier: impl Iterator<Item = KnownCall<'a>>) -> bool {
    let is_same = |known: &KnownCall| known.id == call.id && known.name == call.name;
    call.arguments.is_empty()
        && !call.id.is_empty()
        && earlier.any(|known| is_same(&known) && is_whole(known.arguments))
}

/// The arguments of a piece: a text, or the object that stands in its place at some providers.
fn arguments_of(piece: &ToolCallDelta) -> String {
    let json = piece.arguments().unwrap_or_default();
    serde_json::from_str(json).unwrap_or_else(|_| json.to_owned())
}

/// Whether arguments are a whole object, which nothing can continue.
pub(super) fn is_whole(arguments: &str) -> bool {
    let arguments = arguments.trim();
    arguments.starts_with('{')
        && arguments.ends_with('}')
        && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
}
