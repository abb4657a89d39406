//! Runs services, baselines, predictions, and all points in random order.

mod timing;

use super::config::{Amount, Lab, LabFile};
use super::observed::ObservedOperations;
use super::plan::{Baseline, LabPlan, SweepPoint};
use super::prediction::predict;
use super::progress::LabProgress;
use super::services::{self, RunningServices};
use super::store::{Captured, MeasuredPoint, Store};
use super::wiring::Wiring;
use anyhow::{Result, bail};
use model::{ByteCount, LinkOutcome, MeasuredDurations, Prediction, Warning};
use netns::Sandbox;
use pipeline::interruption::is_interruption;
use pipeline::order::shuffled;
use pipeline::progress::ProgressSink;
use predict::WakeUp;
use report::outcome::{LabProcessor, LabRound};
use std::time::Duration;
use sys::StopToken;
use timing::by_capture;

pub struct LabRun<'a> {
    file: &'a LabFile,
    plan: &'a LabPlan,
    store: Store,
    interrupted: StopToken,
    progress: LabProgress,
    pub points: Vec<Option<MeasuredPoint>>,
    pub baselines: Vec<Option<MeasuredPoint>>,
    pub predictions: Vec<Option<Prediction>>,
    /// Missing parts of the baselines' captures.
    pub warnings: Vec<Warning>,
    wake_up: WakeUp,
}

/// Input of a page: lab, capture and operations of one baseline.
pub struct Basis<'a> {
    pub lab: &'a Lab,
    pub observed: ObservedOperations,
    /// By the workload's own clock.
    pub measured: &'a MeasuredDurations,
    pub wake_up: WakeUp,
}

impl<'a> LabRun<'a> {
    /// Continues from the results in `store`.
    pub fn new(file: &'a LabFile, plan: &'a LabPlan, store: Store, interrupted: StopToken) -> Self {
        let points = plan.points.iter().map(|point| store.point(&point.lab.identity()));
        let links = file.lab.links.len();
        let baselines = plan
            .baselines
            .iter()
            .map(|baseline| store.baseline(&baseline.lab.identity(), links));
        Self {
            points: points.collect(),
            baselines: baselines.collect(),
            predictions: vec![None; plan.points.len()],
            warnings: Vec::new(),
            wake_up: WakeUp::default(),
            progress: LabProgress::new(Duration::ZERO),
            interrupted,
            store,
            plan,
            file,
        }
    }

    pub fn with_wake_up(self, wake_up: WakeUp) -> Self {
        Self { wake_up, ..self }
    }

    /// Returns true if interrupted by the user.
    ///
    /// # Errors
    /// If a service, the network or the workload fails completely.
    pub fn measure(&mut self, sandbox: &Sandbox) -> Result<bool> {
        for baseline in 0..self.plan.baselines.len() {
            self.predict(baseline)?;
        }
        let done = (0..self.plan.stages.len()).try_for_each(|stage| self.stage(sandbox, stage));
        self.progress.finish();
        match done {
            Err(error) if is_interruption(&error) => Ok(true),
            done => done.map(|()| false),
        }
    }

