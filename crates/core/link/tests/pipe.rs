//! A pipe delays, serialises and drops as its link says.

use link::{DelayLine, DropCause, LinkDescription, PacketOutcome, Pipe};
use model::{BitRate, ByteCount, Direction, PerDirection, Timestamp};
use proptest::prelude::*;
use std::time::Duration;

fn at(nanoseconds: u64) -> Timestamp {
    Timestamp::from_nanos(nanoseconds)
}

fn link(text: &str) -> Pipe {
    let link: LinkDescription = text.parse().expect("a link");
    link.pipe(Direction::ClientToServer)
}

fn pipe(delay_ms: u64, bits_per_second: u64, queue: Option<u64>) -> Pipe {
    let link = LinkDescription {
        rate: PerDirection::splat(BitRate::from_bits_per_second(bits_per_second)),
        queue: queue.map(ByteCount::from_bytes),
        ..LinkDescription::with_rtt(Duration::from_millis(2 * delay_ms))
    };
    link.pipe(Direction::ClientToServer)
}

fn arrival(outcome: PacketOutcome) -> Option<u64> {
    match outcome {
        PacketOutcome::Arrives(arrives) => Some(arrives.as_nanos()),
        PacketOutcome::Dropped(_) => None,
    }
}

#[test]
fn without_a_rate_only_the_delay_counts() {
    let mut pipe = pipe(5, 0, None);
    assert_eq!(arrival(pipe.accept(at(7), 1500)), Some(5_000_007));
    assert_eq!(arrival(pipe.accept(at(7), 1500)), Some(5_000_007));
}

#[test]
fn fifty_bytes_at_a_thousand_a_second_take_fifty_milliseconds() {
    let mut pipe = pipe(0, 8_000, None);
    assert_eq!(arrival(pipe.accept(at(0), 50)), Some(50_000_000));
    assert_eq!(arrival(pipe.accept(at(0), 50)), Some(100_000_000));
    assert_eq!(arrival(pipe.accept(at(200_000_000), 50)), Some(250_000_000));
}

#[test]
fn what_exceeds_the_queue_is_dropped_and_the_rest_is_not_late() {
    let mut pipe = pipe(0, 8_000_000, Some(3000));
    assert_eq!(arrival(pipe.accept(at(0), 1500)), Some(1_500_000));
    assert_eq!(arrival(pipe.accept(at(0), 1500)), Some(3_000_000));
    assert_eq!(pipe.accept(at(0), 52), PacketOutcome::Dropped(DropCause::Queue));
    assert_eq!(pipe.waiting_bytes(at(1_000_000)), 2000);
    assert_eq!(arrival(pipe.accept(at(1_000_000), 1000)), Some(4_000_000));
    assert_eq!(
        pipe.accept(at(1_000_000), 1),
        PacketOutcome::Dropped(DropCause::Queue)
    );
}

#[test]
fn an_idle_pipe_takes_a_packet_larger_than_its_queue() {
    let mut pipe = pipe(0, 8_000_000, Some(1500));
    assert_eq!(arrival(pipe.accept(at(0), 9000)), Some(9_000_000));
}

#[test]
fn a_line_gives_packets_back_in_order_and_in_time() {
    let mut line = DelayLine::new(pipe(1, 8_000_000, Some(2000)));
    for number in 0..3 {
        line.accept(at(0), 1000, number);
    }
    assert_eq!((line.dropped(), line.next_wake()), (1, Some(at(2_000_000))));
    assert_eq!(line.release(at(1_999_999)), None);
    assert_eq!(line.release(at(2_000_000)), Some(0));
    assert_eq!(line.release(at(2_000_000)), None);
    assert_eq!(line.release(at(9_000_000)), Some(1));
    assert_eq!((line.release(at(9_000_000)), line.next_wake()), (None, None));
}

#[test]
fn a_burst_passes_an_idle_link_at_once_and_is_saved_up_again_at_the_rate() {
    let mut pipe = link("rate=8mbit burst=3000B");
    for _ in 0..2 {
        assert_eq!(arrival(pipe.accept(at(0), 1500)), Some(0));
    }
    assert_eq!(arrival(pipe.accept(at(0), 1500)), Some(1_500_000));
    assert_eq!(pipe.waiting_bytes(at(0)), 1500);
    // 1500 bytes of credit are back 1.5 ms after the queue is empty.
    assert_eq!(arrival(pipe.accept(at(3_000_000), 1500)), Some(3_000_000));
    assert_eq!(arrival(pipe.accept(at(3_000_000), 1500)), Some(4_500_000));
}

