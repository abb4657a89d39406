//! The amounts of a run: `--payload=10GB --streams=1000` and the like.

use model::ByteCount;
use std::time::Duration;

/// The name of the one test that runners of tests list and ask for: every phase.
pub(crate) const ALL_PHASES: &str = "all_phases";

/// A run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Payload of the mixed streams of all levels together.
    pub(crate) payload: u64,
    /// Streams at a time.
    pub(crate) streams: usize,
    /// Most bytes of one direction of a stream.
    pub(crate) largest: u64,
    pub(crate) seed: u64,
    /// How often a far end is killed.
    pub(crate) kills: u32,
    /// How long a far end lives.
    pub(crate) life: Duration,
    /// How long a pace is measured, each time.
    pub(crate) measure: Duration,
    /// How often paces that are compared are measured.
    pub(crate) rounds: usize,
    /// Names of phases to run; all when empty.
    only: Vec<String>,
}

impl Plan {
    /// What `make test` does in a few seconds.
    fn small() -> Self {
        Self {
            payload: 30_000_000,
            streams: 100,
            largest: 256 * 1024,
            seed: 1,
            kills: 2,
            life: Duration::from_millis(400),
            measure: Duration::from_millis(100),
            rounds: 1,
            only: Vec::new(),
        }
    }

    /// The small one, unless the words of the command line say otherwise. A word without dashes is the name
    /// of a phase, as test harnesses have it; their own options change nothing here.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Self {
        let mut plan = Self::small();
        for word in words {
            match word.split_once('=') {
                Some((key, value)) => plan.set(key, value),
                None if !word.starts_with('-') && word != ALL_PHASES => plan.only.push(word),
                None => {}
            }
        }
        plan
    }

    fn set(&mut self, key: &str, value: &str) {
        let bytes = || {
            let amount = ByteCount::parse(value).unwrap_or_else(|error| panic!("{key}={value}: {error}"));
            amount.as_bytes()
        };
        let span = || model::parse_duration(value).unwrap_or_else(|error| panic!("{key}={value}: {error}"));
        let number = || {
            value
                .parse::<u32>()
                .unwrap_or_else(|error| panic!("{key}={value}: {error}"))
        };
        match key {
            "--payload" => self.payload = bytes(),
            "--streams" => self.streams = number() as usize,
            "--largest" => self.largest = bytes(),
            "--seed" => self.seed = u64::from(number()),
            "--kills" => self.kills = number(),
            "--life" => self.life = span(),
            "--measure" => self.measure = span(),
            "--rounds" => self.rounds = number() as usize,
            _ => panic!(
                "{key} is not known: --payload --streams --largest --seed --kills --life --measure --rounds"
            ),
        }
    }

    /// Whether the phase of this name is to run.
    pub(crate) fn has(&self, phase: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| phase.contains(word.as_str()))
    }
}
