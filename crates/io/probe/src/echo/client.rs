//! The client side of echo.

use super::error::Ending;
use super::greeting::{Answer, Hello, LENGTH, NoGreeting, Purpose, VERSION, Verdict};
use super::listener::{Listener, ListenerOptions, Reception, read_within};
use super::trips::{CountingWindow, Trips};
use super::usage::{self, Account, QUESTION};
use super::{EchoError, EchoPlan, GREETING, Spin, processors, trips};
use model::{DistributionBuilder, EchoOutcome};
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;
use sys::StopToken;
use sys::error::LiveError;
use sys::error::OsError;
use sys::resolve;
use sys::target::Target;
use sys::tcp_info::KernelFigures;

#[derive(Debug)]
pub struct Echo {
    listener: Listening,
    account: TcpStream,
    processors: u32,
    spins: bool,
}

#[derive(Debug)]
enum Listening {
    At(Box<Target>),
    /// In this process, behind Unix-domain sockets.
    Here(Reception),
}

impl Echo {
    /// To threads of this process, over Unix-domain sockets.
    ///
    /// # Errors
    /// Fails if the system provides no sockets.
    pub fn over_unix_sockets() -> Result<Self, EchoError> {
        let reception = Reception::new(false, StopToken::never());
        let account = open_here(&reception, &ACCOUNT)?;
        Ok(Self {
            listener: Listening::Here(reception),
            account,
            processors: u32::try_from(processors()).unwrap_or(u32::MAX),
            spins: false,
        })
    }

    /// `target` is a `tcp://` URL.
    ///
    /// # Errors
    /// Fails if no longwire listens there.
    pub fn connect(target: &Target) -> Result<Self, EchoError> {
        let (account, answer) = open(target, &ACCOUNT)?;
        Ok(Self {
            listener: Listening::At(Box::new(target.clone())),
            account,
            processors: answer.processors,
            spins: answer.spins,
        })
    }

    /// Whether the other side agrees to poll without limit ([`Spin::Always`]).
    pub const fn spins(&self) -> bool {
        self.spins
    }

    pub const fn processors(&self) -> u32 {
        self.processors
    }

    pub fn is_here(&self) -> bool {
        match (self.account.local_addr(), self.account.peer_addr()) {
            (Ok(local), Ok(peer)) => local.ip() == peer.ip(),
            _ => false,
        }
    }

    pub(super) fn account(&self) -> Option<Account> {
        let mut bytes = [0; usage::LENGTH];
        (&self.account).write_all(&[QUESTION]).ok()?;
        read_within(&self.account, &mut bytes, GREETING).ok()?;
        Some(Account::decode(&bytes))
    }

    pub(super) fn open(&self, hello: &Hello) -> Result<TcpStream, EchoError> {
        match &self.listener {
            Listening::At(target) => open(target, hello).map(|(socket, _)| socket),
            Listening::Here(reception) => open_here(reception, hello),
        }
    }

    pub(super) fn server(&self) -> String {
        match &self.listener {
            Listening::At(target) => target.server(),
            Listening::Here(_) => "this process".to_owned(),
        }
    }
}

/// Measures round trips as planned, or until `stop` is set.
///
/// # Errors
/// Fails if a stream cannot be opened, all of them break, or no round trip was completed.
pub fn measure(echo: &Echo, plan: &EchoPlan, stop: &StopToken) -> Result<EchoOutcome, EchoError> {
    let sockets = open_streams(echo, plan)?;
    let window = CountingWindow::new(plan.duration);
    let over = Over::new(stop)?;
    let (trips, accounts) = std::thread::scope(|scope| {
        let workers = workers(scope, &sockets, plan, &window, &over);
        let accounts = attend(echo, &window, &over.token, &sockets);
        let mut trips = Trips::default();
        for worker in workers {
            trips.add(worker.join().unwrap_or_default());
        }
        (trips, accounts)
    });
    outcome(echo, plan, trips, accounts, &sockets, stop)
}