#[test]
fn the_same_seed_loses_the_same_packets_and_as_many_as_asked() {
    let lost = |text: &str| -> Vec<usize> {
        let mut pipe = link(text);
        let fate = |at_us: usize| pipe.accept(at(at_us as u64), 100);
        let fates: Vec<PacketOutcome> = (0..100_000).map(fate).collect();
        let lost = fates.iter().enumerate();
        lost.filter(|(_, fate)| **fate == PacketOutcome::Dropped(DropCause::Loss))
            .map(|(number, _)| number)
            .collect()
    };
    let of_seed_7 = lost("rtt=1ms loss=1% seed=7");
    // A binomial count is within four standard deviations (126) of its mean but once in 16,000.
    assert!((874..1126).contains(&of_seed_7.len()), "{}", of_seed_7.len());
    assert_eq!(of_seed_7, lost("rtt=9ms loss=1% seed=7 jitter=1ms"));
    assert_ne!(of_seed_7, lost("rtt=1ms loss=1% seed=8"));
}

#[test]
fn the_two_directions_lose_independently() {
    let link: LinkDescription = "rtt=1ms loss=10%".parse().expect("a link");
    let fates = [Direction::ClientToServer, Direction::ServerToClient].map(|direction| {
        let mut pipe = link.pipe(direction);
        (0..1000)
            .map(|number| arrival(pipe.accept(at(number), 100)).is_some())
            .collect::<Vec<_>>()
    });
    assert_ne!(fates[0], fates[1]);
}

#[test]
fn jitter_has_the_spread_asked_for_and_never_reorders() {
    let travel_times = |text: &str, gap: u64| -> Vec<f64> {
        let mut pipe = link(text);
        let mut last = 0;
        let times = (1..=20_000).map(|number| {
            let sent = number * gap;
            let arrives = arrival(pipe.accept(at(sent), 100)).expect("no loss asked for");
            assert!(arrives >= last);
            last = arrives;
            (arrives - sent) as f64 / 1e6
        });
        times.collect()
    };
    // Packets far apart do not delay each other.
    let uniform = travel_times("rtt=40ms jitter=2ms", 100_000_000);
    let mean = uniform.iter().sum::<f64>() / uniform.len() as f64;
    assert!((mean - 20.0).abs() < 0.05, "{mean}");
    assert!(uniform.iter().all(|time| (18.0..=22.0).contains(time)));
    let normal = travel_times("rtt=40ms jitter=2ms:normal", 100_000_000);
    let variance = normal.iter().map(|time| (time - 20.0).powi(2)).sum::<f64>() / normal.len() as f64;
    assert!((variance.sqrt() - 2.0).abs() < 0.1, "{variance}");
    // Packets close together.
    travel_times("rtt=40ms jitter=20ms", 100_000);
}

#[test]
fn an_outage_takes_what_comes_during_it() {
    let mut pipe = link("outage=2s@10s/60s");
    let mut passes = |seconds: u64| arrival(pipe.accept(at(seconds * 1_000_000_000), 100)).is_some();
    let seen = [1000, 1009, 1010, 1011, 1012, 1069, 1070, 1071, 1072].map(&mut passes);
    assert_eq!(seen, [true, true, false, false, true, true, false, false, true]);
    let mut once = link("outage=500ms@1s");
    assert_eq!(once.accept(at(5), 100), PacketOutcome::Arrives(at(5)));
    assert_eq!(
        once.accept(at(1_000_000_005), 100),
        PacketOutcome::Dropped(DropCause::Outage)
    );
    assert_eq!(
        once.accept(at(1_500_000_005), 100),
        PacketOutcome::Arrives(at(1_500_000_005))
    );
}

proptest! {
    /// Rounding must not add up: a long train takes as long as one packet of all its bytes.
    #[test]
    fn a_train_takes_its_bytes_over_the_rate(
        rate in 1_000..=400_000_000_000_u64,
        sizes in prop::collection::vec(40..=1500_u32, 1..400),
    ) {
        let mut pipe = pipe(0, rate, None);
        let last = sizes.iter().fold(None, |_, &size| arrival(pipe.accept(at(0), size)));
        let bits = sizes.iter().map(|&size| u128::from(size) * 8).sum::<u128>();
        let exact = (bits * 1_000_000_000 / u128::from(rate)) as u64;
        prop_assert_eq!(last, Some(exact));
    }

    #[test]
    fn no_more_waits_than_the_queue_holds(
        queue in 1_500..=20_000_u64,
        packets in prop::collection::vec((0..2_000_000_u64, 40..=1500_u32), 1..300),
    ) {
        let mut pipe = pipe(0, 10_000_000, Some(queue));
        let (mut now, mut last) = (0, 0);
        for (gap, size) in packets {
            now += gap;
            if let Some(arrives) = arrival(pipe.accept(at(now), size)) {
                prop_assert!(arrives >= last);
                last = arrives;
            }
            prop_assert!(pipe.waiting_bytes(at(now)) <= queue);
        }
    }
}
