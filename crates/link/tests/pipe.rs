//! A pipe delays, serialises and drops as its link says.

use link::{DelayLine, Passage, Pipe};
use model::{BitRate, ByteCount, Timestamp};
use proptest::prelude::*;
use std::time::Duration;

fn at(nanoseconds: u64) -> Timestamp {
    Timestamp::from_nanos(nanoseconds)
}

fn pipe(delay_ms: u64, bits_per_second: u64, queue: Option<u64>) -> Pipe {
    Pipe::new(
        Duration::from_millis(delay_ms),
        BitRate::from_bits_per_second(bits_per_second),
        queue.map(ByteCount::from_bytes),
    )
}

fn arrival(passage: Passage) -> Option<u64> {
    match passage {
        Passage::Arrives { arrives, .. } => Some(arrives.as_nanos()),
        Passage::Dropped => None,
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
    assert_eq!(pipe.accept(at(0), 52), Passage::Dropped);
    assert_eq!(pipe.waiting_bytes(at(1_000_000)), 2000);
    assert_eq!(arrival(pipe.accept(at(1_000_000), 1000)), Some(4_000_000));
    assert_eq!(pipe.accept(at(1_000_000), 1), Passage::Dropped);
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

proptest! {
    /// Rounding to nanoseconds must not add up: a long train takes as long as one packet of all its bytes.
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
