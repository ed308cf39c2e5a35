//! The faults of pages, whose words people read.

use crate::error::failures;

failures! { pub(super) enum PageFault {
    Missing ("There is nothing here, or it was forgotten."),
    ForeignPage ("Only a page of this server may forget, in a browser that says so by Sec-Fetch-Site, \
                  as it does on the machine of the server, or with https."),
    NoSelection ("expected i, and one of id, trace and all"),
    FormNotUtf8 ("the form is not UTF-8"),
} }
