//! Rounds: the workload at every number of clients, in a closed loop.

use anyhow::{Context, Result};
use load::sql::SqlLoad;
use load::{LoadOutcome, LoadPlan, QueryMode, RunControl};
use model::{Distribution, Interval, counted};
use script::Scripts;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::Target;

/// The workload, and how it is run.
#[derive(Debug)]
pub struct SplitBench {
    /// The database.
    pub target: Target,
    /// Its address.
    pub address: SocketAddr,
    /// What a transaction does.
    pub scripts: Scripts,
    /// How statements go to the server.
    pub mode: QueryMode,
    /// Requested numbers of clients.
    pub clients: Vec<u32>,
    /// How long a visit to one of them lasts.
    pub visit: Duration,
}

/// How a workload is visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    /// Clients at once.
    pub clients: u32,
    /// How long each of them pauses before each request, as if the server were that much further away.
    pub pause: Duration,
}

/// The workload at one station, once.
#[derive(Debug, Clone)]
pub struct Visit {
    /// How.
    pub station: Station,
    /// Clients divided by transactions a second.
    pub transaction: Duration,
    /// Transactions that succeeded.
    pub transactions: u64,
    /// Transactions that failed.
    pub errors: u64,
    /// Why the first of them failed.
    pub error: Option<String>,
    /// Spread of their durations.
    pub spread: Distribution,
    /// Round trips of a transaction, mean.
    pub turns: f64,
    /// Payload bytes of a transaction to the server and from it.
    pub payload_bytes: [f64; 2],
    /// Processor time of the clients' threads per transaction.
    pub client_processor: Duration,
}

/// One visit to each station.
#[derive(Debug, Clone, Default)]
pub struct Round {
    visits: Vec<Visit>,
}

impl Station {
    /// Clients that do not pause.
    pub const fn direct(clients: u32) -> Self {
        Self {
            clients,
            pause: Duration::ZERO,
        }
    }
}

impl SplitBench {
    /// Visits all `stations`, at the server's own address or at another that leads there.
    ///
    /// # Errors
    /// When the clients cannot connect, or no transaction succeeds.
    pub fn round(&self, stations: &[Station], at: SocketAddr, stop: &AtomicBool) -> Result<Round> {
        let mut round = Round::default();
        for &station in stations {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            round.visits.push(self.visit(station, at, stop)?);
        }
        Ok(round)
    }

    fn visit(&self, station: Station, at: SocketAddr, stop: &AtomicBool) -> Result<Visit> {
        let load = SqlLoad::new(&self.target, self.scripts.clone(), self.mode)?
            .at(at)
            .pausing(station.pause);
        let plan = LoadPlan {
            clients: station.clients,
            warm_up: match station.pause.is_zero() {
                true => WARM_UP,
                false => PAUSED_WARM_UP,
            },
            duration: Some(self.visit),
            ..LoadPlan::default()
        };
        let control = RunControl::default();
        let ended = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    if stop.load(Ordering::Relaxed) {
                        control.stop.store(true, Ordering::Relaxed);
                    }
                    std::thread::park_timeout(POLL_INTERVAL);
                }
            });
            let outcome = load::run(&load, &plan, &control, None);
            ended.store(true, Ordering::Relaxed);
            watching.thread().unpark();
            outcome
        })?;
        visit_of(station, &outcome)
    }
}

fn visit_of(station: Station, outcome: &LoadOutcome) -> Result<Visit> {
    let clients = station.clients;
    let error = outcome.errors.first().map(|error| error.text.clone());
    let measured = outcome.measured.as_ref().with_context(|| {
        let why = error
            .clone()
            .unwrap_or_else(|| "none was completed in time".to_owned());
        format!(
            "no transaction of {} succeeded: {why}",
            counted(clients.into(), "client", "clients")
        )
    })?;
    let transactions = measured.operations;
    let all = transactions + measured.errors;
    let each = |total: u64| total as f64 / all.max(1) as f64;
    let processor = outcome.cpu.user + outcome.cpu.system;
    let per_second = measured.per_second;
    Ok(Visit {
        station,
        transaction: Duration::try_from_secs_f64(f64::from(clients) / per_second).unwrap_or_default(),
        transactions,
        errors: measured.errors,
        error,
        spread: measured.spread,
        turns: each(outcome.turns),
        payload_bytes: outcome.payload_bytes.map(each),
        client_processor: processor.div_f64(all.max(1) as f64),
    })
}

impl Round {
    /// The visit to a station.
    pub fn at(&self, station: Station) -> Option<&Visit> {
        self.visits.iter().find(|visit| visit.station == station)
    }

    /// All of them.
    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// The time of a transaction with this many clients over several rounds.
    pub fn interval(rounds: &[Self], clients: u32) -> Option<Interval> {
        Interval::from_rounds(
            rounds
                .iter()
                .filter_map(|round| Some(round.at(Station::direct(clients))?.transaction)),
        )
    }
}

/// Transactions of each client before anything counts: connections have found their windows, servers their
/// plans.
const WARM_UP: u64 = 5;
/// Of clients that pause, whose transactions may take a quarter of a visit.
const PAUSED_WARM_UP: u64 = 2;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
