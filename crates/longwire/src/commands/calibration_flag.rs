//! `--calibration`: the same flag for all commands that predict from files.

use anyhow::Result;
use predict::WakeUp;
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
    pub fn wake_up(&self, files: &[PathBuf]) -> Result<WakeUp> {
        pipeline::calibration::wake_up(self.calibration.as_deref(), files)
    }
}
