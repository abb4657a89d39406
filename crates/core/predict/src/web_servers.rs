//! Estimates the number of cores of web servers: the system's, or fewer where an interpreter runs
//! one thread at a time (Python's GIL, an event loop). Where some apparent computing is waiting,
//! the estimate is higher.
//!
//! The same place of an operation (from one reply to the next statement, say) is the same work each
//! time. If n compute at once on K cores, it takes n / K times as long. With the right K, the work
//! at a place does not depend on concurrency; with too many cores it seems to grow, with too few to
//! shrink.

use crate::cores::Whose;
use crate::load::{CoreTime, Load};
use crate::plan::OperationPlan;
use model::{Nanos, Timestamp};
use std::collections::HashMap;

/// Separate cores of web servers; `None` if they share those of all servers.
pub type OwnCores = Option<u32>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebServerCores {
    /// Most likely value, or those of all servers without evidence.
    pub expected: OwnCores,
    /// The fewest and the most that are possible as well.
    pub others: Vec<OwnCores>,
}

#[derive(Debug, Default)]
pub struct Spans(Vec<((usize, usize), Timestamp, Timestamp)>);

impl Spans {
    pub fn add(&mut self, name: usize, plan: &OperationPlan) {
        for (place, node) in plan.nodes.iter().enumerate() {
            for (part, (whose, (begin, end))) in node.computed().into_iter().enumerate() {
                let is_long = end.nanos_since(begin) >= MIN_LEN;
                if whose == Whose::WebServers && is_long && self.0.len() < MAX_SPANS {
                    self.0.push(((name, 3 * place + part), begin, end));
                }
            }
        }
    }

    pub fn cores(&self, load: &Load, cores: u32) -> WebServerCores {
        let shared = WebServerCores::default();
        if cores <= 1 || self.0.is_empty() {
            return shared;
        }
        let alone = load.work(&[Whose::WebServers], 1);
        let all = load.work(&[Whose::Servers, Whose::WebServers], cores);
        let of_all = self.trend(&alone, &all);
        if of_all.is_known() && of_all.slope.abs() <= SLIGHT_SLOPE {
            return shared;
        }
        // From the fewest to the most; a full separate set exceeds one shared with databases.
        let mut trends: Vec<(OwnCores, Trend)> = Vec::new();
        for own in 1..=MAX_OWN {
            if own == cores.min(MAX_OWN) {
                trends.push((None, of_all));
            }
            trends.push((
                Some(own),
                self.trend(&alone, &load.work(&[Whose::WebServers], own)),
            ));
        }
        let steepness = |one: &&(OwnCores, Trend)| one.1.slope.abs();
        let best = trends
            .iter()
            .min_by(|one, other| steepness(one).total_cmp(&steepness(other)));
        let Some((expected, trend)) = best.filter(|(_, trend)| trend.is_known()) else {
            return WebServerCores {
                others: vec![Some(1)],
                ..shared
            };
        };
        let may_be = |one: &&(OwnCores, Trend)| one.1.slope.abs() <= trend.slope.abs() + 2.0 * trend.error;
        let fewest = trends.iter().find(may_be);
        let most = trends.iter().rev().find(may_be);
        let mut others: Vec<OwnCores> = fewest.into_iter().chain(most).map(|(own, _)| *own).collect();
        others.dedup();
        others.retain(|other| other != expected);
        WebServerCores {
            expected: *expected,
            others,
        }
    }

    /// Slope of the logarithm of work against the logarithm of concurrency.
    fn trend(&self, alone: &CoreTime, work: &CoreTime) -> Trend {
        let mut places: HashMap<(usize, usize), Vec<[f64; 3]>> = HashMap::new();
        for &(place, begin, end) in &self.0 {
            let took = end.nanos_since(begin).as_f64();
            let at_once = took / alone.between(begin, end).as_f64().max(1.0);
            let work = work.between(begin, end).as_f64().max(1.0);
            let point = [at_once.ln(), work.ln(), took];
            places.entry(place).or_default().push(point);
        }
        let mut sums = Sums::default();
        places.values().for_each(|points| sums.add(points));
        sums.trend()
    }
}

#[derive(Debug, Clone, Copy)]
struct Trend {
    slope: f64,
    error: f64,
    points: usize,
}

