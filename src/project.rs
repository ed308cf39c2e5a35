//! The partition of a project: one rule for every tool that takes a scope from a directory.
//!
//! A project is the root of a repository, or, outside of one, a directory. Its partition has the name of that
//! directory; if another project has this name, the name, a hyphen and 6 hexadecimal digits of the SHA-256 of
//! its path. All worktrees of a repository are one project. The decision is kept in a file, so that a
//! directory that is removed or renamed later keeps its partition.

use crate::error::{Context, Result};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The partitions of directories.
#[derive(Debug, Default)]
pub struct Projects {
    /// The file that keeps them; none if nothing is to be written.
    file: Option<PathBuf>,
    /// By directory. The root of each project is among them.
    partitions: BTreeMap<String, String>,
}

/// The name of the file in rsv's data directory.
const FILE_NAME: &str = "projects.json";

/// The partition of a directory without a name, which is that of the file system.
const ROOT_NAME: &str = "root";

/// The number of bytes of a path's digest in a name, 2 hexadecimal digits each.
const DIGEST_BYTES: usize = 3;

impl Projects {
    /// Reads the partitions that are kept in rsv's data directory; new ones are written there. Fails if its
    /// file cannot be read or is invalid.
    pub fn open(data_dir: Option<&Path>) -> Result<Projects> {
        let file = data_dir.map(|directory| directory.join(FILE_NAME));
        let partitions = file.as_deref().map(read).transpose()?.unwrap_or_default();
        Ok(Projects { file, partitions })
    }

    /// The same partitions, without writing new ones.
    pub fn without_writing(self) -> Projects {
        Projects { file: None, ..self }
    }

    /// The partition of the project that a directory belongs to. The directory need not exist. Fails if a new
    /// one cannot be written.
    pub fn partition(&mut self, directory: &str) -> Result<String> {
        if let Some(known) = self.partitions.get(directory) {
            return Ok(known.clone());
        }
        let Some(file) = self.file.clone() else { return Ok(self.add(directory)) };
        self.change(&file, |projects| projects.add(directory))
    }

    /// The partition of the project that a directory belongs to, and the root of the worktree that it is in,
    /// if the partition is decided.
    pub fn known(&self, directory: &str) -> Option<(String, PathBuf)> {
        let path = Path::new(directory);
        let root = root(path);
        // A directory that is gone, or out of reach, keeps the name that it was given.
        let canonical = fs::canonicalize(&root).unwrap_or(root).to_string_lossy().into_owned();
        let partition = self.partitions.get(directory).or_else(|| self.partitions.get(&canonical))?;
        let has_git = |directory: &&Path| directory.join(".git").symlink_metadata().is_ok();
        let worktree = path.ancestors().find(has_git).unwrap_or(path);
        Some((partition.clone(), worktree.to_owned()))
    }

    /// Has the projects of a partition follow its new name. Fails if their file cannot be read or written.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        if !self.partitions.values().any(|partition| partition == from) {
            return Ok(());
        }
        let Some(file) = self.file.clone() else { return Ok(()) };
        self.change(&file, |projects| {
            for partition in projects.partitions.values_mut().filter(|partition| *partition == from) {
                to.clone_into(partition);
            }
        })
    }

    /// Changes the partitions that a file keeps.
    fn change<T>(&mut self, file: &Path, change: impl FnOnce(&mut Projects) -> T) -> Result<T> {
        let parent = file.parent().unwrap_or(Path::new("."));
        let context = format!("cannot write {}", file.display());
        DirBuilder::new().recursive(true).mode(0o700).create(parent).context(&context)?;
        // Without support for locks, the change goes ahead.
        let _lock = File::open(parent).and_then(|parent| parent.lock().map(|()| parent));
        // Another process may have added some.
        self.partitions = read(file)?;
        let changed = change(self);
        write(file, &self.partitions).context(context)?;
        Ok(changed)
    }

    fn add(&mut self, directory: &str) -> String {
        if let Some(known) = self.partitions.get(directory) {
            return known.clone();
        }
        let root = root(Path::new(directory));
        let root = fs::canonicalize(&root).unwrap_or(root).to_string_lossy().into_owned();
        let partition = self.partitions.get(&root).cloned().unwrap_or_else(|| self.name(&root));
        for path in [directory, &root] {
            self.partitions.insert(path.to_owned(), partition.clone());
        }
        partition
    }

    /// A name for the project with this root, which no other has.
    fn name(&self, root: &str) -> String {
        let name = root.trim_end_matches(SEPARATORS).rsplit(SEPARATORS).next().unwrap_or_default();
        let name = if name.is_empty() || name.ends_with(':') { ROOT_NAME } else { name };
        if !self.partitions.values().any(|taken| taken == name) {
            return name.to_owned();
        }
        let digest: String =
            Sha256::digest(root).iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
        format!("{name}-{digest}")
    }
}

/// The separators of paths; sessions that were recorded on Windows have the second.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// The root of the repository that a directory is in, of all its worktrees; outside of a repository, the
/// directory.
fn root(directory: &Path) -> PathBuf {
    for root in directory.ancestors().filter(|path| path.is_absolute()) {
        let git = root.join(".git");
        let Ok(metadata) = git.metadata() else { continue };
        return if metadata.is_dir() { root.to_owned() } else { main_worktree(&git, root) };
    }
    directory.to_owned()
}

/// The main worktree of a linked one, whose `.git` is a file with the path of its directory in the repository
/// (gitrepository-layout(5)); `root` itself if the file is something else, as in a submodule.
fn main_worktree(git: &Path, root: &Path) -> PathBuf {
    // A `.git` that cannot be read leaves the directory a project of its own.
    let text = fs::read_to_string(git).unwrap_or_default();
    let directory = text.strip_prefix("gitdir:").map(|path| root.join(path.trim()));
    let common = directory.and_then(|directory| {
        let common = fs::read_to_string(directory.join("commondir")).ok()?;
        fs::canonicalize(directory.join(common.trim())).ok()
    });
    match common {
        Some(common) if common.ends_with(".git") => common.parent().unwrap_or(root).to_owned(),
        // The repository has no worktree of its own.
        Some(bare) => bare,
        None => root.to_owned(),
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, String>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error).context(format_args!("cannot read {}", file.display())),
    };
    let hint = "remove it; directories with the same name may get other partitions then";
    serde_json::from_str(&text)
        .context(format_args!("cannot read {}", file.display()))
        .map_err(|error| error.hint(hint))
}

/// Replaces the file as a whole.
fn write(file: &Path, partitions: &BTreeMap<String, String>) -> std::io::Result<()> {
    let mut text = serde_json::to_string_pretty(partitions)?;
    text.push('\n');
    let new = file.with_extension(format!("json.{}", std::process::id()));
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(text.as_bytes()).and_then(|()| out.sync_all())?;
    fs::rename(&new, file)
}
