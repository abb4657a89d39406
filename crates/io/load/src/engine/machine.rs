//! The interface between the event loop and a kind of load.

use client::Watch;

use super::super::{ClientSpec, Error};
use super::connection::Connection;
use client::session::{Session, SessionOptions};
use model::{ConnectionId, Direction, Leg, PerDirection};
use wire::Decoder;

pub(crate) trait Kind: Sync {
    type Machine<'k>: Machine + Send
    where
        Self: 'k;

    /// A new client without a connection.
    fn machine<'k>(&'k self, client_spec: &ClientSpec<'_>) -> Self::Machine<'k>;

    /// Opens a blocking connection ahead of operations; `None` if connecting is part of operations.
    ///
    /// # Errors
    /// Fails if the connection cannot be opened.
    fn open(
        &self,
        client_spec: &ClientSpec<'_>,
        watch: Option<&Watch<'_>>,
        id: &dyn Fn() -> ConnectionId,
    ) -> Result<Option<Opened>, Error>;

    /// Address for operations that open a connection; `None` if opening takes more than connecting.
    fn site(&self) -> Option<Site<'_>>;

    fn scripts(&self) -> usize;

    /// Bytes to send before closing.
    fn farewell(&self) -> &'static [u8];
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'k> {
    pub address: std::net::SocketAddr,
    /// The server's name in messages.
    pub server: &'k str,
}

/// A connection ready for operations.
pub(crate) struct Opened {
    pub connection: Connection,
    /// Has seen all bytes; `None` if the protocol is not decoded.
    pub decoder: Option<Box<dyn Decoder + Send>>,
    pub turns: u64,
    pub payload_bytes: PerDirection<u64>,
}

impl Opened {
    pub fn new(session: Session<'_>, watch: Option<&Watch<'_>>) -> Self {
        let sum = |figure: fn(&Leg) -> u64| session.legs().iter().map(figure).sum();
        let turns = sum(|leg| leg.turns);
        let payload_bytes = PerDirection::new(
            sum(|leg| leg.payload(Direction::ClientToServer)),
            sum(|leg| leg.payload(Direction::ServerToClient)),
        );
        let parts = session.take_apart();
        let watcher = parts.tap.zip(watch.map(|watch| watch.clock));
        Self {
            connection: Connection::adopt(parts.transport, watcher),
            decoder: parts.decoder,
            turns,
            payload_bytes,
        }
    }
}

pub(crate) fn session_options<'b>(
    client_spec: &ClientSpec<'b>,
    watch: Option<&Watch<'_>>,
    id: &dyn Fn() -> ConnectionId,
) -> SessionOptions<'b> {
    let options = SessionOptions {
        timeout: client_spec.timeout,
        ..SessionOptions::new(client_spec.stop)
    };
    let Some(watch) = watch else { return options };
    let id = id();
    SessionOptions {
        clock: watch.clock,
        observer: Some((id, watch.factory.observe(id))),
        ..options
    }
}

/// A client as a state machine: receives a connection's bytes and returns the next action.
///
/// The order of calls is [`Machine::connected`] for each new connection; [`Machine::begin`] for
/// each operation; then follow each [`Next`] until [`Next::Done`] or an error. After an error comes
/// a new connection.
pub(crate) trait Machine {
    /// `decoder` is `None` if the machine itself decodes from the first byte.
    fn connected(&mut self, decoder: Option<Box<dyn Decoder + Send>>);

    fn begin(&mut self, request: &mut Vec<u8>) -> Result<Next, Error>;

    /// Encodes the final form of the request, right before it is sent.
    fn sending(&mut self, request: &mut Vec<u8>) -> Result<(), Error>;

    /// Continues after a sleep.
    fn wake(&mut self, request: &mut Vec<u8>) -> Result<Next, Error>;

    fn process_bytes(&mut self, bytes: &[u8], request: &mut Vec<u8>) -> Result<Next, Error>;

    fn ended(&mut self) -> Result<Next, Error>;

    fn script(&self) -> usize;

    fn afterwards(&self) -> Afterwards;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Waits for more of the reply.
    Wait,
    /// Sends the request and waits for the reply.
    Send,
    Sleep(std::time::Duration),
    Done,
    /// The connection ended before any byte of the reply, as happens to idle ones: the operation is
    /// repeated on a new one.
    AskAgain,
}

/// State of the connection after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// Ready for the next operation.
    Kept,
    /// The server will close it.
    Ends,
}
