//! Totals of the run, and since a baseline.

use super::{InspectedOperation, RunSink, SoFar, Window};
use analysis::fact::Fact;
use analysis::overview::{Overview, OverviewTotals};
use report::ReadOutcome;
use std::io;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Overviews {
    whole: Overview,
    since_baseline: Option<Overview>,
}

impl Overviews {
    pub fn set_baseline(&mut self) {
        self.since_baseline = Some(Overview::default());
    }

    pub fn remove_baseline(&mut self) {
        self.since_baseline = None;
    }
}

impl RunSink for Overviews {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        self.whole.fact(fact);
        if let Some(overview) = &mut self.since_baseline {
            overview.fact(fact);
        }
        Ok(())
    }

    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        self.whole.operation(&inspected.operation);
        if let Some(overview) = &mut self.since_baseline {
            overview.operation(&inspected.operation);
        }
        Ok(())
    }

    fn so_far(&mut self, rows: usize, _: &[Duration], so_far: &mut SoFar) {
        let overview = self.since_baseline.as_mut().unwrap_or(&mut self.whole);
        fill(&mut so_far.outcome, overview.so_far(rows));
    }

    fn end_window(&mut self, window: &mut Window) -> io::Result<()> {
        window.totals = self.whole.end_window();
        Ok(())
    }

    fn conclude(&mut self, outcome: &mut ReadOutcome) {
        self.whole.recognise(&outcome.recognised);
        fill(outcome, std::mem::take(&mut self.whole).finish());
    }
}

fn fill(outcome: &mut ReadOutcome, totals: OverviewTotals) {
    let OverviewTotals {
        connections,
        statements,
        operations,
        held,
        summary,
    } = totals;
    outcome.connections = connections;
    outcome.statements = statements;
    outcome.operations = operations;
    outcome.held = held;
    outcome.summary = summary;
}
