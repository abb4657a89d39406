//! Shared cores, with the time of the next check.

use crate::cores::Cores;
use crate::virtual_time::VirtualTime;
use model::Nanos;

pub struct SharedCores<W> {
    cores: Cores<W>,
    checked_at: Option<VirtualTime>,
}

impl<W: Ord> SharedCores<W> {
    pub fn new(cores: u32) -> Self {
        Self {
            cores: Cores::new(cores),
            checked_at: None,
        }
    }

    pub fn begin(&mut self, now: VirtualTime, work: Nanos, then: W) {
        self.cores.begin(now, work, then);
    }

    /// Time to check them; `None` if idle, or if an earlier check is scheduled.
    pub fn next_check(&mut self) -> Option<VirtualTime> {
        let at = self.cores.next_end()?;
        let sooner = self.checked_at.is_none_or(|earlier| at < earlier);
        sooner.then(|| *self.checked_at.insert(at))
    }

    pub fn checked(&mut self, now: VirtualTime) {
        if self.checked_at.is_some_and(|at| at <= now) {
            self.checked_at = None;
        }
    }

    pub fn ended(&mut self, now: VirtualTime) -> Option<W> {
        self.cores.ended(now)
    }

    /// Idle time of the core that a job would get now; `None` if it has never computed.
    pub fn rest_of_next(&self, now: VirtualTime) -> Option<Nanos> {
        self.cores.rest_of_next(now)
    }

    /// Slowdown of one more job now.
    pub fn slowdown_of_next(&self) -> f64 {
        self.cores.slowdown_of_next()
    }
}
