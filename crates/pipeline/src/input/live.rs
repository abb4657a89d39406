//! Round trips what passes network interfaces into facts, while it passes.
//!
//! One thread takes packets out of the ring that the kernel fills, and decodes them: the ring is what gives
//! it time. The facts go through a channel of limited length to the thread that sums up. When that one is too
//! slow, the channel is full, then the ring, and then the kernel drops packets and counts them: memory is
//! bounded, and nothing is missing without being reported.

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
use model::{ByteCount, ConnectionId, HostProcess, Warning};
use programs::Programs;
pub use programs::ProgramsOfConnection;
use reader::Reader;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::packets::{Interfaces, PacketCounts, PacketRing};
use sys::socket_owners::OwnerLookup;

/// What is observed.
#[derive(Debug)]
pub struct LivePlan {
    /// Of which interfaces.
    pub interfaces: Interfaces,
    /// Which of their packets.
    pub filter: PacketFilter,
    /// Room for packets that have not been inspected.
    pub ring: ByteCount,
    /// Where the packets are kept too.
    pub kept: Option<PacketFilePlan>,
}

/// All that an observation has open: packets wait in the ring, and nothing has looked at one yet.
#[derive(Debug)]
pub struct OpenedInput {
    ring: PacketRing,
    name: String,
    kept: Option<PacketFile>,
}

/// An observation in progress.
#[derive(Debug)]
pub struct LiveInput {
    facts: Receiver<Vec<Fact>>,
    programs: Programs,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<LiveSummary>>,
}

/// What both threads know.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    open_connections: AtomicU64,
    passed: AtomicU64,
    dropped: AtomicU64,
    news: Mutex<Vec<LiveNews>>,
}

/// What happened to the observation itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveNews {
    /// An interface is not there any more: nothing more is seen of it.
    InterfaceGone(String),
    /// The packets are not kept any more, and why.
    NotKept(String),
}

/// What was observed in addition to the facts.
#[derive(Debug, Default)]
pub struct LiveSummary {
    /// What is missing, what was assumed.
    pub warnings: Vec<Warning>,
    /// Packets that were inspected.
    pub packets: u64,
    /// TCP connections that were seen.
    pub connections: u32,
    /// What the kernel counted.
    pub counts: PacketCounts,
    /// What was compressed, where that was requested.
    pub compressed: Option<CompressionOutcome>,
    /// Why the last packets are not in the file where they were to be kept.
    pub not_kept: Option<String>,
}

impl OpenedInput {
    /// Opens what needs rights: what passes from now on will be seen. The right to capture is given up
    /// afterwards.
    ///
    /// # Errors
    /// When this process may not capture, or the filter has more conditions than the kernel takes.
    pub fn open(plan: LivePlan) -> Result<Self> {
        let program = plan.filter.program(&plan.interfaces.numbers())?;
        let steps = program
            .iter()
            .map(|step| (step.code, step.on_true, step.on_false, step.k));
        let steps: Vec<_> = steps.collect();
        let bytes = usize::try_from(plan.ring.as_bytes()).unwrap_or(usize::MAX);
        let name = plan.interfaces.to_string();
        let ring = PacketRing::open(plan.interfaces, bytes, &steps)?;
        // Last: what cannot begin leaves an earlier file as it is.
        let kept = plan.kept.map(|plan| {
            let path = plan.path.display().to_string();
            PacketFile::create(plan).with_context(|| format!("could not write {path}"))
        });
        let kept = kept.transpose()?;
        Ok(Self { ring, name, kept })
    }

    /// Begins to look at packets, with the rights that this process has now. `lookup` finds the programs at
    /// their ends.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn begin(self, reading: Reading, lookup: OwnerLookup) -> Result<LiveInput> {
        let Self { ring, name, kept } = self;
        let shared = Arc::new(Shared::default());
        let (sender, facts) = mpsc::sync_channel(WAITING_BATCHES);
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
            programs: Programs::start(lookup).context(NO_THREAD)?,
            shared,
            thread: thread.context(NO_THREAD)?,
        })
    }
}

impl LiveInput {
    /// Waits at most `patience` for facts, and takes all that have arrived, in their order.
    pub fn wait(&self, patience: Duration) -> Vec<Fact> {
        let Ok(mut all) = self.facts.recv_timeout(patience) else {
            return Vec::new();
        };
        self.facts.try_iter().for_each(|batch| all.extend(batch));
        all.iter_mut().for_each(|fact| self.programs.add_to(fact));
        all
    }

    /// The programs of this host that have an end of an open connection, client first, as far as they were
    /// found.
    pub fn processes(&self, connection: ConnectionId) -> [Option<Arc<HostProcess>>; 2] {
        self.programs.find_programs(connection)
    }

    /// The programs that were found since the last call, by connection, client first.
    pub fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        self.programs.take_news()
    }

    /// Connections that are open; brought up to date once a second.
    pub fn open_connections(&self) -> u64 {
        self.shared.open_connections.load(Ordering::Relaxed)
    }

    /// Packets that passed the filter, and those of them that were dropped; brought up to date once a second.
    pub fn counts(&self) -> PacketCounts {
        PacketCounts {
            passed: self.shared.passed.load(Ordering::Relaxed),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
        }
    }

    /// What has happened since the last call.
    pub fn news(&self) -> Vec<LiveNews> {
        let mut news = self.shared.news.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut news)
    }

    /// Ends it, once what passed before this call has been seen. Hands the last facts to `facts`.
    ///
    /// # Errors
    /// When what was to be compressed could not be.
    pub fn stop(self, facts: &mut dyn FnMut(Fact)) -> Result<LiveSummary> {
        let Self {
            facts: last,
            programs,
            shared,
            thread,
        } = self;
        shared.stop.store(true, Ordering::Relaxed);
        for mut fact in last.into_iter().flatten() {
            programs.add_to(&mut fact);
            facts(fact);
        }
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Shared {
    fn send_news(&self, news: LiveNews) {
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(news);
    }
}

const NO_THREAD: &str = "could not start a thread";

/// Batches of facts that may wait for the thread that sums up: some 30,000 facts.
const WAITING_BATCHES: usize = 64;
