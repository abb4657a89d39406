//! The file of a calibration.

use model::Calibration;

/// Why a text is not a calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error("it is not a calibration, or it is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error(
        "it is a calibration of version {found}, and this longwire reads version {}",
        Calibration::VERSION
    )]
    Version { found: u64 },
}

pub fn to_text(calibration: &Calibration) -> Result<String, CalibrationError> {
    Ok(serde_json::to_string_pretty(calibration)? + "\n")
}

/// # Errors
/// If it is something else, damaged, or of another version.
pub fn parse(text: &str) -> Result<Calibration, CalibrationError> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    match value.get("calibration").and_then(serde_json::Value::as_u64) {
        Some(found) if found != u64::from(Calibration::VERSION) => Err(CalibrationError::Version { found }),
        Some(_) | None => Ok(serde_json::from_value(value)?),
    }
}
