//! Bounds scaled as measured predictions of the same class require (split conformal).

use crate::wake_up::WakeUp;
use link::LinkDescription;
use model::{Attribution, BoundsScale, MeasuredCells, Prediction};
use std::time::Duration;

/// Written by `make golden-accept`, from the residuals of tests/golden.
const SCALES: &str = include_str!("scales.tsv");

/// Scales all margins of `prediction`. Beyond measured links they only grow.
pub fn scale(prediction: &mut Prediction, links: &[LinkDescription], wake_up: WakeUp) {
    let Prediction {
        duration, low, high, ..
    } = *prediction;
    let run = (prediction.clients, prediction.operations);
    let scale = scale_of(run, &prediction.attribution, links, wake_up);
    let margins = [duration.saturating_sub(low), high.saturating_sub(duration)];
    let [below, above] = margins.map(|margin| margin.mul_f64(scale.factor));
    prediction.unscaled = [low, high];
    prediction.low = duration.saturating_sub(below);
    prediction.high = duration.saturating_add(above);
    prediction.scale = scale;
}

fn scale_of(
    (clients, operations): (u32, u64),
    attribution: &Attribution,
    links: &[LinkDescription],
    wake_up: WakeUp,
) -> BoundsScale {
    let network = attribution.network().as_secs_f64() / attribution.total().as_secs_f64().max(1e-9);
    let class = match wake_up {
        WakeUp::Calibrated(_) => calibrated_class(clients),
        WakeUp::Assumed | WakeUp::None => class(clients, network >= MOSTLY),
    };
    let is_as_measured = operations >= MIN_OPERATIONS && wake_up != WakeUp::None;
    scale_in(SCALES, class, clients, links, is_as_measured)
}

pub(crate) fn scale_in(
    table: &str,
    class: &'static str,
    clients: u32,
    links: &[LinkDescription],
    is_as_measured: bool,
) -> BoundsScale {
    let row = table.lines().find_map(|line| Row::of_class(line, class));
    let measured = row.filter(|row| is_as_measured && row.holds(clients, links));
    let factor = row.map_or(1.0, |row| row.factor);
    BoundsScale {
        class,
        factor: if measured.is_some() {
            factor
        } else {
            factor.max(1.0)
        },
        measured: measured.map(|row| row.cells),
    }
}

/// By number of clients, and the network's share of the predicted time.
pub(crate) const fn class(clients: u32, is_mostly_network: bool) -> &'static str {
    match (clients, is_mostly_network) {
        (0 | 1, true) => "one client, mostly network",
        (0 | 1, false) => "one client, computing",
        (_, true) => "several clients, mostly network",
        (_, false) => "several clients, computing",
    }
}

const fn calibrated_class(clients: u32) -> &'static str {
    match clients {
        0 | 1 => "one client, calibrated",
        _ => "several clients, calibrated",
    }
}

#[derive(Debug, Clone, Copy)]
struct Row {
    cells: MeasuredCells,
    factor: f64,
    max_clients: u32,
    /// Milliseconds.
    rtts: [f64; 2],
}

impl Row {
    fn of_class(line: &str, class: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [name, cells, applications, inside, factor, clients, least, most] = columns[..] else {
            return None;
        };
        (name == class).then_some(())?;
        Some(Self {
            cells: MeasuredCells {
                count: cells.parse().ok()?,
                applications: applications.parse().ok()?,
                inside_percent: inside.parse().ok()?,
            },
            factor: factor.parse().ok()?,
            max_clients: clients.parse().ok()?,
            rtts: [least.parse().ok()?, most.parse().ok()?],
        })
    }

    /// Whether so many clients, and such links, were measured: without rate, loss and jitter.
    fn holds(&self, clients: u32, links: &[LinkDescription]) -> bool {
        let [least, most] = self.rtts.map(|millis| Duration::from_secs_f64(millis / 1e3));
        let is_measured = |link: &LinkDescription| {
            let plain = LinkDescription::with_rtt(link.rtt);
            (least..=most).contains(&link.rtt)
                && LinkDescription {
                    seed: plain.seed,
                    ..*link
                } == plain
        };
        clients <= self.max_clients && links.iter().all(is_measured)
    }
}

/// Of a name; tests/golden has no fewer.
const MIN_OPERATIONS: u64 = 6;
/// Minimum share of the network; leaves each class 100 residuals.
const MOSTLY: f64 = 0.85;

#[cfg(test)]
mod tests {
    use super::*;
    use link::LossShare;
    use model::PerSide;

    fn scale_for(clients: u32, computing: u64, links: &[LinkDescription]) -> BoundsScale {
        with(WakeUp::Assumed, clients, computing, links)
    }

    fn with(wake_up: WakeUp, clients: u32, computing: u64, links: &[LinkDescription]) -> BoundsScale {
        let attribution = Attribution {
            round_trip: Duration::from_millis(60),
            server: Duration::from_millis(computing),
            ..Attribution::default()
        };
        scale_of((clients, 6), &attribution, links, wake_up)
    }

    fn link(millis: u64) -> LinkDescription {
        LinkDescription::with_rtt(Duration::from_millis(millis))
    }

    #[test]
    fn each_class_has_a_scale_from_several_applications() {
        for clients in [1, 4] {
            for computing in [10, 30] {
                let scale = scale_for(clients, computing, &[link(10)]);
                let measured = scale.measured.expect("measured");
                assert!(measured.count >= 20 && measured.applications >= 4, "{scale:?}");
                assert!((0.2..5.0).contains(&scale.factor), "{scale:?}");
            }
        }
        assert_eq!(scale_for(1, 10, &[link(10)]).class, "one client, mostly network");
        assert_eq!(scale_for(2, 11, &[link(10)]).class, "several clients, computing");
    }

    #[test]
    fn of_few_operations_margins_only_grow() {
        let scale = scale_of((1, 2), &Attribution::default(), &[link(10)], WakeUp::Assumed);
        assert!(scale.measured.is_none() && scale.factor >= 1.0, "{scale:?}");
    }

    #[test]
    fn beyond_what_was_measured_margins_only_grow() {
        let lossy = LinkDescription {
            loss: LossShare::from_parts_per_billion(10_000_000),
            ..link(10)
        };
        for (clients, links) in [
            (50, vec![link(10)]),
            (1, vec![link(500)]),
            (1, vec![link(10), link(500)]),
            (1, vec![lossy]),
        ] {
            for computing in [10, 30] {
                let scale = scale_for(clients, computing, &links);
                assert_eq!(scale.measured, None, "{links:?}");
                assert!(scale.factor >= 1.0, "{scale:?}");
            }
        }
        let scale = with(WakeUp::None, 1, 10, &[link(10)]);
        assert!(scale.measured.is_none() && scale.factor >= 1.0, "{scale:?}");
    }

    #[test]
    fn calibrated_predictions_have_classes_of_their_own() {
        let scale = with(WakeUp::Calibrated(PerSide::default()), 2, 10, &[link(10)]);
        assert_eq!(scale.class, "several clients, calibrated");
        let scale = with(WakeUp::Calibrated(PerSide::default()), 1, 10, &[link(10)]);
        assert_eq!(scale.class, "one client, calibrated");
    }
}
