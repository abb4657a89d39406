//! Many clients and their server, with results of both sides.

use crate::course::{Course, Role};
use crate::play::{Seen, play};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) open: AtomicU64,
    /// Streams with all bytes transferred and an orderly end.
    pub(crate) whole: AtomicU64,
    /// Streams reset as planned, and seen as reset by the other end.
    pub(crate) reset: AtomicU64,
    /// Streams cut by an error while a far end was killed.
    pub(crate) broken: AtomicU64,
    /// Connections closed before their header.
    pub(crate) empty: AtomicU64,
    pub(crate) bytes: AtomicU64,
    faults: AtomicU64,
    first_faults: Mutex<Vec<String>>,
}

/// Odd from just before a far end is killed until its replacement serves.
pub(crate) type Epoch = Arc<AtomicU64>;

impl Tally {
    /// A far end was killed during the stream if `unsettled`.
    fn count(&self, role: Role, course: &Course, seen: &Seen, unsettled: bool) {
        let counter = match (seen, course.reset) {
            (Seen::Whole, None) => {
                self.bytes.fetch_add(course.payload(), SeqCst);
                &self.whole
            }
            (Seen::DidReset, Some(_)) => &self.reset,
            (Seen::Cut, Some((by, _))) if by != role => &self.reset,
            (Seen::Cut, _) if unsettled => &self.broken,
            // A killed far end cannot tell the server that its stream is cut; the client must be
            // notified.
            (Seen::Short, _) if unsettled && role == Role::Server => &self.broken,
            _ => return self.fault(format!("{role:?} of {course:?}: {seen:?}")),
        };
        counter.fetch_add(1, SeqCst);
    }

    pub(crate) fn fault(&self, what: String) {
        self.faults.fetch_add(1, SeqCst);
        let mut first = self
            .first_faults
            .lock()
            .expect("no thread panics while holding it");
        if first.len() < FAULTS_KEPT {
            first.push(what);
        }
    }

    pub(crate) fn faults(&self) -> (u64, Vec<String>) {
        let first = self
            .first_faults
            .lock()
            .expect("no thread panics while holding it");
        (self.faults.load(SeqCst), first.clone())
    }
}

pub(crate) fn serve(listener: TcpListener, tally: Arc<Tally>, epoch: Epoch) {
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(socket) = socket else { continue };
            let (tally, epoch) = (Arc::clone(&tally), Arc::clone(&epoch));
            tally.open.fetch_add(1, SeqCst);
            spawn(move || {
                serve_one(socket, &tally, &epoch);
                tally.open.fetch_sub(1, SeqCst);
            });
        }
    });
}

fn serve_one(mut socket: TcpStream, tally: &Tally, epoch: &Epoch) {
    let began = epoch.load(SeqCst);
    let mut header = [0; HEADER];
    socket.set_read_timeout(Some(HEADER_WITHIN)).ok();
    if socket.read_exact(&mut header).is_err() {
        tally.empty.fetch_add(1, SeqCst);
        return;
    }
    let word = |index: usize| u64::from_le_bytes(header[index * 8..][..8].try_into().expect("eight bytes"));
    let course = match word(2) {
        OF_SEED => Course::new(word(0), word(1)),
        ECHO => return echo(socket),
        // Not read to its end: not counted.
        bytes => {
            play(socket, Role::Server, &Course::download(word(0), bytes));
            return;
        }
    };
    let seen = play(socket, Role::Server, &course);
    tally.count(Role::Server, &course, &seen, unsettled(began, epoch));
}

pub(crate) struct Crowd<'a> {
    pub(crate) connect: &'a (dyn Fn() -> std::io::Result<TcpStream> + Sync),
    pub(crate) tally: &'a Tally,
    pub(crate) epoch: &'a Epoch,
    pub(crate) streams: usize,
    /// New streams start until this much payload is planned.
    pub(crate) payload: u64,
    pub(crate) longest: Duration,
    pub(crate) largest: u64,
    pub(crate) seed: u64,
}

impl Crowd<'_> {
    pub(crate) fn run(&self) {
        let (begun, number, start) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
        std::thread::scope(|scope| {
            for _ in 0..self.streams {
                let client = || {
                    while begun.load(SeqCst) < self.payload && start.elapsed() < self.longest {
                        let seed =
                            self.seed ^ number.fetch_add(1, SeqCst).wrapping_mul(0x2545_F491_4F6C_DD1D);
                        let course = Course::new(seed, self.largest);
                        begun.fetch_add(course.payload(), SeqCst);
                        self.one(&course);
                    }
                };
                let builder = std::thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, client).expect("a thread");
            }
        });
    }

    pub(crate) fn one(&self, course: &Course) {
        let began = self.epoch.load(SeqCst);
        let seen = match (self.connect)() {
            Ok(socket) => begin(socket, course),
            Err(error) => Seen::Wrong(format!("could not connect: {error}")),
        };
        self.tally
            .count(Role::Client, course, &seen, unsettled(began, self.epoch));
    }
}

fn begin(mut socket: TcpStream, course: &Course) -> Seen {
    match socket.write_all(&header([course.seed, course.largest, OF_SEED])) {
        Ok(()) => play(socket, Role::Client, course),
        Err(_) => Seen::Cut,
    }
}

/// The client's first bytes: seed, maximum bytes per direction, and [`OF_SEED`], [`ECHO`] or
/// download size.
pub(crate) fn header(words: [u64; HEADER_WORDS]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn echo(mut socket: TcpStream) {
    let mut buffer = [0; 4096];
    socket.set_nodelay(true).ok();
    while let Ok(got @ 1..) = socket.read(&mut buffer) {
        if socket.write_all(&buffer[..got]).is_err() {
            return;
        }
    }
}

fn unsettled(began: u64, epoch: &Epoch) -> bool {
    began % 2 == 1 || epoch.load(SeqCst) != began
}

/// Waits until a side with finished peers has no open stream.
pub(crate) fn settle(tally: &Tally) {
    let start = Instant::now();
    while tally.open.load(SeqCst) > 0 {
        if start.elapsed() > SETTLED_WITHIN {
            let open = tally.open.load(SeqCst);
            return tally.fault(format!(
                "{open} streams still open at the server {SETTLED_WITHIN:?} after all clients ended"
            ));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn listen(address: impl Into<SocketAddr>) -> TcpListener {
    let listener = TcpListener::bind(address.into()).expect("a listener");
    // Raises the backlog above the standard library's 128.
    rustix::net::listen(&listener, 4096).expect("listen");
    listener
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    let builder = std::thread::Builder::new().stack_size(STACK);
    builder.spawn(work).expect("a thread");
}

/// For thousands of threads with little state.
const STACK: usize = 256 * 1024;
pub(crate) const HEADER_WORDS: usize = 3;
const HEADER: usize = 8 * HEADER_WORDS;
const OF_SEED: u64 = 0;
pub(crate) const ECHO: u64 = u64::MAX;
const FAULTS_KEPT: usize = 10;
const HEADER_WITHIN: Duration = Duration::from_secs(60);
const SETTLED_WITHIN: Duration = Duration::from_secs(30);
