//! Data directories, created once per machine by the server's own program and copied for each test.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use servers::Account;

use crate::cache;
use crate::process::{given, require, run};

/// Copies a data directory into `directory`, owned by `account`. The original comes from
/// `initialise` at first use, and again if `program` has changed or the original is incomplete.
pub(crate) fn provide(
    program: &str,
    account: Account,
    directory: &Path,
    initialise: impl FnOnce(&Path) -> Result<(), servers::Error>,
) {
    let cache = cache::folder("clusters");
    let kept = cache.join(format!("{program}-{}", version(&require(program), account)));
    if !is_whole(&kept) {
        make(&cache, &kept, account, initialise);
    }
    let mut copy = Command::new("cp");
    copy.arg("--archive").arg(kept.join("data")).arg(directory);
    run(copy);
}

fn make(
    cache: &Path,
    kept: &Path,
    account: Account,
    initialise: impl FnOnce(&Path) -> Result<(), servers::Error>,
) {
    // Reachable for the account: not in root's home.
    let making = crate::process::private_directory(account);
    given(initialise(making.path()));
    let arriving = tempfile::tempdir_in(cache).unwrap_or_else(|error| panic!("{}: {error}", cache.display()));
    let mut copy = Command::new("cp");
    copy.arg("--archive")
        .arg(making.path().join("data"))
        .arg(arriving.path());
    run(copy);
    let size = size_of(&arriving.path().join("data"));
    let written = fs::write(arriving.path().join(SIZE), size.to_string());
    written.unwrap_or_else(|error| panic!("{}: {error}", arriving.path().display()));
    if kept.exists() && !is_whole(kept) {
        fs::remove_dir_all(kept).ok();
    }
    // Another test may have put the same there; then this copy is dropped.
    fs::rename(arriving.path(), kept).ok();
    assert!(is_whole(kept), "{}: it is not whole", kept.display());
}

/// Distinguishes versions of `program`, and accounts.
fn version(program: &Path, account: Account) -> String {
    let about = fs::metadata(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let owner = match account {
        Account::Own => "own".to_owned(),
        Account::Other { uid, .. } => uid.to_string(),
        Account::Inner => "inner".to_owned(),
    };
    format!("{}-{}-{owner}", about.size(), about.mtime())
}

fn is_whole(kept: &Path) -> bool {
    let size = fs::read_to_string(kept.join(SIZE)).ok();
    size.is_some_and(|size| size == size_of(&kept.join("data")).to_string())
}

fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .map(|(path, about)| {
            if about.is_dir() {
                size_of(&path)
            } else {
                about.len()
            }
        })
        .sum()
}

const SIZE: &str = "size";