/// This machine's own overhead: the median round trip to a listener in this process.
///
/// # Errors
/// Fails if this machine cannot listen on loopback, or does not answer itself.
pub fn floor(plan: &EchoPlan, stop: &StopToken) -> Result<Option<Duration>, EchoError> {
    let listener = Listener::bind(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        ListenerOptions {
            spin: plan.spin == Spin::Always,
            ..ListenerOptions::default()
        },
    )?;
    let target = Target::from(listener.address());
    let ended = StopToken::new()?;
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| listener.serve(&ended));
        let measured = Echo::connect(&target).and_then(|echo| {
            let plan = EchoPlan {
                streams: 1,
                duration: FLOOR,
                ..*plan
            };
            measure(&echo, &plan, stop)
        });
        ended.stop();
        let _ = listening.join();
        Ok(measured?.spread.p50)
    })
}

const ACCOUNT: Hello = Hello {
    purpose: Purpose::Account,
    spin: Spin::Never,
    request: 1,
    reply: 1,
    streams: 1,
    skip: Duration::ZERO,
};
const FLOOR: Duration = Duration::from_millis(200);

type Accounts = [Option<Account>; 2];
type Worker<'scope> = ScopedJoinHandle<'scope, Trips>;

fn open_streams(echo: &Echo, plan: &EchoPlan) -> Result<Vec<Arc<TcpStream>>, EchoError> {
    let hello = Hello {
        purpose: Purpose::Echo,
        spin: plan.spin,
        request: plan.request,
        reply: plan.reply,
        streams: plan.streams,
        skip: Duration::ZERO,
    };
    (0..plan.streams)
        .map(|_| echo.open(&hello).map(Arc::new))
        .collect()
}

/// One per stream, or one per processor if there are more streams.
fn workers<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    sockets: &[Arc<TcpStream>],
    plan: &EchoPlan,
    window: &'scope CountingWindow,
    over: &'scope Over,
) -> Vec<Worker<'scope>> {
    let plan = *plan;
    let threads = processors().min(sockets.len()).max(1);
    let share = sockets.len().div_ceil(threads).max(1);
    over.running
        .store(sockets.len().div_ceil(share), Ordering::Relaxed);
    let start = |sockets: &[Arc<TcpStream>]| {
        let sockets = sockets.to_vec();
        scope.spawn(move || {
            let trips = match <[_; 1]>::try_from(sockets) {
                Ok([socket]) => trips::of_one(socket, &plan, window),
                Err(sockets) => trips::of_many(&sockets, &plan, window),
            };
            if over.running.fetch_sub(1, Ordering::Relaxed) == 1 {
                over.token.stop();
            }
            trips
        })
    };
    sockets.chunks(share).map(start).collect()
}

/// Stopped by the user, or when no worker runs.
struct Over {
    token: StopToken,
    running: AtomicUsize,
}

impl Over {
    fn new(stop: &StopToken) -> Result<Self, LiveError> {
        Ok(Self {
            token: stop.child()?,
            running: AtomicUsize::new(0),
        })
    }
}

fn attend(echo: &Echo, window: &CountingWindow, over: &StopToken, sockets: &[Arc<TcpStream>]) -> Accounts {
    over.wait_until(window.counts_from);
    let before = echo.account();
    over.wait_until(window.ends_at);
    window.end();
    let after = echo.account();
    for socket in sockets {
        let _ = socket.shutdown(Shutdown::Both);
    }
    [before, after]
}

