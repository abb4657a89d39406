//! The view of `ping`: a line per sample, the summary in one screen, and a table of several targets.

use super::bar::{self, Part};
use super::escape::printable;
use super::paragraph::{paragraph, wrapped};
use super::screen::{LINES, Screen};
use super::style::{Extent, Ink, Style};
use super::table::Table;
use super::waterfall::{remedies, waterfall};
use super::{DASH, counted};
use crate::outcome::{PingOpening, PingOutcome};
use model::{Distribution, Intermediary, Leg, Sample, SampleOutcome, Share};
use std::fmt::Write;
use std::time::Duration;

pub fn ping_opening(opening: &PingOpening, style: &Style) -> String {
    let mut line = format!("PING {}", opening.target);
    if let Some(server) = &opening.server {
        let _ = write!(line, " ({server})");
    }
    if let Some(version) = &opening.version {
        let _ = write!(line, ", {version}");
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
    let mut out = String::new();
    for text in [line.as_str(), &opening.question] {
        paragraph(text, "", Ink::Heading, style, &mut out);
    }
    out
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

/// Of each target the waterfall of a typical connection, if connections were opened, and the
/// summary; `above` lines of the terminal are taken.
pub fn ping_view(targets: &[(&PingOutcome, Vec<Leg>)], above: usize, style: &Style) -> String {
    let all = Style {
        extent: Extent::All,
        ..*style
    };
    let whole = summaries(targets, above, &all);
    match above + whole.lines().count() <= LINES {
        true => whole,
        false => summaries(targets, above, style),
    }
}

fn summaries(targets: &[(&PingOutcome, Vec<Leg>)], above: usize, style: &Style) -> String {
    let mut screen = Screen::below(above, style);
    let targets: Vec<TargetSummary<'_>> = targets
        .iter()
        .map(|(outcome, legs)| TargetSummary::new(outcome, legs, style))
        .collect();
    let mut later: usize = targets.iter().map(TargetSummary::lines).sum();
    for (number, target) in targets.iter().enumerate() {
        later -= target.lines();
        screen.keep(0);
        if number > 0 && target.lines() > screen.left() {
            screen.omit("other targets");
        } else {
            target.show(later, style, &mut screen);
        }
    }
    screen.finish("")
}

/// With texts that are shown in any case.
struct TargetSummary<'a> {
    outcome: &'a PingOutcome,
    legs: &'a [Leg],
    waterfall: String,
    /// With the network's share.
    heading: String,
    bar: String,
    counts: String,
    intermediary: String,
}

impl<'a> TargetSummary<'a> {
    fn new(outcome: &'a PingOutcome, legs: &'a [Leg], style: &Style) -> Self {
        let samples = &outcome.samples;
        let mut summary = Self {
            outcome,
            legs,
            waterfall: String::new(),
            heading: format!("\n--- {} ---\n", printable(&outcome.target)),
            bar: String::new(),
            counts: String::new(),
            intermediary: String::new(),
        };
        if !legs.is_empty() {
            summary.waterfall = format!("\n{}", waterfall(&outcome.target, legs, style));
        }
        if let Some(failed) = &outcome.failed {
            summary.heading += &wrapped(failed, "", Ink::Warning, style);
            return summary;
        }
        if let Some([sentence, bar]) = network(outcome, style) {
            summary.heading += &sentence;
            summary.bar = bar;
        }
        summary.counts = wrapped(&counts(outcome), "", Ink::Plain, style)
            + &spread("time", &samples.time, samples.totals.mdev, style);
        if let Some(found) = &outcome.intermediary {
            summary.intermediary = wrapped(&intermediary_note(found), "", Ink::Faint, style);
        }
        summary
    }

    fn lines(&self) -> usize {
        self.waterfall.lines().count() + self.lines_of_times() + self.heading.lines().count()
    }

    fn lines_of_times(&self) -> usize {
        self.counts.lines().count() + self.intermediary.lines().count()
    }

    /// Keeps lines for `later` targets.
    fn show(&self, later: usize, style: &Style, screen: &mut Screen<'_>) {
        screen.put(&self.waterfall);
        screen.keep(later + self.heading.lines().count() + self.lines_of_times());
        for remedy in remedies(self.legs, style) {
            screen.section("remedies", &remedy);
        }
        screen.put(&self.heading);
        screen.keep(later + self.lines_of_times());
        screen.section("bar", &self.bar);
        screen.put(&self.counts);
        screen.keep(later + self.intermediary.lines().count());
        if self.outcome.failed.is_none() {
            others(&self.outcome.samples, style, screen);
        }
        screen.put(&self.intermediary);
    }
}

/// The round trip without server time, the server's, the kernel's, and the floor.
fn others(samples: &SampleOutcome, style: &Style, screen: &mut Screen<'_>) {
    if samples.round_trip != samples.time {
        let rtt = spread("rtt", &samples.round_trip, samples.round_trip_mdev, style);
        screen.section("rtt", &rtt);
    }
    screen.section("server", &spread("server", &samples.server, None, style));
    if let Some(rtt) = samples.kernel_rtt {
        screen.section("kernel rtt", &labelled("kernel rtt", &milliseconds(rtt), style));
    }
    if let Some(words) = floor_words(samples) {
        screen.section("floor", &labelled("floor", &words, style));
    }
    if samples.time.count > 0 && samples.time.p99.is_none() {
        screen.section("notes", "-: withheld, p90 needs 100 samples and p99 1000\n");
    }
}

fn counts(outcome: &PingOutcome) -> String {
    let totals = &outcome.samples.totals;
    let errors = match totals.errors {
        0 => String::new(),
        errors => format!(", {}", counted(errors, "error")),
    };
    let first = outcome.samples.first.map_or_else(String::new, |first| {
        format!("; first call {} not included", milliseconds(first))
    });
    format!(
        "{} sent, {} answered, {} lost{errors}, in {}{first}",
        totals.sent,
        totals.answered,
        percent(totals.lost, totals.sent),
        model::format_duration(outcome.elapsed)
    )
}

/// A name in a column of its own.
fn labelled(name: &str, text: &str, style: &Style) -> String {
    let lines = wrapped(text, LABEL_INDENT, Ink::Plain, style);
    let (_, first) = lines.split_at(LABEL_INDENT.len().min(lines.len()));
    format!("{name:0$}{first}", LABEL_INDENT.len())
}

/// The network's share of the median sample, and its bar. `None` if it is not known.
fn network(outcome: &PingOutcome, style: &Style) -> Option<[String; 2]> {
    let whole = outcome.samples.time.p50?;
    let (network, source) = network_time(outcome)?;
    let network = network.min(whole);
    let share = Share::from_parts(network, whole)?;
    let [all, part] = [whole, network].map(milliseconds);
    let sentence = format!("{share} of {all} is the network: {part}, {source}.");
    let rest = whole.saturating_sub(network);
    let rest_words = format!("and hosts ({})", milliseconds(rest));
    let parts = [
        Part::new(bar::NETWORK, network, &format!("({part})")),
        Part::new(bar::SERVER, rest, &rest_words),
    ];
    let mut bar = String::new();
    bar::bar(&parts, style, &mut bar);
    Some([wrapped(&sentence, "", Ink::Heading, style), bar])
}

/// Time without the server's, else the shortest round trips that no server computes in: the kernel's
/// are not, where an acknowledgement waits for the reply.
fn network_time(outcome: &PingOutcome) -> Option<(Duration, &'static str)> {
    let samples = &outcome.samples;
    if samples.server.count > 0 {
        return Some((samples.round_trip.p50?, "without the server's own time"));
    }
    let each = samples.round_trip.p50.filter(|each| !each.is_zero())?;
    let turns = samples.time.p50?.div_duration_f64(each).round() as u32;
    let kernel = samples.min_kernel_rtt.or(samples.kernel_rtt);
    match outcome.handshake {
        Some(_) if is_near_floor(samples) => None,
        Some(handshake) if kernel.is_none_or(|kernel| handshake <= kernel) => {
            Some((handshake.saturating_mul(turns), "by the TCP handshake"))
        }
        Some(_) => Some((
            kernel?.saturating_mul(turns),
            "by the kernel's shortest round trip",
        )),
        None => Some((
            samples.kernel_rtt?.saturating_mul(turns),
            "by the kernel's round-trip time",
        )),
    }
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

fn spread(name: &str, spread: &Distribution, mdev: Option<Duration>, style: &Style) -> String {
    let (Some(min), Some(mean), Some(max)) = (spread.min, spread.mean, spread.max) else {
        return String::new();
    };
    let (mut words, mut values) = (
        "min/avg/max".to_owned(),
        format!("{}/{}/{}", plain(min), plain(mean), plain(max)),
    );
    if let Some(mdev) = mdev {
        words.push_str("/mdev");
        let _ = write!(values, "/{}", plain(mdev));
    }
    let [p50, p90, p99] =
        [spread.p50, spread.p90, spread.p99].map(|span| span.map_or_else(|| DASH.to_owned(), plain));
    let text = format!("{words} = {values} ms, median {p50}, p90 {p90}, p99 {p99}");
    labelled(name, &text, style)
}

fn is_near_floor(samples: &SampleOutcome) -> bool {
    let both = samples.totals.floor.zip(samples.round_trip.p50);
    both.is_some_and(|(floor, round_trip)| round_trip < floor * NEAR)
}

/// With a warning if the round trip is close to the floor.
fn floor_words(samples: &SampleOutcome) -> Option<String> {
    let (floor, _) = samples.totals.floor.zip(samples.round_trip.p50)?;
    let near = match is_near_floor(samples) {
        true => ". The rtt is near the floor: most of it may be this machine, not the distance",
        false => "",
    };
    Some(format!(
        "{}: this machine's own overhead, by a local echo ({}){near}",
        milliseconds(floor),
        counted(samples.floor.count, "time")
    ))
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
const LABEL_INDENT: &str = "            ";
