//! One end of a lane: many streams on one connection, without socket or clock.
//!
//! - Read the lane's socket into [`Lane::space`], call [`Lane::filled`], and take events from
//!   [`Lane::next`] until there are none. Report bytes that a stream's socket accepted to
//!   [`Lane::consumed`]: only that lets the other end send more.
//! - Report a stream with a readable socket to [`Lane::readable`]. [`Lane::pick`] selects a
//!   stream and the maximum to read; after each pick exactly one of [`Lane::send`],
//!   [`Lane::drained`], [`Lane::finish`] and [`Lane::reset`] follows. Other streams are not
//!   read.
//! - Write [`Lane::unsent`] to the lane's socket and call [`Lane::sent`]; [`Lane::full`] if the
//!   socket is full, [`Lane::idle`] if all is sent.
//!
//! The caller holds [`MAX_STREAMS`] windows of [`BASE_WINDOW`] and [`POOL`] of their growth. The
//! lane itself holds less than a MiB besides the codecs'.

pub mod compressibility;
mod incoming;
mod receiving;
mod schedule;
mod sending;
mod stream;

use crate::frame::{
    self, ControlFrame, End, FrameError, GoodbyeReason, Isolation, LanePreferences, ResetReason, StreamId,
};
use crate::throughput_estimator::ThroughputEstimator;
use crate::{Coding, CompressError, CompressionLevel, Compressor, Decompressor};
use incoming::Incoming;
use model::{Timestamp, TunnelDirection};
use schedule::Schedule;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;
use stream::Stream;

pub const MAX_STREAMS: usize = 1024;
/// Every stream's credit before its reader has consumed any bytes.
pub const BASE_WINDOW: usize = 32 * 1024;
/// Bytes that the near end lets the far end send at first, and the first step of growth, while the
/// pool lasts.
pub const FIRST_WINDOW: usize = 256 * 1024;
pub const MAX_WINDOW: usize = 4 * 1024 * 1024;
/// Growth of all windows of a lane beyond [`BASE_WINDOW`], at each end.
pub const POOL: usize = 64 * 1024 * 1024;

