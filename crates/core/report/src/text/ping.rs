//! The view of `ping`: a line per sample, ping's summary, and a table of several targets.

use super::escape::printable;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted};
use crate::outcome::{PingOpening, PingOutcome};
use model::{Distribution, Intermediary, Sample, SampleOutcome, Share};
use std::fmt::Write;
use std::time::Duration;

pub fn ping_opening(opening: &PingOpening) -> String {
    let mut line = format!("PING {}", printable(&opening.target));
    if let Some(server) = &opening.server {
        let _ = write!(line, " ({server})");
    }
    if let Some(version) = &opening.version {
        let _ = write!(line, ", {}", printable(version));
    }
    if !opening.legs.is_empty() {
        let turns: u64 = opening.legs.iter().map(|leg| leg.turns).sum();
        let time: Duration = opening.legs.iter().map(|leg| leg.duration).sum();
        let _ = write!(
            line,
            "; opened with {} in {}",
            counted(turns, "round trip"),
            milliseconds(time)
        );
    }
    let _ = write!(line, "\n{}\n", printable(&opening.question));
    line
}

/// Starts with the target's name if `named`.
pub fn ping_line(sample: &Sample, named: bool, style: &Style) -> String {
    let mut line = String::new();
    if named {
        let _ = write!(line, "{}: ", printable(&sample.target));
    }
    match sample.first {
        true => line.push_str("first call  "),
        false => {
            let _ = write!(line, "seq={:<6}  ", sample.number);
        }
    }
    if let Some(duration) = sample.duration {
        let _ = write!(line, "time={}", milliseconds(duration));
    }
    if let Some(server) = sample.server {
        let _ = write!(line, "  server={}", milliseconds(server));
    }
    if let Some(turns) = sample.turns {
        let _ = write!(line, "  trips={turns}");
    }
    if let Some(rtt) = sample.kernel_rtt {
        let _ = write!(line, "  kernel rtt={}", milliseconds(rtt));
    }
    if let Some(error) = &sample.error {
        let word = if sample.duration.is_some() {
            "  error"
        } else {
            "lost"
        };
        line.push_str(&style.paint(Ink::Warning, &format!("{word}: {}", printable(error))));
    }
    line.push('\n');
    line
}

/// ping's summary, with percentiles, the round trip without server time, and the floor.
pub fn ping_summary(outcome: &PingOutcome, style: &Style) -> String {
    let samples = &outcome.samples;
    let totals = &samples.totals;
    let mut out = format!("\n--- {} ---\n", printable(&outcome.target));
    if let Some(failed) = &outcome.failed {
        let _ = writeln!(out, "{}", printable(failed));
        return out;
    }
    let _ = write!(
        out,
        "{} sent, {} answered, {} lost",
        totals.sent,
        totals.answered,
        percent(totals.lost, totals.sent)
    );
    if totals.errors > 0 {
        let _ = write!(out, ", {}", counted(totals.errors, "error"));
    }
    let _ = writeln!(out, ", in {}", model::format_duration(outcome.elapsed));
    if let Some(first) = samples.first {
        let _ = writeln!(out, "first call  {} (not included below)", milliseconds(first));
    }
    spread(&mut out, "time", &samples.time, totals.mdev);
    if samples.round_trip.count > 0 && samples.round_trip != samples.time {
        spread(&mut out, "rtt", &samples.round_trip, samples.round_trip_mdev);
    }
    if samples.server.count > 0 {
        spread(&mut out, "server", &samples.server, None);
    }
    if let Some(rtt) = samples.kernel_rtt {
        let _ = writeln!(out, "kernel rtt  {}", milliseconds(rtt));
    }
    floor(&mut out, samples);
    if let Some(sentence) = network_sentence(samples) {
        paragraph(&sentence, "", Ink::Heading, style, &mut out);
    }
    if let Some(intermediary) = &outcome.intermediary {
        paragraph(&intermediary_note(intermediary), "", Ink::Faint, style, &mut out);
    }
    if samples.time.count > 0 && samples.time.p99.is_none() {
        out.push_str("-: withheld, p90 needs 100 samples and p99 1000\n");
    }
    out
}

