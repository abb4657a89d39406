//! Jars of a driver: files, or coordinates of the local Maven repository.

use super::BridgeError;
use std::io::Read;
use std::path::{Path, PathBuf};
use sys::error::OsError;
use sys::files::open_regular;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFiles {
    jars: Vec<PathBuf>,
}

impl DriverFiles {
    /// Finds the jars of a driver. Each item is one file or several separated by colons, or
    /// `group:artifact:version` of the local Maven repository (`~/.m2/repository`). Nothing is
    /// downloaded.
    ///
    /// # Errors
    /// [`BridgeError::NotADriverName`], [`BridgeError::NotFetched`], [`BridgeError::NotReadable`],
    /// [`BridgeError::NotAJar`].
    pub fn find<'g>(given: impl IntoIterator<Item = &'g str>) -> Result<Self, BridgeError> {
        let repository = repository();
        let mut jars = Vec::new();
        for text in given {
            match coordinate(text) {
                Some(parts) => jars.push(in_repository(&repository, text, parts)?),
                None => jars.extend(text.split(':').filter(|file| !file.is_empty()).map(PathBuf::from)),
            }
        }
        if let Some(odd) = jars.iter().find(|jar| !jar.exists() && !looks_like_a_file(jar)) {
            return Err(BridgeError::NotADriverName {
                given: odd.display().to_string(),
            });
        }
        jars.iter().try_for_each(|jar| check(jar))?;
        Ok(Self { jars })
    }

    pub fn jars(&self) -> &[PathBuf] {
        &self.jars
    }
}

/// Whether `path` can be read and begins like a jar (a zip archive: APPNOTE.TXT, 4.3.7).
pub(super) fn check(path: &Path) -> Result<(), BridgeError> {
    let not_readable = |error: std::io::Error| BridgeError::NotReadable {
        path: path.to_owned(),
        reason: OsError::from_io_error(&error),
    };
    let mut file = open_regular(path).map_err(|error| match error.raw_os_error() {
        Some(_) => not_readable(error),
        // A pipe, a device or a directory.
        None => BridgeError::NotAJar {
            path: path.to_owned(),
        },
    })?;
    let mut begin = [0; 4];
    match file.read_exact(&mut begin) {
        Ok(()) if begin == *b"PK\x03\x04" => Ok(()),
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(not_readable(error)),
        _ => Err(BridgeError::NotAJar {
            path: path.to_owned(),
        }),
    }
}

fn looks_like_a_file(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1
}

fn coordinate(text: &str) -> Option<[&str; 3]> {
    let parts: Vec<&str> = text.split(':').collect();
    let [group, artifact, version] = parts[..] else {
        return None;
    };
    let is_name = |part: &&str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
            && !part.ends_with(".jar")
            && !part.starts_with('.')
    };
    [group, artifact, version]
        .iter()
        .all(is_name)
        .then_some([group, artifact, version])
}

fn in_repository(
    repository: &Path,
    text: &str,
    [group, artifact, version]: [&str; 3],
) -> Result<PathBuf, BridgeError> {
    let directory = group
        .split('.')
        .fold(repository.to_owned(), |path, part| path.join(part));
    let path = directory
        .join(artifact)
        .join(version)
        .join(format!("{artifact}-{version}.jar"));
    match path.is_file() {
        true => Ok(path),
        false => Err(BridgeError::NotFetched {
            coordinate: text.to_owned(),
            path,
        }),
    }
}

fn repository() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    home.join(".m2/repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinate_is_told_from_files() {
        assert!(coordinate("org.postgresql:postgresql:42.7.4").is_some());
        for files in ["a.jar", "a.jar:b.jar", "a.jar:b.jar:c.jar", "/x/a:b:c", "a::c"] {
            assert_eq!(coordinate(files), None, "{files}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_driver_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("driver.jar");
        std::fs::write(&text, "no archive").unwrap();
        let name = text.display().to_string();
        assert_eq!(
            DriverFiles::find([name.as_str()]),
            Err(BridgeError::NotAJar { path: text })
        );
        let told = |given: &str| DriverFiles::find([given]).unwrap_err().to_string();
        assert_eq!(
            told("/nowhere/x.jar"),
            "could not read /nowhere/x.jar: no such file or directory"
        );
        assert_eq!(
            told("pgjdbc"),
            "'pgjdbc' is neither a jar nor group:artifact:version"
        );
        let missing = DriverFiles::find(["a.b:c:1"]).unwrap_err();
        assert!(
            missing.to_string().ends_with(".m2/repository/a/b/c/1/c-1.jar"),
            "{missing}"
        );
        assert!(missing.hint().unwrap().ends_with("-Dartifact=a.b:c:1"));
    }
}
