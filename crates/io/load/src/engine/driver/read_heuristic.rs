//! Decides whether to read right after sending a request.

/// With a local server and few processors, the kernel may let the server answer before `send`
/// returns: an early read then saves a wait and a wake-up. Elsewhere it is a wasted system call. So
/// early reads are tried while they pay, and occasionally to test whether they would.
#[derive(Debug, Default)]
pub(super) struct ReadHeuristic {
    /// Failures left before early reads stop.
    credit: u32,
    /// Early reads skipped since the last one.
    left_out: u32,
}

impl ReadHeuristic {
    pub fn looks(&mut self) -> bool {
        if self.credit == 0 && self.left_out < PROBE_EVERY {
            self.left_out += 1;
            return false;
        }
        self.left_out = 0;
        self.credit = self.credit.saturating_sub(1);
        true
    }

    /// The last early read found the reply.
    pub fn paid(&mut self) {
        self.credit = (self.credit + WORTH).min(MAX_CREDIT);
    }
}

/// One success pays for this many failures: it saves a wait and a wake-up.
const WORTH: u32 = 3;
const MAX_CREDIT: u32 = 30;
/// Interval of trials while early reads do not pay.
const PROBE_EVERY: u32 = 64;
