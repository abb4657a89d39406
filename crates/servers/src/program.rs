//! Finds the system's programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Error;

/// Searches `PATH`, the system directories missing in an ordinary user's `PATH`, and Debian's
/// directories of PostgreSQL server programs (newest version first).
pub fn find(program: &str) -> Option<PathBuf> {
    directories()
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

pub fn require(program: &str, package: &'static str) -> Result<PathBuf, Error> {
    find(program).ok_or_else(|| Error::Missing {
        program: program.to_owned(),
        package,
    })
}

/// The newest program named `prefix` with a version (`php-fpm8.2`), or `prefix` alone.
///
/// # Errors
/// Fails with [`Error::Missing`], which names `package`.
pub fn require_newest(prefix: &str, package: &'static str) -> Result<PathBuf, Error> {
    let newest = directories()
        .flat_map(|directory| entries(&directory))
        .filter_map(|path| {
            let version = version(path.file_name()?.to_str()?.strip_prefix(prefix)?)?;
            is_executable(&path).then_some((version, path))
        })
        .max_by(|one, other| one.0.cmp(&other.0));
    match newest {
        Some((_, path)) => Ok(path),
        None => require(prefix, package),
    }
}

fn directories() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .collect::<Vec<_>>()
        .into_iter()
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .chain(postgres_directories(Path::new(DEBIAN_POSTGRES)))
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).collect()
}

fn version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// `root/VERSION/bin` of every version, newest first.
fn postgres_directories(root: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = entries(root)
        .into_iter()
        .filter_map(|path| Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin"))))
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
    fn versions_are_compared_as_numbers() {
        assert!(version("8.10") > version("8.2"));
        assert_eq!(version("8.x"), None);
        assert_eq!(version("-cgi"), None);
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let message = require("no-such-program", "some-package")
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "no-such-program is missing: install the package some-package (Debian's name for it)"
        );
        assert!(require_newest("no-such-program", "some-package").is_err());
    }
}
