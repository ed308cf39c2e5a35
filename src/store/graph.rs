//! The links between messages, as a store keeps them: synapses above all, which are kept as vectors come.

use super::Select;
use crate::error::Result;
use crate::record::{Link, Message, Scope, Scopes};

/// The graph of links. What a store must do for it is to remember which vectors have not been compared with
/// the others of their scope yet.
pub trait Graph {
    /// The links, of one kind or of all, that have one of these messages as an end; each once, by their ends.
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>>;

    /// The messages of a selection that have these ids, in no order.
    fn messages(&mut self, ids: &[&str], which: &Select) -> Result<Vec<Message>>;

    /// How far each of some scopes is linked by the vectors of a model, as far as it has any; by scope.
    fn linked(&mut self, model: &str, scopes: &Scopes) -> Result<Vec<Linked>>;

    /// Messages of a scope with what is alike among those that are linked already and those before them in
    /// this list: the `limit` nearest whose cosine is at least `floor`, best first. Where very many are
    /// equally near, the newest of them.
    fn alike(&mut self, model: &str, scope: &Scope, of: Of, floor: f64, limit: usize) -> Result<Vec<Alike>>;

    /// Takes messages for linked, and makes and removes the synapses that follow. Does nothing, and gives false,
    /// if one of them has got another vector since they were compared.
    fn relink(
        &mut self,
        model: &str,
        scope: &Scope,
        rule: Rule,
        compared: &[Alike],
        changes: &Changes,
    ) -> Result<bool>;

    /// Removes the synapses of a scope that are weaker than the rule wants or of another model; with `anew` all
    /// of them, so that none of its messages is linked any more. Gives their number.
    fn prune(&mut self, model: &str, scope: &Scope, rule: Rule, anew: bool) -> Result<u64>;
}

/// Between which messages there is a synapse.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// The least similarity (raw cosine).
    pub threshold: f64,
    /// How many synapses a message has at most: its strongest.
    pub degree: usize,
}

/// How far a scope is linked.
#[derive(Clone, PartialEq, Debug)]
pub struct Linked {
    pub scope: Scope,
    /// By which rule it was linked, if it was.
    pub rule: Option<Rule>,
    /// Whether there may be synapses that the rule does not allow: such as came from elsewhere.
    pub wild: bool,
    /// How many messages with vectors are not linked yet.
    pub waiting: u64,
}

/// Which messages are compared with others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Of {
    /// The first so many of those that are not linked yet.
    Waiting(usize),
    /// All, as if none were linked.
    All,
}

/// A message that is not linked yet, and what it resembles.
#[derive(Clone, PartialEq, Debug)]
pub struct Alike {
    pub id: String,
    pub timestamp: i64,
    pub near: Vec<Near>,
    /// The store's own name of the message.
    pub(super) n: i64,
    /// Of which vector this holds.
    pub(super) mark: i64,
}

/// What a message resembles.
#[derive(Clone, PartialEq, Debug)]
pub struct Near {
    pub id: String,
    pub timestamp: i64,
    /// The raw cosine.
    pub score: f64,
    /// The store's own name of the message.
    pub(super) n: i64,
}

impl Alike {
    /// The time of a synapse with what is near: that of the later message.
    pub fn time_with(&self, near: &Near) -> i64 {
        self.timestamp.max(near.timestamp)
    }
}

/// What follows from comparing messages.
#[derive(Debug, Default)]
pub struct Changes<'a> {
    /// Who gets a synapse with whom.
    pub add: Vec<(&'a Alike, &'a Near)>,
    /// Synapses that stronger ones displaced, by their ends.
    pub remove: Vec<(String, String)>,
}
