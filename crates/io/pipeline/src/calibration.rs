//! Finds and reads the file of a calibration.

use crate::input;
use crate::output;
use anyhow::{Context, Result, ensure};
use model::Calibration;
use predict::WakeUp;
use predict::calibration::CalibratedCurve;
use std::path::{Path, PathBuf};
use sys::files::{MAX_CONFIG_BYTES, read_small_text};

/// Where `calibrate` writes it, and where it is looked for.
pub const FILE: &str = "longwire-calibration.json";

/// As measured, by the file `given` or by one beside `files`; else as assumed. Says which file it
/// took.
///
/// # Errors
/// If the file cannot be used, or is of another machine than a recording among `files`.
pub fn wake_up(given: Option<&Path>, files: &[PathBuf]) -> Result<WakeUp> {
    let Some(path) = given.map(Path::to_owned).or_else(|| beside(files)) else {
        return Ok(WakeUp::Assumed);
    };
    let calibration = read(&path)?;
    let curves = CalibratedCurve::of_both_sides(&calibration)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("could not use the calibration {}", path.display()))?;
    let machine = calibration.host.as_deref().unwrap_or("another machine");
    if let Some(host) = input::recorded_on(files).filter(|host| Some(host) != calibration.host.as_ref()) {
        ensure!(
            given.is_none(),
            "the calibration {} is of {machine}, the recording of {host}: a calibration holds for its machine alone",
            path.display()
        );
        output::print_note(&format!(
            "{} is of {machine}, the recording of {host}: it is not used",
            path.display()
        ));
        return Ok(WakeUp::Assumed);
    }
    output::print_note(&format!(
        "longer computing after longer rests as {} has it, measured on {machine}",
        path.display()
    ));
    Ok(WakeUp::Calibrated(curves))
}

fn beside(files: &[PathBuf]) -> Option<PathBuf> {
    let folders = files
        .iter()
        .filter(|file| file.as_os_str() != "-")
        .filter_map(|file| file.parent());
    folders
        .map(|folder| folder.join(FILE))
        .find(|path| path.is_file())
}

/// # Errors
/// If it cannot be read, or is not a calibration that this longwire reads.
fn read(path: &Path) -> Result<Calibration> {
    let parsed = read_small_text(path, MAX_CONFIG_BYTES)
        .map_err(anyhow::Error::from)
        .and_then(|text| Ok(report::calibration::parse(&text)?));
    parsed.with_context(|| format!("could not use the calibration {}", path.display()))
}
