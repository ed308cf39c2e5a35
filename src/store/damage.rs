//! The damage of a store of which what can be read was read.

use super::error::StoreFault;
use crate::error::Error;
use crate::text::counted;

/// The damage of a store.
#[derive(Clone, Debug, Default)]
pub struct Damage {
    /// The store.
    pub address: String,
    /// The pages of its file, and how many of them are damaged, or belong to a row that cannot be read.
    pub pages: u64,
    pub unusable_pages: u64,
    /// The records that could be read.
    pub records: u64,
    /// Those among them whose scope cannot be read.
    pub unscoped_records: u64,
    /// The records that could not be read, as far as an index, a link or a vector names them.
    pub lost_records: u64,
}

/// The partition of records whose scope cannot be read.
pub(super) const UNSCOPED_PARTITION: &str = "recovered";

impl Damage {
    /// Whether anything could not be read.
    pub(super) fn is_noticeable(&self) -> bool {
        self.unusable_pages > 0 || self.unscoped_records > 0 || self.lost_records > 0
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        let Damage { address, pages, unusable_pages, records, unscoped_records, lost_records } = damage;
        let unusable = match unusable_pages {
            0 => String::new(),
            unusable => format!("{unusable} of its {pages} pages cannot be used; "),
        };
        let lost = match (lost_records, unusable_pages) {
            (0, 0) => "none is known to be missing".to_owned(),
            (0, _) => "none is known to be missing, but vectors and links may be".to_owned(),
            (1, _) => "about 1 is missing".to_owned(),
            (lost, _) => format!("about {lost} are missing"),
        };
        let unscoped = match unscoped_records {
            0 => String::new(),
            unscoped => {
                format!("; {unscoped} have lost their scope, and are in partition {UNSCOPED_PARTITION}")
            }
        };
        let records = counted(records, "record");
        let what = format!("{unusable}{records} could be read, {lost}{unscoped}");
        StoreFault::Damaged { address, what }.into()
    }
}
