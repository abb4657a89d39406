//! What the event loop asks of a kind of load.

use client::Watch;

use super::super::{ClientSpec, LoadError};
use super::connection::Connection;
use client::session::{Session, SessionOptions};
use model::{ConnectionId, Direction, Leg};
use wire::Decoder;

/// A kind of load whose clients are state machines.
pub(crate) trait Kind: Sync {
    type Machine<'k>: Machine + Send
    where
        Self: 'k;

    /// A new client, without a connection.
    fn machine<'k>(&'k self, client_spec: &ClientSpec<'_>) -> Self::Machine<'k>;

    /// Makes a connection ahead of operations, with waiting; `None` if that is part of operations.
    ///
    /// # Errors
    /// When it cannot be made.
    fn open(
        &self,
        client_spec: &ClientSpec<'_>,
        watch: Option<&Watch<'_>>,
        id: &dyn Fn() -> ConnectionId,
    ) -> Result<Option<Opened>, LoadError>;

    /// Where operations connect that have no connection; `None` if a connection needs more than that.
    fn site(&self) -> Option<Site<'_>>;

    /// How many scripts clients choose from.
    fn scripts(&self) -> usize;

    /// What is said before hanging up.
    fn farewell(&self) -> &'static [u8];
}

/// Where operations connect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'k> {
    pub address: std::net::SocketAddr,
    /// What messages call the server.
    pub server: &'k str,
}

/// A connection that is ready for operations.
pub(crate) struct Opened {
    pub connection: Connection,
    /// Of its bytes, fed with all that has passed; `None` if the protocol is not decoded.
    pub decoder: Option<Box<dyn Decoder + Send>>,
    /// What opening it has cost.
    pub turns: u64,
    pub payload_bytes: [u64; 2],
}

impl Opened {
    /// An open session.
    pub fn new(session: Session<'_>, watch: Option<&Watch<'_>>) -> Self {
        let sum = |figure: fn(&Leg) -> u64| session.legs().iter().map(figure).sum();
        let turns = sum(|leg| leg.turns);
        let payload_bytes = [
            sum(|leg| leg.payload(Direction::ClientToServer)),
            sum(|leg| leg.payload(Direction::ServerToClient)),
        ];
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

/// How a session is opened for a client.
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

/// A client as a state machine: its input is a connection's bytes, its output is what to do next.
///
/// Calling order: [`Machine::connected`] for each new connection; [`Machine::begin`] for each operation; then
/// what the last [`Next`] asks for, until that is [`Next::Done`] or an error. After an error comes a new
/// connection.
pub(crate) trait Machine {
    /// It has a new connection; absent for one whose bytes it decodes from the beginning itself.
    fn connected(&mut self, decoder: Option<Box<dyn Decoder + Send>>);

    /// Begins an operation.
    fn begin(&mut self, request: &mut Vec<u8>) -> Result<Next, LoadError>;

    /// What was put into the request is about to be sent: it gets the form in which it is.
    fn sending(&mut self, request: &mut Vec<u8>) -> Result<(), LoadError>;

    /// Goes on after a sleep.
    fn wake(&mut self, request: &mut Vec<u8>) -> Result<Next, LoadError>;

    /// Bytes of the server came.
    fn process_bytes(&mut self, bytes: &[u8], request: &mut Vec<u8>) -> Result<Next, LoadError>;

    /// The server has closed the connection.
    fn ended(&mut self) -> Result<Next, LoadError>;

    /// Which script the operation in progress runs, from 0.
    fn script(&self) -> usize;

    /// What the connection is good for when an operation is done.
    fn afterwards(&self) -> Afterwards;
}

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Waits for more of the reply.
    Wait,
    /// Sends what it has put into the request and waits for the reply.
    Send,
    /// Sleeps.
    Sleep(std::time::Duration),
    /// The operation is done.
    Done,
    /// The connection ended before any byte of the reply, as a server may end an idle one: the operation asks
    /// again over another.
    AskAgain,
}

/// What the connection is good for when an operation is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// The next operation.
    Kept,
    /// Nothing: the server was asked to close it.
    Ends,
}
