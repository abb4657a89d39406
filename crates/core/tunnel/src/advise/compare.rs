//! Durations at each compression level over links of many rates, and the break-even rate.

use super::rewrite;
use link::LinkDescription;
use model::{BitRate, BreakEven, Operation, OperationStep, PerDirection};
use predict::{PredictionTarget, Predictor};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub struct LevelDurations {
    operations: Vec<Operation>,
    rtt: Duration,
    /// At the rates of [`SEARCHED`], computed lazily; `off` is compared with every level.
    searched: OnceLock<Vec<Duration>>,
}

impl LevelDurations {
    /// Operations without data for `level` are left out. All get one name, because only the overall
    /// mean is used: one distribution per rate instead of one per name.
    pub fn new(
        operations: &[Operation],
        level: usize,
        rtt: Duration,
        moves: &dyn Fn(&OperationStep) -> bool,
    ) -> Self {
        let name = Arc::from("");
        let operations = operations.iter().filter_map(|operation| {
            let mut operation = rewrite::at_level(operation, level, moves)?;
            operation.name = Arc::clone(&name);
            Some(operation)
        });
        Self {
            operations: operations.collect(),
            rtt,
            searched: OnceLock::new(),
        }
    }

    fn searched(&self) -> &[Duration] {
        self.searched.get_or_init(|| self.durations(&searched_rates()))
    }

    /// Mean duration of an operation at each rate, or empty without operations.
    pub fn durations(&self, rates: &[BitRate]) -> Vec<Duration> {
        rates
            .chunks(TOGETHER)
            .flat_map(|rates| self.predicted(rates))
            .collect()
    }

    fn predicted(&self, rates: &[BitRate]) -> Vec<Duration> {
        let target = |rate: &BitRate| PredictionTarget {
            link: LinkDescription {
                rate: PerDirection::splat(Some(*rate)),
                ..LinkDescription::with_rtt(self.rtt)
            },
            clients: 1,
        };
        let mut predictor = Predictor::new(
            rates.iter().map(target).collect(),
            Box::new(rewrite::is_on_a_lane),
        );
        self.operations
            .iter()
            .for_each(|operation| predictor.add(operation));
        let predictions = predictor.finish();
        predictions
            .iter()
            .filter_map(|prediction| prediction.spread.mean)
            .collect()
    }
}

/// The rate up to which `level` is faster than `off`: the first of [`SEARCHED`] at which it is not,
/// refined by interval division.
pub fn break_even(off: &LevelDurations, level: &LevelDurations) -> Option<BreakEven> {
    let rates = searched_rates();
    let (mut low, mut high) = match crossing(off.searched(), level.searched(), &rates)? {
        Crossing::BeforeAll => return Some(BreakEven::Never),
        Crossing::AfterAll => return rates.last().map(|rate| BreakEven::Above(*rate)),
        Crossing::Between(low, high) => (low, high),
    };
    while high as f64 / low as f64 > CLOSE {
        let steps = (1..STEPS).map(|step| {
            let part = f64::from(step) / f64::from(STEPS);
            (low as f64 * (high as f64 / low as f64).powf(part)).round() as u64
        });
        let rates: Vec<BitRate> = steps.filter_map(BitRate::from_bits_per_second).collect();
        let (off, level) = (off.durations(&rates), level.durations(&rates));
        (low, high) = match crossing(&off, &level, &rates)? {
            Crossing::BeforeAll => (low, rates.first()?.as_bits_per_second()),
            Crossing::AfterAll => (rates.last()?.as_bits_per_second(), high),
            Crossing::Between(low, high) => (low, high),
        };
    }
    BitRate::from_bits_per_second(u64::midpoint(low, high)).map(BreakEven::At)
}

enum Crossing {
    BeforeAll,
    Between(u64, u64),
    AfterAll,
}

/// Finds the interval of `rates` in which the level stops being faster.
fn crossing(off: &[Duration], level: &[Duration], rates: &[BitRate]) -> Option<Crossing> {
    if off.len() != rates.len() || level.len() != rates.len() {
        return None;
    }
    let lost = off.iter().zip(level).position(|(off, level)| level >= off);
    let at = |index: usize| rates.get(index).map(|rate| rate.as_bits_per_second());
    Some(match lost {
        None => Crossing::AfterAll,
        Some(0) => Crossing::BeforeAll,
        Some(index) => Crossing::Between(at(index - 1)?, at(index)?),
    })
}

fn searched_rates() -> Vec<BitRate> {
    let rates = SEARCHED.into_iter();
    rates.filter_map(BitRate::from_bits_per_second).collect()
}

/// Bits per second, four per decade, from a telephone line to a fast data centre.
const SEARCHED: [u64; 22] = [
    56_000,
    100_000,
    178_000,
    316_000,
    562_000,
    1_000_000,
    1_780_000,
    3_160_000,
    5_620_000,
    10_000_000,
    17_800_000,
    31_600_000,
    56_200_000,
    100_000_000,
    178_000_000,
    316_000_000,
    562_000_000,
    1_000_000_000,
    1_780_000_000,
    3_160_000_000,
    5_620_000_000,
    10_000_000_000,
];

/// Rates predicted together. The predictor keeps the connections of each, some 10 MB.
const TOGETHER: usize = 5;

/// Parts an interval is divided into at each step.
const STEPS: u32 = 6;

