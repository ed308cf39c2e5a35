//! The environment: variables, and where the XDG base directories are.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// A variable's text; set to nothing counts as unset.
pub(super) fn variable(name: &str) -> Result<Option<String>> {
    match std::env::var_os(name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => {
            value.into_string().map(Some).map_err(|_| Error::new(format!("{name}: is not valid UTF-8")))
        }
    }
}

/// A variable that holds a path.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The directory `rsv` in an XDG base directory; `fallback` is where that is in the home directory. The
/// specification has relative values ignored.
pub(super) fn xdg(name: &str, fallback: &str) -> Option<PathBuf> {
    let base = path(name).filter(|base| base.is_absolute());
    let base = base.or_else(|| path("HOME").map(|home| home.join(Path::new(fallback))));
    base.map(|base| base.join("rsv"))
}
