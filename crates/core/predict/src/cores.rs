//! Cores that several jobs share, each job getting at most one.

use crate::virtual_time::VirtualTime;
use model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Clients,
    /// Servers without calls of their own, such as databases.
    Servers,
    /// Servers that answer requests and make calls. They share the servers' cores unless the
    /// measurement shows separate ones.
    WebServers,
}

impl Whose {
    pub const ALL: [Self; 3] = [Self::Clients, Self::Servers, Self::WebServers];

    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Cores that jobs share evenly (processor sharing), as an operating system does over longer times.
#[derive(Debug, Clone)]
pub struct Cores<J> {
    cores: f64,
    /// Nanoseconds of one core that a job present from the beginning would have received.
    attained: f64,
    counted_to: VirtualTime,
    /// Each job with the value of [`Cores::attained`] at which it ends.
    jobs: BinaryHeap<Reverse<Job<J>>>,
    /// Since when each used core is idle, the latest at the end.
    resting: Vec<VirtualTime>,
}

#[derive(Debug, Clone, Copy)]
struct Job<J> {
    ends_at_attained: f64,
    what: J,
}

impl<J: Ord> PartialEq for Job<J> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<J: Ord> Eq for Job<J> {}

impl<J: Ord> PartialOrd for Job<J> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<J: Ord> Ord for Job<J> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_end = self.ends_at_attained.total_cmp(&other.ends_at_attained);
        by_end.then_with(|| self.what.cmp(&other.what))
    }
}

impl<J: Ord> Cores<J> {
    /// Idle cores, at least one.
    pub fn new(cores: u32) -> Self {
        Self {
            cores: f64::from(cores.max(1)),
            attained: 0.0,
            counted_to: VirtualTime::BEGIN,
            jobs: BinaryHeap::new(),
            resting: Vec::new(),
        }
    }

    pub fn begin(&mut self, at: VirtualTime, work: Nanos, what: J) {
        self.count_to(at);
        if self.has_idle_core() {
            self.resting.pop();
        }
        self.jobs.push(Reverse(Job {
            ends_at_attained: self.attained + work.as_f64(),
            what,
        }));
    }

    /// End of the next job if none starts before; `None` without a job.
    pub fn next_end(&self) -> Option<VirtualTime> {
        let Reverse(job) = self.jobs.peek()?;
        let missing = (job.ends_at_attained - self.attained).max(0.0) / self.speed();
        Some(self.counted_to.after(Nanos::from_f64(missing.ceil())))
    }

    pub fn ended(&mut self, at: VirtualTime) -> Option<J> {
        self.count_to(at);
        // Half a nanosecond covers rounding.
        let over = self
            .jobs
            .peek()
            .is_some_and(|Reverse(job)| job.ends_at_attained <= self.attained + 0.5);
        if !over {
            return None;
        }
        let ended = self.jobs.pop().map(|Reverse(job)| job.what);
        if self.has_idle_core() {
            self.resting.push(at);
        }
        ended
    }

    /// Idle time of the core that a job would get now: the one with the warmest caches. `None` if
    /// it has never computed.
    pub fn rest_of_next(&self, at: VirtualTime) -> Option<Nanos> {
        if !self.has_idle_core() {
            return Some(Nanos::ZERO);
        }
        let since = self.resting.last()?;
        Some(at.since(*since))
    }

    fn has_idle_core(&self) -> bool {
        (self.jobs.len() as f64) < self.cores
    }

    /// Slowdown of a job that starts now and always meets as many others.
    pub fn slowdown_of_next(&self) -> f64 {
        ((self.jobs.len() + 1) as f64 / self.cores).max(1.0)
    }

    fn speed(&self) -> f64 {
        (self.cores / self.jobs.len().max(1) as f64).min(1.0)
    }

    fn count_to(&mut self, at: VirtualTime) {
        self.attained += at.since(self.counted_to).as_f64() * self.speed();
        self.counted_to = self.counted_to.max(at);
        if self.jobs.is_empty() {
            self.attained = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> VirtualTime {
        VirtualTime::BEGIN.after(Nanos::new(nanos))
    }

    fn ends(cores: u32, jobs: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut shared = Cores::new(cores);
        let mut ends = Vec::new();
        let mut drain = |shared: &mut Cores<u64>, until: VirtualTime| {
            while let Some(end) = shared.next_end().filter(|end| *end <= until) {
                while let Some(id) = shared.ended(end) {
                    ends.push((id, end.since(VirtualTime::BEGIN).get()));
                }
            }
        };
        for (id, &(begin, work)) in jobs.iter().enumerate() {
            drain(&mut shared, at(begin));
            shared.begin(at(begin), Nanos::new(work), id as u64);
        }
        drain(&mut shared, at(u64::MAX));
        ends
    }

    #[test]
    fn jobs_up_to_the_cores_do_not_meet() {
        assert_eq!(ends(2, &[(0, 100), (10, 100)]), [(0, 100), (1, 110)]);
    }

    #[test]
    fn a_job_gets_the_core_that_rested_least() {
        let mut cores = Cores::new(2);
        assert_eq!(cores.rest_of_next(at(5)), None);
        cores.begin(at(10), Nanos::new(100), 'a');
        assert_eq!(cores.rest_of_next(at(20)), None);
        cores.begin(at(20), Nanos::new(50), 'b');
        assert_eq!(cores.rest_of_next(at(30)), Some(Nanos::new(0)));
        assert_eq!(cores.ended(at(70)), Some('b'));
        assert_eq!(cores.rest_of_next(at(90)), Some(Nanos::new(20)));
        assert_eq!(cores.ended(at(110)), Some('a'));
        assert_eq!(cores.rest_of_next(at(200)), Some(Nanos::new(90)));
        cores.begin(at(200), Nanos::new(10), 'c');
        assert_eq!(cores.rest_of_next(at(200)), Some(Nanos::new(130)));
    }

    #[test]
    fn more_jobs_than_cores_share_them_evenly() {
        assert_eq!(
            ends(1, &[(0, 100), (0, 100), (0, 50)]),
            [(2, 150), (0, 250), (1, 250)]
        );
        assert_eq!(ends(1, &[(0, 100), (50, 100)]), [(0, 150), (1, 200)]);
        assert_eq!(
            ends(2, &[(0, 100), (0, 100), (0, 100), (0, 100)]),
            [(0, 200), (1, 200), (2, 200), (3, 200)]
        );
    }
}
