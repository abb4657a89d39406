//! Decodes traffic of network interfaces into facts.
//!
//! One thread takes packets from the kernel's ring buffer and decodes them. The facts go through a
//! bounded channel to the aggregating thread. If that one is too slow, the channel fills, then the
//! ring, and then the kernel drops packets and counts them: memory is bounded, and every loss is
//! reported.

mod packet_file;
mod programs;
mod reader;

pub use capture::filter::{FilterError, PacketFilter};
use packet_file::PacketFile;
pub use packet_file::PacketFilePlan;

use super::Reading;
use crate::compression::CompressionOutcome;
use analysis::fact::Fact;
use anyhow::{Context, Result};
use model::{ByteCount, ConnectionId, HostProcess, PerSide, Warning};
use programs::Programs;
pub use programs::ProgramsOfConnection;
use reader::Reader;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use sys::packets::{Interfaces, PacketCounts, PacketRing};
use sys::receiver::{StoppableReceiver, WaitLimit, stoppable};
use sys::socket_owners::OwnerLookup;
use sys::{StopAtDrop, StopToken};

#[derive(Debug)]
pub struct LivePlan {
    pub interfaces: Interfaces,
    pub filter: PacketFilter,
    pub ring: ByteCount,
    pub kept: Option<PacketFilePlan>,
}

/// An opened observation. Packets wait in the ring, and none has been read.
#[derive(Debug)]
pub struct OpenedInput {
    ring: PacketRing,
    name: String,
    kept: Option<PacketFile>,
}

#[derive(Debug)]
pub struct LiveInput {
    facts: StoppableReceiver<Vec<Fact>>,
    _stop: StopAtDrop,
    programs: Programs,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<LiveSummary>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// No later packets are wanted.
    stop: StopToken,
    open_connections: AtomicU64,
    passed: AtomicU64,
    dropped: AtomicU64,
    news: Mutex<Vec<LiveNews>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveNews {
    /// An interface was removed, so its packets are no longer seen.
    InterfaceGone(String),
    NotKept(String),
}

#[derive(Debug, Default)]
pub struct LiveSummary {
    pub warnings: Vec<Warning>,
    pub packets: u64,
    pub connections: u32,
    pub counts: PacketCounts,
    pub compressed: Option<CompressionOutcome>,
    pub not_kept: Option<String>,
}

impl OpenedInput {
    /// Opens everything that needs rights; later packets will be seen. Drops the right to capture
    /// afterwards.
    ///
    /// # Errors
    /// If this process may not capture, or the filter has more conditions than the kernel accepts.
    pub fn open(plan: LivePlan) -> Result<Self> {
        let program = plan.filter.program(&plan.interfaces.numbers())?;
        let steps = program
            .iter()
            .map(|step| (step.code, step.on_true, step.on_false, step.k));
        let steps: Vec<_> = steps.collect();
        let bytes = usize::try_from(plan.ring.as_bytes()).unwrap_or(usize::MAX);
        let name = plan.interfaces.to_string();
        let ring = PacketRing::open(plan.interfaces, bytes, &steps)?;
        // Last, so that a failed start does not change an earlier file.
        let kept = plan.kept.map(|plan| {
            let path = plan.path.display().to_string();
            PacketFile::create(plan).with_context(|| format!("could not write {path}"))
        });
        let kept = kept.transpose()?;
        Ok(Self { ring, name, kept })
    }

    /// Starts reading packets, with the current rights of this process. `lookup` finds the programs
    /// at the ends of connections.
    pub fn begin(self, reading: Reading, lookup: OwnerLookup) -> Result<LiveInput> {
        let Self { ring, name, kept } = self;
        let shared = Arc::new(Shared {
            stop: StopToken::new()?,
            ..Shared::default()
        });
        let (sender, facts) = stoppable(mpsc::sync_channel(WAITING_BATCHES))?;
        let reader = Reader {
            ring,
            name,
            kept,
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("longwire capture".to_owned())
            .spawn(move || {
                sys::signals::block_all_signals();
                reader.run(reading, sender)
            });
        Ok(LiveInput {
            facts,
            _stop: shared.stop.stop_at_drop(),
            programs: Programs::start(lookup).context(NO_THREAD)?,
            shared,
            thread: thread.context(NO_THREAD)?,
        })
    }
}

impl LiveInput {
    /// Waits for facts. Returns all that have arrived, in order.
    pub fn wait(&self, limit: WaitLimit<'_>) -> Vec<Fact> {
        let Ok(mut all) = self.facts.receive(limit) else {
            return Vec::new();
        };
        self.facts.try_iter().for_each(|batch| all.extend(batch));
        all.iter_mut().for_each(|fact| self.programs.add_to(fact));
        all
    }

    /// Known programs of this host at the ends of an open connection.
    pub fn processes(&self, connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        self.programs.find_programs(connection)
    }

    /// Programs found since the last call, by connection, client first.
    pub fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        self.programs.take_news()
    }

    /// Updated once a second.
    pub fn open_connections(&self) -> u64 {
        self.shared.open_connections.load(Ordering::Relaxed)
    }

    /// Updated once a second.
    pub fn counts(&self) -> PacketCounts {
        PacketCounts {
            passed: self.shared.passed.load(Ordering::Relaxed),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
        }
    }

    pub fn news(&self) -> Vec<LiveNews> {
        self.shared.take_news()
    }

    /// Ends the observation after all packets before this call. Passes the last facts to `facts`.
    pub fn stop(self, facts: &mut dyn FnMut(Fact)) -> Result<LiveSummary> {
        let Self {
            facts: last,
            _stop,
            programs,
            shared,
            thread,
        } = self;
        shared.stop.stop();
        for mut fact in last.into_iter().flatten() {
            programs.add_to(&mut fact);
            facts(fact);
        }
        let mut summary = thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        for news in shared.take_news() {
            if let LiveNews::NotKept(reason) = news {
                summary.not_kept = Some(reason);
            }
        }
        Ok(summary)
    }
}

impl Shared {
    fn take_news(&self) -> Vec<LiveNews> {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut news)
    }

    fn send_news(&self, news: LiveNews) {
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(news);
    }
}

const NO_THREAD: &str = "could not start a thread";

/// They hold about 30,000 facts.
const WAITING_BATCHES: usize = 64;
