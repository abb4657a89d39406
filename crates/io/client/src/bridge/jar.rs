//! Finds the bridge's own jar.

use super::BridgeError;
use std::path::{Path, PathBuf};

/// `given`, or the file in `LONGWIRE_JDBC_BRIDGE`, or the one next to this program. No other
/// places: the jar is executed, and other directories may be writable by other users.
pub(super) fn find(given: Option<&Path>) -> Result<PathBuf, BridgeError> {
    let named = given.map(Path::to_owned).or_else(|| {
        std::env::var_os(VARIABLE)
            .filter(|name| !name.is_empty())
            .map(PathBuf::from)
    });
    if let Some(path) = named {
        super::driver::check(&path)?;
        return Ok(path);
    }
    let place = beside(&std::env::current_exe().unwrap_or_default());
    match place.is_file() {
        true => Ok(place),
        false => Err(BridgeError::NoJar {
            looked: place.display().to_string(),
        }),
    }
}

fn beside(program: &Path) -> PathBuf {
    program.with_file_name(NAME)
}

const NAME: &str = "longwire-jdbc.jar";
const VARIABLE: &str = "LONGWIRE_JDBC_BRIDGE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jar_is_looked_for_beside_the_program_alone() {
        let program = Path::new("/srv/longwire/target/release/longwire");
        assert_eq!(
            beside(program),
            Path::new("/srv/longwire/target/release/longwire-jdbc.jar")
        );
    }
}
