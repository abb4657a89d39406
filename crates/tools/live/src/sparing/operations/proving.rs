//! Findings that are spared one after another.

use super::Operations;
use crate::sparing::spared::Spared;
use crate::sparing::stage::{Results, Stage};
use model::{SparingOutcome, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Proving {
    pending: VecDeque<Stage>,
    done: Vec<SparingOutcome>,
    /// When the first operation began that was not only observed.
    observed_until: Option<Timestamp>,
    is_over: bool,
}

impl Operations {
    /// Observes until [`Operations::prove`].
    pub(in crate::sparing) fn observing(by_request: bool, rtt: Duration) -> Self {
        Self {
            proving: Some(Proving::default()),
            ..Self::new(Spared::Control, by_request, rtt)
        }
    }

    pub(in crate::sparing) const fn proves(&self) -> bool {
        self.proving.is_some()
    }

    /// Operations observed; `None` once the first stage is over.
    pub(in crate::sparing) fn observed(&self) -> Option<u64> {
        (self.stages_before() == 0).then_some(self.results.ended)
    }

    pub(in crate::sparing) fn observed_until(&self) -> Option<Timestamp> {
        self.proving.as_ref()?.observed_until
    }

    pub(in crate::sparing) fn prove(&mut self, stages: Vec<Stage>) {
        if let Some(proving) = &mut self.proving {
            proving.pending = stages.into();
            self.next_stage();
        }
    }

    pub(in crate::sparing) fn proved_now(&self) -> Option<(usize, String, u64)> {
        self.stage.finding.as_ref()?;
        Some((self.stages_before(), self.printed(), self.results.ended))
    }

    pub(super) fn stages_before(&self) -> usize {
        let proving = self.proving.as_ref();
        proving.map_or(0, |proving| proving.done.len())
    }

    /// Returns the number of stages before its own.
    pub(super) fn begin_in_stage(&mut self, at: Timestamp) -> usize {
        let before = self.stages_before();
        if let Some(proving) = self.proving.as_mut().filter(|_| before > 0) {
            proving.observed_until.get_or_insert(at);
        }
        before
    }

    pub(super) fn next_stage(&mut self) {
        let outcome = self.outcome();
        let Some(proving) = &mut self.proving else {
            return;
        };
        proving.done.push(outcome);
        let next = proving.pending.pop_front();
        proving.is_over = next.is_none();
        self.stage = next.unwrap_or_else(|| Stage::new(Spared::Control));
        self.alternation.renew();
        for (fingerprint, statement) in &mut self.statements {
            statement.is_named = self.stage.spared.names(fingerprint);
        }
    }

    fn outcome(&mut self) -> SparingOutcome {
        let results = std::mem::replace(&mut self.results, Results::new(self.by_request));
        self.stage.outcome(results, self.printed(), self.rtt)
    }

    pub(in crate::sparing) fn printed(&self) -> String {
        self.stage.spared.printed(self.named_statement())
    }

    /// A run that proves findings has its control first.
    pub(in crate::sparing) fn finish(&mut self) -> Vec<SparingOutcome> {
        if !self.by_request {
            let open: Vec<_> = self.visits.keys().copied().collect();
            open.into_iter().for_each(|number| self.close_connection(number));
        }
        let last = self.outcome();
        let Some(proving) = self.proving.take() else {
            return vec![last];
        };
        let mut all = proving.done;
        all.extend((!proving.is_over).then_some(last));
        all.extend(proving.pending.iter().map(|stage| SparingOutcome {
            unspared: Some(NO_TURN.to_owned()),
            ..stage.outcome(Results::default(), stage.spared.printed(None), self.rtt)
        }));
        all
    }
}

const NO_TURN: &str = "the run ended before its turn";
