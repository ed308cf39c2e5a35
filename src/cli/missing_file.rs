//! The hint for an operand that names no file.

use super::quoted;
use std::fs;
use std::path::{Path, PathBuf};

/// The remedy if there is no file of this name; `None` if there is one.
pub fn hint_for_missing(path: &Path) -> Option<String> {
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_text = name.contains(char::is_whitespace);
    Some(match (near(directory.unwrap_or(Path::new(".")), &name), directory) {
        (Some(near), _) => {
            let near = directory.map_or_else(|| PathBuf::from(&near), |directory| directory.join(&near));
            format!("did you mean {}?", quoted(&near))
        }
        (None, Some(directory)) if !directory.is_dir() => {
            format!("there is no directory {}", quoted(directory))
        }
        (None, _) if is_text => "operands are names of files; pipe text in".to_owned(),
        (None, _) => "operands are names of files; check the directory, and the name".to_owned(),
    })
}

/// The name in a directory that differs from another by the fewest letters, if these are few.
fn near(directory: &Path, name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let names = fs::read_dir(directory).ok()?.flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let distance = |near: &str| strsim::damerau_levenshtein(&lower, &near.to_lowercase());
    let (edits, near) = names.map(|near| (distance(&near), near)).min()?;
    (edits <= 1 + name.chars().count() / 5).then_some(near)
}
