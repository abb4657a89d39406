//! Whether it pays to look for a reply right after the request was sent.

/// A look at a connection whose request has just left. Where the server is on this machine and processors are
/// scarce, the kernel lets the server answer before `send` returns: the reply is there, and neither waiting
/// nor being woken is needed for it. Anywhere else a look is a system call for nothing, so looks are made
/// while they pay, and now and then to see whether they would.
#[derive(Debug, Default)]
pub(super) struct ReadHeuristic {
    /// Looks that may still fail before looking stops.
    credit: u32,
    /// Looks left out since the last one.
    left_out: u32,
}

impl ReadHeuristic {
    /// Whether to look now.
    pub fn looks(&mut self) -> bool {
        if self.credit == 0 && self.left_out < PROBE_EVERY {
            self.left_out += 1;
            return false;
        }
        self.left_out = 0;
        self.credit = self.credit.saturating_sub(1);
        true
    }

    /// The last look found the reply.
    pub fn paid(&mut self) {
        self.credit = (self.credit + WORTH).min(MAX_CREDIT);
    }
}

/// A look that finds the reply pays for this many that do not: it saves a wait and a wake-up.
const WORTH: u32 = 3;
const MAX_CREDIT: u32 = 30;
/// One look in this many is made where none pay.
const PROBE_EVERY: u32 = 64;
