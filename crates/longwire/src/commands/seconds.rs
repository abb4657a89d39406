//! Durations on the command line of load commands.

use std::time::Duration;

/// Accepts plain seconds, like pgbench, or a unit. Zero is an error.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => with_unit(text)?,
    };
    if time.is_zero() || time > MAX_DURATION {
        return Err("use a time above 0, up to a year, such as 60 (seconds) or 500ms".to_owned());
    }
    Ok(time)
}

/// Requires a unit of time.
pub fn with_unit(text: &str) -> Result<Duration, String> {
    let time = model::parse_duration(text).map_err(|error| error.to_string())?;
    if time > MAX_DURATION {
        return Err("a time is at most a year".to_owned());
    }
    Ok(time)
}

const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_seconds() {
        assert_eq!(time("2"), Ok(Duration::from_secs(2)));
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert!(time("0").is_err() && time("0s").is_err());
    }
}
