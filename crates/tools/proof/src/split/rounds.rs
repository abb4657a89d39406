//! Runs the workload at each client count, in a closed loop.

use anyhow::{Context, Result};
use load::script::Scripts;
use load::sql::SqlLoad;
use load::{QueryMode, RunControl};
use model::{Distribution, Interval, PerDirection, counted};
use std::net::SocketAddr;
use std::time::Duration;
use sys::StopToken;
use sys::Target;

#[derive(Debug)]
pub struct SplitBench {
    pub target: Target,
    /// `None` behind a Unix-domain socket.
    pub address: Option<SocketAddr>,
    pub scripts: Scripts,
    pub mode: QueryMode,
    pub clients: Vec<u32>,
    pub visit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    pub clients: u32,
    /// Pause before each request, which simulates additional distance.
    pub pause: Duration,
}

#[derive(Debug, Clone)]
pub struct Visit {
    pub station: Station,
    /// Clients divided by transactions per second.
    pub transaction: Duration,
    /// Without failed ones, which `errors` counts.
    pub transactions: u64,
    pub errors: u64,
    pub error: Option<String>,
    pub spread: Distribution,
    /// Mean round trips per transaction.
    pub turns: f64,
    /// Mean per transaction in each direction.
    pub payload_bytes: PerDirection<f64>,
    /// CPU time of client threads per transaction.
    pub client_processor: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct Round {
    visits: Vec<Visit>,
}

impl Station {
    pub const fn direct(clients: u32) -> Self {
        Self {
            clients,
            pause: Duration::ZERO,
        }
    }
}

impl SplitBench {
    /// Visits all `stations`, at the address `at` of the server or of a relay to it.
    pub fn round(&self, stations: &[Station], at: Option<SocketAddr>, stop: &StopToken) -> Result<Round> {
        let mut round = Round::default();
        for &station in stations {
            if stop.is_stopped() {
                break;
            }
            round.visits.push(self.visit(station, at, stop)?);
        }
        Ok(round)
    }

    fn visit(&self, station: Station, at: Option<SocketAddr>, stop: &StopToken) -> Result<Visit> {
        let load = SqlLoad::new(&self.target, self.scripts.clone(), self.mode)?.pausing(station.pause);
        let load = match at {
            Some(at) => load.at(at),
            None => load,
        };
        let plan = load::Plan {
            clients: station.clients,
            warm_up: match station.pause.is_zero() {
                true => WARM_UP,
                false => PAUSED_WARM_UP,
            },
            duration: Some(self.visit),
            ..load::Plan::default()
        };
        let outcome = load::run(&load, &plan, &RunControl::new(stop)?, None)?;
        visit_of(station, &outcome)
    }
}

fn visit_of(station: Station, outcome: &load::Outcome) -> Result<Visit> {
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
    pub fn at(&self, station: Station) -> Option<&Visit> {
        self.visits.iter().find(|visit| visit.station == station)
    }

    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// Transaction time with this many clients, over several rounds.
    pub fn interval(rounds: &[Self], clients: u32) -> Option<Interval> {
        Interval::from_rounds(
            rounds
                .iter()
                .filter_map(|round| Some(round.at(Station::direct(clients))?.transaction)),
        )
    }
}

/// Transactions per client before measuring: lets congestion windows grow and servers cache plans.
const WARM_UP: u64 = 5;
/// Lower for clients that pause, as a transaction may take a quarter of a visit.
const PAUSED_WARM_UP: u64 = 2;
