//! One lost packet changes few exchanges: decoding resynchronises on later ones.
//!
//! Removes each packet with payload in turn from every capture and recording of the tests, and
//! counts exchanges that differ from those of the whole capture. Exchanges that lost bytes count as
//! changed. If requests are batched, one packet may hold bytes of more than [`FEW`] exchanges; then
//! no others may change.
//!
//! `LOST_PACKET_CAPTURES=DIR cargo test -p longwire --test files lost_packet -- --nocapture` adds
//! the captures of a folder, and `LOST_PACKET_VERBOSE=1` lists each try that changes more than
//! [`FEW`] exchanges.

mod budgets;
mod captures;
mod compare;
mod observe;

use captures::{Capture, captures};
use compare::changed;
use observe::exchanges;
use std::collections::BTreeMap;

const FEW: usize = 3;

/// Per capture, spread evenly.
const MAX_TRIES: usize = 100;

#[derive(Default)]
struct Tally {
    tries: usize,
    few: usize,
    /// Tries that changed at most [`FEW`] exchanges, or only those with lost bytes.
    own: usize,
    worst: usize,
}

#[test]
fn a_lost_packet_changes_few_exchanges_of_its_connection() {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let verbose = std::env::var_os("LOST_PACKET_VERBOSE").is_some();
    for capture in captures() {
        try_each_packet(&capture, &mut tallies, verbose);
    }
    println!(
        "{:10} {:>6} {:>9} {:>18} {:>6}",
        "protocol", "tries", "few", "few, or its own", "worst"
    );
    let mut bad = Vec::new();
    for (protocol, tally) in &tallies {
        let share = |count: usize| 100.0 * count as f64 / tally.tries as f64;
        println!(
            "{protocol:10} {:6} {:7.1} % {:16.1} % {:6}",
            tally.tries,
            share(tally.few),
            share(tally.own),
            tally.worst
        );
        if tally.own * 100 < tally.tries * expected_percent(protocol) {
            bad.push(protocol);
        }
    }
    assert!(tallies.len() > 8, "there are captures of all protocols");
    assert!(
        bad.is_empty(),
        "more than {FEW} exchanges change in over 5 % of tries (HTTP/2: 20 %): {bad:?}"
    );
}

/// Fields of HTTP/2 are compressed with those before (RFC 7541, 2.2). Without a lost one, gRPC is
/// not recognised any more, and the messages of a stream both ways are one exchange.
fn expected_percent(protocol: &str) -> usize {
    match protocol {
        "http2" => 80,
        _ => 95,
    }
}

fn try_each_packet(capture: &Capture, tallies: &mut BTreeMap<String, Tally>, verbose: bool) {
    let clean = exchanges(&capture.bytes());
    let payload = capture.payload_packets();
    let tries = payload.len().min(MAX_TRIES);
    let mut over = 0;
    for number in 0..tries {
        let lost = &payload[number * payload.len() / tries];
        let found = exchanges(&capture.without(lost.packet));
        let count = changed(&clean.exchanges, &found.exchanges);
        let touched = clean.touched_by(lost);
        let tally = tallies.entry(clean.protocol.clone()).or_default();
        tally.tries += 1;
        tally.worst = tally.worst.max(count);
        tally.few += usize::from(count <= FEW);
        if count <= FEW.max(touched) {
            tally.own += 1;
        } else {
            over += 1;
            if verbose {
                println!(
                    "{}: without packet {}: {count} changed",
                    capture.name,
                    lost.packet + 1
                );
                for line in compare::difference(&clean.exchanges, &found.exchanges)
                    .iter()
                    .take(8)
                {
                    println!("    {line}");
                }
            }
        }
    }
    if verbose && over > 0 {
        println!("{}: {over} of {tries}", capture.name);
    }
}
