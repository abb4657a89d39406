//! How busy clients and servers were in the measurement, and how much of their time was work.

use crate::cores::Whose;
use crate::plan::OperationPlan;
use model::{Nanos, Timestamp};

#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Start and end, indexed like `Whose::ALL`.
    spans: [Vec<(Timestamp, Timestamp)>; 3],
}

impl Load {
    pub fn add(&mut self, plan: &OperationPlan) {
        let spans = plan.nodes.iter().flat_map(|node| node.computed());
        for (whose, (begin, end)) in spans.chain([(Whose::Clients, plan.computed_after())]) {
            self.count(whose, (begin, end));
        }
        let (begin, work) = (plan.replied_at, plan.after_reply.computing);
        self.count(Whose::WebServers, (begin, begin.plus(work)));
    }

    pub fn count(&mut self, whose: Whose, (begin, end): (Timestamp, Timestamp)) {
        let spans = &mut self.spans[whose.index()];
        if end > begin && spans.len() < MAX_SPANS {
            spans.push((begin, end));
        }
    }

    /// Delays each server span by `by` of its beginning.
    pub fn put_off_servers(&mut self, by: impl Fn(Timestamp) -> Nanos) {
        let [_, servers, web_servers] = &mut self.spans;
        for (begin, end) in servers.iter_mut().chain(web_servers) {
            *begin = begin.plus(by(*begin)).min(*end);
        }
    }

    /// Work of all these together on `cores` evenly shared cores.
    pub fn work(&self, whose: &[Whose], cores: u32) -> CoreTime {
        let mut changes: Vec<(Timestamp, i32)> = Vec::new();
        for &(begin, end) in whose.iter().flat_map(|whose| &self.spans[whose.index()]) {
            changes.extend([(begin, 1), (end, -1)]);
        }
        changes.sort_unstable();
        let mut work = CoreTime {
            times: Vec::with_capacity(changes.len()),
            done: Vec::with_capacity(changes.len()),
        };
        let (mut at_once, mut done, mut last) = (0_i32, 0.0, Timestamp::default());
        for (at, change) in changes {
            let speed = (f64::from(cores) / f64::from(at_once.max(1))).min(1.0);
            done += at.nanos_since(last).as_f64() * speed;
            last = at;
            at_once += change;
            work.times.push(at);
            work.done.push(done);
        }
        work
    }
}

/// Work received over time by a job that shares cores.
#[derive(Debug, Clone)]
pub struct CoreTime {
    times: Vec<Timestamp>,
    /// Cumulative work by each time, in nanoseconds of one core, linearly interpolated.
    done: Vec<f64>,
}

impl CoreTime {
    pub fn between(&self, begin: Timestamp, end: Timestamp) -> Nanos {
        let span = end.nanos_since(begin);
        if self.times.is_empty() {
            return span;
        }
        Nanos::from_f64((self.by(end) - self.by(begin)).round()).min(span)
    }

    /// Outside of the counted spans, time is work.
    fn by(&self, at: Timestamp) -> f64 {
        let after = self.times.partition_point(|time| *time <= at);
        let Some(before) = after.checked_sub(1) else {
            return self.done.first().map_or(0.0, |first| {
                first
                    - self
                        .times
                        .first()
                        .map_or(0.0, |time| time.nanos_since(at).as_f64())
            });
        };
        let since = at.nanos_since(self.times[before]).as_f64();
        let Some(next) = self.times.get(after) else {
            return self.done[before] + since;
        };
        let whole = next.nanos_since(self.times[before]).as_f64();
        self.done[before] + (self.done[after] - self.done[before]) * since / whole
    }
}

/// 64 MB per kind; later spans are not counted.
const MAX_SPANS: usize = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn spans_that_share_a_core_were_half_work() {
        let clients = [(100, 200), (150, 250), (1000, 1010)].map(|(begin, end)| (at(begin), at(end)));
        let load = Load {
            spans: [clients.to_vec(), Vec::new(), Vec::new()],
        };
        let between = |work: &CoreTime, begin, end| work.between(at(begin), at(end)).get();
        let one = load.work(&[Whose::Clients], 1);
        assert_eq!(between(&one, 100, 200), 75);
        assert_eq!(between(&one, 150, 250), 75);
        assert_eq!(between(&one, 1000, 1010), 10);
        assert_eq!(between(&one, 0, 50), 50);
        assert_eq!(between(&one, 5000, 5007), 7);
        let two = load.work(&[Whose::Clients], 2);
        assert_eq!(between(&two, 100, 200), 100);
        let servers = load.work(&[Whose::Servers, Whose::WebServers], 1);
        assert_eq!(between(&servers, 3, 10), 7);
    }
}
