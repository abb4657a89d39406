//! Ping: the same minimal exchange again and again, and how long each took.
//!
//! A thread a target. Each asks at its own pace over a connection of its own (or a new one each time, where a
//! probe is about that), and in the pauses asks an echo of longwire's own the same way: what this machine
//! adds. What happens is reported as [`PingEvent`]s, in the caller's thread. A kind of exchange is a file
//! under `probes` and a row in `probes.rs`.
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
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;
use sys::Clock;
use sys::signals::block_all_signals;
use sys::target::Target;

/// What is to be asked of one target.
#[derive(Debug, Clone)]
pub struct PingPlan {
    /// Whom.
    pub target: Target,
    /// What.
    pub question: Question,
    /// How often.
    pub pace: Pace,
    /// Ends after this many samples, first ones of a connection not counted.
    pub count: Option<u64>,
    /// A sample without a whole reply within this is lost.
    pub timeout: Duration,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// A statement in a session that is logged in; where longwire has no login, the same as without one.
    Statement {
        /// The statement; `None` for the minimal one that also asks for the server's own time.
        sql: Option<String>,
        /// Whether it is prepared once and then executed.
        prepared: bool,
    },
    /// A new connection, logged in, up to the reply to its first query.
    Connect,
    /// What needs no credentials: the first message of the protocol, or a TCP connection where there is none.
    NoLogin,
    /// An ICMP echo of the target's host.
    Icmp,
    /// A statement by a JDBC driver, on an open connection or on a new one each time.
    Driver(Box<DriverQuestion>),
}

/// What is asked through a JDBC driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverQuestion {
    /// The bridge to it.
    pub bridge: BridgeOptions,
    /// Whom it connects to.
    pub login: Login,
    /// The statement; `None` for the minimal one that the database has.
    pub sql: Option<String>,
    /// Whether it is prepared once and then executed.
    pub prepared: bool,
    /// Whether each sample is a new connection, up to the statement's result.
    pub connect: bool,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum PingEvent {
    /// A connection was made, or a probe without one is ready.
    Opened(Opened),
    /// A sample was taken, or lost.
    Sample(Sample),
    /// The sample that comes next was the opening of a connection.
    Legs {
        /// When it began.
        at: Timestamp,
        /// Its legs, which sum to the sample's duration.
        legs: Vec<Leg>,
    },
    /// The echo of longwire's own was asked.
    Floor(Duration),
    /// What a reader of the figures must know.
    Caution(&'static str),
    /// This target cannot be asked at all; no more events follow for it.
    Failed(PingError),
}

/// What is known of the time that the server itself needs for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerTime {
    /// Nothing: the work asked for may take any time.
    #[default]
    Unknown,
    /// The server reports it with each answer.
    Reported,
    /// What is asked needs next to none.
    Negligible,
}

/// A connection that was made.
#[derive(Debug, Clone, Default)]
pub struct Opened {
    /// The server's address; `None` for a Unix socket.
    pub server: Option<SocketAddr>,
    /// Its product and version, where it reported them.
    pub version: Option<String>,
    /// What is asked, in a few words.
    pub question: String,
    /// What a reader of the figures must know from the start.
    pub caution: Option<&'static str>,
    /// What is known of the server's time for an answer.
    pub answer_time: AnswerTime,
    /// What opening it took; none for a probe that connects each time.
    pub legs: Vec<Leg>,
}

/// Asks as planned until all counts are reached or `stop` is set, which ends waiting within a moment. `tell`
/// is called with the number of the plan and what happened there.
///
/// # Errors
/// As `tell`; then nothing more is asked.
pub fn run<E>(
    plans: &[PingPlan],
    clock: Clock,
    stop: &AtomicBool,
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
        // With the receiver gone, nobody waits for room.
        let told = events
            .into_iter()
            .try_for_each(|(number, event)| tell(number, event));
        if told.is_err() {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        told
    })
}

impl PingPlan {
    /// What the samples are of: the target without its secrets.
    pub fn name(&self) -> String {
        match &self.question {
            Question::Driver(question) => question.login.url.to_string(),
            Question::Icmp => format!("icmp://{}", self.target.host),
            Question::NoLogin | Question::Connect | Question::Statement { .. } => self.target.to_string(),
        }
    }
}

/// Events that wait to be reported: while their reader does not take them, nothing more is asked.
const MAX_WAITING: usize = 1024;
