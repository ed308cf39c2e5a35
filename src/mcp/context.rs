//! The tree of contexts: documents, memories and sessions by their addresses.

use super::answer::{Answer, Item, Listing, ListingContent};
use super::arguments::Arguments;
use super::call::Call;
use super::error::McpError;
use super::recall::found;
use crate::chat::fence;
use crate::error::Result;
use crate::memory::{self, State};
use crate::recall_rules::RecallRules;
use crate::record::{Address, Hit, MEMORY, Scope, Scopes, StoredRecord, URI, excerpt, quote};
use crate::search::Request;
use crate::store::{Select, Store};
use crate::text::counted;
use crate::tree;

/// The greatest number of messages of a session, and of memories, that are listed.
const MAX_LISTED: usize = 100;

/// The address that is searched, and listed, if none is given.
pub(super) const ROOT: &str = "viking://";

/// An address of the client's partition. Errors if it belongs to another, or to a session outside the
/// instance of the flags.
pub(super) fn address(call: &Call, uri: &str) -> Result<Address> {
    let address = Address::resolve(uri, &call.scope.partition()?)
        .map_err(|error| error.at(format_args!("uri: {}", excerpt(&quote(uri), 40))))
        .map_err(|error| error.hint("the addresses of this scope: context_list"))?;
    if !is_open(call, &address) {
        return Err(McpError::OfOtherInstance.into());
    }
    Ok(address)
}

/// Whether an address belongs to no session of another instance than that of the flags.
fn is_open(call: &Call, address: &Address) -> bool {
    match (&call.scope.instance, session_of(address)) {
        (Some(own), Some(session)) => session == own,
        _ => true,
    }
}

/// The session that an address belongs to: `viking://user/U/sessions/S`.
fn session_of(address: &Address) -> Option<&str> {
    let mut segments = address.segments();
    match (segments.next(), segments.next(), segments.next(), segments.next()) {
        (Some("user"), Some(_), Some("sessions"), Some(session)) => Some(session),
        _ => None,
    }
}

/// Finds documents, and memories: `rsv-search --target URI QUERY`.
pub(super) fn search(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let target = address(call, arguments.text("uri").unwrap_or(ROOT))?;
    let which = Select::records(Vec::new(), Scopes::Partition(call.scope.partition()?));
    let admits = |hit: &Hit| hit.record.tree_address().is_none_or(|address| is_open(call, &address));
    let mut request = Request::new(arguments.words("query")?, which, arguments.whole("limit"));
    request.targets.push(target);
    request.options.admits = &admits;
    let level = arguments.whole_if_given("level").and_then(|level| u8::try_from(level).ok());
    let hits = call.hits(&mut *call.open_to_read()?, &request, level)?;
    Ok(found(call, "results", hits, fence::DOCUMENT_NOTE, "document"))
}

/// The records at an address.
pub(super) enum Node {
    /// A document, and its children.
    Document(Box<StoredRecord>, Vec<StoredRecord>),
    /// Memories: those below the address, or the one that has it.
    Memories(Vec<StoredRecord>),
    /// The last messages of a session, except those that are never recalled.
    Session(Vec<StoredRecord>),
    /// An address without a document, and the nearest documents below it.
    Directory(Vec<StoredRecord>),
}

/// Reads the records at an address; `None` if there are none.
pub(super) fn node(call: &Call, store: &mut dyn Store, address: &Address) -> Result<Option<Node>> {
    let partition = call.scope.partition()?;
    let children = |store: &mut dyn Store| -> Result<Vec<StoredRecord>> {
        let mut children = tree::children(store, &partition, address)?;
        children.retain(|child| child.address().is_ok_and(|address| is_open(call, &address)));
        Ok(children)
    };
    if let Some(document) = tree::node(store, &partition, address)? {
        let children = if document.is_directory() { children(store)? } else { Vec::new() };
        return Ok(Some(Node::Document(Box::new(document), children)));
    }
    if address.is_within(&Address::memories(&partition)?) {
        let memories = memories(call, store, address)?;
        return Ok((!memories.is_empty()).then_some(Node::Memories(memories)));
    }
    if let Some(session) = session_of(address).filter(|_| address.depth() == 4) {
        let scope = Scope { partition: partition.clone(), instance: session.to_owned() };
        let mut which = Select::messages(Scopes::One(scope));
        which.except.ids.extend(RecallRules::read(store, &which.scopes)?.never().cloned());
        let messages = store.last_of(&which, MAX_LISTED)?;
        if !messages.is_empty() {
            return Ok(Some(Node::Session(messages)));
        }
    }
    let below = children(store)?;
    Ok((!below.is_empty()).then_some(Node::Directory(below)))
}

