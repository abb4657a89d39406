//! Clock steps during a capture are reported with their size and removed from all figures.

mod support;

use std::time::Duration;
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::read_bytes;

/// A dialogue with 300 us to a reply, 700 us to the next request.
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

fn read_frames(frames: &[Frame]) -> (Vec<Duration>, Vec<String>) {
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
    let (steady, said) = read_frames(&frames());
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
            let (times, said) = read_frames(&frames);
            assert_eq!(times, steady, "{words} at {place}");
            let [said] = &said[..] else { panic!("{said:?}") };
            assert!(said.contains(words), "{said}");
            assert!(said.contains(&format!("before packet {}", place + 1)), "{said}");
        }
    }
}

fn stepped(steps: &[(std::ops::Range<usize>, i64)]) -> Vec<Frame> {
    let mut frames = frames();
    for (range, step) in steps {
        for frame in &mut frames[range.clone()] {
            frame.at = frame.at.saturating_add_signed(*step);
        }
    }
    frames
}

#[test]
fn a_clock_that_is_wrong_for_a_while_changes_no_time() {
    let (steady, _) = read_frames(&frames());
    let (half, two, three) = (SECOND / 2, 2 * SECOND, 3 * SECOND);
    for (steps, said_as) in [
        (
            vec![(9..15, -30 * SECOND)],
            "back by 30.0 s before packet 10 (the largest of 2 steps)",
        ),
        (vec![(9..15, -half)], "(the largest of 2 steps)"),
        (vec![(9..15, YEAR)], "365 days before packet"),
        // Set back repeatedly, and corrected each time.
        (
            vec![(6..8, -two), (10..12, -two), (15..18, -two)],
            "(the largest of 6 steps)",
        ),
        // Set back twice, and corrected at once or step by step.
        (
            vec![(6..9, -two), (9..15, -two - three)],
            "(the largest of 3 steps)",
        ),
        (
            vec![(6..9, -two), (9..15, -two - three), (15..18, -two)],
            "(the largest of 4 steps)",
        ),
    ] {
        let (times, said) = read_frames(&stepped(&steps));
        assert_eq!(times, steady, "{steps:?}");
        let [said] = &said[..] else { panic!("{said:?}") };
        assert!(said.contains(said_as), "{said}");
    }
}

/// A wait that differs from the step stays a wait, and so does a second one of its length.
#[test]
fn waiting_after_a_step_back_is_not_the_undoing_of_it() {
    let waited = |waits: &[(usize, i64)]| {
        let mut frames = stepped(&[(6..23, -2 * SECOND)]);
        for (place, wait) in waits {
            for frame in &mut frames[*place..] {
                frame.at = frame.at.saturating_add_signed(*wait);
            }
        }
        let (times, _) = read_frames(&frames);
        *times.last().expect("payload")
    };
    let steady = waited(&[]);
    assert_eq!(waited(&[(12, SECOND)]) - steady, Duration::from_secs(1));
    assert_eq!(waited(&[(12, 3 * SECOND)]) - steady, Duration::from_secs(3));
    assert_eq!(
        waited(&[(12, 2 * SECOND), (16, 2 * SECOND)]) - steady,
        Duration::from_secs(2)
    );
}

/// NTP corrects small differences by running the clock at most 0.05 % faster or slower.
#[test]
fn a_clock_that_is_slowed_down_is_no_step() {
    let mut slewed = frames();
    for frame in &mut slewed {
        frame.at -= frame.at / 2_000;
    }
    let (times, said) = read_frames(&slewed);
    assert!(said.is_empty(), "{said:?}");
    let (steady, _) = read_frames(&frames());
    let by = steady
        .last()
        .expect("payload")
        .abs_diff(*times.last().expect("payload"));
    assert!(by <= *steady.last().expect("payload") / 1_000, "{by:?}");
}

/// Interfaces are written out of order: a packet of another one is not a step.
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
    let (steady, _) = read_frames(&frames);
    let first = observed[0].segments[0].at;
    let times: Vec<Duration> = observed[0]
        .segments
        .iter()
        .map(|piece| piece.at.since(first))
        .collect();
    assert_eq!(times, steady);
}

#[test]
fn a_long_silence_is_no_step() {
    let mut frames = frames();
    for frame in &mut frames[9..] {
        frame.at += 3 * 86_400 * 1_000_000_000;
    }
    let (times, said) = read_frames(&frames);
    assert!(said.is_empty(), "{said:?}");
    assert!(*times.last().expect("payload") > Duration::from_secs(3 * 86_400));
}
