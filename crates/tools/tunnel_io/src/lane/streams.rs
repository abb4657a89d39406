//! Start and end of a lane's streams: clients, database connections, resets.

use super::super::Error;
use super::super::notice::{Notice, Refused};
use super::super::stream::{Local, SocketState};
use super::{CONNECT_LIMIT, LaneLoop, Role};
use model::Timestamp;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use sys::error::OsError;
use sys::socket::Socket;
use tunnel::StreamId;
use tunnel::frame::ResetReason;

impl LaneLoop {
    pub(super) fn take_in(&mut self) {
        for arrival in self.mailbox.take_arrivals() {
            let Some(id) = self.lane.open() else {
                self.mailbox.release(1);
                self.refuse(arrival.socket, arrival.client, Refused::TooMany);
                continue;
            };
            let mut local = Local::new(arrival.socket, SocketState::Open, arrival.client);
            if !self.preferences.compress_login {
                local.watch_login(None);
            }
            if self.poller.watch(local.socket.as_fd(), id.0.into()).is_err() {
                self.lane.reset(id, ResetReason::Broken);
                self.mailbox.release(1);
                continue;
            }
            self.counters.stream_opened();
            self.streams.insert(id, local);
            self.lane.readable(id);
        }
    }

    fn refuse(&self, socket: Socket, client: SocketAddr, reason: Refused) {
        socket.reset();
        self.counters.stream_refused();
        self.counters
            .record_notice(&Notice::StreamRefused { client, reason });
    }

    /// A client connected at the near end: connects to the database.
    pub(super) fn connect(&mut self, id: StreamId) {
        self.counters.stream_opened();
        self.connect_to(id, 0, None);
    }

    /// Tries the database's addresses from `first` on.
    fn connect_to(&mut self, id: StreamId, first: usize, mut fault: Option<Error>) {
        let Role::Far { database, .. } = &self.role else {
            return;
        };
        let database = Arc::clone(database);
        for (place, address) in database.addresses.iter().enumerate().skip(first) {
            let begun = Socket::connect(address).and_then(|socket| {
                match self.poller.watch(socket.as_fd(), id.0.into()) {
                    Ok(()) => Ok(socket),
                    Err(_) => Err(OsError(libc::ENOMEM)),
                }
            });
            match begun {
                Ok(socket) => {
                    let state = SocketState::Connecting {
                        address: *address,
                        next: place + 1,
                        since: self.counters.now(),
                    };
                    let new = match self.streams.remove(&id) {
                        Some(before) => before.instead(socket, state),
                        None => self.new_to(*address, socket, state),
                    };
                    self.streams.insert(id, new);
                    self.connecting += 1;
                    return self.connect_progress(id);
                }
                Err(reason) => fault = Some(database.unreachable(*address, reason)),
            }
        }
        self.abort_stream(id, fault);
    }

    fn new_to(&self, database: SocketAddr, socket: Socket, state: SocketState) -> Local {
        let mut local = Local::new(socket, state, database);
        if !self.preferences.compress_login {
            local.watch_login(Some(database.port()));
        }
        local
    }

    pub(super) fn connect_progress(&mut self, id: StreamId) {
        let Some(local) = self.streams.get_mut(&id) else {
            return;
        };
        let SocketState::Connecting { address, next, .. } = local.state else {
            return;
        };
        match local.socket.connected() {
            Ok(false) => {}
            Ok(true) => {
                self.connecting -= 1;
                local.state = SocketState::Open;
                self.counters.stream_works();
                match local.flush() {
                    Ok(count) => {
                        self.lane.consumed(id, count);
                        self.lane.readable(id);
                    }
                    Err(_) => self.break_stream(id),
                }
            }
            Err(reason) => self.next_address(id, address, next, reason),
        }
    }

    fn next_address(&mut self, id: StreamId, address: SocketAddr, next: usize, reason: OsError) {
        self.connecting -= 1;
        let fault = match &self.role {
            Role::Far { database, .. } => Some(database.unreachable(address, reason)),
            Role::Near(_) => None,
        };
        self.connect_to(id, next, fault);
    }

    fn abort_stream(&mut self, id: StreamId, fault: Option<Error>) {
        self.streams.remove(&id);
        self.lane.reset(id, ResetReason::NoDatabase);
        self.counters.streams_broken(1);
        if let Some(reason) = fault {
            self.counters
                .record_notice(&Notice::DatabaseUnreachable { reason });
        }
    }

    /// Resets the other side after this socket was reset or broke.
    pub(super) fn break_stream(&mut self, id: StreamId) {
        self.lane.reset(id, ResetReason::Broken);
        if self.streams.remove(&id).is_some() {
            self.counters.streams_broken(1);
            self.released(1);
        }
    }

    /// Resets this socket after the other side was reset or broke.
    pub(super) fn was_reset(&mut self, id: StreamId, reason: ResetReason) {
        let Some(local) = self.streams.remove(&id) else {
            return;
        };
        if !local.is_open() {
            self.connecting -= 1;
        }
        self.released(1);
        match reason {
            ResetReason::Full => return self.refuse(local.socket, local.peer, Refused::FarFull),
            ResetReason::Broken => {}
            ResetReason::NoDatabase => self.counters.record_notice(&Notice::StreamRefused {
                client: local.peer,
                reason: Refused::NoDatabase,
            }),
        }
        local.socket.reset();
        self.counters.streams_broken(1);
    }

    /// Closes the socket when both directions are done.
    pub(super) fn drop_if_over(&mut self, id: StreamId) {
        let over = self
            .streams
            .get(&id)
            .is_some_and(|local| local.is_finished() && self.lane.has_finished(id));
        if over {
            self.streams.remove(&id);
            self.released(1);
        }
    }

    pub(super) fn released(&self, count: usize) {
        if matches!(self.role, Role::Near(_)) {
            self.mailbox.release(count);
        }
    }

    pub(super) fn give_up_late(&mut self, now: Timestamp) {
        if self.connecting == 0 {
            return;
        }
        let late: Vec<_> = self
            .streams
            .iter()
            .filter_map(|(id, local)| match local.state {
                SocketState::Connecting { address, next, since } if now.since(since) >= CONNECT_LIMIT => {
                    Some((*id, address, next))
                }
                SocketState::Connecting { .. } | SocketState::Open => None,
            })
            .collect();
        for (id, address, next) in late {
            self.next_address(id, address, next, OsError(libc::ETIMEDOUT));
        }
    }
}
