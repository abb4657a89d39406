//! Finds the program `java`.

use super::BridgeError;
use std::path::PathBuf;

/// In `JAVA_HOME`, or else in `PATH`.
pub(super) fn find() -> Result<PathBuf, BridgeError> {
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        let java = PathBuf::from(home).join("bin/java");
        return match java.exists() {
            true => Ok(java),
            false => Err(BridgeError::NoJava {
                looked: format!("{} (JAVA_HOME)", java.display()),
            }),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join("java"))
        .find(|java| java.exists())
        .ok_or_else(|| BridgeError::NoJava {
            looked: "java in PATH, and JAVA_HOME".to_owned(),
        })
}
