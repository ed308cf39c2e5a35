//! The routes of the pages by which people look at the memory. The names of partitions, conversations and
//! records are in their queries, since not every name can be a segment of a path.

/// The segment before the names of pages.
const PREFIX: &str = "memory";

/// A page, or what a page does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::proxy) enum Page {
    /// The partitions.
    Home,
    /// The conversations of a partition, and one of them.
    Conversations,
    Conversation,
    Search,
    Memories,
    Documents,
    Graph,
    /// The page of the calendar, and its picture.
    Calendar,
    CalendarPicture,
    /// A record where it stands, and the whole text of one.
    Record,
    Text,
    Forget,
    LogIn,
    LogOut,
}

/// The pages by the segment that names them.
const NAMES: [(&str, Page); 13] = [
    ("conversations", Page::Conversations),
    ("conversation", Page::Conversation),
    ("search", Page::Search),
    ("memories", Page::Memories),
    ("documents", Page::Documents),
    ("graph", Page::Graph),
    ("calendar", Page::Calendar),
    ("calendar.svg", Page::CalendarPicture),
    ("record", Page::Record),
    ("text", Page::Text),
    ("forget", Page::Forget),
    ("login", Page::LogIn),
    ("logout", Page::LogOut),
];

impl Page {
    /// The page that the segments after `memory` name.
    pub(super) fn parse(segments: &[&str]) -> Option<Page> {
        match segments {
            [] => Some(Page::Home),
            [name] => NAMES.iter().find(|(known, _)| known == name).map(|(_, page)| *page),
            _ => None,
        }
    }

    /// The path after the prefix of a scope: `/memory/search`.
    pub(in crate::proxy) fn path(self) -> String {
        match NAMES.iter().find(|(_, page)| *page == self) {
            Some((name, _)) => format!("/{PREFIX}/{name}"),
            None => format!("/{PREFIX}"),
        }
    }

    /// Whether it changes something, and so is posted to.
    pub(in crate::proxy) fn is_action(self) -> bool {
        matches!(self, Page::Forget | Page::LogIn | Page::LogOut)
    }
}
