//! `--calibration`: the same flag for all commands that predict from files.

use anyhow::Result;
use pipeline::calibration::{self, Allowance};
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub struct CalibrationArgument {
    /// File of `longwire calibrate`, for computing after longer rests. Default:
    /// longwire-calibration.json next to the input.
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,
}

impl CalibrationArgument {
    /// # Errors
    /// When the file cannot be used.
    pub fn of_files(&self, files: &[PathBuf]) -> Result<Allowance> {
        calibration::of_files(self.calibration.as_deref(), files)
    }

    /// # Errors
    /// When the file cannot be used, or is of another machine.
    pub fn of_this_machine(&self) -> Result<Allowance> {
        calibration::of_this_machine(self.calibration.as_deref())
    }
}
