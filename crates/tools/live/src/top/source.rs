//! Data source of `top`: a live run or a recording.

use anyhow::Result;
use model::{ConnectionId, HostProcess, PerSide, Warning};
use pipeline::aggregator::Aggregator;
use pipeline::output::{EndRequest, Status};
use screen::{Position, RingCounts, Screen, Snapshot, TimeStep, Wants};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

pub trait ScreenSource {
    /// Waits for facts, a key or a signal, and processes the facts. Returns a status at the end of the
    /// source.
    fn gather(
        &mut self,
        screen: &mut Screen,
        keys: Option<BorrowedFd<'_>>,
        longest: Duration,
    ) -> Result<Option<Status>>;

    /// Ends the wait of [`ScreenSource::gather`].
    fn asked(&self) -> &EndRequest;

    fn aggregator(&mut self) -> &mut Aggregator;

    fn moment(&self) -> Moment;

    fn warnings(&mut self) -> Vec<Warning>;

    /// Kernel counters of an interface.
    fn ring(&self) -> Option<RingCounts> {
        None
    }

    /// `None` for recordings. Facts of live traffic are delayed, to wait for packets after a
    /// connection's end.
    fn open_connections(&self) -> Option<u64> {
        None
    }

    /// Local programs at the ends of an open connection, if known.
    fn processes(&self, _connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        PerSide::default()
    }

    /// Has no effect on a live run.
    fn travel(&mut self, step: TimeStep, screen: &mut Screen) -> Result<()>;

    /// Starts sums at this moment, or at the beginning again.
    fn baseline(&mut self, set: bool);
}

#[derive(Debug, Clone, Default)]
pub struct Moment {
    pub place: String,
    /// Destination of the command's output, or empty without a command.
    pub note: String,
    pub observed: Duration,
    pub position: Option<Position>,
    pub since_baseline: Option<Duration>,
}

pub const ROWS: usize = 300;

pub fn snapshot(source: &mut (impl ScreenSource + ?Sized), wants: &Wants) -> Snapshot {
    let moment = source.moment();
    let mut warnings = source.warnings();
    let mut so_far = source.aggregator().so_far(ROWS, &[wants.link.rtt]);
    warnings.append(&mut so_far.outcome.warnings);
    so_far.outcome.warnings = warnings;
    let current = &mut so_far.current;
    if let Some(open) = source.open_connections() {
        let open = open.min(current.open);
        current.closed += current.open - open;
        current.open = open;
    }
    for open in &mut so_far.open {
        open.processes = source.processes(open.id);
    }
    Snapshot {
        place: moment.place,
        note: moment.note,
        observed: moment.observed,
        position: moment.position,
        since_baseline: moment.since_baseline,
        outcome: so_far.outcome,
        most_rows: ROWS,
        current: so_far.current,
        ring: source.ring(),
        open: so_far.open,
        forecast: None,
    }
}