    /// `None` until the first baseline is captured.
    pub fn first_observed(&self) -> Result<Option<Basis<'_>>> {
        let known = self.plan.baselines.iter().zip(&self.baselines);
        let first = known
            .filter_map(|(baseline, kept)| Some((baseline, kept.as_ref()?)))
            .next();
        let Some((baseline, kept)) = first else {
            return Ok(None);
        };
        let Some(measured) = kept.rounds.first().map(|round| &round.measured) else {
            return Ok(None);
        };
        let files = self
            .store
            .captures(&baseline.lab.identity(), baseline.lab.links.len());
        let observed = ObservedOperations::read_captures(&files, &baseline.lab, &kept.captured)?;
        Ok(Some(Basis {
            lab: &baseline.lab,
            observed,
            measured,
            wake_up: self.wake_up,
        }))
    }

    /// Requested measurements of the point.
    fn repeat(&self, point: usize) -> usize {
        self.plan.points[point].lab.measure.repeat as usize
    }

    fn rounds(&self, point: usize) -> usize {
        self.points[point].as_ref().map_or(0, |kept| kept.rounds.len())
    }

    fn missing(&self, stage: usize) -> Vec<usize> {
        (0..self.plan.points.len())
            .filter(|&point| {
                self.plan.points[point].stage == stage && self.rounds(point) < self.repeat(point)
            })
            .collect()
    }

    fn stage(&mut self, sandbox: &Sandbox, stage: usize) -> Result<()> {
        let missing = self.missing(stage);
        if missing.is_empty() {
            return Ok(());
        }
        let lab = &self.plan.stages[stage].lab;
        let wiring = Wiring::new(sandbox, lab, self.store.directory())?;
        let services = services::start(lab, &wiring, self.store.directory(), &|what| {
            self.progress.status(what)
        })?;
        let mut setup = LabSetup { wiring, services };
        for baseline in 0..self.plan.baselines.len() {
            let needed = missing
                .iter()
                .any(|&point| self.plan.points[point].baseline == Some(baseline));
            if needed && self.baselines[baseline].is_none() {
                self.baseline(&mut setup, baseline)?;
                self.predict(baseline)?;
            }
        }
        self.sweep(&mut setup, stage, &missing)
    }

    /// Measures points in random order and repeats the baseline at intervals.
    fn sweep(&mut self, setup: &mut LabSetup, stage: usize, missing: &[usize]) -> Result<()> {
        for &point in missing {
            let rounds = (self.repeat(point) - self.rounds(point)) as u32;
            self.progress.expect(rounds.into(), self.expected(point) * rounds);
        }
        let passes = missing.iter().map(|&point| self.repeat(point)).max();
        let mut since_baseline = 0;
        for pass in 0..passes.unwrap_or_default() {
            let seed = self.file.lab.seed ^ ((stage as u64) << 32) ^ ((pass as u64) << 48);
            for place in shuffled(missing.len(), seed) {
                let point = missing[place];
                if self.rounds(point) > pass || self.rounds(point) >= self.repeat(point) {
                    continue;
                }
                self.point(setup, point)?;
                since_baseline += 1;
                let due = since_baseline >= self.file.lab.measure.baseline_every;
                if let Some(baseline) = self.plan.points[point].baseline
                    && due
                {
                    since_baseline = 0;
                    self.baseline_again(setup, baseline)?;
                }
            }
        }
        Ok(())
    }

    /// Expected measurement time, from the prediction.
    fn expected(&self, point: usize) -> Duration {
        let lab = &self.plan.points[point].lab;
        let amount = lab.measure.amount;
        let one = self.predictions[point]
            .as_ref()
            .map_or(Duration::from_secs(1), |prediction| prediction.duration);
        let by_operations = amount.operations.map(|operations| {
            let each = operations.div_ceil(u64::from(lab.workload.clients.max(1)));
            one.saturating_mul(u32::try_from(each).unwrap_or(u32::MAX))
        });
        let spans = [by_operations, amount.duration];
        spans.into_iter().flatten().min().unwrap_or_default()
    }

    fn point(&mut self, setup: &mut LabSetup, index: usize) -> Result<()> {
        let point = &self.plan.points[index];
        let what = self.words(index);
        let expected = self.expected(index);
        self.progress.begin(&what, expected);
        setup.wiring.set_links(&point.lab);
        self.wait_until_settled(setup, &point.lab, &what)?;
        let before = setup.services.processor_times();
        let ran = self.timed(setup, &point.lab, point.lab.measure.amount, &what)?;
        let processors = setup.services.processor_times_since(&before);
        let links = setup.wiring.outcomes();
        let mut kept = self.points[index]
            .take()
            .unwrap_or_else(|| empty(Captured::default()));
        let text = match &ran.measured {
            Some(measured) => self.result_words(index, measured),
            None => "no operation succeeded".to_owned(),
        };
        add(&mut kept, ran, links, processors);
        self.store.keep_point(&point.lab.identity(), &kept)?;
        self.points[index] = Some(kept);
        self.progress.done(&format!("{what}: {text}"));
        Ok(())
    }

    /// Runs uncounted operations over the point's links, then resets the links.
    fn wait_until_settled(&self, setup: &mut LabSetup, lab: &Lab, what: &str) -> Result<()> {
        if lab.measure.settle == 0 {
            return Ok(());
        }
        let amount = Amount {
            operations: Some(lab.measure.settle),
            duration: None,
        };
        // A failing operation will fail again when it counts.
        self.load(setup, lab, amount, what)?;
        setup.wiring.set_links(lab);
        Ok(())
    }

    /// Describes a point by its settings.
    fn words(&self, index: usize) -> String {
        let point = &self.plan.points[index];
        let settings = self.plan.settings.iter().zip(&point.values);
        let words: Vec<String> = settings
            .filter(|(setting, _)| !setting.starts_with("measure."))
            .map(|(setting, value)| {
                let setting = setting.strip_prefix("links.").unwrap_or(setting);
                format!("{setting} {value}")
            })
            .collect();
        if words.is_empty() {
            "the lab as in its file".to_owned()
        } else {
            words.join(", ")
        }
    }

    fn result_words(&self, index: usize, measured: &MeasuredDurations) -> String {
        let took = model::format_duration(measured.duration);
        let predicted = self.predictions[index].as_ref();
        match predicted.and_then(|prediction| prediction.bounded()) {
            Some(predicted) => format!("{took}, predicted {}", model::format_duration(predicted)),
            None => took,
        }
    }

    /// Warms up, then captures a run without distance.
    fn baseline(&mut self, setup: &mut LabSetup, index: usize) -> Result<()> {
        let baseline = &self.plan.baselines[index];
        let lab = &baseline.lab;
        let identity = lab.identity();
        self.store.prepare_baseline(&identity)?;
        setup.wiring.set_links(lab);
        let words = self.baseline_words(baseline);
        self.progress.status(&format!("warming up {words}"));
        if lab.measure.warmup > 0 {
            let amount = Amount {
                operations: Some(lab.measure.warmup),
                duration: lab.measure.amount.duration,
            };
            let ran = self.load(setup, lab, amount, "")?;
            require_success(&ran)?;
        }
        self.progress.status(&format!("capturing {words}"));
        let files = self.store.captures(&identity, lab.links.len());
        let (ran, windows) = self.captured(setup, lab, lab.measure.amount, &files)?;
        let captured = Captured {
            addresses: setup.wiring.addresses().clone(),
            windows,
        };
        let ran = by_capture(ran, lab, &files, &captured)?;
        require_success(&ran)?;
        let mut kept = empty(captured);
        add(&mut kept, ran, setup.wiring.outcomes(), Vec::new());
        self.store.keep_baseline(&identity, &kept)?;
        self.baselines[index] = Some(kept);
        Ok(())
    }

    fn baseline_again(&mut self, setup: &mut LabSetup, index: usize) -> Result<()> {
        let lab = &self.plan.baselines[index].lab;
        self.progress.status("no distance again, for the machine's drift");
        setup.wiring.set_links(lab);
        let ran = self.timed(setup, lab, lab.measure.amount, "no distance again")?;
        if let Some(kept) = &mut self.baselines[index] {
            add(kept, ran, setup.wiring.outcomes(), Vec::new());
            let kept = kept.clone();
            self.store.keep_baseline(&lab.identity(), &kept)?;
        }
        Ok(())
    }

    fn baseline_words(&self, baseline: &Baseline) -> String {
        if self.plan.baselines.len() == 1 {
            return "without distance".to_owned();
        }
        let clients = baseline.lab.workload.clients;
        let plural = if clients == 1 { "" } else { "s" };
        format!("without distance, {clients} client{plural}")
    }

    fn predict(&mut self, index: usize) -> Result<()> {
        let Some(kept) = &self.baselines[index] else {
            return Ok(());
        };
        let lab = &self.plan.baselines[index].lab;
        let files = self.store.captures(&lab.identity(), lab.links.len());
        let observed = ObservedOperations::read_captures(&files, lab, &kept.captured)?;
        let Some(measured) = kept.rounds.first().map(|round| &round.measured) else {
            return Ok(());
        };
        let points: Vec<usize> = (0..self.plan.points.len())
            .filter(|&point| self.plan.points[point].baseline == Some(index))
            .collect();
        let of_baseline: Vec<&SweepPoint> = points.iter().map(|&point| &self.plan.points[point]).collect();
        let predictions = predict(&observed, measured, &of_baseline, self.wake_up);
        for (point, prediction) in points.into_iter().zip(predictions) {
            self.predictions[point] = prediction;
        }
        self.warnings.extend(observed.warnings);
        Ok(())
    }
}