fn outcome(
    echo: &Echo,
    plan: &EchoPlan,
    trips: Trips,
    [before, after]: Accounts,
    sockets: &[Arc<TcpStream>],
    stop: &StopToken,
) -> Result<EchoOutcome, EchoError> {
    let mut times = DistributionBuilder::new();
    trips
        .times
        .iter()
        .for_each(|nanos| times.add(Duration::from_nanos(*nanos)));
    times.merge(trips.folded);
    if times.count() == 0 {
        return Err(match trips.broken {
            _ if stop.is_stopped() => EchoError::Stopped,
            Some(reason) => echo.closed(reason),
            None => EchoError::NoReply {
                server: echo.server(),
                after: plan.duration,
            },
        });
    }
    let infos: Vec<KernelFigures> = sockets
        .iter()
        .filter_map(|socket| KernelFigures::read_socket(socket.as_fd()))
        .collect();
    let elapsed = trips.elapsed;
    Ok(EchoOutcome {
        request_bytes: plan.request.into(),
        reply_bytes: plan.reply.into(),
        streams: plan.streams,
        spin: plan.spin == Spin::Always && echo.spins,
        polled: trips.polled,
        per_second: times.count() as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
        spread: times.distribution(),
        elapsed,
        client_processor: trips.processor,
        server_processor: before
            .zip(after)
            .map(|(before, after)| after.processor.saturating_sub(before.processor)),
        other_clients: before
            .iter()
            .chain(&after)
            .map(|account| account.other_clients)
            .max()
            .unwrap_or(0),
        kernel_rtt: infos.iter().filter_map(|info| info.min_rtt).min(),
        retransmitted: infos
            .iter()
            .filter_map(|info| info.retransmitted)
            .map(u64::from)
            .sum(),
        errors: trips.errors,
    })
}

impl Echo {
    pub(super) fn closed(&self, reason: Ending) -> EchoError {
        EchoError::Closed {
            server: self.server(),
            reason,
        }
    }
}

fn open_here(reception: &Reception, hello: &Hello) -> Result<TcpStream, EchoError> {
    let (ours, theirs) = UnixStream::pair().map_err(|error| EchoError::Closed {
        server: "this process".to_owned(),
        reason: Ending::Broken(OsError::from_io_error(&error)),
    })?;
    // Only system calls are used that work for both families.
    let [ours, theirs] = [ours, theirs].map(|socket| TcpStream::from(OwnedFd::from(socket)));
    reception.welcome(theirs, *hello);
    Ok(ours)
}

fn open(target: &Target, hello: &Hello) -> Result<(TcpStream, Answer), EchoError> {
    let addresses = resolve::addresses(target)?;
    let mut socket = resolve::connect(target, &addresses, GREETING)?;
    let server = || target.server();
    let broken = |error: io::Error| match error.kind() {
        ErrorKind::TimedOut => EchoError::Silent {
            server: server(),
            after: GREETING,
        },
        ErrorKind::UnexpectedEof => EchoError::Closed {
            server: server(),
            reason: Ending::Finished,
        },
        _ => EchoError::Closed {
            server: server(),
            reason: Ending::Broken(OsError::from_io_error(&error)),
        },
    };
    socket.set_nodelay(true).map_err(broken)?;
    socket.write_all(&hello.encode()).map_err(broken)?;
    let mut bytes = [0; LENGTH];
    read_within(&socket, &mut bytes, GREETING).map_err(broken)?;
    let answer = Answer::decode(&bytes).map_err(|fault| match fault {
        NoGreeting::Version(theirs) => EchoError::Version {
            server: server(),
            theirs,
            ours: VERSION,
        },
        NoGreeting::Foreign | NoGreeting::Unknown => EchoError::Foreign { server: server() },
    })?;
    match answer.verdict {
        Verdict::Accepted => Ok((socket, answer)),
        verdict => Err(refusal(server(), verdict, &answer)),
    }
}

fn refusal(server: String, verdict: Verdict, answer: &Answer) -> EchoError {
    match verdict {
        Verdict::Sizes => EchoError::Sizes {
            server,
            most: answer.most_bytes,
        },
        Verdict::Streams => EchoError::Streams {
            server,
            most: answer.most_streams,
        },
        Verdict::Busy => EchoError::Busy { server },
        Verdict::Accepted | Verdict::OtherVersion | Verdict::Purpose => EchoError::Foreign { server },
    }
}
