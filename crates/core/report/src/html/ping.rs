//! The page of `ping`: distance of each target, and the distribution of its round trips.

use super::markup::{DASH, count, counted, time, time_or_dash};
use super::old::small_print;
use super::old::{self, Opening, name_cell};
use super::spreads;
use crate::outcome::PingOutcome;
use model::{Conditions, Leg, Warning};
use std::io;

#[derive(Debug, Clone, Copy)]
pub struct PingPage<'a> {
    pub targets: &'a [PingOutcome],
    /// Legs of opening a typical connection, with the index of their target.
    pub legs: &'a [(usize, Vec<Leg>)],
    pub warnings: &'a [Warning],
}

pub fn write_ping(page: &PingPage<'_>, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    let mut html = String::with_capacity(1 << 15);
    let title = match page.targets {
        [one] => format!("Distance of {}", one.target),
        several => format!("Distance of {}", counted(several.len() as u64, "target")),
    };
    let sent: u64 = page.targets.iter().map(|target| target.samples.totals.sent).sum();
    old::begin(
        &Opening {
            title: &title,
            lead: &format!("{} sent.", counted(sent, "sample")),
            answer: &answer(page.targets),
        },
        &mut html,
    );
    spread(page.targets, &mut html);
    table(page.targets, &mut html);
    legs(page, &mut html);
    old::end(html, page.warnings, conditions, out)
}

fn answer(targets: &[PingOutcome]) -> String {
    let answered = targets.iter().filter(|target| target.samples.time.p50.is_some());
    let nearest = answered.min_by_key(|target| target.samples.time.p50);
    let Some(target) = nearest else {
        return "No target answered.".to_owned();
    };
    let samples = &target.samples;
    let round_trip = samples.round_trip.p50.map_or_else(String::new, |trip| {
        format!(", the round-trip time is {}", time(trip))
    });
    let lost = match samples.totals.lost {
        0 => String::new(),
        lost => format!("; {} of {} lost", count(lost), count(samples.totals.sent)),
    };
    let subject = match targets {
        [_] => "A reply".to_owned(),
        _ => format!("{} is nearest: a reply", target.target),
    };
    format!(
        "{subject} takes {}{round_trip} (median of {}){lost}.",
        time_or_dash(samples.time.p50),
        count(samples.time.count)
    )
}

fn spread(targets: &[PingOutcome], out: &mut String) {
    old::section("spread", "How times are distributed", out);
    let rows: Vec<spreads::Row<'_>> = targets
        .iter()
        .flat_map(|target| {
            let of = |what: &str| match targets {
                [_] => what.to_owned(),
                _ => format!("{what}, {}", target.target),
            };
            [
                (of("reply"), &target.samples.time),
                (of("rtt"), &target.samples.round_trip),
                (of("server"), &target.samples.server),
                (of("floor"), &target.samples.floor),
            ]
        })
        .collect();
    spreads::draw("times of replies, round trips, server and floor", &rows, out);
    small_print(
        "Reply: until its last byte. rtt: that without the server's time, per round trip. Floor: the same exchange with an echo on this \
         machine; a round trip near it says little of the distance.",
        out,
    );
    out.push_str("</section>\n");
}

fn table(targets: &[PingOutcome], out: &mut String) {
    old::section("targets", "Figures", out);
    let rows: Vec<Vec<String>> = targets
        .iter()
        .map(|target| {
            let samples = &target.samples;
            let failed = target.failed.as_deref().map_or_else(String::new, |why| {
                format!("<small class=\"bad\">{}</small>", name_cell(why))
            });
            vec![
                format!("{}{failed}", name_cell(&target.target)),
                count(samples.totals.sent),
                count(samples.totals.lost),
                count(samples.totals.errors),
                time_or_dash(samples.time.min),
                time_or_dash(samples.time.p50),
                time_or_dash(samples.time.p99),
                time_or_dash(samples.time.max),
                time_or_dash(samples.round_trip.p50),
                time_or_dash(samples.server.p50),
                time_or_dash(samples.kernel_rtt),
                time_or_dash(samples.first),
                count(samples.turns),
            ]
        })
        .collect();
    let headings = [
        "target",
        "sent",
        "lost",
        "errors",
        "shortest",
        "median",
        "99 %",
        "longest",
        "rtt",
        "server",
        "kernel",
        "first call",
        "trips",
    ];
    old::table(&headings, &rows, out);
    small_print(
        "The first call of a connection is in no other figure. A dash: too few samples, or not known.",
        out,
    );
    out.push_str("</section>\n");
}

fn legs(page: &PingPage<'_>, out: &mut String) {
    for (number, legs) in page.legs.iter().take(SHOWN) {
        let Some(target) = page.targets.get(*number) else {
            continue;
        };
        old::section(&format!("legs-{number}"), "Opening a connection", out);
        let rows: Vec<Vec<String>> = legs
            .iter()
            .map(|leg| {
                let [up, down] = leg.payload_bytes.into_array();
                vec![
                    name_cell(&leg.name),
                    time(leg.duration),
                    count(leg.turns),
                    format!("{} / {}", count(up), count(down)),
                    leg.remedy.as_deref().map_or_else(
                        || DASH.to_owned(),
                        |remedy| format!("<small>{}</small>", name_cell(remedy)),
                    ),
                ]
            })
            .collect();
        old::table(&["step", "time", "trips", "payload bytes", "remedy"], &rows, out);
        small_print(
            &format!(
                "{}: the connection whose opening took the median time.",
                name_cell(&target.target)
            ),
            out,
        );
        out.push_str("</section>\n");
    }
}

const SHOWN: usize = 20;
