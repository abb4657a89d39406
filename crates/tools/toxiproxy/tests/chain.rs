//! Toxics in virtual time: output, times, pieces and ends.

use model::{Direction, Timestamp};
use toxiproxy::toxics::{Chain, Passing, StreamEnd, Toxic, ToxicKind};

fn toxic(kind: ToxicKind, values: [u64; 3]) -> Toxic {
    Toxic {
        name: kind.name().to_owned(),
        direction: Direction::ServerToClient,
        toxicity: 1.0,
        kind,
        values,
    }
}

const START: u64 = 1_000_000_000_000;

fn at(milliseconds: u64) -> Timestamp {
    Timestamp::from_nanos(START + milliseconds * 1_000_000)
}

fn chain(toxics: &[Toxic]) -> Chain {
    Chain::new(toxics, 1, at(0))
}

fn bytes(size: usize) -> Passing {
    Passing::Bytes((0..size).map(|place| (place % 251) as u8).collect())
}

/// All timed output until the chain is idle, each with its microsecond.
fn played(chain: &mut Chain, from: Timestamp) -> Vec<(u64, Passing)> {
    let mut out = Vec::new();
    let mut now = from;
    loop {
        while let Some(passing) = chain.release(now) {
            out.push(((now.as_nanos() - START) / 1000, passing));
        }
        match chain.next_wake() {
            Some(wake) => {
                assert!(wake >= now || chain.release(now).is_none(), "it moves on");
                now = wake.max(now);
            }
            None => return out,
        }
    }
}

fn payload(out: &[(u64, Passing)]) -> Vec<u8> {
    let parts = out.iter().filter_map(|(_, passing)| match passing {
        Passing::Bytes(bytes) => Some(bytes.as_slice()),
        Passing::End(_) => None,
    });
    parts.collect::<Vec<_>>().concat()
}

fn as_sent(size: usize) -> Vec<u8> {
    match bytes(size) {
        Passing::Bytes(bytes) => bytes,
        Passing::End(_) => Vec::new(),
    }
}

#[test]
fn without_toxics_everything_passes_at_once() {
    let mut chain = chain(&[]);
    chain.accept(at(0), bytes(5));
    assert!(!chain.room(), "it waits for the receiver");
    chain.accept(at(0), Passing::End(StreamEnd::Finished));
    assert_eq!(
        played(&mut chain, at(0)),
        [(0, bytes(5)), (0, Passing::End(StreamEnd::Finished))]
    );
    assert_eq!((chain.release(at(9)), chain.held_bytes()), (None, 0));
}

#[test]
fn latencies_add_up_to_the_nanosecond_and_the_end_travels_too() {
    let mut two = [
        toxic(ToxicKind::Latency, [20, 0, 0]),
        toxic(ToxicKind::Latency, [100, 0, 0]),
    ];
    two[1].name = "second".to_owned();
    let mut chain = chain(&two);
    chain.accept(at(0), bytes(5));
    chain.accept(at(7), bytes(3));
    chain.accept(at(8), Passing::End(StreamEnd::Finished));
    let out = played(&mut chain, at(8));
    let times: Vec<u64> = out.iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [120_000, 127_000, 128_000]);
}

#[test]
fn jitter_stays_within_its_size_and_never_reorders() {
    let mut chain = chain(&[toxic(ToxicKind::Latency, [50, 20, 0])]);
    for step in 0..500 {
        chain.accept(at(step * 100), bytes(1));
    }
    let out = played(&mut chain, at(0));
    let delays: Vec<u64> = (0..)
        .zip(&out)
        .map(|(step, (time, _))| time - step * 100_000)
        .collect();
    assert!(
        delays.iter().all(|delay| (30_000..=70_000).contains(delay)),
        "{delays:?}"
    );
    let mean = delays.iter().sum::<u64>() / 500;
    assert!((48_000..52_000).contains(&mean), "{mean}");
    let (first, last) = (delays.iter().min(), delays.iter().max());
    assert!(
        first < Some(&33_000) && last > Some(&67_000),
        "{first:?} {last:?}"
    );
}

#[test]
fn jitter_above_the_latency_is_cut_at_no_delay() {
    let mut chain = chain(&[toxic(ToxicKind::Latency, [0, 10, 0])]);
    for step in 0..100 {
        chain.accept(at(step * 100), bytes(1));
    }
    assert_eq!(played(&mut chain, at(0)).len(), 100);
}

