//! Amounts as text, in the largest unit that divides them.

use std::time::Duration;

pub(crate) fn exact(amount: u64, units: &[(u64, &str)]) -> String {
    units
        .iter()
        .find(|(size, _)| amount != 0 && amount.is_multiple_of(*size))
        .map_or_else(
            || format!("{amount}{}", units.last().map_or("", |unit| unit.1)),
            |(size, unit)| format!("{}{unit}", amount / size),
        )
}

pub(crate) fn exact_duration(duration: Duration) -> String {
    exact(
        u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        &DURATION_UNITS,
    )
}

const DURATION_UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
pub(crate) const RATE_UNITS: [(u64, &str); 4] = [
    (1_000_000_000, "gbit"),
    (1_000_000, "mbit"),
    (1_000, "kbit"),
    (1, "bit"),
];
pub(crate) const SIZE_UNITS: [(u64, &str); 4] =
    [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
