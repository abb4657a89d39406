//! A cache in `$XDG_CACHE_HOME/longwire` for later test runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Without a writable cache directory, the folder is next to the programs of this build.
pub fn folder(name: &str) -> PathBuf {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = given.or_else(home).map(|cache| cache.join("longwire").join(name));
    if let Some(folder) = cache.filter(|folder| fs::create_dir_all(folder).is_ok() && is_writable(folder)) {
        return folder;
    }
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("this program's own path: {error}"));
    // target/debug/deps/test-1234567890abcdef
    let build = program.ancestors().nth(2);
    let build = build.unwrap_or_else(|| panic!("{}: not under a target directory", program.display()));
    let folder = build.join(name);
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

fn is_writable(folder: &Path) -> bool {
    tempfile::tempfile_in(folder).is_ok()
}
