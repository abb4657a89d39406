//! Pools with a maximum of idle connections, as database/sql's `MaxIdleConns`.

use super::Use;
use model::{ConnectionId, Timestamp};
use std::collections::HashMap;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Openings {
    pub opened: Vec<Timestamp>,
    pub closed: HashMap<ConnectionId, Timestamp>,
}

impl Openings {
    /// 1. Connections are closed when they are returned, [`MIN_CLOSED`] times.
    /// 2. Then nearly always as many others are idle, at least one.
    /// 3. Connections are opened while none is idle longer than [`UNSETTLED`]: the wire does not show
    ///    when one is returned.
    pub fn idle_limit(&self, uses: &[Use]) -> Option<u32> {
        let mut by_connection: HashMap<ConnectionId, Vec<&Use>> = HashMap::new();
        uses.iter()
            .for_each(|one| by_connection.entry(one.connection).or_default().push(one));
        let mut idle = Vec::new();
        let mut closed = Vec::new();
        for (connection, uses) in &by_connection {
            idle.extend(uses.windows(2).map(|pair| (pair[0].to, pair[1].from)));
            let Some(last) = uses.last() else { continue };
            match self.closed.get(connection) {
                Some(at) if at.since(last.to) < MAX_CLOSING => closed.push(*at),
                Some(at) => idle.push((last.to, *at)),
                // Some are closed outside of all requests.
                None => {}
            }
        }
        if closed.len() < MIN_CLOSED || !is_most(closed.len(), self.closed.len()) {
            return None;
        }
        let others = IdleSpans::new(idle.iter().copied());
        let mut counts: HashMap<usize, usize> = HashMap::new();
        closed
            .iter()
            .for_each(|at| *counts.entry(others.at(*at)).or_default() += 1);
        let (limit, times) = counts.into_iter().max_by_key(|(limit, times)| (*times, *limit))?;
        let settled = idle
            .iter()
            .map(|(from, to)| (from.after(UNSETTLED), to.before(UNSETTLED)));
        let settled = IdleSpans::new(settled.filter(|(from, to)| from < to));
        let with_none = self.opened.iter().filter(|at| settled.at(**at) == 0).count();
        let is_seen = limit > 0
            && is_most(times, closed.len())
            && self.opened.len() >= MIN_CLOSED
            && is_most(with_none, self.opened.len());
        is_seen.then_some(limit as u32)
    }
}

const fn is_most(part: usize, all: usize) -> bool {
    4 * part >= 3 * all
}

struct IdleSpans([Vec<Timestamp>; 2]);

impl IdleSpans {
    fn new(spans: impl Iterator<Item = (Timestamp, Timestamp)>) -> Self {
        let (mut begins, mut ends): (Vec<_>, Vec<_>) = spans.unzip();
        begins.sort_unstable();
        ends.sort_unstable();
        Self([begins, ends])
    }

    fn at(&self, at: Timestamp) -> usize {
        let [begun, ended] = &self.0;
        let before = |times: &[Timestamp]| times.partition_point(|time| *time <= at);
        before(begun).saturating_sub(before(ended))
    }
}

const MIN_CLOSED: usize = 10;
const MAX_CLOSING: Duration = Duration::from_millis(50);
const UNSETTLED: Duration = Duration::from_millis(1);
