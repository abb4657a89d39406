//! Clocks that are set while a capture runs: said with the amount, and no figure has the step in it.

mod support;

use std::time::Duration;
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::read_bytes;

/// A dialogue: 300 us to an answer, 700 us to the next question.
fn frames() -> Vec<Frame> {
    let mut packets = build::handshake();
    for turn in 0..10u32 {
        let at = 1_000 * u64::from(turn + 1);
        let (ask, answer) = (1001 + 4 * turn, 5001 + 9 * turn);
        packets.push(tcp(at, true, "PA", ask, answer).with(b"asks"));
        packets.push(tcp(at + 300, false, "PA", answer, ask + 4).with(b"and hears"));
    }
    packets.iter().map(Tcp::frame).collect()
}

/// When payload passed, and what was said.
fn read(frames: &[Frame]) -> (Vec<Duration>, Vec<String>) {
    let (observed, report) = read_bytes(&build::pcap(NANO, frames)).expect("a capture");
    assert_eq!(observed.len(), 1);
    let first = observed[0].segments[0].at;
    let times = observed[0].segments.iter().map(|piece| piece.at.since(first));
    let said = report.warnings.into_iter().map(|warning| warning.text);
    (times.collect(), said.collect())
}

const SECOND: i64 = 1_000_000_000;
const YEAR: i64 = 365 * 86_400 * SECOND;

#[test]
fn a_clock_that_steps_is_said_and_changes_no_time() {
    let (steady, said) = read(&frames());
    assert!(said.is_empty(), "{said:?}");
    for (step, words) in [
        (-2 * SECOND, "stepped back by 2.00 s"),
        (-SECOND / 2, "stepped back by 500 ms"),
        (-3_600 * SECOND, "stepped back by 3600 s"),
        (-YEAR, "stepped back by 365 days"),
        (YEAR, "stepped ahead by 365 days"),
    ] {
        for place in [9, 14] {
            let mut frames = frames();
            for frame in &mut frames[place..] {
                frame.at = frame.at.saturating_add_signed(step);
            }
            let (times, said) = read(&frames);
            assert_eq!(times, steady, "{words} at {place}");
            let [said] = &said[..] else { panic!("{said:?}") };
            assert!(said.contains(words), "{said}");
            assert!(said.contains(&format!("before packet {}", place + 1)), "{said}");
        }
    }
}

#[test]
fn a_clock_that_is_wrong_for_a_while_changes_no_time() {
    let (steady, _) = read(&frames());
    for step in [-30 * SECOND, YEAR] {
        let mut frames = frames();
        for frame in &mut frames[9..15] {
            frame.at = frame.at.saturating_add_signed(step);
        }
        let (times, said) = read(&frames);
        let back = if step < 0 { 15 } else { 9 };
        assert_eq!(times[..back - 3], steady[..back - 3], "{step}");
        assert!(said.iter().any(|said| said.contains("stepped")), "{said:?}");
        if step > 0 {
            assert_eq!(times, steady);
        }
    }
}

/// Interfaces are written out of order: a packet of another one is no step.
#[test]
fn packets_of_another_interface_out_of_order_are_no_step() {
    let frames = frames();
    let mut capture = build::section(false);
    for _ in 0..2 {
        capture.extend(build::interface(false, 1, 0, Some(9), None));
    }
    let late = 5;
    for (index, frame) in frames.iter().enumerate() {
        capture.extend(build::enhanced(false, 0, frame.at, frame));
        if index == late {
            let stray = tcp(0, true, "S", 5, 0).frame_between("10.0.0.9:4", "10.0.0.8:5");
            capture.extend(build::enhanced(false, 1, frame.at - 700_000_000, &stray));
        }
    }
    let (observed, report) = read_bytes(&capture).expect("a capture");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let (steady, _) = read(&frames);
    let first = observed[0].segments[0].at;
    let times: Vec<Duration> = observed[0]
        .segments
        .iter()
        .map(|piece| piece.at.since(first))
        .collect();
    assert_eq!(times, steady);
}

/// Days of silence are believed.
#[test]
fn a_long_silence_is_no_step() {
    let mut frames = frames();
    for frame in &mut frames[9..] {
        frame.at += 3 * 86_400 * 1_000_000_000;
    }
    let (times, said) = read(&frames);
    assert!(said.is_empty(), "{said:?}");
    assert!(*times.last().expect("payload") > Duration::from_secs(3 * 86_400));
}
