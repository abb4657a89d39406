use super::answering;
use super::greeting::{Hello, Purpose};
use super::greeting_poll::GreetingPoll;
use super::pool::{Arrival, Pool};
use super::site::{self, PeerConnection, Site};
use super::{EchoError, Spin, processors};
use sys::StopToken;
use sys::error::LiveError;
use sys::listening::{self, ClientSide, ListeningService};

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub struct ListenerOptions {
    pub once: bool,
    /// Limit for connections without activity.
    pub idle: Duration,
    /// Whether clients may make it poll without limit, which takes a processor. Polling briefly is
    /// always allowed ([`sys::spin`]).
    pub spin: bool,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            once: false,
            idle: Duration::from_secs(120),
            spin: false,
        }
    }
}

/// Serves any number of clients until stopped.
///
/// Idle connections, and those that do not greet within 5 seconds, are closed. Memory is 0.5 MiB
/// per connection for all message sizes. There are at most `MAX_THREADS` threads, plus one per
/// processor, and none for connections that have not greeted.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    options: ListenerOptions,
    reception: Reception,
}

/// Serves connections that have greeted.
#[derive(Debug)]
pub(super) struct Reception {
    site: Arc<Site>,
    pool: OnceLock<Option<Pool>>,
}

impl Listener {
    pub const MAX_CONNECTIONS: usize = site::MAX_CONNECTIONS;

    pub fn bind(address: SocketAddr, options: ListenerOptions) -> Result<Self, LiveError> {
        listening::raise_file_limit();
        let (socket, address) = listening::listen(address, &SERVICE)?;
        let over = if options.once {
            StopToken::new()?
        } else {
            StopToken::never()
        };
        Ok(Self {
            socket,
            address,
            options,
            reception: Reception::new(options.spin, over),
        })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set, or until the first client has ended if so configured. Returns
    /// the number of clients.
    ///
    /// # Errors
    /// Fails if the system refuses to wait for connections.
    pub fn serve(&self, stop: &StopToken) -> Result<u64, EchoError> {
        let site = &self.reception.site;
        let over = &site.over;
        let mut door = GreetingPoll::open(&self.socket, [stop, over])?;
        let interval = (self.options.idle / 4).max(MIN_IDLE_CHECK);
        let mut idle_check = Instant::now() + interval;
        let mut known = HashMap::new();
        while !stop.is_stopped() && !over.is_stopped() {
            door.attend(
                idle_check,
                &mut |hello| site.judge(hello),
                &mut |socket, hello| self.reception.welcome(socket, hello),
            );
            if Instant::now() >= idle_check {
                idle_check = Instant::now() + interval;
                site.close_idle(&mut known, self.options.idle);
            }
        }
        site.close_all();
        Ok(site.served())
    }
}

impl Reception {
    pub(super) fn new(spin: bool, over: StopToken) -> Self {
        Self {
            site: Arc::new(Site::new(spin, over)),
            pool: OnceLock::new(),
        }
    }

    pub(super) fn welcome(&self, socket: TcpStream, hello: Hello) {
        let spin = match hello.spin {
            Spin::Always if !self.site.spin => Spin::WhilePaying,
            spin => spin,
        };
        let hello = Hello { spin, ..hello };
        let peer_connection = Arc::new(PeerConnection {
            socket: Arc::new(socket),
            progress: AtomicU64::new(0),
        });
        let gone = self.site.add(Arc::clone(&peer_connection));
        let few = hello.streams as usize <= processors() && self.site.has_thread();
        if hello.purpose == Purpose::Echo && !few {
            if let Some(pool) = self.pool.get_or_init(|| Pool::start(processors()).ok()) {
                pool.add_arrival(Arrival {
                    peer_connection,
                    hello,
                    gone,
                });
            }
            return;
        }
        if peer_connection.socket.set_nonblocking(false).is_err() {
            return;
        }
        let busy = self.site.thread();
        let thread = std::thread::Builder::new().stack_size(STACK);
        // If no thread is available, `gone` is dropped with the closure, which closes the
        // connection.
        let _ = thread.spawn(move || {
            serve(&peer_connection, &hello, &gone.site);
            drop((gone, busy));
        });
    }
}

fn serve(peer_connection: &PeerConnection, hello: &Hello, site: &Site) {
    match hello.purpose {
        Purpose::Account => answering::account(peer_connection, site),
        Purpose::Sink => answering::sink(peer_connection, hello),
        Purpose::Source => answering::source(peer_connection),
        Purpose::Echo => answering::echo(peer_connection, hello),
    }
}

/// Fills `bytes` within `longest` in total, however slowly they arrive. Afterwards the socket
/// blocks without limit again.
pub(super) fn read_within(
    socket: &TcpStream,
    bytes: &mut [u8],
    longest: Duration,
) -> Result<(), std::io::Error> {
    let deadline = Instant::now() + longest;
    let (mut socket, mut rest) = (socket, bytes);
    while !rest.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(rest) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => rest = rest.get_mut(count..).unwrap_or_default(),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    socket.set_read_timeout(None)
}

const SERVICE: ListeningService<'static> = ListeningService {
    name: "echo",
    exposes: "have it answer and send, bytes that are made up",
    clients: ClientSide::AsClientsLike,
};

const MIN_IDLE_CHECK: Duration = Duration::from_millis(1);
/// The buffers of an answering thread are elsewhere.
const STACK: usize = 128 * 1024;