/// The network's share of the median sample: time without the server's, else the kernel's round
/// trips. `None` if neither is known.
fn network_sentence(samples: &SampleOutcome) -> Option<String> {
    let whole = samples.time.p50?;
    let (network, source) = match (samples.round_trip.p50, samples.kernel_rtt) {
        (Some(network), _) if samples.server.count > 0 => (network, "without the server's own time"),
        (_, Some(rtt)) => (
            rtt.saturating_mul(u32::try_from(samples.turns).ok()?),
            "by the kernel's round-trip time",
        ),
        _ => return None,
    };
    let share = Share::from_parts(network, whole)?;
    Some(format!(
        "{share} of {} is the network: {}, {source}.",
        milliseconds(whole),
        milliseconds(network)
    ))
}

pub fn intermediary_note(found: &Intermediary) -> String {
    let unless = match found.server_reported {
        true => "the server's own time taken off",
        false => "for requests that need no work of a server",
    };
    format!(
        "an SSH tunnel, a proxy, a pooler or a load balancer answers TCP for the server: the connection's round-trip time is {}. No \
         answer took less than {}, {unless}, each time about as long. The distance is behind it: run longwire ping on the host where it \
         ends to see that leg alone. Capture there or on its far side: a capture from here counts the distance as server time",
        milliseconds(found.near_round_trip),
        milliseconds(found.round_trip),
    )
}

pub fn ping_table(outcomes: &[PingOutcome], style: &Style) -> String {
    let mut table = Table::new([
        "target", "sent", "lost", "last ms", "median", "p99", "rtt", "server", "kernel", "trips",
    ]);
    for outcome in outcomes {
        let samples = &outcome.samples;
        let last = match &outcome.last {
            Some(sample) => sample.duration.map_or_else(|| "lost".to_owned(), plain),
            None if outcome.failed.is_some() => "failed".to_owned(),
            None => DASH.to_owned(),
        };
        let or_dash = |span: Option<Duration>| span.map_or_else(|| DASH.to_owned(), plain);
        table.row([
            outcome.target.clone(),
            samples.totals.sent.to_string(),
            percent(samples.totals.lost, samples.totals.sent),
            last,
            or_dash(samples.time.p50),
            or_dash(samples.time.p99),
            or_dash(samples.round_trip.p50),
            or_dash(samples.server.p50),
            or_dash(samples.kernel_rtt),
            samples.turns.to_string(),
        ]);
    }
    let mut out = String::new();
    table.render(style, &mut out);
    out
}

fn spread(out: &mut String, name: &str, spread: &Distribution, mdev: Option<Duration>) {
    let (Some(min), Some(mean), Some(max)) = (spread.min, spread.mean, spread.max) else {
        return;
    };
    let (mut words, mut values) = (
        "min/avg/max".to_owned(),
        format!("{}/{}/{}", plain(min), plain(mean), plain(max)),
    );
    if let Some(mdev) = mdev {
        words.push_str("/mdev");
        let _ = write!(values, "/{}", plain(mdev));
    }
    let or_dash = |span: Option<Duration>| span.map_or_else(|| DASH.to_owned(), plain);
    let _ = writeln!(
        out,
        "{name:<10}  {words} = {values} ms, median {}, p90 {}, p99 {}",
        or_dash(spread.p50),
        or_dash(spread.p90),
        or_dash(spread.p99)
    );
}

/// The floor, with a warning if the round trip is close to it.
fn floor(out: &mut String, samples: &SampleOutcome) {
    let (Some(floor), Some(round_trip)) = (samples.totals.floor, samples.round_trip.p50) else {
        return;
    };
    let _ = write!(
        out,
        "floor       {}: overhead of this machine, measured with a local echo ({})",
        milliseconds(floor),
        counted(samples.floor.count, "time")
    );
    if round_trip < floor * NEAR {
        let _ = write!(
            out,
            "\nThe round-trip time is near the floor: most of it may be this machine's own handling, not the distance"
        );
    }
    out.push('\n');
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => DASH.to_owned(),
        _ => {
            let text = format!("{:.3}", part as f64 * 100.0 / whole as f64);
            format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// In milliseconds to the microsecond, as ping prints it.
fn milliseconds(span: Duration) -> String {
    format!("{} ms", plain(span))
}

fn plain(span: Duration) -> String {
    format!("{:.3}", span.as_secs_f64() * 1000.0)
}

/// A round trip below this many floors is near the floor.
const NEAR: u32 = 3;
