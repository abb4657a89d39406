//! Files of a server: written whole, owned by its account.

use std::path::{Path, PathBuf};

use crate::{Account, ServerError};

/// Makes the directory `path`, unless it is there, and returns it to `account`.
///
/// # Errors
/// [`ServerError::File`].
pub fn make_directory(path: &Path, account: Account) -> Result<PathBuf, ServerError> {
    std::fs::create_dir_all(path).map_err(|error| fault(path, &error))?;
    account.own(path)?;
    Ok(path.to_owned())
}

/// Writes the file `path` and gives it to `account`.
///
/// # Errors
/// [`ServerError::File`].
pub fn write(path: &Path, text: &str, account: Account) -> Result<(), ServerError> {
    std::fs::write(path, text).map_err(|error| fault(path, &error))?;
    account.own(path)
}

pub(crate) fn fault(path: &Path, error: &std::io::Error) -> ServerError {
    ServerError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
