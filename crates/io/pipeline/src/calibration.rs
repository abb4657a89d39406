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

/// The wake-up allowance of a run, and the file that it is from.
#[derive(Debug, Clone, Default)]
pub struct Allowance {
    pub wake_up: WakeUp,
    pub calibration: Option<String>,
}

/// As measured, by the file `given` or by one beside `files`; else as assumed. Says which file it
/// took.
///
/// # Errors
/// If the file cannot be used, or is of another machine than a recording among `files`.
pub fn of_files(given: Option<&Path>, files: &[PathBuf]) -> Result<Allowance> {
    match given.map(Path::to_owned).or_else(|| beside(files)) {
        Some(path) => of_machine(&path, input::recorded_on(files), given.is_some()),
        None => Ok(Allowance::default()),
    }
}

/// Of traffic that this machine observes: as measured, by the file `given`; else as assumed.
///
/// # Errors
/// If the file cannot be used, or is of another machine.
pub fn of_this_machine(given: Option<&Path>) -> Result<Allowance> {
    match given {
        Some(path) => of_machine(path, output::host_name(), true),
        None => Ok(Allowance::default()),
    }
}

fn of_machine(path: &Path, observed: Option<String>, is_given: bool) -> Result<Allowance> {
    let calibration = read(path)?;
    let curves = CalibratedCurve::of_both_sides(&calibration)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("could not use the calibration {}", path.display()))?;
    let machine = calibration.host.as_deref().unwrap_or("another machine");
    if let Some(host) = observed.filter(|host| Some(host) != calibration.host.as_ref()) {
        ensure!(
            !is_given,
            "the calibration {} is of {machine}, the traffic of {host}: a calibration holds for its machine alone",
            path.display()
        );
        output::print_note(&format!(
            "{} is of {machine}, the recording of {host}: it is not used",
            path.display()
        ));
        return Ok(Allowance::default());
    }
    let rests = &calibration.rests;
    let usable = rests.iter().filter(|rest| rest.factor.is_some()).count();
    let of_all = match usable == rests.len() {
        true => String::new(),
        false => format!(
            " for {usable} of {} rests, as assumed for the others",
            rests.len()
        ),
    };
    output::print_note(&format!(
        "longer computing after longer rests as {} has it, measured on {machine}{of_all}",
        path.display()
    ));
    Ok(Allowance {
        wake_up: WakeUp::Calibrated(curves),
        calibration: Some(path.display().to_string()),
    })
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
