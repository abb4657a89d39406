//! Round trips and rates between two longwires.

use model::{BulkOutcome, EchoOutcome, PerDirection, SampleTotals, Summary, Warning};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct EchoReport {
    /// `host:port` of the other side.
    pub server: String,
    /// Whether both sides share this machine's processors.
    pub same_host: bool,
    /// Processors of the other side.
    pub processors: Option<u32>,
    /// Duration of each combination.
    pub time: Duration,
    /// Median round trip to a listener in this process: the machine's own overhead.
    pub floor: Option<Duration>,
    pub echoes: Vec<EchoOutcome>,
    pub bulks: Vec<BulkOutcome>,
    pub warnings: Vec<Warning>,
}

impl EchoReport {
    /// The totals. A spread needs a single combination: those of several mean nothing together.
    pub fn summary(&self, elapsed: Duration) -> Summary {
        let all = || self.echoes.iter();
        let answered: u64 = all().map(|echo| echo.spread.count).sum();
        let errors: u64 = all().map(|echo| echo.errors).sum();
        let bytes = |of: fn(&EchoOutcome) -> u64| all().map(|echo| echo.spread.count * of(echo)).sum();
        let one = match self.echoes.as_slice() {
            [one] => Some(one),
            _ => None,
        };
        let measured: Duration = all().map(|echo| echo.elapsed).sum();
        Summary {
            turns: answered,
            exchanges: answered,
            connections: all().map(|echo| u64::from(echo.streams)).sum(),
            payload_bytes: PerDirection::new(
                bytes(|echo| echo.request_bytes),
                bytes(|echo| echo.reply_bytes),
            ),
            duration: elapsed,
            spread: one.map(|one| one.spread).unwrap_or_default(),
            samples: (!self.echoes.is_empty()).then(|| SampleTotals {
                sent: answered + errors,
                answered,
                lost: errors,
                errors: 0,
                per_second: answered as f64 / measured.as_secs_f64().max(f64::MIN_POSITIVE),
                mdev: None,
                floor: self.floor,
            }),
            ..Summary::default()
        }
    }
}
