//! The records that were recalled for an answer, and their places: memories, documents and messages of its
//! turn's account.

use crate::chat;
use crate::enrich::Named;
use crate::error::Result;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::Page;
use crate::record::{
    Account, DOCUMENT, MEMORY, MESSAGE, Object, RecalledPart, RecordKind, Role, Scope, Scopes, StoredRecord,
    time,
};
use crate::store::{self, Select, Store};
use crate::text;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes of the text of a recalled record.
const MAX_TEXT: usize = 2000;

/// The records that are looked up at once.
const BATCH: usize = 500;

/// The records that were recalled for the turns of a user, with their titles.
pub(super) struct Recalled {
    user: String,
    /// The records that are still there, by their ids.
    named: Named,
    /// The titles of the sessions that they are of.
    titles: BTreeMap<Scope, String>,
    has_pages: bool,
}

impl Recalled {
    /// Knows nothing but what accounts say themselves.
    pub(super) fn unnamed(user: &str, config: &ProxyConfig) -> Recalled {
        Recalled {
            user: user.to_owned(),
            named: Named::new(),
            titles: BTreeMap::new(),
            has_pages: config.settings.boolean("proxy.page") != Some(false),
        }
    }

    /// Looks up what accounts name, in the user's partition alone. Fails if the store cannot be read.
    pub(super) fn look_up(mut self, store: &mut dyn Store, accounts: &[Account]) -> Result<Recalled> {
        let parts =
            accounts.iter().flat_map(|account| lists(account).into_iter().flat_map(|(_, parts)| parts));
        let ids: BTreeSet<&str> = parts.map(|part| part.id.as_str()).collect();
        let which = Select::records(vec![&MEMORY, &DOCUMENT, &MESSAGE], Scopes::Partition(self.user.clone()));
        for some in ids.into_iter().collect::<Vec<_>>().chunks(BATCH) {
            let found = store.get(some, &which)?;
            self.named.extend(found.into_iter().map(|record| (record.id.clone(), record)));
        }
        let messages = self.named.values().filter(|record| record.kind == &MESSAGE);
        let sessions: BTreeSet<Scope> = messages.map(|message| message.scope.clone()).collect();
        self.titles = store::titles(store, &sessions)?;
        Ok(self)
    }

    /// The records that an account names, as JSON.
    pub(super) fn of(&self, account: &Account) -> String {
        let entries: Vec<Object> = lists(account)
            .into_iter()
            .flat_map(|(kind, parts)| parts.iter().map(move |part| self.entry(kind, part)))
            .collect();
        chat::array(&entries)
    }

    fn entry(&self, kind: &RecordKind, part: &RecalledPart) -> Object {
        let mut entry = Object::default();
        entry.set_text("kind", kind.name);
        entry.set_text("id", &part.id);
        let record = self.named.get(&part.id);
        let uri = part.document.as_ref().map(|document| document.uri.as_str());
        if let Some(uri) = uri {
            entry.set_text("uri", uri);
        }
        if let Some(record) = record {
            self.describe(&mut entry, record, part);
        }
        if let Some(score) = part.score {
            entry.set("score", score.to_string());
        }
        entry.set("tokens", part.tokens.to_string());
        // A document may have another version since, with another id.
        let page = match (uri, record) {
            (Some(uri), _) => Some((Page::Documents, "uri", uri)),
            (None, Some(record)) => Some((Page::Record, "id", record.id.as_str())),
            (None, None) => None,
        };
        if let Some((page, name, value)) = page.filter(|_| self.has_pages) {
            let path = format!("{}?p={}&{name}={}", page.path(), encoded(&self.user), encoded(value));
            entry.set_text("page", &path);
        }
        entry
    }

    /// Adds what is known of a record that is still there.
    fn describe(&self, entry: &mut Object, record: &StoredRecord, part: &RecalledPart) {
        let title = match self.titles.get(&record.scope).filter(|_| record.kind == &MESSAGE) {
            Some(title) => title.clone(),
            None => record.member_text("title"),
        };
        entry.set_text("title", &title);
        if record.kind == &MESSAGE {
            entry.set_text("session_id", &record.scope.instance);
            entry.set_text("role", record.role.map_or("", Role::name));
        }
        let whole = record.shown_text();
        let quoted = part.quoted.as_deref().and_then(|ranges| text::quotation(&record.text, ranges));
        let text = quoted.as_deref().unwrap_or(&whole);
        let shown = &text[..text.floor_char_boundary(MAX_TEXT)];
        entry.set_text(
            "text",
            &if shown.len() < text.len() { format!("{shown} …") } else { shown.to_owned() },
        );
        entry.set_text("created_at", &time::rfc3339(record.timestamp));
    }
}

/// The records that an account names, by kind. The last messages of a session are turns of the request
/// itself.
fn lists(account: &Account) -> [(&'static RecordKind, &[RecalledPart]); 3] {
    [(&MEMORY, &account.memories), (&DOCUMENT, &account.documents), (&MESSAGE, &account.recalled)]
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
