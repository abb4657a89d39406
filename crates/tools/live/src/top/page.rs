//! Writes the screen's content as a page for `--html`.

use super::source::ScreenSource;
use anyhow::Result;
use link::LinkDescription;
use model::{Warning, WarningKind};
use pipeline::moved::by_whether_they_move;
use pipeline::page::{PRICES, PagePlace, PageRun, Samples};
use std::path::PathBuf;
use std::time::Duration;

/// Returns the path of the page. Predictions cover the most recent operations.
pub fn write(
    source: &mut (impl ScreenSource + ?Sized),
    place: &PagePlace,
    prices: &[Duration],
) -> Result<PathBuf> {
    let warnings = source.warnings();
    let title = source.moment().place;
    let aggregator = source.aggregator();
    let moved = aggregator.moved();
    let mut outcome = aggregator.so_far(usize::MAX, prices).outcome;
    outcome.warnings.extend(warnings);
    let samples = Samples::default();
    if let Some(recent) = aggregator.recent() {
        recent
            .iter()
            .for_each(|operation| samples.process_operation(operation));
        let links = PRICES.map(LinkDescription::with_rtt);
        let predicted = recent.predict(&links, &moved);
        (outcome.predictions, outcome.unmoved) = by_whether_they_move(predicted.predictions);
        outcome.held_predictions = predicted.held;
        samples.set_concurrency(predicted.concurrency);
        if (recent.len() as u64) < outcome.summary.operations {
            let text = format!(
                "predictions are from the last {} of {} operations: longwire predict on a recording (-o) uses all",
                recent.len(),
                outcome.summary.operations
            );
            outcome.warnings.push(Warning::new(WarningKind::LeftOut, text));
        }
    }
    place.page()?.with_samples(samples).store(&PageRun {
        title: &title,
        outcome: &outcome,
        moved: &moved,
        asked: &[],
        computing: predict::ComputingByClients::default(),
        wake_up: predict::WakeUp::default(),
        links: &[],
    })
}
