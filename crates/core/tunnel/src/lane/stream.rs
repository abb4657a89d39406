//! State of a stream on a lane.

use super::compressibility::Compressibility;

#[derive(Debug)]
pub(super) struct Stream {
    pub sending: Sending,
    pub receiving: Receiving,
    /// Number of direction changes; identifies a statement within the stream.
    pub statement: u64,
    pub answered: bool,
}

#[derive(Debug)]
pub(super) struct Sending {
    pub credit: usize,
    /// Number of received CREDIT frames.
    pub credits: u64,
    pub sent: u64,
    pub position: QueuePosition,
    pub readable: bool,
    pub finished: bool,
    pub compressibility: Compressibility,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuePosition {
    Idle,
    Queued,
    Starved,
}

/// Always `credit + held + consumed == window`.
#[derive(Debug)]
pub(super) struct Receiving {
    /// Maximum bytes in flight or held here.
    pub window: usize,
    /// Bytes that the other end may still send.
    pub credit: usize,
    /// Received and not yet consumed.
    pub held: usize,
    /// Consumed and not yet returned as credit.
    pub consumed: usize,
    pub starved: bool,
    pub finished: bool,
}

impl Stream {
    /// With `window` each way.
    pub fn new(window: usize) -> Self {
        Self {
            sending: Sending {
                credit: window,
                credits: 0,
                sent: 0,
                position: QueuePosition::Idle,
                readable: false,
                finished: false,
                compressibility: Compressibility::default(),
            },
            receiving: Receiving {
                window,
                credit: window,
                held: 0,
                consumed: 0,
                starved: false,
                finished: false,
            },
            statement: 0,
            answered: false,
        }
    }

    pub fn is_over(&self) -> bool {
        self.sending.finished && self.receiving.finished && self.receiving.held == 0
    }
}

impl Receiving {
    /// True if half of the window was consumed, or all and the sender waits.
    pub fn owes_credit(&self) -> bool {
        !self.finished && self.consumed > 0 && (self.consumed >= self.window / 2 || self.keeps_pace())
    }

    /// Whether the reader consumed everything while the sender waited for credit, so that only the
    /// window limits the stream.
    pub fn keeps_pace(&self) -> bool {
        self.starved && self.held == 0
    }
}