/// Fields are dropped in order: services end before the network.
struct LabSetup {
    services: RunningServices,
    wiring: Wiring,
}

fn empty(captured: Captured) -> MeasuredPoint {
    MeasuredPoint {
        rounds: Vec::new(),
        errors: Vec::new(),
        captured,
    }
}

fn add(kept: &mut MeasuredPoint, ran: load::Outcome, links: Vec<LinkOutcome>, processors: Vec<LabProcessor>) {
    for error in ran.errors {
        match kept.errors.iter_mut().find(|(text, _)| *text == error.text) {
            Some((_, count)) => *count += error.count,
            None => kept.errors.push((error.text, error.count)),
        }
    }
    let Some(measured) = ran.measured else {
        return;
    };
    kept.rounds.push(LabRound {
        measured,
        durations: ran.durations,
        elapsed: ran.elapsed,
        payload: ran.payload_bytes.map(ByteCount::from_bytes),
        client_processor: ran.cpu.user + ran.cpu.system,
        processors,
        links,
    });
}

/// Without distance, at least one operation must succeed.
fn require_success(ran: &load::Outcome) -> Result<()> {
    if ran.measured.is_some() {
        return Ok(());
    }
    match ran.errors.first() {
        Some(error) => bail!("the workload does not work without any distance: {}", error.text),
        None => bail!(
            "the workload made no operation that could be seen: does its command reach a service of the lab, and is \
             operation = what it does?"
        ),
    }
}
