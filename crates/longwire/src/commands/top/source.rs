//! What `top` shows: a run that goes on, or a recording.

use anyhow::Result;
use model::{ConnectionId, HostProcess, Warning};
use pipeline::aggregator::Aggregator;
use pipeline::output::Status;
use screen::{Position, RingCounts, Screen, Snapshot, TimeStep, Wants};
use std::sync::Arc;
use std::time::Duration;

/// Where a screen's figures come from.
pub trait ScreenSource {
    /// Takes what has come, and waits a little for it; returns a status when there is nothing more to look
    /// at.
    ///
    /// # Errors
    /// When it cannot be read.
    fn gather(&mut self, screen: &mut Screen) -> Result<Option<Status>>;

    /// What sums it up.
    fn aggregator(&mut self) -> &mut Aggregator;

    /// Which moment it is.
    fn moment(&self) -> Moment;

    /// What a reader of the figures must know of the source.
    fn warnings(&mut self) -> Vec<Warning>;

    /// What the kernel counted at an interface; absent elsewhere.
    fn ring(&self) -> Option<RingCounts> {
        None
    }

    /// How many connections are open, where the observer knows it before their facts do: packets that come
    /// after the end of a connection are waited for.
    fn open_connections(&self) -> Option<u64> {
        None
    }

    /// The programs of this host that have an end of an open connection, client first, as far as they are
    /// known.
    fn processes(&self, _connection: ConnectionId) -> [Option<Arc<HostProcess>>; 2] {
        [None, None]
    }

    /// Goes to another moment; a run that goes on has none.
    ///
    /// # Errors
    /// When it cannot be read.
    fn travel(&mut self, step: TimeStep, screen: &mut Screen) -> Result<()>;

    /// Sums up from now on, or from the beginning again.
    fn baseline(&mut self, set: bool);
}

/// A moment of a source.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    /// Where the traffic is seen.
    pub place: String,
    /// Where its command writes; empty without one.
    pub note: String,
    /// How long it has been.
    pub observed: Duration,
    /// Of a recording.
    pub position: Option<Position>,
    /// How long ago the baseline was set.
    pub since_baseline: Option<Duration>,
}

/// Rows of each kind that the screen is given.
pub const ROWS: usize = 300;

/// The source at this moment, without predictions.
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