/// The active memories at and below an address, newest first.
fn memories(call: &Call, store: &mut dyn Store, address: &Address) -> Result<Vec<StoredRecord>> {
    let which = Select::records(vec![&MEMORY], call.scope.to_read(None)?);
    let is_within = |memory: &StoredRecord| memory.tree_address().is_some_and(|own| own.is_within(address));
    // The last segment is the id, unless the memory has an address of its own.
    let mut named = store.get(&[address.name()], &which)?;
    named.retain(is_within);
    if !named.is_empty() {
        memory::derive(store, &mut named, call.prior())?;
        return Ok(named);
    }
    let mut all = memory::last(store, &which, State::Active, usize::MAX, 0, call.prior())?;
    all.retain(is_within);
    all.reverse();
    all.truncate(MAX_LISTED);
    for memory in &mut all {
        if let Some(address) = memory.tree_address() {
            memory.members.set_text(URI, address.as_str());
        }
    }
    Ok(all)
}

/// The records to show of an address, with the note to the model about them.
pub(super) fn listing(call: &Call, node: Node, level: u8) -> (Listing, &'static str) {
    let max_tokens = call.server.options.max_tokens;
    let (records, note, what): (Vec<StoredRecord>, _, _) = match node {
        Node::Document(document, children) => {
            let children = children.into_iter().map(|child| tree::at_level(child, 0));
            let own = tree::at_level(*document, level);
            (std::iter::once(own).chain(children).collect(), fence::DOCUMENT_NOTE, "document")
        }
        Node::Directory(below) => {
            let below = below.into_iter().map(|child| tree::at_level(child, 0)).collect();
            (below, fence::DOCUMENT_NOTE, "directory")
        }
        Node::Memories(memories) => (memories, fence::MEMORY_NOTE, "memories"),
        Node::Session(messages) => (messages, fence::DEFAULT_NOTE, "session"),
    };
    let items = records.into_iter().map(Item::from).collect();
    (Listing::new(items, note, max_tokens), what)
}

/// Reads the records at an address: `rsv-view URI`.
pub(super) fn read(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let address = address(call, arguments.words("uri")?)?;
    let store = &mut *call.open_to_read()?;
    let Some(node) = node(call, store, &address)? else { return Err(McpError::NothingAt { address }.into()) };
    let level = u8::try_from(arguments.whole("level")).unwrap_or(2);
    let (listing, what) = listing(call, node, level);
    call.count_uses(&listing.shown);
    let json = ListingContent { uri: Some(address.as_str()), what: Some(what), ..listing.content("records") };
    Ok(Answer::new(listing.text.trim_end(), json))
}

/// Lists the records below an address, without their texts: `rsv-view URI --depth LEVELS --level 0`.
pub(super) fn list(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let address = address(call, arguments.text("uri").unwrap_or(ROOT))?;
    let partition = call.scope.partition()?;
    let store = &mut *call.open_to_read()?;
    let mut nodes = match arguments.whole_if_given("depth") {
        Some(levels) => tree::below(store, &partition, &address, Some(levels))?,
        None => match node(call, store, &address)? {
            Some(Node::Document(_, below) | Node::Directory(below) | Node::Memories(below)) => below,
            Some(Node::Session(_)) | None => Vec::new(),
        },
    };
    nodes.retain(|node| node.tree_address().is_some_and(|address| is_open(call, &address)));
    let items = nodes.into_iter().map(|node| Item::from(tree::at_level(node, 0))).collect();
    let listing = Listing::new(items, fence::DOCUMENT_NOTE, call.server.options.max_tokens);
    let count = listing.shown.len();
    let json =
        ListingContent { uri: Some(address.as_str()), count: Some(count), ..listing.content("children") };
    let head = match count {
        0 => format!("nothing lies below {address}"),
        _ => format!("{} below {address}", counted(count as u64, "document")),
    };
    Ok(Answer::new(format!("{head}\n\n{}", listing.text).trim_end(), json))
}