/// No stream is picked while this many bytes are unsent; on a slow lane those of [`ENOUGH_TIME`],
/// at least [`MIN_UNSENT`]. Bounds the wait of a small message.
const ENOUGH_UNSENT: usize = 32 * 1024;
const MIN_UNSENT: usize = 4 * 1024;
const ENOUGH_TIME: Duration = Duration::from_millis(4);
/// For replies to the other end; a peer that causes more without reading is not a tunnel.
const MAX_UNSENT: usize = 1024 * 1024;
/// Limit of CREDITs of a stream, plus one for every [`BYTES_A_CREDIT`] bytes sent. An end returns
/// at least half a window, or the rest of one.
const FREE_CREDITS: u64 = 64;
const BYTES_A_CREDIT: u64 = 256;
const LATE_FRAMES: u64 = 1024;
/// Between two calls of [`Lane::time_passed`].
const MAX_PINGS: u32 = 32;
/// Smaller chunks are not worth compressing.
pub const TINY: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame of the other end's role, or a repeated one.
    #[error("sent {what} where there may be none")]
    OutOfPlace { what: &'static str },
    /// A frame of a stream that was never opened.
    #[error("spoke of the stream {stream}, which was never opened")]
    NotOpened { stream: u32 },
    /// Bytes beyond the credit.
    #[error("sent more of the stream {stream} than it had credit for")]
    Credit { stream: u32 },
    #[error("does not read its answers")]
    Flood,
    #[error("floods the lane with {what}")]
    Useless { what: &'static str },
    #[error("sent bytes that cannot be decompressed: {0}")]
    Chunk(CompressError),
    #[error("could not be sent a chunk: {0}")]
    Compress(CompressError),
    #[error("{0}")]
    Goodbye(GoodbyeReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneEvent<'a> {
    /// Always the first event, and only once.
    Hello(LanePreferences),
    /// At the far end only.
    Opened(StreamId),
    /// Bytes for a stream's socket, bounded by this end's window.
    Bytes {
        stream: StreamId,
        bytes: &'a [u8],
        coding: Coding,
    },
    Finished(StreamId),
    Reset(StreamId, ResetReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    pub stream: StreamId,
    /// Maximum bytes to read and send, at least 1.
    pub most: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framed {
    pub level: CompressionLevel,
    pub bytes: usize,
}

pub struct Lane {
    end: End,
    isolation: Isolation,
    greeted: bool,
    incoming: Incoming,
    decoded: Vec<u8>,
    decompressor: Decompressor,
    unsent: Vec<u8>,
    /// Bytes of `unsent` already sent.
    gone: usize,
    compressor: Compressor,
    /// Statement of the compressor's context, if statements are isolated.
    statement: Option<(StreamId, u64)>,
    streams: HashMap<StreamId, Stream>,
    newest: u32,
    schedule: Schedule,
    throughput: ThroughputEstimator,
    grown: usize,
    /// Ended streams, and the frames and bytes received for them since.
    over: u64,
    late_frames: u64,
    late_bytes: u64,
    pings: u32,
    /// The caller adds the times of codec and socket.
    pub out: TunnelDirection,
    pub came: TunnelDirection,
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Lane")
            .field("end", &self.end)
            .field("streams", &self.streams.len())
            .finish_non_exhaustive()
    }
}

impl Lane {
    pub fn new(end: End, preferences: LanePreferences) -> Self {
        let mut lane = Self {
            end,
            isolation: preferences.isolation,
            greeted: false,
            incoming: Incoming::new(),
            decoded: Vec::new(),
            decompressor: Decompressor::new(),
            unsent: Vec::new(),
            gone: 0,
            compressor: Compressor::new(),
            statement: None,
            streams: HashMap::new(),
            newest: 0,
            schedule: Schedule::default(),
            throughput: ThroughputEstimator::default(),
            grown: 0,
            over: 0,
            late_frames: 0,
            late_bytes: 0,
            pings: 0,
            out: TunnelDirection::default(),
            came: TunnelDirection::default(),
        };
        lane.write(ControlFrame::Hello(preferences));
        lane
    }

    /// For bytes sent from now on.
    pub fn isolate(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    pub const fn is_greeted(&self) -> bool {
        self.greeted
    }

    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Opens a stream at the near end, after the hello. `None` at the limit.
    pub fn open(&mut self) -> Option<StreamId> {
        if self.streams.len() >= MAX_STREAMS {
            return None;
        }
        self.newest = self.newest.checked_add(1)?;
        let id = StreamId(self.newest);
        self.streams.insert(id, Stream::new(BASE_WINDOW));
        self.write(ControlFrame::Open(id));
        self.grow(id);
        self.give_credit(id);
        Some(id)
    }

    /// Discards bytes in flight, in both directions.
    pub fn reset(&mut self, id: StreamId, reason: ResetReason) {
        if self.remove(id) {
            self.write(ControlFrame::Reset(id, reason));
        }
    }

    /// The stream's socket accepted `count` received bytes.
    pub fn consumed(&mut self, id: StreamId, count: usize) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let receiving = &mut stream.receiving;
        receiving.held = receiving.held.saturating_sub(count);
        receiving.consumed += count;
        if receiving.owes_credit() {
            if receiving.keeps_pace() {
                self.grow(id);
            }
            self.give_credit(id);
        }
        self.remove_if_over(id);
    }

    pub fn ping(&mut self) {
        self.write(ControlFrame::Ping);
    }

    /// Resets limits per time span; call it every 100 ms or more.
    pub fn time_passed(&mut self) {
        self.pings = 0;
    }

    pub fn goodbye(&mut self, reason: GoodbyeReason) {
        self.write(ControlFrame::Goodbye(reason));
    }

    pub fn full(&mut self, at: Timestamp) {
        self.throughput.full(at);
    }

    pub fn idle(&mut self) {
        self.throughput.idle();
    }

    pub fn unsent(&self) -> &[u8] {
        self.unsent.get(self.gone..).unwrap_or_default()
    }

    pub fn sent(&mut self, count: usize) {
        self.throughput.sent(count);
        self.gone = (self.gone + count).min(self.unsent.len());
        if self.gone == self.unsent.len() {
            self.unsent.clear();
            self.gone = 0;
        }
    }

    /// Never empty once [`Lane::next`] has returned `None`.
    pub fn space(&mut self) -> &mut [u8] {
        self.incoming.space()
    }

    pub fn filled(&mut self, count: usize) {
        self.incoming.filled(count);
    }

    /// Returns `None` if more bytes must come first.
    ///
    /// # Errors
    /// If the other end violates the protocol or leaves; the lane is then unusable.
    #[expect(
        clippy::should_implement_trait,
        reason = "events borrow from the lane, which an iterator's items cannot"
    )]
    pub fn next(&mut self) -> Result<Option<LaneEvent<'_>>, LaneError> {
        loop {
            let seen = if self.greeted {
                self.next_frame()?
            } else {
                self.look_for_hello()?
            };
            match seen {
                Seen::Nothing => return Ok(None),
                Seen::Handled => {}
                Seen::Event(event) => return Ok(Some(event)),
                Seen::Stored(stream, range) => {
                    let bytes = self.incoming.at(range);
                    let coding = Coding::Stored;
                    return Ok(Some(LaneEvent::Bytes {
                        stream,
                        bytes,
                        coding,
                    }));
                }
                Seen::Decoded(stream, coding) => {
                    let bytes = &self.decoded;
                    return Ok(Some(LaneEvent::Bytes {
                        stream,
                        bytes,
                        coding,
                    }));
                }
            }
        }
    }

    /// The growth counts as consumed.
    fn grow(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let receiving = &mut stream.receiving;
        let wanted = (receiving.window * 2).clamp(FIRST_WINDOW, MAX_WINDOW);
        let by = (wanted - receiving.window).min(POOL - self.grown);
        receiving.window += by;
        receiving.consumed += by;
        self.grown += by;
    }

    fn give_credit(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let amount = std::mem::take(&mut stream.receiving.consumed);
        stream.receiving.credit += amount;
        stream.receiving.starved = false;
        if let Ok(amount @ 1..) = u32::try_from(amount) {
            self.write(ControlFrame::Credit(id, amount));
        }
    }

    fn remove_if_over(&mut self, id: StreamId) {
        if self.streams.get(&id).is_some_and(Stream::is_over) {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: StreamId) -> bool {
        match self.streams.remove(&id) {
            None => false,
            Some(stream) => {
                self.grown -= stream.receiving.window - BASE_WINDOW;
                self.over += 1;
                true
            }
        }
    }

    fn write(&mut self, control: ControlFrame) {
        self.forget_sent();
        let before = self.unsent.len();
        frame::write(&mut self.unsent, control);
        self.out.tunnel_bytes += (self.unsent.len() - before) as u64;
    }

    /// Only once they are most of the buffer.
    fn forget_sent(&mut self) {
        if self.gone > self.unsent.len() / 2 {
            self.unsent.drain(..self.gone);
            self.gone = 0;
        }
    }
}

enum Seen {
    Nothing,
    Handled,
    Event(LaneEvent<'static>),
    Stored(StreamId, Range<usize>),
    Decoded(StreamId, Coding),
}
