//! Every statement that reads the graph; those that change it are in `changes.rs`. Values are always parameters. Only
//! these parts are put into the text of a statement: the conditions of a selection, the label of a kind, the number of
//! a model, which is part of a label's name, and the name of a relation.
//!
//! Messages, vectors and links have the labels, types and properties of Reservoir's graph: `MessageNode`, `EmbeddingD`
//! for vectors of D numbers, `HAS_EMBEDDING`, `RESPONDED_WITH`, `SYNAPSE`. The labels of rsv begin with `Rsv`:
//! `RsvRecord` for every record, in addition to the label of its kind; `RsvMessage` for the messages among them;
//! `RsvVectorN` for the vectors of the model with the number N, `RsvLacksN` for records without one, `RsvUnlinkedN` for
//! vectors that are not compared with others yet; `RsvDouble` for messages of Reservoir that rsv ignores,
//! since it has the same message or has forgotten it; `RsvTombstone` for tombstones; `RsvNode` for the
//! documents of a tree, which `CHILD_OF` links to those above them.

mod columns;
mod records;
mod search;
mod selection;
mod state;
mod unadopted;

pub(super) use records::*;
pub(super) use search::*;
pub(super) use selection::*;
pub(super) use state::*;
pub(super) use unadopted::*;
