use super::answering::{self, PeerConnection};
use super::greeting::{Answer, Hello, Purpose, VERSION, Verdict};
use super::greeting_poll::GreetingPoll;
use super::pool::{Arrival, Gone, Pool};
use super::{EchoError, MAX_BYTES, MAX_STREAMS, Spin};
use sys::StopToken;
use sys::error::LiveError;
use sys::listening::{self, ClientSide, ListeningService};

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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
/// per connection for all message sizes. There are at most [`MAX_THREADS`] threads, plus one per
/// processor, and none for connections that have not greeted.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    options: ListenerOptions,
    site: Arc<Site>,
}

#[derive(Debug)]
pub(super) struct Site {
    guests: Mutex<HashMap<u64, Arc<PeerConnection>>>,
    next: AtomicU64,
    /// Clients with an open account connection, and all clients ever.
    clients: AtomicU32,
    served: AtomicU64,
    threads: AtomicUsize,
    spin: bool,
    pool: OnceLock<Option<Pool>>,
}

impl Listener {
    pub const MAX_CONNECTIONS: usize = 2048;

    pub fn bind(address: SocketAddr, options: ListenerOptions) -> Result<Self, LiveError> {
        listening::raise_file_limit();
        let (socket, address) = listening::listen(address, &SERVICE)?;
        let site = Arc::new(Site {
            guests: Mutex::default(),
            next: AtomicU64::new(0),
            clients: AtomicU32::new(0),
            served: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            spin: options.spin,
            pool: OnceLock::new(),
        });
        Ok(Self {
            socket,
            address,
            options,
            site,
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
        let mut door = GreetingPoll::open(&self.socket, stop)?;
        let mut look = Instant::now();
        let mut known = HashMap::new();
        while !stop.is_stopped() && !self.is_done() {
            door.attend(
                POLL_INTERVAL,
                &mut |hello| self.site.judge(hello),
                &mut |socket, hello| {
                    self.site.welcome(socket, hello);
                },
            );
            if look.elapsed() >= self.options.idle / 4 {
                look = Instant::now();
                self.site.close_idle(&mut known, self.options.idle);
            }
        }
        for peer_connection in self.site.guests().values() {
            let _ = peer_connection.socket.shutdown(Shutdown::Both);
        }
        Ok(self.site.served.load(Ordering::Relaxed))
    }

    fn is_done(&self) -> bool {
        self.options.once
            && self.site.served.load(Ordering::Relaxed) > 0
            && self.site.clients.load(Ordering::Relaxed) == 0
    }
}

impl Site {
    fn guests(&self) -> MutexGuard<'_, HashMap<u64, Arc<PeerConnection>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clients(&self) -> u32 {
        self.clients.load(Ordering::Relaxed)
    }

    pub(super) fn client(&self) -> impl Drop + '_ {
        struct Leaving<'a>(&'a Site);
        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                self.0.clients.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.clients.fetch_add(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        Leaving(self)
    }

    pub(super) fn leave(&self, number: u64) {
        self.guests().remove(&number);
    }

    fn judge(&self, hello: &Hello) -> Answer {
        let verdict = match judge(hello) {
            Verdict::Accepted if !self.has_room(hello) => Verdict::Busy,
            verdict => verdict,
        };
        Answer {
            spins: self.spin,
            ..answer(verdict)
        }
    }

    fn has_room(&self, hello: &Hello) -> bool {
        let threads = self.threads.load(Ordering::Relaxed);
        let needs_thread = hello.purpose != Purpose::Echo;
        self.guests().len() < Listener::MAX_CONNECTIONS && (threads < MAX_THREADS || !needs_thread)
    }

    fn welcome(self: &Arc<Self>, socket: TcpStream, hello: Hello) {
        let spin = match hello.spin {
            Spin::Always if !self.spin => Spin::WhilePaying,
            spin => spin,
        };
        let hello = Hello { spin, ..hello };
        let peer_connection = Arc::new(PeerConnection {
            socket: Arc::new(socket),
            progress: AtomicU64::new(0),
        });
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.guests().insert(number, Arc::clone(&peer_connection));
        let gone = Gone {
            site: Arc::clone(self),
            number,
        };
        let few =
            hello.streams as usize <= processors() && self.threads.load(Ordering::Relaxed) < MAX_THREADS;
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
        self.threads.fetch_add(1, Ordering::Relaxed);
        let busy = Busy(Arc::clone(self));
        let thread = std::thread::Builder::new().stack_size(STACK);
        // If no thread is available, `gone` is dropped with the closure, which closes the
        // connection.
        let _ = thread.spawn(move || {
            gone.site.serve(&peer_connection, &hello);
            drop((gone, busy));
        });
    }

    fn serve(&self, peer_connection: &PeerConnection, hello: &Hello) {
        match hello.purpose {
            Purpose::Account => answering::account(peer_connection, self),
            Purpose::Sink => answering::sink(peer_connection, hello),
            Purpose::Source => answering::source(peer_connection),
            Purpose::Echo => answering::echo(peer_connection, hello),
        }
    }

    /// `known` holds the last seen progress of each connection, and its time.
    fn close_idle(&self, known: &mut HashMap<u64, (u64, Instant)>, idle: Duration) {
        let guests = self.guests();
        known.retain(|number, _| guests.contains_key(number));
        for (number, peer_connection) in guests.iter() {
            let progress = peer_connection.progress.load(Ordering::Relaxed);
            let seen = known.entry(*number).or_insert((progress, Instant::now()));
            if seen.0 != progress {
                *seen = (progress, Instant::now());
            } else if seen.1.elapsed() >= idle {
                let _ = peer_connection.socket.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Freed when a serving thread ends.
struct Busy(Arc<Site>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

fn judge(hello: &Hello) -> Verdict {
    let sizes = 1..=MAX_BYTES;
    match hello.purpose {
        Purpose::Account | Purpose::Sink | Purpose::Source => Verdict::Accepted,
        Purpose::Echo if !sizes.contains(&hello.request) || !sizes.contains(&hello.reply) => Verdict::Sizes,
        Purpose::Echo if !(1..=MAX_STREAMS).contains(&hello.streams) => Verdict::Streams,
        Purpose::Echo => Verdict::Accepted,
    }
}

pub(super) fn answer(verdict: Verdict) -> Answer {
    Answer {
        version: VERSION,
        verdict,
        most_bytes: MAX_BYTES,
        most_streams: MAX_STREAMS,
        processors: u32::try_from(processors()).unwrap_or(u32::MAX),
        spins: false,
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

pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

const SERVICE: ListeningService<'static> = ListeningService {
    name: "echo",
    exposes: "have it answer and send, bytes that are made up",
    clients: ClientSide::AsClientsLike,
};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
const MAX_THREADS: usize = 128;
/// The buffers of an answering thread are elsewhere.
const STACK: usize = 128 * 1024;
