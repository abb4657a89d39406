//! An emulated link, realised and requested.

use super::counted;
use super::escape::printable;
use model::{LinkDirectionOutcome, LinkOutcome, PerDirection, Warning, WarningKind, format_duration};
use std::fmt::Write;
use std::time::Duration;

/// Prints extra round-trip time, rates if limited, and dropped packets in one line.
pub fn link_line(link: &LinkOutcome) -> String {
    let mut line = format!(
        "Link {}, requested {}: ",
        printable(&link.name),
        printable(&link.asked)
    );
    match (link.rtt_error_p50_ns, link.rtt_error_p99_ns) {
        (Some(p50), Some(p99)) => {
            let _ = write!(line, "rtt {} (p99 {})", signed(p50), signed(p99));
        }
        (Some(p50), None) => {
            let _ = write!(line, "rtt {}", signed(p50));
        }
        _ => line.push_str("too few packets to check its rtt"),
    }
    for (direction, which) in link.directions.iter().zip(["up", "down"]) {
        if let (Some(asked), Some(realised)) = (direction.rate, direction.realised_rate) {
            let _ = write!(line, "; {realised} of {asked} {which}");
        }
    }
    let packets: u64 = link.directions.iter().map(|direction| direction.packets).sum();
    let _ = write!(line, "; {}", counted(packets, "packet"));
    let dropped = dropped(&link.directions);
    if !dropped.is_empty() {
        let _ = write!(line, ", dropped {dropped}");
    }
    if let Some(floor) = link.floor {
        let _ = write!(line, "; floor {}", format_duration(floor));
    }
    line.push('\n');
    line
}

/// Warnings of deviating round-trip times or rates.
pub fn link_warnings(link: &LinkOutcome) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String| {
        let name = printable(&link.name);
        let text = format!("the link {name} was not as requested: {what}; was the machine busy?");
        warnings.push(Warning::new(WarningKind::LinkNotAsAsked, text));
    };
    let allowed = |least: Duration, share: u32| least.max(link.rtt / share);
    if let Some(p50) = link.rtt_error_p50_ns
        && off(p50) > allowed(Duration::from_micros(250), 100)
    {
        warn(format!("its round-trip time was {} in the median", longer(p50)));
    } else if let Some(p99) = link.rtt_error_p99_ns
        && off(p99) > allowed(Duration::from_millis(2), 20)
    {
        warn(format!(
            "one in a hundred of its round trips was {} or more",
            longer(p99)
        ));
    }
    let unasked: u64 = link
        .directions
        .iter()
        .map(|direction| direction.dropped_unasked)
        .sum();
    if unasked > 0 {
        warn(format!(
            "{} lost beyond the requested loss",
            counted(unasked, "packet")
        ));
    }
    for direction in &link.directions {
        if let (Some(asked), Some(realised)) = (direction.rate, direction.realised_rate) {
            let share = realised.as_bits_per_second() as f64 / asked.as_bits_per_second().max(1) as f64;
            if (share - 1.0).abs() > RATE_MAY_BE_OFF {
                warn(format!("its rate was {realised} instead of {asked}"));
            }
        }
    }
    warnings
}

fn off(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.unsigned_abs())
}

/// With a sign, as in `+31.2 us`.
pub(super) fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    format!("{sign}{}", format_duration(off(nanos)))
}

fn longer(nanos: i64) -> String {
    let word = if nanos < 0 { "too short" } else { "too long" };
    format!("{} {word}", format_duration(off(nanos)))
}

fn dropped(directions: &PerDirection<LinkDirectionOutcome>) -> String {
    let sum = |of: fn(&LinkDirectionOutcome) -> u64| directions.iter().map(of).sum::<u64>();
    let causes = [
        (sum(|direction| direction.dropped_by_queue), "by its queue"),
        (sum(|direction| direction.dropped_by_loss), "at random"),
        (sum(|direction| direction.dropped_by_outage), "by outages"),
        (sum(|direction| direction.dropped_unasked), "unasked"),
    ];
    let parts = causes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, cause)| format!("{count} {cause}"));
    parts.collect::<Vec<_>>().join(", ")
}

const RATE_MAY_BE_OFF: f64 = 0.02;
