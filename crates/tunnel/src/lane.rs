//! One lane, as one of its ends sees it: many streams on one connection.
//!
//! It owns no socket and no clock. The calling order, again and again:
//!
//! 1. Bytes from the lane's socket go into [`Lane::space`], are made known with [`Lane::filled`], and come
//!    out of [`Lane::next`] as events until there are none. What a stream's own socket took of a chunk is
//!    reported to [`Lane::consumed`], at once or later: that alone lets the other end send more.
//! 2. A stream whose socket has something to read is reported to [`Lane::readable`]. [`Lane::pick`] says
//!    whose turn it is and how much it may be read; after each pick exactly one of [`Lane::send`],
//!    [`Lane::drained`], [`Lane::finish`] and [`Lane::reset`] follows. A stream that is not picked is not
//!    read: bytes wait where they are.
//! 3. [`Lane::unsent`] goes to the lane's socket, and [`Lane::sent`] is called with how much of it did;
//!    [`Lane::full`] when it takes no more for now, [`Lane::idle`] when nothing is left to be sent.
//!
//! Memory: [`MAX_STREAMS`] windows of [`BASE_WINDOW`] and [`POOL`] of what they grew, held by the code that
//! uses the lane, and less than a MiB of its own besides the codecs'.

pub mod compressibility;
mod incoming;
mod receiving;
mod schedule;
mod stream;

use crate::frame::{
    self, ChunkHeader, ControlFrame, End, FrameError, GoodbyeReason, Isolation, LanePreferences, ResetReason,
    StreamId,
};
use crate::throughput_estimator::ThroughputEstimator;
use crate::{Coding, CompressError, CompressionLevel, Compressor, Decompressor, MAX_CHUNK_BYTES};
use incoming::Incoming;
use model::{Timestamp, TunnelDirection};
use schedule::Schedule;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;
use stream::{QueuePosition, Stream};

/// Most streams on a lane.
pub const MAX_STREAMS: usize = 1024;
/// What may be sent of a stream before its reader has taken any of it: every stream has it.
pub const BASE_WINDOW: usize = 32 * 1024;
/// What the near end lets the far end send at first, and the minimum that a window grows to, while the pool
/// has it.
pub const FIRST_WINDOW: usize = 256 * 1024;
/// No window grows beyond it.
pub const MAX_WINDOW: usize = 4 * 1024 * 1024;
/// What all windows of a lane may have beyond [`BASE_WINDOW`], at each end.
pub const POOL: usize = 64 * 1024 * 1024;

/// While this much waits to be sent no stream is picked; on a slow lane what passes within [`ENOUGH_TIME`],
/// but not less than [`MIN_UNSENT`]. A small message never waits behind more.
const ENOUGH_UNSENT: usize = 32 * 1024;
const MIN_UNSENT: usize = 4 * 1024;
const ENOUGH_TIME: Duration = Duration::from_millis(10);
/// Frames that only answer the other end's; a peer that sends that many without reading is not a tunnel.
const MAX_UNSENT: usize = 1024 * 1024;
/// CREDITs of a stream: this many, and one for every [`BYTES_A_CREDIT`] bytes that were sent of it. An end
/// gives back half a window at a time, or what was left of one.
const FREE_CREDITS: u64 = 64;
const BYTES_A_CREDIT: u64 = 256;
/// Frames without bytes that may be on their way when a stream ends.
const LATE_FRAMES: u64 = 1024;
/// Questions whether this end is there, between two calls of [`Lane::time_passed`].
const MAX_PINGS: u32 = 32;
/// Chunks below it are not worth a codec's trouble.
pub const TINY: usize = 128;

/// The other end broke the protocol, or a codec failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// Its bytes are no frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// It sent something that only the other end may send, or that may come once.
    #[error("sent {what} where there may be none")]
    OutOfPlace {
        /// Which frame.
        what: &'static str,
    },
    /// It speaks of a stream that was never opened.
    #[error("spoke of the stream {stream}, which was never opened")]
    NotOpened {
        /// Its number.
        stream: u32,
    },
    /// It sent what it had no credit for.
    #[error("sent more of the stream {stream} than it had credit for")]
    Credit {
        /// Its number.
        stream: u32,
    },
    /// It asks without reading the answers.
    #[error("does not read its answers")]
    Flood,
    /// It sends without end what serves no stream.
    #[error("floods the lane with {what}")]
    Useless {
        /// Which frames.
        what: &'static str,
    },
    /// A chunk cannot be decompressed.
    #[error("sent bytes that cannot be decompressed: {0}")]
    Chunk(CompressError),
    /// A chunk could not be compressed.
    #[error("could not be sent a chunk: {0}")]
    Compress(CompressError),
    /// It closes the lane.
    #[error("{0}")]
    Goodbye(GoodbyeReason),
}

