//! Verifies the demo's predictions by running the application over emulated links.

use super::stage::DemoSetup;
use anyhow::{Result, ensure};
use demo::{FetchedPage, ShopApplication};
use link::LinkDescription;
use model::{DEFAULT_RTTS, LinkOutcome, MeasuredDurations, Warning, WarningKind, format_duration};
use pipeline::progress::{ProgressSink, StderrProgress};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::StopToken;

#[derive(Debug, Default)]
pub struct DemoProof {
    pub pages: Vec<Proved>,
    pub links: Vec<LinkOutcome>,
    pub warnings: Vec<Warning>,
}

#[derive(Debug)]
pub struct Proved {
    pub name: Arc<str>,
    pub rtt: Duration,
    pub measured: MeasuredDurations,
}

/// Distances and pages per variant: about 5 s each.
const DISTANCES: [(Duration, usize); 2] = [(DEFAULT_RTTS[0], 11), (DEFAULT_RTTS[1], 5)];

/// Fetches pages of both variants over each link until `stop` is set. `rows` is the row count of a
/// page fetched without a link.
pub fn prove(chatty: &DemoSetup, joined: &DemoSetup, rows: usize, stop: &StopToken) -> DemoProof {
    let mut proof = DemoProof::default();
    for (rtt, pages) in DISTANCES {
        if stop.is_stopped() {
            break;
        }
        StderrProgress.status(&format!("running the application at {}", format_duration(rtt)));
        if let Err(fault) = proof.at(rtt, pages, [chatty, joined], rows, stop) {
            let text = format!("nothing was proved at {}: {fault:#}", format_duration(rtt));
            proof.warnings.push(Warning::new(WarningKind::NotPredicted, text));
        }
    }
    StderrProgress.status("");
    proof
}

impl DemoProof {
    fn at(
        &mut self,
        rtt: Duration,
        pages: usize,
        stages: [&DemoSetup; 2],
        rows: usize,
        stop: &StopToken,
    ) -> Result<()> {
        let relay = relay::emulate(stages[0].target()?, LinkDescription::with_rtt(rtt))?;
        let mut took = [Vec::new(), Vec::new()];
        let fetched = fetch(relay.local_addr(), stages, pages, &mut took, stop);
        let link = relay.link_outcome();
        relay.stop(Duration::ZERO);
        for page in fetched? {
            ensure!(page.rows == rows, "a page over the link shows other content");
        }
        for (stage, durations) in stages.iter().zip(&took) {
            self.pages
                .extend(::proof::measured(durations, None).map(|measured| Proved {
                    name: stage.name.clone(),
                    rtt,
                    measured,
                }));
        }
        self.links.extend(link);
        Ok(())
    }
}

/// Alternates between the variants and returns the last page of each.
fn fetch(
    address: SocketAddr,
    stages: [&DemoSetup; 2],
    pages: usize,
    took: &mut [Vec<Duration>; 2],
    stop: &StopToken,
) -> Result<Vec<FetchedPage>> {
    let mut last = Vec::new();
    for _ in 0..pages {
        last.clear();
        for (stage, durations) in stages.iter().zip(&mut *took) {
            if stop.is_stopped() {
                return Ok(last);
            }
            let page = ShopApplication::new().page(address, stage.variant)?;
            durations.push(page.duration);
            last.push(page);
        }
    }
    Ok(last)
}