/// Ratio of the interval's ends at which the search stops.
const CLOSE: f64 = 1.002;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::rewrite;
    use model::{
        AtLevel, Attribution, ConnectionId, Exchange, OperationKind, Phase, Protocol, Step, Timestamp,
    };

    const MEGABYTE: u64 = 1_000_000;

    /// The reply compresses to a tenth.
    fn step(at: Timestamp, reply_bytes: u64) -> Step {
        let after = |nanos: u64| at.after(Duration::from_nanos(nanos));
        Step {
            request_started: at,
            request_ended: at,
            reply_started: Some(after(2_000)),
            reply_ended: Some(after(5_000)),
            request_bytes: 60,
            reply_bytes,
            turn: true,
            client_inside_request: Duration::ZERO,
            server: Duration::from_nanos(1_000),
            server_margin: model::Margin::default(),
            server_inside_reply: Duration::ZERO,
            client_side_rtt: Some(Duration::ZERO),
            server_side_rtt: Some(Duration::from_nanos(1_000)),
            recovery: Duration::ZERO,
        }
    }

    fn operation(reply_bytes: u64, compressing: Duration) -> Operation {
        let at = Timestamp::from_nanos(1_000_000_000);
        let level = |level: u8, bytes: u64, compressing: Duration| AtLevel {
            level,
            tunnel_bytes: PerDirection::new(60, bytes),
            compressing: PerDirection::new(Duration::ZERO, compressing),
            turning_back: PerDirection::new(Duration::ZERO, compressing / 10),
        };
        let exchange = Exchange {
            connection: ConnectionId(0),
            phase: Phase::Work,
            at,
            turns: 1,
            request_bytes: 60,
            reply_bytes,
            request_messages: 1,
            reply_messages: 1,
            rows: None,
            executions: 1,
            first: step(at, reply_bytes),
            more: Vec::new(),
            fingerprint: None,
            asked: model::RequestTraits::default(),
            transaction: None,
            error: None,
            literal: None,
            tags: None,
            levels: Some(Arc::from([
                level(0, reply_bytes, Duration::ZERO),
                level(6, reply_bytes / 10, compressing),
            ])),
            pooler: None,
            not_seen: None,
            lost: None,
        };
        Operation {
            id: 0,
            kind: OperationKind::Transaction,
            name: "made".into(),
            at,
            duration: Duration::from_nanos(5_000),
            steps: vec![OperationStep::first(exchange, Protocol::Postgres)],
            turns: 1,
            connections: 1,
            attribution: Attribution::default(),
            setup: Duration::ZERO,
            client_after: Duration::ZERO,
            transactions: Vec::new(),
            after_reply: Vec::new(),
            continues: false,
        }
    }

    fn levels(operations: &[Operation]) -> [LevelDurations; 2] {
        let rtt = Duration::from_millis(1);
        [0, 1].map(|index| LevelDurations::new(operations, index, rtt, &|_| true))
    }

    fn rate(bits: u64) -> BitRate {
        BitRate::from_bits_per_second(bits).expect("not zero")
    }

    fn millis(durations: &[Duration]) -> f64 {
        durations[0].as_secs_f64() * 1e3
    }

    /// The slowest of three pipelined stages sets the pace.
    #[test]
    fn a_large_reply_takes_the_longer_of_compressing_and_travelling() {
        let made = [operation(10 * MEGABYTE, Duration::from_millis(100))];
        let [off, level] = levels(&made);
        // A tenth of the bytes at 10 Mbit/s takes 829 ms with headers; of 100 ms of compressing
        // only the first chunk shows.
        let slow = millis(&level.durations(&[rate(10_000_000)]));
        assert!((829.0..834.0).contains(&slow), "{slow}");
        // At 1 Gbit/s it takes 8 ms, so the 100 ms of compressing dominate.
        let fast = millis(&level.durations(&[rate(1_000_000_000)]));
        assert!((100.0..104.0).contains(&fast), "{fast}");
        let off = millis(&off.durations(&[rate(1_000_000_000)]));
        assert!((82.0..90.0).contains(&off), "{off}");
    }

    #[test]
    fn large_replies_break_even_where_off_sends_as_fast_as_the_level_compresses() {
        let made = [operation(10 * MEGABYTE, Duration::from_millis(100))];
        let [off, level] = levels(&made);
        let Some(BreakEven::At(at)) = break_even(&off, &level) else {
            panic!("there is a crossing");
        };
        // 10 MB, 1500 bytes for each 1448, in 100 ms.
        let expected = 1e7 * 8.0 * 1500.0 / 1448.0 / 0.1;
        let error = at.as_bits_per_second() as f64 / expected - 1.0;
        assert!(error.abs() < 0.03, "{at}, expected {expected}");
    }

    #[test]
    fn a_small_exchange_pays_while_its_bytes_take_longer_than_the_codec() {
        let made = [operation(10_000, Duration::from_micros(50))];
        let [off, level] = levels(&made);
        let Some(BreakEven::At(at)) = break_even(&off, &level) else {
            panic!("there is a crossing");
        };
        // 9 kB less on the link, against 55 us of compressing and decompressing.
        let expected = 9_000.0 * 8.0 * 1500.0 / 1448.0 / 55e-6;
        let error = at.as_bits_per_second() as f64 / expected - 1.0;
        assert!(error.abs() < 0.05, "{at}, expected {expected}");
    }

    #[test]
    fn what_does_not_become_smaller_never_pays() {
        let made = [operation(100, Duration::from_secs(1))];
        let [off, level] = levels(&made);
        assert_eq!(break_even(&off, &level), Some(BreakEven::Never));
        assert_eq!(break_even(&off, &off), Some(BreakEven::Never));
    }

    #[test]
    fn an_exchange_that_does_not_know_its_levels_leaves_its_operation_out() {
        let mut made = operation(100, Duration::ZERO);
        made.steps[0].exchange.levels = None;
        assert_eq!(rewrite::at_level(&made, 0, &|_| true), None);
        assert!(
            LevelDurations::new(&[made], 0, Duration::ZERO, &|_| true)
                .durations(&[rate(1_000)])
                .is_empty()
        );
    }
}
