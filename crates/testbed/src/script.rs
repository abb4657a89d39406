//! A server that follows a script: it expects messages by name and sends others.
//!
//! ```text
//! let server = Script::postgres()
//!     .expect("StartupMessage")
//!     .send(authentication_ok())
//!     .send(ready_for_query(b'I'))
//!     .expect("Query")
//!     .close()
//!     .start();
//! ```
//!
//! A peer that deviates fails the test at [`ScriptedServer::finish`] or on drop, with the step, the
//! expected and the received message. Names are those of the rows in `wire`, and of the manuals for
//! messages without a row.

mod connection;
pub mod mysql;
pub mod postgres;
pub mod tds;
pub mod tns;

pub use connection::{ByteStream, Message};

use connection::{Connection, Protocol};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The steps of a server on one connection. Without [`Script::close`] the peer has to end it.
#[derive(Clone)]
pub struct Script {
    protocol: Protocol,
    steps: Vec<Step>,
}

#[derive(Clone)]
enum Step {
    Expect(&'static str),
    Send(Message),
    Pause(Duration),
    Encrypt(Arc<Encrypt>),
    Again,
    Close,
}

type Encrypt = dyn Fn(Box<dyn ByteStream>) -> Box<dyn ByteStream> + Send + Sync;

impl Script {
    pub const fn postgres() -> Self {
        Self::with_protocol(Protocol::Postgres)
    }

    pub const fn mysql() -> Self {
        Self::with_protocol(Protocol::Mysql)
    }

    pub const fn tds() -> Self {
        Self::with_protocol(Protocol::Tds)
    }

    pub const fn tns() -> Self {
        Self::with_protocol(Protocol::Tns)
    }

    /// Every read of the peer's bytes is a message `bytes`.
    pub const fn any_protocol() -> Self {
        Self::with_protocol(Protocol::Any)
    }

    const fn with_protocol(protocol: Protocol) -> Self {
        Self {
            protocol,
            steps: Vec::new(),
        }
    }

    /// # Panics
    /// If no client sends a message of this name.
    #[track_caller]
    pub fn expect(self, name: &str) -> Self {
        let known = self.protocol.names().into_iter().find(|known| *known == name);
        let name = known.unwrap_or_else(|| panic!("{:?} has no message {name}", self.protocol));
        self.then(Step::Expect(name))
    }

    pub fn send(self, message: Message) -> Self {
        self.then(Step::Send(message))
    }

    pub fn send_bytes(self, bytes: &[u8]) -> Self {
        self.send(Message::new("bytes", bytes.to_vec()))
    }

    pub fn pause(self, span: Duration) -> Self {
        self.then(Step::Pause(span))
    }

    /// The further steps go through the connection that `encrypt` makes of it.
    pub fn encrypt(
        self,
        encrypt: impl Fn(Box<dyn ByteStream>) -> Box<dyn ByteStream> + Send + Sync + 'static,
    ) -> Self {
        self.then(Step::Encrypt(Arc::new(encrypt)))
    }

    /// Begins again, until the peer ends the connection before the first step.
    pub fn again(self) -> Self {
        self.then(Step::Again)
    }

    /// Ends the connection. Later bytes of the peer are received as `rest`.
    pub fn close(self) -> Self {
        self.then(Step::Close)
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Serves one connection.
    pub fn start(self) -> ScriptedServer {
        self.listen(true)
    }

    /// Serves any number of connections. One on which the peer sends nothing counts for nothing.
    pub fn start_for_all(self) -> ScriptedServer {
        self.listen(false)
    }

    fn listen(self, once: bool) -> ScriptedServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let last = Arc::new(Mutex::new(None));
        let last_peer = last.clone();
        let thread = std::thread::spawn(move || self.serve(&listener, once, &last_peer));
        ScriptedServer {
            address,
            last,
            thread: Some(thread),
        }
    }

