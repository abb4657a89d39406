//! What a lane knows of one of its streams.

use super::compressibility::Compressibility;

/// One stream: what this end may send of it, and what it has been sent.
#[derive(Debug)]
pub(super) struct Stream {
    pub sending: Sending,
    pub receiving: Receiving,
    /// Changes of direction so far: with the stream's number, which statement a chunk belongs to.
    pub statement: u64,
    /// Bytes have come since this end sent some.
    pub answered: bool,
}

/// What leaves.
#[derive(Debug)]
pub(super) struct Sending {
    /// Bytes that may be sent.
    pub credit: usize,
    /// How often credit came.
    pub credits: u64,
    /// Bytes sent.
    pub sent: u64,
    pub position: QueuePosition,
    /// Whether its socket may have something to read.
    pub readable: bool,
    pub finished: bool,
    pub compressibility: Compressibility,
}

/// Where a stream waits in the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuePosition {
    /// Nowhere: it has nothing to send.
    Idle,
    /// In a queue of the schedule, or first of it.
    Queued,
    /// Nowhere: it has no credit.
    Starved,
}

/// What is received. Always: `credit + held + consumed == window`.
#[derive(Debug)]
pub(super) struct Receiving {
    /// Most bytes that may be on their way or held here.
    pub window: usize,
    /// What the other end may still send.
    pub credit: usize,
    /// What came and was not consumed.
    pub held: usize,
    /// What was consumed and not given back as credit.
    pub consumed: usize,
    /// The other end had more to send than credit.
    pub starved: bool,
    pub finished: bool,
}

impl Stream {
    /// A stream that was just opened: `window` each way.
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

    /// Whether nothing more will happen on it.
    pub fn is_over(&self) -> bool {
        self.sending.finished && self.receiving.finished && self.receiving.held == 0
    }
}

impl Receiving {
    /// Whether the other end should be told that it may send more: half of the window was consumed, or it
    /// waits and all was.
    pub fn owes_credit(&self) -> bool {
        !self.finished && self.consumed > 0 && (self.consumed >= self.window / 2 || self.keeps_pace())
    }

    /// Whether the reader took all there was while the sender waited for credit: the window alone holds the
    /// stream back.
    pub fn keeps_pace(&self) -> bool {
        self.starved && self.held == 0
    }
}