#[test]
fn a_rate_takes_its_time_and_holds_back_what_exceeds_its_queue() {
    let mut chain = chain(&[toxic(ToxicKind::Bandwidth, [100, 0, 0])]);
    chain.accept(at(0), bytes(50_000));
    assert!(chain.room());
    chain.accept(at(0), bytes(50_000));
    assert!(!chain.room(), "100,000 bytes wait");
    let out = played(&mut chain, at(0));
    assert_eq!(payload(&out), [as_sent(50_000), as_sent(50_000)].concat());
    let last = out.last().map(|(time, _)| *time);
    assert_eq!(last, Some(1_000_000), "100,000 bytes at 100 KB/s");
    assert!(
        out.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 15_000),
        "evenly"
    );
}

#[test]
fn a_rate_of_nothing_lets_nothing_pass_until_it_is_removed() {
    let mut chain = chain(&[toxic(ToxicKind::Bandwidth, [0, 0, 0])]);
    chain.accept(at(0), bytes(10));
    chain.accept(at(1), Passing::End(StreamEnd::Finished));
    assert_eq!((chain.release(at(1_000_000)), chain.next_wake()), (None, None));
    chain.remove(at(1_000_000), "bandwidth");
    let out = played(&mut chain, at(1_000_000));
    assert_eq!(payload(&out), as_sent(10));
    assert_eq!(out.len(), 2);
}

#[test]
fn what_is_behind_a_full_toxic_waits_and_nothing_is_lost() {
    let toxics = [
        toxic(ToxicKind::Latency, [10, 0, 0]),
        toxic(ToxicKind::Bandwidth, [1000, 0, 0]),
        toxic(ToxicKind::Slicer, [1000, 300, 0]),
    ];
    let mut chain = chain(&toxics);
    for _ in 0..20 {
        chain.accept(at(0), bytes(50_000));
    }
    let out = played(&mut chain, at(0));
    assert_eq!(payload(&out), as_sent(50_000).repeat(20));
    let last = out.last().map(|(time, _)| *time).unwrap_or_default();
    assert!(
        (1_010_000..1_020_000).contains(&last),
        "1 MB at 1 MB/s behind 10 ms: {last}"
    );
}

#[test]
fn only_the_end_is_slow() {
    let mut chain = chain(&[toxic(ToxicKind::SlowClose, [500, 0, 0])]);
    chain.accept(at(0), bytes(10));
    chain.accept(at(1), Passing::End(StreamEnd::Finished));
    let out = played(&mut chain, at(0));
    assert_eq!(
        out,
        [(0, bytes(10)), (501_000, Passing::End(StreamEnd::Finished))]
    );
}

#[test]
fn a_timeout_drops_and_closes_in_its_time_or_when_it_is_removed() {
    let mut limited = chain(&[toxic(ToxicKind::Timeout, [100, 0, 0])]);
    limited.accept(at(50), bytes(10));
    assert_eq!(
        played(&mut limited, at(50)),
        [(100_000, Passing::End(StreamEnd::Closed))]
    );
    let mut endless = chain(&[toxic(ToxicKind::Timeout, [0, 0, 0])]);
    endless.accept(at(50), bytes(10));
    assert_eq!(
        (endless.release(at(1_000_000)), endless.next_wake()),
        (None, None)
    );
    endless.remove(at(1_000_000), "timeout");
    assert_eq!(
        endless.release(at(1_000_000)),
        Some(Passing::End(StreamEnd::Closed))
    );
}

#[test]
fn a_reset_comes_after_its_time_from_the_first_byte_on() {
    let mut chain = chain(&[toxic(ToxicKind::ResetPeer, [30, 0, 0])]);
    assert_eq!(chain.next_wake(), None);
    chain.accept(at(50), bytes(10));
    chain.accept(at(60), bytes(10));
    assert_eq!(
        played(&mut chain, at(60)),
        [(80_000, Passing::End(StreamEnd::Reset))]
    );
}

#[test]
fn a_reset_that_has_begun_comes_about_when_its_toxic_is_removed() {
    let mut chain = chain(&[toxic(ToxicKind::ResetPeer, [30_000, 0, 0])]);
    chain.accept(at(50), bytes(10));
    chain.remove(at(60), "reset_peer");
    assert_eq!(chain.release(at(60)), Some(Passing::End(StreamEnd::Reset)));
}

#[test]
fn slices_are_of_the_size_asked_for_and_apart() {
    let mut chain = chain(&[toxic(ToxicKind::Slicer, [1024, 512, 100])]);
    chain.accept(at(0), bytes(48_000));
    let out = played(&mut chain, at(0));
    assert_eq!(payload(&out), as_sent(48_000));
    let sizes: Vec<usize> = out
        .iter()
        .map(|(_, passing)| match passing {
            Passing::Bytes(bytes) => bytes.len(),
            Passing::End(_) => 0,
        })
        .collect();
    assert!(sizes.iter().all(|size| (1..=1536).contains(size)), "{sizes:?}");
    assert!((32..=96).contains(&sizes.len()), "{}", sizes.len());
    assert!(sizes.iter().any(|size| *size != sizes[0]), "they vary");
    assert!(
        out.windows(2).all(|pair| pair[1].0 - pair[0].0 == 100),
        "100 us apart"
    );
}

