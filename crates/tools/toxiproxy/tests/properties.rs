//! Invariants of chains without drops: every byte comes out once, in order, then the end, for any
//! split of the input and any changes of toxics.

use model::{Direction, Timestamp};
use proptest::prelude::*;
use toxiproxy::toxics::{Chain, Passing, StreamEnd, Toxic, ToxicKind};

#[derive(Debug, Clone)]
enum Step {
    Read(usize),
    Add(ToxicKind, [u64; 3]),
    Change(usize, [u64; 3], f64),
    Remove(usize),
    Wait(u64),
}

const LOSSLESS: [ToxicKind; 5] = [
    ToxicKind::Noop,
    ToxicKind::Latency,
    ToxicKind::Bandwidth,
    ToxicKind::SlowClose,
    ToxicKind::Slicer,
];

fn values() -> impl Strategy<Value = [u64; 3]> {
    // A rate of 0 blocks for ever.
    (1..2000_u64, 0..500_u64, 0..500_u64).prop_map(|(first, second, third)| [first, second, third])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..5000_usize).prop_map(Step::Read),
        (proptest::sample::select(&LOSSLESS[..]), values())
            .prop_map(|(kind, values)| Step::Add(kind, values)),
        (0..6_usize, values(), 0.0..=1.0)
            .prop_map(|(which, values, toxicity)| Step::Change(which, values, toxicity)),
        (0..6_usize).prop_map(Step::Remove),
        (0..500_000_000_u64).prop_map(Step::Wait),
    ]
}

/// Uses a chain as a connection does.
struct Played {
    chain: Chain,
    toxics: Vec<Toxic>,
    now: u64,
    sent: usize,
    received: Vec<u8>,
    ended: bool,
}

impl Played {
    fn at(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    fn take_output(&mut self) {
        while let Some(passing) = self.chain.release(self.at()) {
            assert!(!self.ended, "something comes behind the end");
            match passing {
                Passing::Bytes(bytes) => self.received.extend(bytes),
                Passing::End(end) => {
                    assert_eq!(end, StreamEnd::Finished);
                    self.ended = true;
                }
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Read(size) => {
                let bytes = (self.sent..self.sent + size).map(|place| (place % 251) as u8);
                self.chain.accept(self.at(), Passing::Bytes(bytes.collect()));
                self.sent += size;
            }
            Step::Add(kind, values) => {
                let toxic = Toxic {
                    name: format!("{}-{}", kind.name(), self.now),
                    direction: Direction::ClientToServer,
                    toxicity: 1.0,
                    kind: *kind,
                    values: *values,
                };
                self.chain.add(self.at(), &toxic);
                self.toxics.push(toxic);
            }
            Step::Change(which, values, toxicity) => {
                let at = self.at();
                if let Some(toxic) = self.toxics.get_mut(*which) {
                    (toxic.values, toxic.toxicity) = (*values, *toxicity);
                    self.chain.change(at, toxic);
                }
            }
            Step::Remove(which) if *which < self.toxics.len() => {
                let toxic = self.toxics.remove(*which);
                self.chain.remove(self.at(), &toxic.name);
            }
            Step::Remove(_) => {}
            Step::Wait(span) => self.now += span,
        }
        self.now += 1;
        self.take_output();
    }
}

proptest! {
    #[test]
    fn bytes_in_are_bytes_out(steps in proptest::collection::vec(step(), 1..60), seed in any::<u64>()) {
        let mut played = Played {
            chain: Chain::new([], seed, Timestamp::from_nanos(0)),
            toxics: Vec::new(),
            now: 1,
            sent: 0,
            received: Vec::new(),
            ended: false,
        };
        steps.iter().for_each(|step| played.step(step));
        played.chain.accept(played.at(), Passing::End(StreamEnd::Finished));
        played.take_output();
        while let Some(wake) = played.chain.next_wake() {
            played.now = played.now.max(wake.as_nanos());
            played.take_output();
        }
        prop_assert!(played.ended, "the end comes too");
        let expected: Vec<u8> = (0..played.sent).map(|place| (place % 251) as u8).collect();
        prop_assert_eq!(played.received, expected);
        prop_assert_eq!(played.chain.held_bytes(), 0);
    }
}