/// What the other end did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneEvent<'a> {
    /// It is a tunnel of this version, and wants this. Once, before anything else.
    Hello(LanePreferences),
    /// A client connected; at the far end only.
    Opened(StreamId),
    /// Bytes for a stream's socket. At most what this end's window allows is ever held.
    Bytes {
        /// Whose.
        stream: StreamId,
        /// To be passed on, in this order.
        bytes: &'a [u8],
        /// How they arrived.
        coding: Coding,
    },
    /// After the bytes before, no more will come for a stream's socket.
    Finished(StreamId),
    /// A stream is over.
    Reset(StreamId, ResetReason),
}

/// Whose turn it is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Whose.
    pub stream: StreamId,
    /// Most bytes that may be read of its socket and sent; never 0.
    pub most: usize,
}

/// The outcome of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framed {
    /// The level that it was compressed at: off where that is not worth the trouble.
    pub level: CompressionLevel,
    /// Bytes of its frame.
    pub bytes: usize,
}

/// An end of a lane.
pub struct Lane {
    end: End,
    isolation: Isolation,
    greeted: bool,
    incoming: Incoming,
    decoded: Vec<u8>,
    decompressor: Decompressor,
    unsent: Vec<u8>,
    /// How many of `unsent` have been sent by now.
    gone: usize,
    compressor: Compressor,
    /// What the compressor's context is about, where statements are isolated.
    statement: Option<(StreamId, u64)>,
    streams: HashMap<StreamId, Stream>,
    newest: u32,
    schedule: Schedule,
    throughput: ThroughputEstimator,
    /// What windows have beyond the base, in all.
    grown: usize,
    /// Streams that are over, and what was received for them since: frames without bytes, and bytes.
    over: u64,
    late_frames: u64,
    late_bytes: u64,
    pings: u32,
    /// What left on it. The code that times the codec and the lane's socket adds those times.
    pub out: TunnelDirection,
    /// What came over it, likewise.
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
    /// A lane on which nothing has passed; its hello, which says what this end wants, is the first to be
    /// sent.
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

    /// From now on what this end sends is isolated like this.
    pub fn isolate(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// Whether the other end has said hello.
    pub const fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Streams that are not over.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Opens a stream for a client that connected; at the near end, which has been greeted. `None` if the
    /// lane carries as many as it may.
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

    /// The stream's socket may have something to read, or its end.
    pub fn readable(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.sending.readable = true;
        if stream.sending.position == QueuePosition::Idle && !stream.sending.finished {
            stream.sending.position = QueuePosition::Queued;
            self.schedule.was_idle(id);
        }
    }

    /// The stream to be read next. `None` while no stream has anything, or enough waits to be sent.
    pub fn pick(&mut self) -> Option<Pick> {
        let enough = self.enough();
        if self.unsent.len() - self.gone >= enough {
            return None;
        }
        loop {
            let id = self.schedule.next()?;
            let Some(stream) = self.streams.get_mut(&id) else {
                continue;
            };
            let sending = &mut stream.sending;
            if !sending.readable || sending.finished {
                sending.position = QueuePosition::Idle;
            } else if sending.credit == 0 {
                sending.position = QueuePosition::Starved;
                self.out.reader_stalls += 1;
            } else {
                let most = sending.compressibility.payload_for(enough);
                let most = most.min(sending.credit).min(MAX_CHUNK_BYTES);
                return Some(Pick { stream: id, most });
            }
        }
    }

    /// Sends a chunk of the stream that was picked, not empty, at most as many bytes as the pick allowed.
    /// `drained`: its socket has nothing more now. Returns the outcome of the chunk.
    ///
    /// # Errors
    /// When the codec fails; the lane can then no longer be used.
    pub fn send(
        &mut self,
        id: StreamId,
        chunk: &[u8],
        drained: bool,
        level: CompressionLevel,
    ) -> Result<Framed, LaneError> {
        self.forget_sent();
        let Some(stream) = self.streams.get_mut(&id) else {
            return Ok(Framed {
                level: CompressionLevel::OFF,
                bytes: 0,
            });
        };
        let tries =
            level != CompressionLevel::OFF && chunk.len() >= TINY && stream.sending.compressibility.tries();
        let level = if tries { level } else { CompressionLevel::OFF };
        if std::mem::take(&mut stream.answered) {
            stream.statement += 1;
        }
        let about = Some((id, stream.statement));
        let fresh = tries && self.isolation == Isolation::Statements && self.statement != about;
        if fresh {
            self.compressor.forget();
            self.statement = about;
        }
        let start = frame::begin_chunk(&mut self.unsent);
        let coding = self
            .compressor
            .compress(chunk, level, &mut self.unsent)
            .map_err(LaneError::Compress)?;
        let bytes = self.unsent.len() - start;
        let sending = &mut stream.sending;
        sending.compressibility.went(tries, chunk.len(), bytes);
        sending.credit = sending.credit.saturating_sub(chunk.len());
        sending.sent += chunk.len() as u64;
        sending.readable = !drained;
        let header = ChunkHeader {
            stream: id,
            coding,
            fresh,
            starved: sending.credit == 0 && !drained,
        };
        frame::end_chunk(&mut self.unsent, start, header);
        if drained && self.schedule.nobody_busy() {
            sending.position = QueuePosition::Idle;
        } else {
            self.schedule.goes_on(id);
        }
        count(&mut self.out, chunk.len(), bytes, coding);
        if let Some(sum) = self.out.payload_bytes_at.get_mut(usize::from(level.number())) {
            *sum += chunk.len() as u64;
        }
        Ok(Framed { level, bytes })
    }

    /// The stream that was picked has nothing to send now.
    pub fn drained(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.sending.readable = false;
            stream.sending.position = QueuePosition::Idle;
        }
    }

