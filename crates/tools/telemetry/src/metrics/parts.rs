//! The five histograms of a name: duration, round trips, network, server and client time.

use crate::metrics::family::{FamilyKind, Label, Series, SeriesFamily, SeriesValue};
use crate::metrics::histogram::{Histogram, Quantity};
use crate::metrics::names::Mergeable;
use analysis::waited::ExchangeWait;
use model::Attribution;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Parts {
    duration: Histogram,
    network: Histogram,
    server: Histogram,
    client: Histogram,
    turns: Histogram,
}

impl Default for Parts {
    fn default() -> Self {
        let time = || Histogram::new(Quantity::Time);
        Self {
            duration: time(),
            network: time(),
            server: time(),
            client: time(),
            turns: Histogram::new(Quantity::Turns),
        }
    }
}

impl Mergeable for Parts {
    fn merge(&mut self, other: &Self) {
        self.duration.merge(&other.duration);
        self.network.merge(&other.network);
        self.server.merge(&other.server);
        self.client.merge(&other.client);
        self.turns.merge(&other.turns);
    }
}

impl Parts {
    pub(crate) fn exchange(&mut self, waited: ExchangeWait, turns: u32) {
        self.duration.add_time(waited.total);
        self.network.add_time(waited.network);
        self.server.add_time(waited.server);
        self.client.add_time(waited.client);
        self.turns.add_turns(u64::from(turns));
    }

    pub(crate) fn operation(&mut self, duration: Duration, attribution: &Attribution, turns: u64) {
        self.duration.add_time(duration);
        self.network.add_time(attribution.network());
        self.server.add_time(attribution.server);
        self.client.add_time(attribution.client);
        self.turns.add_turns(turns);
    }
}

pub(crate) struct PartNames {
    /// In the order of [`PartFamilies`]: Prometheus's name, OpenTelemetry's name, description.
    pub(crate) families: [(&'static str, &'static str, &'static str); 5],
}

pub(crate) struct PartFamilies([SeriesFamily; 5]);

impl PartFamilies {
    pub(crate) fn new(names: &PartNames) -> Self {
        Self(
            names.families.map(|(name, otel_name, help)| {
                SeriesFamily::new(name, otel_name, help, FamilyKind::Histogram)
            }),
        )
    }

    pub(crate) fn add(&mut self, labels: &[Label], parts: &Parts, since: u64) {
        let histograms = [
            &parts.duration,
            &parts.turns,
            &parts.network,
            &parts.server,
            &parts.client,
        ];
        if parts.duration.count() == 0 {
            return;
        }
        for (family, histogram) in self.0.iter_mut().zip(histograms) {
            family.series.push(Series {
                labels: labels.to_vec(),
                since,
                value: SeriesValue::Histogram(histogram.clone()),
            });
        }
    }

    pub(crate) fn into_families(self) -> impl Iterator<Item = SeriesFamily> {
        self.0.into_iter()
    }
}
