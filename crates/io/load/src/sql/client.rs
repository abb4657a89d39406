//! An SQL client with a thread, and a new connection for each operation.

use super::super::engine::connection::Connection;
use super::super::engine::machine::{Kind, Machine, Next};
use super::super::engine::threaded::{Client, Operated};
use super::super::engine::{READ_TIMEOUT, RunContext};
use super::super::{ClientSpec, Error};
use super::SqlLoad;
use super::machine::SqlMachine;
use client::session::Deadline;
use model::Direction;
use std::time::Instant;
use sys::socket::Received;

/// An operation is connect, login, script and close.
pub(super) struct Reconnecting<'g> {
    load: &'g SqlLoad,
    context: &'g RunContext<'g>,
    client_spec: ClientSpec<'g>,
    machine: SqlMachine<'g>,
    buffer: Box<[u8]>,
    request: Vec<u8>,
}

impl<'g> Reconnecting<'g> {
    pub fn new(load: &'g SqlLoad, client_spec: ClientSpec<'g>, context: &'g RunContext<'g>) -> Self {
        Self {
            load,
            context,
            client_spec,
            machine: load.machine(&client_spec),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            request: Vec::new(),
        }
    }

    /// Returns the arrival of the last byte.
    fn converse(
        &mut self,
        connection: &mut Connection,
        operated: &mut Operated,
        deadline: &Deadline,
    ) -> Result<Instant, Error> {
        self.request.clear();
        let mut last = Instant::now();
        let mut next = self.machine.begin(&mut self.request)?;
        loop {
            next = match next {
                Next::Send => {
                    operated.turns += 1;
                    self.machine.sending(&mut self.request)?;
                    operated.passed(Direction::ClientToServer, self.request.len());
                    connection.send(&self.request)?;
                    self.request.clear();
                    while connection.has_unsent() {
                        self.look_up(deadline)?;
                        connection.flush()?;
                    }
                    Next::Wait
                }
                Next::Wait => match connection.receive(&mut self.buffer) {
                    Received::Bytes { count, .. } => {
                        last = Instant::now();
                        operated.passed(Direction::ServerToClient, count);
                        let bytes = self.buffer.get(..count).unwrap_or_default();
                        self.machine.process_bytes(bytes, &mut self.request)?
                    }
                    Received::Nothing => {
                        self.look_up(deadline)?;
                        Next::Wait
                    }
                    Received::End => {
                        self.context.check_stopped()?;
                        self.machine.ended()?
                    }
                    Received::Broken(reason) => {
                        self.context.check_stopped()?;
                        return Err(super::super::engine::connection::broken(reason));
                    }
                },
                Next::Sleep(pause) => {
                    self.context.sleep(pause)?;
                    last = Instant::now();
                    self.machine.wake(&mut self.request)?
                }
                Next::Done => {
                    deadline.left()?;
                    return Ok(last);
                }
                Next::AskAgain => return Err(Error::Closed),
            };
        }
    }

    fn look_up(&self, deadline: &Deadline) -> Result<(), Error> {
        self.context.check_stopped()?;
        deadline.left()?;
        Ok(())
    }
}

impl Client for Reconnecting<'_> {
    fn operate(&mut self) -> Result<Operated, Error> {
        let deadline = Deadline::after(self.client_spec.timeout);
        let started = Instant::now();
        let opened = self
            .load
            .open(&self.client_spec, self.context.watch, &|| self.context.next_id())?;
        let mut operated = Operated::default();
        let Some(opened) = opened else {
            return Err(Error::Closed);
        };
        operated.turns = opened.turns;
        operated.payload_bytes = opened.payload_bytes;
        self.machine.connected(opened.decoder);
        let mut connection = opened.connection;
        connection.block(READ_TIMEOUT, &self.context.control.blocking_reads)?;
        let last = self.converse(&mut connection, &mut operated, &deadline)?;
        operated.duration = last.saturating_duration_since(started);
        operated.script = self.machine.script();
        connection.leave(self.load.farewell());
        Ok(operated)
    }
}

const BUFFER: usize = 64 * 1024;
