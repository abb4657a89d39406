//! Day of a time, for partition folders.

/// Day (UTC) of a time in nanoseconds since the epoch, as `2026-11-23`.
pub fn day(at_ns: u64) -> String {
    // Eras of 400 years beginning on 1 March, so that the leap day is the last day of its year:
    // Howard Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`.
    let days = at_ns / NANOS_A_DAY + DAYS_TO_EPOCH;
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

const NANOS_A_DAY: u64 = 86_400_000_000_000;

/// From 1 March of the year 0 to 1 January 1970.
const DAYS_TO_EPOCH: u64 = 719_468;

const DAYS_OF_ERA: u64 = 146_097;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        // From `date -u -d @SECONDS +%F`.
        let known = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_391_999, "2026-11-22"),
            (1_795_392_000, "2026-11-23"),
            (4_107_542_400, "2100-03-01"),
        ];
        for (seconds, expected) in known {
            assert_eq!(day(seconds * 1_000_000_000), expected);
        }
        assert_eq!(day(u64::MAX), "2554-07-21");
    }
}
