//! Rounds: the workload at every number of clients, in a closed loop.

use anyhow::{Context, Result};
use load::sql::SqlLoad;
use load::{LoadOutcome, LoadPlan, QueryMode, RunControl};
use model::{Distribution, Interval, counted};
use predict::split::ConcurrencyPoint;
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

/// The workload at one number of clients, once.
#[derive(Debug, Clone)]
pub struct Visit {
    /// Clients at once.
    pub clients: u32,
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
    /// Turns of a transaction, mean.
    pub turns: f64,
    /// Payload bytes of a transaction to the server and from it.
    pub payload_bytes: [f64; 2],
    /// Processor time of the clients' threads per transaction.
    pub client_processor: Duration,
}

/// One visit to each number of clients.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// In ascending order of the clients.
    pub visits: Vec<Visit>,
}

impl SplitBench {
    /// The numbers of clients that a round visits: those requested and, below the largest of them, 1, 2, 4, 8 and so on.
    pub fn stations(&self) -> Vec<u32> {
        let most = self.clients.iter().copied().max().unwrap_or(1);
        let between = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
        let mut all: Vec<u32> = self
            .clients
            .iter()
            .copied()
            .chain(between.take_while(|count| *count < most))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Visits every number of clients in `stations`, at the server's own address or at another that leads there.
    ///
    /// # Errors
    /// When the clients cannot connect, or no transaction succeeds.
    pub fn round(&self, stations: &[u32], at: SocketAddr, stop: &AtomicBool) -> Result<Round> {
        let mut round = Round::default();
        for &clients in stations {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            round.visits.push(self.visit(clients, at, stop)?);
        }
        Ok(round)
    }

    fn visit(&self, clients: u32, at: SocketAddr, stop: &AtomicBool) -> Result<Visit> {
        let load = SqlLoad::new(&self.target, self.scripts.clone(), self.mode)?.at(at);
        let plan = LoadPlan {
            clients,
            warm_up: WARM_UP,
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
                    std::thread::park_timeout(LOOK);
                }
            });
            let outcome = load::run(&load, &plan, &control, None);
            ended.store(true, Ordering::Relaxed);
            watching.thread().unpark();
            outcome
        })?;
        visit_of(clients, &outcome)
    }
}

fn visit_of(clients: u32, outcome: &LoadOutcome) -> Result<Visit> {
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
        clients,
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
    /// The visit to this many clients.
    pub fn of(&self, clients: u32) -> Option<&Visit> {
        self.visits.iter().find(|visit| visit.clients == clients)
    }

    /// What predictions are made from.
    pub fn points(&self) -> Vec<ConcurrencyPoint> {
        let point = |visit: &Visit| ConcurrencyPoint {
            clients: visit.clients,
            transaction: visit.transaction,
        };
        self.visits.iter().map(point).collect()
    }

    /// The time of a transaction with this many clients over several rounds.
    pub fn interval(rounds: &[Self], clients: u32) -> Option<Interval> {
        Interval::of(
            rounds
                .iter()
                .filter_map(|round| Some(round.of(clients)?.transaction)),
        )
    }
}

/// Transactions of each client before anything counts: connections have found their windows, servers their plans.
const WARM_UP: u64 = 5;
const LOOK: Duration = Duration::from_millis(50);
