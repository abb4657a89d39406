use std::path::{Path, PathBuf};

use crate::{Account, Error};

/// Creates the directory if needed and changes the owner to `account`.
///
/// # Errors
/// Fails only with [`Error::File`].
pub fn make_directory(path: &Path, account: Account) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(path).map_err(|error| fault(path, &error))?;
    account.own(path)?;
    Ok(path.to_owned())
}

pub fn write(path: &Path, text: &str, account: Account) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| fault(path, &error))?;
    account.own(path)
}

pub(crate) fn fault(path: &Path, error: &std::io::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
