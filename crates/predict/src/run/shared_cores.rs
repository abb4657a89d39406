//! Shared cores, with the time of the next check.

use crate::cores::Cores;

pub struct SharedCores<W> {
    cores: Cores<W>,
    looked_at: Option<u64>,
}

impl<W: Ord> SharedCores<W> {
    pub fn new(cores: u32) -> Self {
        Self {
            cores: Cores::new(cores),
            looked_at: None,
        }
    }

    pub fn begin(&mut self, now: u64, work: u64, then: W) {
        self.cores.begin(now, work, then);
    }

    /// Time to check them; `None` if idle, or if an earlier check is scheduled.
    pub fn look_at(&mut self) -> Option<u64> {
        let at = self.cores.next_end()?;
        let sooner = self.looked_at.is_none_or(|earlier| at < earlier);
        sooner.then(|| *self.looked_at.insert(at))
    }

    pub fn looked(&mut self, now: u64) {
        if self.looked_at.is_some_and(|at| at <= now) {
            self.looked_at = None;
        }
    }

    pub fn ended(&mut self, now: u64) -> Option<W> {
        self.cores.ended(now)
    }

    /// Idle time of the core that a job would get now; `None` if it has never computed.
    pub fn rest_of_next(&self, now: u64) -> Option<u64> {
        self.cores.rest_of_next(now)
    }

    /// Slowdown of one more job now.
    pub fn slowdown_of_next(&self) -> f64 {
        self.cores.slowdown_of_next()
    }
}
