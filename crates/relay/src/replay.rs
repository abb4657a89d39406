//! An operation replayed over real sockets: what it takes on a link, measured instead of computed.
//!
//! A [`ReplayScript`] says who sends what and what it waits for. [`replay`] plays both ends of it from one
//! thread: the clients open connections and follow the dependencies, the server waits its server time and
//! answers. The bytes are filler, the times are those that were measured, everything between the ends is
//! real: the kernel's TCP, and whatever link lies between the addresses. So a replay proves a prediction's
//! TCP and arithmetic, not how a server behaves elsewhere.
//!
//! One thread for both ends: what one end does can release the other without waking a thread, so the floor is
//! that of the sockets alone. The ends may be in different network namespaces, because a socket belongs to
//! the namespace in which it was made, whichever thread uses it.
//!
//! Start reading at `run.rs`; `script.rs` reads the operation, `wires.rs` has the sockets.

mod boxes;
mod run;
mod script;
mod wires;

pub use script::ReplayScript;

use run::Run;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sys::error::{LiveError, OsError};
use sys::realtime::become_realtime;
use sys::socket::Socket;

/// Where the two ends of a replay are.
pub struct Ends<'a> {
    /// The server's: made in its network namespace.
    pub listener: TcpListener,
    /// Where clients connect: the listener's address, or that of a relay in front of it.
    pub address: SocketAddr,
    /// Whether `address` is a relay's. The server then sees the relay's ports, and distinguishes connections
    /// by the order in which they come.
    pub through_relay: bool,
    /// Makes a client's socket: [`client_socket`] called in the clients' network namespace.
    pub open: &'a (dyn Fn() -> Result<ClientSocket, LiveError> + Sync),
}

/// A socket that is not connected yet.
#[derive(Debug)]
pub struct ClientSocket(pub(in crate::replay) Socket);

/// A socket for connections to addresses like this one, in the network namespace of the calling thread.
///
/// # Errors
/// When the system has none left.
pub fn client_socket(address: &SocketAddr) -> Result<ClientSocket, LiveError> {
    let socket = Socket::unconnected(address).map_err(|reason| LiveError::System {
        operation: "make a socket",
        reason,
    })?;
    Ok(ClientSocket(socket))
}

/// How often an operation is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayPlan {
    /// Clients at once, each with connections of its own; each begins again when it is through.
    pub clients: u32,
    /// Operations of each client, one after the other.
    pub rounds: u32,
    /// Operations of each client before these, which are not counted: caches get warm, and connections that
    /// were open before the operation get the windows that an operation like it leaves.
    pub warm_up: u32,
    /// Pause before each operation, so that the link is idle when it begins. Zero for clients that keep a
    /// server busy.
    pub pause: Duration,
    /// Time over which the first begins of the clients are spread.
    pub stagger: Duration,
    /// All of this takes no longer; what is there by then is the outcome.
    pub longest: Duration,
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayMeasurements {
    /// Durations of the operations, in the order of their ends.
    pub durations: Vec<Duration>,
    /// From the begin of the first counted operation to the end of the last.
    pub span: Duration,
    /// How late the latest of all timed steps began. Most are within 0.1 ms; more says that the machine was
    /// busy.
    pub lateness: Duration,
    /// Whether it was ended before all rounds were through.
    pub cut: bool,
}

/// Why an operation is not, or not wholly, replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// Very long operations are passed on in parts.
    #[error("the operation is too long to be held in memory")]
    Partial,
    /// No connection of it crosses the link.
    #[error("none of its connections is moved to the other link")]
    NothingMoved,
    /// It has too many connections.
    #[error("it has {connections} connections; at most {most} are replayed")]
    TooManyConnections {
        /// As it has.
        connections: usize,
        /// As are replayed.
        most: usize,
    },
    /// It moves too many bytes.
    #[error("it moves {bytes} payload bytes; at most {most} are replayed")]
    TooManyBytes {
        /// As it moves.
        bytes: u64,
        /// As are replayed.
        most: u64,
    },
    /// Only a damaged observation can have this.
    #[error("its exchanges wait for each other in a circle, number {exchange} among them")]
    Circle {
        /// One of them, from 0.
        exchange: usize,
    },
    /// The time was over before one operation was through.
    #[error("no operation was complete within {} s; the last thing missing was {missing}", after.as_secs())]
    OutOfTime {
        /// The time there was.
        after: Duration,
        /// What did not come.
        missing: &'static str,
    },
    /// A connection failed.
    #[error("the replay's {end} lost its connection: {reason}")]
    Connection {
        /// `client` or `server`.
        end: &'static str,
        /// What the operating system says.
        reason: OsError,
    },
    /// A connection was closed by something between the two ends.
    #[error("the connection of the replay's {end} was closed on its way")]
    Closed {
        /// `client` or `server`.
        end: &'static str,
    },
    /// More bytes came than were sent.
    #[error("more bytes came to the replay's {end} than were sent to it")]
    TooMuchCame {
        /// `client` or `server`.
        end: &'static str,
    },
    /// The system refused something.
    #[error(transparent)]
    System(#[from] LiveError),
}

/// Replays `script` between `ends`, as often as `course` says, until `stop` is set. Takes a thread of its
/// own.
///
/// # Errors
/// When there are too many connections, when one fails, or when the time is over before one operation was
/// through.
pub fn replay(
    script: &ReplayScript,
    ends: &Ends<'_>,
    plan: &ReplayPlan,
    stop: &AtomicBool,
) -> Result<ReplayMeasurements, ReplayError> {
    script.check_clients(plan.clients)?;
    let work = || {
        become_realtime();
        Run::new(script, ends, plan, stop)?.play()
    };
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(replayed) => replayed,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