    /// The stream's socket will send no more.
    pub fn finish(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.sending.finished = true;
        self.write(ControlFrame::Fin(id));
        self.remove_if_over(id);
    }

    /// Whether the stream was reported as finished, or is over.
    pub fn has_finished(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_none_or(|stream| stream.sending.finished)
    }

    /// Whether the stream is in the queue: it will be read.
    pub fn will_read(&self, id: StreamId) -> bool {
        let position = self.streams.get(&id).map(|stream| stream.sending.position);
        position == Some(QueuePosition::Queued)
    }

    /// The stream is over, both ways, whatever is on its way.
    pub fn reset(&mut self, id: StreamId, reason: ResetReason) {
        if self.remove(id) {
            self.write(ControlFrame::Reset(id, reason));
        }
    }

    /// The stream's socket took `count` of the bytes that came for it.
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

    /// Asks the other end to answer.
    pub fn ping(&mut self) {
        self.write(ControlFrame::Ping);
    }

    /// A while has passed, 100 ms or more: what is bounded in such a span may come again.
    pub fn time_passed(&mut self) {
        self.pings = 0;
    }

    /// Says that the lane will be closed.
    pub fn goodbye(&mut self, reason: GoodbyeReason) {
        self.write(ControlFrame::Goodbye(reason));
    }

    /// How much may wait to be sent: less where the lane is slow.
    pub fn enough(&self) -> usize {
        let passes = |rate: f64| (rate * ENOUGH_TIME.as_secs_f64()) as usize;
        self.throughput.rate().map_or(ENOUGH_UNSENT, |rate| {
            passes(rate).clamp(MIN_UNSENT, ENOUGH_UNSENT)
        })
    }

    /// The lane's socket takes no more for now.
    pub fn full(&mut self, at: Timestamp) {
        self.throughput.full(at);
    }

    /// Nothing is left to be sent.
    pub fn idle(&mut self) {
        self.throughput.idle();
    }

    /// What waits for the lane's socket.
    pub fn unsent(&self) -> &[u8] {
        self.unsent.get(self.gone..).unwrap_or_default()
    }

    /// The lane's socket took `count` bytes.
    pub fn sent(&mut self, count: usize) {
        self.throughput.sent(count);
        self.gone = (self.gone + count).min(self.unsent.len());
        if self.gone == self.unsent.len() {
            self.unsent.clear();
            self.gone = 0;
        }
    }

    /// Room for what the lane's socket has, never empty while [`Lane::next`] is called until it has nothing
    /// more.
    pub fn space(&mut self) -> &mut [u8] {
        self.incoming.space()
    }

    /// `count` bytes of the space were filled.
    pub fn filled(&mut self, count: usize) {
        self.incoming.filled(count);
    }

    /// What the other end did next; `None` if more bytes must come first.
    ///
    /// # Errors
    /// When the other end broke the protocol or takes its leave; the lane can then no longer be used.
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

    /// Doubles the window, as far as the pool goes; what it grows by counts as consumed.
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

    /// What was sent is dropped before more is appended, once it is most of what is kept.
    fn forget_sent(&mut self) {
        if self.gone > self.unsent.len() / 2 {
            self.unsent.drain(..self.gone);
            self.gone = 0;
        }
    }
}

/// What a frame was.
enum Seen {
    /// It is not complete yet.
    Nothing,
    /// It is of no concern outside the lane.
    Handled,
    /// Without bytes of a stream.
    Event(LaneEvent<'static>),
    /// Bytes as they arrived.
    Stored(StreamId, Range<usize>),
    /// Bytes that were decompressed.
    Decoded(StreamId, Coding),
}

fn count(way: &mut TunnelDirection, payload: usize, frame: usize, coding: Coding) {
    way.payload_bytes += payload as u64;
    way.tunnel_bytes += frame as u64;
    way.chunks += 1;
    if coding == Coding::Stored {
        way.stored_chunks += 1;
    }
}
