//! Cores that several share, and when they are to be checked.

use crate::cores::Cores;

/// Cores, and when they will be checked next. `W` is what the end of a job wakes.
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

    /// A job of `work` begins.
    pub fn begin(&mut self, now: u64, work: u64, then: W) {
        self.cores.begin(now, work, then);
    }

    /// When they are to be checked; `None` if nothing computes, or when they will be checked before.
    pub fn look_at(&mut self) -> Option<u64> {
        let at = self.cores.next_end()?;
        let sooner = self.looked_at.is_none_or(|earlier| at < earlier);
        sooner.then(|| *self.looked_at.insert(at))
    }

    /// They are being checked.
    pub fn looked(&mut self, now: u64) {
        if self.looked_at.is_some_and(|at| at <= now) {
            self.looked_at = None;
        }
    }

    /// The next job that has ended by now.
    pub fn ended(&mut self, now: u64) -> Option<W> {
        self.cores.ended(now)
    }

    /// How long the core has rested that a job would get now; `None` if it has never computed.
    pub fn rest_of_next(&self, now: u64) -> Option<u64> {
        self.cores.rest_of_next(now)
    }

    /// How much longer than alone one more job would take now.
    pub fn slowdown_of_next(&self) -> f64 {
        self.cores.slowdown_of_next()
    }
}
