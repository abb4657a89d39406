//! Repeats one minimal exchange and times it.
//!
//! Each target has a thread and a connection. Probes of connecting open a new one each time. In the
//! pauses, a local echo is measured the same way: the overhead of this machine. Each kind of
//! exchange is a file in `probes` and a row in `probes.rs`.
//!
//! Start reading at [`run()`].

mod error;
mod floor;
mod intermediary;
mod pace;
mod plain;
mod probes;
pub mod prometheus;
pub mod rows;
mod run;
pub mod via;

pub use error::PingError;
pub use intermediary::find_intermediary;
pub use pace::{Pace, PaceError};
pub use prometheus::Prometheus;

use client::bridge::{BridgeOptions, Login};
use model::{Leg, Sample, Timestamp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use sys::Clock;
use sys::StopToken;
use sys::signals::block_all_signals;
use sys::target::Target;

#[derive(Debug, Clone)]
pub struct PingPlan {
    pub target: Target,
    pub question: Question,
    pub pace: Pace,
    /// Ends after this many samples; the first samples of connections do not count.
    pub count: Option<u64>,
    /// Without a complete reply within this time, a sample is lost.
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// A statement in a logged-in session; like [`Self::NoLogin`] where longwire cannot log in.
    Statement {
        /// `None` for the minimal statement, which also reads the server's own time.
        sql: Option<String>,
        prepared: bool,
    },
    /// A new connection with login, up to the reply to its first query.
    Connect,
    /// The first message of the protocol, or else a TCP connection.
    NoLogin,
    /// An ICMP echo of the target's host.
    Icmp,
    /// A statement through a JDBC driver, on an open connection or on a new one each time.
    Driver(Box<DriverQuestion>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverQuestion {
    pub bridge: BridgeOptions,
    pub login: Login,
    /// `None` for the database's minimal statement.
    pub sql: Option<String>,
    pub prepared: bool,
    pub connect: bool,
}

#[derive(Debug, Clone)]
pub enum PingEvent {
    Opened(Opened),
    Sample(Sample),
    /// The next sample is the opening of a connection.
    Legs {
        at: Timestamp,
        /// They sum to the sample's duration.
        legs: Vec<Leg>,
    },
    Floor(Duration),
    /// For readers of the figures.
    Caution(&'static str),
    /// No more events follow for this target.
    Failed(PingError),
}

/// Knowledge of the server's own time for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerTime {
    /// The work may take any time.
    #[default]
    Unknown,
    /// The server reports it with each answer.
    Reported,
    /// The request needs almost no work.
    Negligible,
}

#[derive(Debug, Clone, Default)]
pub struct Opened {
    pub server: Option<SocketAddr>,
    /// Product and version, where the server reported them.
    pub version: Option<String>,
    pub question: String,
    /// For readers of the figures.
    pub caution: Option<&'static str>,
    pub answer_time: AnswerTime,
    /// Empty for a probe that connects each time.
    pub legs: Vec<Leg>,
}

/// Sends requests as planned until all counts are reached or `stop` is set. Calls `tell` with the
/// plan's number and the event.
///
/// # Errors
/// Returns the error of `tell`, and stops.
pub fn run<E>(
    plans: &[PingPlan],
    clock: Clock,
    stop: &StopToken,
    mut tell: impl FnMut(usize, PingEvent) -> Result<(), E>,
) -> Result<(), E> {
    let (sender, events) = mpsc::sync_channel(MAX_WAITING);
    std::thread::scope(|scope| {
        for (number, plan) in plans.iter().enumerate() {
            let sender = sender.clone();
            scope.spawn(move || {
                block_all_signals();
                let name: Arc<str> = plan.name().into();
                run::run(plan, &name, clock, stop, |event| {
                    sender.send((number, event)).is_ok()
                });
            });
        }
        drop(sender);
        // With the receiver gone, no thread waits for room.
        let told = events
            .into_iter()
            .try_for_each(|(number, event)| tell(number, event));
        if told.is_err() {
            stop.stop();
        }
        told
    })
}

impl PingPlan {
    /// The target without its secrets.
    pub fn name(&self) -> String {
        match &self.question {
            Question::Driver(question) => question.login.url.to_string(),
            Question::Icmp => format!("icmp://{}", self.target.host),
            Question::NoLogin | Question::Connect | Question::Statement { .. } => self.target.to_string(),
        }
    }
}

/// Requests pause while the reader of events does not keep up.
const MAX_WAITING: usize = 1024;
