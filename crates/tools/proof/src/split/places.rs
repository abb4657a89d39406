//! Places to predict throughput for, and the measurements each round needs for them.

use super::distance::measure_rtt;
use super::rounds::{Round, SplitBench, Station};
use anyhow::Result;
use link::LinkDescription;
use model::{PerDirection, SplitBase, SplitPrediction, SplitRefusal};
use predict::split::{EchoedRoundTrips, Elsewhere, Forecast, PausedWorkload, forecast, pause_towards};
use probe::echo::Echo;
use std::sync::Arc;
use std::time::Duration;
use sys::StopToken;
use sys::Target;

#[derive(Debug)]
pub struct Place {
    text: Arc<str>,
    there: Elsewhere,
    link: LinkDescription,
    /// Round-trip time at the place of measurement, of the same kind.
    here: Duration,
    /// Pauses that stand in for the distance.
    pause: Duration,
    /// The link has loss or other effects that pauses do not reproduce.
    is_impaired: bool,
    /// With one stream per client, for an echo.
    crowds: Vec<(u32, EchoedRoundTrips)>,
}

impl Place {
    /// A place behind a link. The link's round-trip time replaces `here`, that of packets; wake-ups
    /// of both processes stay.
    pub fn behind(link: &LinkDescription, here: Duration, pausing: Pausing) -> Self {
        Self {
            text: link.to_string().into(),
            there: Elsewhere {
                round_trip: link.rtt,
                rate: link.rate,
            },
            link: *link,
            here,
            pause: pausing.towards(link.rtt, here),
            is_impaired: link.loss.is_some() || link.jitter.is_some() || link.outage.is_some(),
            crowds: Vec::new(),
        }
    }

    /// The place of this echo. Its single-stream round-trip time, wake-ups included, replaces the
    /// local one. More streams show whether messages queue on the way.
    pub fn of_echo(
        address: &str,
        echo: &Target,
        sizes: PerDirection<u32>,
        here: Duration,
        bench: &SplitBench,
        pausing: Pausing,
        stop: &StopToken,
    ) -> Result<Self> {
        let echo = Echo::connect(echo)?;
        let alone = measure_rtt(&echo, sizes, 1, bench.visit, stop)?.round_trip;
        let mut crowds = Vec::new();
        for &streams in &bench.clients {
            let together = match streams {
                1 => alone,
                _ => measure_rtt(&echo, sizes, streams, bench.visit, stop)?.round_trip,
            };
            let echoed = EchoedRoundTrips {
                alone,
                together,
                streams,
            };
            crowds.push((streams, echoed));
        }
        Ok(Self {
            text: format!("echo {address}").into(),
            there: Elsewhere {
                round_trip: alone,
                rate: PerDirection::default(),
            },
            link: LinkDescription::with_rtt(alone),
            here,
            pause: pausing.towards(alone, here),
            is_impaired: false,
            crowds,
        })
    }

    fn station(&self, clients: u32) -> Station {
        let pause = self.pause;
        Station { clients, pause }
    }

    pub fn predict(&self, rounds: &[&Round], clients: u32, base: SplitBase) -> SplitPrediction {
        let forecasts: Vec<Forecast> = rounds
            .iter()
            .filter_map(|round| self.by_round(round, clients))
            .collect();
        SplitPrediction {
            place: Arc::clone(&self.text),
            base,
            round_trip: self.there.round_trip,
            clients,
            forecast: match self.is_impaired {
                true => Err(SplitRefusal::Impaired),
                false => forecast(&forecasts, clients, &self.link),
            },
            measured: None,
        }
    }

    fn by_round(&self, round: &Round, clients: u32) -> Option<Forecast> {
        let visit = round.at(self.station(clients))?;
        let paused = PausedWorkload {
            clients,
            pause: self.pause,
            transaction: visit.transaction,
            turns: visit.turns,
            round_trip: self.here,
            payload_bytes: visit.payload_bytes,
        };
        let mut forecast = paused.elsewhere(&self.there);
        if let Some((_, crowd)) = self.crowds.iter().find(|(streams, _)| *streams == clients) {
            let round_trip = crowd.under(clients, visit.turns, forecast.transaction);
            let waiting = round_trip.saturating_sub(crowd.alone).mul_f64(visit.turns);
            forecast.transaction += waiting;
            forecast.high += waiting;
        }
        Some(forecast)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Pausing {
    pub turns: f64,
    pub visit: Duration,
}

impl Pausing {
    fn towards(self, there: Duration, here: Duration) -> Duration {
        pause_towards(there, here, self.turns, self.visit)
    }
}

/// Each requested client count without pauses, then with those of each place.
pub fn stations(bench: &SplitBench, places: &[Place]) -> Vec<Station> {
    let direct = bench.clients.iter().copied().map(Station::direct);
    let paused = places
        .iter()
        .flat_map(|place| bench.clients.iter().map(|&clients| place.station(clients)));
    let mut all: Vec<Station> = Vec::new();
    for station in direct.chain(paused) {
        if !all.contains(&station) {
            all.push(station);
        }
    }
    all
}
