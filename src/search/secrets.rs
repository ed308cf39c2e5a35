//! Finds the records that hold secrets, such as those that were stored before redaction was on.

use crate::error::Result;
use crate::record::{Hit, Record};
use crate::redact::Redactor;
use crate::store::{Select, Store, Walk};

/// Visits the records of a selection that hold secrets, oldest first and without these.
pub fn visit_secrets(
    store: &mut dyn Store,
    which: &Select,
    redactor: &Redactor,
    visit: &mut dyn FnMut(Hit) -> Result<()>,
) -> Result<()> {
    store.walk(&Walk::records(which.clone()), &mut |record| match record {
        Record::Stored(record) => match redactor.without_secrets(&record) {
            Some((record, secrets)) => visit(Hit::by_secrets(record, secrets)),
            None => Ok(()),
        },
        _ => Ok(()),
    })?;
    Ok(())
}
