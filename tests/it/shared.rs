//! Fixtures that many tests need and none changes, made once in a run of the tests: by one process, or, with cargo-nextest,
//! by the first of many that asks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The directory of a name, which the first test that asks for it makes and fills.
pub(crate) fn made_once(name: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let run = directory_of_the_run();
    let _filling = locked(&run.join(format!("{name}.lock")));
    let (directory, is_whole) = (run.join(name), run.join(format!("{name}.whole")));
    if !is_whole.exists() {
        // A test that failed may have left a part.
        fs::remove_dir_all(&directory).ok();
        fs::create_dir(&directory).unwrap();
        fill(&directory);
        File::create(is_whole).unwrap();
    }
    directory
}

/// A file that no other process, and no other thread, has locked as long as it is kept.
pub(crate) fn locked(path: &Path) -> File {
    let file = lock_file(path);
    file.lock().unwrap();
    file
}

/// The same file if nobody has locked it.
pub(crate) fn locked_if_free(path: &Path) -> Option<File> {
    let file = lock_file(path);
    file.try_lock().is_ok().then_some(file)
}

fn lock_file(path: &Path) -> File {
    File::options().create(true).truncate(false).write(true).open(path).unwrap()
}

/// The directory of this run, which each of its processes holds as long as it lives. Those of earlier runs are removed.
fn directory_of_the_run() -> &'static Path {
    static HELD: OnceLock<(PathBuf, File)> = OnceLock::new();
    let (run, _) = HELD.get_or_init(|| {
        let runs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runs");
        fs::create_dir_all(&runs).unwrap();
        let _beginning = locked(&runs.join("lock"));
        let own = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| std::process::id().to_string());
        let others = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path());
        for other in others.filter(|path| path.is_dir() && !path.ends_with(&own)) {
            if locked_if_free(&other.join("held")).is_some() {
                fs::remove_dir_all(other).unwrap();
            }
        }
        let run = runs.join(own);
        fs::create_dir_all(&run).unwrap();
        let held = lock_file(&run.join("held"));
        held.lock_shared().unwrap();
        (run, held)
    });
    run
}
