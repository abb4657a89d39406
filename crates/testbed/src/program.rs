//! Where the programs are that tests start.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The path of `program`: on `PATH`, in the system directories an ordinary user's `PATH` may lack, or in Debian's
/// directory of PostgreSQL's server programs (the newest version installed).
///
/// # Panics
/// When it is nowhere: the message names the command that installs it.
pub fn require(program: &str) -> PathBuf {
    find(program).unwrap_or_else(|| panic!("{program} is missing: run `make test`, which installs it"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .chain(postgres_directories(Path::new(DEBIAN_POSTGRES)))
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// `root/VERSION/bin` of every version, the newest first.
fn postgres_directories(root: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, directory)| directory).collect()
}

const SYSTEM_DIRECTORIES: [&str; 4] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/libexec"];
const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_postgres_comes_first_by_number_not_by_text() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9", "15", "current"] {
            std::fs::create_dir(root.path().join(version)).unwrap();
        }
        let found = postgres_directories(root.path());
        assert_eq!(found, [root.path().join("15/bin"), root.path().join("9/bin")]);
    }

    #[test]
    #[should_panic(expected = "no-such-program is missing: run `make test`, which installs it")]
    fn a_missing_program_says_how_to_get_it() {
        require("no-such-program");
    }
}
