//! The thread that takes packets from the ring and decodes them.

use super::{LiveNews, LiveSummary, PacketFile, Shared};
use crate::compression::CompressionMeter;
use crate::input::captured::CaptureDecoding;
use crate::input::numbering::Numbering;
use crate::input::{Batch, Reading};
use analysis::fact::Fact;
use anyhow::Result;
use capture::{LiveCapture, LivePacket};
use model::{Timestamp, Warning, WarningKind, counted};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use sys::clock::WallOffset;
use sys::packets::{PacketCounts, PacketRing, SeenPacket};
use sys::receiver::WakingSender;
use sys::{Clock, OsError, StopToken};

pub(super) struct Reader {
    pub ring: PacketRing,
    /// Name of the interfaces in warnings.
    pub name: String,
    pub kept: Option<PacketFile>,
    pub shared: Arc<Shared>,
}

impl Reader {
    pub fn run(
        mut self,
        reading: Reading,
        sender: WakingSender<SyncSender<Vec<Fact>>>,
    ) -> Result<LiveSummary> {
        let batch = RefCell::new(Batch::new(move |facts| drop(sender.send(facts))));
        let mut facts = |fact| batch.borrow_mut().add(fact);
        let meter = reading.compressing.clone().map(CompressionMeter::new);
        let mut observer = CaptureDecoding::new(reading.decoders(), meter, &mut facts, Numbering::new(0, 1));
        let mut live = LiveCapture::new(&self.name, &mut observer);
        self.until_stopped(&mut live, &batch);
        let report = live.finish();
        let compressed = observer.finish()?;
        batch.borrow_mut().send();
        let counts = self.ring.counts();
        let mut warnings = dropped(counts);
        warnings.extend(report.warnings);
        warnings.extend(reading.keys.warnings());
        let written = self.kept.map_or(Ok(()), PacketFile::finish);
        Ok(LiveSummary {
            warnings,
            packets: report.packets,
            connections: report.connections,
            counts,
            compressed,
            not_kept: written
                .err()
                .map(|error| OsError::from_io_error(&error).to_string()),
        })
    }

    fn until_stopped(&mut self, live: &mut LiveCapture<'_>, batch: &RefCell<Batch>) {
        let several = self.ring.has_several();
        let mut timeline = Timeline::now();
        let mut looked = Instant::now();
        let mut end: Option<Timestamp> = None;
        let never = StopToken::never();
        loop {
            timeline.follow();
            let mut last = Timestamp::default();
            let (kept, shared) = (&mut self.kept, &self.shared);
            let stop = if end.is_none() { &shared.stop } else { &never };
            let count = self.ring.read_packets(stop, TIME_STEP, &mut |seen| {
                last = timeline.packet_time(seen);
                if let Some(packet) = taken(seen, last, several) {
                    live.packet(&packet);
                }
                keep(kept, shared, seen, last);
            });
            let now = timeline.clock.now();
            if count == 0 {
                live.pass_time(before(now, UNDER_WAY));
            }
            batch.borrow_mut().send();
            if looked.elapsed() >= COUNTS_INTERVAL {
                looked = Instant::now();
                self.check_capture(live);
            }
            if self.shared.stop.is_stopped() {
                let end = *end.get_or_insert(now.after(UNDER_WAY));
                if now >= end && (count == 0 || last >= end) {
                    return;
                }
            }
        }
    }

    fn check_capture(&mut self, live: &LiveCapture<'_>) {
        let counts = self.ring.counts();
        self.shared.passed.store(counts.passed, Ordering::Relaxed);
        self.shared.dropped.store(counts.dropped, Ordering::Relaxed);
        let open = live.open_connections();
        self.shared.open_connections.store(open, Ordering::Relaxed);
        while let Some(name) = self.ring.take_gone() {
            self.shared.send_news(LiveNews::InterfaceGone(name));
        }
    }
}

/// Converts a packet for the decoder. Ethernet frames are passed complete; of other devices, the
/// network layer. Interface numbers matter only if the same packet may come from several.
fn taken<'a>(seen: &SeenPacket<'a>, at: Timestamp, several: bool) -> Option<LivePacket<'a>> {
    let interface = if several { seen.interface } else { 0 };
    let tag = if seen.vlan.is_some() { VLAN_TAG } else { 0 };
    match seen.device {
        ETHERNET | LOOPBACK => Some(LivePacket {
            at,
            link_type: LINK_ETHERNET,
            interface,
            frame: seen.frame,
            wire: seen.wire + tag,
        }),
        _ if matches!(seen.carries, IPV4 | IPV6) => Some(LivePacket {
            at,
            link_type: LINK_IP,
            interface,
            frame: seen.frame.get(seen.network..)?,
            wire: seen.wire.saturating_sub(seen.network as u32),
        }),
        _ => None,
    }
}

/// Writes the packet to the file, and stops using the file after an error.
fn keep(kept: &mut Option<PacketFile>, shared: &Shared, seen: &SeenPacket<'_>, at: Timestamp) {
    let Some(file) = kept else { return };
    if let Err(error) = file.packet(seen, at) {
        shared.send_news(LiveNews::NotKept(OsError::from_io_error(&error).to_string()));
        *kept = None;
    }
}

fn dropped(counts: PacketCounts) -> Vec<Warning> {
    if counts.dropped == 0 {
        return Vec::new();
    }
    let share = 100.0 * counts.dropped as f64 / counts.passed.max(1) as f64;
    let share = match share {
        0.0..0.1 => "less than 0.1 %".to_owned(),
        share => format!("{share:.1} %"),
    };
    let text = format!(
        "{} of {} dropped ({share}) because longwire did not keep up; they are not counted. Narrow the capture with --port or --filter, \
         or enlarge its buffer with --ring",
        counts.dropped,
        counted(counts.passed, "packet was", "packets were")
    );
    vec![Warning::new(WarningKind::PacketsDropped, text)]
}

/// Converts the kernel's wall clock stamps to the run's monotonic timeline.
struct Timeline {
    clock: Clock,
    offset: WallOffset,
}

impl Timeline {
    fn now() -> Self {
        Self {
            clock: Clock::anchored_now(),
            offset: WallOffset::now(),
        }
    }

    /// Follows steps of the wall clock. Differences below [`STEP`] are errors of measurement: they
    /// are ignored, or they would end up between packets.
    fn follow(&mut self) {
        let now = WallOffset::now();
        if now.apart(self.offset) > STEP {
            self.offset = now;
        }
    }

    fn packet_time(&self, seen: &SeenPacket<'_>) -> Timestamp {
        self.clock.to_timestamp(seen.at, self.offset)
    }
}

fn before(at: Timestamp, span: Duration) -> Timestamp {
    let nanoseconds = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_nanos(at.as_nanos().saturating_sub(nanoseconds))
}

/// Maximum time of a packet in the ring without later ones.
const UNDER_WAY: Duration = Duration::from_millis(150);
/// Time passes for the decoder in these steps while no packet comes.
const TIME_STEP: Duration = Duration::from_millis(50);
const COUNTS_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum step of the wall clock.
const STEP: Duration = Duration::from_millis(5);
pub(super) const ETHERNET: u16 = 1;
pub(super) const LOOPBACK: u16 = 772;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Link-layer types of capture files.
pub(super) const LINK_ETHERNET: u16 = 1;
const LINK_IP: u16 = 101;
const VLAN_TAG: u32 = 4;
