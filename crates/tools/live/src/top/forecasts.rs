use super::source::ScreenSource;
use analysis::paces::Paces;
use pipeline::moved::by_whether_they_move;
use screen::{LinkForecast, Screen, Snapshot, Wants};
use std::time::{Duration, Instant};

/// Predictions for the screen: renewed for another link, and from time to time, at no more than 0.4
/// % of the time.
pub struct Forecasts {
    made: Option<(Wants, Duration)>,
    kept: Option<LinkForecast>,
    due: Instant,
}

impl Default for Forecasts {
    fn default() -> Self {
        Self {
            made: None,
            kept: None,
            due: Instant::now(),
        }
    }
}

impl Forecasts {
    pub fn kept_in(&self, snapshot: Snapshot) -> Snapshot {
        Snapshot {
            forecast: self.kept.clone(),
            ..snapshot
        }
    }

    /// Renews predictions when due, or when the screen shows another link or moment.
    pub fn renew(&mut self, source: &mut dyn ScreenSource, screen: &mut Screen) {
        let wants = screen.wants();
        let moment = source
            .moment()
            .position
            .map_or(Duration::ZERO, |position| position.at);
        if self.made == Some((wants, moment))
            && (Instant::now() < self.due || source.moment().position.is_some())
        {
            return;
        }
        let began = Instant::now();
        let aggregator = source.aggregator();
        let moved = aggregator.moved();
        let Some(recent) = aggregator.recent() else { return };
        let mut predicted = recent.predict(&[wants.link], &moved);
        (predicted.predictions, _) = by_whether_they_move(predicted.predictions);
        let forecast = LinkForecast {
            link: Some(wants.link),
            paces: Paces::from_operations(recent.iter(), &predicted.predictions),
            operations: predicted.predictions,
            held: predicted.held,
            statements: match wants.statements {
                true => recent.predict_statements(wants.link, &moved),
                false => Vec::new(),
            },
            replayed: recent.len(),
        };
        self.made = Some((wants, moment));
        self.due = Instant::now() + (began.elapsed() * RESTS).max(MIN_REST);
        self.kept = Some(forecast.clone());
        screen.forecast(forecast);
    }
}

/// Predictions rest for this multiple of their own duration.
const RESTS: u32 = 250;
const MIN_REST: Duration = Duration::from_secs(2);
