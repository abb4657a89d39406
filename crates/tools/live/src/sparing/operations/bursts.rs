//! Operations without requests: bursts and transactions of one connection.

use super::visit::{Visit, begins_transaction};
use super::{Number, Operations};
use crate::sparing::reading::Request;
use analysis::verb;
use model::Timestamp;

impl Operations {
    pub(super) fn end_burst_before(&mut self, connection: Number, at: Timestamp, requests: &[Request]) {
        if let Some(visit) = self.visits.get(&connection)
            && (visit.is_over(at) || (!visit.transaction && begins_transaction(requests)))
        {
            self.end(connection, visit.replied);
        }
        if requests.is_empty() {
            return;
        }
        let goes_on = self.in_progress.contains_key(&connection);
        let visit = self.visits.entry(connection).or_default();
        if !goes_on && !visit.transaction && visit.pending_replies == 0 {
            *visit = Visit {
                began: at,
                replied: at,
                ..Visit::default()
            };
        } else if visit.pending_replies == 0 {
            visit.pauses += 1;
            visit.paused += at.since(visit.replied);
        }
    }

    pub(super) fn begin_burst(&mut self, connection: Number, at: Timestamp, requests: &[Request]) {
        let mut executes = requests.iter().flat_map(|request| &request.executes);
        let work = executes.find(|fingerprint| verb::is_work(fingerprint));
        if let Some(work) = work.filter(|_| !self.in_progress.contains_key(&connection)) {
            self.end_bursts(at);
            let began = self.visits.get(&connection).map_or(at, |visit| visit.began);
            self.begin(connection, began, work);
        }
    }

    /// Before another begins: of connections that rest.
    pub(super) fn end_bursts(&mut self, at: Timestamp) {
        let over = |number: &Number| {
            let visit = self.visits.get(number).filter(|visit| visit.is_over(at))?;
            Some((*number, visit.replied))
        };
        let over: Vec<_> = self.in_progress.keys().filter_map(over).collect();
        for (number, replied) in over {
            self.end(number, replied);
        }
    }
}