impl Trend {
    fn is_known(&self) -> bool {
        self.points >= MIN_POINTS && self.error <= MAX_ERROR && self.slope.abs() <= MAX_SLOPE
    }
}

/// Of deviations from the means of their places, weighted by time.
#[derive(Debug, Default)]
struct Sums {
    xx: f64,
    xy: f64,
    yy: f64,
    weight: f64,
    points: usize,
}

impl Sums {
    fn add(&mut self, points: &[[f64; 3]]) {
        if points.len() < MIN_AT_A_PLACE {
            return;
        }
        let weight: f64 = points.iter().map(|[_, _, weight]| weight).sum();
        let mean = |which: usize| points.iter().map(|point| point[which] * point[2]).sum::<f64>() / weight;
        let (mean_x, mean_y) = (mean(0), mean(1));
        for [x, y, weight] in points {
            let (x, y) = (x - mean_x, y - mean_y);
            self.xx += weight * x * x;
            self.xy += weight * x * y;
            self.yy += weight * y * y;
            self.weight += weight;
        }
        self.points += points.len();
    }

    fn trend(&self) -> Trend {
        let slope = self.xy / self.xx.max(f64::MIN_POSITIVE);
        let left = (self.yy - slope * self.xy).max(0.0) / self.weight.max(1.0);
        let spread = self.xx / self.weight.max(1.0);
        let error = (left / spread.max(1e-9) / self.points.max(1) as f64).sqrt();
        Trend {
            slope,
            error: if spread < MIN_SPREAD { f64::INFINITY } else { error },
            points: self.points,
        }
    }
}

/// Shorter computing is mostly wake-up.
const MIN_LEN: Nanos = Nanos::new(200_000);
const MAX_SPANS: usize = 500_000;
const MAX_OWN: u32 = 8;
const MIN_POINTS: usize = 50;
const MIN_AT_A_PLACE: usize = 4;
const MAX_ERROR: f64 = 0.15;
/// A slope of 1 means that work grows in proportion to concurrency.
const MAX_SLOPE: f64 = 0.4;
/// Up to this slope, web servers are assumed to use all cores.
const SLIGHT_SLOPE: f64 = 0.25;
/// Of the logarithm of concurrency: a standard deviation of a sixth.
const MIN_SPREAD: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Requests of 4 ms of work, one place each, two at once or alone, on `cores` that they share
    /// evenly.
    fn measured(cores: u32, at_once: impl Fn(u64) -> u64) -> (Load, Spans) {
        let (mut load, mut spans) = (Load::default(), Spans::default());
        for round in 0..100 {
            let begin = Timestamp::from_nanos(round * 100 * MS);
            let many = at_once(round);
            let took = 4 * MS * many.max(cores.into()) / u64::from(cores) + round % 7 * MS / 20;
            let end = begin.plus(Nanos::new(took));
            for place in 0..many {
                load.count(Whose::WebServers, (begin, end));
                spans.0.push(((0, place as usize), begin, end));
            }
        }
        (load, spans)
    }

    fn expected_cores(expected: OwnCores) -> WebServerCores {
        WebServerCores {
            expected,
            others: Vec::new(),
        }
    }

    #[test]
    fn one_interpreter_computes_on_one_core() {
        let (load, spans) = measured(1, |round| 1 + round % 4);
        assert_eq!(spans.cores(&load, 2), expected_cores(Some(1)));
        assert_eq!(spans.cores(&load, 8), expected_cores(Some(1)));
    }

    #[test]
    fn processes_compute_on_all_cores() {
        let (load, spans) = measured(2, |round| 1 + round % 4);
        assert_eq!(spans.cores(&load, 2), expected_cores(None));
        assert_eq!(spans.cores(&load, 8), expected_cores(Some(2)));
        assert_eq!(spans.cores(&load, 1), expected_cores(None));
    }

    #[test]
    fn who_never_computed_beside_another_shows_nothing() {
        let (load, spans) = measured(2, |_| 1);
        let open = WebServerCores {
            expected: None,
            others: vec![Some(1)],
        };
        assert_eq!(spans.cores(&load, 2), open);
        assert_eq!(Spans::default().cores(&load, 2), expected_cores(None));
    }
}