#[test]
fn slices_of_one_byte_and_none_at_all() {
    let mut single = chain(&[toxic(ToxicKind::Slicer, [1, 0, 0])]);
    single.accept(at(0), bytes(24));
    assert_eq!(played(&mut single, at(0)).len(), 24);
    let mut whole = chain(&[toxic(ToxicKind::Slicer, [0, 0, 0])]);
    whole.accept(at(0), bytes(24));
    assert_eq!(played(&mut whole, at(0)), [(0, bytes(24))]);
}

#[test]
fn a_limit_counts_over_pieces_and_changes_then_closes() {
    let mut chain = chain(&[toxic(ToxicKind::LimitData, [100, 0, 0])]);
    chain.accept(at(0), bytes(90));
    assert_eq!(chain.release(at(0)), Some(bytes(90)));
    chain.change(at(1), &toxic(ToxicKind::LimitData, [110, 0, 0]));
    chain.accept(at(2), bytes(90));
    let out = played(&mut chain, at(2));
    assert_eq!(
        out,
        [(2_000, bytes(20)), (2_000, Passing::End(StreamEnd::Closed))]
    );
    assert_eq!(chain.release(at(3)), None);
}

#[test]
fn a_limit_of_nothing_closes_at_the_first_byte() {
    let mut chain = chain(&[toxic(ToxicKind::LimitData, [0, 0, 0])]);
    assert_eq!(chain.next_wake(), None);
    chain.accept(at(5), bytes(1));
    assert_eq!(
        played(&mut chain, at(5)),
        [(5_000, Passing::End(StreamEnd::Closed))]
    );
}

#[test]
fn a_delay_that_changes_counts_from_when_bytes_entered_and_keeps_their_order() {
    let mut chain = chain(&[toxic(ToxicKind::Latency, [1000, 0, 0])]);
    chain.accept(at(0), bytes(5));
    chain.accept(at(90), bytes(6));
    chain.change(at(100), &toxic(ToxicKind::Latency, [50, 0, 0]));
    chain.accept(at(120), bytes(7));
    let out = played(&mut chain, at(120));
    assert_eq!(
        out,
        [(120_000, bytes(5)), (140_000, bytes(6)), (170_000, bytes(7))]
    );
}

#[test]
fn what_a_toxic_held_goes_on_at_once_when_it_is_removed() {
    let mut chain = chain(&[
        toxic(ToxicKind::Latency, [10_000, 0, 0]),
        toxic(ToxicKind::SlowClose, [0, 0, 0]),
    ]);
    chain.accept(at(0), bytes(5));
    chain.remove(at(10), "latency");
    chain.accept(at(10), bytes(6));
    assert_eq!(
        played(&mut chain, at(10)),
        [(10_000, bytes(5)), (10_000, bytes(6))]
    );
    chain.remove(at(11), "no such toxic");
}

#[test]
fn a_toxic_is_added_behind_the_others_and_meets_what_they_hold() {
    let mut chain = chain(&[toxic(ToxicKind::Latency, [10, 0, 0])]);
    chain.accept(at(0), bytes(5));
    chain.add(at(5), &toxic(ToxicKind::LimitData, [3, 0, 0]));
    let out = played(&mut chain, at(5));
    assert_eq!(
        out,
        [(10_000, bytes(3)), (10_000, Passing::End(StreamEnd::Closed))]
    );
}

#[test]
fn toxicity_is_a_share_of_the_connections_and_a_function_of_the_seed() {
    let mut half = toxic(ToxicKind::Timeout, [0, 0, 0]);
    half.toxicity = 0.5;
    let concerned = |seed: u64| {
        let mut chain = Chain::new([&half], seed, at(0));
        chain.accept(at(0), bytes(1));
        chain.release(at(0)).is_none()
    };
    let first: Vec<bool> = (0..1000).map(concerned).collect();
    let again: Vec<bool> = (0..1000).map(concerned).collect();
    assert_eq!(first, again);
    let share = first.iter().filter(|concerned| **concerned).count();
    assert!((450..550).contains(&share), "{share}");
}

#[test]
fn memory_is_bounded_also_for_a_delay() {
    let mut chain = chain(&[toxic(ToxicKind::Latency, [60_000, 0, 0])]);
    let mut taken = 0;
    while chain.room() {
        chain.accept(at(0), bytes(64 * 1024));
        taken += 64 * 1024;
    }
    assert_eq!((taken, chain.held_bytes()), (32 << 20, 32 << 20));
    chain.set_generous(false);
    assert!(!chain.room());
}
