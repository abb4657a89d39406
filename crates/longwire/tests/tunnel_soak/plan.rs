//! Amounts of a run: `--payload=10GB --streams=1000` and so on.

use model::ByteCount;
use std::time::Duration;

/// The only test that test runners can list, with every phase.
pub(crate) const ALL_PHASES: &str = "all_phases";

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Total of mixed streams over all levels.
    pub(crate) payload: u64,
    pub(crate) streams: usize,
    /// Maximum bytes per direction of a stream.
    pub(crate) largest: u64,
    pub(crate) seed: u64,
    pub(crate) kills: u32,
    pub(crate) life: Duration,
    pub(crate) measure: Duration,
    pub(crate) rounds: usize,
    /// All phases run if empty.
    only: Vec<String>,
}

impl Plan {
    /// The plan of `make test`, which takes a few seconds.
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

    /// Starts from the small plan. A word without dashes is a phase, as in test harnesses; options
    /// of test harnesses are ignored.
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

    pub(crate) fn has(&self, phase: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| phase.contains(word.as_str()))
    }
}
