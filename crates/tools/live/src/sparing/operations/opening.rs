//! Connections as they are opened.

use super::{Number, Operations};
use crate::sparing::reading::Request;
use crate::sparing::spared::Spared;
use model::Timestamp;
use std::sync::Arc;

impl Operations {
    /// A connection is opened. Returns whether that is spared.
    pub(in crate::sparing) fn open_connection(&mut self, connection: Number, at: Timestamp) -> bool {
        if self.stage.spared != Spared::Connecting {
            return false;
        }
        if !self.by_request {
            self.end_burst_before(connection, at, &[Request::default()]);
            self.end_bursts(at);
            self.begin(connection, at, &Arc::from(CONNECTING));
        }
        let spares = self.spares();
        for operation in self.in_progress.values_mut() {
            operation.removable += 1;
            operation.removed += if spares { HANDSHAKE } else { 0 };
        }
        if spares {
            let executions = &mut self.results.executions;
            executions.all += 1;
            executions.removable += 1;
            executions.spared += 1;
        }
        spares
    }

    pub(in crate::sparing) fn spare_login(&mut self) {
        for operation in self.in_progress.values_mut() {
            operation.removed += 1;
        }
    }

    pub(in crate::sparing) const fn logged_in(&mut self) {
        self.logins += 1;
    }

    /// Counts statements that set a new connection up. Returns whether nearly all connections began
    /// with them: others are the program's own.
    pub(super) fn set_up_is_usual(&mut self, requests: &[Request]) -> bool {
        let mut is_usual = true;
        for fingerprint in requests.iter().flat_map(Request::texts) {
            let logins = self.logins;
            let statement = self.statement(fingerprint);
            statement.begins += 1;
            is_usual &= statement.begins * 10 >= logins * 9;
        }
        is_usual
    }
}

/// Name of operations of new connections.
const CONNECTING: &str = "connecting";
/// The handshake, and a greeting of the server.
const HANDSHAKE: u64 = 2;
