//! The faults of uploads.

use crate::error::failures;
use std::io;

failures! { pub(super) enum UploadFault {
    TooManyParts { most: usize } ("the form has more than {most} parts"),
    SecondFile ("the form has more than one file"),
    NoFile ("the form has no file in the field 'file'"),
    NotUtf8 ("a field of the form is not UTF-8"),
    LongField ("a field of the form is too long"),
    LongHeader { most: usize }
        ("a header of the form, or the text before its first part, is longer than {most} bytes"),
    Malformed { source: multer::Error } ("this is not a valid form"),
    Kept { source: io::Error } ("cannot remove the upload"),
} }
