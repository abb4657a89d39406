//! Replays an operation over real sockets: measures its time on a link instead of computing it.
//!
//! [`replay`] plays both ends of a [`ReplayScript`] from one thread. The bytes are filler and the
//! waits are the measured ones, but the kernel's TCP and the link are real. So a replay proves a
//! prediction's TCP and arithmetic, not how a server behaves elsewhere.
//!
//! With one thread, an end can release the other without a wake-up, so the floor is that of the
//! sockets alone. The ends may be in different network namespaces: a socket belongs to the
//! namespace of its creation, whichever thread uses it.
//!
//! Start reading at `run.rs`; `script.rs` reads the operation, `wires.rs` has its connections and
//! `sockets.rs` the kernel's part of them.

mod boxes;
#[cfg(test)]
mod memory;
mod outside;
mod run;
mod script;
mod sockets;
#[cfg(test)]
mod tests;
mod wake;
mod wires;

pub use script::ReplayScript;

use run::Run;
use sockets::Sockets;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use sys::StopToken;
use sys::error::{LiveError, OsError};
use sys::realtime::become_realtime;
use sys::socket::Socket;

pub struct Ends<'a> {
    pub listener: TcpListener,
    /// Address of the listener, or of a relay in front of it.
    pub address: SocketAddr,
    /// The server then matches connections by order of arrival, because it sees the relay's ports.
    pub through_relay: bool,
    /// Runs [`client_socket`] in the clients' network namespace.
    pub open: &'a (dyn Fn() -> Result<ClientSocket, LiveError> + Sync),
}

#[derive(Debug)]
pub struct ClientSocket(pub(in crate::replay) Socket);

/// Makes a socket for addresses of this family, in the calling thread's network namespace.
///
/// # Errors
/// If the system refuses one.
pub fn client_socket(address: &SocketAddr) -> Result<ClientSocket, LiveError> {
    let socket = Socket::unconnected(address).map_err(|reason| LiveError::System {
        operation: "make a socket",
        reason,
    })?;
    Ok(ClientSocket(socket))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayPlan {
    /// Concurrent clients with separate connections; each starts again after an operation.
    pub clients: u32,
    pub rounds: u32,
    /// Uncounted operations before these, which warm caches and TCP windows.
    pub warm_up: u32,
    /// Pause before each operation, so that the link is idle; zero for clients that keep a server
    /// busy.
    pub pause: Duration,
    /// Time over which the clients' first starts are spread.
    pub stagger: Duration,
    /// The outcome has the operations completed within this time.
    pub longest: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayMeasurements {
    pub durations: Vec<Duration>,
    /// From the start of the first counted operation to the end of the last.
    pub span: Duration,
    /// Delay of the latest timed step, usually below 0.1 ms. More means that the machine was busy.
    pub lateness: Duration,
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplayError {
    #[error("the operation is too long to be held in memory")]
    Partial,
    #[error("none of its connections is moved to the other link")]
    NothingMoved,
    #[error("it has {connections} connections; at most {most} are replayed")]
    TooManyConnections { connections: usize, most: usize },
    #[error("it moves {bytes} payload bytes; at most {most} are replayed")]
    TooManyBytes { bytes: u64, most: u64 },
    /// Possible only in a damaged observation.
    #[error("its exchanges wait for each other in a circle, number {exchange} among them")]
    Circle { exchange: usize },
    #[error("no operation was complete within {} s; the last thing missing was {missing}", after.as_secs())]
    OutOfTime { after: Duration, missing: &'static str },
    #[error("the replay's {end} lost its connection: {reason}")]
    Connection { end: &'static str, reason: OsError },
    #[error("the connection of the replay's {end} was closed on its way")]
    Closed { end: &'static str },
    #[error("more bytes came to the replay's {end} than were sent to it")]
    TooMuchCame { end: &'static str },
    #[error(transparent)]
    System(#[from] LiveError),
}

/// Replays `script` between `ends` according to `plan`, until `stop` is set, on a dedicated
/// thread.
///
/// # Errors
/// If there are too many connections, one fails, or the time limit passes before one operation is
/// complete.
pub fn replay(
    script: &ReplayScript,
    ends: &Ends<'_>,
    plan: &ReplayPlan,
    stop: &StopToken,
) -> Result<ReplayMeasurements, ReplayError> {
    script.check_clients(plan.clients)?;
    let work = || {
        become_realtime();
        Run::new(script, Sockets::new(ends, stop)?, plan, stop).play()
    };
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(replayed) => replayed,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
