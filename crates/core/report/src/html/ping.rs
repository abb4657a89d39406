//! The page of `ping`: distance of each target, and the distribution of its round trips.

use super::markup::{DASH, count, counted, section, small_print, time, time_or_dash};
use super::opening::{self, Opening, name_cell};
use super::spreads;
use crate::outcome::PingOutcome;
use maud::{Markup, Render, html};
use model::{Conditions, Leg, Warning};
use std::{io, iter};

#[derive(Debug, Clone, Copy)]
pub struct PingPage<'a> {
    pub targets: &'a [PingOutcome],
    /// Legs of opening a typical connection, with the index of their target.
    pub legs: &'a [(usize, Vec<Leg>)],
    pub warnings: &'a [Warning],
}

pub fn write_ping(page: &PingPage<'_>, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    let title = match page.targets {
        [one] => format!("Distance of {}", one.target),
        several => format!("Distance of {}", counted(several.len() as u64, "target")),
    };
    let sent: u64 = page.targets.iter().map(|target| target.samples.totals.sent).sum();
    opening::write(
        &Opening {
            title: &title,
            lead: &format!("{} sent.", counted(sent, "sample")),
            answer: &answer(page.targets),
        },
        vec![spread(page.targets), table(page.targets), legs(page)],
        page.warnings,
        conditions,
        out,
    )
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

fn spread(targets: &[PingOutcome]) -> Markup {
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
    let content = html! {
        (spreads::draw(["part, target", "duration"], &rows))
        (small_print(
            "Reply: until its last byte. rtt: that without the server's time, per round trip. Floor: the same \
             exchange with an echo on this machine; a round trip near it says little of the distance."
        ))
    };
    section("spread", "How times are distributed", content)
}

fn table(targets: &[PingOutcome]) -> Markup {
    let rows: Vec<Vec<Markup>> = targets.iter().map(row).collect();
    let content = html! {
        (opening::table(
            &[
                "target", "sent", "lost", "errors", "shortest", "median", "99 %", "longest", "rtt",
                "server", "kernel", "first call", "trips",
            ],
            &rows
        ))
        (small_print(
            "The first call of a connection is in no other figure. A dash: too few samples, or not known."
        ))
    };
    section("targets", "Figures", content)
}

fn row(target: &PingOutcome) -> Vec<Markup> {
    let samples = &target.samples;
    let name = html! {
        (name_cell(&target.target))
        @if let Some(why) = &target.failed { small.bad { (name_cell(why)) } }
    };
    let figures = [
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
    ];
    iter::once(name)
        .chain(figures.iter().map(Render::render))
        .collect()
}

fn legs(page: &PingPage<'_>) -> Markup {
    let of_targets = page.legs.iter().take(SHOWN);
    html! {
        @for (number, legs) in of_targets {
            @if let Some(target) = page.targets.get(*number) { (opened(*number, target, legs)) }
        }
    }
}

fn opened(number: usize, target: &PingOutcome, legs: &[Leg]) -> Markup {
    let rows: Vec<Vec<Markup>> = legs.iter().map(leg).collect();
    let content = html! {
        (opening::table(&["step", "time", "trips", "payload bytes", "remedy"], &rows))
        p.small { (name_cell(&target.target)) ": the connection whose opening took the median time." }
    };
    section(&format!("legs-{number}"), "Opening a connection", content)
}

fn leg(leg: &Leg) -> Vec<Markup> {
    let [up, down] = leg.payload_bytes.into_array();
    let remedy = leg.remedy.as_deref().map(name_cell);
    vec![
        name_cell(&leg.name).render(),
        time(leg.duration).render(),
        count(leg.turns).render(),
        html! { (count(up)) " / " (count(down)) },
        html! { @if let Some(remedy) = remedy { small { (remedy) } } @else { (DASH) } },
    ]
}

const SHOWN: usize = 20;