    fn serve(self, listener: &TcpListener, once: bool, last: &Mutex<Option<SocketAddr>>) -> Played {
        let mut players = Vec::new();
        while players.is_empty() || !once {
            let (stream, peer) = listener.accept().expect("a connection");
            if *last.lock().expect("held briefly") == Some(peer) {
                break;
            }
            let script = self.clone();
            players.push(std::thread::spawn(move || script.play(stream, once)));
        }
        let nobody_came = players.is_empty();
        let mut received = Vec::new();
        for player in players {
            received.extend(player.join().map_err(|_| PANICKED.to_owned())??);
        }
        if nobody_came || !once && received.is_empty() {
            return Err(self.deviation(0, "no connection"));
        }
        Ok(received)
    }

    fn play(&self, stream: TcpStream, once: bool) -> Played {
        let mut connection = Connection::new(self.protocol, stream);
        let (mut number, mut may_leave) = (0, !once);
        while let Some(step) = self.steps.get(number) {
            let failed = |error: std::io::Error| self.deviation(number, &error.to_string());
            match step {
                Step::Expect(name) => match connection.receive().map_err(failed)? {
                    Some(received) if received == *name => {}
                    Some(received) => return Err(self.deviation(number, received)),
                    None if may_leave && number == 0 => return Ok(connection.received),
                    None => return Err(self.deviation(number, END)),
                },
                Step::Send(message) => connection.send(message).map_err(failed)?,
                Step::Pause(span) => std::thread::sleep(*span),
                Step::Encrypt(encrypt) => connection.encrypt(encrypt.as_ref()),
                Step::Again => {
                    (number, may_leave) = (0, true);
                    continue;
                }
                Step::Close => return Ok(connection.close()),
            }
            number += 1;
        }
        match connection.receive() {
            Ok(Some(received)) => Err(self.deviation(number, received)),
            // A peer may also end it with an alert or a reset.
            Ok(None) | Err(_) => Ok(connection.received),
        }
    }

    fn deviation(&self, number: usize, received: &str) -> String {
        let (protocol, steps) = (self.protocol, self.steps.len());
        let step = match self.steps.get(number) {
            Some(Step::Expect(name)) => format!("expected {name}, received {received}"),
            Some(Step::Send(message)) => format!("could not send {}: {received}", message.name),
            _ => return format!("{protocol:?}, after step {steps} of {steps}: received {received}"),
        };
        let unreached = match steps - number - 1 {
            0 => String::new(),
            rest => format!(" ({rest} more not reached)"),
        };
        format!("{protocol:?}, step {} of {steps}: {step}{unreached}", number + 1)
    }
}

/// All messages of the peer, or its deviation.
type Played = Result<Vec<Message>, String>;

pub struct ScriptedServer {
    address: SocketAddr,
    /// A peer that connects only to end the waiting for others.
    last: Arc<Mutex<Option<SocketAddr>>>,
    thread: Option<JoinHandle<Played>>,
}

impl ScriptedServer {
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// The messages of all peers, in the order of their connections.
    ///
    /// # Panics
    /// If a peer deviated from the script.
    #[track_caller]
    pub fn finish(mut self) -> Vec<Message> {
        let thread = self.thread.take().expect("it is finished once");
        self.joined(thread)
            .unwrap_or_else(|deviation| panic!("{deviation}"))
    }

    fn joined(&self, thread: JoinHandle<Played>) -> Played {
        {
            let mut last = self.last.lock().expect("held briefly");
            // Refused if the server has ended.
            let peer = TcpStream::connect(self.address).and_then(|stream| stream.local_addr());
            *last = peer.ok();
        }
        thread.join().unwrap_or_else(|_| Err(PANICKED.to_owned()))
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if !std::thread::panicking() {
            self.joined(thread)
                .unwrap_or_else(|deviation| panic!("{deviation}"));
        } else if thread.is_finished()
            && let Err(deviation) = self.joined(thread)
        {
            eprintln!("{deviation}");
        }
    }
}

const PANICKED: &str = "the script panicked";
const END: &str = "the end of the connection";
