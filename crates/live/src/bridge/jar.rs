//! Where the bridge's own jar is.

use super::BridgeError;
use std::path::{Path, PathBuf};

/// `given`; else the file that `LONGWIRE_JDBC_BRIDGE` names; else the first that is there: beside this program, where packages
/// put what programs share, and where `make jdbc` leaves it in the sources that this program was built in.
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
    let program = std::env::current_exe().unwrap_or_default();
    let places = places(&program);
    places
        .iter()
        .find(|place| place.is_file())
        .cloned()
        .ok_or_else(|| BridgeError::NoJar {
            looked: in_words(&places),
        })
}

fn places(program: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(directory) = program.parent() {
        places.push(directory.join(NAME));
        places.push(directory.with_file_name("share").join("longwire").join(NAME));
    }
    // target/release/longwire, or target/debug/deps/test: the sources are above.
    places.extend(
        program
            .ancestors()
            .skip(2)
            .take(SOURCES_ABOVE)
            .map(|above| above.join("bridges/jdbc/target").join(NAME)),
    );
    places
}

fn in_words(places: &[PathBuf]) -> String {
    let mut shown: Vec<String> = places
        .iter()
        .take(2)
        .map(|place| place.display().to_string())
        .collect();
    shown.push("bridges/jdbc/target above it".to_owned());
    shown.join(", ")
}

const NAME: &str = "longwire-jdbc.jar";
const VARIABLE: &str = "LONGWIRE_JDBC_BRIDGE";
const SOURCES_ABOVE: usize = 3;
