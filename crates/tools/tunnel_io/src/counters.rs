//! Counters of one end of a tunnel, from all threads.

use super::{Error, Notice, Notify};
use model::{Direction, PerDirection, Timestamp, TunnelDirection, TunnelTotals};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use sys::clock::Clock;
use sys::processor::{Of, processor_time};
use tunnel::End;

/// The shared part of [`TunnelTotals`], and the callback for notices.
pub(super) struct LaneCounters {
    end: End,
    clock: Clock,
    started: Timestamp,
    notify: Notify,
    streams: AtomicU64,
    broken: AtomicU64,
    refused: AtomicU64,
    lanes: AtomicU64,
    losses: AtomicU64,
    refused_peers: AtomicU64,
    figures: Mutex<Figures>,
    /// The last reported reason for having no lane.
    no_lane: Mutex<Option<Error>>,
    no_stream: Once,
    no_database: Once,
    nothing_to_compress: Once,
}

#[derive(Default)]
struct Figures {
    standing: Vec<Arc<LaneFigures>>,
    /// Sums of closed lanes, by [`Direction::index`].
    gone: PerDirection<TunnelDirection>,
}

/// Counters of one lane, updated by its thread once per round.
#[derive(Debug, Default)]
pub(super) struct LaneFigures(Mutex<(PerDirection<TunnelDirection>, u64)>);

/// Set after the first report, until the condition ends.
#[derive(Default)]
struct Once(AtomicBool);

impl Once {
    fn is_first(&self) -> bool {
        // Read first: with some streams every chunk calls this, and lanes share the flag.
        !self.0.load(Ordering::Relaxed) && !self.0.swap(true, Ordering::Relaxed)
    }

    fn over(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl LaneFigures {
    /// `out` is the direction in which this end sends.
    pub fn set(&self, end: End, out: TunnelDirection, came: TunnelDirection, streams: usize) {
        let ways = match end {
            End::Near => PerDirection::new(out, came),
            End::Far => PerDirection::new(came, out),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (ways, streams as u64);
    }

    fn get(&self) -> (PerDirection<TunnelDirection>, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LaneCounters {
    pub fn new(end: End, clock: Clock, notify: Notify) -> Self {
        Self {
            end,
            clock,
            started: clock.now(),
            notify,
            streams: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            lanes: AtomicU64::new(0),
            losses: AtomicU64::new(0),
            refused_peers: AtomicU64::new(0),
            figures: Mutex::default(),
            no_lane: Mutex::default(),
            no_stream: Once::default(),
            no_database: Once::default(),
            nothing_to_compress: Once::default(),
        }
    }

    pub const fn end(&self) -> End {
        self.end
    }

    pub const fn sends(&self) -> Direction {
        match self.end {
            End::Near => Direction::ClientToServer,
            End::Far => Direction::ServerToClient,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A lack of lanes is reported once per reason; refused clients and an unreachable database
    /// once until the condition ends.
    pub fn record_notice(&self, notice: &Notice) {
        let told = match notice {
            Notice::NoLane { reason } => self.is_another(reason),
            Notice::StreamRefused { .. } => self.no_stream.is_first(),
            Notice::DatabaseUnreachable { .. } => self.no_database.is_first(),
            Notice::NothingToCompress { .. } => self.nothing_to_compress.is_first(),
            Notice::LaneUp { .. }
            | Notice::LaneLost { .. }
            | Notice::PeerRefused { .. }
            | Notice::PeersRefused { .. } => true,
        };
        if told {
            (self.notify)(notice);
        }
    }

    pub fn lane_begins(&self) -> Arc<LaneFigures> {
        let figures = Arc::new(LaneFigures::default());
        self.figures().standing.push(Arc::clone(&figures));
        figures
    }

    pub fn lane_ends(&self, lane: &Arc<LaneFigures>) {
        let (ways, _) = lane.get();
        let mut figures = self.figures();
        figures.standing.retain(|other| !Arc::ptr_eq(other, lane));
        for (sum, way) in figures.gone.iter_mut().zip(&ways) {
            add(sum, way);
        }
    }

    /// Returns the number of lanes that are up.
    pub fn lane_up(&self) -> u64 {
        *self.no_lane() = None;
        self.lanes.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// `lost` unless either end stopped the lane.
    pub fn lane_down(&self, lost: bool) {
        self.lanes.fetch_sub(1, Ordering::Relaxed);
        if lost {
            self.losses.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn stream_opened(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    /// The far side of a stream answered, or the database accepted.
    pub fn stream_works(&self) {
        self.no_stream.over();
        self.no_database.over();
    }

    pub fn streams_broken(&self, count: usize) {
        self.broken.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn stream_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// An admitted peer violated the protocol.
    pub fn peer_refused(&self, reason: Error) {
        self.refused_peers.fetch_add(1, Ordering::Relaxed);
        self.record_notice(&Notice::PeerRefused { reason });
    }

    /// The caller counts the peers refused at the port.
    pub fn totals(&self, refused_at_port: u64) -> TunnelTotals {
        let figures = self.figures();
        let mut ways = figures.gone;
        let mut open_streams = 0;
        for lane in &figures.standing {
            let (lane, open) = lane.get();
            open_streams += open;
            for (sum, way) in ways.iter_mut().zip(&lane) {
                add(sum, way);
            }
        }
        TunnelTotals {
            ways,
            streams: self.streams.load(Ordering::Relaxed),
            open_streams,
            broken_streams: self.broken.load(Ordering::Relaxed),
            refused_streams: self.refused.load(Ordering::Relaxed),
            lanes: self.lanes.load(Ordering::Relaxed),
            lane_losses: self.losses.load(Ordering::Relaxed),
            refused_peers: refused_at_port + self.refused_peers.load(Ordering::Relaxed),
            processor: processor_time(Of::Process),
            elapsed: self.now().since(self.started),
        }
    }

    fn is_another(&self, reason: &Error) -> bool {
        let mut last = self.no_lane();
        let is_another = last.as_ref() != Some(reason);
        *last = Some(reason.clone());
        is_another
    }

    fn no_lane(&self) -> std::sync::MutexGuard<'_, Option<Error>> {
        self.no_lane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn figures(&self) -> std::sync::MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(sum: &mut TunnelDirection, way: &TunnelDirection) {
    sum.payload_bytes += way.payload_bytes;
    sum.tunnel_bytes += way.tunnel_bytes;
    sum.chunks += way.chunks;
    sum.stored_chunks += way.stored_chunks;
    for (sum, bytes) in sum.payload_bytes_at.iter_mut().zip(way.payload_bytes_at) {
        *sum += bytes;
    }
    sum.codec_time += way.codec_time;
    sum.stalls += way.stalls;
    sum.stalled += way.stalled;
    sum.reader_stalls += way.reader_stalls;
}
